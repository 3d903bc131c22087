//! The shop: a few workloads, what they use, and everything that watches them.

use std::path::Path;

use anyhow::Result;
use confroll_stack::object::{JSON, MERGE_PATCH, send};
use confroll_stack::{
    ApiServerSource, Broker, BrokerDelivery, ControlPlane, ControlPlaneOptions, Eventing, Function, FunctionOptions,
    Parts, RecordingSink, SourceOptions, TemplateWatch, User, rights,
};
use serde_json::{Value, json};

use crate::chats::Chats;

/// What there is, for the reader of the timeline.
pub(crate) const LAYOUT: &str = "
  ConfigMap greeting    used by  Deployment web, DaemonSet agent, Deployment frozen
  Secret db-password    used by  Deployment web, StatefulSet db
  All but Deployment frozen carry reloader.stakater.com/auto: \"true\".
  Deployment web uses two sources: it waits a moment for changes of the other.";

/// Everything that runs. It ends with its value.
pub(crate) struct Shop {
    client: kube::Client,
    namespace: String,
    kubeconfig: String,
    pub(crate) watch: TemplateWatch,
    pub(crate) function: Function,
    /// Gets every change that the source tells the Broker.
    pub(crate) changes: RecordingSink,
    /// Gets every reload event.
    pub(crate) reloads: RecordingSink,
    /// Are told every reload event.
    pub(crate) chats: Chats,
    _source: ApiServerSource,
    _broker: Broker,
    _eventing: Eventing,
    _control_plane: ControlPlane,
}

impl Shop {
    pub(crate) async fn open(program: &Path) -> Result<Self> {
        let parts = Parts::build()?;
        let control_plane = ControlPlane::start(&parts, ControlPlaneOptions::default()).await?;
        let eventing = Eventing::start(&control_plane, &parts).await?;
        let client = control_plane.client().await?;
        control_plane.allow(User::Confroll, &rights()).await?;
        let namespace = control_plane.create_namespace("shop").await?;
        for (path, object) in objects(&namespace) {
            send(&client, "POST", &path, JSON, &object).await?;
        }
        let watch = TemplateWatch::start(client.clone(), &namespace).await?;
        let (changes, reloads) = (RecordingSink::start().await?, RecordingSink::start().await?);
        let broker = eventing.broker(&namespace, "default", BrokerDelivery::asynchronous()).await?;
        let options = FunctionOptions {
            kubeconfig: control_plane.kubeconfig_for(User::Confroll),
            sink: Some(broker.url()),
            env: vec![("CONFROLL_DIGEST_KEY", "of a demo".to_owned()), ("CONFROLL_CLUSTER", "demo".to_owned())],
        };
        let function = Function::start(program, options).await?;
        let of_source = json!([{ "prefix": { "type": "dev.knative.apiserver." } }]);
        let of_confroll = json!([{ "prefix": { "type": "dev.confroll.workload." } }]);
        broker.trigger("confroll", of_source.clone(), function.url(), None).await?;
        broker.trigger("changes", of_source, changes.url(), None).await?;
        broker.trigger("reloads", of_confroll, reloads.url(), None).await?;
        let chats = Chats::open(program, &broker).await?;
        let options = SourceOptions::new(&broker.url()).in_namespace(&namespace);
        let source = ApiServerSource::start(&control_plane, &parts, &options).await?;
        let kubeconfig = control_plane.kubeconfig_for(User::Admin).display().to_string();
        Ok(Self {
            client,
            namespace,
            kubeconfig,
            watch,
            function,
            changes,
            reloads,
            chats,
            _source: source,
            _broker: broker,
            _eventing: eventing,
            _control_plane: control_plane,
        })
    }

    pub(crate) async fn edit_config_map(&self) -> Result<()> {
        self.patch("configmaps/greeting", json!({ "data": { "TEXT": "Good evening" } })).await
    }

    pub(crate) async fn label_config_map(&self) -> Result<()> {
        self.patch("configmaps/greeting", json!({ "metadata": { "labels": { "team": "front" } } })).await
    }

    pub(crate) async fn rotate_secret(&self) -> Result<()> {
        self.patch("secrets/db-password", json!({ "stringData": { "PASSWORD": "another" } })).await
    }

    /// How many events the function has finished.
    pub(crate) async fn events_finished(&self) -> Result<u64> {
        let text = reqwest::get(format!("{}/metrics", self.function.url())).await?.text().await?;
        let line = text.lines().find_map(|line| line.strip_prefix("confroll_events_total{outcome=\"acted_on\"} "));
        Ok(line.unwrap_or("0").trim().parse()?)
    }

    pub(crate) fn ways_to_explore(&self) -> String {
        let Self { namespace, kubeconfig, .. } = self;
        format!(
            "
Explore it (in another terminal):
  export KUBECONFIG={kubeconfig}
  kubectl -n {namespace} edit configmap greeting
  kubectl -n {namespace} get deployment web -o yaml
  curl {}/metrics
and see what the chats are told: {}

Ctrl-C ends everything.",
            self.function.url(),
            self.chats.page(),
        )
    }

    async fn patch(&self, key: &str, patch: Value) -> Result<()> {
        let path = format!("/api/v1/namespaces/{}/{key}", self.namespace);
        send(&self.client, "PATCH", &path, MERGE_PATCH, &patch).await?;
        Ok(())
    }
}

fn objects(namespace: &str) -> Vec<(String, Value)> {
    let greeting = json!({ "configMapRef": { "name": "greeting" } });
    let password = json!({ "secretRef": { "name": "db-password" } });
    let core = |plural: &str| format!("/api/v1/namespaces/{namespace}/{plural}");
    let apps = |plural: &str| format!("/apis/apps/v1/namespaces/{namespace}/{plural}");
    let mut frozen = workload("frozen", &json!([greeting]));
    frozen["metadata"]["annotations"] = json!({});
    vec![
        (
            core("configmaps"),
            json!({ "metadata": { "name": "greeting" }, "data": { "TEXT": "Good morning", "LANG": "en" } }),
        ),
        (core("secrets"), json!({ "metadata": { "name": "db-password" }, "stringData": { "PASSWORD": "first" } })),
        (apps("deployments"), workload("web", &json!([greeting, password]))),
        (apps("daemonsets"), workload("agent", &json!([greeting]))),
        (apps("statefulsets"), workload("db", &json!([password]))),
        (apps("deployments"), frozen),
    ]
}

fn workload(name: &str, env_from: &Value) -> Value {
    json!({
        "metadata": { "name": name, "annotations": { "reloader.stakater.com/auto": "true" } },
        "spec": {
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "shop", "envFrom": env_from }] },
            },
        },
    })
}
