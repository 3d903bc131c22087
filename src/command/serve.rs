//! `confroll serve`: the function. Builds the parts, serves until it is told to stop.

use std::future::Future;
use std::sync::Arc;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use super::core::Core;
use super::{client, listen, provide_tls, serve_routes, stop_signal};
use crate::edge::callers::Callers;
use crate::edge::config::{AtStart, Settings};
use crate::edge::inbox::Inbox;
use crate::edge::reporter::now;
use crate::edge::telemetry;
use crate::edge::teller::Teller;
use crate::edge::variables::Variables;
use crate::reload::tag::EventTag;

/// Runs the function with the settings of the environment until SIGTERM or SIGINT.
pub async fn run() -> anyhow::Result<()> {
    let settings = Settings::read(&Variables::of_process())?;
    telemetry::start(&settings.log);
    provide_tls();
    let client = client().await?;
    let settings = settings.with_key(&client).await?;
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
    if settings.sink.is_none() {
        tracing::info!("K_SINK is not set: workloads are rolled out, and no reload events are sent");
    }
    inbox_of(client, settings, Teller::Redelivery)
}

/// The same, with another way to see to it that what happens is told.
pub fn inbox_of(client: kube::Client, settings: &Settings, teller: Teller) -> anyhow::Result<Inbox> {
    let Core { cluster, lanes, elsewhere, sweep, rules, metrics } = Core::new(client, settings, None, teller)?;
    Ok(Inbox {
        lanes,
        elsewhere,
        sweep,
        rules,
        cluster: cluster.clone(),
        metrics,
        deadline: settings.pace.request_deadline,
        longest_body: settings.longest_body,
        callers: settings.callers.clone().map(|callers| Callers::new(cluster, callers)),
        places: Arc::new(Semaphore::new(settings.pace.events)),
    })
}
