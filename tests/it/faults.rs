//! What fails for one thing stops no other, and what may work later is asked for again.

use confroll::edge::config::Settings;
use confroll::edge::variables::Log;
use confroll_stack::RecordingSink;
use http::StatusCode;
use serde_json::json;

use crate::canary::{LONG, assert_silent, secret};
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
    let mut settings = Settings::for_testing();
    settings.pace.call_deadline = std::time::Duration::from_millis(200);
    let function = Function::with(&cluster, settings).await;
    let event = ChangeEvent::update("ConfigMap", "app");
    assert_eq!(function.told(&event).await, 503);
    cluster.on_request(|_, _| None);
    assert_eq!(function.told(&event).await, 202);
    assert_eq!(rollouts(&cluster), [1, 1, 1]);
}

#[tokio::test]
async fn a_rollout_whose_process_ended_just_as_the_patch_landed_is_told_by_who_meets_it() {
    let cluster = edited_shop();
    let before = cluster.get("deployments/a");
    let event = ChangeEvent::update("ConfigMap", "app");
    let lost = RecordingSink::start().await.unwrap();
    let first = Function::telling(&cluster, &lost).await;
    assert_eq!(first.told(&event).await, 202);
    let patched = cluster.get("deployments/a");
    cluster.put("deployments/a", before);
    // The second has read everything when the patch of the first lands.
    let state = cluster.clone();
    let mut is_open = true;
    cluster.on_request(move |method, uri| {
        if method == "PATCH" && uri.contains("/deployments/a?") && std::mem::take(&mut is_open) {
            state.put("deployments/a", patched.clone());
        }
        None
    });
    let sink = RecordingSink::start().await.unwrap();
    let second = Function::telling(&cluster, &sink).await;
    assert_eq!(second.told(&event).await, 202);
    let ids =
        |sink: &RecordingSink| told(sink).into_iter().map(|told| told.id).collect::<std::collections::BTreeSet<_>>();
    assert_eq!((ids(&sink).len(), ids(&sink)), (3, ids(&lost)));
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

/// Where a batch panics: at the reads of a source and of the workloads, at the patch.
const PLACES: [(&str, &str); 3] = [("GET", "/secrets/db"), ("GET", "/deployments?"), ("PATCH", "/deployments/api?")];

#[test]
fn a_batch_that_panics_is_given_back_the_next_is_done_and_no_value_is_logged() {
    // In a process of its own, as what a panic says is written past everything that a test could listen to.
    let mut process = std::process::Command::new(std::env::current_exe().unwrap());
    process.args(["--ignored", "--exact", "faults::batches_that_panic", "--nocapture"]).env("RUST_BACKTRACE", "full");
    let output = process.output().unwrap();
    let seen = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(output.status.success(), "{seen}");
    assert_silent(&["1", "2", "3", "4"], &seen);
    assert_eq!(seen.matches("a batch ended in a panic").count(), PLACES.len(), "{seen}");
    assert!(seen.contains(r#"words="a fault of the test""#), "{seen}");
    assert_eq!(seen.matches("at=tests/it/faults.rs:").count(), PLACES.len(), "each is told with its place: {seen}");
}

#[tokio::test]
#[ignore = "the process that `a_batch_that_panics_is_given_back_the_next_is_done_and_no_value_is_logged` starts"]
async fn batches_that_panic() {
    let log = Log { level: "trace".parse().unwrap(), ..Settings::for_testing().log };
    confroll::edge::telemetry::start(&log);
    let cluster = FakeCluster::default();
    cluster.put("secrets/db", secret("1"));
    let mut api = workload_using(&[]);
    api["spec"]["template"]["spec"]["containers"][0]["envFrom"] = json!([{ "secretRef": { "name": "db" } }]);
    cluster.put("deployments/api", api);
    let function = Function::on(&cluster).await;
    for (n, (method, place)) in PLACES.into_iter().enumerate() {
        cluster.put("secrets/db", secret(&(n + 2).to_string()));
        cluster.on_request(move |asked, uri| match asked {
            _ if asked != method || !uri.contains(place) => None,
            "PATCH" => panic!("a fault of the test"),
            // As the standard library puts it, of the text that it was to cut.
            _ => panic!("byte index 3 is not a char boundary; it is inside 'é' of `{LONG}{}`", n + 2),
        });
        let event = ChangeEvent::update("Secret", "db");
        assert_eq!(function.told(&event).await, 503, "{place}");
        cluster.on_request(|_, _| None);
        assert_eq!(function.told(&event).await, 202, "{place}");
        assert_eq!(cluster.rollouts("deployments/api"), n + 1, "{place}");
    }
}
