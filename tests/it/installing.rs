//! Installing on Knative: what `kubectl apply -k` makes, on a real API server with the real CRDs, and takes away again.

use std::collections::BTreeSet;
use std::path::Path;

use confroll_stack::object::{JSON, send};
use confroll_stack::{ControlPlane, ControlPlaneOptions, Parts};
use serde_json::{Value, json};

use crate::manifests::{Overlay, Run, apply, delete, documents, everything, named};
use crate::support::until;

const CRDS: [(&str, &str); 8] = [
    ("eventing", "apiserversource.yaml"),
    ("eventing", "broker.yaml"),
    ("eventing", "eventtype.yaml"),
    ("eventing", "pingsource.yaml"),
    ("eventing", "sinkbindings.yaml"),
    ("eventing", "trigger.yaml"),
    ("eventing", "subscription.yaml"),
    ("serving", "service.yaml"),
];
/// Everything that can be installed: a base, and the components on top.
const VARIANTS: [(&str, &str, &[&str]); 13] = [
    ("function", "knative", &[]),
    ("all", "eventing", &[]),
    ("kafka", "eventing", &["kafka"]),
    ("namespaced", "eventing", &["namespaced"]),
    ("opt-in-label", "eventing", &["opt-in-label"]),
    ("oidc", "eventing", &["oidc"]),
    ("csi", "eventing", &["csi"]),
    ("both", "eventing", &["namespaced", "opt-in-label", "kafka"]),
    ("slack", "eventing/sinks/slack", &[]),
    ("google-chat", "eventing/sinks/google-chat", &[]),
    ("teams", "eventing/sinks/teams", &[]),
    ("webhook", "eventing/sinks/webhook", &[]),
    ("routing", "eventing/sinks/routing-example", &[]),
];

async fn namespace(client: &kube::Client, name: &str) {
    let object = json!({ "metadata": { "name": name } });
    send(client, "POST", "/api/v1/namespaces", JSON, &object).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn every_variant_is_accepted_strictly_and_all_of_it_is_applied_again_without_a_change_and_leaves_nothing() {
    let parts = Parts::build().unwrap();
    let control_plane = ControlPlane::start(&parts, ControlPlaneOptions::default()).await.unwrap();
    for (group, file) in CRDS {
        control_plane.install_crds(&parts.manifest(group, file).unwrap()).await.unwrap();
    }
    let client = control_plane.client().await.unwrap();
    namespace(&client, "shop").await;
    let before = everything(&client).await;
    namespace(&client, "confroll").await;
    for (name, base, components) in VARIANTS {
        let objects = Overlay::new(name, base, components).build();
        assert!(!objects.is_empty(), "{name}");
        apply(&client, &objects, Run::Dry).await;
    }
    let sinks = ["slack", "google-chat", "teams", "webhook"].map(|kind| format!("eventing/sinks/{kind}"));
    let bases =
        ["eventing"].into_iter().chain(sinks.iter().map(String::as_str)).chain(["eventing/sinks/routing-example"]);
    let installed: Vec<Value> = bases.flat_map(|base| Overlay::new("whole", base, &[]).build()).collect();
    let first = apply(&client, &installed, Run::Real).await;
    let second = apply(&client, &installed, Run::Real).await;
    for (object, (first, second)) in installed.iter().zip(first.iter().zip(&second)) {
        // An EventType is stored in an older version; without Knative's webhook each apply finds it to be another.
        if object["kind"] != "EventType" {
            assert_eq!(first, second, "a second apply changes nothing: {object}");
        }
    }
    delete(&client, &installed).await;
    until(|| async { everything(&client).await == before }).await;
}

#[test]
fn namespaced_needs_no_right_in_the_whole_cluster() {
    let objects = Overlay::new("no-cluster-role", "eventing", &["namespaced"]).build();
    let kinds: BTreeSet<_> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    assert!(kinds.contains("Role") && kinds.contains("RoleBinding"));
    assert!(!kinds.iter().any(|kind| kind.starts_with("ClusterRole")), "{kinds:?}");
    let source = named(&objects, "ApiServerSource", "confroll");
    assert_eq!(
        source["spec"]["namespaceSelector"],
        json!({ "matchLabels": { "kubernetes.io/metadata.name": "shop" } })
    );
}

/// The keys that a field of func.yaml may have: specVersion 0.36.0.
fn may_have(path: &str) -> Option<&'static [&'static str]> {
    Some(match path {
        "" => &[
            "specVersion",
            "created",
            "name",
            "domain",
            "runtime",
            "registry",
            "registryInsecure",
            "image",
            "namespace",
            "deployer",
            "invoke",
            "build",
            "run",
            "deploy",
        ],
        "build" => &[
            "git",
            "builderImages",
            "buildpacks",
            "builder",
            "buildEnvs",
            "pvcSize",
            "remoteStorageClass",
            "baseImage",
            "volumes",
        ],
        "run" => &["volumes", "envs", "startTimeout", "kafka"],
        "deploy" => &[
            "namespace",
            "image",
            "annotations",
            "options",
            "labels",
            "healthEndpoints",
            "serviceAccountName",
            "imagePullSecret",
            "deployer",
            "subscriptions",
            "managementDisabled",
        ],
        "deploy/options" => &["scale", "resources"],
        "deploy/options/scale" => &["min", "max", "metric", "target", "utilization"],
        "deploy/options/resources" => &["requests", "limits"],
        "deploy/options/resources/requests" => &["cpu", "memory"],
        "deploy/options/resources/limits" => &["cpu", "memory", "concurrency"],
        "deploy/healthEndpoints" => &["liveness", "readiness"],
        _ => return None,
    })
}

fn check_keys(value: &Value, path: &str) {
    for (key, inner) in value.as_object().into_iter().flatten() {
        let allowed = may_have(path).unwrap_or_else(|| panic!("{path} has fields"));
        assert!(allowed.contains(&key.as_str()), "{path}/{key}");
        check_keys(inner, format!("{path}/{key}").trim_start_matches('/'));
    }
}

#[test]
fn func_yaml_keeps_its_rules_and_says_what_the_manifest_says() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let func = documents(&std::fs::read_to_string(folder.join("func.yaml")).unwrap()).remove(0);
    check_keys(&func, "");
    assert_eq!(func["specVersion"], "0.36.0");
    assert!(!func["created"].as_str().unwrap().starts_with("0001"), "else it counts as not initialised");
    for list in [&func["run"]["envs"], &func["build"]["buildEnvs"]] {
        let keys = |entry: &Value| entry.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
        assert!(list.as_array().unwrap().iter().all(|it| keys(it) == ["name".to_owned(), "value".to_owned()].into()));
    }
    let objects = Overlay::new("func", "knative", &[]).build();
    let service = named(&objects, "Service", "confroll");
    let (template, deploy) = (&service["spec"]["template"], &func["deploy"]);
    let container = &template["spec"]["containers"][0];
    let scale = |key: &str| template["metadata"]["annotations"][format!("autoscaling.knative.dev/{key}")].clone();
    let label = &deploy["labels"][0];
    let pairs = [
        (&func["name"], service["metadata"]["name"].clone()),
        (&func["namespace"], service["metadata"]["namespace"].clone()),
        (&deploy["namespace"], service["metadata"]["namespace"].clone()),
        (&deploy["serviceAccountName"], template["spec"]["serviceAccountName"].clone()),
        (&label["value"], service["metadata"]["labels"][label["key"].as_str().unwrap()].clone()),
        (&func["run"]["envs"], container["env"].clone()),
        (&deploy["options"]["resources"], container["resources"].clone()),
        (&deploy["healthEndpoints"]["liveness"], container["livenessProbe"]["httpGet"]["path"].clone()),
        (&deploy["healthEndpoints"]["readiness"], container["readinessProbe"]["httpGet"]["path"].clone()),
    ];
    for (func, manifest) in pairs {
        assert_eq!(*func, manifest);
    }
    for (func, manifest) in [("min", "min-scale"), ("max", "max-scale"), ("target", "target")] {
        assert_eq!(deploy["options"]["scale"][func].to_string(), scale(manifest).as_str().unwrap(), "{func}");
    }
}
