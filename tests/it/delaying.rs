//! Changes within the delay of a workload make one rollout, at its end: once, whoever makes it.

use confroll_stack::RecordingSink;
use serde_json::{Value, json};

use crate::fake_cluster::{FakeCluster, status};
use crate::pausing::{DUE, PAUSE, PAUSED_AT};
use crate::support::{Function, config_map, told, until, workload_using};

const API: &str = "statefulsets/api";
const APP: &str = "configmaps/app";
const DELAY: &str = "reloader.stakater.com/reload-delay";
const OBSERVED: &str = "confroll.dev/observed";

fn delaying(delay: &str) -> Value {
    let mut workload = workload_using(&["app", "db"]);
    workload["metadata"]["annotations"][DELAY] = json!(delay);
    workload
}

fn shop(delay: &str) -> FakeCluster {
    let cluster = FakeCluster::default();
    ["app", "db"].iter().for_each(|name| cluster.put(&format!("configmaps/{name}"), config_map("1")));
    cluster.put(API, delaying(delay));
    cluster
}

fn record(cluster: &FakeCluster) -> Value {
    let text = cluster.get(API)["metadata"]["annotations"][OBSERVED].as_str().map(str::to_owned);
    text.map_or(Value::Null, |text| serde_json::from_str(&text).unwrap())
}

fn label(cluster: &FakeCluster) -> Value {
    cluster.get(API)["metadata"]["labels"][DUE].clone()
}

/// As if the delay had begun long ago.
fn turn_back(cluster: &FakeCluster) {
    let (mut api, mut record) = (cluster.get(API), record(cluster));
    record["delayed"]["until"] = json!("2026-01-01T00:00:00Z");
    api["metadata"]["annotations"][OBSERVED] = json!(record.to_string());
    cluster.put(API, api);
}

#[tokio::test]
async fn three_changes_make_one_rollout_which_another_process_ends() {
    let cluster = shop("3600");
    let sink = RecordingSink::start().await.unwrap();
    let function = Function::telling(&cluster, &sink).await;
    for (name, content) in [("app", "2"), ("db", "2"), ("app", "3")] {
        cluster.put(&format!("configmaps/{name}"), config_map(content));
        function.updated("ConfigMap", name).await;
    }
    // A sweep before its time leaves it so.
    assert_eq!(function.swept("1").await, 202);
    assert_eq!((cluster.rollouts(API), told(&sink).len(), label(&cluster)), (0, 0, json!("true")));
    assert_eq!(record(&cluster)["delayed"]["sources"], json!(["ConfigMap/app", "ConfigMap/db"]));
    assert_eq!(cluster.patches().len(), 2, "one note for each source");
    drop(function);
    turn_back(&cluster);
    let function = Function::telling(&cluster, &sink).await;
    assert_eq!(function.swept("2").await, 202);
    assert_eq!((cluster.rollouts(API), label(&cluster)), (1, Value::Null));
    assert_eq!(record(&cluster)["delayed"], Value::Null);
    let told = told(&sink);
    assert_eq!((told.len(), told[0].data["sources"].as_array().unwrap().len()), (1, 2));
    assert_eq!(function.swept("3").await, 202);
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn a_process_that_lives_rolls_out_in_time_and_tells_until_it_is_heard() {
    let cluster = shop("1s");
    let sink = RecordingSink::start().await.unwrap();
    sink.answer_with(http::StatusCode::SERVICE_UNAVAILABLE);
    let function = Function::telling(&cluster, &sink).await;
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    until(async || cluster.rollouts(API) == 1 && !told(&sink).is_empty()).await;
    let before = told(&sink).len();
    sink.answer_with(http::StatusCode::ACCEPTED);
    until(async || told(&sink).len() > before).await;
    let told = told(&sink);
    assert!(told.iter().all(|event| event.id == told[0].id));
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn content_that_is_set_back_in_time_rolls_nothing_out() {
    let cluster = shop("1h");
    let function = Function::on(&cluster).await;
    assert_eq!(function.swept("1").await, 202);
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    assert_eq!(label(&cluster), "true");
    cluster.put(APP, config_map("1"));
    function.updated("ConfigMap", "app").await;
    turn_back(&cluster);
    assert_eq!(function.swept("2").await, 202);
    assert_eq!((cluster.rollouts(API), label(&cluster)), (0, Value::Null));
    assert_eq!(record(&cluster)["delayed"], Value::Null);
}

#[tokio::test]
async fn what_was_put_off_is_not_forgotten_with_the_past() {
    // Nothing was ever noted of the workload, so by the end nothing but the note tells that something changed.
    let cluster = shop("1h");
    let function = Function::on(&cluster).await;
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    cluster.compact();
    turn_back(&cluster);
    assert_eq!(function.swept("1").await, 202);
    assert_eq!((cluster.rollouts(API), label(&cluster)), (1, Value::Null));
}

#[tokio::test]
async fn who_asks_for_no_delay_any_more_waits_no_more() {
    let cluster = shop("1h");
    let function = Function::on(&cluster).await;
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    let mut api = cluster.get(API);
    api["metadata"]["annotations"][DELAY] = json!("0");
    cluster.put(API, api);
    assert_eq!(function.swept("1").await, 202);
    assert_eq!((cluster.rollouts(API), label(&cluster)), (1, Value::Null));
}

#[tokio::test]
async fn a_source_that_is_gone_by_the_end_rolls_nothing_out() {
    for is_known in [true, false] {
        let cluster = shop("1h");
        let function = Function::on(&cluster).await;
        if is_known {
            assert_eq!(function.swept("0").await, 202);
        }
        cluster.put(APP, config_map("2"));
        function.updated("ConfigMap", "app").await;
        cluster.delete(APP);
        turn_back(&cluster);
        assert_eq!(function.swept("1").await, 202);
        assert_eq!((cluster.rollouts(API), label(&cluster)), (0, Value::Null), "known: {is_known}");
    }
}

#[tokio::test]
async fn a_rollout_goes_before_the_end_of_a_pause_which_rolls_out_both() {
    const API: &str = "deployments/both";
    let cluster = shop("1h");
    let mut both = delaying("1h");
    both["metadata"]["annotations"][PAUSE] = json!("5m");
    cluster.put(API, both);
    let function = Function::on(&cluster).await;
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    let mut both = cluster.get(API);
    both["metadata"]["annotations"][PAUSED_AT] = json!("2026-01-01T00:00:00Z");
    both["metadata"]["annotations"][DELAY] = json!("0");
    both["spec"]["paused"] = json!(true);
    cluster.put(API, both);
    assert_eq!(function.swept("1").await, 202);
    let both = cluster.get(API);
    assert_eq!((cluster.rollouts(API), &both["spec"]["paused"]), (1, &json!(false)));
    assert_eq!((&both["metadata"]["annotations"][PAUSED_AT], &both["metadata"]["labels"]), (&Value::Null, &json!({})));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_roll_out_once_and_tell_once() {
    let cluster = shop("1h");
    let sink = RecordingSink::start().await.unwrap();
    let functions = [Function::telling(&cluster, &sink).await, Function::telling(&cluster, &sink).await];
    cluster.put(APP, config_map("2"));
    functions[0].updated("ConfigMap", "app").await;
    turn_back(&cluster);
    assert_eq!(tokio::join!(functions[0].swept("1"), functions[1].swept("2")), (202, 202));
    assert_eq!((cluster.rollouts(API), told(&sink).len()), (1, 1));
}

#[tokio::test]
async fn a_sweep_that_could_not_tell_of_an_end_tells_the_same_when_it_comes_again() {
    let cluster = shop("1h");
    let sink = RecordingSink::start().await.unwrap();
    let function = Function::telling(&cluster, &sink).await;
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    turn_back(&cluster);
    sink.answer_with(http::StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(function.swept("1").await, 503);
    let before = told(&sink).len();
    sink.answer_with(http::StatusCode::ACCEPTED);
    assert_eq!(function.swept("1").await, 202);
    let told = told(&sink);
    assert_eq!((told.len(), cluster.rollouts(API)), (before + 1, 1));
    assert!(told.iter().all(|event| event.id == told[0].id));
}

#[tokio::test]
async fn a_note_that_is_refused_means_a_rollout_at_once() {
    let cluster = shop("1h");
    cluster.on_patch(|_, patch| patch["spec"].is_null().then(|| status(403, "no notes here")));
    let function = Function::on(&cluster).await;
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn a_rollout_that_is_refused_at_the_end_is_told_once_and_tried_by_each_sweep() {
    let cluster = shop("1h");
    let sink = RecordingSink::start().await.unwrap();
    let function = Function::telling(&cluster, &sink).await;
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    turn_back(&cluster);
    cluster.on_patch(|_, patch| (!patch["spec"].is_null()).then(|| status(403, "not on Fridays")));
    assert_eq!(function.swept("1").await, 202);
    let told_once = told(&sink);
    assert_eq!((told_once.len(), label(&cluster)), (1, Value::Null));
    assert_eq!(function.swept("2").await, 202);
    cluster.on_patch(|_, _| None);
    // It waits no longer than it has.
    assert_eq!(function.swept("3").await, 202);
    assert_eq!((cluster.rollouts(API), told(&sink).len()), (1, 2));
}
