//! What a scenario runs on: a namespace, a watch, and a reloader with its way in.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use confroll_stack::{
    ApiServerSource, Broker, BrokerDelivery, ControlPlane, ControlPlaneOptions, Eventing, Function, FunctionOptions,
    Part, Parts, RecordingSink, RunFolder, SourceOptions, TemplateWatch, User,
};
use futures::{StreamExt, TryStreamExt, stream};
use http::Request;
use serde_json::{Value, json};

/// Requests on their way at once, as Confroll has by default.
pub(crate) const IN_FLIGHT: usize = 32;
/// How long a scenario may take: the slowest reloader known takes 100 s for a fan-out of 500.
pub(crate) const LIMIT: Duration = Duration::from_mins(5);

const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";

/// The parts that all scenarios share.
pub(crate) struct Bed {
    parts: Parts,
    pub(crate) control_plane: ControlPlane,
    eventing: Eventing,
}

/// Who reloads.
#[derive(Clone)]
pub(crate) enum Reloader {
    Confroll(Via),
    Peer(String),
}

/// How changes reach Confroll.
#[derive(Clone, Copy)]
pub(crate) enum Via {
    Source,
    Broker,
    /// `confroll watch`, which tells nobody.
    Watch,
    /// `confroll watch` with a sink.
    WatchAndTell,
}

impl Reloader {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Confroll(_) => "confroll",
            Self::Peer(_) => "peer",
        }
    }

    pub(crate) fn via(&self) -> &'static str {
        match self {
            Self::Confroll(Via::Source) => "source",
            Self::Confroll(Via::Broker) => "source → broker",
            Self::Confroll(Via::WatchAndTell) => "its own watch, with a sink",
            Self::Confroll(Via::Watch) | Self::Peer(_) => "its own watch",
        }
    }

    pub(crate) fn user(&self) -> User {
        match self {
            Self::Confroll(_) => User::Confroll,
            Self::Peer(_) => User::Peer,
        }
    }

    /// Who sends the raw patches: somebody with the same rights (an admin of the cluster is spared the API server's
    /// authorization and its queues), whose requests are told apart from the reloader's.
    fn raw_user(&self) -> User {
        match self {
            Self::Confroll(_) => User::Peer,
            Self::Peer(_) => User::Confroll,
        }
    }
}

impl Bed {
    pub(crate) async fn start() -> Result<Self> {
        let parts = Parts::build()?;
        let options = ControlPlaneOptions { controllers: false, ..ControlPlaneOptions::default() };
        let control_plane = ControlPlane::start(&parts, options).await?;
        let eventing = Eventing::start(&control_plane, &parts).await?;
        let everything = json!([{ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] }]);
        for user in [User::Confroll, User::Peer] {
            control_plane.allow(user, &everything).await?;
        }
        Ok(Self { parts, control_plane, eventing })
    }

    /// Runs `reloader` in a namespace of its own, with `workloads` Deployments; the n-th uses the ConfigMap that
    /// `uses` names. Returns when it has acted on a first change.
    pub(crate) async fn run(
        &self,
        reloader: &Reloader,
        workloads: usize,
        uses: impl Fn(usize) -> String,
    ) -> Result<Run> {
        let field = self.field(reloader).await?;
        let sources: std::collections::BTreeSet<String> = (0..workloads).map(&uses).collect();
        let sources = sources.into_iter().chain(["warm-up".to_owned()]).map(|name| (name.clone(), config_map(&name)));
        field.create("configmaps", sources).await?;
        let deployments = (0..workloads).map(|n| (workload_name(n), deployment(&workload_name(n), &uses(n))));
        let others = ["warm-up", "raw"]
            .map(|name| (name.to_owned(), deployment(name, if name == "raw" { "unused" } else { name })));
        field.create("deployments", deployments.chain(others)).await?;
        let watch = TemplateWatch::start(field.client.clone(), &field.namespace).await?;
        let process = self.start_reloader(reloader, &field.namespace).await?;
        let run = Run { field, watch, process };
        run.warm_up().await?;
        Ok(run)
    }

    /// A namespace of its own, for somebody who is not `reloader`.
    pub(crate) async fn field(&self, reloader: &Reloader) -> Result<Field> {
        let client = self.control_plane.client_for(reloader.raw_user()).await?;
        Ok(Field { client, namespace: self.control_plane.create_namespace("bench").await? })
    }

    async fn start_reloader(&self, reloader: &Reloader, namespace: &str) -> Result<Process> {
        let kubeconfig = self.control_plane.kubeconfig_for(reloader.user());
        let via = match reloader {
            Reloader::Confroll(via) => via,
            Reloader::Peer(command) => {
                let folder = RunFolder::new()?;
                let env = [("KUBECONFIG", kubeconfig.to_string_lossy().into_owned())];
                let part =
                    Part::start("peer", folder.path(), Path::new("/bin/sh"), ["-c", &format!("exec {command}")], env)?;
                return Ok(Process::Peer { part, _folder: folder });
            }
        };
        let sink = RecordingSink::start().await?;
        let told = (!matches!(via, Via::Watch)).then(|| sink.url().to_owned());
        let env = vec![("CONFROLL_DIGEST_KEY", "of a benchmark".to_owned())];
        let options = FunctionOptions { kubeconfig, sink: told, env };
        let program = Path::new(env!("CARGO_BIN_EXE_confroll"));
        if let Via::Watch | Via::WatchAndTell = via {
            let function = Function::start_watch(program, options).await?;
            return Ok(Process::Confroll { function, _source: None, _broker: None, _sink: sink });
        }
        let function = Function::start(program, options).await?;
        let (to, broker) = match via {
            Via::Source | Via::Watch | Via::WatchAndTell => (function.url().to_owned(), None),
            Via::Broker => {
                let broker = self.eventing.broker(namespace, "default", BrokerDelivery::asynchronous()).await?;
                let changes = json!([{ "prefix": { "type": "dev.knative.apiserver." } }]);
                broker.trigger("reload", changes, function.url(), None).await?;
                (broker.url(), Some(broker))
            }
        };
        let options = SourceOptions::new(&to).in_namespace(namespace);
        let source = ApiServerSource::start(&self.control_plane, &self.parts, &options).await?;
        Ok(Process::Confroll { function, _source: Some(source), _broker: broker, _sink: sink })
    }
}

/// A reloader at work in a namespace.
pub(crate) struct Run {
    pub(crate) field: Field,
    pub(crate) watch: TemplateWatch,
    process: Process,
}

#[expect(clippy::large_enum_variant, reason = "there is one")]
enum Process {
    Confroll { function: Function, _source: Option<ApiServerSource>, _broker: Option<Broker>, _sink: RecordingSink },
    Peer { part: Part, _folder: RunFolder },
}

impl Run {
    /// A reloader may not watch yet when it runs: edit until it acts.
    async fn warm_up(&self) -> Result<()> {
        for round in 0..60 {
            self.field.edit("warm-up", &format!("warm {round}")).await?;
            if self.watch.wait_for("Deployment", "warm-up", 1, Duration::from_secs(2)).await.is_ok() {
                return Ok(());
            }
        }
        anyhow::bail!("The reloader did not act on any of 60 changes.")
    }

    /// When each of the first `workloads` Deployments rolled out for the `times`-th time.
    pub(crate) async fn rolled_out(&self, workloads: usize, times: usize) -> Result<Vec<Instant>> {
        let mut at = Vec::with_capacity(workloads);
        for n in 0..workloads {
            let rollouts = self.watch.wait_for("Deployment", &workload_name(n), times, LIMIT).await?;
            at.push(rollouts[times - 1].at);
        }
        Ok(at)
    }

    pub(crate) fn peak_bytes(&self) -> Result<u64> {
        match &self.process {
            Process::Confroll { function, .. } => function.rss_peak_bytes(),
            Process::Peer { part, .. } => part.rss_peak_bytes(),
        }
    }
}

/// A namespace to write in.
pub(crate) struct Field {
    pub(crate) client: kube::Client,
    namespace: String,
}

impl Field {
    pub(crate) fn namespace(&self) -> &str {
        &self.namespace
    }

    pub(crate) async fn create(&self, plural: &str, objects: impl Iterator<Item = (String, Value)>) -> Result<()> {
        let path = self.path(plural, "");
        let creations = objects.map(|(_, object)| {
            let path = path.as_str();
            async move { send(&self.client, "POST", path, &object).await }
        });
        stream::iter(creations).buffer_unordered(IN_FLIGHT).try_for_each(|()| async { Ok(()) }).await
    }

    /// Changes the content of a ConfigMap.
    pub(crate) async fn edit(&self, config_map: &str, value: &str) -> Result<()> {
        let patch = json!({ "data": { "a": value } });
        self.patch(&self.path("configmaps", config_map), &patch).await
    }

    /// A plain PATCH of a pod template, as Confroll sends it, but for its content.
    pub(crate) async fn patch_template(&self, deployment: &str, value: &str) -> Result<()> {
        let patch = json!({ "spec": { "template": { "metadata": { "annotations": { "raw": value } } } } });
        self.patch(&self.path("deployments", deployment), &patch).await
    }

    async fn patch(&self, path: &str, patch: &Value) -> Result<()> {
        send_as(&self.client, "PATCH", path, "application/merge-patch+json", patch).await
    }

    fn path(&self, plural: &str, name: &str) -> String {
        let root = if plural == "deployments" { "apis/apps/v1" } else { "api/v1" };
        format!("/{root}/namespaces/{}/{plural}/{name}", self.namespace).trim_end_matches('/').to_owned()
    }
}

pub(crate) fn workload_name(n: usize) -> String {
    format!("w{n}")
}

pub(crate) fn config_map(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "data": { "a": "1" } })
}

pub(crate) fn deployment(name: &str, config_map: &str) -> Value {
    json!({
        "metadata": { "name": name, "annotations": { "reloader.stakater.com/auto": "true" } },
        "spec": {
            "replicas": 0,
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": [{ "name": "main", "image": "shop", "envFrom": [{ "configMapRef": { "name": config_map } }] }] },
            },
        },
    })
}

async fn send(client: &kube::Client, method: &str, path: &str, body: &Value) -> Result<()> {
    send_as(client, method, path, "application/json", body).await
}

async fn send_as(client: &kube::Client, method: &str, path: &str, content_type: &str, body: &Value) -> Result<()> {
    let request =
        Request::builder().method(method).uri(path).header("content-type", content_type).header("accept", METADATA);
    client
        .request_text(request.body(body.to_string().into_bytes())?)
        .await
        .with_context(|| format!("{method} {path}"))?;
    Ok(())
}
