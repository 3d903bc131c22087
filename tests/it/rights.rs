//! The function under exactly the ServiceAccount and the rights that its manifests make: a rollout of each kind works, and
//! without any one of the rights something is missing, which the log names.

use std::path::Path;

use confroll::reload::workload_kind::{Presence, WORKLOAD_KINDS, WorkloadKind};
use confroll_stack::object::{JSON, MERGE_PATCH, send};
use confroll_stack::{Function, FunctionOptions, RecordingSink};
use serde_json::{Value, json};

use crate::fixtures::workload;
use crate::kind_plane::Plane;
use crate::manifests::{Overlay, Run, apply, named};
use crate::sink::http;
use crate::support::{ChangeEvent, told};

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/confroll";

/// The manifests' objects of one variant, with a process in place of the Service's pod.
struct Installed {
    plane: Plane,
    sink: RecordingSink,
    function: Function,
    round: usize,
    /// How much of the log was read.
    read: usize,
}

/// What the manifests say the container's environment is.
fn environment(objects: &[Value]) -> Vec<(&'static str, String)> {
    let container = &named(objects, "Service", "confroll")["spec"]["template"]["spec"]["containers"][0];
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let env = container["env"].as_array().unwrap().iter().map(|it| (text(&it["name"]), text(&it["value"])));
    // Names in a test live as long as it.
    env.map(|(name, value)| (&*name.leak(), value)).collect()
}

impl Installed {
    async fn new(components: &[&str]) -> Self {
        let plane = Plane::without_rights().await;
        let name = format!("rights-{}", components.join("-"));
        let objects = Overlay::new(&name, "eventing", components).build();
        for namespace in ["confroll", "shop"] {
            let object = json!({ "metadata": { "name": namespace } });
            send(&plane.client, "POST", "/api/v1/namespaces", JSON, &object).await.unwrap();
        }
        let kinds = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
        let rights: Vec<Value> =
            objects.iter().filter(|it| kinds.contains(&it["kind"].as_str().unwrap())).cloned().collect();
        apply(&plane.client, &rights, Run::Real).await;
        let sink = RecordingSink::start().await.unwrap();
        let mut env = environment(&objects);
        // A pod knows its namespace.
        let secret = env.iter_mut().find(|(name, _)| *name == "CONFROLL_DIGEST_KEY_SECRET").unwrap();
        secret.1 = format!("confroll/{}", secret.1);
        env.extend([("CONFROLL_LOG_LEVEL", "debug".to_owned()), ("CONFROLL_SETTLE", "1ms".to_owned())]);
        let kubeconfig = plane.kubeconfig_of_account("confroll", "confroll").await;
        let options = FunctionOptions { kubeconfig, sink: Some(sink.url().to_owned()), env };
        let function = Function::start(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await.unwrap();
        Self { plane, sink, function, round: 0, read: 0 }
    }

    /// Two workloads of each kind in the namespace, one that uses a ConfigMap and a Secret, and one that asks for a delay.
    async fn fill(&self) {
        for source_kind in ["ConfigMap", "Secret"] {
            self.plane.source("shop", source_kind, "app", "0").await;
        }
        let env_from = json!([{ "configMapRef": { "name": "app" } }, { "secretRef": { "name": "app" } }]);
        let pod = json!({ "containers": [{ "name": "main", "image": "shop", "envFrom": env_from }] });
        for kind in &WORKLOAD_KINDS {
            self.plane.create(kind, "shop", &workload(kind, "plain", &pod)).await;
            let mut delayed = workload(kind, "delayed", &pod);
            delayed["metadata"]["annotations"]["reloader.stakater.com/reload-delay"] = json!("1ms");
            self.plane.create(kind, "shop", &delayed).await;
        }
    }

    /// Edits both sources, tells of it, and asks for a sweep; what was logged since the last time.
    async fn change(&mut self) -> String {
        self.round += 1;
        for source_kind in ["ConfigMap", "Secret"] {
            self.plane.source("shop", source_kind, "app", &self.round.to_string()).await;
        }
        let mut events = Vec::new();
        for source_kind in ["ConfigMap", "Secret"] {
            let mut event = ChangeEvent::update(source_kind, "app");
            event.id = format!("{source_kind} {}", self.round);
            event.data["namespace"] = json!("shop");
            events.push(event);
        }
        events.push(ChangeEvent::ping(&format!("sweep {}", self.round)));
        for event in events {
            event.request(&http(), self.function.url()).send().await.unwrap();
        }
        let log = self.function.log();
        let new = log[self.read..].to_owned();
        self.read = log.len();
        new
    }

    async fn set_rules(&self, rules: &[Value]) {
        send(&self.plane.client, "PATCH", ROLES, MERGE_PATCH, &json!({ "rules": rules })).await.unwrap();
    }
}

/// The kinds that a cluster has to have no CRD for.
fn built_in() -> impl Iterator<Item = &'static WorkloadKind> {
    WORKLOAD_KINDS.iter().filter(|kind| kind.presence == Presence::Always)
}

/// Rules without one verb on one resource.
fn without(rules: &[Value], group: &str, resource: &str, verb: &str) -> Vec<Value> {
    let mut left = Vec::new();
    for rule in rules {
        let resources = rule["resources"].as_array().unwrap();
        if rule["apiGroups"][0] != group || !resources.contains(&json!(resource)) {
            left.push(rule.clone());
            continue;
        }
        let others: Vec<_> = resources.iter().filter(|it| **it != resource).cloned().collect();
        let verbs: Vec<_> = rule["verbs"].as_array().unwrap().iter().filter(|it| **it != verb).cloned().collect();
        let part = |resources: &[Value], verbs: &Value| json!({ "apiGroups": rule["apiGroups"], "resources": resources, "verbs": verbs });
        if !others.is_empty() {
            left.push(part(&others, &rule["verbs"]));
        }
        if !verbs.is_empty() {
            left.push(part(&[json!(resource)], &json!(verbs)));
        }
    }
    left
}

#[tokio::test(flavor = "multi_thread")]
async fn under_the_rights_of_the_manifests_each_kind_rolls_out_and_without_any_of_them_the_log_names_it() {
    let mut installed = Installed::new(&[]).await;
    installed.fill().await;
    let log = installed.change().await;
    assert!(!log.contains("a right is missing"), "{log}");
    let told = told(&installed.sink);
    for kind in &WORKLOAD_KINDS {
        assert!(told.iter().any(|event| event.data["workload"]["kind"] == kind.kind), "{kind}: {log}");
    }
    assert!(built_in().count() > 3);
    let role = send(&installed.plane.client, "GET", ROLES, JSON, &json!({})).await.unwrap();
    let rules = role["rules"].as_array().unwrap().clone();
    for rule in &rules {
        // rotating.rs and secrets_store.rs are about these.
        let group = rule["apiGroups"][0].as_str().unwrap();
        if group == "secrets-store.csi.x-k8s.io" {
            continue;
        }
        for resource in rule["resources"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()) {
            for verb in rule["verbs"].as_array().unwrap().iter().map(|it| it.as_str().unwrap()) {
                installed.set_rules(&without(&rules, group, resource, verb)).await;
                let named = if resource == "events" { "events.events.k8s.io" } else { resource };
                let sentence = format!("allow the verb {verb:?} on {named:?}");
                let mut log = String::new();
                // The API server learns of it a moment later.
                for _ in 0..20 {
                    log = installed.change().await;
                    if log.contains(&sentence) {
                        break;
                    }
                }
                assert!(log.contains(&sentence), "{sentence}\n{log}");
            }
        }
    }
    installed.set_rules(&rules).await;
    for _ in 0..20 {
        if !installed.change().await.contains("a right is missing") {
            return;
        }
    }
    panic!("with all rights again, one is missing: {}", installed.function.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn namespaced_it_works_by_roles_alone() {
    let mut installed = Installed::new(&["namespaced"]).await;
    installed.fill().await;
    let log = installed.change().await;
    assert!(!log.contains("a right is missing"), "{log}");
    let told = told(&installed.sink);
    for kind in &WORKLOAD_KINDS {
        assert!(told.iter().any(|event| event.data["workload"]["kind"] == kind.kind), "{kind}: {log}");
    }
}
