//! `confroll sink`: reload events as messages. Builds the parts, serves until it is told to stop.

use std::future::Future;
use std::sync::Arc;

use anyhow::bail;
use tokio::net::TcpListener;

use super::{listen, provide_tls, serve_routes, stop_signal};
use crate::announce::sink_kind::SinkKind;
use crate::edge::announcer::{Announcer, Announcing};
use crate::edge::destinations::{Destinations, Listed};
use crate::edge::sink_inbox::SinkInbox;
use crate::edge::sink_metrics::SinkMetrics;
use crate::edge::sink_settings::SinkSettings;
use crate::edge::telemetry;
use crate::edge::variables::Variables;

/// Runs a sink with the settings of the environment until SIGTERM or SIGINT.
pub async fn run(kind: SinkKind) -> anyhow::Result<()> {
    let settings = settings(kind)?;
    look_at(&settings.destinations)?;
    let listener = listen(settings.listen).await?;
    let stop = stop_signal()?;
    serve(listener, &settings, stop).await
}

/// Serves on `listener` until `stop` is done; then no new event is taken, and those that wait are told at once.
pub async fn serve(
    listener: TcpListener,
    settings: &SinkSettings,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    let metrics = Arc::new(SinkMetrics::new());
    let announcer = Announcer::new(Announcing::by_sink(settings, metrics.clone())?);
    let inbox = SinkInbox { announcer: announcer.clone(), metrics, longest_body: settings.longest_body };
    let stop = async move {
        stop.await;
        announcer.close();
    };
    serve_routes(listener, inbox.router(), stop).await
}

/// The settings of the environment, once the log and the TLS provider of the process are there.
pub(super) fn settings(kind: SinkKind) -> anyhow::Result<SinkSettings> {
    provide_tls();
    let settings = SinkSettings::read(kind, &Variables::of_process())?;
    telemetry::start(&settings.log);
    Ok(settings)
}

/// Says which destinations there are and what is wrong with others. Without a good one there is nothing to start for.
fn look_at(destinations: &Destinations) -> anyhow::Result<()> {
    let listed = list(destinations)?;
    let mut usable = Vec::new();
    let mut problems = Vec::new();
    for Listed { name, url } in &listed {
        match (name, url) {
            (None, _) => problems.push("a file whose name may only hold a-z, 0-9 and '-'".to_owned()),
            (Some(name), Err(error)) => problems.push(format!("{} {error}", name.as_str())),
            (Some(name), Ok(url)) => {
                usable.push(name.as_str());
                if let Some(doubt) = url.doubt(destinations.kind) {
                    let destination = name.of_kind(destinations.kind);
                    tracing::warn!(destination, %doubt, "a destination looks wrong; it is tried all the same");
                }
            }
        }
    }
    if usable.is_empty() {
        let problems = if problems.is_empty() { "the folder is empty".to_owned() } else { problems.join("; ") };
        bail!("there is no usable destination in CONFROLL_DESTINATIONS: {problems}");
    }
    for problem in problems {
        tracing::warn!(problem, "a destination cannot be used");
    }
    tracing::info!(kind = destinations.kind.as_str(), destinations = usable.join(" "), "messages can go to");
    Ok(())
}

pub(super) fn list(destinations: &Destinations) -> anyhow::Result<Vec<Listed>> {
    // The path may be a URL in the wrong variable, so it is not shown.
    destinations
        .list()
        .map_err(|error| anyhow::anyhow!("CONFROLL_DESTINATIONS names a folder that cannot be read: {}", error.kind()))
}
