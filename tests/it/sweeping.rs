//! A sweep acts on what no event told, once, and notes what it saw.

use std::collections::BTreeMap;

use confroll::edge::config::{AtStart, Settings};
use confroll::reload::digest::DigestKey;
use confroll_stack::RecordingSink;
use serde_json::{Value, json};

use crate::fake_cluster::{FakeCluster, status};
use crate::support::{ChangeEvent, Function, config_map, labelled_config_map, told, workload_using};

const OBSERVED: &str = "confroll.dev/observed";

fn record_of(cluster: &FakeCluster, key: &str) -> Value {
    let text = cluster.get(key)["metadata"]["annotations"][OBSERVED].as_str().map(str::to_owned);
    text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
}

/// Requests since the last look, by verb; a list of all namespaces is told apart.
fn requests_since(cluster: &FakeCluster, before: usize) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for request in &cluster.requests()[before..] {
        let what = match request {
            request if request.starts_with("PATCH") => "patch",
            request if request.contains("/namespaces/") => "read of a namespace",
            _ => "list of all",
        };
        *counts.entry(what).or_insert(0) += 1;
    }
    counts
}

/// Two workloads of one ConfigMap, one that did not ask, and one that a pattern names.
fn shop() -> FakeCluster {
    let cluster = FakeCluster::default();
    cluster.put("configmaps/app", config_map("1"));
    cluster.put("configmaps/db-a", config_map("1"));
    cluster.put("deployments/api", workload_using(&["app"]));
    cluster.put("statefulsets/worker", workload_using(&["app"]));
    let mut by_pattern = workload_using(&[]);
    by_pattern["metadata"]["annotations"] = json!({ "configmap.reloader.stakater.com/reload": "db-.*" });
    cluster.put("daemonsets/by-pattern", by_pattern);
    let mut silent = workload_using(&["app"]);
    silent["metadata"]["annotations"] = json!({});
    cluster.put("deployments/silent", silent);
    cluster
}

const WORKLOADS: [&str; 4] = ["deployments/api", "statefulsets/worker", "daemonsets/by-pattern", "deployments/silent"];

fn rollouts(cluster: &FakeCluster) -> [usize; 4] {
    WORKLOADS.map(|key| cluster.rollouts(key))
}

#[tokio::test]
async fn a_first_sweep_rolls_nothing_out_and_notes_what_workloads_run_on() {
    let cluster = shop();
    let function = Function::on(&cluster).await;
    assert_eq!(function.swept("1").await, 202);
    assert_eq!(rollouts(&cluster), [0; 4]);
    for (key, source) in [("deployments/api", "ConfigMap/app"), ("daemonsets/by-pattern", "ConfigMap/db-a")] {
        assert_eq!(record_of(&cluster, key)["sources"].as_object().unwrap().keys().collect::<Vec<_>>(), [source]);
    }
    assert_eq!(record_of(&cluster, "deployments/silent"), Value::Null);
    // The next one finds everything as it was: two lists of sources, five of workloads, five of those that wait,
    // and nothing else.
    let before = cluster.requests().len();
    assert_eq!(function.swept("2").await, 202);
    assert_eq!(requests_since(&cluster, before), [("list of all", 12)].into());
}

#[tokio::test]
async fn what_no_event_told_is_acted_on_once() {
    let cluster = shop();
    let function = Function::on(&cluster).await;
    function.swept("1").await;
    cluster.put("configmaps/app", config_map("2"));
    cluster.put("configmaps/db-a", config_map("2"));
    // Nobody can look back any more.
    cluster.compact();
    assert_eq!(function.swept("2").await, 202);
    assert_eq!(rollouts(&cluster), [1, 1, 1, 0]);
    assert_eq!(function.swept("3").await, 202);
    // The event comes after all.
    function.updated("ConfigMap", "app").await;
    assert_eq!(rollouts(&cluster), [1, 1, 1, 0]);
}

#[tokio::test]
async fn without_a_record_the_past_tells_what_was_missed() {
    let cluster = shop();
    let function = Function::on(&cluster).await;
    cluster.put("configmaps/app", config_map("2"));
    cluster.put("deployments/later", workload_using(&["app"]));
    assert_eq!(function.swept("1").await, 202);
    assert_eq!(rollouts(&cluster), [1, 1, 0, 0]);
    assert_eq!(cluster.rollouts("deployments/later"), 0, "it was born with the new content");
}

#[tokio::test]
async fn a_source_that_goes_between_a_list_and_its_read_is_remembered() {
    let cluster = FakeCluster::default();
    for name in ["app", "db"] {
        cluster.put(&format!("configmaps/{name}"), config_map("1"));
    }
    cluster.put("deployments/api", workload_using(&["app", "db"]));
    let function = Function::on(&cluster).await;
    function.swept("1").await;
    cluster.put("configmaps/db", labelled_config_map("1", "x"));
    cluster.put("configmaps/app", config_map("2"));
    let state = cluster.clone();
    let mut is_there = true;
    cluster.on_request(move |_, uri| {
        if uri.ends_with("/configmaps/db") && std::mem::take(&mut is_there) {
            state.delete("configmaps/db");
        }
        None
    });
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts("deployments/api"), 1);
    // Nobody can look back, so only the record knows what it held.
    cluster.compact();
    cluster.put("configmaps/db", config_map("2"));
    function.updated("ConfigMap", "db").await;
    assert_eq!(cluster.rollouts("deployments/api"), 2);
}

#[tokio::test]
async fn a_label_is_noted_once_and_rolls_nothing_out() {
    let cluster = shop();
    let function = Function::on(&cluster).await;
    function.swept("1").await;
    cluster.put("configmaps/app", labelled_config_map("1", "x"));
    function.swept("2").await;
    let before = cluster.requests().len();
    function.swept("3").await;
    assert_eq!(requests_since(&cluster, before), [("list of all", 12)].into());
    assert_eq!(rollouts(&cluster), [0; 4]);
}

#[tokio::test]
async fn another_key_rolls_nothing_out_and_what_it_noted_serves() {
    let cluster = shop();
    Function::on(&cluster).await.swept("1").await;
    let mut settings = Settings::for_testing();
    settings.rules.digest_key = DigestKey::new(b"another");
    let upgraded = Function::with(&cluster, settings).await;
    upgraded.swept("2").await;
    assert_eq!(rollouts(&cluster), [0; 4]);
    cluster.put("configmaps/app", config_map("2"));
    cluster.compact();
    upgraded.swept("3").await;
    assert_eq!(rollouts(&cluster), [1, 1, 0, 0]);
}

#[tokio::test]
async fn an_event_that_was_acted_on_still_knows_itself_after_a_sweep() {
    let cluster = shop();
    let sink = RecordingSink::start().await.unwrap();
    let function = Function::telling(&cluster, &sink).await;
    cluster.put("configmaps/app", config_map("2"));
    sink.answer_with(http::StatusCode::SERVICE_UNAVAILABLE);
    let event = ChangeEvent::update("ConfigMap", "app");
    assert_eq!(function.told(&event).await, 503);
    let ids = |events: Vec<crate::support::ReloadEvent>| {
        events.into_iter().map(|event| event.id).collect::<std::collections::BTreeSet<_>>()
    };
    let refused = ids(told(&sink));
    cluster.put("configmaps/app", labelled_config_map("2", "moved"));
    function.swept("1").await;
    sink.answer_with(http::StatusCode::ACCEPTED);
    let before = told(&sink).len();
    assert_eq!(function.told(&event).await, 202);
    let again = told(&sink).split_off(before);
    assert_eq!((again.len(), ids(again)), (2, refused), "with the same ids");
    assert_eq!(rollouts(&cluster), [1, 1, 0, 0]);
}

#[tokio::test]
async fn a_sweep_whose_telling_failed_tells_the_same_when_it_is_asked_for_again() {
    let cluster = shop();
    let sink = RecordingSink::start().await.unwrap();
    let function = Function::telling(&cluster, &sink).await;
    function.swept("1").await;
    cluster.put("configmaps/app", config_map("2"));
    sink.answer_with(http::StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(function.swept("2").await, 503);
    sink.answer_with(http::StatusCode::ACCEPTED);
    assert_eq!(function.swept("2").await, 202);
    assert_eq!(function.swept("3").await, 202);
    let mut ids: Vec<_> = told(&sink).into_iter().map(|event| event.id).collect();
    assert_eq!(ids.len(), 4, "two workloads, each told twice");
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 2, "with the same id");
    assert_eq!(rollouts(&cluster), [1, 1, 0, 0]);
}

#[tokio::test]
async fn a_sweep_that_could_not_read_everything_is_asked_for_again() {
    let cluster = shop();
    cluster.on_request(|_, uri| uri.starts_with("/apis/apps/v1/daemonsets").then(|| status(403, "no")));
    let function = Function::on(&cluster).await;
    assert_eq!(function.swept("1").await, 503);
    cluster.on_request(|_, _| None);
    assert_eq!(function.swept("1").await, 202);
}

#[tokio::test]
async fn a_record_that_is_refused_stops_nothing() {
    let cluster = shop();
    cluster.put("configmaps/app", config_map("2"));
    cluster.on_request(|method, uri| {
        (method == "PATCH" && uri.contains("/by-pattern?")).then(|| status(422, "records are not for me"))
    });
    let function = Function::on(&cluster).await;
    assert_eq!(function.swept("1").await, 202);
    assert_eq!(rollouts(&cluster), [1, 1, 0, 0]);
}

#[tokio::test]
async fn a_sweep_at_the_start_is_made_where_it_is_asked_for() {
    let cluster = shop();
    cluster.put("configmaps/app", config_map("2"));
    let mut settings = Settings::for_testing();
    settings.sweep_at_start = AtStart::Sweep;
    let _function = Function::with(&cluster, settings).await;
    while rollouts(&cluster) != [1, 1, 0, 0] {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn the_first_sweep_leaves_alone_what_was_edited_before_anybody_remembers() {
    let cluster = shop();
    let written = json!([{ "time": "2026-06-01T00:00:00Z", "fieldsV1": { "f:data": {} } }]);
    let mut edited = config_map("2");
    edited["metadata"]["managedFields"] = written;
    cluster.put("configmaps/app", edited);
    cluster.compact();
    let function = Function::on(&cluster).await;
    assert_eq!(function.swept("1").await, 202);
    assert_eq!(rollouts(&cluster), [0; 4], "installing rolls nothing out");
    assert_ne!(record_of(&cluster, "deployments/api"), Value::Null);
    // An event that says so is another matter; but by now it is noted what the workloads run on.
    function.updated("ConfigMap", "app").await;
    assert_eq!(rollouts(&cluster), [0; 4]);
}

#[tokio::test]
async fn a_source_of_which_other_keys_count_by_now_is_noted_anew_with_the_next_rollout() {
    let cluster = FakeCluster::default();
    let app = |label: &str| {
        let written = json!([{ "time": "2026-06-01T00:00:00Z", "fieldsV1": { "f:data": {} } }]);
        json!({ "metadata": { "labels": { "note": label }, "managedFields": written }, "data": { "a": "1", "b": "1" } })
    };
    cluster.put("configmaps/app", app("x"));
    cluster.put("configmaps/web", config_map("1"));
    let with_key = |mut workload: Value, key: &str| {
        let from = json!({ "configMapKeyRef": { "name": "app", "key": key } });
        workload["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{ "name": "A", "valueFrom": from }]);
        workload
    };
    cluster.put("deployments/api", with_key(workload_using(&["web"]), "a"));
    let function = Function::on(&cluster).await;
    function.swept("1").await;
    cluster.put("deployments/api", with_key(cluster.get("deployments/api"), "b"));
    cluster.put("configmaps/web", config_map("2"));
    function.updated("ConfigMap", "web").await;
    let before = cluster.rollouts("deployments/api");
    cluster.put("configmaps/app", app("y"));
    // Only a digest of the key that counts now can tell that a label is all that changed.
    cluster.compact();
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts("deployments/api"), before);
}
