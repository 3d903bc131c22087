//! A sweep on a real API server that forgets its past every few seconds, with the function as a process of its own.
//!
//! The control plane is this file's own: a sweep looks at all namespaces, and would work for the tests beside it.

use std::path::Path;

use confroll_stack::object::{JSON, MERGE_PATCH, send as request};
use confroll_stack::{
    ControlPlane, ControlPlaneOptions, Function, FunctionOptions, Parts, PingSource, TemplateWatch, User, rights,
};
use futures::stream::{self, StreamExt as _};
use serde_json::{Value, json};

use crate::shop::{SOON, workload};
use crate::support::ChangeEvent;

/// Workloads that nothing is ever changed for.
const BYSTANDERS: usize = 500;

struct Cluster {
    parts: Parts,
    control_plane: ControlPlane,
    client: kube::Client,
    watch: TemplateWatch,
    bystanders: TemplateWatch,
}

impl Cluster {
    async fn start() -> Self {
        let parts = Parts::build().unwrap();
        let options = ControlPlaneOptions {
            controllers: false,
            compaction_interval: std::time::Duration::from_secs(1),
            ..ControlPlaneOptions::default()
        };
        let control_plane = ControlPlane::start(&parts, options).await.unwrap();
        control_plane.allow(User::Confroll, &rights()).await.unwrap();
        let client = control_plane.client().await.unwrap();
        for namespace in ["shop", "many"] {
            let object = json!({ "metadata": { "name": namespace } });
            request(&client, "POST", "/api/v1/namespaces", JSON, &object).await.unwrap();
        }
        let watch = TemplateWatch::start(client.clone(), "shop").await.unwrap();
        let bystanders = TemplateWatch::start(client.clone(), "many").await.unwrap();
        Self { parts, control_plane, client, watch, bystanders }
    }

    async fn create(&self, path: &str, name: &str, mut object: Value) {
        object["metadata"]["name"] = json!(name);
        request(&self.client, "POST", path, JSON, &object).await.unwrap();
    }

    async fn edit(&self, name: &str, patch: Value) {
        let path = format!("/api/v1/namespaces/shop/configmaps/{name}");
        request(&self.client, "PATCH", &path, MERGE_PATCH, &patch).await.unwrap();
    }

    async fn function(&self, key: &str) -> Function {
        let env = vec![("CONFROLL_DIGEST_KEY", key.to_owned()), ("CONFROLL_LOG_LEVEL", "debug".to_owned())];
        let kubeconfig = self.control_plane.kubeconfig_for(User::Confroll);
        let options = FunctionOptions { kubeconfig, sink: None, env };
        Function::start(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await.unwrap()
    }

    /// A function that has never run before, as after every scale to zero. It sweeps and ends.
    async fn sweep(&self, id: &str, key: &str) {
        let function = self.function(key).await;
        let ping = ChangeEvent::ping(id);
        let answer = ping.request(&crate::sink::http(), function.url()).send().await.unwrap();
        assert_eq!(answer.status(), 202, "{}", function.log());
        assert!(function.stop().await.unwrap().success(), "{}", function.log());
    }

    /// Waits until the API server cannot tell any more how a source was at a version.
    async fn forget(&self, version: &str) {
        let path = format!("/api/v1/namespaces/shop/configmaps?resourceVersion={version}&resourceVersionMatch=Exact");
        while request(&self.client, "GET", &path, JSON, &json!({})).await.is_ok() {
            // Compaction needs writes to go by.
            self.edit("clock", json!({ "metadata": { "annotations": { "t": version } } })).await;
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        }
    }

    async fn version(&self, name: &str) -> String {
        let path = format!("/api/v1/namespaces/shop/configmaps/{name}");
        let object = request(&self.client, "GET", &path, JSON, &json!({})).await.unwrap();
        object["metadata"]["resourceVersion"].as_str().unwrap().to_owned()
    }

    /// Waits until a workload of the shop has rolled out so often; then it has so, and no other has more.
    async fn rolled_out(&self, expected: [usize; 3]) {
        let names = ["api", "other", "late"];
        for (name, times) in names.into_iter().zip(expected) {
            self.watch.wait_for("Deployment", name, times, SOON).await.unwrap();
            assert_eq!(self.watch.rollouts("Deployment", name).len(), times, "{name}");
        }
    }
}

fn using(name: &str, config_map: &str) -> Value {
    workload(name, &json!({ "main": { "envFrom": [{ "configMapRef": { "name": config_map } }] } }))
}

async fn shop(cluster: &Cluster) {
    for name in ["app", "other", "late", "clock"] {
        cluster.create("/api/v1/namespaces/shop/configmaps", name, json!({ "data": { "a": "1" } })).await;
    }
    for (name, source) in [("api", "app"), ("other", "other"), ("late", "late")] {
        cluster.create("/apis/apps/v1/namespaces/shop/deployments", name, using(name, source)).await;
    }
    cluster.create("/api/v1/namespaces/many/configmaps", "shared", json!({ "data": { "a": "1" } })).await;
    let many = stream::iter(0..BYSTANDERS).map(|n| async move {
        let name = format!("w{n}");
        cluster.create("/apis/apps/v1/namespaces/many/deployments", &name, using(&name, "shared")).await;
    });
    many.buffer_unordered(16).collect::<Vec<_>>().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_nobody_told_and_nobody_remembers_are_acted_on_once_and_nothing_else_is() {
    let cluster = Cluster::start().await;
    shop(&cluster).await;
    cluster.sweep("first", "one").await;
    cluster.rolled_out([0, 0, 0]).await;

    // Nothing runs, and what was is forgotten before the next sweep.
    let before = cluster.version("app").await;
    cluster.edit("app", json!({ "data": { "a": "2" } })).await;
    cluster.edit("other", json!({ "metadata": { "labels": { "note": "x" } } })).await;
    cluster.forget(&before).await;
    cluster.sweep("second", "one").await;
    cluster.rolled_out([1, 0, 0]).await;

    // Upgraded to another key, with nothing changed; then a change under the new one.
    cluster.sweep("third", "two").await;
    cluster.rolled_out([1, 0, 0]).await;
    let before = cluster.version("late").await;
    cluster.edit("late", json!({ "data": { "b": "1" } })).await;
    cluster.forget(&before).await;
    cluster.sweep("fourth", "two").await;
    cluster.rolled_out([1, 0, 1]).await;

    let mark = cluster.control_plane.audit().mark().await.unwrap();
    cluster.sweep("fifth", "two").await;
    let requests = cluster.control_plane.audit().requests_since(mark, User::Confroll).await.unwrap();
    let is_look_for_kinds = |uri: &str| uri.starts_with("/apis/") && uri.matches('/').count() == 3;
    let moved: Vec<_> =
        requests.iter().filter(|request| &*request.verb != "list" && !is_look_for_kinds(&request.uri)).collect();
    // The clock has no user, so nothing has moved: pages of lists, looks for kinds that are not there, and nothing else.
    assert!(moved.is_empty(), "{moved:?}");
    for n in 0..BYSTANDERS {
        assert_eq!(cluster.bystanders.rollouts("Deployment", &format!("w{n}")).len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_next_ping_of_a_real_source_acts_on_what_no_event_told() {
    let cluster = Cluster::start().await;
    for name in ["app", "other", "late"] {
        cluster.create("/api/v1/namespaces/shop/configmaps", name, json!({ "data": { "a": "1" } })).await;
    }
    for (name, source) in [("api", "app"), ("other", "other"), ("late", "late")] {
        cluster.create("/apis/apps/v1/namespaces/shop/deployments", name, using(name, source)).await;
    }
    cluster.sweep("first", "one").await;

    // As shipped, but more often.
    let mut source: Value = serde_saphyr::from_str(include_str!("../../eventing/objects/sweep.yaml")).unwrap();
    source["spec"]["schedule"] = json!("* * * * * *");
    let function = cluster.function("one").await;
    let _pings =
        PingSource::start(&cluster.control_plane, &cluster.parts, "shop", &source, function.url()).await.unwrap();
    cluster.edit("app", json!({ "data": { "a": "2" } })).await;
    cluster.edit("other", json!({ "metadata": { "labels": { "note": "x" } } })).await;
    cluster.rolled_out([1, 0, 0]).await;
    // Another ping, as the one before found what it acts on now to be as it was.
    cluster.edit("late", json!({ "data": { "a": "2" } })).await;
    cluster.rolled_out([1, 0, 1]).await;
}
