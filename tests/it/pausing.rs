//! A Deployment that asks for it is paused by its rollout, and resumed when its time is over: once, whoever does it.

use serde_json::{Value, json};

use crate::fake_cluster::{FakeCluster, status};
use crate::support::{Function, config_map, until, workload_using};

const API: &str = "deployments/api";
const APP: &str = "configmaps/app";
pub(crate) const PAUSE: &str = "deployment.reloader.stakater.com/pause-period";
pub(crate) const PAUSED_AT: &str = "deployment.reloader.stakater.com/paused-at";
pub(crate) const DUE: &str = "confroll.dev/due";
const LONG_AGO: &str = "2026-01-01T00:00:00Z";

fn pausing(period: &str) -> Value {
    let mut workload = workload_using(&["app"]);
    workload["metadata"]["annotations"][PAUSE] = json!(period);
    workload
}

/// A Deployment that was paused long ago, with the label or, as the peer leaves it, without.
fn paused_long_ago(label: Option<&str>) -> Value {
    let mut workload = pausing("5m");
    workload["metadata"]["annotations"][PAUSED_AT] = json!(LONG_AGO);
    workload["metadata"]["labels"] = label.map_or(json!({}), |label| json!({ DUE: label }));
    workload["spec"]["paused"] = json!(true);
    workload
}

fn shop(workload: Value) -> FakeCluster {
    let cluster = FakeCluster::default();
    cluster.put(APP, config_map("1"));
    cluster.put(API, workload);
    cluster
}

fn paused_at(cluster: &FakeCluster, key: &str) -> Value {
    cluster.get(key)["metadata"]["annotations"][PAUSED_AT].clone()
}

fn is_paused(cluster: &FakeCluster, key: &str) -> Value {
    cluster.get(key)["spec"]["paused"].clone()
}

/// How often something was resumed.
fn resumes(cluster: &FakeCluster) -> usize {
    cluster.patches().iter().filter(|(_, patch)| patch["spec"]["paused"] == false).count()
}

/// As if the pause had begun long ago.
fn turn_back(cluster: &FakeCluster) {
    let mut api = cluster.get(API);
    api["metadata"]["annotations"][PAUSED_AT] = json!(LONG_AGO);
    cluster.put(API, api);
}

#[tokio::test]
async fn a_rollout_and_its_pause_are_one_patch_and_further_changes_leave_the_pause_as_it_is() {
    let cluster = shop(pausing("1h"));
    let function = Function::on(&cluster).await;
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    let [(_, patch)] = &cluster.patches()[..] else { panic!("{:?}", cluster.patches()) };
    assert_eq!(patch["spec"]["paused"], true);
    assert!(patch["spec"]["template"].is_object(), "{patch}");
    let began = paused_at(&cluster, API);
    assert_eq!(patch["metadata"]["annotations"][PAUSED_AT], began);
    began.as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    cluster.put(APP, config_map("3"));
    function.updated("ConfigMap", "app").await;
    assert_eq!((cluster.rollouts(API), is_paused(&cluster, API)), (2, json!(true)));
    assert_eq!(paused_at(&cluster, API), began);
    // A sweep before its time leaves it so.
    assert_eq!(function.swept("1").await, 202);
    assert_eq!((is_paused(&cluster, API), resumes(&cluster)), (json!(true), 0));
    // And after its time, in a process that knows nothing, ends it.
    turn_back(&cluster);
    assert_eq!(Function::on(&cluster).await.swept("2").await, 202);
    assert_eq!((is_paused(&cluster, API), paused_at(&cluster, API)), (json!(false), Value::Null));
    assert_eq!(cluster.get(API)["metadata"]["labels"], json!({}));
    assert_eq!((cluster.rollouts(API), resumes(&cluster)), (2, 1));
}

#[tokio::test]
async fn a_process_that_lives_resumes_in_time() {
    let cluster = shop(pausing("1s"));
    let function = Function::on(&cluster).await;
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    until(async || is_paused(&cluster, API) == false).await;
    assert_eq!((cluster.rollouts(API), resumes(&cluster)), (1, 1));
    // The next one is paused anew.
    cluster.put(APP, config_map("3"));
    function.updated("ConfigMap", "app").await;
    until(async || resumes(&cluster) == 2).await;
    assert_eq!(cluster.rollouts(API), 2);
}

#[tokio::test]
async fn an_event_of_its_namespace_wakes_who_knows_nothing_of_a_pause_that_is_over() {
    let cluster = shop(paused_long_ago(Some("true")));
    Function::on(&cluster).await.updated("ConfigMap", "app").await;
    until(async || is_paused(&cluster, API) == false).await;
    assert_eq!(cluster.rollouts(API), 0);
}

#[tokio::test]
async fn what_the_peer_left_paused_is_resumed_without_a_rollout_whatever_it_asks_for() {
    let cluster = shop(paused_long_ago(None));
    let mut silent = paused_long_ago(None);
    silent["metadata"]["annotations"] = json!({ PAUSED_AT: LONG_AGO });
    cluster.put("deployments/silent", silent.clone());
    // In a namespace where there is nothing else to do.
    cluster.put("bank/deployments/silent", silent);
    let mut waits = paused_long_ago(None);
    waits["metadata"]["annotations"][PAUSE] = json!("2000000h");
    cluster.put("deployments/waits", waits);
    let function = Function::on(&cluster).await;
    assert_eq!(function.swept("1").await, 202);
    for (key, paused) in
        [(API, false), ("deployments/silent", false), ("bank/deployments/silent", false), ("deployments/waits", true)]
    {
        assert_eq!((is_paused(&cluster, key), cluster.rollouts(key)), (json!(paused), 0), "{key}");
        assert_eq!(paused_at(&cluster, key).is_null(), !paused, "{key}");
    }
}

#[tokio::test]
async fn what_its_owner_paused_stays_so() {
    let mut by_owner = pausing("1s");
    by_owner["spec"]["paused"] = json!(true);
    let cluster = shop(by_owner);
    let function = Function::on(&cluster).await;
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    assert_eq!(function.swept("1").await, 202);
    assert_eq!((cluster.rollouts(API), is_paused(&cluster, API)), (1, json!(true)));
    assert_eq!((paused_at(&cluster, API), resumes(&cluster)), (Value::Null, 0));
}

#[tokio::test]
async fn what_is_no_duration_and_what_lasts_no_time_pauses_nothing_and_keeps_nothing_from_a_rollout() {
    for period in ["soon", "", "0s", "-5m"] {
        let cluster = shop(pausing(period));
        cluster.put("deployments/other", workload_using(&["app"]));
        cluster.put("statefulsets/db", pausing("1h"));
        let function = Function::on(&cluster).await;
        cluster.put(APP, config_map("2"));
        function.updated("ConfigMap", "app").await;
        for key in [API, "deployments/other", "statefulsets/db"] {
            assert_eq!((cluster.rollouts(key), is_paused(&cluster, key)), (1, Value::Null), "{period} {key}");
            assert!(cluster.get(key)["metadata"]["labels"].is_null(), "{period} {key}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_resume_once() {
    for label in [Some("true"), None] {
        let cluster = shop(paused_long_ago(label));
        let functions = [Function::on(&cluster).await, Function::on(&cluster).await];
        let told = tokio::join!(functions[0].swept("1"), functions[1].swept("2"));
        assert_eq!(told, (202, 202));
        assert_eq!((is_paused(&cluster, API), resumes(&cluster)), (json!(false), 1));
    }
}

#[tokio::test]
async fn an_end_that_somebody_else_writes_over_is_looked_at_again() {
    let cluster = shop(paused_long_ago(Some("true")));
    let (writer, mut kept) = (cluster.clone(), false);
    cluster.on_request(move |method, _| {
        if method == "PATCH" && !std::mem::replace(&mut kept, true) {
            // Its owner keeps it paused by taking the annotation away.
            let mut api = writer.get(API);
            api["metadata"]["annotations"].as_object_mut().unwrap().remove(PAUSED_AT);
            writer.put(API, api);
        }
        None
    });
    assert_eq!(Function::on(&cluster).await.swept("1").await, 202);
    assert_eq!((is_paused(&cluster, API), resumes(&cluster)), (json!(true), 0));
}

#[tokio::test]
async fn an_end_that_is_refused_stops_nothing_and_one_that_fails_is_tried_again() {
    let cluster = shop(paused_long_ago(Some("true")));
    cluster.put("deployments/other", paused_long_ago(None));
    cluster.on_patch(|key, _| (key == API).then(|| status(403, "not on Fridays")));
    let function = Function::on(&cluster).await;
    assert_eq!(function.swept("1").await, 202);
    assert_eq!((is_paused(&cluster, API), is_paused(&cluster, "deployments/other")), (json!(true), json!(false)));
    cluster.on_patch(|_, _| None);
    let mut is_broken = true;
    cluster.on_request(move |method, _| {
        (method == "PATCH" && std::mem::take(&mut is_broken)).then(|| status(500, "broken"))
    });
    assert_eq!(function.swept("2").await, 503);
    assert_eq!(function.swept("2").await, 202);
    assert_eq!((is_paused(&cluster, API), cluster.rollouts(API)), (json!(false), 0));
}
