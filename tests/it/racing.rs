//! Two at once: processes, writers, sources.

use std::time::{Duration, Instant};

use confroll_stack::RecordingSink;
use futures::future::join_all;
use serde_json::json;

use crate::fake_cluster::FakeCluster;
use crate::support::{ChangeEvent, Function, config_map, told, workload_using};

const API: &str = "deployments/api";
const APP: &str = "configmaps/app";

#[tokio::test(flavor = "multi_thread")]
async fn twenty_copies_at_two_processes_give_one_rollout() {
    let cluster = FakeCluster::default();
    cluster.put(APP, config_map("1"));
    cluster.put(API, workload_using(&["app"]));
    let functions = [Function::on(&cluster).await, Function::on(&cluster).await];
    cluster.put(APP, config_map("2"));
    let event = ChangeEvent::update("ConfigMap", "app");
    let told = (0..20).map(|copy| functions[copy % 2].told(&event));
    assert_eq!(join_all(told).await, [202; 20]);
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn a_workload_that_is_written_meanwhile_is_decided_again() {
    let cluster = FakeCluster::default();
    cluster.put(APP, config_map("1"));
    cluster.put(API, workload_using(&["app"]));
    cluster.put(APP, config_map("2"));
    let (writer, mut writes) = (cluster.clone(), 0);
    cluster.on_request(move |method, _| {
        if method == "PATCH" && writes < 3 {
            writes += 1;
            let mut api = writer.get(API);
            api["status"] = json!({ "observedGeneration": writes });
            writer.put(API, api);
        }
        None
    });
    let function = Function::on(&cluster).await;
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 1);
    assert_eq!(cluster.get(API)["status"]["observedGeneration"], 3);
}

#[tokio::test]
async fn a_workload_made_again_meanwhile_is_another_workload() {
    let cluster = FakeCluster::default();
    cluster.put(APP, config_map("1"));
    cluster.put(API, workload_using(&["app"]));
    cluster.put(APP, config_map("2"));
    let (writer, mut made_again) = (cluster.clone(), false);
    cluster.on_request(move |method, _| {
        if method == "PATCH" && !std::mem::replace(&mut made_again, true) {
            writer.delete(API);
            writer.put(API, workload_using(&["app"]));
        }
        None
    });
    let sink = RecordingSink::start().await.unwrap();
    let function = Function::telling(&cluster, &sink).await;
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 0, "it was born with the new content");
    assert_eq!(told(&sink).len(), 0, "nothing was refused that should have been done");
}

#[tokio::test]
async fn a_source_that_was_read_too_early_does_not_roll_a_workload_back() {
    let cluster = FakeCluster::default();
    cluster.put(APP, config_map("1"));
    cluster.put(API, workload_using(&["app"]));
    let function = Function::on(&cluster).await;
    cluster.put(APP, config_map("2"));
    let early = cluster.get(APP);
    cluster.put(APP, config_map("3"));
    function.updated("ConfigMap", "app").await;
    let mut once = Some(early);
    cluster.on_request(move |method, uri| {
        let reads_app = method == "GET" && uri.ends_with("/configmaps/app");
        reads_app.then(|| once.take()).flatten().map(|early| (200, early))
    });
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn three_sources_changed_together_give_one_rollout() {
    let cluster = FakeCluster::default();
    let names = ["one", "two", "three"];
    names.iter().for_each(|name| cluster.put(&format!("configmaps/{name}"), config_map("1")));
    cluster.put(API, workload_using(&names));
    let function = Function::on(&cluster).await;
    let edits = names.iter().enumerate().map(|(index, name)| {
        let (cluster, function) = (&cluster, &function);
        async move {
            tokio::time::sleep(Duration::from_millis(20 * index as u64)).await;
            cluster.put(&format!("configmaps/{name}"), config_map("2"));
            function.updated("ConfigMap", name).await;
        }
    });
    join_all(edits).await;
    assert_eq!(cluster.rollouts(API), 1);
    let observed = cluster.get(API)["metadata"]["annotations"]["confroll.dev/observed"].as_str().unwrap().to_owned();
    names.iter().for_each(|name| assert!(observed.contains(&format!("ConfigMap/{name}")), "{observed}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn sources_whose_events_come_only_after_the_answer_are_taken_into_the_same_patch() {
    // As through an ApiServerSource: one event at a time, the next when the last was answered.
    let cluster = FakeCluster::default();
    let names = ["one", "two", "three"];
    names.iter().for_each(|name| cluster.put(&format!("configmaps/{name}"), config_map("1")));
    cluster.put(API, workload_using(&names));
    let function = Function::on(&cluster).await;
    for round in ["2", "3"] {
        names.iter().for_each(|name| cluster.put(&format!("configmaps/{name}"), config_map(round)));
        for name in names {
            function.updated("ConfigMap", name).await;
        }
    }
    assert_eq!(cluster.rollouts(API), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_that_waits_holds_up_no_other() {
    let cluster = FakeCluster::default();
    ["app", "db"].iter().for_each(|name| cluster.put(&format!("configmaps/{name}"), config_map("1")));
    cluster.put(API, workload_using(&["app", "db"]));
    cluster.put("deployments/single", workload_using(&["app"]));
    let mut settings = confroll::edge::config::Settings::for_testing();
    settings.pace.settle = Duration::from_secs(2);
    let function = Function::with(&cluster, settings).await;
    cluster.put(APP, config_map("2"));
    let began = Instant::now();
    let event = ChangeEvent::update("ConfigMap", "app");
    let told = tokio::join!(function.told(&event), async {
        while cluster.rollouts("deployments/single") == 0 {
            assert!(began.elapsed() < Duration::from_secs(2), "the workload with one source waited");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(cluster.rollouts(API), 0, "the workload with two sources did not wait");
    });
    assert_eq!((told.0, cluster.rollouts(API)), (202, 1));
}
