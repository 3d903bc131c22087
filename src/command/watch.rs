//! `confroll watch`: without Knative. Watches tell of changes, and everything else is as in `confroll serve`; any number of
//! replicas work side by side, and none leads.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::core::Core;
use super::{client, listen, provide_tls, serve_routes, stop_signal};
use crate::edge::announcer::{Announcer, Announcing};
use crate::edge::cluster_watch::Feed;
use crate::edge::intake::Intake;
use crate::edge::metrics::Metrics;
use crate::edge::platform_routes::platform_routes;
use crate::edge::sink_metrics::SinkMetrics;
use crate::edge::source_watch::SourceWatch;
use crate::edge::sweep_timer;
use crate::edge::telemetry;
use crate::edge::teller::{Audience, ProcessName, Teller};
use crate::edge::variables::Variables;
use crate::edge::watch_settings::WatchSettings;
use crate::reload::rules::Rules;
use crate::reload::source::SourceKind;

/// How long what is at work at the end may take: Kubernetes waits 30 s for a pod.
const FAREWELL: Duration = Duration::from_secs(20);

/// Watches with the settings of the environment until SIGTERM or SIGINT.
pub async fn run() -> anyhow::Result<()> {
    let mut settings = WatchSettings::read(&Variables::of_process())?;
    telemetry::start(&settings.common.log);
    provide_tls();
    let client = client().await?;
    settings.common = settings.common.with_key(&client).await?;
    let listener = listen(settings.common.listen).await?;
    let stop = stop_signal()?;
    watch(listener, client, &settings, stop).await
}

/// Watches, and answers probes on `listener`, until `stop` is done; then what is at work is finished.
pub async fn watch(
    listener: TcpListener,
    client: kube::Client,
    settings: &WatchSettings,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let (process, alerting) = (ProcessName::random(), alerting(settings)?);
    let (alerts, sink_metrics) = alerting.unzip();
    let has_audience = alerts.is_some() || settings.common.sink.is_some();
    let audience = if has_audience { Audience::Somebody } else { Audience::Nobody };
    let core = Core::new(client, &settings.common, alerts.clone(), Teller::by_notes(process, audience))?;
    tracing::info!(%process, "watching");
    let (stopping, sweep_wanted) = (CancellationToken::new(), Arc::new(Notify::new()));
    let intake = Intake::new(
        core.lanes,
        core.elsewhere,
        core.rules.clone(),
        core.metrics.clone(),
        settings.common.pace.events,
        stopping.clone(),
    );
    let mut watching = JoinSet::new();
    for feed in feeds(&core.rules) {
        let (cluster, metrics) = (core.cluster.clone(), core.metrics.clone());
        let watch = SourceWatch { cluster, intake: intake.clone(), sweep_wanted: sweep_wanted.clone(), metrics, feed };
        watching.spawn(watch.run());
    }
    watching.spawn(sweep_timer::run(core.sweep, settings.sync_period, sweep_wanted, process));
    serve_routes(listener, routes(core.metrics, sink_metrics), stop).await?;
    watching.shutdown().await;
    stopping.cancel();
    if let Some(alerts) = alerts {
        alerts.close();
    }
    if timeout(FAREWELL, intake.idle()).await.is_err() {
        tracing::warn!("not everything could be finished; another replica or the next start does");
    }
    Ok(())
}

/// Who tells alerts, where they are asked for.
fn alerting(settings: &WatchSettings) -> anyhow::Result<Option<(Announcer, Arc<SinkMetrics>)>> {
    let Some(alerts) = &settings.alerts else { return Ok(None) };
    let metrics = Arc::new(SinkMetrics::new());
    let announcing = Announcing::by_alerts(alerts, metrics.clone()).context("alerts cannot be sent")?;
    Ok(Some((Announcer::new(announcing), metrics)))
}

/// What has to be watched: each kind of source that is looked at, in all namespaces or in each that is listed.
fn feeds(rules: &Rules) -> Vec<Feed> {
    let kinds = SourceKind::ALL.into_iter().filter(|kind| rules.scope.source_kind(*kind).is_ok());
    let of_kind = |kind: SourceKind| match rules.scope.listed_namespaces() {
        None => vec![Feed { kind, namespace: None }],
        Some(listed) => listed.into_iter().map(|namespace| Feed { kind, namespace: Some(namespace.clone()) }).collect(),
    };
    kinds.flat_map(of_kind).collect()
}

fn routes(metrics: Arc<Metrics>, sink_metrics: Option<Arc<SinkMetrics>>) -> Router {
    platform_routes(move |accept| {
        let (content_type, text) = metrics.render(accept);
        let alerts = sink_metrics.as_ref().map(|alerts| alerts.render(accept).1).unwrap_or_default();
        // One text has one end.
        let text = if alerts.is_empty() { text } else { text.trim_end_matches("# EOF\n").to_owned() + &alerts };
        (content_type, text)
    })
}
