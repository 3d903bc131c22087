//! A control plane with every kind of workload, for tests that call the function by hand.
//!
//! Each test has its own, as CRDs come and go. No controller but ours writes to the workloads, so that whatever changes is
//! our doing.

use std::path::{Path, PathBuf};

use confroll::reload::workload_kind::{Controller, Presence, WORKLOAD_KINDS, WorkloadKind};
use confroll_stack::object::{JSON, MERGE_PATCH, send as request};
use confroll_stack::{
    AuditMark, ControlPlane, ControlPlaneOptions, Function, FunctionOptions, Parts, RecordingSink, User, rights,
};
use serde_json::{Value, json};

use crate::fixtures::{crd, kinds};
use crate::support::ChangeEvent;

/// Where the Secrets Store CSI driver keeps what it knows.
pub(crate) const CSI: &str = "/apis/secrets-store.csi.x-k8s.io/v1";
pub(crate) const CSI_ON: (&str, &str) = ("CONFROLL_ENABLE_CSI_INTEGRATION", "true");

pub(crate) struct Plane {
    control: ControlPlane,
    pub(crate) client: kube::Client,
    parts: Parts,
    start: AuditMark,
}

impl Plane {
    /// Nobody has any rights.
    async fn bare() -> Self {
        let parts = Parts::build().unwrap();
        let options = ControlPlaneOptions { controllers: false, ..ControlPlaneOptions::default() };
        let control = ControlPlane::start(&parts, options).await.unwrap();
        let client = control.client().await.unwrap();
        let start = control.audit().mark().await.unwrap();
        Self { control, client, parts, start }
    }

    pub(crate) async fn start() -> Self {
        let plane = Self::bare().await;
        let mut rules = rights().as_array().unwrap().clone();
        for kind in kinds().iter().filter(|kind| !WORKLOAD_KINDS.contains(kind)) {
            rules.push(
                json!({ "apiGroups": [kind.group], "resources": [kind.plural], "verbs": ["get", "list", "patch"] }),
            );
        }
        plane.control.allow(User::Confroll, &json!(rules)).await.unwrap();
        rules.push(json!({ "apiGroups": [""], "resources": ["configmaps", "secrets"], "verbs": ["watch"] }));
        let statuses = json!(["secretproviderclasspodstatuses"]);
        rules.push(json!({ "apiGroups": ["secrets-store.csi.x-k8s.io"], "resources": statuses, "verbs": ["watch"] }));
        plane.control.allow(User::Watcher, &json!(rules)).await.unwrap();
        plane
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

    /// Installs CRDs like those of the Secrets Store CSI driver: a status is no subresource there, and other fields are lost.
    pub(crate) async fn install_secrets_store(&self) {
        let text = || json!({ "type": "string" });
        let object = json!({ "type": "object", "properties": { "id": text(), "version": text() } });
        let status = json!({ "type": "object", "properties": {
            "mounted": { "type": "boolean" }, "podName": text(), "secretProviderClassName": text(), "targetPath": text(),
            "objects": { "type": "array", "items": object } } });
        let spec = json!({ "type": "object", "properties": { "provider": text() } });
        for (row, properties) in [
            ("SecretProviderClass:secretproviderclasses=spec", json!({ "spec": spec })),
            ("SecretProviderClassPodStatus:secretproviderclasspodstatuses=spec", json!({ "status": status })),
        ] {
            let row = format!("secrets-store.csi.x-k8s.io/v1/{row}");
            let mut crd = crd(WorkloadKind::read(&row).unwrap());
            let version = crd["spec"]["versions"][0].as_object_mut().unwrap();
            version.remove("subresources");
            version["schema"] = json!({ "openAPIV3Schema": { "type": "object", "properties": properties } });
            self.control.install_crds(&crd.to_string()).await.unwrap();
        }
    }

    /// Creates a class where there is none of that name.
    pub(crate) async fn class(&self, namespace: &str, name: &str, annotations: &Value) {
        let object = json!({ "apiVersion": "secrets-store.csi.x-k8s.io/v1", "kind": "SecretProviderClass",
            "metadata": { "name": name, "annotations": annotations }, "spec": { "provider": "vault" } });
        let path = format!("{CSI}/namespaces/{namespace}/secretproviderclasses");
        let created = request(&self.client, "POST", &path, JSON, &object).await;
        if let Err(error) = created {
            assert!(format!("{error:#}").contains("already exists"), "{error:#}");
        }
    }

    /// Plays the driver: a pod has this version of the object `db` of a class, from now on.
    pub(crate) async fn mount(&self, namespace: &str, pod: &str, class: &str, version: &str) {
        let path = format!("{CSI}/namespaces/{namespace}/secretproviderclasspodstatuses");
        let object = json!({
            "apiVersion": "secrets-store.csi.x-k8s.io/v1", "kind": "SecretProviderClassPodStatus",
            "metadata": { "name": format!("{pod}-{class}") },
            "status": { "mounted": true, "podName": pod, "secretProviderClassName": class,
                "objects": [{ "id": "db", "version": version }] },
        });
        let name = format!("{path}/{pod}-{class}");
        let rotated = request(&self.client, "PATCH", &name, MERGE_PATCH, &json!({ "status": object["status"] })).await;
        if rotated.is_err() {
            request(&self.client, "POST", &path, JSON, &object).await.unwrap();
        }
    }

    /// The paths that Confroll asked for, since the start.
    pub(crate) async fn requests_of_confroll(&self) -> Vec<String> {
        let audit = self.control.audit();
        let requests = audit.requests_since(self.start, User::Confroll).await.unwrap();
        requests.into_iter().map(|request| request.uri).collect()
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

    /// With the kinds of the table, and no rights for anybody.
    pub(crate) async fn without_rights() -> Self {
        let plane = Self::bare().await;
        for kind in WORKLOAD_KINDS.iter().filter(|kind| kind.presence == Presence::WhereInstalled) {
            plane.install(kind).await;
        }
        plane
    }

    /// A kubeconfig with a token of a ServiceAccount.
    pub(crate) async fn kubeconfig_of_account(&self, namespace: &str, name: &str) -> PathBuf {
        let path = format!("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token");
        let ask = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "expirationSeconds": 7200 } });
        let answer = request(&self.client, "POST", &path, JSON, &ask).await.unwrap();
        let file = self.control.kubeconfig_for(User::Confroll);
        let mut config: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
        config["users"][0]["user"] = json!({ "token": answer["status"]["token"] });
        let file = file.with_file_name(format!("{namespace}-{name}.kubeconfig"));
        std::fs::write(&file, config.to_string()).unwrap();
        file
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
        if kind == "SecretProviderClass" {
            self.class(namespace, name, &json!({})).await;
            return self.mount(namespace, "pod", name, value).await;
        }
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
    if kind == "SecretProviderClass" {
        event = status_event("update", namespace, &format!("pod-{name}"));
    }
    let answer = event.request(&crate::sink::http(), function.url()).send().await.unwrap();
    assert_eq!(answer.status(), 202, "{}", function.log());
}

/// What an ApiServerSource tells of the status of a pod that mounts a SecretProviderClass.
pub(crate) fn status_event(verb: &str, namespace: &str, name: &str) -> ChangeEvent {
    let mut event = ChangeEvent::of(verb, "SecretProviderClassPodStatus", name);
    event.data["namespace"] = json!(namespace);
    event.data["apiVersion"] = json!("secrets-store.csi.x-k8s.io/v1");
    event
}
