//! A workload that names sources of other namespaces is rolled out by them, and by nothing else; what that costs does not
//! grow with the cluster.

use confroll::edge::config::{Settings, Sink};
use confroll::edge::sink_token::SinkToken;
use confroll_stack::RecordingSink;
use http::StatusCode;
use serde_json::{Value, json};

use crate::events_doc::schema;
use crate::fake_cluster::{FakeCluster, status};
use crate::support::{ChangeEvent, Function, config_map, settings, told, workload_using};

const API: &str = "deployments/api";
const SHARED: &str = "bank/configmaps/shared";

fn allowing(further: &[(&str, &str)]) -> Settings {
    let usual = [("CONFROLL_CROSS_NAMESPACE", "true"), ("CONFROLL_KUBERNETES_EVENTS", "false")];
    settings(&[&usual, further].concat())
}

/// A workload that uses nothing and names these ConfigMaps, with the label or without.
fn naming(names: &str, label: Option<&str>) -> Value {
    let labels = label.map_or(json!({}), |value| json!({ "confroll.dev/cross-namespace": value }));
    json!({
        "metadata": { "annotations": { "confroll.dev/extra-configmaps": names }, "labels": labels },
        "spec": { "template": { "spec": { "containers": [{ "name": "main" }] } } },
    })
}

/// A ConfigMap of the bank that a workload of the shop names, edited while nobody looked.
fn edited_bank() -> FakeCluster {
    edited_bank_beside(naming("bank/shared", Some("true")))
}

fn edited_bank_beside(workload: Value) -> FakeCluster {
    let cluster = FakeCluster::default();
    cluster.put(SHARED, config_map("1"));
    cluster.put(API, workload);
    cluster.put(SHARED, config_map("2"));
    cluster
}

fn update_in(namespace: &str, name: &str) -> ChangeEvent {
    let mut event = ChangeEvent::update("ConfigMap", name);
    event.data["namespace"] = json!(namespace);
    event
}

async fn updated_in(function: &Function, namespace: &str, name: &str) {
    assert_eq!(function.told(&update_in(namespace, name)).await, 202);
}

fn noted(cluster: &FakeCluster, key: &str) -> Vec<String> {
    let object = cluster.get(key);
    let record = object["metadata"]["annotations"]["confroll.dev/observed"].as_str().unwrap();
    let record: Value = serde_json::from_str(record).unwrap();
    record["sources"].as_object().unwrap().keys().cloned().collect()
}

#[tokio::test]
async fn who_names_a_source_of_another_namespace_is_rolled_out_by_its_event() {
    let cluster = edited_bank();
    let function = Function::with(&cluster, allowing(&[])).await;
    updated_in(&function, "bank", "shared").await;
    assert_eq!(cluster.rollouts(API), 1);
    assert_eq!(noted(&cluster, API), ["ConfigMap/bank/shared"]);
    let template = &cluster.get(API)["spec"]["template"];
    let from = template["metadata"]["annotations"]["reloader.stakater.com/last-reloaded-from"].as_str().unwrap();
    let from: Value = serde_json::from_str(from).unwrap();
    assert_eq!((&from["namespace"], &from["name"]), (&json!("bank"), &json!("shared")));
    // Another key of it: a source that is named counts whole. Then a label, which is no content.
    cluster.put(SHARED, json!({ "metadata": {}, "data": { "a": "2", "b": "1" } }));
    updated_in(&function, "bank", "shared").await;
    cluster.put(SHARED, json!({ "metadata": { "labels": { "x": "y" } }, "data": { "a": "2", "b": "1" } }));
    cluster.compact();
    updated_in(&function, "bank", "shared").await;
    assert_eq!(cluster.rollouts(API), 2);
}

#[tokio::test]
async fn without_the_setting_the_annotation_has_no_effect_and_costs_no_request() {
    let requests = async |annotated: bool| {
        let cluster = if annotated { edited_bank() } else { edited_bank_beside(workload_using(&[])) };
        let function = Function::on(&cluster).await;
        updated_in(&function, "bank", "shared").await;
        assert_eq!(function.swept("1").await, 202);
        assert_eq!(cluster.rollouts(API), 0);
        let mut requests = cluster.requests();
        requests.sort();
        assert!(!requests.iter().any(|request| request.contains("cross-namespace")), "{requests:?}");
        requests
    };
    assert_eq!(requests(true).await, requests(false).await);
}

#[tokio::test]
async fn what_was_named_while_the_setting_was_on_is_not_even_read_any_more() {
    let mut both = naming("bank/shared,shop/app", Some("true"));
    both["metadata"]["annotations"]["configmap.reloader.stakater.com/reload"] = json!("app");
    let cluster = edited_bank_beside(both);
    cluster.put("configmaps/app", config_map("1"));
    Function::with(&cluster, allowing(&[])).await.swept("1").await;
    assert_eq!(noted(&cluster, API), ["ConfigMap/app", "ConfigMap/bank/shared"]);
    cluster.put("configmaps/app", config_map("2"));
    let before = cluster.requests().len();
    let function = Function::on(&cluster).await;
    updated_in(&function, "shop", "app").await;
    assert_eq!(cluster.rollouts(API), 2, "one by the first sweep, as the past told of an edit");
    let of_bank: Vec<_> = cluster.requests().split_off(before);
    assert!(!of_bank.iter().any(|request| request.contains("bank")), "{of_bank:?}");
    assert_eq!(noted(&cluster, API), ["ConfigMap/app"]);
}

/// Three ConfigMaps of one name; a workload that uses the near one and names one of the far ones; one that asks for the near
/// one alone, by its name; one that names the other far one, and excludes the near one; and one in the bank that uses the bank's.
fn namesakes() -> FakeCluster {
    let cluster = FakeCluster::default();
    for namespace in ["", "bank/", "post/"] {
        cluster.put(&format!("{namespace}configmaps/app"), config_map("1"));
    }
    let mut both = workload_using(&["app"]);
    both["metadata"]["annotations"]["confroll.dev/extra-configmaps"] = json!("bank/app");
    both["metadata"]["labels"] = json!({ "confroll.dev/cross-namespace": "true" });
    cluster.put("deployments/both", both);
    let mut near = workload_using(&["app"]);
    near["metadata"]["annotations"] = json!({ "configmap.reloader.stakater.com/reload": "app" });
    cluster.put("deployments/near", near);
    let mut far = naming("post/app", Some("true"));
    far["metadata"]["annotations"]["configmaps.exclude.reloader.stakater.com/reload"] = json!("app");
    cluster.put("statefulsets/far", far);
    cluster.put("bank/deployments/teller", workload_using(&["app"]));
    cluster
}

fn rollouts(cluster: &FakeCluster) -> [usize; 4] {
    ["deployments/both", "deployments/near", "statefulsets/far", "bank/deployments/teller"]
        .map(|key| cluster.rollouts(key))
}

#[tokio::test]
async fn sources_of_one_name_in_several_namespaces_are_told_apart() {
    for forgotten in [false, true] {
        let cluster = namesakes();
        let function = Function::with(&cluster, allowing(&[])).await;
        function.swept("1").await;
        assert_eq!(noted(&cluster, "deployments/both"), ["ConfigMap/app", "ConfigMap/bank/app"]);
        let mut expected = [0; 4];
        for (namespace, key, concerned) in [
            ("bank", "bank/configmaps/app", [1, 0, 0, 1]),
            ("shop", "configmaps/app", [1, 1, 0, 0]),
            ("post", "post/configmaps/app", [0, 0, 1, 0]),
        ] {
            // What another one of the name held before, so that content alone tells nothing.
            cluster.put(key, config_map("2"));
            if forgotten {
                cluster.compact();
            }
            updated_in(&function, namespace, "app").await;
            expected.iter_mut().zip(concerned).for_each(|(times, more)| *times += more);
            assert_eq!(rollouts(&cluster), expected, "{namespace}");
        }
    }
}

#[tokio::test]
async fn sources_of_two_namespaces_that_changed_together_give_one_rollout() {
    let cluster = FakeCluster::default();
    for key in [SHARED, "configmaps/app"] {
        cluster.put(key, config_map("1"));
    }
    cluster.put(API, naming("shop/app,bank/shared", Some("true")));
    let function = Function::with(&cluster, allowing(&[])).await;
    function.swept("1").await;
    for key in [SHARED, "configmaps/app"] {
        cluster.put(key, config_map("2"));
    }
    updated_in(&function, "shop", "app").await;
    updated_in(&function, "bank", "shared").await;
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn a_repeated_event_rolls_nothing_out_and_tells_the_same_again() {
    let cluster = edited_bank();
    let sink = RecordingSink::start().await.unwrap();
    let mut settings = allowing(&[]);
    settings.sink = Some(Sink {
        url: sink.url().parse().unwrap(),
        extensions: [].into(),
        ca_certs: None,
        token: SinkToken::default(),
    });
    let function = Function::with(&cluster, settings).await;
    sink.answer_with(StatusCode::SERVICE_UNAVAILABLE);
    let event = update_in("bank", "shared");
    assert_eq!(function.told(&event).await, 503, "the event waits for what is told of other namespaces");
    sink.answer_with(StatusCode::ACCEPTED);
    assert_eq!(function.told(&event).await, 202);
    assert_eq!(cluster.rollouts(API), 1);
    let events = told(&sink);
    assert!(events.len() > 1 && events.iter().all(|event| event.id == events[0].id));
    let schema = jsonschema::validator_for(&schema()).unwrap();
    for event in events {
        assert!(schema.is_valid(&event.data), "{}", event.data);
        assert_eq!((&event.data["namespace"], event.extension("namespace")), (&json!("shop"), "shop".to_owned()));
        let source = &event.data["sources"][0];
        assert_eq!((&source["namespace"], &source["name"]), (&json!("bank"), &json!("shared")));
    }
}

#[tokio::test]
async fn a_sweep_acts_on_what_no_event_told_labelled_or_not_and_the_first_rolls_nothing_out() {
    let cluster = namesakes();
    cluster.put("daemonsets/unlabelled", naming("bank/app", None));
    let function = Function::with(&cluster, allowing(&[])).await;
    assert_eq!(function.swept("1").await, 202);
    let all = || (rollouts(&cluster), cluster.rollouts("daemonsets/unlabelled"));
    assert_eq!(all(), ([0; 4], 0));
    let before = cluster.requests().len();
    assert_eq!(function.swept("2").await, 202);
    assert!(!cluster.requests()[before..].iter().any(|request| request.contains("/namespaces/")), "nothing has moved");
    cluster.put("bank/configmaps/app", config_map("2"));
    cluster.compact();
    for id in ["3", "4"] {
        assert_eq!(function.swept(id).await, 202);
        assert_eq!(all(), ([1, 0, 0, 1], 1));
    }
    // The event comes after all.
    updated_in(&function, "bank", "app").await;
    assert_eq!(all(), ([1, 0, 0, 1], 1));
}

#[tokio::test]
async fn a_workload_without_the_label_is_found_by_no_event_of_another_namespace() {
    let cluster = edited_bank();
    cluster.put("deployments/unlabelled", naming("bank/shared", None));
    cluster.put("post/deployments/other-label", naming("bank/shared", Some("yes")));
    cluster.put(SHARED, config_map("3"));
    let function = Function::with(&cluster, allowing(&[])).await;
    updated_in(&function, "bank", "shared").await;
    // One beside a labelled one is seen with it.
    let found = [API, "deployments/unlabelled", "post/deployments/other-label"].map(|key| cluster.rollouts(key));
    assert_eq!(found, [1, 1, 0]);
}

#[tokio::test]
async fn an_entry_of_the_own_namespace_needs_no_label_and_a_broken_one_costs_itself_alone() {
    let cluster = edited_bank();
    cluster.put("configmaps/app", config_map("1"));
    cluster.put("deployments/near", naming("app, shop/app, bank/a.*, /", None));
    let mut excluding = naming("shop/app", None);
    excluding["metadata"]["annotations"]["configmaps.exclude.reloader.stakater.com/reload"] = json!("app");
    cluster.put("deployments/excluding", excluding);
    let mut of_a_key = naming("shop/app", None);
    of_a_key["metadata"]["annotations"]["reloader.stakater.com/auto"] = json!("true");
    let key = json!({ "configMapKeyRef": { "name": "app", "key": "other" } });
    of_a_key["spec"]["template"]["spec"]["containers"][0]["env"] = json!([{ "name": "A", "valueFrom": key }]);
    cluster.put("deployments/of-a-key", of_a_key);
    cluster.put("configmaps/app", config_map("2"));
    let function = Function::with(&cluster, allowing(&[])).await;
    updated_in(&function, "shop", "app").await;
    let found = ["near", "excluding", "of-a-key"].map(|name| cluster.rollouts(&format!("deployments/{name}")));
    assert_eq!(found, [1, 0, 1], "what is named counts whole");
}

/// The labels of namespaces, and that the bank's sources are not to be read.
fn only_shop_is_selected(_: &str, uri: &str) -> Option<(u16, Value)> {
    let label =
        |name: &str| json!({ "metadata": { "name": name, "labels": { "open": (name != "bank").to_string() } } });
    match uri.split('?').next().unwrap() {
        "/api/v1/namespaces" => Some((200, json!({ "metadata": {}, "items": [label("bank"), label("shop")] }))),
        "/api/v1/namespaces/bank" => Some((200, label("bank"))),
        "/api/v1/namespaces/shop" => Some((200, label("shop"))),
        "/api/v1/namespaces/bank/configmaps/shared" => Some(status(500, "who is not selected is not read")),
        _ => None,
    }
}

#[tokio::test]
async fn what_a_source_a_workload_or_a_setting_rules_out_stays_out() {
    let ignored = || json!({ "metadata": { "annotations": { "reloader.stakater.com/ignore": "true" } }, "data": {} });
    let never = || {
        let mut never = naming("bank/shared", Some("true"));
        never["metadata"]["annotations"]["reloader.stakater.com/reload"] = json!("false");
        never
    };
    for (case, object, variables) in [
        ("ignored", Some((SHARED, ignored())), vec![]),
        ("never", Some((API, never())), vec![]),
        ("namespace of the source", None, vec![("CONFROLL_IGNORE_NAMESPACES", "bank")]),
        ("namespace of the workload", None, vec![("CONFROLL_IGNORE_NAMESPACES", "shop")]),
        ("other namespaces", None, vec![("CONFROLL_NAMESPACES", "shop")]),
        ("name", None, vec![("CONFROLL_IGNORE_CONFIGMAPS", "shared")]),
        ("labels", None, vec![("CONFROLL_RESOURCE_LABEL_SELECTOR", "tier=web")]),
        ("labels of the namespace", None, vec![("CONFROLL_NAMESPACE_SELECTOR", "open=true")]),
    ] {
        let cluster = edited_bank();
        object.into_iter().for_each(|(key, object)| cluster.put(key, object));
        if case == "labels of the namespace" {
            cluster.on_request(only_shop_is_selected);
        }
        let function = Function::with(&cluster, allowing(&variables)).await;
        let answer = function.told(&update_in("bank", "shared")).await;
        assert!([202, 204].contains(&answer), "{case}: {answer}");
        assert_eq!(function.swept("1").await, 202, "{case}");
        assert_eq!(cluster.rollouts(API), 0, "{case}");
    }
    let cluster = edited_bank();
    let wide = [("CONFROLL_NAMESPACES", "shop,bank"), ("CONFROLL_IGNORE_CONFIGMAPS", "other")];
    updated_in(&Function::with(&cluster, allowing(&wide)).await, "bank", "shared").await;
    assert_eq!(cluster.rollouts(API), 1);
}

#[tokio::test]
async fn what_an_event_costs_grows_neither_with_namespaces_nor_with_workloads_that_do_not_name_its_source() {
    let requests = async |others: usize| {
        let cluster = edited_bank();
        for n in 0..others {
            cluster.put(&format!("n{n}/configmaps/shared"), config_map("1"));
            cluster.put(&format!("n{n}/deployments/unlabelled"), naming("bank/shared", None));
            cluster.put(&format!("n{n}/deployments/of-another"), naming("bank/other", Some("true")));
            cluster.put(&format!("n{n}/deployments/silent"), workload_using(&["shared"]));
        }
        let function = Function::with(&cluster, allowing(&[])).await;
        // Kinds that are not there are looked for once.
        updated_in(&function, "bank", "unknown").await;
        let before = cluster.requests().len();
        updated_in(&function, "bank", "shared").await;
        assert_eq!(cluster.rollouts(API), 1);
        cluster.requests().len() - before
    };
    let alone = requests(0).await;
    // A read of the source and a list a kind in the bank; a list a kind of all namespaces; and in the shop a read, a list
    // a kind, a look at the past and a patch.
    assert_eq!(alone, (1 + 5) + 5 + (1 + 5 + 1 + 1));
    assert_eq!(requests(50).await, alone);
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_come_during_a_look_at_other_namespaces_share_the_next() {
    let cluster = FakeCluster::default();
    for n in 0..50 {
        cluster.put(&format!("bank/configmaps/c{n}"), config_map("1"));
        cluster.put(&format!("deployments/w{n}"), naming(&format!("bank/c{n}"), Some("true")));
        cluster.put(&format!("bank/configmaps/c{n}"), config_map("2"));
    }
    let function = Function::with(&cluster, allowing(&[])).await;
    // The first look ends only when all events are in.
    cluster.on_request(|_, uri| {
        if uri.contains("/daemonsets?labelSelector") {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
        None
    });
    let events: Vec<_> = (0..50).map(|n| update_in("bank", &format!("c{n}"))).collect();
    let answers = futures::future::join_all(events.iter().map(|event| function.told(event))).await;
    assert_eq!(answers, [202; 50]);
    let looks = cluster.requests().iter().filter(|request| request.contains("labelSelector")).count();
    assert!(looks <= 3 * 5, "{looks}");
    assert_eq!((0..50).map(|n| cluster.rollouts(&format!("deployments/w{n}"))).sum::<usize>(), 50);
}

#[tokio::test]
async fn where_workloads_of_other_namespaces_cannot_be_found_the_event_comes_again_and_its_own_are_rolled_out() {
    let cluster = namesakes();
    cluster.put("bank/configmaps/app", config_map("2"));
    let function = Function::with(&cluster, allowing(&[])).await;
    cluster.on_request(|_, uri| {
        let user = "deployments is forbidden: User \"confroll\" cannot list resource";
        uri.starts_with("/apis/apps/v1/deployments?").then(|| status(403, user))
    });
    let event = update_in("bank", "app");
    assert_eq!(function.told(&event).await, 503);
    assert_eq!(rollouts(&cluster), [0, 0, 0, 1]);
    cluster.on_request(|_, _| None);
    assert_eq!(function.told(&event).await, 202);
    assert_eq!(rollouts(&cluster), [1, 0, 0, 1]);
}
