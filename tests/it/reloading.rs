//! On the real parts: an edit, and what rolls out.

use std::collections::BTreeSet;

use futures::future::join_all;
use serde_json::{Value, json};

use crate::shop::{Route, SOON, Shop, function, stack, with_marker, workload};
use crate::support::told;

const KINDS: [&str; 3] = ["deployments", "statefulsets", "daemonsets"];

/// The ways in which a pod template can use the ConfigMap `app`.
fn ways() -> Vec<(&'static str, Value)> {
    let key =
        json!([{ "name": "A", "valueFrom": { "configMapKeyRef": { "name": "app", "key": "a", "optional": true } } }]);
    let env_from = json!([{ "prefix": "APP_", "configMapRef": { "name": "app" } }]);
    let volume = json!([{ "name": "v", "configMap": { "name": "app" } }]);
    let projected = json!([{ "name": "v", "projected": { "sources": [{ "configMap": { "name": "app", "items": [{ "key": "a", "path": "x" }] } }] } }]);
    let mount = |extra: Value| {
        let mut mount = json!({ "name": "v", "mountPath": "/v" });
        extra.as_object().unwrap().iter().for_each(|(key, value)| mount[key] = value.clone());
        json!({ "volumeMounts": [mount] })
    };
    let init = |body: Value| {
        let mut container = json!({ "name": "init", "image": "shop" });
        body.as_object().unwrap().iter().for_each(|(key, value)| container[key] = value.clone());
        json!([container])
    };
    vec![
        ("env", json!({ "main": { "env": key } })),
        ("env-from", json!({ "main": { "envFrom": env_from } })),
        ("volume", json!({ "volumes": volume, "main": mount(json!({})) })),
        ("sub-path", json!({ "volumes": volume, "main": mount(json!({ "subPath": "a" })) })),
        ("unmounted", json!({ "volumes": volume })),
        ("projected", json!({ "volumes": projected, "main": mount(json!({})) })),
        ("init-env", json!({ "initContainers": init(json!({ "env": key })) })),
        ("init-volume", json!({ "volumes": volume, "initContainers": init(mount(json!({}))) })),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_and_every_way_to_use_a_configmap_rolls_out_once_and_is_told_through_the_broker() {
    let names: Vec<(String, Value)> = KINDS
        .iter()
        .flat_map(|kind| ways().into_iter().map(move |(way, spec)| (format!("{kind}/{way}"), workload(way, &spec))))
        .collect();
    let app = ("configmaps/app", json!({ "metadata": {}, "data": { "a": "1" } }));
    let objects =
        with_marker([app].into_iter().chain(names.iter().map(|(key, object)| (key.as_str(), object.clone()))));
    let shop = Shop::open(Route::Broker, &objects).await;
    shop.patch("configmaps/app", json!({ "data": { "a": "2" } })).await;
    for (key, _) in &names {
        shop.rolled_out(key, 1).await;
    }
    let all_told = |received: &[confroll_stack::Received]| received.len() >= names.len();
    shop.sink.wait_for(all_told, SOON).await.unwrap();
    shop.patch("configmaps/marker", json!({ "data": { "a": "2" } })).await;
    shop.rolled_out("deployments/marker", 1).await;
    for (key, _) in &names {
        assert_eq!(shop.rollouts(key), 1, "{key}");
    }
    let told: BTreeSet<String> = told(&shop.sink).iter().map(|event| event.subject.clone()).collect();
    assert!(told.is_superset(&names.iter().map(|(key, _)| subject(key)).collect()), "{told:?}");
}

/// `deployments/api` as reload events name it.
fn subject(key: &str) -> String {
    let (plural, name) = key.split_once('/').unwrap();
    let kind = match plural {
        "deployments" => "Deployment",
        "statefulsets" => "StatefulSet",
        _ => "DaemonSet",
    };
    format!("{kind}/{name}")
}

fn secret(value: &str) -> Value {
    json!({ "metadata": {}, "stringData": { "password": value } })
}

fn app(value: &str) -> Value {
    json!({ "metadata": {}, "data": { "a": value } })
}

fn uses_app(name: &str) -> Value {
    workload(name, &json!({ "main": { "envFrom": [{ "configMapRef": { "name": "app" } }] } }))
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_no_content_rolls_nothing_out() {
    let shop = Shop::open(Route::Direct, &with_marker([("deployments/api", uses_app("api"))])).await;
    shop.apply("configmaps/app", app("1")).await;
    // Never seen before: a label, an annotation, the same applied again, by us and by somebody else.
    shop.patch("configmaps/app", json!({ "metadata": { "labels": { "note": "x" } } })).await;
    shop.patch("configmaps/app", json!({ "metadata": { "annotations": { "note": "x" } } })).await;
    shop.apply("configmaps/app", app("1")).await;
    shop.patch("configmaps/app", app("1")).await;
    shop.patch("configmaps/marker", json!({ "data": { "a": "2" } })).await;
    shop.rolled_out("deployments/marker", 1).await;
    assert_eq!(shop.rollouts("deployments/api"), 0);
    // An edit, and then the same again with a record.
    shop.patch("configmaps/app", app("2")).await;
    shop.rolled_out("deployments/api", 1).await;
    shop.patch("configmaps/app", json!({ "metadata": { "labels": { "note": "y" } } })).await;
    shop.apply("configmaps/app", app("2")).await;
    shop.delete("configmaps/app").await;
    shop.apply("configmaps/app", app("2")).await;
    shop.patch("configmaps/marker", json!({ "data": { "a": "3" } })).await;
    shop.rolled_out("deployments/marker", 2).await;
    assert_eq!(shop.rollouts("deployments/api"), 1);
    // Made again with other content is a change.
    shop.delete("configmaps/app").await;
    shop.apply("configmaps/app", app("3")).await;
    shop.rolled_out("deployments/api", 2).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_counts_by_its_used_keys_and_shows_in_nothing_that_leaves_the_function() {
    let by_key = |secret: &str| {
        let key = json!({ "secretKeyRef": { "name": secret, "key": "password" } });
        json!({ "main": { "env": [{ "name": "A", "valueFrom": key }] } })
    };
    // The source tells Secrets in an order of their own, so their marker is a Secret too.
    let objects = [
        ("secrets/db", secret("first-hunter2")),
        ("deployments/api", workload("api", &by_key("db"))),
        ("secrets/marker", secret("1")),
        ("deployments/secret-marker", workload("secret-marker", &by_key("marker"))),
    ];
    let shop = Shop::open(Route::Direct, &objects).await;
    shop.patch("secrets/db", json!({ "stringData": { "unused": "unused-hunter2" } })).await;
    shop.patch("secrets/db", json!({ "stringData": { "password": "second-hunter2" } })).await;
    shop.patch("secrets/marker", json!({ "stringData": { "password": "2" } })).await;
    shop.rolled_out("deployments/secret-marker", 1).await;
    assert_eq!(shop.rollouts("deployments/api"), 1);
    let api = told(&shop.sink).into_iter().find(|event| event.subject == "Deployment/api").unwrap();
    assert_eq!(api.data["sources"][0]["keys"]["changed"], json!(["password"]));
    let shown = format!("{} {} {:?}", shop.functions[0].log(), api.data, shop.get("deployments/api").await);
    // The values, and the base64 of "hunter2" at each of its three places in a longer text.
    for value in ["hunter2", "aHVudGVyM", "h1bnRlcj", "odW50ZXIy"] {
        assert!(!shown.contains(value), "{value} is in\n{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn three_sources_changed_by_one_apply_give_one_rollout() {
    for route in [Route::Direct, Route::Broker] {
        let uses = json!({ "main": { "envFrom": [
            { "configMapRef": { "name": "app" } }, { "configMapRef": { "name": "features" } }, { "secretRef": { "name": "db" } } ] } });
        let objects = [("configmaps/app", app("1")), ("configmaps/features", app("1")), ("secrets/db", secret("1"))];
        let objects = with_marker(objects.into_iter().chain([("deployments/api", workload("api", &uses))]));
        let shop = Shop::open(route, &objects).await;
        for (round, value) in ["2", "3"].iter().enumerate() {
            shop.apply("configmaps/app", app(value)).await;
            shop.apply("configmaps/features", app(value)).await;
            shop.apply("secrets/db", secret(value)).await;
            shop.rolled_out("deployments/api", round + 1).await;
            shop.patch("configmaps/marker", json!({ "data": { "a": value } })).await;
            shop.rolled_out("deployments/marker", round + 1).await;
            assert_eq!(shop.rollouts("deployments/api"), round + 1);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn twenty_copies_of_an_event_at_two_processes_give_one_rollout() {
    let objects = with_marker([("configmaps/app", app("1")), ("deployments/api", uses_app("api"))]);
    let shop = Shop::open(Route::Direct, &objects).await;
    let second = function(stack().await, shop.sink.url()).await;
    shop.patch("configmaps/app", app("2")).await;
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut event = crate::support::ChangeEvent::update("ConfigMap", "app");
    event.data["namespace"] = json!(shop.namespace);
    let copies = (0..20).map(|copy| {
        let url = if copy % 2 == 0 { shop.functions[0].url() } else { second.url() };
        let request = event.request(&http, url);
        async move { request.send().await.unwrap().status().as_u16() }
    });
    assert_eq!(join_all(copies).await, [202; 20]);
    assert!(second.stop().await.unwrap().success(), "it ends in order when Kubernetes asks it to");
    shop.rolled_out("deployments/api", 1).await;
    shop.patch("configmaps/marker", json!({ "data": { "a": "2" } })).await;
    shop.rolled_out("deployments/marker", 1).await;
    assert_eq!(shop.rollouts("deployments/api"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configmap_edited_just_before_its_deployment_is_created_rolls_nothing_out() {
    let shop = Shop::open(Route::Direct, &with_marker([("configmaps/app", app("1"))])).await;
    for n in 0..5 {
        shop.patch("configmaps/app", app(&format!("new {n}"))).await;
        shop.create(&format!("deployments/late-{n}"), uses_app(&format!("late-{n}"))).await;
        shop.patch("configmaps/app", json!({ "metadata": { "labels": { "round": n.to_string() } } })).await;
        shop.patch("configmaps/marker", json!({ "data": { "a": format!("{n}") } })).await;
        shop.rolled_out("deployments/marker", n + 1).await;
        assert_eq!(shop.rollouts(&format!("deployments/late-{n}")), 0);
    }
}
