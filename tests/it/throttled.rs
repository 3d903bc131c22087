//! An API server that says when it wants to be asked again is asked again then, and no event waits longer than a call may.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use confroll::command::serve::inbox;
use confroll::edge::config::Settings;
use confroll_stack::{Function, FunctionOptions};
use tokio::time::Instant;
use tower::ServiceExt as _;

use crate::fake_cluster::{FakeCluster, not_before};
use crate::secrets::{Lie, serve};
use crate::sink::http;
use crate::support::{ChangeEvent, config_map, workload_using};

const API: &str = "deployments/api";
/// A GET, a LIST and a PATCH that every rollout takes.
const CALLS: [(&str, &str); 3] = [("GET", "/configmaps/app"), ("GET", "/deployments?"), ("PATCH", "/deployments/api?")];

fn edited_shop() -> FakeCluster {
    let cluster = FakeCluster::default();
    cluster.put("configmaps/app", config_map("1"));
    cluster.put(API, workload_using(&["app"]));
    cluster.put("configmaps/app", config_map("2"));
    cluster
}

/// Lets the cluster put off each of these calls once, for so long.
fn put_off(cluster: &FakeCluster, calls: &[(&'static str, &'static str)], seconds: u64) {
    let mut calls = calls.to_vec();
    cluster.on_request(move |method, uri| {
        let met = calls.iter().position(|(verb, path)| *verb == method && uri.contains(path))?;
        calls.remove(met);
        Some(not_before(seconds))
    });
}

fn asked(cluster: &FakeCluster, (method, path): (&str, &str)) -> usize {
    cluster.requests().iter().filter(|request| request.starts_with(method) && request.contains(path)).count()
}

/// The answer to an event, and how long it took on the clock of the test.
async fn told(router: &Router, event: &ChangeEvent) -> (u16, Duration) {
    let began = Instant::now();
    let answer = router.clone().oneshot(event.as_http()).await.unwrap();
    (answer.status().as_u16(), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn each_call_is_made_again_when_the_server_wants_it_and_there_is_one_rollout() {
    for call in CALLS {
        let cluster = edited_shop();
        put_off(&cluster, &[call], 3);
        let router = inbox(cluster.client(), &Settings::for_testing()).unwrap().router();
        let event = ChangeEvent::update("ConfigMap", "app");
        let (answer, took) = told(&router, &event).await;
        assert_eq!((answer, took.as_secs()), (202, 3), "{call:?}");
        assert_eq!((cluster.rollouts(API), asked(&cluster, call)), (1, 2), "{call:?}");
        assert_eq!(told(&router, &event).await.0, 202);
        assert_eq!(cluster.rollouts(API), 1, "{call:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_is_given_back_where_the_server_wants_more_time_than_a_call_has() {
    for call in CALLS {
        let cluster = edited_shop();
        put_off(&cluster, &[call], 3600);
        let settings = Settings::for_testing();
        let router = inbox(cluster.client(), &settings).unwrap().router();
        let event = ChangeEvent::update("ConfigMap", "app");
        let (answer, took) = told(&router, &event).await;
        assert_eq!((answer, took.as_secs()), (503, settings.pace.call_deadline.as_secs()), "{call:?}");
        assert_eq!((cluster.rollouts(API), asked(&cluster, call)), (0, 1), "{call:?}");
        assert_eq!(told(&router, &event).await.0, 202);
        assert_eq!(cluster.rollouts(API), 1, "{call:?}");
    }
}

/// The two above have the client that a test makes; this has the one that a user gets.
#[tokio::test(flavor = "multi_thread")]
async fn the_program_itself_asks_again_within_one_event() {
    let cluster = edited_shop();
    put_off(&cluster, &CALLS, 1);
    let truth: Lie = Box::new(|_, _| None);
    let (_folder, kubeconfig) = serve(cluster.clone(), Arc::new(Mutex::new(truth))).await;
    let options = FunctionOptions { kubeconfig, ..FunctionOptions::default() };
    let function = Function::start(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await.unwrap();
    let request = ChangeEvent::update("ConfigMap", "app").request(&http(), function.url());
    assert_eq!(request.send().await.unwrap().status(), 202, "{}", function.log());
    assert_eq!(cluster.rollouts(API), 1);
    assert_eq!(CALLS.map(|call| asked(&cluster, call)), [2, 2, 2]);
}
