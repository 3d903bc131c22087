//! The stand-in as tests hold it. Invariant: it listens on loopback and ends with its value; nothing is kept for
//! the next one.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::answer::ErrorShape;
use crate::certificate::Identity;
use crate::chat_memory::RequestIds;
use crate::fault::Fault;
use crate::request::Request;
use crate::serve;
use crate::service::Service;
use crate::shown::ShownMessage;
use crate::state::{Settings, Shared};

/// A running stand-in for all services. Stops when dropped.
#[derive(Debug)]
pub struct ChatDouble {
    port: u16,
    ca_pem: Option<String>,
    shared: Arc<Shared>,
    accepting: JoinHandle<()>,
}

impl ChatDouble {
    /// Listens for plain HTTP.
    pub async fn start() -> anyhow::Result<Self> {
        Self::listen(None).await
    }

    /// Listens for HTTPS, as `localhost` and `127.0.0.1`, with a certificate of its own authority.
    pub async fn start_tls() -> anyhow::Result<Self> {
        Self::listen(Some(Identity::new(&[])?)).await
    }

    /// As [`Self::start_tls`], for a host name that only a proxy can reach.
    pub async fn start_tls_as(host: &str) -> anyhow::Result<Self> {
        Self::listen(Some(Identity::new(&[host])?)).await
    }

    async fn listen(identity: Option<Identity>) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on loopback")?;
        let port = listener.local_addr()?.port();
        let shared = Arc::new(Shared::default());
        let (acceptor, ca_pem) = identity.map(|identity| (identity.acceptor, identity.ca_pem)).unzip();
        let accepting = tokio::spawn(serve::accept(listener, acceptor, Arc::clone(&shared)));
        Ok(Self { port, ca_pem, shared, accepting })
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The certificate of the authority, when this speaks TLS.
    #[must_use]
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    fn url(&self, path: &str) -> String {
        let origin = if self.ca_pem.is_some() { "https://localhost" } else { "http://127.0.0.1" };
        format!("{origin}:{}{path}", self.port)
    }

    /// The whole URL of a channel's webhook, secret included.
    #[must_use]
    pub fn webhook_url(&self, service: Service, channel: &str) -> String {
        self.url(&service.webhook_path(channel))
    }

    /// Where a person can look at what was shown; `?channel=NAME` shows one channel.
    #[must_use]
    pub fn page_url(&self) -> String {
        self.url("/")
    }

    /// Every request so far, in the order of their bodies' ends.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.lock().requests.clone()
    }

    /// The payloads that a channel shows, in order.
    #[must_use]
    pub fn messages(&self, service: Service, channel: &str) -> Vec<Value> {
        let state = self.shared.lock();
        let here = state.shown.iter().filter(|shown| shown.service == service && shown.channel == channel);
        here.map(|shown| shown.payload.clone()).collect()
    }

    /// Everything that is shown, in order.
    #[must_use]
    pub fn all_messages(&self) -> Vec<ShownMessage> {
        self.shared.lock().shown.clone()
    }

    /// Lets the next requests to a channel meet these faults, after those that were scripted before.
    pub fn script(&self, service: Service, channel: &str, faults: Vec<Fault>) {
        self.shared.lock().scripts.entry((service, channel.to_owned())).or_default().extend(faults);
    }

    fn set(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.shared.lock().settings);
    }

    /// Whether Slack and Chat refuse what comes too fast. They do unless told not to.
    pub fn limit_rate(&self, on: bool) {
        self.set(|settings| settings.unlimited = !on);
    }

    /// Whether Chat answers a known `requestId` with the first message and shows nothing new. Off at first.
    pub fn replay_request_ids(&self, on: bool) {
        self.set(|settings| settings.request_ids = if on { RequestIds::Replayed } else { RequestIds::Ignored });
    }

    /// Whether Chat's errors have the documented flat shape instead of the one that is seen. Off at first.
    pub fn flat_errors(&self, on: bool) {
        self.set(|settings| settings.error_shape = if on { ErrorShape::Flat } else { ErrorShape::Wrapped });
    }

    /// Allows a control sequence such as `<!subteam^S1>` or `<users/1>` in texts.
    pub fn allow_mention(&self, sequence: &str) {
        self.set(|settings| settings.mentions.push(sequence.to_owned()));
    }

    /// Waits until the requests are as wanted; fails, and says what there was, when it takes longer than this.
    pub async fn wait_for(&self, wanted: impl Fn(&[Request]) -> bool, limit: Duration) -> anyhow::Result<()> {
        let mut arrivals = self.shared.arrivals.subscribe();
        let wait = async {
            // A copy, so that what is wanted may ask the stand-in for more.
            while !wanted(&self.requests()) {
                arrivals.changed().await?;
            }
            anyhow::Ok(())
        };
        tokio::time::timeout(limit, wait).await.map_err(|_| self.not_as_wanted(limit))?
    }

    fn not_as_wanted(&self, limit: Duration) -> anyhow::Error {
        let requests = self.shared.lock().requests.iter().map(summary).collect::<Vec<_>>().join(", ");
        anyhow!("not as wanted after {limit:?}; requests: [{requests}]")
    }
}

impl Drop for ChatDouble {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// A request in few words, without its secrets.
fn summary(request: &Request) -> String {
    let service = request.service.map_or("nowhere", Service::as_str);
    let rules: Vec<_> = request.violations.iter().map(|violation| violation.rule).collect();
    format!("{service}:{} {} shown={} {rules:?}", request.channel, request.status, request.shown)
}
