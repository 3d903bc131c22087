//! A proxy for HTTPS, as company networks have it. Invariant: it reaches nothing but loopback, whatever host it
//! was asked for. Plain HTTP is not forwarded: webhooks are never plain outside of tests.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, ensure};
use tokio::io::{AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::task::{JoinHandle, JoinSet};

use crate::http1::{Answer, Connection};

/// What the proxy does with a tunnel that is asked for.
#[derive(Clone, Copy, Debug)]
enum Policy {
    /// Answers 407.
    Refuse,
    /// Tunnels to where it was asked, when that is loopback.
    AsAsked,
    /// Tunnels to this address whatever was asked.
    To(SocketAddr),
}

/// A running CONNECT proxy. Stops when dropped.
#[derive(Debug)]
pub struct ConnectProxy {
    port: u16,
    tunnels: Arc<Mutex<Vec<String>>>,
    accepting: JoinHandle<()>,
}

impl ConnectProxy {
    /// Tunnels to anything on loopback, or refuses with 407.
    pub async fn start(refuse: bool) -> anyhow::Result<Self> {
        Self::listen(if refuse { Policy::Refuse } else { Policy::AsAsked }).await
    }

    /// Sends every tunnel to this address, so that a host that does not exist leads to a stand-in.
    pub async fn start_to(address: SocketAddr) -> anyhow::Result<Self> {
        ensure!(address.ip().is_loopback(), "{address} is not loopback");
        Self::listen(Policy::To(address)).await
    }

    async fn listen(policy: Policy) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on loopback")?;
        let port = listener.local_addr()?.port();
        let tunnels = Arc::new(Mutex::new(Vec::new()));
        let accepting = tokio::spawn(accept(listener, policy, Arc::clone(&tunnels)));
        Ok(Self { port, tunnels, accepting })
    }

    /// As clients want it in `HTTPS_PROXY`.
    #[must_use]
    pub fn proxy_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The `host:port` of every tunnel that was opened, in order.
    #[must_use]
    pub fn tunnels(&self) -> Vec<String> {
        self.tunnels.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for ConnectProxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

async fn accept(listener: TcpListener, policy: Policy, tunnels: Arc<Mutex<Vec<String>>>) {
    let mut connections = JoinSet::new();
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else { continue };
        connections.spawn(tunnel(stream, policy, Arc::clone(&tunnels)));
    }
}

async fn tunnel(stream: TcpStream, policy: Policy, tunnels: Arc<Mutex<Vec<String>>>) -> anyhow::Result<()> {
    let mut connection = Connection::new(stream);
    let Some(head) = connection.read_head().await? else { return Ok(()) };
    if head.method != "CONNECT" {
        return connection.write(&Answer::empty(405)).await;
    }
    let address = match policy {
        Policy::Refuse => {
            let answer = Answer::empty(407).with("proxy-authenticate", "Basic realm=\"proxy\"");
            return connection.write(&answer).await;
        }
        Policy::AsAsked => loopback(&head.target).await,
        Policy::To(address) => Some(address),
    };
    let Some(address) = address else { return connection.write(&Answer::empty(403)).await };
    let Ok(mut upstream) = TcpStream::connect(address).await else {
        return connection.write(&Answer::empty(502)).await;
    };
    tunnels.lock().unwrap_or_else(PoisonError::into_inner).push(head.target);
    let (mut client, early) = connection.into_parts();
    client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    upstream.write_all(&early).await?;
    copy_bidirectional(&mut client, &mut upstream).await?;
    Ok(())
}

/// Where this host is, if it is on loopback.
async fn loopback(target: &str) -> Option<SocketAddr> {
    lookup_host(target).await.ok()?.find(|address| address.ip().is_loopback() && address.is_ipv4())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn only_loopback_is_somewhere() {
        assert_eq!(loopback("192.0.2.1:443").await, None);
        assert_eq!(loopback("localhost:443").await, Some(([127, 0, 0, 1], 443).into()));
    }
}
