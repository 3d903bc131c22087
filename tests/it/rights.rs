//! The function and `confroll watch` under exactly the ServiceAccount and the rights that their manifests make: a rollout of
//! each kind works, and without any one of the rights something is missing, which the log names.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use confroll::reload::workload_kind::WORKLOAD_KINDS;
use confroll_stack::object::{JSON, MERGE_PATCH, send};
use confroll_stack::{Function, FunctionOptions, RecordingSink};
use serde_json::{Value, json};

use crate::charting::rendered;
use crate::fixtures::workload;
use crate::kind_plane::Plane;
use crate::manifests::{Overlay, Run, apply, named};
use crate::sink::http;
use crate::support::{ChangeEvent, told, until};

const ROLES: &str = "/apis/rbac.authorization.k8s.io/v1/clusterroles/confroll";

/// What runs, by which manifests.
#[derive(Clone, Copy)]
enum Way {
    /// The function, by kustomize, with these components.
    Serve(&'static [&'static str]),
    /// `confroll watch`, by Helm, with these values.
    Watch(&'static str),
}

/// The manifests' objects of one variant, with a process in place of the pod.
struct Installed {
    way: Way,
    plane: Plane,
    sink: RecordingSink,
    options: FunctionOptions,
    process: Function,
    round: usize,
}

impl Way {
    fn objects(self) -> Vec<Value> {
        match self {
            Self::Serve(components) => {
                Overlay::new(&format!("rights-{}", components.join("-")), "eventing", components).build()
            }
            Self::Watch(values) => rendered(values),
        }
    }

    /// What the manifests say the container's environment is.
    fn environment(self, objects: &[Value]) -> Vec<(&'static str, String)> {
        let kind = if matches!(self, Self::Watch(_)) { "Deployment" } else { "Service" };
        let container = &named(objects, kind, "confroll")["spec"]["template"]["spec"]["containers"][0];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let env = container["env"].as_array().unwrap().iter().map(|it| (text(&it["name"]), text(&it["value"])));
        // Names in a test live as long as it.
        env.map(|(name, value)| (&*name.leak(), value)).collect()
    }

    async fn start(self, options: &FunctionOptions) -> Function {
        let program = Path::new(env!("CARGO_BIN_EXE_confroll"));
        match self {
            Self::Serve(_) => Function::start(program, options.clone()).await.unwrap(),
            Self::Watch(_) => Function::start_watch(program, options.clone()).await.unwrap(),
        }
    }
}

impl Installed {
    async fn new(way: Way) -> Self {
        let plane = Plane::without_rights().await;
        let objects = way.objects();
        for namespace in ["confroll", "shop"] {
            let object = json!({ "metadata": { "name": namespace } });
            send(&plane.client, "POST", "/api/v1/namespaces", JSON, &object).await.unwrap();
        }
        let kinds = ["ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "Secret"];
        let rights: Vec<Value> =
            objects.iter().filter(|it| kinds.contains(&it["kind"].as_str().unwrap())).cloned().collect();
        apply(&plane.client, &rights, Run::Real).await;
        let sink = RecordingSink::start().await.unwrap();
        let mut env = way.environment(&objects);
        // A pod knows its namespace.
        let secret = env.iter_mut().find(|(name, _)| *name == "CONFROLL_DIGEST_KEY_SECRET").unwrap();
        secret.1 = format!("confroll/{}", secret.1);
        env.extend([("CONFROLL_LOG_LEVEL", "debug".to_owned()), ("CONFROLL_SETTLE", "1ms".to_owned())]);
        let kubeconfig = plane.kubeconfig_of_account("confroll", "confroll").await;
        let options = FunctionOptions { kubeconfig, sink: Some(sink.url().to_owned()), env };
        let process = way.start(&options).await;
        Self { way, plane, sink, options, process, round: 0 }
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

    /// Edits both sources; the function is told of it, and asked for a sweep.
    async fn change(&mut self) {
        self.round += 1;
        for source_kind in ["ConfigMap", "Secret"] {
            self.plane.source("shop", source_kind, "app", &self.round.to_string()).await;
        }
        if let Way::Watch(_) = self.way {
            return;
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
            event.request(&http(), self.process.url()).send().await.unwrap();
        }
    }

    /// Edits until the log of a new process says this. The API server learns of other rights a moment later.
    async fn says(&mut self, sentence: &str) {
        self.process = self.way.start(&self.options).await;
        for _ in 0..150 {
            self.change().await;
            if self.process.log().contains(sentence) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("{sentence}\n{}", self.process.log());
    }

    /// Each kind rolls out, and no right is missing.
    async fn works(&mut self) {
        self.fill().await;
        let kinds = |sink: &RecordingSink| -> BTreeSet<String> {
            told(sink).iter().map(|event| event.data["workload"]["kind"].as_str().unwrap().to_owned()).collect()
        };
        self.change().await;
        until(|| async { kinds(&self.sink).len() == WORKLOAD_KINDS.len() }).await;
        assert!(!self.process.log().contains("a right is missing"), "{}", self.process.log());
    }

    async fn set_rules(&self, rules: &[Value]) {
        send(&self.plane.client, "PATCH", ROLES, MERGE_PATCH, &json!({ "rules": rules })).await.unwrap();
    }
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

async fn each_right_is_needed_and_named(way: Way) {
    let mut installed = Installed::new(way).await;
    installed.works().await;
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
                installed.says(&format!("allow the verb {verb:?} on {named:?}")).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_right_of_the_function_is_needed_and_named_where_it_is_missing() {
    each_right_is_needed_and_named(Way::Serve(&[])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn each_right_of_confroll_watch_is_needed_and_named_where_it_is_missing() {
    each_right_is_needed_and_named(Way::Watch("")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_one_namespace_both_work_by_roles_alone() {
    Installed::new(Way::Serve(&["namespaced"])).await.works().await;
    Installed::new(Way::Watch("{ watchGlobally: false, namespaces: [shop] }")).await.works().await;
}
