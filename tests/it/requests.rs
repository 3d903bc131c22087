//! What an event costs at the API server, counted. (The same against a real one: the benchmark, from its audit log.)

use std::collections::BTreeMap;

use confroll_stack::RecordingSink;

use crate::fake_cluster::FakeCluster;
use crate::support::{ChangeEvent, Function, config_map, labelled_config_map, told, workload_using};

/// Requests by what they are for.
fn counted(cluster: &FakeCluster) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    for request in cluster.requests() {
        let what = match request.as_str() {
            request if request.contains("Match=Exact") => "past",
            request if request.starts_with("GET /apis/") && !request.contains("namespaces") => "kinds",
            request if request.starts_with("PATCH") => "patch",
            request if request.contains("?limit=") && request.contains("/configmaps?") => "versions",
            request if request.contains("?limit=") => "list",
            _ => "get",
        };
        *counts.entry(what).or_insert(0) += 1;
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fan_out_costs_one_patch_a_workload_and_seven_reads_in_all() {
    let cluster = FakeCluster::default();
    let sink = RecordingSink::start().await.unwrap();
    cluster.put("configmaps/app", config_map("1"));
    (0..100).for_each(|n| cluster.put(&format!("deployments/w{n}"), workload_using(&["app"])));
    let function = Function::telling(&cluster, &sink).await;
    for (edit, value) in ["2", "3"].iter().enumerate() {
        cluster.put("configmaps/app", config_map(value));
        function.updated("ConfigMap", "app").await;
        let times = edit + 1;
        // Kinds that are not there are looked for once.
        let expected = [("get", times), ("kinds", 3), ("list", 5 * times), ("past", times), ("patch", 100 * times)];
        assert_eq!(counted(&cluster), expected.into());
    }
    assert_eq!(told(&sink).len(), 200);
}

#[tokio::test]
async fn an_event_that_nobody_asked_for_costs_one_read_and_a_list_a_kind() {
    let cluster = FakeCluster::default();
    cluster.put("configmaps/app", config_map("1"));
    cluster.put("deployments/api", serde_json::json!({ "metadata": {}, "spec": { "template": {} } }));
    let function = Function::on(&cluster).await;
    function.updated("ConfigMap", "app").await;
    assert_eq!(counted(&cluster), [("get", 1), ("kinds", 3), ("list", 5)].into());
}

#[tokio::test]
async fn a_label_edit_of_a_source_that_was_seen_costs_no_look_at_the_past() {
    let cluster = FakeCluster::default();
    cluster.put("configmaps/app", config_map("1"));
    cluster.put("deployments/api", workload_using(&["app"]));
    let function = Function::on(&cluster).await;
    cluster.put("configmaps/app", config_map("2"));
    function.updated("ConfigMap", "app").await;
    let before = counted(&cluster);
    cluster.put("configmaps/app", labelled_config_map("2", "x"));
    function.updated("ConfigMap", "app").await;
    assert_eq!(counted(&cluster)["past"], before["past"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_sources_are_read_whole_only_where_their_version_moved() {
    let cluster = FakeCluster::default();
    let names: Vec<String> = (0..10).map(|n| format!("s{n}")).collect();
    names.iter().for_each(|name| cluster.put(&format!("configmaps/{name}"), config_map("1")));
    cluster.put("deployments/api", workload_using(&names.iter().map(String::as_str).collect::<Vec<_>>()));
    let function = Function::on(&cluster).await;
    for value in ["2", "3"] {
        cluster.put("configmaps/s0", config_map(value));
        function.updated("ConfigMap", "s0").await;
    }
    // Twice before and twice after settling; the nine others once, when there was no record yet.
    assert_eq!((counted(&cluster)["get"], counted(&cluster)["versions"]), (4 + 9, 1));
    assert_eq!(cluster.rollouts("deployments/api"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_arrive_while_a_batch_runs_share_the_reads_of_the_next() {
    let cluster = FakeCluster::default();
    for n in 0..50 {
        cluster.put(&format!("configmaps/c{n}"), config_map("1"));
        cluster.put(&format!("deployments/w{n}"), workload_using(&[&format!("c{n}")]));
    }
    let function = Function::on(&cluster).await;
    (0..50).for_each(|n| cluster.put(&format!("configmaps/c{n}"), config_map("2")));
    // The first list answers only when all events are in.
    cluster.on_request(|method, uri| {
        if method == "GET" && uri.contains("/daemonsets?") {
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
        None
    });
    let events: Vec<_> = (0..50).map(|n| ChangeEvent::update("ConfigMap", &format!("c{n}"))).collect();
    let answers = futures::future::join_all(events.iter().map(|event| function.told(event))).await;
    assert_eq!(answers, [202; 50]);
    assert!(counted(&cluster)["list"] <= 3 * 5, "{:?}", counted(&cluster));
}
