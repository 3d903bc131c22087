//! Manifests as users build and apply them: kustomize and helm, and the objects that come of them on a real API server.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use confroll_stack::Parts;
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::discovery::{ApiCapabilities, ApiResource, Discovery, Scope, pinned_kind, verbs};
use serde_json::Value;

/// An object of the cluster by what it is called.
pub(crate) type Name = (String, String, String);

/// What users of these folders do: a folder of its own beside copies of ours.
pub(crate) struct Overlay(PathBuf);

impl Overlay {
    /// The base with these components.
    pub(crate) fn new(name: &str, base: &str, components: &[&str]) -> Self {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("kustomize-{name}-{}", std::process::id()));
        let ours = Path::new(env!("CARGO_MANIFEST_DIR"));
        for folder in ["knative", "eventing"] {
            copy(&ours.join(folder), &root.join(folder));
        }
        std::fs::create_dir_all(root.join("overlay")).unwrap();
        let components: Vec<_> = components.iter().map(|it| format!("../eventing/components/{it}")).collect();
        let text = serde_json::json!({
            "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
            "resources": [format!("../{base}")], "components": components,
        });
        std::fs::write(root.join("overlay/kustomization.yaml"), text.to_string()).unwrap();
        Self(root)
    }

    pub(crate) fn build(&self) -> Vec<Value> {
        let program = Parts::build().unwrap().program("kustomize").unwrap();
        let built = Command::new(program).arg("build").arg(self.0.join("overlay")).output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
        documents(&String::from_utf8(built.stdout).unwrap())
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

pub(crate) fn documents(yaml: &str) -> Vec<Value> {
    let all: Vec<Value> = serde_saphyr::from_multiple(yaml).unwrap();
    all.into_iter().filter(Value::is_object).collect()
}

pub(crate) fn named<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let is_it = |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == name;
    objects.iter().find(is_it).unwrap_or_else(|| panic!("no {kind} {name}"))
}

async fn api(client: &kube::Client, object: &Value) -> Api<DynamicObject> {
    let text = |field: &str| object[field].as_str().unwrap();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    let kind = GroupVersionKind::gvk(group, version, text("kind"));
    let (resource, capabilities): (ApiResource, ApiCapabilities) = pinned_kind(client, &kind).await.unwrap();
    match (capabilities.scope, object["metadata"]["namespace"].as_str()) {
        (Scope::Namespaced, namespace) => {
            Api::namespaced_with(client.clone(), namespace.unwrap_or("default"), &resource)
        }
        (Scope::Cluster, _) => Api::all_with(client.clone(), &resource),
    }
}

/// How objects are applied.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Run {
    Dry,
    Real,
}

/// Applies objects as `kubectl apply --server-side --validate=strict` does; gives back their versions.
pub(crate) async fn apply(client: &kube::Client, objects: &[Value], run: Run) -> Vec<String> {
    let mut versions = Vec::new();
    for object in objects {
        let mut params = PatchParams::apply("kubectl").validation_strict();
        params.dry_run = run == Run::Dry;
        let name = object["metadata"]["name"].as_str().unwrap();
        let applied = api(client, object).await.patch(name, &params, &Patch::Apply(object)).await;
        let applied = applied.unwrap_or_else(|error| panic!("{} {name}: {error}", object["kind"]));
        versions.push(applied.metadata.resource_version.unwrap_or_default());
    }
    versions
}

pub(crate) async fn delete(client: &kube::Client, objects: &[Value]) {
    for object in objects.iter().rev() {
        let name = object["metadata"]["name"].as_str().unwrap();
        api(client, object).await.delete(name, &DeleteParams::background()).await.unwrap();
    }
}

/// Everything that is in the cluster, but for what comes and goes by itself.
pub(crate) async fn everything(client: &kube::Client) -> BTreeSet<Name> {
    let discovery = Discovery::new(client.clone()).run().await.unwrap();
    let mut all = BTreeSet::new();
    for (resource, capabilities) in discovery.groups().flat_map(kube::discovery::ApiGroup::recommended_resources) {
        if !capabilities.supports_operation(verbs::LIST) || ["Event", "Lease"].contains(&resource.kind.as_str()) {
            continue;
        }
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
        for object in api.list(&ListParams::default()).await.unwrap() {
            let (namespace, name) = (object.metadata.namespace.unwrap_or_default(), object.metadata.name.unwrap());
            all.insert((format!("{}.{}", resource.kind, resource.group), namespace, name));
        }
    }
    all
}
