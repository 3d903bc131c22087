//! The largest things that Kubernetes takes: they work, or are refused with a sentence. On the real parts, and on an API
//! server in memory where there are thousands of sources.

use std::collections::BTreeMap;

use futures::future::join_all;
use serde_json::{Value, json};

use confroll_stack::RecordingSink;

use crate::fake_cluster::FakeCluster;
use crate::shop::{Route, SOON, Shop, with_marker, workload};
use crate::support::{ChangeEvent, Function, config_map, labelled_config_map, told, workload_using};

const API: &str = "deployments/api";
const OBSERVED: &str = "confroll.dev/observed";
/// What all annotations of an object may hold together, names and values, in bytes.
const ANNOTATIONS: usize = 256 * 1024;

fn uses(name: &str, config_maps: &[&str]) -> Value {
    let env_from: Vec<_> = config_maps.iter().map(|name| json!({ "configMapRef": { "name": name } })).collect();
    workload(name, &json!({ "main": { "envFrom": env_from } }))
}

/// Changes a ConfigMap and sees the workload roll out for it, and neither for the same again nor for a label.
async fn reloads_once(shop: &Shop, config_map: &str, workload: &str, change: &Value) {
    let (before, markers) = (shop.rollouts(workload), shop.rollouts("deployments/marker"));
    shop.patch(config_map, change.clone()).await;
    shop.rolled_out(workload, before + 1).await;
    shop.patch(config_map, json!({ "metadata": { "labels": { "round": before.to_string() } } })).await;
    shop.patch("configmaps/marker", json!({ "data": { "a": format!("{before} {markers}") } })).await;
    shop.rolled_out("deployments/marker", markers + 1).await;
    assert_eq!(shop.rollouts(workload), before + 1);
}

fn bytes_of(annotations: &Value) -> usize {
    annotations.as_object().unwrap().iter().map(|(key, value)| key.len() + value.as_str().unwrap().len()).sum()
}

/// A Deployment `api` that uses the ConfigMap `app` and has only so many bytes of annotations left.
fn with_room(bytes: usize) -> Value {
    let mut api = uses("api", &["app"]);
    let annotations = &mut api["metadata"]["annotations"];
    annotations["note"] = json!("");
    annotations["note"] = json!("x".repeat(ANNOTATIONS - bytes - bytes_of(annotations)));
    api
}

fn app(value: &str) -> (&'static str, Value) {
    ("configmaps/app", config_map(value))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_1500_names_in_an_annotation_counts_to_its_last() {
    let list: Vec<String> = (0..1499).map(|n| format!("app-{n}")).chain(["app".to_owned()]).collect();
    let mut api = uses("api", &[]);
    api["metadata"]["annotations"] = json!({ "configmap.reloader.stakater.com/reload": list.join(",") });
    let shop = Shop::open(Route::Direct, &with_marker([app("1"), (API, api)])).await;
    reloads_once(&shop, "configmaps/app", API, &json!({ "data": { "a": "2" } })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configmap_of_a_megabyte_rolls_out_by_its_last_byte() {
    // Kubernetes counts values, not names, and takes 1 MiB of them.
    let large = |last: &str| json!({ "data": { "a": "x".repeat(1024 * 1024 - 1) + last } });
    let mut first = large("1");
    first["metadata"] = json!({});
    let shop = Shop::open(Route::Direct, &with_marker([("configmaps/app", first), (API, uses("api", &["app"]))])).await;
    reloads_once(&shop, "configmaps/app", API, &large("2")).await;
    let told = told(&shop.sink);
    let api = told.iter().find(|event| event.subject == "Deployment/api").unwrap();
    assert_eq!(api.data["sources"][0]["keys"]["changed"], json!(["a"]));
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_253_characters_roll_out_and_are_told_whole() {
    let long = |letter: &str| [letter.repeat(63), letter.repeat(63), letter.repeat(63), letter.repeat(61)].join(".");
    let (config_map_name, name) = (long("c"), long("d"));
    assert_eq!(name.len(), 253);
    let (config_map_key, key) = (format!("configmaps/{config_map_name}"), format!("deployments/{name}"));
    let mut api = uses("api", &[&config_map_name]);
    api["metadata"]["name"] = json!(name);
    let objects = with_marker([(config_map_key.as_str(), config_map("1")), (key.as_str(), api)]);
    let shop = Shop::open(Route::Broker, &objects).await;
    reloads_once(&shop, &config_map_key, &key, &json!({ "data": { "a": "2" } })).await;
    let subject = format!("Deployment/{name}");
    let is_told = |_: &[confroll_stack::Received]| told(&shop.sink).iter().any(|event| event.subject == subject);
    shop.sink.wait_for(is_told, SOON).await.unwrap();
    let told = told(&shop.sink);
    let event = told.iter().find(|event| event.subject == subject).unwrap();
    assert_eq!((event.extension("name"), &event.data["sources"][0]["name"]), (name, &json!(config_map_name)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_of_200_sources_takes_in_every_change_of_each() {
    let names: Vec<String> = (0..200).map(|n| format!("app-{n}")).collect();
    let keys: Vec<String> = names.iter().map(|name| format!("configmaps/{name}")).collect();
    let used: Vec<&str> = names.iter().map(String::as_str).collect();
    let objects = keys.iter().map(|key| (key.as_str(), config_map("1"))).chain([(API, uses("api", &used))]);
    let shop = Shop::open(Route::Direct, &with_marker(objects)).await;
    reloads_once(&shop, "configmaps/app-199", API, &json!({ "data": { "a": "2" } })).await;
    join_all(keys.iter().map(|key| shop.patch(key, json!({ "data": { "a": "3" } })))).await;
    let mut last = BTreeMap::new();
    for key in &keys {
        last.insert(key.as_str(), shop.get(key).await["metadata"]["resourceVersion"].clone());
    }
    let knows_all = async || {
        let record = record_of(&shop.get(API).await).unwrap();
        last.iter()
            .all(|(key, version)| record["sources"][key.replace("configmaps", "ConfigMap")]["version"] == *version)
    };
    tokio::time::timeout(SOON, async { while !knows_all().await {} }).await.unwrap();
}

fn record_of(workload: &Value) -> Option<Value> {
    serde_json::from_str(workload["metadata"]["annotations"][OBSERVED].as_str()?).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_whose_annotations_leave_little_room_rolls_out_once_for_each_change() {
    // For a record that names no source, and for one that names its one.
    for (bytes, names_a_source) in [(180, false), (400, true)] {
        let shop = Shop::open(Route::Direct, &with_marker([app("1"), (API, with_room(bytes))])).await;
        for value in ["2", "3"] {
            reloads_once(&shop, "configmaps/app", API, &json!({ "data": { "a": value } })).await;
            let api = shop.get(API).await;
            assert!(bytes_of(&api["metadata"]["annotations"]) <= ANNOTATIONS);
            let sources = record_of(&api).unwrap()["sources"].as_object().unwrap().len();
            assert_eq!(sources == 1, names_a_source, "{bytes}");
        }
        let says = "the record of what a workload runs on has no room among its annotations";
        assert_eq!(shop.functions[0].log().contains(says), !names_a_source);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workload_whose_annotations_leave_no_room_is_told_as_failed_with_the_servers_reason() {
    let shop = Shop::open(Route::Direct, &with_marker([app("1"), (API, with_room(20))])).await;
    shop.patch("configmaps/app", json!({ "data": { "a": "2" } })).await;
    let failed =
        |_: &[confroll_stack::Received]| told(&shop.sink).iter().any(|event| event.subject == "Deployment/api");
    shop.sink.wait_for(failed, SOON).await.unwrap();
    let told = told(&shop.sink);
    let api = told.iter().find(|event| event.subject == "Deployment/api").unwrap();
    let message = api.data["message"].as_str().unwrap();
    assert!(message.contains("annotations: Too long: may not be more than 262144 bytes"), "{message}");
    assert_eq!((api.extension("severity"), shop.rollouts(API)), ("error".to_owned(), 0));
}

/// A workload of so many sources, which were written in the order of their numbers.
fn shop_of(count: usize) -> (FakeCluster, Vec<String>) {
    let cluster = FakeCluster::default();
    let names: Vec<String> = (0..count).map(|n| format!("app-{n}")).collect();
    names.iter().for_each(|name| cluster.put(&format!("configmaps/{name}"), config_map("1")));
    cluster.put(API, workload_using(&names.iter().map(String::as_str).collect::<Vec<_>>()));
    (cluster, names)
}

#[tokio::test]
async fn a_workload_of_3000_sources_rolls_out_once_for_each_change_and_for_nothing_else() {
    let (cluster, names) = shop_of(3000);
    let function = Function::on(&cluster).await;
    // One that the record leaves out, and one that it names.
    for (round, n) in [0, 2999, 0, 1, 2999].into_iter().enumerate() {
        cluster.put(&format!("configmaps/{}", names[n]), config_map(&format!("round {round}")));
        let event = ChangeEvent::update("ConfigMap", &names[n]);
        assert_eq!((function.told(&event).await, function.told(&event).await), (202, 202));
        assert_eq!(cluster.rollouts(API), round + 1);
    }
    for n in [10, 2998] {
        function.updated("ConfigMap", &names[n]).await;
        cluster.put(&format!("configmaps/{}", names[n]), labelled_config_map("1", "x"));
        function.updated("ConfigMap", &names[n]).await;
    }
    assert_eq!(cluster.rollouts(API), 5);
    let record = record_of(&cluster.get(API)).unwrap();
    assert!(record.to_string().len() <= ANNOTATIONS / 2);
    assert!(record["sources"]["ConfigMap/app-0"].is_object() && record["sources"]["ConfigMap/app-10"].is_null());
}

#[tokio::test]
async fn a_change_of_1000_sources_at_once_is_one_rollout_and_one_reload_event_of_them_all() {
    let (cluster, names) = shop_of(1000);
    let sink = RecordingSink::start().await.unwrap();
    let function = Function::telling(&cluster, &sink).await;
    // The first leaves a record, by which the second finds them all, whatever events have come by then.
    for (round, value) in ["2", "3"].into_iter().enumerate() {
        names.iter().for_each(|name| cluster.put(&format!("configmaps/{name}"), config_map(value)));
        let events = names.iter().map(|name| ChangeEvent::update("ConfigMap", name));
        let statuses = join_all(events.map(|event| async { function.told(&{ event }).await })).await;
        assert!(statuses.iter().all(|status| *status == 202));
        assert_eq!((cluster.rollouts(API), told(&sink).len()), (round + 1, round + 1));
    }
    assert_eq!(told(&sink)[1].data["sources"].as_array().unwrap().len(), 1000);
}
