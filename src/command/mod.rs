//! The front door: one file per subcommand, each of which builds what the edge needs and starts it.

use std::future::Future;
use std::net::SocketAddr;

use anyhow::{Context as _, anyhow};
use axum::Router;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

mod core;
pub mod serve;
pub mod sink;
pub mod sink_test;
pub mod watch;

/// The one TLS provider of the process; an error means that it is there already.
fn provide_tls() {
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// The cluster of the environment, as kubectl finds it.
async fn client() -> anyhow::Result<kube::Client> {
    let client = kube::Client::try_default().await;
    // Each error of kube tells those below it, too: once is enough.
    client.map_err(|error| anyhow!("no cluster is configured: run inside one, or set KUBECONFIG ({error})"))
}

async fn listen(at: SocketAddr) -> anyhow::Result<TcpListener> {
    TcpListener::bind(at).await.with_context(|| format!("cannot listen on {at}"))
}

/// Serves until `stop` is done and all that was begun by then is answered.
async fn serve_routes(
    listener: TcpListener,
    routes: Router,
    stop: impl Future<Output = ()> + Send + 'static,
) -> anyhow::Result<()> {
    tracing::info!("listening on {}", listener.local_addr()?);
    axum::serve(listener, routes).with_graceful_shutdown(stop).await?;
    tracing::info!("stopped");
    Ok(())
}

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
