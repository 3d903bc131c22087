//! The Helm chart, by the real helm on a real API server: what it makes, refuses, leaves as it is, and takes away.

use std::path::{Path, PathBuf};
use std::process::Command;

use confroll::reload::workload_kind::WorkloadKind;
use confroll_stack::object::{JSON, MERGE_PATCH, send};
use confroll_stack::{ControlPlane, ControlPlaneOptions, Parts, User};
use serde_json::{Value, json};

use crate::fixtures::crd;
use crate::manifests::{Run, apply, documents, everything, named};
use crate::support::until;

/// From a common guide to the peer.
const GUIDE: &str = r#"
watchGlobally: true
ignoreNamespaces: "kube-system,kube-public"
ignoreConfigMaps: "kube-root-ca.crt"
ignoreSecrets: ""
syncPeriod: "60s"
logLevel: info
resources: { requests: { cpu: 10m, memory: 64Mi }, limits: { cpu: 100m, memory: 128Mi } }
replicaCount: 2
podDisruptionBudget: { enabled: true, minAvailable: 1 }
"#;
const NAMESPACED: &str = "{ watchGlobally: false, namespaces: [shop] }";
const EVERYTHING: &str = r#"
imagePullSecrets: [{ name: pull }]
replicas: 3
ignoreNamespaces: kube-system
namespaceSelector: "team in (shop, bank)"
resourceLabelSelector: "reload=yes"
ignoreJobs: true
ignoreCronJobs: "true"
ignoredWorkloadTypes: daemonsets
autoReloadAll: true
enableCSIIntegration: true
crossNamespace: true
kinds: apps.kruise.io/v1alpha1/CloneSet:clonesets=spec.template
reloadOnCreate: "true"
reloadOnDelete: true
reloadStrategy: env-vars
custom_annotations: { auto: shop.example/auto, pausePeriod: shop.example/pause }
alerts: { enabled: true, sink: slack, secretName: webhook, proxy: "http://proxy.example:3128", additionalInfo: prod }
sink: http://broker.example/
cluster: prod-eu1
link: "https://grafana.example/d/1?ns={namespace}"
kubernetesEvents: false
enableMetricsByNamespace: true
logFormat: json
digestKeySecret: key
podDisruptionBudget: { enabled: true, maxUnavailable: 1 }
serviceMonitor: { enabled: true, interval: 30s, labels: { a: b } }
podMonitor: { enabled: true }
networkPolicy: { enabled: true, from: [{ namespaceSelector: {} }], egress: [{ to: [] }] }
serviceAccount: { create: true, name: reloader, annotations: { a: b } }
rbac: { create: true, extraRules: [{ apiGroups: [apps.kruise.io], resources: [clonesets], verbs: [get, list, patch] }] }
podAnnotations: { a: b }
podLabels: { c: d }
annotations: { a: b }
labels: { a: b }
nodeSelector: { a: b }
tolerations: [{ key: a, operator: Exists }]
affinity: { nodeAffinity: {} }
topologySpreadConstraints: [{ maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway }]
priorityClassName: system-cluster-critical
extraEnv: [{ name: CONFROLL_SETTLE, value: 1s }]
"#;

fn chart() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/confroll")
}

/// Runs helm with values; what it says, or how it failed.
fn helm(arguments: &[&str], values: &str, kubeconfig: Option<&Path>) -> Result<String, String> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("values-{}-{:x}.yaml", std::process::id(), md5_of(values)));
    std::fs::write(&file, values).unwrap();
    let mut command = Command::new(Parts::build().unwrap().program("helm").unwrap());
    command.args(arguments).arg("--namespace").arg("confroll");
    if !["uninstall"].contains(&arguments[0]) {
        command.arg(chart()).arg("--values").arg(&file);
    }
    command.env("HELM_CACHE_HOME", folder).env("HELM_CONFIG_HOME", folder).env("HELM_DATA_HOME", folder);
    command.env("KUBECONFIG", kubeconfig.unwrap_or(Path::new("/nonexistent")));
    let done = command.output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    if done.status.success() { Ok(text(done.stdout)) } else { Err(text(done.stderr)) }
}

fn md5_of(text: &str) -> u128 {
    use md5::Digest as _;
    u128::from_be_bytes(md5::Md5::digest(text).into())
}

/// The objects that a release named `confroll` has.
pub(crate) fn rendered(values: &str) -> Vec<Value> {
    documents(&helm(&["template", "confroll"], values, None).unwrap())
}

fn environment(objects: &[Value]) -> Vec<(String, Value)> {
    let env = &named(objects, "Deployment", "confroll")["spec"]["template"]["spec"]["containers"][0]["env"];
    let value = |it: &Value| if it["value"].is_null() { it["valueFrom"].clone() } else { it["value"].clone() };
    env.as_array().unwrap().iter().map(|it| (it["name"].as_str().unwrap().to_owned(), value(it))).collect()
}

#[test]
fn values_of_a_common_guide_to_the_peer_render_as_they_are() {
    let objects = rendered(GUIDE);
    let expected = [
        ("CONFROLL_DIGEST_KEY_SECRET", "confroll-digest-key"),
        ("CONFROLL_IGNORE_NAMESPACES", "kube-system,kube-public"),
        ("CONFROLL_IGNORE_CONFIGMAPS", "kube-root-ca.crt"),
        ("CONFROLL_SYNC_PERIOD", "60s"),
        ("CONFROLL_LOG_LEVEL", "info"),
    ];
    assert_eq!(environment(&objects), expected.map(|(name, value)| (name.to_owned(), json!(value))));
    assert_eq!(named(&objects, "Deployment", "confroll")["spec"]["replicas"], 2);
    assert_eq!(named(&objects, "PodDisruptionBudget", "confroll")["spec"]["minAvailable"], 1);
}

#[test]
fn every_value_of_settings_becomes_a_variable_that_confroll_reads() {
    let objects = rendered(EVERYTHING);
    let env = environment(&objects);
    let mut started = Command::new(env!("CARGO_BIN_EXE_confroll"));
    started.arg("watch").env_clear().env("HOME", "/nonexistent");
    for (name, value) in &env {
        started.env(name, value.as_str().unwrap_or("https://hooks.slack.com/services/T/B/x"));
    }
    let text = String::from_utf8(started.output().unwrap().stderr).unwrap();
    assert!(text.lines().last().unwrap().contains("KUBECONFIG"), "all settings are read, up to the cluster: {text}");
    let names: Vec<&str> = env.iter().map(|(name, _)| name.as_str()).collect();
    assert!(names.len() > 25 && names.contains(&"CONFROLL_PAUSE_DEPLOYMENT_ANNOTATION"), "{names:?}");
    let ignored = env.iter().find(|(name, _)| name == "CONFROLL_IGNORED_WORKLOAD_TYPES").unwrap();
    assert_eq!(ignored.1, "jobs,cronjobs,daemonsets");
}

#[test]
fn what_means_nothing_is_refused_with_a_sentence_that_names_it() {
    let rows = [
        ("enableHA: true", "the value enableHA has no meaning to Confroll: replicas work side by side"),
        (
            "reloader: { watchGlobally: true }",
            "the value reloader has no meaning to Confroll: values are not nested here",
        ),
        ("webhookUrl: https://hunter2.example", "the value webhookUrl has no meaning to Confroll"),
        ("frobnicate: 1", "additional properties 'frobnicate' not allowed"),
        ("alerts: { enabled: true }", "the value alerts.secretName is not set"),
        ("alerts: { enabled: true, webhookUrl: x }", "additional properties 'webhookUrl' not allowed"),
        ("namespaces: [shop]", "the value namespaces needs watchGlobally: false"),
        ("{ watchGlobally: false, namespaceSelector: a=b }", "the value namespaceSelector needs watchGlobally: true"),
        ("reloadStrategy: often", "reloadStrategy"),
    ];
    for (values, expected) in rows {
        let text = helm(&["template", "confroll"], values, None).unwrap_err();
        assert!(text.contains(expected) && !text.contains("hunter2"), "{values}: {text}");
    }
}

#[test]
fn the_rights_are_those_of_the_function_and_to_watch() {
    let of_function = include_str!("../../knative/cluster-role.yaml");
    let of_function = documents(of_function).remove(0);
    let objects = rendered("enableCSIIntegration: true");
    let ours = &named(&objects, "ClusterRole", "confroll")["rules"];
    let rights = |rules: &Value| {
        let mut all = std::collections::BTreeSet::new();
        for rule in rules.as_array().unwrap() {
            for resource in rule["resources"].as_array().unwrap() {
                for verb in rule["verbs"].as_array().unwrap() {
                    let part = |value: &Value| value.as_str().unwrap().to_owned();
                    all.insert((part(&rule["apiGroups"][0]), part(resource), part(verb)));
                }
            }
        }
        all
    };
    let mut expected = rights(&of_function["rules"]);
    // A watch tells the class of a status; an event names the status alone.
    let statuses = ("secrets-store.csi.x-k8s.io", "secretproviderclasspodstatuses");
    assert!(expected.remove(&(statuses.0.to_owned(), statuses.1.to_owned(), "get".to_owned())));
    let watched = [("", "configmaps"), ("", "secrets"), statuses];
    expected.extend(watched.map(|(group, plural)| (group.to_owned(), plural.to_owned(), "watch".to_owned())));
    assert_eq!(rights(ours), expected);
    assert!(rendered(NAMESPACED).iter().all(|object| !object["kind"].as_str().unwrap().starts_with("ClusterRole")));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "asked for by `just manifest`")]
fn the_plain_manifest_is_what_the_chart_makes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/confroll.yaml");
    let head = "# Generated from charts/confroll (`just manifest`); a test compares them. Install: kubectl apply -f confroll.yaml\n";
    let namespace = "---\napiVersion: v1\nkind: Namespace\nmetadata:\n  name: confroll\n  labels:\n    pod-security.kubernetes.io/enforce: restricted\n";
    let expected = format!("{head}{namespace}{}", helm(&["template", "confroll"], "", None).unwrap());
    if std::env::var_os("CONFROLL_WRITE_MANIFEST").is_some() {
        std::fs::write(&path, &expected).unwrap();
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), expected, "run `just manifest`");
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_accepted_strictly_installed_upgraded_and_taken_away_without_a_trace() {
    let parts = Parts::build().unwrap();
    let control_plane = ControlPlane::start(&parts, ControlPlaneOptions::default()).await.unwrap();
    for row in ["ServiceMonitor:servicemonitors=spec", "PodMonitor:podmonitors=spec"] {
        let kind = WorkloadKind::read(&format!("monitoring.coreos.com/v1/{row}")).unwrap();
        control_plane.install_crds(&crd(kind).to_string()).await.unwrap();
    }
    let client = control_plane.client().await.unwrap();
    for name in ["confroll", "shop"] {
        send(&client, "POST", "/api/v1/namespaces", JSON, &json!({ "metadata": { "name": name } })).await.unwrap();
    }
    // The namespaces have their own objects a moment later.
    let settled = |namespace: &'static str| ("ServiceAccount.".to_owned(), namespace.to_owned(), "default".to_owned());
    until(|| async {
        let all = everything(&client).await;
        all.contains(&settled("confroll")) && all.contains(&settled("shop"))
    })
    .await;
    let before = everything(&client).await;
    for values in ["", GUIDE, NAMESPACED, EVERYTHING] {
        apply(&client, &rendered(values), Run::Dry).await;
    }
    let kubeconfig = control_plane.kubeconfig_for(User::Admin);
    let run = |arguments: &[&str], values: &str| helm(arguments, values, Some(&kubeconfig)).unwrap();
    run(&["install", "confroll"], GUIDE);
    let secret = "/api/v1/namespaces/confroll/secrets/confroll-digest-key";
    // As the first process does.
    let key = json!({ "data": { "digest-key": "a2V5" }, "immutable": true });
    send(&client, "PATCH", secret, MERGE_PATCH, &key).await.unwrap();
    for values in [NAMESPACED, GUIDE, "replicas: 1"] {
        run(&["upgrade", "confroll"], values);
    }
    let kept = send(&client, "GET", secret, JSON, &json!({})).await.unwrap();
    assert_eq!((&kept["data"], &kept["immutable"]), (&key["data"], &json!(true)), "an upgrade leaves the key");
    run(&["upgrade", "confroll"], EVERYTHING);
    run(&["uninstall", "confroll"], "");
    until(|| async { everything(&client).await == before }).await;
}
