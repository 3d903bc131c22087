//! `confroll serve`: the function. Builds the parts, serves until it is told to stop.

use std::future::Future;
use std::sync::Arc;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::{listen, provide_tls, serve_routes, stop_signal};
use crate::edge::callers::Callers;
use crate::edge::cluster::Cluster;
use crate::edge::config::{AtStart, KeyOrigin, Settings};
use crate::edge::elsewhere::Elsewhere;
use crate::edge::inbox::Inbox;
use crate::edge::lane::Lanes;
use crate::edge::metrics::Metrics;
use crate::edge::outbox::Outbox;
use crate::edge::reload_run::ReloadRun;
use crate::edge::reporter::{Reporter, now};
use crate::edge::sweep::Sweep;
use crate::edge::telemetry;
use crate::edge::variables::Variables;
use crate::reload::record::EventTag;

/// Runs the function with the settings of the environment until SIGTERM or SIGINT.
pub async fn run() -> anyhow::Result<()> {
    let settings = Settings::read(&Variables::of_process())?;
    telemetry::start(&settings.log);
    provide_tls();
    let client =
        kube::Client::try_default().await.context("no cluster is configured: run inside one, or set KUBECONFIG")?;
    let listener = listen(settings.listen).await?;
    let stop = stop_signal()?;
    serve(listener, client, &settings, stop).await
}

/// Serves on `listener` until `stop` is done; then no new event is taken and those at work are finished.
pub async fn serve(
    listener: TcpListener,
    client: kube::Client,
    settings: &Settings,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let inbox = inbox(client, settings)?;
    if settings.sweep_at_start == AtStart::Sweep {
        let sweep = inbox.sweep.clone();
        tokio::spawn(async move { sweep.run(&at_start()).await });
    }
    serve_routes(listener, inbox.router(), stop).await
}

/// What a sweep at the start is called in records: other for each start.
fn at_start() -> EventTag {
    EventTag::of("confroll serve", &now().to_string())
}

/// The parts of the function, put together.
pub fn inbox(client: kube::Client, settings: &Settings) -> anyhow::Result<Inbox> {
    if settings.key_origin == KeyOrigin::Fixed {
        tracing::warn!(
            "CONFROLL_DIGEST_KEY is not set: digests on workloads are made with a key that everybody knows, so a short secret could be guessed from one"
        );
    }
    if settings.sink.is_none() {
        tracing::info!("K_SINK is not set: workloads are rolled out, and no reload events are sent");
    }
    let rules = Arc::new(settings.rules.clone());
    let metrics = Arc::new(Metrics::new(settings.count_by));
    let cluster = Cluster::new(client, rules.clone(), &settings.pace);
    let outbox =
        Outbox::new(settings.sink.clone()).map_err(reqwest::Error::without_url).context("K_SINK cannot be used")?;
    let reporter = Reporter {
        outbox: Arc::new(outbox),
        cluster_name: settings.cluster.as_str().into(),
        link: settings.link.clone(),
        cluster: cluster.clone(),
        rules: rules.clone(),
        metrics: metrics.clone(),
        kube_events: settings.kube_events,
    };
    let run = ReloadRun { cluster: cluster.clone(), rules: rules.clone(), reporter, metrics: metrics.clone() };
    let lanes = Lanes::new(Arc::new(run), settings.pace.settle);
    let elsewhere = Elsewhere::new(cluster.clone(), lanes.clone());
    let sweep = Sweep::new(cluster.clone(), rules.clone(), lanes.clone(), metrics.clone());
    Ok(Inbox {
        lanes,
        elsewhere,
        sweep,
        rules,
        metrics,
        deadline: settings.pace.request_deadline,
        longest_body: settings.longest_body,
        callers: settings.callers.clone().map(|callers| Callers::new(cluster, callers)),
        places: Arc::new(Semaphore::new(settings.pace.events)),
    })
}
