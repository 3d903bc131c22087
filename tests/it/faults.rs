//! What fails for one thing stops no other, and what may work later is asked for again.

use confroll_stack::RecordingSink;
use http::StatusCode;
use serde_json::json;

use crate::fake_cluster::{FakeCluster, status};
use crate::support::{ChangeEvent, Function, config_map, told, workload_using};

/// A ConfigMap `app`, edited, and three Deployments that use it.
fn edited_shop() -> FakeCluster {
    let cluster = FakeCluster::default();
    cluster.put("configmaps/app", config_map("1"));
    ["a", "b", "c"].iter().for_each(|name| cluster.put(&format!("deployments/{name}"), workload_using(&["app"])));
    cluster.put("configmaps/app", config_map("2"));
    cluster
}

fn rollouts(cluster: &FakeCluster) -> [usize; 3] {
    ["a", "b", "c"].map(|name| cluster.rollouts(&format!("deployments/{name}")))
}

/// Lets the cluster refuse every patch of `deployments/b` until told otherwise.
fn refuse_b(cluster: &FakeCluster, code: u16, message: &'static str) {
    cluster.on_request(move |method, uri| {
        (method == "PATCH" && uri.contains("/deployments/b?")).then(|| status(code, message))
    });
}

#[tokio::test]
async fn a_workload_that_cannot_be_patched_keeps_no_other_from_it_and_is_tried_again() {
    for (code, message) in
        [(500, "etcd is away"), (403, r#"deployments.apps "b" is forbidden: User "confroll" cannot patch"#)]
    {
        let cluster = edited_shop();
        refuse_b(&cluster, code, message);
        let function = Function::on(&cluster).await;
        let event = ChangeEvent::update("ConfigMap", "app");
        assert_eq!(function.told(&event).await, 503, "{code}");
        assert_eq!(rollouts(&cluster), [1, 0, 1], "{code}");
        cluster.on_request(|_, _| None);
        assert_eq!(function.told(&event).await, 202, "{code}");
        assert_eq!(rollouts(&cluster), [1, 1, 1], "{code}");
    }
}

#[tokio::test]
async fn a_change_that_is_refused_for_good_is_told_and_not_sent_again() {
    let refusals = [
        (422, "spec.template: Invalid value"),
        (403, "admission webhook \"policy.example\" denied the request: not on Fridays\nhunter2"),
    ];
    for (code, message) in refusals {
        let cluster = edited_shop();
        refuse_b(&cluster, code, message);
        let sink = RecordingSink::start().await.unwrap();
        let function = Function::telling(&cluster, &sink).await;
        function.updated("ConfigMap", "app").await;
        assert_eq!(rollouts(&cluster), [1, 0, 1]);
        let failed: Vec<_> = told(&sink).into_iter().filter(|told| told.extension("severity") == "error").collect();
        assert_eq!(failed.len(), 1, "{code}");
        let data = &failed[0].data;
        assert_eq!(data["message"], message.lines().next().unwrap());
        assert_eq!(data["workload"]["name"], "b");
    }
}

#[tokio::test]
async fn a_kind_that_cannot_be_listed_keeps_no_other_from_it() {
    let cluster = edited_shop();
    cluster.put("statefulsets/db", workload_using(&["app"]));
    // Its template in the past, so that the first version is not the edited one.
    cluster.put("configmaps/app", config_map("3"));
    cluster.on_request(|_, uri| uri.contains("/deployments?").then(|| status(500, "etcd is away")));
    let function = Function::on(&cluster).await;
    let event = ChangeEvent::update("ConfigMap", "app");
    assert_eq!(function.told(&event).await, 503);
    assert_eq!((rollouts(&cluster), cluster.rollouts("statefulsets/db")), ([0, 0, 0], 1));
    cluster.on_request(|_, _| None);
    assert_eq!(function.told(&event).await, 202);
    assert_eq!((rollouts(&cluster), cluster.rollouts("statefulsets/db")), ([1, 1, 1], 1));
}

#[tokio::test]
async fn a_workload_that_cannot_be_read_keeps_no_other_from_it() {
    let cluster = edited_shop();
    let mut odd = workload_using(&["app"]);
    odd["spec"]["template"]["spec"]["containers"] = json!("not a list");
    cluster.put("deployments/odd", odd);
    let function = Function::on(&cluster).await;
    function.updated("ConfigMap", "app").await;
    assert_eq!(rollouts(&cluster), [1, 1, 1]);
}

#[tokio::test]
async fn a_source_that_cannot_be_read_is_asked_for_again() {
    let cluster = edited_shop();
    cluster.on_request(|_, uri| uri.ends_with("/configmaps/app").then(|| status(503, "away")));
    let mut settings = confroll::edge::config::Settings::for_testing();
    settings.pace.call_deadline = std::time::Duration::from_millis(200);
    let function = Function::with(&cluster, settings).await;
    let event = ChangeEvent::update("ConfigMap", "app");
    assert_eq!(function.told(&event).await, 503);
    cluster.on_request(|_, _| None);
    assert_eq!(function.told(&event).await, 202);
    assert_eq!(rollouts(&cluster), [1, 1, 1]);
}

#[tokio::test]
async fn a_source_that_is_gone_is_nothing_to_do() {
    let cluster = edited_shop();
    let function = Function::on(&cluster).await;
    function.updated("ConfigMap", "vanished").await;
    cluster.delete("configmaps/app");
    function.updated("ConfigMap", "app").await;
    assert_eq!(rollouts(&cluster), [0, 0, 0]);
}

#[tokio::test]
async fn a_reload_event_that_was_not_taken_is_sent_again_with_the_same_id() {
    let cluster = edited_shop();
    let sink = RecordingSink::start().await.unwrap();
    let function = Function::telling(&cluster, &sink).await;
    sink.answer_with(StatusCode::SERVICE_UNAVAILABLE);
    let event = ChangeEvent::update("ConfigMap", "app");
    assert_eq!(function.told(&event).await, 503);
    let ids = || {
        let mut ids: Vec<_> = told(&sink).iter().map(|told| told.id.clone()).collect();
        ids.sort();
        ids
    };
    let first = ids();
    sink.answer_with(StatusCode::ACCEPTED);
    assert_eq!(function.told(&event).await, 202);
    assert_eq!(rollouts(&cluster), [1, 1, 1]);
    let mut twice = [first.clone(), first].concat();
    twice.sort();
    assert_eq!(ids(), twice);
    // Another event about the same state has nothing to tell.
    function.updated("ConfigMap", "app").await;
    assert_eq!(ids(), twice);
}

#[tokio::test]
async fn a_lane_survives_whatever_happens_in_it() {
    let cluster = edited_shop();
    cluster.on_request(|method, _| if method == "PATCH" { panic!("a fault of the test") } else { None });
    let function = Function::on(&cluster).await;
    let event = ChangeEvent::update("ConfigMap", "app");
    assert_eq!(function.told(&event).await, 503);
    cluster.on_request(|_, _| None);
    assert_eq!(function.told(&event).await, 202);
    assert_eq!(rollouts(&cluster), [1, 1, 1]);
}
