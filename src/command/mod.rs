//! The front door: one file per subcommand, each of which builds what the edge needs and starts it.

use std::future::Future;

use tokio::signal::unix::{SignalKind, signal};

pub mod serve;
pub mod sink;
pub mod sink_test;

/// Done at SIGTERM (Kubernetes) or SIGINT (Ctrl-C).
fn stop_signal() -> anyhow::Result<impl Future<Output = ()> + Send + 'static> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
