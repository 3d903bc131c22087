//! What is out of scope by a setting rolls nothing out, by event, beside another source or by a sweep; what is in scope does.

use std::sync::Arc;

use confroll::edge::cluster::Cluster;
use confroll::reload::source::Namespace;
use serde_json::{Value, json};

use crate::fake_cluster::{FakeCluster, status};
use crate::support::{ChangeEvent, Function, config_map, settings, workload_using};

const APP: &str = "configmaps/app";
const API: &str = "deployments/api";
const WORKER: &str = "statefulsets/worker";

/// A ConfigMap that two workloads use, one of which names it by a pattern, edited while nobody looked. The namespace has the label `team: shop`, and the
/// ConfigMap the label `tier: web`.
fn shop() -> FakeCluster {
    let cluster = FakeCluster::default();
    let labelled = |value| json!({ "metadata": { "labels": { "tier": "web" } }, "data": { "a": value } });
    cluster.put(APP, labelled("1"));
    cluster.put(API, workload_using(&["app"]));
    let mut worker = workload_using(&["app"]);
    worker["metadata"]["annotations"] = json!({ "configmap.reloader.stakater.com/reload": "a.*" });
    cluster.put(WORKER, worker);
    cluster.put(APP, labelled("2"));
    cluster.on_request(|_, uri| namespaces(uri));
    cluster
}

/// What the API server says of namespaces: there is one more, which is empty.
fn namespaces(uri: &str) -> Option<(u16, Value)> {
    let path = uri.split('?').next().unwrap();
    let shop = json!({ "metadata": { "name": "shop", "labels": { "team": "shop" } } });
    let other = json!({ "metadata": { "name": "other" } });
    match path {
        "/api/v1/namespaces/shop" => Some((200, shop)),
        "/api/v1/namespaces/other" => Some((200, other)),
        "/api/v1/namespaces" => Some((200, json!({ "metadata": {}, "items": [shop, other] }))),
        path if path.contains("/namespaces/other/") => Some((200, json!({ "metadata": {}, "items": [] }))),
        _ => None,
    }
}

async fn metrics(function: &Function) -> String {
    function.http.get(format!("{}metrics", function.url)).send().await.unwrap().text().await.unwrap()
}

fn rollouts(cluster: &FakeCluster) -> (usize, usize) {
    (cluster.rollouts(API), cluster.rollouts(WORKER))
}

/// With the first value nothing happens, by event or sweep; with the second both workloads are rolled out.
async fn acts(variable: &str, out: &str, within: &str) -> (String, FakeCluster) {
    let cluster = shop();
    let function = Function::with(&cluster, settings(&[(variable, out)])).await;
    let answer = function.told(&ChangeEvent::update("ConfigMap", "app")).await;
    assert!([202, 204].contains(&answer), "{variable}={out}: {answer}");
    assert_eq!(function.swept("1").await, 202, "{variable}={out}");
    assert_eq!(rollouts(&cluster), (0, 0), "{variable}={out}");
    let metrics = metrics(&function).await;
    for swept in [false, true] {
        let cluster = shop();
        let function = Function::with(&cluster, settings(&[(variable, within)])).await;
        if swept {
            assert_eq!(function.swept("1").await, 202, "{variable}={within}");
        } else {
            function.updated("ConfigMap", "app").await;
        }
        assert_eq!(rollouts(&cluster), (1, 1), "{variable}={within}, swept: {swept}");
    }
    (metrics, cluster)
}

#[tokio::test]
async fn an_event_of_what_is_out_of_scope_by_name_is_ignored_at_the_door() {
    for (variable, out, within) in [
        ("CONFROLL_NAMESPACES", "other", "other, shop"),
        ("CONFROLL_IGNORE_NAMESPACES", "other,shop", "other"),
        ("CONFROLL_IGNORE_CONFIGMAPS", "True", "false"),
        ("CONFROLL_IGNORE_CONFIGMAPS", "noise, app", "noise"),
        ("CONFROLL_IGNORE_CONFIGMAPS", "app", ""),
    ] {
        let (metrics, _) = acts(variable, out, within).await;
        assert!(metrics.contains(r#"confroll_events_total{outcome="ignored"} 1"#), "{variable}={out}: {metrics}");
    }
    for (variable, elsewhere) in [("CONFROLL_IGNORE_SECRETS", "true"), ("CONFROLL_IGNORE_SECRETS", "app")] {
        let cluster = shop();
        let function = Function::with(&cluster, settings(&[(variable, elsewhere)])).await;
        assert_eq!(function.told(&ChangeEvent::update("Secret", "app")).await, 204);
        assert_eq!(cluster.requests(), Vec::<String>::new());
        function.updated("ConfigMap", "app").await;
        assert_eq!(rollouts(&cluster), (1, 1));
    }
}

#[tokio::test]
async fn a_source_or_namespace_of_other_labels_is_skipped_and_the_reason_counted() {
    let selector = "CONFROLL_NAMESPACE_SELECTOR";
    let of_sources = "CONFROLL_RESOURCE_LABEL_SELECTOR";
    for (variable, out, within, reason) in [
        (selector, "team=bank", "team in (bank, shop)", "namespace_not_selected"),
        (selector, "!team", "team:*,!legacy", "namespace_not_selected"),
        (of_sources, "tier=db", "tier!=db", "source_not_selected"),
        (of_sources, "tier:db", "tier:web", "source_not_selected"),
    ] {
        let (metrics, cluster) = acts(variable, out, within).await;
        let line = format!("confroll_skips_total{{reason=\"{reason}\"}}");
        assert!(metrics.contains(&line), "{variable}={out}: {metrics}");
        let of_namespaces = |request: &&String| namespaces(request.split_once(' ').unwrap().1).is_some();
        let reads: Vec<_> = cluster.requests().iter().filter(of_namespaces).cloned().collect();
        let expected = if variable == selector {
            vec!["GET /api/v1/namespaces/shop", "GET /api/v1/namespaces?limit=500"]
        } else {
            vec![]
        };
        assert_eq!(reads, expected, "once a batch and once a sweep, and only where it is asked for");
        let of_app = cluster.requests().iter().filter(|request| request.contains("configmaps/app")).count();
        assert_eq!(of_app, usize::from(variable == of_sources), "by the event, and never by the sweep");
    }
}

#[tokio::test]
async fn a_namespace_whose_labels_cannot_be_read_loses_no_change_and_the_missing_right_is_named() {
    let cluster = shop();
    let forbidden = |_: &str, uri: &str| {
        let user = "namespaces is forbidden: User \"confroll\" cannot get resource";
        uri.starts_with("/api/v1/namespaces").then(|| namespaces(uri)).flatten().map(|_| status(403, user))
    };
    cluster.on_request(forbidden);
    let settings = settings(&[("CONFROLL_NAMESPACE_SELECTOR", "team=shop")]);
    let calls = Cluster::new(cluster.client(), Arc::new(settings.rules.clone()), &settings.pace);
    let error = calls.check_labels(&Namespace::parse("shop").unwrap()).await.unwrap_err().to_string();
    assert!(error.contains(r#"verb "get" on "namespaces" in namespace shop"#), "{error}");
    let error = calls.places().await.err().unwrap().to_string();
    assert!(error.contains(r#"verb "list" on "namespaces" in all namespaces"#), "{error}");
    let function = Function::with(&cluster, settings).await;
    let event = ChangeEvent::update("ConfigMap", "app");
    assert_eq!(function.told(&event).await, 503);
    assert_eq!(function.swept("1").await, 503);
    assert_eq!(rollouts(&cluster), (0, 0));
    cluster.on_request(|_, uri| namespaces(uri));
    assert_eq!(function.told(&event).await, 202);
    assert_eq!(rollouts(&cluster), (1, 1));
}

#[tokio::test]
async fn with_listed_namespaces_nothing_is_asked_of_all() {
    for (variables, rolled_out) in [
        (vec![("CONFROLL_NAMESPACES", "shop,other")], (1, 1)),
        (vec![("CONFROLL_NAMESPACES", "shop,other"), ("CONFROLL_IGNORE_NAMESPACES", "shop")], (0, 0)),
        (vec![("CONFROLL_NAMESPACES", "shop,other"), ("CONFROLL_NAMESPACE_SELECTOR", "team")], (1, 1)),
        (vec![("CONFROLL_NAMESPACES", "shop,other"), ("CONFROLL_NAMESPACE_SELECTOR", "!team")], (0, 0)),
    ] {
        let cluster = shop();
        let function = Function::with(&cluster, settings(&variables)).await;
        assert_eq!(function.swept("1").await, 202);
        assert_eq!(rollouts(&cluster), rolled_out, "{variables:?}");
        // Whether a kind is there everybody may ask.
        let is_of_all = |request: &String| !request.contains("/namespaces/") && request.matches('/').count() != 3;
        let of_all: Vec<_> = cluster.requests().into_iter().filter(is_of_all).collect();
        assert_eq!(of_all, Vec::<String>::new(), "{variables:?}");
        let lists_shop = cluster.requests().iter().any(|request| request.contains("/namespaces/shop/"));
        assert_eq!(lists_shop, rolled_out != (0, 0), "{variables:?}");
    }
}

#[tokio::test]
async fn a_kind_of_workload_that_is_ignored_is_not_even_listed() {
    for swept in [false, true] {
        let cluster = shop();
        let function =
            Function::with(&cluster, settings(&[("CONFROLL_IGNORED_WORKLOAD_TYPES", "jobs, Deployment")])).await;
        if swept {
            assert_eq!(function.swept("1").await, 202);
        } else {
            function.updated("ConfigMap", "app").await;
        }
        assert_eq!(rollouts(&cluster), (0, 1));
        assert!(!cluster.requests().iter().any(|request| request.contains("deployments")));
    }
}

/// A Deployment that uses the ConfigMap `app` and the Secret `db`, in a cluster that lets nobody read Secrets.
fn shop_with_a_locked_secret() -> FakeCluster {
    let cluster = shop();
    let mut uses_both = workload_using(&["app"]);
    let secret = json!({ "name": "db", "secret": { "secretName": "db" } });
    uses_both["spec"]["template"]["spec"]["volumes"] = json!([secret]);
    cluster.put("deployments/locked", uses_both);
    cluster.put(APP, json!({ "metadata": { "labels": { "tier": "web" } }, "data": { "a": "3" } }));
    cluster.on_request(|_, uri| uri.contains("secrets").then(|| status(403, "secrets is forbidden: User x cannot")));
    cluster
}

#[tokio::test]
async fn secrets_that_are_ignored_need_not_be_readable() {
    for (ignored, answer, rollouts) in [("true", 202, 1), ("db", 202, 1), ("other", 503, 0), ("false", 503, 0)] {
        let cluster = shop_with_a_locked_secret();
        let function = Function::with(&cluster, settings(&[("CONFROLL_IGNORE_SECRETS", ignored)])).await;
        assert_eq!(function.told(&ChangeEvent::update("ConfigMap", "app")).await, answer, "{ignored}");
        assert_eq!(cluster.rollouts("deployments/locked"), rollouts, "{ignored}");
    }
    let cluster = shop_with_a_locked_secret();
    let function = Function::with(&cluster, settings(&[("CONFROLL_IGNORE_SECRETS", "true")])).await;
    assert_eq!(function.swept("1").await, 202);
    assert_eq!(cluster.rollouts("deployments/locked"), 1);
}

#[tokio::test]
async fn a_source_that_went_out_of_scope_leaves_the_record_and_counts_no_more() {
    let cluster = FakeCluster::default();
    for name in ["app", "noise"] {
        cluster.put(&format!("configmaps/{name}"), config_map("1"));
    }
    cluster.put(API, workload_using(&["app", "noise"]));
    let sources = || {
        let api = cluster.get(API);
        let observed: Value =
            serde_json::from_str(api["metadata"]["annotations"]["confroll.dev/observed"].as_str().unwrap()).unwrap();
        observed["sources"].as_object().unwrap().keys().cloned().collect::<Vec<_>>()
    };
    let everything = Function::on(&cluster).await;
    assert_eq!(everything.swept("1").await, 202);
    assert_eq!(sources(), ["ConfigMap/app", "ConfigMap/noise"]);
    let quiet = Function::with(&cluster, settings(&[("CONFROLL_IGNORE_CONFIGMAPS", "noise")])).await;
    cluster.put("configmaps/noise", config_map("2"));
    assert_eq!(quiet.swept("2").await, 202);
    assert_eq!(cluster.rollouts(API), 0);
    cluster.put(APP, config_map("2"));
    quiet.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts(API), 1);
    assert_eq!(sources(), ["ConfigMap/app"]);
    cluster.put("configmaps/noise", config_map("3"));
    everything.updated("ConfigMap", "noise").await;
    assert_eq!(cluster.rollouts(API), 2, "in scope again");
}
