//! At the door: every answer of design and README, for whatever may be sent.

use reqwest::RequestBuilder;
use serde_json::json;

use crate::fake_cluster::FakeCluster;
use crate::support::{ChangeEvent, Function, config_map, workload_using};

const UPDATE: &str = "dev.knative.apiserver.ref.update";

fn good() -> serde_json::Value {
    ChangeEvent::update("ConfigMap", "app").data
}

/// A binary event with these headers and this body.
fn binary(function: &Function, headers: &[(&str, &str)], body: impl Into<reqwest::Body>) -> RequestBuilder {
    headers
        .iter()
        .fold(function.http.post(&function.url), |request, (name, value)| request.header(*name, *value))
        .body(body)
}

fn structured(function: &Function, content_type: &str, body: impl Into<reqwest::Body>) -> RequestBuilder {
    function.http.post(&function.url).header("content-type", content_type).body(body)
}

async fn answer(request: RequestBuilder) -> (u16, String) {
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

const JSON: (&str, &str) = ("content-type", "application/json");
const SPEC: (&str, &str) = ("ce-specversion", "1.0");
const ID: (&str, &str) = ("ce-id", "1");
const SOURCE: (&str, &str) = ("ce-source", "s");
const TYPE: (&str, &str) = ("ce-type", UPDATE);

/// The shop that an event must still work for after everything else was sent.
async fn shop() -> (FakeCluster, Function) {
    let cluster = FakeCluster::default();
    cluster.put("configmaps/app", config_map("1"));
    cluster.put("deployments/api", workload_using(&["app"]));
    let function = Function::on(&cluster).await;
    (cluster, function)
}

#[tokio::test]
async fn what_cannot_be_an_event_of_ours_is_refused_with_a_sentence_and_the_process_lives() {
    let (cluster, function) = shop().await;
    let f = &function;
    let body = good().to_string();
    let event = |extra: serde_json::Value| {
        let mut event = json!({ "specversion": "1.0", "id": "1", "source": "s", "type": UPDATE, "datacontenttype": "application/json", "data": good() });
        extra.as_object().unwrap().iter().for_each(|(key, value)| event[key] = value.clone());
        event.to_string()
    };
    let named = |namespace: &str, name: &str| {
        json!({ "apiVersion": "v1", "kind": "Secret", "namespace": namespace, "name": name }).to_string()
    };
    let ce = "application/cloudevents+json";
    let rows: Vec<(&str, RequestBuilder, u16)> = vec![
        ("no event at all", binary(f, &[JSON], body.clone()), 400),
        ("an empty request", f.http.post(&f.url), 400),
        ("no specversion", binary(f, &[JSON, ID, SOURCE, TYPE], body.clone()), 400),
        ("specversion 0.3", binary(f, &[JSON, ("ce-specversion", "0.3"), ID, SOURCE, TYPE], body.clone()), 400),
        ("specversion 2.0", binary(f, &[JSON, ("ce-specversion", "2.0"), ID, SOURCE, TYPE], body.clone()), 400),
        ("no id", binary(f, &[JSON, SPEC, SOURCE, TYPE], body.clone()), 400),
        ("an empty id", binary(f, &[JSON, SPEC, ("ce-id", ""), SOURCE, TYPE], body.clone()), 400),
        ("an empty source", binary(f, &[JSON, SPEC, ID, ("ce-source", ""), TYPE], body.clone()), 400),
        ("an empty type", binary(f, &[JSON, SPEC, ID, SOURCE, ("ce-type", "")], body.clone()), 400),
        ("a repeated id", binary(f, &[JSON, SPEC, ID, ("ce-id", "2"), SOURCE, TYPE], body.clone()), 400),
        (
            "a repeated extension",
            binary(f, &[JSON, SPEC, ID, SOURCE, TYPE, ("ce-x", "1"), ("ce-x", "2")], body.clone()),
            400,
        ),
        ("a repeated content type", binary(f, &[JSON, JSON, SPEC, ID, SOURCE, TYPE], body.clone()), 400),
        ("an extension called data", binary(f, &[JSON, SPEC, ID, SOURCE, TYPE, ("ce-data", "x")], body.clone()), 400),
        ("a bad time", binary(f, &[JSON, SPEC, ID, SOURCE, TYPE, ("ce-time", "now")], body.clone()), 400),
        ("no data", binary(f, &[SPEC, ID, SOURCE, TYPE], ""), 400),
        ("data that is no JSON", binary(f, &[JSON, SPEC, ID, SOURCE, TYPE], "hunter2"), 400),
        ("data that names nothing", binary(f, &[JSON, SPEC, ID, SOURCE, TYPE], "{}"), 400),
        ("bytes", binary(f, &[JSON, SPEC, ID, SOURCE, TYPE], vec![0xff, 0xfe, 0x00]), 400),
        ("a name that leaves its path", binary(f, &[JSON, SPEC, ID, SOURCE, TYPE], named("shop", "../secrets/x")), 400),
        ("a namespace that leaves its path", binary(f, &[JSON, SPEC, ID, SOURCE, TYPE], named("../x", "db")), 400),
        ("an empty name", binary(f, &[JSON, SPEC, ID, SOURCE, TYPE], named("shop", "")), 400),
        ("a batch", structured(f, "application/cloudevents-batch+json", format!("[{}]", event(json!({})))), 400),
        ("a structured event that is no JSON", structured(f, ce, "{"), 400),
        ("a structured array", structured(f, ce, "[]"), 400),
        ("a structured event without an id", structured(f, ce, event(json!({ "id": null }))), 400),
        ("a structured event with an empty id", structured(f, ce, event(json!({ "id": "" }))), 400),
        ("a structured specversion 0.3", structured(f, ce, event(json!({ "specversion": "0.3" }))), 400),
        (
            "a structured event with a repeated attribute",
            structured(f, ce, event(json!({})).replacen('{', r#"{"id":"0","#, 1)),
            400,
        ),
        ("too long", binary(f, &[JSON, SPEC, ID, SOURCE, TYPE], vec![b' '; 4_194_305]), 413),
        (
            "an unknown type",
            binary(f, &[JSON, SPEC, ID, SOURCE, ("ce-type", "boson.fn")], r#"{"message":"Hello"}"#),
            204,
        ),
        ("an unknown kind", binary(f, &[JSON, SPEC, ID, SOURCE, TYPE], body.replace("ConfigMap", "Pod")), 204),
        (
            "our own kind of event",
            binary(f, &[JSON, SPEC, ID, SOURCE, ("ce-type", "dev.confroll.workload.reloaded.v1")], "{}"),
            204,
        ),
    ];
    for (what, request, expected) in rows {
        let (status, text) = answer(request).await;
        assert_eq!(status, expected, "{what}: {text}");
        assert_eq!(text.is_empty(), status < 300, "{what}: {text}");
        assert!(!text.contains("hunter2") && !text.contains('\n'), "{what}: {text}");
    }
    assert_eq!(cluster.requests(), Vec::<String>::new(), "nothing of this was worth a request");
    cluster.put("configmaps/app", config_map("2"));
    assert_eq!(answer(structured(f, ce, event(json!({})))).await, (202, String::new()));
    assert_eq!(cluster.rollouts("deployments/api"), 1);
}

#[tokio::test]
async fn only_a_post_on_the_root_is_an_event() {
    let (_, function) = shop().await;
    assert_eq!(answer(function.http.get(&function.url)).await.0, 405);
    assert_eq!(answer(function.http.post(format!("{}elsewhere", function.url))).await.0, 404);
    for path in ["health/liveness", "health/readiness"] {
        assert_eq!(answer(function.http.get(format!("{}{path}", function.url))).await, (200, String::new()));
    }
}

#[tokio::test]
async fn metrics_count_what_happened_in_the_words_of_the_log() {
    let (cluster, function) = shop().await;
    cluster.put("configmaps/app", config_map("2"));
    for _ in 0..2 {
        function.updated("ConfigMap", "app").await;
    }
    let (_, text) = answer(function.http.get(format!("{}metrics", function.url))).await;
    for line in [
        r#"confroll_events_total{outcome="acted_on"} 2"#,
        r#"confroll_rollouts_total{workload_kind="Deployment",outcome="reloaded"} 1"#,
        r#"confroll_skips_total{reason="already_current"} 1"#,
    ] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    let open = function.http.get(format!("{}metrics", function.url)).header("accept", "application/openmetrics-text");
    assert!(answer(open).await.1.ends_with("# EOF\n"));
}
