//! A control plane with every kind of workload, for tests that call the function by hand.
//!
//! Each test has its own, as CRDs come and go. No controller but ours writes to the workloads, so that whatever changes is
//! our doing.

use std::path::Path;

use confroll::reload::workload_kind::{Controller, Presence, WORKLOAD_KINDS, WorkloadKind};
use confroll_stack::object::{JSON, MERGE_PATCH, send as request};
use confroll_stack::{
    ControlPlane, ControlPlaneOptions, Function, FunctionOptions, Parts, RecordingSink, User, rights,
};
use serde_json::{Value, json};

use crate::fixtures::{crd, kinds};
use crate::support::ChangeEvent;

pub(crate) struct Plane {
    control: ControlPlane,
    pub(crate) client: kube::Client,
    parts: Parts,
}

impl Plane {
    pub(crate) async fn start() -> Self {
        let parts = Parts::build().unwrap();
        let options = ControlPlaneOptions { controllers: false, ..ControlPlaneOptions::default() };
        let control_plane = ControlPlane::start(&parts, options).await.unwrap();
        let mut rules = rights().as_array().unwrap().clone();
        for kind in kinds().iter().filter(|kind| !WORKLOAD_KINDS.contains(kind)) {
            rules.push(
                json!({ "apiGroups": [kind.group], "resources": [kind.plural], "verbs": ["get", "list", "patch"] }),
            );
        }
        control_plane.allow(User::Confroll, &json!(rules)).await.unwrap();
        let of_sources = json!({ "apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["watch"] });
        rules.push(of_sources);
        control_plane.allow(User::Watcher, &json!(rules)).await.unwrap();
        let client = control_plane.client().await.unwrap();
        Self { control: control_plane, client, parts }
    }

    /// Installs the CRD of a kind, the real one where there is one.
    pub(crate) async fn install(&self, kind: &WorkloadKind) {
        let manifest = match kind.controller {
            Controller::ArgoRollouts => self.parts.manifest("argo", "rollout-crd.yaml").unwrap(),
            Controller::KnativeServing => self.parts.manifest("serving", "service.yaml").unwrap(),
            _ => crd(kind).to_string(),
        };
        self.control.install_crds(&manifest).await.unwrap();
    }

    pub(crate) async fn with_all_kinds() -> Self {
        let plane = Self::start().await;
        for kind in kinds().iter().filter(|kind| kind.presence == Presence::WhereInstalled) {
            plane.install(kind).await;
        }
        plane
    }

    pub(crate) async fn function(&self, sink: &RecordingSink, env: &[(&'static str, &str)]) -> Function {
        let kubeconfig = self.control.kubeconfig_for(User::Confroll);
        let usual =
            [("CONFROLL_DIGEST_KEY", "for testing"), ("CONFROLL_LOG_LEVEL", "debug"), ("CONFROLL_SETTLE", "1s")];
        let env = usual.iter().chain(env).map(|(name, value)| (*name, (*value).to_owned())).collect();
        let options = FunctionOptions { kubeconfig, sink: Some(sink.url().to_owned()), env };
        Function::start(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await.unwrap()
    }

    /// `confroll watch` in place of the function.
    pub(crate) async fn watcher(&self, sink: &RecordingSink, env: &[(&'static str, &str)]) -> Function {
        let kubeconfig = self.control.kubeconfig_for(User::Watcher);
        let env = env.iter().chain(&[("CONFROLL_DIGEST_KEY", "for testing")]);
        let env = env.map(|(name, value)| (*name, (*value).to_owned())).collect();
        let options = FunctionOptions { kubeconfig, sink: Some(sink.url().to_owned()), env };
        Function::start_watch(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await.unwrap()
    }

    pub(crate) async fn namespace(&self) -> String {
        self.control.create_namespace("kinds").await.unwrap()
    }

    pub(crate) async fn create(&self, kind: &WorkloadKind, namespace: &str, object: &Value) -> Value {
        request(&self.client, "POST", &kind.collection_path(namespace), JSON, object)
            .await
            .unwrap_or_else(|error| panic!("{object}: {error:#}"))
    }

    pub(crate) async fn get(&self, kind: &WorkloadKind, namespace: &str, name: &str) -> Value {
        let path = format!("{}/{name}", kind.collection_path(namespace));
        request(&self.client, "GET", &path, JSON, &json!({})).await.unwrap()
    }

    pub(crate) async fn source(&self, namespace: &str, kind: &str, name: &str, value: &str) {
        let plural = format!("{}s", kind.to_lowercase());
        let (path, field) =
            (format!("/api/v1/namespaces/{namespace}/{plural}"), if kind == "Secret" { "stringData" } else { "data" });
        let object = json!({ "metadata": { "name": name }, field: { "a": value } });
        let edited = request(&self.client, "PATCH", &format!("{path}/{name}"), MERGE_PATCH, &object).await;
        if edited.is_err() {
            request(&self.client, "POST", &path, JSON, &object).await.unwrap();
        }
    }
}

/// Tells of a change and sees it done.
pub(crate) async fn changed(function: &Function, namespace: &str, kind: &str, name: &str) {
    let mut event = ChangeEvent::update(kind, name);
    event.data["namespace"] = json!(namespace);
    let answer = event.request(&crate::sink::http(), function.url()).send().await.unwrap();
    assert_eq!(answer.status(), 202, "{}", function.log());
}
