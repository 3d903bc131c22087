//! What the source of changes leaves out, as a real API server reads its selectors.

use confroll_stack::object::{JSON, send};
use confroll_stack::{ControlPlane, ControlPlaneOptions, Parts};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::{ApiResource, GroupVersionKind, Selector};
use serde_json::{Value, json};

use crate::manifests::{Overlay, named};

/// Labels of what changes all the time and concerns nobody, with what is not to be left out beside them.
const LABELS: [(&str, &str, &str); 12] = [
    ("ConfigMap", "plain", "app=shop"),
    ("ConfigMap", "opted-in", "confroll.dev/watch=true"),
    ("ConfigMap", "trust-bundle", "networking.knative.dev/trust-bundle=true"),
    ("ConfigMap", "event-transform", "eventing.knative.dev/event-transform-jsonata=true"),
    ("Secret", "plain", "app=shop"),
    ("Secret", "opted-in", "confroll.dev/watch=true"),
    ("Secret", "of-somebody", "owner=team-shop"),
    ("Secret", "oidc-token", "eventing.knative.dev/oidc=enabled"),
    ("Secret", "job-sink", "sinks.knative.dev/job-sink-id=0123"),
    ("Secret", "helm-release", "owner=helm"),
    ("Secret", "helm-release-opted-in", "owner=helm,confroll.dev/watch=true"),
    ("ConfigMap", "trust-bundle-opted-in", "networking.knative.dev/trust-bundle=true,confroll.dev/watch=true"),
];

/// The names that a source watches in a namespace, each with its kind.
async fn watched(client: &kube::Client, namespace: &str, source: &Value) -> Vec<String> {
    let mut names = Vec::new();
    for resource in source["spec"]["resources"].as_array().unwrap() {
        let kind = resource["kind"].as_str().unwrap();
        let selector: LabelSelector = serde_json::from_value(resource["selector"].clone()).unwrap();
        let selector = Selector::try_from(selector).unwrap();
        let kind_of_api = ApiResource::from_gvk(&GroupVersionKind::gvk("", "v1", kind));
        let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind_of_api);
        let found = api.list(&ListParams::default().labels_from(&selector)).await.unwrap();
        names.extend(found.into_iter().map(|object| format!("{kind} {}", object.metadata.name.unwrap())));
    }
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn the_source_watches_everything_but_what_knative_and_helm_write_all_the_time() {
    let parts = Parts::build().unwrap();
    let options = ControlPlaneOptions { controllers: false, ..ControlPlaneOptions::default() };
    let control_plane = ControlPlane::start(&parts, options).await.unwrap();
    let client = control_plane.client().await.unwrap();
    let namespace = control_plane.create_namespace("noise").await.unwrap();
    for (kind, name, labels) in LABELS {
        let labels: serde_json::Map<_, _> = labels
            .split(',')
            .map(|label| label.split_once('=').unwrap())
            .map(|(key, value)| (key.to_owned(), json!(value)))
            .collect();
        let path = format!("/api/v1/namespaces/{namespace}/{}s", kind.to_lowercase());
        let object = json!({ "metadata": { "name": name, "labels": labels } });
        send(&client, "POST", &path, JSON, &object).await.unwrap();
    }
    let source = |components: &[&str]| {
        let objects = Overlay::new(&format!("noise-{}", components.len()), "eventing", components).build();
        named(&objects, "ApiServerSource", "confroll").clone()
    };
    let all = ["ConfigMap opted-in", "ConfigMap plain", "Secret of-somebody", "Secret opted-in", "Secret plain"];
    assert_eq!(watched(&client, &namespace, &source(&[])).await, all);
    let opted_in = ["ConfigMap opted-in", "Secret opted-in"];
    assert_eq!(watched(&client, &namespace, &source(&["opt-in-label"])).await, opted_in);
}

#[test]
fn oidc_and_namespaced_go_together_in_either_order() {
    for (name, components) in [("oidc-first", ["oidc", "namespaced"]), ("oidc-last", ["namespaced", "oidc"])] {
        let objects = Overlay::new(name, "eventing", &components).build();
        let in_the_whole_cluster = objects.iter().filter(|object| object["kind"] == "ClusterRole");
        let names: Vec<_> = in_the_whole_cluster.map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["confroll-token-reviews"], "{name}");
    }
}
