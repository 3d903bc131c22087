//! Namespaces and labels as a real API server shows them to somebody who has only the rights that the README names.
//!
//! The control plane is this file's own: rights are given here that the tests beside it do without.

use std::path::Path;

use confroll_stack::object::{JSON, MERGE_PATCH, send as request};
use confroll_stack::{ControlPlane, ControlPlaneOptions, Function, FunctionOptions, Parts, User, rights};
use serde_json::{Value, json};

use crate::shop::workload;
use crate::support::{ChangeEvent, until};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

pub(crate) struct Cluster {
    pub(crate) control_plane: ControlPlane,
    client: kube::Client,
}

impl Cluster {
    /// Two namespaces, the first with the label `team: shop`, each with a ConfigMap and a Deployment that uses it.
    pub(crate) async fn start() -> Self {
        let parts = Parts::build().unwrap();
        let options = ControlPlaneOptions { controllers: false, ..ControlPlaneOptions::default() };
        let control_plane = ControlPlane::start(&parts, options).await.unwrap();
        let cluster = Self { client: control_plane.client().await.unwrap(), control_plane };
        for (namespace, labels) in [("shop", json!({ "team": "shop" })), ("bank", json!({}))] {
            cluster.create("/api/v1/namespaces", json!({ "metadata": { "name": namespace, "labels": labels } })).await;
            let config_map = json!({ "metadata": { "name": "app" }, "data": { "a": "1" } });
            cluster.create(&format!("/api/v1/namespaces/{namespace}/configmaps"), config_map).await;
            let mut uses_app =
                workload("api", &json!({ "main": { "envFrom": [{ "configMapRef": { "name": "app" } }] } }));
            uses_app["metadata"]["name"] = json!("api");
            cluster.create(&format!("/apis/apps/v1/namespaces/{namespace}/deployments"), uses_app).await;
        }
        cluster
    }

    pub(crate) async fn create(&self, path: &str, object: Value) {
        request(&self.client, "POST", path, JSON, &object).await.unwrap();
    }

    pub(crate) async fn edit(&self, namespace: &str, value: &str) {
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/app");
        request(&self.client, "PATCH", &path, MERGE_PATCH, &json!({ "data": { "a": value } })).await.unwrap();
    }

    /// How often the Deployments of `shop` and `bank` were written with another spec.
    pub(crate) async fn generations(&self) -> [i64; 2] {
        [self.generation("shop", "api").await, self.generation("bank", "api").await]
    }

    async fn generation(&self, namespace: &str, name: &str) -> i64 {
        self.deployment(namespace, name).await["metadata"]["generation"].as_i64().unwrap()
    }

    pub(crate) async fn deployment(&self, namespace: &str, name: &str) -> Value {
        let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/{name}");
        request(&self.client, "GET", &path, JSON, &json!({})).await.unwrap()
    }

    /// Rights in one namespace, and nowhere else.
    pub(crate) async fn allow_in(&self, namespace: &str, rules: Value) {
        let path = format!("{RBAC}/namespaces/{namespace}");
        self.create(&format!("{path}/roles"), json!({ "metadata": { "name": "confroll" }, "rules": rules })).await;
        let group = "rbac.authorization.k8s.io";
        let binding = json!({
            "metadata": { "name": "confroll" },
            "roleRef": { "apiGroup": group, "kind": "Role", "name": "confroll" },
            "subjects": [{ "apiGroup": group, "kind": "User", "name": User::Confroll.name() }],
        });
        self.create(&format!("{path}/rolebindings"), binding).await;
    }

    pub(crate) async fn function(&self, variables: &[(&'static str, &str)]) -> Function {
        let variables = [("CONFROLL_DIGEST_KEY", "for testing")].iter().chain(variables);
        let env = variables.map(|(name, value)| (*name, (*value).to_owned())).collect();
        let kubeconfig = self.control_plane.kubeconfig_for(User::Confroll);
        let options = FunctionOptions { kubeconfig, sink: None, env };
        Function::start(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await.unwrap()
    }
}

pub(crate) async fn told(function: &Function, event: &ChangeEvent) -> u16 {
    event.request(&crate::sink::http(), function.url()).send().await.unwrap().status().as_u16()
}

pub(crate) fn updated(namespace: &str) -> ChangeEvent {
    let mut event = ChangeEvent::update("ConfigMap", "app");
    event.data["namespace"] = json!(namespace);
    event
}

fn with_namespaces(verbs: &[&str]) -> Value {
    let mut rules = rights();
    rules.as_array_mut().unwrap().push(json!({ "apiGroups": [""], "resources": ["namespaces"], "verbs": verbs }));
    rules
}

#[tokio::test(flavor = "multi_thread")]
async fn a_role_suffices_for_listed_namespaces_and_labels_are_read_where_that_is_allowed() {
    let cluster = Cluster::start().await;
    let [shop, bank] = cluster.generations().await;
    cluster.allow_in("shop", rights()).await;
    let listed = cluster.function(&[("CONFROLL_NAMESPACES", "shop")]).await;
    for namespace in ["shop", "bank"] {
        cluster.edit(namespace, "2").await;
    }
    assert_eq!(told(&listed, &ChangeEvent::ping("1")).await, 202, "{}", listed.log());
    assert_eq!(cluster.generations().await, [shop + 1, bank]);
    cluster.edit("shop", "3").await;
    assert_eq!(told(&listed, &updated("shop")).await, 202);
    assert_eq!(told(&listed, &updated("bank")).await, 204);
    assert_eq!(cluster.generations().await, [shop + 2, bank]);

    let selecting = [("CONFROLL_NAMESPACES", "shop"), ("CONFROLL_NAMESPACE_SELECTOR", "team=shop")];
    let forbidden = cluster.function(&selecting).await;
    cluster.edit("shop", "4").await;
    assert_eq!(told(&forbidden, &updated("shop")).await, 503);
    let log = forbidden.log();
    assert!(log.contains(r#"allow the verb "get" on "namespaces" in namespace shop"#), "{log}");
    assert_eq!(cluster.generations().await, [shop + 2, bank]);

    cluster.control_plane.allow(User::Confroll, &with_namespaces(&["get", "list"])).await.unwrap();
    // The API server learns of it a moment later; the event comes again.
    until(|| async { told(&forbidden, &updated("shop")).await == 202 }).await;
    assert_eq!(cluster.generations().await, [shop + 3, bank]);
    let selected = cluster.function(&[("CONFROLL_NAMESPACE_SELECTOR", "team=shop")]).await;
    cluster.edit("shop", "5").await;
    assert_eq!(told(&selected, &ChangeEvent::ping("2")).await, 202, "{}", selected.log());
    assert_eq!(told(&selected, &updated("bank")).await, 202);
    assert_eq!(cluster.generations().await, [shop + 4, bank]);
    let everywhere = cluster.function(&[]).await;
    assert_eq!(told(&everywhere, &updated("bank")).await, 202);
    assert_eq!(cluster.generations().await, [shop + 4, bank + 1]);
}
