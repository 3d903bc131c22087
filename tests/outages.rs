//! Everything that stands between a change and its rollout fails, one after the other: nothing is lost, as the next
//! sweep finds it, and nothing is done twice.
//!
//! A program of its own: it kills what the other tests share.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says where")]

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use confroll_stack::object::{JSON, MERGE_PATCH, send};
use confroll_stack::{
    ApiServerSource, Broker, BrokerDelivery, ControlPlane, ControlPlaneOptions, Eventing, Function, FunctionOptions,
    Parts, SourceOptions, TemplateWatch, User, rights,
};
use serde_json::{Value, json};

const SOON: Duration = Duration::from_mins(1);
const NAMESPACE: &str = "shop";

/// A namespace with a workload, and everything on the way to it.
struct Field {
    parts: Parts,
    control_plane: ControlPlane,
    eventing: Eventing,
    broker: Broker,
    source: ApiServerSource,
    function: Function,
    /// Where the function listens, each time that it runs.
    port: String,
    watch: TemplateWatch,
    edits: usize,
}

impl Field {
    async fn start() -> Self {
        let parts = Parts::build().unwrap();
        let options = ControlPlaneOptions { controllers: false, ..ControlPlaneOptions::default() };
        let control_plane = ControlPlane::start(&parts, options).await.unwrap();
        control_plane.allow(User::Confroll, &rights()).await.unwrap();
        let eventing = Eventing::start(&control_plane, &parts).await.unwrap();
        let client = control_plane.client().await.unwrap();
        let objects = [
            ("/api/v1/namespaces".to_owned(), json!({ "metadata": { "name": NAMESPACE } })),
            (config_maps(), json!({ "metadata": { "name": "app" }, "data": { "a": "0" } })),
            (format!("/apis/apps/v1/namespaces/{NAMESPACE}/deployments"), workload()),
        ];
        for (path, object) in objects {
            send(&client, "POST", &path, JSON, &object).await.unwrap();
        }
        let watch = TemplateWatch::start(client, NAMESPACE).await.unwrap();
        let broker = eventing.broker(NAMESPACE, "default", BrokerDelivery::asynchronous()).await.unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
        let function = function(&control_plane, &port).await;
        broker.trigger("confroll", json!([]), function.url(), None).await.unwrap();
        let options = SourceOptions::new(&broker.url()).in_namespace(NAMESPACE);
        let source = ApiServerSource::start(&control_plane, &parts, &options).await.unwrap();
        Self { parts, control_plane, eventing, broker, source, function, port, watch, edits: 0 }
    }

    /// Changes the ConfigMap.
    async fn edit(&mut self) {
        self.edits += 1;
        let client = self.control_plane.client().await.unwrap();
        let patch = json!({ "data": { "a": self.edits.to_string() } });
        send(&client, "PATCH", &format!("{}/app", config_maps()), MERGE_PATCH, &patch).await.unwrap();
    }

    /// A sweep, straight to the function; then every edit has rolled out, and once.
    async fn sweep(&self) {
        let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
        let ping = http.post(self.function.url()).header("ce-specversion", "1.0").header("ce-source", "/outages");
        let ping = ping.header("ce-id", self.edits.to_string()).header("ce-type", "dev.knative.sources.ping");
        let status = ping.send().await.unwrap().status();
        assert_eq!(status, 202, "{}", self.function.log());
        self.rolled_out("after a sweep").await;
    }

    async fn rolled_out(&self, when: &str) {
        self.watch.wait_for("Deployment", "api", self.edits, SOON).await.unwrap();
        assert_eq!(self.watch.rollouts("Deployment", "api").len(), self.edits, "{when}");
    }
}

async fn function(control_plane: &ControlPlane, port: &str) -> Function {
    let env = vec![
        ("CONFROLL_DIGEST_KEY", "for testing".to_owned()),
        ("CONFROLL_LOG_LEVEL", "debug".to_owned()),
        ("PORT", port.to_owned()),
    ];
    let options = FunctionOptions { kubeconfig: control_plane.kubeconfig_for(User::Confroll), sink: None, env };
    Function::start(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await.unwrap()
}

fn config_maps() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/configmaps")
}

fn workload() -> Value {
    let env_from = json!([{ "configMapRef": { "name": "app" } }]);
    json!({
        "metadata": { "name": "api", "annotations": { "reloader.stakater.com/auto": "true" } },
        "spec": {
            "selector": { "matchLabels": { "app": "api" } },
            "template": {
                "metadata": { "labels": { "app": "api" } },
                "spec": { "containers": [{ "name": "main", "image": "shop", "envFrom": env_from }] },
            },
        },
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_was_down_each_change_rolls_out_once_after_the_next_sweep() {
    let mut field = Field::start().await;
    field.sweep().await;

    // All is well: the event alone does it.
    field.edit().await;
    field.rolled_out("with everything up").await;

    // The adapter was down: it tells nothing of what changed meanwhile.
    field.source.adapter().kill();
    field.edit().await;
    field.source.restart().unwrap();
    field.sweep().await;

    // The function was down, with the event in the Broker, which tries again.
    field.function.kill();
    field.edit().await;
    field.function = function(&field.control_plane, &field.port).await;
    field.sweep().await;

    // The dispatcher was killed with the event inside.
    field.function.kill();
    field.edit().await;
    field.eventing.restart_dispatcher().await.unwrap();
    field.function = function(&field.control_plane, &field.port).await;
    field.sweep().await;

    // The API server was away, and the adapter has to watch anew.
    field.control_plane.restart_apiserver().await.unwrap();
    field.edit().await;
    field.sweep().await;

    // A new adapter is what a fresh start of everything would be; what it tells comes behind all that was told before.
    let options = SourceOptions::new(&field.broker.url()).in_namespace(NAMESPACE);
    field.source = ApiServerSource::start(&field.control_plane, &field.parts, &options).await.unwrap();
    field.edit().await;
    field.rolled_out("with everything up again").await;
}
