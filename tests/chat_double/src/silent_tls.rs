//! A server that accepts and then says nothing, as a slow TLS handshake looks from outside. Invariant: connections
//! stay open until it is dropped or the client gives up.

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::service::Service;

/// A running silent server. Stops when dropped.
#[derive(Debug)]
pub struct SilentTls {
    port: u16,
    accepting: JoinHandle<()>,
}

impl SilentTls {
    /// Listens on loopback.
    pub async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on loopback")?;
        let port = listener.local_addr()?.port();
        let accepting = tokio::spawn(async move {
            let mut held = Vec::new();
            loop {
                held.extend(listener.accept().await.ok());
            }
        });
        Ok(Self { port, accepting })
    }

    /// An HTTPS URL with no path.
    #[must_use]
    pub fn url(&self) -> String {
        format!("https://localhost:{}", self.port)
    }

    /// The URL that a channel's webhook would have here, secret included.
    #[must_use]
    pub fn webhook_url(&self, service: Service, channel: &str) -> String {
        self.url() + &service.webhook_path(channel)
    }
}

impl Drop for SilentTls {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}
