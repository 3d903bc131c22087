//! By content, with a record and without one.

use serde_json::json;

use crate::fake_cluster::{FakeCluster, status};
use crate::support::{ChangeEvent, Function, config_map, labelled_config_map, workload_using};

const API: &str = "deployments/api";
const APP: &str = "configmaps/app";

/// A ConfigMap `app` and a Deployment `api` that uses it and was never rolled out.
fn shop() -> FakeCluster {
    let cluster = FakeCluster::default();
    cluster.put(APP, config_map("1"));
    cluster.put(API, workload_using(&["app"]));
    cluster
}

#[tokio::test]
async fn an_edit_rolls_out_once_and_the_record_knows_it() {
    let cluster = shop();
    let function = Function::on(&cluster).await;
    cluster.put(APP, config_map("2"));
    for _ in 0..3 {
        function.updated("ConfigMap", "app").await;
    }
    assert_eq!(cluster.rollouts(API), 1);
    let api = cluster.get(API);
    let observed = api["metadata"]["annotations"]["confroll.dev/observed"].as_str().unwrap();
    assert!(observed.contains("ConfigMap/app"), "{observed}");
    let last = &api["spec"]["template"]["metadata"]["annotations"]["reloader.stakater.com/last-reloaded-from"];
    let last: serde_json::Value = serde_json::from_str(last.as_str().unwrap()).unwrap();
    assert_eq!(
        (&last["type"], &last["name"], &last["namespace"]),
        (&json!("CONFIGMAP"), &json!("app"), &json!("shop"))
    );
    assert_eq!(last["containerRefs"], json!(["main"]));
    assert!(last["observedAt"].as_i64().unwrap() > 1_700_000_000);
    assert!(observed.contains(last["hash"].as_str().unwrap()));
}

#[tokio::test]
async fn a_label_edit_rolls_nothing_out_with_or_without_a_record() {
    let cluster = shop();
    let function = Function::on(&cluster).await;
    cluster.put(APP, labelled_config_map("1", "never seen before"));
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 0);
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    cluster.put(APP, labelled_config_map("2", "seen"));
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn an_edit_hidden_behind_a_label_edit_is_found() {
    let cluster = shop();
    let function = Function::on(&cluster).await;
    cluster.put(APP, config_map("2"));
    cluster.put(APP, labelled_config_map("2", "x"));
    cluster.put(APP, labelled_config_map("2", "y"));
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn more_versions_than_one_cares_to_read_count_as_a_change() {
    let cluster = shop();
    let function = Function::on(&cluster).await;
    for label in 0..20 {
        cluster.put(APP, labelled_config_map("1", &label.to_string()));
    }
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn there_and_back_again_is_no_change_for_a_workload_that_was_seen() {
    let cluster = shop();
    let function = Function::on(&cluster).await;
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    cluster.put(APP, config_map("3"));
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn a_workload_born_after_the_change_is_left_alone() {
    let cluster = FakeCluster::default();
    cluster.put(APP, config_map("1"));
    cluster.put(APP, config_map("2"));
    cluster.put(API, workload_using(&["app"]));
    let function = Function::on(&cluster).await;
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 0);
}

#[tokio::test]
async fn a_workload_born_just_before_the_change_and_written_since_is_rolled_out() {
    let cluster = shop();
    cluster.put(APP, config_map("2"));
    let mut written = workload_using(&["app"]);
    written["status"] = json!({ "observedGeneration": 1 });
    cluster.put(API, written);
    let function = Function::on(&cluster).await;
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn a_source_made_again_with_other_content_is_a_change_and_with_the_same_is_none() {
    for (seen, again, rollouts) in [(false, "2", 1), (false, "1", 0), (true, "3", 2), (true, "2", 1)] {
        let cluster = shop();
        let function = Function::on(&cluster).await;
        if seen {
            cluster.put(APP, config_map("2"));
            function.updated("ConfigMap", "app").await;
        }
        cluster.delete(APP);
        assert_eq!(function.told(&ChangeEvent::of("delete", "ConfigMap", "app")).await, 202);
        // Other things happen in a cluster meanwhile.
        (0..40).for_each(|other| cluster.put("configmaps/other", config_map(&other.to_string())));
        cluster.put(APP, config_map(again));
        assert_eq!(function.told(&ChangeEvent::of("add", "ConfigMap", "app")).await, 202);
        assert_eq!(cluster.rollouts(API), rollouts, "seen {seen}, made again with {again}");
    }
}

#[tokio::test]
async fn an_earlier_life_is_found_even_if_the_workload_was_written_after_it() {
    let cluster = shop();
    // A life that is long enough to be met by leaps that grow fourfold.
    (0..40).for_each(|other| cluster.put("configmaps/other", config_map(&other.to_string())));
    cluster.delete(APP);
    let mut written = workload_using(&["app"]);
    written["status"] = json!({ "observedGeneration": 1 });
    cluster.put(API, written);
    cluster.put(APP, config_map("2"));
    let function = Function::on(&cluster).await;
    assert_eq!(function.told(&ChangeEvent::of("add", "ConfigMap", "app")).await, 202);
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn of_an_earlier_life_only_the_end_counts() {
    let cluster = FakeCluster::default();
    cluster.put(APP, config_map("1"));
    (0..40).for_each(|other| cluster.put("configmaps/other", config_map(&other.to_string())));
    cluster.put(APP, config_map("2"));
    cluster.put(API, workload_using(&["app"]));
    cluster.delete(APP);
    cluster.put(APP, config_map("2"));
    let function = Function::on(&cluster).await;
    assert_eq!(function.told(&ChangeEvent::of("add", "ConfigMap", "app")).await, 202);
    assert_eq!(cluster.rollouts(API), 0, "the workload was born with what there is now");
}

#[tokio::test]
async fn a_source_created_for_the_first_time_rolls_nothing_out_and_its_next_edit_does() {
    let cluster = FakeCluster::default();
    cluster.put(API, workload_using(&["app"]));
    let function = Function::on(&cluster).await;
    cluster.put(APP, config_map("1"));
    assert_eq!(function.told(&ChangeEvent::of("add", "ConfigMap", "app")).await, 202);
    assert_eq!(cluster.rollouts(API), 0);
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn where_the_past_cannot_be_read_the_servers_bookkeeping_decides() {
    let written = |value: &str, time: &str| json!({ "metadata": { "managedFields": [{ "time": time, "fieldsV1": { "f:data": {} } }] }, "data": { "a": value } });
    for refusal in [400, 410] {
        let cluster = shop();
        let past = move |_: &str, uri: &str| uri.contains("Match=Exact").then(|| status(refusal, "no past here"));
        cluster.on_request(past);
        let function = Function::on(&cluster).await;
        cluster.put(APP, written("1", "2025-12-31T00:00:00Z"));
        function.updated("ConfigMap", "app").await;
        assert_eq!(cluster.rollouts(API), 0, "{refusal}: data older than the workload");
        cluster.put(APP, written("2", "2026-01-02T00:00:00Z"));
        function.updated("ConfigMap", "app").await;
        assert_eq!(cluster.rollouts(API), 1, "{refusal}: data younger than the workload");
    }
}

#[tokio::test]
async fn an_event_that_comes_after_the_server_forgot_the_past_is_acted_on() {
    let cluster = shop();
    let function = Function::on(&cluster).await;
    cluster.put(
        APP,
        json!({ "metadata": { "managedFields": [
        { "time": "2026-01-02T00:00:00Z", "fieldsV1": { "f:data": {} } } ] }, "data": { "a": "2" } }),
    );
    cluster.compact();
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn another_digest_key_rolls_nothing_out_by_itself() {
    let cluster = shop();
    let function = Function::on(&cluster).await;
    cluster.put(APP, config_map("2"));
    function.updated("ConfigMap", "app").await;
    let mut other_key = confroll::edge::config::Settings::for_testing();
    other_key.rules.digest_key = confroll::reload::digest::DigestKey::new(b"another");
    let upgraded = Function::with(&cluster, other_key).await;
    upgraded.updated("ConfigMap", "app").await;
    cluster.put(APP, labelled_config_map("2", "x"));
    upgraded.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 1);
    cluster.put(APP, config_map("3"));
    upgraded.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 2);
}

#[tokio::test]
async fn a_key_that_is_not_used_does_not_count() {
    let cluster = FakeCluster::default();
    cluster.put(APP, json!({ "metadata": {}, "data": { "used": "1", "unused": "1" } }));
    let mut api = workload_using(&[]);
    api["spec"]["template"]["spec"]["containers"][0]["env"] =
        json!([{ "name": "A", "valueFrom": { "configMapKeyRef": { "name": "app", "key": "used" } } }]);
    cluster.put(API, api);
    let function = Function::on(&cluster).await;
    cluster.put(APP, json!({ "metadata": {}, "data": { "used": "1", "unused": "2" } }));
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 0);
    cluster.put(APP, json!({ "metadata": {}, "data": { "used": "2", "unused": "2" } }));
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 1);
}
