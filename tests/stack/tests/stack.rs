//! The stack keeps its promises: real events travel the real path, nothing outlives its owner, and what is
//! missing on a machine is told in one sentence.

#![allow(clippy::unwrap_used, reason = "a test's helpers are of the test")]

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use cloudevents::AttributesReader;
use confroll_stack::{
    ApiServerSource, BrokerDelivery, ControlPlane, ControlPlaneOptions, Eventing, Function, FunctionOptions, Part,
    Parts, Places, Received, RecordingSink, RunFolder, SourceOptions, TemplateWatch, User,
};
use http::StatusCode;
use k8s_openapi::api::{apps::v1::Deployment, core::v1::ConfigMap};
use kube::{
    Api,
    api::{ListParams, Patch, PatchParams, PostParams},
};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

const LIMIT: Duration = Duration::from_secs(30);
const ADDED: &str = "dev.knative.apiserver.ref.add";
const UPDATED: &str = "dev.knative.apiserver.ref.update";

struct Stack {
    parts: Parts,
    control_plane: ControlPlane,
    eventing: Eventing,
}

/// One for all tests: each takes a namespace of its own.
async fn stack() -> &'static Stack {
    static STACK: OnceCell<Stack> = OnceCell::const_new();
    STACK
        .get_or_init(|| async {
            let parts = Parts::build().unwrap();
            let control_plane = ControlPlane::start(&parts, ControlPlaneOptions::default()).await.unwrap();
            let eventing = Eventing::start(&control_plane, &parts).await.unwrap();
            Stack { parts, control_plane, eventing }
        })
        .await
}

async fn create<K: DeserializeOwned + Serialize + Clone + std::fmt::Debug>(api: &Api<K>, object: Value) {
    api.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
}

async fn set(config_maps: &Api<ConfigMap>, name: &str, value: &str) {
    let patch = Patch::Merge(json!({"data": {"key": value}}));
    config_maps.patch(name, &PatchParams::default(), &patch).await.unwrap();
}

/// Whether an event of this type about the object of this name is there.
fn has(events: &[Received], ty: &str, name: &str) -> bool {
    let names = |event: &cloudevents::Event| event.extension("name").is_some_and(|value| value.to_string() == name);
    events.iter().any(|received| received.event.ty() == ty && names(&received.event))
}

#[tokio::test]
async fn a_config_maps_update_travels_to_a_sink_and_through_a_broker() {
    let Stack { parts, control_plane, eventing } = stack().await;
    let namespace = control_plane.create_namespace("travel").await.unwrap();
    let direct = RecordingSink::start().await.unwrap();
    let updates = RecordingSink::start().await.unwrap();
    let additions = RecordingSink::start().await.unwrap();
    let broker = eventing.broker(&namespace, "default", BrokerDelivery::default()).await.unwrap();
    broker.trigger("updates", json!([{"exact": {"type": UPDATED}}]), updates.url(), None).await.unwrap();
    broker.trigger("additions", json!([{"exact": {"type": ADDED}}]), additions.url(), None).await.unwrap();
    let config_maps: Api<ConfigMap> = Api::namespaced(control_plane.client().await.unwrap(), &namespace);
    create(&config_maps, json!({"metadata": {"name": "settings"}, "data": {"key": "one"}})).await;
    let to_broker = SourceOptions::new(&broker.url()).in_namespace(&namespace);
    let _to_broker = ApiServerSource::start(control_plane, parts, &to_broker).await.unwrap();
    let _to_sink = ApiServerSource::start(control_plane, parts, &SourceOptions::new(direct.url())).await.unwrap();

    set(&config_maps, "settings", "two").await;
    direct.wait_for(|events| has(events, UPDATED, "settings"), LIMIT).await.unwrap();
    updates.wait_for(|events| has(events, UPDATED, "settings"), LIMIT).await.unwrap();

    // The Broker answers an event after all its Triggers, and the source sends the next after that: what the
    // other Trigger has not been given before the marker, it is never given.
    create(&config_maps, json!({"metadata": {"name": "marker"}})).await;
    let others = additions.wait_for(|events| has(events, ADDED, "marker"), LIMIT).await.unwrap();
    assert!(!has(&others, UPDATED, "settings"), "{others:?}");
}

#[tokio::test]
async fn a_broker_answers_after_its_triggers_or_at_once_as_told() {
    let Stack { control_plane, eventing, .. } = stack().await;
    let namespace = control_plane.create_namespace("answer").await.unwrap();
    let sink = RecordingSink::start().await.unwrap();
    sink.answer_with(StatusCode::SERVICE_UNAVAILABLE);
    let mut answers = Vec::new();
    for (name, delivery) in [("after", BrokerDelivery::default()), ("at-once", BrokerDelivery::asynchronous())] {
        let broker = eventing.broker(&namespace, name, delivery).await.unwrap();
        broker.trigger(name, json!([]), sink.url(), Some(json!({"retry": 0}))).await.unwrap();
        let event = reqwest::Client::builder().no_proxy().build().unwrap().post(broker.url());
        let event = event.header("ce-specversion", "1.0").header("ce-id", name).header("ce-type", "t");
        answers.push(event.header("ce-source", "/s").send().await.unwrap().status().as_u16());
    }
    assert_eq!(answers, [500, 202]);
    sink.wait_for(|events| events.iter().any(|received| received.event.id() == "at-once"), LIMIT).await.unwrap();
}

/// Often enough that a Trigger which is told as taken over a moment too early is met.
const TRIGGERS: usize = 20;

#[tokio::test]
async fn a_trigger_gets_what_is_sent_right_after_it_is_returned() {
    let Stack { control_plane, eventing, .. } = stack().await;
    let namespace = control_plane.create_namespace("right-after").await.unwrap();
    let sink = RecordingSink::start().await.unwrap();
    let broker = eventing.broker(&namespace, "default", BrokerDelivery::default()).await.unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut missed = Vec::new();
    for n in 0..TRIGGERS {
        let name = format!("t{n}");
        broker.trigger(&name, json!([{"exact": {"type": name}}]), sink.url(), None).await.unwrap();
        let event = http.post(broker.url()).header("ce-specversion", "1.0").header("ce-id", &name);
        let event = event.header("ce-source", "/s").header("ce-type", &name);
        assert_eq!(event.send().await.unwrap().status(), StatusCode::ACCEPTED);
        // This Broker answers after all its Triggers.
        if !sink.events().iter().any(|received| received.event.id() == name) {
            missed.push(name);
        }
    }
    assert!(missed.is_empty(), "{missed:?}");
}

#[tokio::test]
async fn a_rollout_is_seen_once_and_a_label_is_none() {
    let Stack { control_plane, .. } = stack().await;
    let namespace = control_plane.create_namespace("rollout").await.unwrap();
    let client = control_plane.client().await.unwrap();
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    let template = json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "web"}]},
    });
    let spec = json!({"selector": {"matchLabels": {"app": "web"}}, "template": template});
    create(&deployments, json!({"metadata": {"name": "web"}, "spec": spec})).await;
    let watch = TemplateWatch::start(client, &namespace).await.unwrap();

    let label = json!({"metadata": {"labels": {"seen": "no"}}, "spec": {"replicas": 2}});
    deployments.patch("web", &PatchParams::default(), &Patch::Merge(label)).await.unwrap();
    let rollout = json!({"spec": {"template": {"metadata": {"annotations": {"rolled": "out"}}}}});
    deployments.patch("web", &PatchParams::default(), &Patch::Merge(rollout)).await.unwrap();

    let rollouts = watch.wait_for("Deployment", "web", 1, LIMIT).await.unwrap();
    assert_eq!(rollouts.len(), 1);
    assert_eq!(rollouts[0].template_annotations["rolled"], "out");
}

#[tokio::test]
async fn each_request_is_audited_with_its_user_and_answer() {
    let Stack { control_plane, .. } = stack().await;
    let audit = control_plane.audit();
    let before = audit.mark().await.unwrap();
    let client = control_plane.client_for(User::Peer).await.unwrap();
    let listed = Api::<ConfigMap>::namespaced(client, "default").list(&ListParams::default()).await;
    assert!(listed.is_err(), "a user without a role may list ConfigMaps");

    let requests = audit.requests_since(before, User::Peer).await.unwrap();
    let told: Vec<_> = requests.iter().map(|r| (&*r.verb, &*r.resource, &*r.namespace, r.code)).collect();
    assert_eq!(told, [("list", "configmaps", "default", 403)]);
    let after = audit.mark().await.unwrap();
    assert!(after > before && audit.requests_since(after, User::Peer).await.unwrap().is_empty());
}

#[tokio::test]
async fn the_function_is_found_at_its_own_port_in_a_clean_environment() {
    let folder = RunFolder::new().unwrap();
    let program = script(folder.path(), "confroll", "env; echo listening on 127.0.0.1:$PORT$K_SINK; sleep 60");
    let options = FunctionOptions { env: vec![("PORT", "4711".to_owned())], ..FunctionOptions::default() };
    let function = Function::start(&program, options).await.unwrap();
    assert_eq!(function.url(), "http://127.0.0.1:4711");
    assert!(!function.log().contains("CARGO"), "{}", function.log());
    assert!(function.rss_peak_bytes().unwrap() > 100_000);
    assert!(!function.stop().await.unwrap().success(), "the shell ends by the signal");
}

#[tokio::test]
async fn a_part_that_ends_early_shows_its_last_words() {
    let folder = RunFolder::new().unwrap();
    let part = Part::start("mute", folder.path(), Path::new("/bin/sh"), ["-c", "echo no luck; exit 3"], NO_ENV);
    let since = Instant::now();
    let error = part.unwrap().until("readiness", LIMIT, async || None::<()>).await.unwrap_err().to_string();
    assert!(error.contains("mute ended (exit status: 3) before readiness.\nno luck"), "{error}");
    assert!(since.elapsed() < LIMIT / 2);
}

#[test]
fn a_part_ends_when_its_owner_is_killed() {
    let mut owner = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "owner_of_a_part", "--nocapture"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(owner.stdout.take().unwrap()).lines().map(Result::unwrap);
    let part: i32 = lines.find_map(|line| line.strip_prefix("part ")?.parse().ok()).unwrap();
    assert_eq!(living_in_group(part).iter().filter(|name| *name == "sleep").count(), 1);

    owner.kill().unwrap();
    owner.wait().unwrap();
    let since = Instant::now();
    while !living_in_group(part).is_empty() {
        assert!(since.elapsed() < LIMIT, "still there: {:?}", living_in_group(part));
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
#[ignore = "the process that `a_part_ends_when_its_owner_is_killed` starts and kills"]
fn owner_of_a_part() {
    let folder = RunFolder::new().unwrap();
    let part = Part::start("sleeper", folder.path(), Path::new("/bin/sleep"), ["60"], NO_ENV).unwrap();
    while std::fs::read_to_string(format!("/proc/{}/comm", part.pid())).unwrap().trim() != "sleep" {
        std::thread::sleep(Duration::from_millis(5));
    }
    println!("part {}", part.pid());
    std::thread::sleep(Duration::from_mins(1));
}

#[test]
fn a_missing_go_is_told_in_one_sentence() {
    let folder = RunFolder::new().unwrap();
    let places = Places { cache: folder.path().join("cache"), path: folder.path().into() };
    let error = Parts::build_in(&places).unwrap_err();
    let told = "Go is missing, and the real Kubernetes and Knative parts are built with it: \
                install Go 1.26.0 or newer (https://go.dev/dl).";
    assert_eq!(format!("{error:#}"), told);
}

#[test]
fn a_go_that_is_too_old_is_told_in_one_sentence() {
    let told = "Go 1.20.3 is too old to build the real Kubernetes and Knative parts: \
                install Go 1.26.0 or newer (https://go.dev/dl).";
    assert_eq!(error_with_go("echo go1.20.3"), told);
}

#[test]
fn a_failed_build_names_the_program_and_shows_gos_complaint() {
    let error = error_with_go("case $1 in env) echo go1.99 ;; *) echo main.go:1: nonsense >&2; exit 1 ;; esac");
    assert_eq!(error, "etcd cannot be built from go.etcd.io/etcd/server/v3: main.go:1: nonsense");
}

const NO_ENV: [(&str, &str); 0] = [];

fn error_with_go(go: &str) -> String {
    let folder = RunFolder::new().unwrap();
    script(folder.path(), "go", go);
    let places = Places { cache: folder.path().join("cache"), path: folder.path().into() };
    format!("{:#}", Parts::build_in(&places).unwrap_err())
}

/// Written by a process of its own: a file that this one has written may be held open by another test's child
/// just when it is to run.
fn script(folder: &Path, name: &str, text: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    let write = r#"printf '#!/bin/sh\n%s\n' "$1" > "$2" && chmod +x "$2""#;
    let status = Command::new("/bin/sh").args(["-c", write, "sh", text]).arg(&path).status().unwrap();
    assert!(status.success());
    path
}

/// The names of the processes of a group that have not ended.
fn living_in_group(group: i32) -> Vec<String> {
    let stats = std::fs::read_dir("/proc").unwrap().flatten();
    let stats = stats.filter_map(|entry| std::fs::read_to_string(entry.path().join("stat")).ok());
    let name = |stat: String| {
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        let mut fields = rest.split_whitespace();
        let (condition, _parent, of) = (fields.next()?, fields.next()?, fields.next()?);
        (of == group.to_string() && condition != "Z").then(|| name.to_owned())
    };
    stats.filter_map(name).collect()
}
