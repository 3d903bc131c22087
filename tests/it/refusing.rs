//! Rollouts that come to nothing: refused by the API server, or reverted by somebody else. Each is told once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use confroll_stack::RecordingSink;
use http::StatusCode;
use serde_json::{Value, json};

use crate::fake_cluster::{FakeCluster, status};
use crate::shop::{Route, Shop, with_marker, workload};
use crate::support::{ChangeEvent, Function, config_map, labelled_config_map, told, workload_using};

const API: &str = "deployments/api";

/// A ConfigMap `app` and two Deployments that use it.
fn shop() -> FakeCluster {
    let cluster = FakeCluster::default();
    cluster.put("configmaps/app", config_map("1"));
    [API, "deployments/other"].iter().for_each(|key| cluster.put(key, workload_using(&["app"])));
    cluster
}

/// Refuses changes of the pod template of `api`, and nothing else, until told otherwise.
fn refuse(cluster: &FakeCluster) -> Arc<AtomicBool> {
    let refuses = Arc::new(AtomicBool::new(true));
    let flag = refuses.clone();
    cluster.on_patch(move |key, patch| {
        let is_rollout = key == API && patch.get("spec").is_some() && flag.load(Ordering::Relaxed);
        is_rollout.then(|| status(422, "spec.template: Invalid value"))
    });
    refuses
}

/// What was told of `api`: outcome and message.
fn told_of_api(sink: &RecordingSink) -> Vec<(String, Value)> {
    let of_api = told(sink).into_iter().filter(|told| told.data["workload"]["name"] == "api");
    of_api.map(|told| (told.data["outcome"].as_str().unwrap().to_owned(), told.data["message"].clone())).collect()
}

fn attempts(cluster: &FakeCluster) -> usize {
    cluster.patches().iter().filter(|(key, patch)| key == API && patch.get("spec").is_some()).count()
}

#[tokio::test]
async fn a_refusal_is_told_once_and_each_sweep_tries_again() {
    let (cluster, sink) = (shop(), RecordingSink::start().await.unwrap());
    let function = Function::telling(&cluster, &sink).await;
    function.swept("0").await;
    let refuses = refuse(&cluster);
    cluster.put("configmaps/app", config_map("2"));
    function.updated("ConfigMap", "app").await;
    let refused = ("failed".to_owned(), json!("spec.template: Invalid value"));
    assert_eq!(told_of_api(&sink), std::slice::from_ref(&refused));
    for sweep in 1..4 {
        assert_eq!(function.swept(&sweep.to_string()).await, 202);
        function.updated("ConfigMap", "app").await;
        assert_eq!(told_of_api(&sink), std::slice::from_ref(&refused), "sweep {sweep}");
    }
    assert_eq!((attempts(&cluster), cluster.rollouts(API), cluster.rollouts("deployments/other")), (7, 0, 1));
    refuses.store(false, Ordering::Relaxed);
    function.swept("4").await;
    assert_eq!(told_of_api(&sink), [refused, ("reloaded".to_owned(), Value::Null)]);
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn another_change_that_is_refused_is_told_anew() {
    let (cluster, sink) = (shop(), RecordingSink::start().await.unwrap());
    let function = Function::telling(&cluster, &sink).await;
    refuse(&cluster);
    for value in ["2", "3"] {
        cluster.put("configmaps/app", config_map(value));
        function.updated("ConfigMap", "app").await;
    }
    assert_eq!(told_of_api(&sink).len(), 2);
}

#[tokio::test]
async fn a_refusal_that_could_not_be_told_is_told_when_its_event_comes_again() {
    let (cluster, sink) = (shop(), RecordingSink::start().await.unwrap());
    let function = Function::telling(&cluster, &sink).await;
    refuse(&cluster);
    cluster.put("configmaps/app", config_map("2"));
    sink.answer_with(StatusCode::SERVICE_UNAVAILABLE);
    let event = ChangeEvent::update("ConfigMap", "app");
    assert_eq!(function.told(&event).await, 503);
    sink.answer_with(StatusCode::ACCEPTED);
    assert_eq!(function.told(&event).await, 202);
    let ids: Vec<_> = told(&sink).into_iter().filter(|told| told.subject == "Deployment/api").map(|it| it.id).collect();
    assert_eq!((ids.len(), &ids[0]), (2, &ids[1]));
}

#[tokio::test]
async fn a_first_change_that_was_refused_is_owed_even_when_the_past_is_forgotten() {
    let cluster = shop();
    let function = Function::on(&cluster).await;
    let refuses = refuse(&cluster);
    cluster.put("configmaps/app", config_map("2"));
    function.updated("ConfigMap", "app").await;
    cluster.compact();
    refuses.store(false, Ordering::Relaxed);
    function.swept("1").await;
    assert_eq!((cluster.rollouts(API), cluster.rollouts("deployments/other")), (1, 1));
    function.swept("2").await;
    assert_eq!((cluster.rollouts(API), cluster.rollouts("deployments/other")), (1, 1));
}

/// Sets the pod template of `api` back to what it was before any rollout, as an operator does.
fn revert(cluster: &FakeCluster) {
    let mut object = cluster.get(API);
    object["spec"] = workload_using(&["app"])["spec"].clone();
    object["metadata"]["managedFields"] = json!([{
        "manager": "web-operator", "operation": "Update", "time": "2026-01-02T00:00:00Z",
        "fieldsV1": { "f:spec": { "f:template": {} } },
    }]);
    cluster.put(API, object);
}

async fn change(cluster: &FakeCluster, function: &Function, value: &str) {
    cluster.put("configmaps/app", config_map(value));
    function.updated("ConfigMap", "app").await;
}

/// Two rollouts, each reverted.
async fn reverted_twice(cluster: &FakeCluster, function: &Function) {
    for value in ["2", "3"] {
        change(cluster, function, value).await;
        revert(cluster);
    }
}

fn is_of_reverts((outcome, message): &(String, Value)) -> bool {
    outcome == "failed" && message.as_str().unwrap().contains("by web-operator, its last writer (2026-01-02T00:00:00Z)")
}

#[tokio::test]
async fn after_the_second_revert_nothing_is_rolled_out_but_told_until_the_template_is_another() {
    let (cluster, sink) = (shop(), RecordingSink::start().await.unwrap());
    let function = Function::telling(&cluster, &sink).await;
    reverted_twice(&cluster, &function).await;
    assert_eq!((attempts(&cluster), told_of_api(&sink).len()), (2, 2));
    change(&cluster, &function, "4").await;
    let seen = told_of_api(&sink);
    assert!(seen.len() == 3 && is_of_reverts(&seen[2]), "{seen:?}");
    // Told once a change: not by a repetition, nor by sweeps.
    function.updated("ConfigMap", "app").await;
    function.swept("1").await;
    function.swept("2").await;
    assert_eq!((attempts(&cluster), told_of_api(&sink).len()), (2, 3));
    assert_eq!(cluster.rollouts("deployments/other"), 3, "no other workload is concerned");
    // kubectl rollout restart
    let mut restarted = cluster.get(API);
    restarted["spec"]["template"]["metadata"] =
        json!({ "annotations": { "kubectl.kubernetes.io/restartedAt": "2026-01-03T00:00:00Z" } });
    cluster.put(API, restarted);
    function.swept("3").await;
    assert_eq!(attempts(&cluster), 3, "what was not rolled out is still owed");
    change(&cluster, &function, "5").await;
    assert_eq!(attempts(&cluster), 4);
}

#[tokio::test]
async fn a_sweep_tells_of_the_second_revert_once() {
    let (cluster, sink) = (shop(), RecordingSink::start().await.unwrap());
    let function = Function::telling(&cluster, &sink).await;
    change(&cluster, &function, "2").await;
    revert(&cluster);
    function.swept("1").await;
    assert_eq!(told_of_api(&sink).len(), 1, "one revert may be on purpose");
    change(&cluster, &function, "3").await;
    revert(&cluster);
    for sweep in ["2", "3", "4"] {
        function.swept(sweep).await;
        let seen = told_of_api(&sink);
        assert!(seen.len() == 3 && is_of_reverts(&seen[2]), "sweep {sweep}: {seen:?}");
    }
    let last = told(&sink).pop().unwrap();
    assert_eq!(last.data["sources"][0]["name"], "app");
    assert_eq!(attempts(&cluster), 2);
}

#[tokio::test]
async fn the_word_of_a_revert_that_was_not_taken_is_sent_again() {
    let (cluster, sink) = (shop(), RecordingSink::start().await.unwrap());
    let function = Function::telling(&cluster, &sink).await;
    reverted_twice(&cluster, &function).await;
    sink.answer_with(StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(function.swept("1").await, 503);
    sink.answer_with(StatusCode::ACCEPTED);
    assert_eq!(function.swept("1").await, 202);
    let words: Vec<_> =
        told(&sink).into_iter().filter(|told| told.data["outcome"] == "failed").map(|it| it.id).collect();
    assert_eq!((words.len(), &words[0]), (2, &words[1]));
}

#[tokio::test]
async fn reverts_between_which_a_release_came_are_not_counted_together() {
    let cluster = shop();
    let function = Function::on(&cluster).await;
    change(&cluster, &function, "2").await;
    revert(&cluster);
    let mut release = cluster.get(API);
    release["spec"]["template"]["spec"]["containers"][0]["image"] = json!("api:2");
    cluster.put(API, release.clone());
    for value in ["3", "4"] {
        change(&cluster, &function, value).await;
        let mut back = cluster.get(API);
        if value == "3" {
            back["spec"] = release["spec"].clone();
            cluster.put(API, back);
        }
    }
    assert_eq!(attempts(&cluster), 3);
    // A label of the source is no change, and so no attempt.
    cluster.put("configmaps/app", labelled_config_map("4", "x"));
    function.updated("ConfigMap", "app").await;
    assert_eq!(attempts(&cluster), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn on_a_real_server_the_word_of_reverts_names_the_manager_that_reverts() {
    let spec = json!({ "main": { "envFrom": [{ "configMapRef": { "name": "app" } }] } });
    let objects = with_marker([("configmaps/app", json!({ "metadata": {}, "data": { "a": "1" } }))]);
    let shop = Shop::open(Route::Direct, &objects).await;
    shop.create_as(API, workload("api", &spec), "web-operator").await;
    for (times, value) in [(1, "2"), (3, "3")] {
        shop.patch("configmaps/app", json!({ "data": { "a": value } })).await;
        shop.rolled_out(API, times).await;
        // As an operator does that writes what it rendered.
        let mut rendered = shop.get(API).await;
        rendered["spec"]["template"]["metadata"]["annotations"] = Value::Null;
        // The controller writes its status all the while.
        rendered["metadata"]["resourceVersion"] = Value::Null;
        shop.put(API, &rendered, "web-operator").await;
        shop.rolled_out(API, times + 1).await;
    }
    shop.patch("configmaps/app", json!({ "data": { "a": "4" } })).await;
    let told = shop.sink.wait_for(
        |received| {
            received
                .iter()
                .any(|received| received.event.extension("severity").is_some_and(|it| it.to_string() == "error"))
        },
        crate::shop::SOON,
    );
    told.await.unwrap();
    shop.patch("configmaps/marker", json!({ "data": { "a": "2" } })).await;
    shop.rolled_out("deployments/marker", 1).await;
    assert_eq!(shop.rollouts(API), 4, "two rollouts and two reverts");
    let word = crate::support::told(&shop.sink).into_iter().find(|told| told.data["outcome"] == "failed").unwrap();
    let message = word.data["message"].as_str().unwrap();
    assert!(
        message.contains("by web-operator, its last writer (20") && message.contains("kubectl rollout restart"),
        "{message}"
    );
}
