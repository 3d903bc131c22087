//! The digest key in a Secret: made by the first process, read by all others, on a real API server.

use std::path::Path;

use confroll_stack::object::{JSON, send};
use confroll_stack::{ControlPlane, ControlPlaneOptions, Function, FunctionOptions, Parts, User, rights};
use serde_json::{Value, json};

use crate::support::ChangeEvent;

const SECRET: &str = "/api/v1/namespaces/ops/secrets/confroll-digest-key";

struct Cluster {
    control_plane: ControlPlane,
    client: kube::Client,
}

impl Cluster {
    /// A cluster with the namespaces `ops` and `shop`, where Confroll has these rights besides its usual ones.
    async fn start(further: &[Value]) -> Self {
        let parts = Parts::build().unwrap();
        let options = ControlPlaneOptions { controllers: false, ..ControlPlaneOptions::default() };
        let control_plane = ControlPlane::start(&parts, options).await.unwrap();
        let rules: Vec<Value> = rights().as_array().unwrap().iter().chain(further).cloned().collect();
        control_plane.allow(User::Confroll, &json!(rules)).await.unwrap();
        let client = control_plane.client().await.unwrap();
        let cluster = Self { control_plane, client };
        for name in ["ops", "shop"] {
            cluster.create("/api/v1/namespaces", json!({ "metadata": { "name": name } })).await;
        }
        cluster
    }

    async fn create(&self, path: &str, object: Value) {
        send(&self.client, "POST", path, JSON, &object).await.unwrap();
    }

    async fn get(&self, path: &str) -> Value {
        send(&self.client, "GET", path, JSON, &json!({})).await.unwrap()
    }

    async fn function(&self) -> anyhow::Result<Function> {
        let env = vec![
            ("CONFROLL_DIGEST_KEY_SECRET", "ops/confroll-digest-key".to_owned()),
            ("CONFROLL_LOG_LEVEL", "trace".to_owned()),
        ];
        let kubeconfig = self.control_plane.kubeconfig_for(User::Confroll);
        let options = FunctionOptions { kubeconfig, sink: None, env };
        Function::start(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await
    }

    /// Edits the ConfigMap of the shop's workload and has this function act on it; the key that its record names.
    async fn key_of(&self, function: &Function, value: &str) -> Value {
        let path = "/api/v1/namespaces/shop/configmaps/app";
        let patch = json!({ "data": { "a": value } });
        send(&self.client, "PATCH", path, confroll_stack::object::MERGE_PATCH, &patch).await.unwrap();
        let answer = ChangeEvent::update("ConfigMap", "app").request(&crate::sink::http(), function.url());
        assert_eq!(answer.send().await.unwrap().status(), 202, "{}", function.log());
        let workload = self.get("/apis/apps/v1/namespaces/shop/deployments/api").await;
        let mark = &workload["spec"]["template"]["metadata"]["annotations"]["reloader.stakater.com/last-reloaded-from"];
        assert!(mark.is_string(), "{}", function.log());
        let record = workload["metadata"]["annotations"]["confroll.dev/observed"].as_str().unwrap();
        serde_json::from_str::<Value>(record).unwrap()["key"].clone()
    }
}

fn may_create() -> Value {
    json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["create"] })
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_start_at_once_have_one_key_which_the_first_made_and_nobody_shows() {
    let cluster = Cluster::start(&[may_create()]).await;
    let shop = crate::shop::workload("api", &json!({ "main": { "envFrom": [{ "configMapRef": { "name": "app" } }] } }));
    cluster.create("/api/v1/namespaces/shop/configmaps", json!({ "metadata": { "name": "app" } })).await;
    let mut shop = shop;
    shop["metadata"]["name"] = json!("api");
    cluster.create("/apis/apps/v1/namespaces/shop/deployments", shop).await;
    let functions = futures::future::join_all((0..4).map(|_| cluster.function())).await;
    let functions: Vec<Function> = functions.into_iter().map(Result::unwrap).collect();
    let secret = cluster.get(SECRET).await;
    let key = secret["data"]["digest-key"].as_str().unwrap();
    assert_eq!((key.len(), &secret["immutable"]), (44, &json!(true)));
    let mut keys = Vec::new();
    for (n, function) in functions.iter().enumerate() {
        keys.push(cluster.key_of(function, &n.to_string()).await);
        assert!(!function.log().contains(key), "the key is in a log");
    }
    assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
    let made = functions.iter().filter(|function| function.log().contains("a digest key was made")).count();
    assert_eq!(made, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_right_or_a_key_in_it_nothing_starts_and_one_sentence_says_why() {
    let cluster = Cluster::start(&[]).await;
    let refused = cluster.function().await.unwrap_err().to_string();
    let expected = "allow the verb \"create\" on the Secret ops/confroll-digest-key to Confroll's service account";
    assert!(refused.contains(expected), "{refused}");
    let other = json!({ "metadata": { "name": "confroll-digest-key" }, "stringData": { "other": "hunter2" } });
    cluster.create("/api/v1/namespaces/ops/secrets", other).await;
    let empty = cluster.function().await.unwrap_err().to_string();
    assert!(
        empty.contains("ops/confroll-digest-key has no key \"digest-key\"") && !empty.contains("hunter2"),
        "{empty}"
    );
}
