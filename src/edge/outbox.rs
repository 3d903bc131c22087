//! Sends reload events to the sink, and has them told where alerts go.
//!
//! Invariants: binary mode, one request an event, a deadline on each; the sink's URL may hold a credential and is in
//! no error; neither is the token. Left out: trying again (the event that caused the report is sent again, and finds its record).

use std::time::Duration;

use cloudevents::{AttributesReader as _, Event};
use http::header::AUTHORIZATION;
use tokio::sync::Semaphore;

use super::announcer::Announcer;
use super::config::Sink;
use super::hold::Telling;
use super::sink_refusal::Untold;
use super::sink_token::TokenError;
use crate::announce::destination::DestinationName;
use crate::announce::notice::Notice;

/// How long one event may take: with the in-memory Broker the ingress answers only after every Trigger did.
const DEADLINE: Duration = Duration::from_secs(10);
/// Events on their way at once.
const IN_FLIGHT: usize = 32;

/// Where reload events go.
pub struct Outbox {
    sink: Option<(reqwest::Client, Sink)>,
    alerts: Option<Announcer>,
    slots: Semaphore,
}

/// Why an event was not sent.
#[derive(Debug, thiserror::Error)]
pub enum OutboxError {
    /// The sink could not be reached.
    #[error("the sink cannot be reached: {0}")]
    Unreachable(reqwest::Error),
    /// It answered that it did not take the event.
    #[error("the sink answered {0}")]
    Refused(reqwest::StatusCode),
    /// It may want a token, and there is none to be had.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The event cannot be put into a request.
    #[error("the event has an attribute that is no HTTP header: {0}")]
    Attribute(String),
    /// The chat service of alerts did not take it; why stands in the log already.
    #[error("the alert was not posted: {}", .0.as_str())]
    Alert(Untold),
    /// An event of ours is one that we do not understand: cannot be.
    #[error("the event makes no alert")]
    NoNotice,
}

impl Outbox {
    /// An outbox for `sink` and `alerts`; without either, every event is taken and dropped.
    pub fn new(sink: Option<Sink>, alerts: Option<Announcer>) -> Result<Self, reqwest::Error> {
        let sink = sink.map(|sink| client(&sink).map(|client| (client, sink))).transpose()?;
        Ok(Self { sink, alerts, slots: Semaphore::new(IN_FLIGHT) })
    }

    /// Whether there is anywhere to send to.
    #[must_use]
    pub fn has_sink(&self) -> bool {
        self.sink.is_some() || self.alerts.is_some()
    }

    /// Sends an event and waits until it was taken everywhere. One that is sent again is dropped by the sink that has it.
    pub async fn send(&self, event: Event) -> Result<(), OutboxError> {
        let (posted, alerted) = tokio::join!(self.post(event.clone()), self.alert(&event));
        posted.and(alerted)
    }

    async fn alert(&self, event: &Event) -> Result<(), OutboxError> {
        let Some(alerts) = &self.alerts else { return Ok(()) };
        let notice = Notice::from_event(event).ok().flatten().ok_or(OutboxError::NoNotice)?;
        let telling = Telling { notice, event: Some(event.clone()) };
        alerts.tell(&DestinationName::default_one(), telling).await.map_err(OutboxError::Alert)
    }

    async fn post(&self, mut event: Event) -> Result<(), OutboxError> {
        let Some((client, sink)) = &self.sink else { return Ok(()) };
        for (name, value) in &sink.extensions {
            event.set_extension(name, value.as_str());
        }
        let (id, event_type) = (event.id().to_owned(), event.ty().to_owned());
        let request = http::Request::<Option<Vec<u8>>>::try_from(event)
            .map_err(|error| OutboxError::Attribute(error.to_string()))?;
        let (mut parts, body) = request.into_parts();
        if let Some(token) = sink.token.header()? {
            parts.headers.insert(AUTHORIZATION, token);
        }
        let _slot = self.slots.acquire().await.ok();
        let request = client.post(sink.url.clone()).headers(parts.headers).body(body.unwrap_or_default());
        let response = request.send().await.map_err(|error| OutboxError::Unreachable(error.without_url()))?;
        tracing::debug!(event.id = id, event.type = event_type, status = response.status().as_u16(), "a reload event was sent");
        if response.status().is_success() { Ok(()) } else { Err(OutboxError::Refused(response.status())) }
    }
}

fn client(sink: &Sink) -> Result<reqwest::Client, reqwest::Error> {
    // A sink is an address of the cluster, so a proxy for the outside is never the way to it.
    let builder = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(2))
        .timeout(DEADLINE);
    let extra = sink.ca_certs.as_deref().map(|pem| reqwest::Certificate::from_pem_bundle(pem.as_bytes()));
    match (sink.url.scheme(), extra) {
        // The system's certificates take 5 ms to load, and an empty image has none: not for plain HTTP.
        ("http", _) => builder.tls_certs_only([]).build(),
        (_, Some(certificates)) => builder.tls_certs_merge(certificates?).build(),
        (_, None) => builder.build(),
    }
}
