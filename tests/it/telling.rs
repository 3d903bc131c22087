//! What people see of a rollout: Kubernetes Events on the workload, and metrics under the names that they know.

use confroll_stack::object::{JSON, send as request};
use serde_json::{Value, json};

use crate::kind_plane::changed;
use crate::stage::{Stage, kind, pod};

async fn events(stage: &Stage) -> Vec<Value> {
    let path = format!("/apis/events.k8s.io/v1/namespaces/{}/events", stage.namespace);
    request(&stage.plane.client, "GET", &path, JSON, &json!({})).await.unwrap()["items"].as_array().unwrap().clone()
}

async fn metrics(stage: &Stage) -> String {
    let url = format!("{}/metrics", stage.function.url().trim_end_matches('/'));
    crate::sink::http().get(url).send().await.unwrap().text().await.unwrap()
}

/// The value of a metric without labels or with these.
fn value(metrics: &str, name: &str) -> f64 {
    let line = metrics.lines().find(|line| line.rsplit_once(' ').is_some_and(|(start, _)| start == name));
    line.unwrap_or_else(|| panic!("{name} is not in\n{metrics}")).rsplit_once(' ').unwrap().1.parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_and_a_failure_are_events_on_their_workload_once_each() {
    let mut stage = Stage::set(&[]).await;
    let api = stage.create("Deployment", "api", &[]).await;
    let mut named = crate::fixtures::workload(kind("Service"), "web", &pod());
    named["spec"]["template"]["metadata"]["name"] = json!("web-mine");
    stage.plane.create(kind("Service"), &stage.namespace, &named).await;
    stage.change().await;
    changed(&stage.function, &stage.namespace, "ConfigMap", "app").await;
    let events = events(&stage).await;
    let of = |name: &str| events.iter().filter(|event| event["regarding"]["name"] == name).collect::<Vec<_>>();
    let reloaded = of("api");
    assert_eq!(reloaded.len(), 1, "{events:?}");
    let seen = (&reloaded[0]["reason"], &reloaded[0]["type"], &reloaded[0]["regarding"]["uid"]);
    assert_eq!(seen, (&json!("Reloaded"), &json!("Normal"), &api["metadata"]["uid"]));
    assert_eq!(reloaded[0]["note"], "ConfigMap/app changed (referenced_and_auto): rolled out by annotations");
    let failed = of("web");
    assert_eq!(failed.len(), 1, "{events:?}");
    assert_eq!((&failed[0]["reason"], &failed[0]["type"]), (&json!("ReloadFailed"), &json!("Warning")));
    assert!(failed[0]["note"].as_str().unwrap().contains("spec.template.metadata.name"));
    stage.change().await;
    let again = self::events(&stage).await;
    let of_api = again.iter().filter(|event| event["regarding"]["name"] == "api").count();
    assert_eq!(of_api, 2, "another rollout is another event: {again:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn no_events_are_made_where_they_are_not_wanted() {
    let mut stage = Stage::set(&[("CONFROLL_KUBERNETES_EVENTS", "false")]).await;
    stage.create("Deployment", "api", &[]).await;
    stage.change().await;
    assert_eq!((stage.told_of("api").len(), events(&stage).await.len()), (1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn reloads_are_counted_once_under_the_names_that_the_peers_dashboards_know() {
    let mut stage = Stage::set(&[("CONFROLL_METRICS_BY_NAMESPACE", "true")]).await;
    stage.create("Deployment", "api", &[]).await;
    stage.create("StatefulSet", "db", &[]).await;
    let mut named = crate::fixtures::workload(kind("Service"), "web", &pod());
    named["spec"]["template"]["metadata"]["name"] = json!("web-mine");
    stage.plane.create(kind("Service"), &stage.namespace, &named).await;
    stage.change().await;
    changed(&stage.function, &stage.namespace, "ConfigMap", "app").await;
    let ping = crate::support::ChangeEvent::ping("1");
    assert_eq!(ping.request(&crate::sink::http(), stage.function.url()).send().await.unwrap().status(), 202);
    let metrics = metrics(&stage).await;
    let of_namespace = |success: &str| {
        format!(
            "reloader_reload_executed_total_by_namespace{{success=\"{success}\",namespace=\"{}\"}}",
            stage.namespace
        )
    };
    let rows = [
        ("reloader_reload_executed_total{success=\"true\"}", 2.0),
        ("reloader_reload_executed_total{success=\"false\"}", 1.0),
        (&of_namespace("true"), 2.0),
        (&of_namespace("false"), 1.0),
        ("reloader_reload_errors_total", 1.0),
        ("reloader_action_total{workload_kind=\"StatefulSet\",result=\"success\"}", 1.0),
        ("reloader_items_monitored", 1.0),
        ("reloader_workloads_scanned_total{kind=\"Deployment\"}", 3.0),
        ("reloader_workloads_matched_total{kind=\"Deployment\"}", 3.0),
        ("confroll_rollouts_total{workload_kind=\"Deployment\",outcome=\"reloaded\"}", 1.0),
        ("confroll_change_to_patch_seconds_count", 2.0),
    ];
    for (name, expected) in rows {
        assert!((value(&metrics, name) - expected).abs() < 1e-9, "{name}: {metrics}");
    }
    assert!(value(&metrics, "confroll_change_to_patch_seconds_sum") >= 0.0);
}

#[tokio::test(flavor = "multi_thread")]
async fn reloads_are_not_counted_by_namespace_unless_somebody_wants_it() {
    let mut stage = Stage::set(&[]).await;
    stage.create("Deployment", "api", &[]).await;
    stage.change().await;
    let metrics = metrics(&stage).await;
    assert!(metrics.contains("reloader_reload_executed_total{") && !metrics.contains("by_namespace"), "{metrics}");
}
