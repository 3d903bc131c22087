//! A namespace on the real parts, with the function, its source and its sinks: what a user has.

use std::path::Path;
use std::time::Duration;

use confroll_stack::object::{JSON, MERGE_PATCH, send};
use confroll_stack::{
    ApiServerSource, Broker, BrokerDelivery, ControlPlane, ControlPlaneOptions, Eventing, Function, FunctionOptions,
    Parts, RecordingSink, SourceOptions, TemplateWatch, User, rights, rights_to_watch,
};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

/// How long something that should happen may take: generous, as nothing is measured here.
pub(crate) const SOON: Duration = Duration::from_mins(1);

/// The parts that all tests share; each has a namespace of its own.
pub(crate) struct Stack {
    pub(crate) parts: Parts,
    pub(crate) control_plane: ControlPlane,
    pub(crate) eventing: Eventing,
}

static STACK: OnceCell<Stack> = OnceCell::const_new();

pub(crate) async fn stack() -> &'static Stack {
    let start = || async {
        let parts = Parts::build().unwrap();
        let control_plane = ControlPlane::start(&parts, ControlPlaneOptions::default()).await.unwrap();
        let eventing = Eventing::start(&control_plane, &parts).await.unwrap();
        control_plane.allow(User::Confroll, &rights()).await.unwrap();
        control_plane.allow(User::Watcher, &rights_to_watch()).await.unwrap();
        Stack { parts, control_plane, eventing }
    };
    STACK.get_or_init(start).await
}

/// How changes reach the function.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// Source → function.
    Direct,
    /// Source → Broker → Trigger → function, and reload events back to the Broker.
    Broker,
}

/// A namespace with everything in it.
pub(crate) struct Shop {
    pub(crate) client: kube::Client,
    pub(crate) namespace: String,
    pub(crate) watch: TemplateWatch,
    pub(crate) functions: Vec<Function>,
    pub(crate) sink: RecordingSink,
    _broker: Option<Broker>,
    _source: Option<ApiServerSource>,
}

impl Shop {
    /// Opens a shop whose workloads and sources are there before anything watches.
    pub(crate) async fn open(route: Route, objects: &[(&str, Value)]) -> Self {
        let stack = stack().await;
        let Self { client, namespace, watch, sink, .. } = Self::unattended(objects).await;
        let (functions, broker, to) = match route {
            Route::Direct => {
                let functions = vec![function(stack, sink.url()).await];
                let to = functions[0].url().to_owned();
                (functions, None, to)
            }
            Route::Broker => {
                let broker =
                    stack.eventing.broker(&namespace, "default", BrokerDelivery::asynchronous()).await.unwrap();
                let functions = vec![function(stack, &broker.url()).await];
                let changes = json!([{ "prefix": { "type": "dev.knative.apiserver." } }]);
                broker.trigger("reload", changes, functions[0].url(), None).await.unwrap();
                let reloads = json!([{ "exact": { "type": "dev.confroll.workload.reloaded.v1" } }]);
                broker.trigger("told", reloads, sink.url(), None).await.unwrap();
                let to = broker.url();
                (functions, Some(broker), to)
            }
        };
        let options = SourceOptions::new(&to).in_namespace(&namespace);
        let source = ApiServerSource::start(&stack.control_plane, &stack.parts, &options).await.unwrap();
        Self { client, namespace, watch, functions, sink, _broker: broker, _source: Some(source) }
    }

    /// A shop in which nobody tells of changes, and nobody acts on them.
    pub(crate) async fn unattended(objects: &[(&str, Value)]) -> Self {
        let stack = stack().await;
        let client = stack.control_plane.client().await.unwrap();
        let namespace = stack.control_plane.create_namespace("shop").await.unwrap();
        for (key, object) in objects {
            create(&client, &namespace, key, object, "kubectl-create").await;
        }
        let watch = TemplateWatch::start(client.clone(), &namespace).await.unwrap();
        let sink = RecordingSink::start().await.unwrap();
        Self { client, namespace, watch, functions: Vec::new(), sink, _broker: None, _source: None }
    }

    pub(crate) async fn create(&self, key: &str, object: Value) {
        create(&self.client, &self.namespace, key, &object, "kubectl-create").await;
    }

    /// Creates an object under the name of a manager.
    pub(crate) async fn create_as(&self, key: &str, object: Value, manager: &str) {
        create(&self.client, &self.namespace, key, &object, manager).await;
    }

    /// Changes an object as `kubectl patch` does.
    pub(crate) async fn patch(&self, key: &str, patch: Value) {
        let path = path(&self.namespace, key);
        send(&self.client, "PATCH", &path, MERGE_PATCH, &patch).await.unwrap();
    }

    /// Applies an object as `kubectl apply --server-side` does.
    pub(crate) async fn apply(&self, key: &str, mut object: Value) {
        let (plural, name) = key.split_once('/').unwrap();
        let (api_version, kind) = api_of(plural);
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
        object["metadata"]["name"] = json!(name);
        let path = format!("{}?fieldManager=kubectl&force=true", path(&self.namespace, key));
        send(&self.client, "PATCH", &path, "application/apply-patch+yaml", &object).await.unwrap();
    }

    /// Writes a whole object under the name of a manager.
    pub(crate) async fn put(&self, key: &str, object: &Value, manager: &str) {
        let path = format!("{}?fieldManager={manager}", path(&self.namespace, key));
        send(&self.client, "PUT", &path, JSON, object).await.unwrap();
    }

    pub(crate) async fn get(&self, key: &str) -> Value {
        send(&self.client, "GET", &path(&self.namespace, key), JSON, &json!({})).await.unwrap()
    }

    pub(crate) async fn delete(&self, key: &str) {
        send(&self.client, "DELETE", &path(&self.namespace, key), JSON, &json!({})).await.unwrap();
    }

    /// How often a workload rolled out since the shop was opened.
    pub(crate) fn rollouts(&self, key: &str) -> usize {
        let (plural, name) = key.split_once('/').unwrap();
        self.watch.rollouts(api_of(plural).1, name).len()
    }

    /// Waits until a workload has rolled out so often.
    pub(crate) async fn rolled_out(&self, key: &str, times: usize) {
        let (plural, name) = key.split_once('/').unwrap();
        if let Err(error) = self.watch.wait_for(api_of(plural).1, name, times, SOON).await {
            panic!("{key}: {error:#}\n{}", self.functions.iter().map(Function::log).collect::<String>());
        }
    }
}

pub(crate) async fn function(stack: &Stack, sink: &str) -> Function {
    let kubeconfig = stack.control_plane.kubeconfig_for(User::Confroll);
    let env = [
        ("CONFROLL_DIGEST_KEY", "for testing"),
        ("CONFROLL_LOG_LEVEL", "trace"),
        ("RUST_LOG", "trace"),
        ("RUST_BACKTRACE", "full"),
    ];
    let env = env.map(|(name, value)| (name, value.to_owned())).to_vec();
    let options = FunctionOptions { kubeconfig, sink: Some(sink.to_owned()), env };
    Function::start(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await.unwrap()
}

/// `confroll watch` for one namespace of the shared parts.
pub(crate) async fn watcher(namespace: &str, env: &[(&'static str, &str)]) -> Function {
    let kubeconfig = stack().await.control_plane.kubeconfig_for(User::Watcher);
    let usual = [
        ("CONFROLL_NAMESPACES", namespace),
        ("CONFROLL_DIGEST_KEY", "for testing"),
        ("CONFROLL_LOG_LEVEL", "trace"),
        ("RUST_BACKTRACE", "full"),
    ];
    let env = usual.iter().chain(env).map(|(name, value)| (*name, (*value).to_owned())).collect();
    let options = FunctionOptions { kubeconfig, sink: None, env };
    Function::start_watch(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await.unwrap()
}

async fn create(client: &kube::Client, namespace: &str, key: &str, object: &Value, manager: &str) {
    let mut object = object.clone();
    object["metadata"]["name"] = json!(key.split_once('/').unwrap().1);
    let path = path(namespace, key);
    let path = format!("{}?fieldManager={manager}", path.rsplit_once('/').unwrap().0);
    send(client, "POST", &path, JSON, &object).await.unwrap();
}

fn api_of(plural: &str) -> (&'static str, &'static str) {
    match plural {
        "configmaps" => ("v1", "ConfigMap"),
        "secrets" => ("v1", "Secret"),
        "deployments" => ("apps/v1", "Deployment"),
        "statefulsets" => ("apps/v1", "StatefulSet"),
        "daemonsets" => ("apps/v1", "DaemonSet"),
        other => panic!("no such kind: {other}"),
    }
}

fn path(namespace: &str, key: &str) -> String {
    let root = match api_of(key.split_once('/').unwrap().0).0 {
        "v1" => "/api/v1".to_owned(),
        grouped => format!("/apis/{grouped}"),
    };
    format!("{root}/namespaces/{namespace}/{key}")
}

/// A workload that asks for everything it uses; `spec` is merged into its pod's.
pub(crate) fn workload(name: &str, spec: &Value) -> Value {
    let mut pod = json!({ "containers": [{ "name": "main", "image": "shop" }] });
    for (key, value) in spec.as_object().unwrap() {
        if key == "main" {
            value.as_object().unwrap().iter().for_each(|(key, value)| pod["containers"][0][key] = value.clone());
        } else {
            pod[key] = value.clone();
        }
    }
    json!({
        "metadata": { "annotations": { "reloader.stakater.com/auto": "true" } },
        "spec": {
            "selector": { "matchLabels": { "app": name } },
            "template": { "metadata": { "labels": { "app": name } }, "spec": pod },
        },
    })
}

/// A Deployment `marker` that uses a ConfigMap `marker`: once it has rolled out, everything before it was acted on.
pub(crate) fn with_marker<'a>(objects: impl IntoIterator<Item = (&'a str, Value)>) -> Vec<(&'a str, Value)> {
    let marker = [
        ("configmaps/marker", json!({ "metadata": {}, "data": { "a": "1" } })),
        (
            "deployments/marker",
            workload("marker", &json!({ "main": { "envFrom": [{ "configMapRef": { "name": "marker" } }] } })),
        ),
    ];
    objects.into_iter().chain(marker).collect()
}
