//! A SecretProviderClass that is rotated: what an API server in memory does on demand. The rest is tested on a real one
//! (secrets_store.rs).

use confroll_stack::RecordingSink;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::fake_cluster::{FakeCluster, status};
use crate::kind_plane::{CSI_ON, status_event};
use crate::secrets_stage::mounting;
use crate::support::{ChangeEvent, Function, config_map, settings, told};

const API: &str = "deployments/api";

/// Plays the driver: a pod has this version of the object `db` of a class, from now on, written for the how-many-th time and
/// at which second.
pub(crate) fn mount_of(cluster: &FakeCluster, class: &str, pod: &str, version: &str, (generation, second): (u64, u64)) {
    let key = format!("secretproviderclasspodstatuses/{pod}-{class}");
    let written = json!([{ "time": format!("2026-01-02T00:00:{second:02}Z"), "fieldsV1": { "f:status": {} }, "operation": "Update" }]);
    cluster.put(
        &key,
        json!({
            "metadata": { "generation": generation, "managedFields": written, "labels": { "of": "driver" } },
            "status": { "mounted": true, "podName": pod, "secretProviderClassName": class,
                "objects": [{ "id": "db", "version": version }] },
        }),
    );
}

fn mount(cluster: &FakeCluster, pod: &str, version: &str, generation: u64, second: u64) {
    mount_of(cluster, "vault", pod, version, (generation, second));
}

fn rotate(cluster: &FakeCluster, pod: &str, version: &str) {
    let before = cluster.get(&format!("secretproviderclasspodstatuses/{pod}-vault"));
    let generation = before["metadata"]["generation"].as_u64().unwrap() + 1;
    mount(cluster, pod, version, generation, 10 + generation);
}

fn deployment(pod: &Value) -> Value {
    json!({ "metadata": { "annotations": { "reloader.stakater.com/auto": "true" } }, "spec": { "template": { "spec": pod } } })
}

/// Three pods that started with version 1, of a Deployment that nobody has looked at yet.
fn started() -> FakeCluster {
    let cluster = FakeCluster::default();
    cluster.put("secretproviderclasses/vault", json!({ "metadata": { "labels": { "team": "shop" } } }));
    for pod in ["a", "b", "c"] {
        mount(&cluster, pod, "1", 1, 0);
    }
    cluster.put(API, deployment(&mounting("vault")));
    cluster
}

fn rotated(pod: &str) -> ChangeEvent {
    status_event("update", "shop", &format!("{pod}-vault"))
}

#[tokio::test]
async fn pods_that_rotate_at_once_and_are_told_of_to_two_processes_are_one_rollout() {
    let cluster = started();
    let sink = RecordingSink::start().await.unwrap();
    let mut all = settings(&[CSI_ON]);
    all.sink = Function::settings_telling(&sink).sink;
    let functions = [Function::with(&cluster, all.clone()).await, Function::with(&cluster, all).await];
    for (round, version) in ["2", "3"].into_iter().enumerate() {
        for pod in ["a", "b", "c"] {
            rotate(&cluster, pod, version);
        }
        let events = ["a", "b", "c"].map(rotated);
        let all = functions.iter().flat_map(|function| events.iter().map(move |event| function.told(event)));
        assert_eq!(join_all(all).await, [202; 6]);
        assert_eq!(cluster.rollouts(API), round + 1);
    }
    let ids: std::collections::BTreeSet<_> = told(&sink).into_iter().map(|event| event.id).collect();
    assert_eq!(ids.len(), 2);
}

#[tokio::test]
async fn a_rotation_that_cannot_be_read_is_told_again_and_rolls_out_then() {
    for (path, code) in [
        ("/secretproviderclasspodstatuses/a-vault", 500),
        ("/secretproviderclasspodstatuses/a-vault", 403),
        ("/secretproviderclasspodstatuses?", 403),
        ("/secretproviderclasses/vault", 403),
        ("/apis/secrets-store.csi.x-k8s.io/v1", 500),
    ] {
        let cluster = started();
        rotate(&cluster, "a", "2");
        let function = Function::with(&cluster, settings(&[CSI_ON])).await;
        cluster.on_request(move |_, uri| {
            let is_met = if path.ends_with("/v1") { uri == path } else { uri.contains(path) };
            is_met.then(|| status(code, "no"))
        });
        assert_eq!(function.told(&rotated("a")).await, 503, "{path}");
        assert_eq!(cluster.rollouts(API), 0, "{path}");
        cluster.on_request(|_, _| None);
        assert_eq!(function.told(&rotated("a")).await, 202, "{path}");
        assert_eq!(cluster.rollouts(API), 1, "{path}");
    }
}

#[tokio::test]
async fn what_an_event_costs_does_not_grow_with_pods() {
    let mut costs = Vec::new();
    for pods in [1, 200] {
        let cluster = started();
        for pod in 0..pods {
            mount(&cluster, &format!("p{pod}"), "1", 1, 0);
        }
        rotate(&cluster, "a", "2");
        let function = Function::with(&cluster, settings(&[CSI_ON])).await;
        assert_eq!(function.told(&rotated("a")).await, 202);
        assert_eq!(cluster.rollouts(API), 1);
        costs.push(cluster.requests().iter().filter(|request| request.contains("secrets-store")).count());
    }
    assert_eq!(costs[0], costs[1]);
}

#[tokio::test]
async fn a_workload_that_is_scaled_to_nothing_and_back_is_rolled_out_by_nothing_whatever_is_set() {
    let cluster = started();
    let absence = [("CONFROLL_RELOAD_ON_CREATE", "true"), ("CONFROLL_RELOAD_ON_DELETE", "true")];
    let function = Function::with(&cluster, settings(&[CSI_ON, absence[0], absence[1]])).await;
    rotate(&cluster, "a", "2");
    assert_eq!(function.told(&rotated("a")).await, 202);
    assert_eq!((function.swept("noted").await, cluster.rollouts(API)), (202, 1));
    for pod in ["a", "b", "c"] {
        cluster.delete(&format!("secretproviderclasspodstatuses/{pod}-vault"));
    }
    assert_eq!(function.told(&status_event("delete", "shop", "a-vault")).await, 202);
    assert_eq!((function.swept("empty").await, cluster.rollouts(API)), (202, 1));
    for pod in ["d", "e"] {
        mount(&cluster, pod, "3", 1, 40);
        assert_eq!(function.told(&status_event("add", "shop", &format!("{pod}-vault"))).await, 202);
    }
    assert_eq!((function.swept("back").await, cluster.rollouts(API)), (202, 1));
    rotate(&cluster, "d", "4");
    assert_eq!(function.told(&rotated("d")).await, 202);
    assert_eq!(cluster.rollouts(API), 2);
    // The class itself is deleted: what its pods have is nobody's any more.
    cluster.delete("secretproviderclasses/vault");
    rotate(&cluster, "d", "5");
    assert_eq!(function.told(&rotated("d")).await, 202);
    assert_eq!((function.swept("gone").await, cluster.rollouts(API)), (202, 2));
}

#[tokio::test]
async fn where_the_past_is_forgotten_an_event_of_a_rotation_rolls_out_and_a_sweep_does_not() {
    for (by_event, expected) in [(true, 1), (false, 0)] {
        let cluster = started();
        rotate(&cluster, "a", "2");
        cluster.compact();
        cluster.put("configmaps/noise", config_map("1"));
        let function = Function::with(&cluster, settings(&[CSI_ON])).await;
        let event = if by_event { rotated("a") } else { ChangeEvent::ping("1") };
        assert_eq!(function.told(&event).await, 202);
        assert_eq!(cluster.rollouts(API), expected);
        // Either way the next one is known by the record.
        rotate(&cluster, "b", "3");
        assert_eq!((function.swept("2").await, cluster.rollouts(API)), (202, expected + 1));
    }
}

#[tokio::test]
async fn what_is_out_of_scope_is_so_by_the_namespace_and_by_the_labels_of_the_class_not_of_the_status() {
    for (setting, answer, expected) in [
        (("CONFROLL_IGNORE_NAMESPACES", "shop"), 204, 0),
        (("CONFROLL_NAMESPACES", "bank"), 204, 0),
        (("CONFROLL_RESOURCE_LABEL_SELECTOR", "team=bank"), 202, 0),
        (("CONFROLL_RESOURCE_LABEL_SELECTOR", "of=driver"), 202, 0),
        (("CONFROLL_RESOURCE_LABEL_SELECTOR", "team=shop"), 202, 1),
        (("CONFROLL_IGNORE_SECRETS", "true"), 202, 1),
    ] {
        let cluster = started();
        rotate(&cluster, "a", "2");
        let function = Function::with(&cluster, settings(&[CSI_ON, setting])).await;
        assert_eq!(function.told(&rotated("a")).await, answer, "{setting:?}");
        assert_eq!(cluster.requests().is_empty(), answer == 204, "{setting:?}");
        assert_eq!((function.swept("1").await, cluster.rollouts(API)), (202, expected), "{setting:?}");
    }
}

#[tokio::test]
async fn a_class_and_a_config_map_that_changed_together_are_one_rollout() {
    let cluster = started();
    cluster.put("configmaps/app", config_map("1"));
    let mut pod = mounting("vault");
    pod["containers"][0]["envFrom"] = json!([{ "configMapRef": { "name": "app" } }]);
    cluster.put("deployments/both", deployment(&pod));
    let function = Function::with(&cluster, settings(&[CSI_ON])).await;
    assert_eq!(function.swept("noted").await, 202);
    cluster.put("configmaps/app", config_map("2"));
    rotate(&cluster, "a", "2");
    // Only one of them is told.
    function.updated("ConfigMap", "app").await;
    assert_eq!(cluster.rollouts("deployments/both"), 1);
    assert_eq!(function.told(&rotated("a")).await, 202);
    assert_eq!((cluster.rollouts("deployments/both"), cluster.rollouts(API)), (1, 1));
}
