//! Pauses and delays on a real API server: begun, ended, and ended by another process.

use std::path::Path;

use confroll::reload::workload_kind::{WORKLOAD_KINDS, WorkloadKind};
use confroll_stack::{Function, FunctionOptions, User};
use serde_json::{Value, json};

use crate::pausing::{DUE, PAUSE, PAUSED_AT};
use crate::shop::{Shop, stack, watcher, with_marker, workload};
use crate::sink::http;
use crate::stage::Stage;
use crate::support::{ChangeEvent, told, until};

const API: &str = "deployments/api";
const APP: &str = "configmaps/app";
const DELAY: &str = "reloader.stakater.com/reload-delay";
const LONG_AGO: &str = "2026-01-01T00:00:00Z";

/// A shop with a Deployment `api` of these further annotations that uses two ConfigMaps, and a marker.
async fn shop(annotations: Value) -> Shop {
    let env_from = json!([{ "configMapRef": { "name": "app" } }, { "configMapRef": { "name": "db" } }]);
    let mut api = workload("api", &json!({ "main": { "envFrom": env_from } }));
    for (key, value) in annotations.as_object().unwrap() {
        api["metadata"]["annotations"][key] = value.clone();
    }
    let content = || json!({ "metadata": {}, "data": { "a": "1" } });
    let objects = with_marker([(APP, content()), ("configmaps/db", content()), (API, api)]);
    Shop::unattended(&objects).await
}

/// A function that looks at this shop alone, so that its sweeps leave others' be.
async fn function(shop: &Shop) -> Function {
    let env = [
        ("CONFROLL_DIGEST_KEY", "for testing"),
        ("CONFROLL_LOG_LEVEL", "debug"),
        ("CONFROLL_NAMESPACES", &shop.namespace),
    ];
    let env = env.map(|(name, value)| (name, value.to_owned())).to_vec();
    let kubeconfig = stack().await.control_plane.kubeconfig_for(User::Confroll);
    let options = FunctionOptions { kubeconfig, sink: Some(shop.sink.url().to_owned()), env };
    Function::start(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await.unwrap()
}

/// Sends an event; `None` where the function died meanwhile.
async fn send(function: &Function, event: &ChangeEvent) -> Option<u16> {
    Some(event.request(&http(), function.url()).send().await.ok()?.status().as_u16())
}

async fn tell(function: &Function, shop: &Shop, name: &str) -> Option<u16> {
    let mut event = ChangeEvent::update("ConfigMap", name);
    event.data["namespace"] = json!(shop.namespace);
    send(function, &event).await
}

/// Changes a ConfigMap and sees its event done.
async fn change(function: &Function, shop: &Shop, name: &str, content: &str) {
    shop.patch(&format!("configmaps/{name}"), json!({ "data": { "a": content } })).await;
    assert_eq!(tell(function, shop, name).await, Some(202), "{}", function.log());
}

async fn swept(function: &Function, id: &str) {
    assert_eq!(send(function, &ChangeEvent::ping(id)).await, Some(202), "{}", function.log());
}

async fn annotate(shop: &Shop, key: &str, value: Value) {
    shop.patch(API, json!({ "metadata": { "annotations": { key: value } } })).await;
}

/// Waits until the Deployment is so.
async fn becomes(shop: &Shop, is_so: impl Fn(&Value) -> bool) {
    until(|| async { is_so(&shop.get(API).await) }).await;
}

fn is_paused(object: &Value) -> bool {
    object["spec"]["paused"] == true
}

/// Nothing waits on it any more.
fn is_at_rest(object: &Value) -> bool {
    let metadata = &object["metadata"];
    !is_paused(object) && metadata["annotations"][PAUSED_AT].is_null() && metadata["labels"][DUE].is_null()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_is_paused_changed_again_and_resumed_in_this_order() {
    let shop = shop(json!({ PAUSE: "1h" })).await;
    let first = function(&shop).await;
    change(&first, &shop, "app", "2").await;
    shop.rolled_out(API, 1).await;
    let paused = shop.get(API).await;
    let began = &paused["metadata"]["annotations"][PAUSED_AT];
    assert!(is_paused(&paused) && began.is_string() && paused["metadata"]["labels"][DUE] == "true", "{paused}");
    change(&first, &shop, "db", "2").await;
    shop.rolled_out(API, 2).await;
    // Neither an event nor a sweep ends it before its time.
    swept(&first, "1").await;
    change(&first, &shop, "marker", "2").await;
    shop.rolled_out("deployments/marker", 1).await;
    let still = shop.get(API).await;
    assert!(is_paused(&still) && still["metadata"]["annotations"][PAUSED_AT] == *began, "{still}");
    first.kill();
    // A process that knows nothing finds it over, by the next event of its namespace.
    annotate(&shop, PAUSE, json!("1ms")).await;
    let second = function(&shop).await;
    change(&second, &shop, "marker", "3").await;
    becomes(&shop, is_at_rest).await;
    shop.rolled_out("deployments/marker", 2).await;
    assert_eq!(shop.rollouts(API), 2);
    let notes: Vec<_> = told(&shop.sink).into_iter().filter(|event| event.subject == "Deployment/api").collect();
    assert!(notes.len() == 2 && notes.iter().all(|event| event.data["note"].is_string()), "told with why pods wait");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_that_lives_resumes_and_rolls_out_in_time() {
    let shop = shop(json!({ PAUSE: "1s", DELAY: "1" })).await;
    let function = function(&shop).await;
    for round in 1..=2 {
        change(&function, &shop, "app", &format!("round {round}")).await;
        shop.rolled_out(API, round).await;
        becomes(&shop, is_at_rest).await;
        assert_eq!(shop.rollouts(API), round);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_its_owner_paused_stays_so_and_what_the_peer_left_is_resumed_without_a_rollout() {
    let shop = shop(json!({ PAUSE: "1s" })).await;
    shop.patch(API, json!({ "spec": { "paused": true } })).await;
    let mut left = workload("left", &json!({ "main": { "envFrom": [{ "configMapRef": { "name": "db" } }] } }));
    left["metadata"]["annotations"][PAUSE] = json!("5m");
    left["metadata"]["annotations"][PAUSED_AT] = json!(LONG_AGO);
    left["spec"]["paused"] = json!(true);
    shop.create("deployments/left", left).await;
    let function = function(&shop).await;
    change(&function, &shop, "app", "2").await;
    shop.rolled_out(API, 1).await;
    swept(&function, "1").await;
    assert!(is_at_rest(&shop.get("deployments/left").await));
    change(&function, &shop, "marker", "2").await;
    shop.rolled_out("deployments/marker", 1).await;
    assert_eq!(shop.rollouts("deployments/left"), 0);
    let api = shop.get(API).await;
    assert!(is_paused(&api) && api["metadata"]["annotations"][PAUSED_AT].is_null(), "{api}");
}

#[tokio::test(flavor = "multi_thread")]
async fn three_changes_within_a_delay_make_one_rollout_though_the_process_dies_in_the_middle() {
    let shop = shop(json!({ DELAY: "1h" })).await;
    let first = function(&shop).await;
    change(&first, &shop, "app", "2").await;
    change(&first, &shop, "db", "2").await;
    first.kill();
    let second = function(&shop).await;
    change(&second, &shop, "app", "3").await;
    swept(&second, "1").await;
    change(&second, &shop, "marker", "2").await;
    shop.rolled_out("deployments/marker", 1).await;
    assert_eq!((shop.rollouts(API), &shop.get(API).await["metadata"]["labels"][DUE]), (0, &json!("true")));
    annotate(&shop, DELAY, Value::Null).await;
    swept(&second, "2").await;
    shop.rolled_out(API, 1).await;
    change(&second, &shop, "marker", "3").await;
    shop.rolled_out("deployments/marker", 2).await;
    assert_eq!((shop.rollouts(API), is_at_rest(&shop.get(API).await)), (1, true));
    let told = told(&shop.sink).into_iter().filter(|event| event.subject == "Deployment/api").count();
    assert_eq!(told, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_processes_that_are_woken_at_once_roll_out_once_and_resume_once() {
    const ROUNDS: usize = 5;
    let shop = shop(json!({ PAUSE: "1s", DELAY: "1s" })).await;
    let functions = [function(&shop).await, function(&shop).await];
    let mut generation = shop.get(API).await["metadata"]["generation"].as_u64().unwrap();
    for round in 1..=ROUNDS {
        shop.patch(APP, json!({ "data": { "a": format!("round {round}") } })).await;
        let answers = tokio::join!(tell(&functions[0], &shop, "app"), tell(&functions[1], &shop, "app"));
        assert_eq!(answers, (Some(202), Some(202)));
        shop.rolled_out(API, round).await;
        becomes(&shop, is_at_rest).await;
        let rested = shop.get(API).await;
        // The note of the delay, the rollout with its pause, and its end: annotations count in a Deployment's generation.
        generation += 3;
        assert_eq!((shop.rollouts(API), rested["metadata"]["generation"].as_u64()), (round, Some(generation)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_at_any_point_of_a_delay_and_a_pause_the_next_sweeps_end_both() {
    let shop = shop(json!({ PAUSE: "1s", DELAY: "1s" })).await;
    let points: [fn(&Value) -> bool; 4] = [
        |api| api["metadata"]["labels"][DUE] == "true",
        is_paused,
        |api| is_paused(api) && api["metadata"]["annotations"][PAUSED_AT].is_string(),
        is_at_rest,
    ];
    for (round, is_the_point) in points.into_iter().enumerate() {
        let (round, dying) = (round + 1, function(&shop).await);
        change(&dying, &shop, "app", &format!("round {round}")).await;
        becomes(&shop, is_the_point).await;
        dying.kill();
        let next = function(&shop).await;
        let mut sweeps = 0;
        while shop.rollouts(API) < round || !is_at_rest(&shop.get(API).await) {
            sweeps += 1;
            assert_eq!(send(&next, &ChangeEvent::ping(&format!("{round} {sweeps}"))).await, Some(202));
        }
        shop.rolled_out(API, round).await;
        assert_eq!(shop.rollouts(API), round);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_without_knative_roll_out_once_tell_once_and_resume() {
    let shop = shop(json!({ PAUSE: "1s", DELAY: "1s" })).await;
    let sink = shop.sink.url().to_owned();
    let mut replicas = Vec::new();
    for _ in 0..3 {
        replicas.push(watcher(&shop.namespace, &[("K_SINK", &sink)]).await);
    }
    // A sweep at the start notes what each workload runs on, so all of them watch by then.
    for replica in &replicas {
        until(|| async { replica.log().contains("a sweep looked at") }).await;
    }
    for round in 1..=2 {
        shop.patch(APP, json!({ "data": { "a": format!("round {round}") } })).await;
        shop.rolled_out(API, round).await;
        becomes(&shop, is_at_rest).await;
        until(|| async { told(&shop.sink).len() >= round }).await;
        assert_eq!((shop.rollouts(API), told(&shop.sink).len()), (round, round));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_rolls_out_once_for_all_changes_within_its_delay() {
    let mut stage = Stage::set(&[]).await;
    let name = |kind: &WorkloadKind| format!("a-{}", kind.plural);
    let mut uids = Vec::new();
    for kind in &WORKLOAD_KINDS {
        let made = stage.create(kind.kind, &name(kind), &[(DELAY, "1h")]).await;
        uids.push(made["metadata"]["uid"].clone());
    }
    stage.change().await;
    stage.change().await;
    for kind in &WORKLOAD_KINDS {
        let waits = stage.get(kind.kind, &name(kind)).await;
        assert_eq!(
            (&waits["metadata"]["labels"][DUE], stage.told_of(&name(kind)).len()),
            (&json!("true"), 0),
            "{kind}"
        );
        stage.patch(kind.kind, &name(kind), json!({ "metadata": { "annotations": { DELAY: "0" } } })).await;
    }
    swept(&stage.function, "1").await;
    for (kind, uid) in WORKLOAD_KINDS.iter().zip(uids) {
        let after = stage.get(kind.kind, &name(kind)).await;
        assert!(after["metadata"]["labels"][DUE].is_null(), "{after}");
        assert_eq!(stage.told_of(&name(kind)).len(), 1, "{kind}");
        assert_eq!(after["metadata"]["uid"] == uid, kind.kind != "Job", "{kind}: a Job is made again");
    }
    let metrics = http().get(format!("{}/metrics", stage.function.url().trim_end_matches('/'))).send().await.unwrap();
    let metrics = metrics.text().await.unwrap();
    assert!(metrics.contains("confroll_change_to_patch_seconds_count 0"), "none of them came late: {metrics}");
    let jobs = stage.jobs().await;
    assert_eq!(jobs.len(), 2, "the one that was made again, and one of the CronJob: {jobs:?}");
}
