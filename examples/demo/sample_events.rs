//! Reload events of every kind of message: what the demo shows, what the pictures in docs/ show, and what the tests
//! compare with the payloads that were looked at.

use cloudevents::{Event, EventBuilder as _, EventBuilderV10};
use serde_json::{Value, json};

/// The kinds of messages, each with the events that it is about.
pub(crate) fn kinds_of_messages() -> [(&'static str, Vec<Event>); 3] {
    [("reload", vec![reload()]), ("failure", vec![failure()]), ("digest", digest())]
}

pub(crate) fn reload() -> Event {
    let keys = json!({ "added": ["FEATURE_X"], "changed": ["LOG_LEVEL"], "removed": ["OLD"] });
    let sources = json!([
        { "kind": "ConfigMap", "name": "api-config", "change": "updated", "keys": keys },
        { "kind": "Secret", "name": "api-tls", "change": "updated", "keys": { "added": [], "changed": ["tls.crt"], "removed": [] } },
    ]);
    event(
        "shop",
        "Deployment",
        "api",
        sources,
        &json!({ "link": "https://grafana.example/d/rollouts?var-namespace=shop&var-name=api" }),
    )
}

const REFUSED: &str = r#"admission webhook "policies.example" denied the request: container "main" must not run as root <uid 0> & must drop ALL"#;

fn failure() -> Event {
    let keys = json!({ "added": [], "changed": ["password"], "removed": [] });
    let sources = json!([{ "kind": "Secret", "name": "db-password", "change": "updated", "keys": keys }]);
    event("shop", "StatefulSet", "db", sources, &json!({ "message": REFUSED }))
}

/// A shared ConfigMap that many use, a certificate, and two that failed.
fn digest() -> Vec<Event> {
    let source = |kind: &str, name: &str| json!([{ "kind": kind, "name": name, "change": "updated" }]);
    let flags =
        ["api", "web", "worker", "search", "cart", "checkout", "mailer", "images", "ratings", "invoices", "tax", "geo"];
    let mut events: Vec<_> = flags
        .into_iter()
        .map(|name| event("shop", "Deployment", name, source("ConfigMap", "feature-flags"), &json!({})))
        .collect();
    for name in ["ingress", "gateway"] {
        events.push(event("edge", "Deployment", name, source("Secret", "wildcard-tls"), &json!({})));
    }
    events.push(event("data", "StatefulSet", "db", source("Secret", "db-password"), &json!({ "message": REFUSED })));
    let message = "deployments.apps \"legacy\" is forbidden: exceeded quota: compute, requested: pods=1, used: pods=20, limited: pods=20";
    events.push(event(
        "shop",
        "Deployment",
        "legacy",
        source("ConfigMap", "feature-flags"),
        &json!({ "message": message }),
    ));
    events
}

/// An id like those of our own events: other for each workload.
fn id_of(workload: &str) -> String {
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    format!("{:016x}", workload.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
}

pub(crate) fn event(namespace: &str, kind: &str, name: &str, sources: Value, more: &Value) -> Event {
    let failed = more["message"].is_string();
    let (outcome, event_type, severity) = if failed {
        ("failed", "dev.confroll.workload.reload-failed.v1", "error")
    } else {
        ("reloaded", "dev.confroll.workload.reloaded.v1", "info")
    };
    let mut data = json!({
        "outcome": outcome,
        "cluster": "prod-eu1",
        "namespace": namespace,
        "workload": { "apiVersion": "apps/v1", "kind": kind, "name": name },
        "strategy": "annotations",
        "reason": "referenced_and_auto",
        "at": "2026-09-21T14:13:20Z",
    });
    data["sources"] = sources;
    for (key, value) in more.as_object().into_iter().flatten() {
        data[key] = value.clone();
    }
    EventBuilderV10::new()
        .id(id_of(&format!("{namespace}/{name}")))
        .source(format!("/clusters/prod-eu1/namespaces/{namespace}"))
        .ty(event_type)
        .subject(format!("{kind}/{name}"))
        .time("2026-09-21T14:13:20Z")
        .extension("cluster", "prod-eu1")
        .extension("namespace", namespace)
        .extension("kind", kind)
        .extension("name", name)
        .extension("severity", severity)
        .data("application/json", data)
        .build()
        .unwrap_or_else(|error| unreachable!("{error}"))
}
