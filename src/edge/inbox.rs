//! Receives events: one route for them, three for the platform.
//!
//! Invariants: a body is read up to its limit and no further; a 2xx has no body, since a Broker takes one for a
//! reply; everything is finished before the answer, since a pod that scales to zero gets no CPU after it.
//! Left out: what an event means (reload/change.rs) and which status a failure has (failure.rs).

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use cloudevents::binding::http::to_event;
use cloudevents::event::SpecVersion;
use cloudevents::{AttributesReader as _, Event};
use http::{HeaderMap, StatusCode, header};
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tokio::time::timeout;

use super::failure::Failure;
use super::lane::{EventOutcome, Lanes, Ticket};
use super::metrics::Metrics;
use crate::reload::change::Change;

/// How the content type of a structured event begins.
const STRUCTURED: &[u8] = b"application/cloudevents";

/// What the routes share.
#[derive(Clone)]
pub struct Inbox {
    /// Where events go.
    pub lanes: Lanes,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// After how long an event is given back.
    pub deadline: Duration,
    /// The longest body, in bytes.
    pub longest_body: usize,
}

impl Inbox {
    /// The routes of `confroll serve`.
    pub fn router(self) -> Router {
        Router::new()
            .route("/", post(receive))
            .route("/health/liveness", get(StatusCode::OK))
            .route("/health/readiness", get(StatusCode::OK))
            .route("/metrics", get(metrics))
            .layer(DefaultBodyLimit::max(self.longest_body))
            .with_state(self)
    }
}

async fn receive(State(inbox): State<Inbox>, headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Response {
    match act(&inbox, &headers, body).await {
        Ok(answer) => {
            inbox.metrics.event(if answer == StatusCode::ACCEPTED { "acted_on" } else { "ignored" });
            answer.into_response()
        }
        Err(failure) => {
            let given_back = matches!(failure, Failure::Again | Failure::Late);
            inbox.metrics.event(if given_back { "given_back" } else { "refused" });
            failure.into_response()
        }
    }
}

async fn act(inbox: &Inbox, headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<StatusCode, Failure> {
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Failure::TooLarge(inbox.longest_body),
        _ => Failure::BrokenBody,
    })?;
    let event = read_event(headers, &body)?;
    let Some(change) = Change::from_event(&event)? else {
        tracing::debug!(event.id = event.id(), event.type = event.ty(), "an event is not for us");
        return Ok(StatusCode::NO_CONTENT);
    };
    let (ticket, answer) = Ticket::new();
    inbox.lanes.join(change, ticket);
    match timeout(inbox.deadline, answer).await {
        Ok(Ok(EventOutcome::Done)) => Ok(StatusCode::ACCEPTED),
        Ok(Ok(EventOutcome::Again) | Err(_)) => Err(Failure::Again),
        Err(_) => Err(Failure::Late),
    }
}

/// Reads an event, and refuses what the SDK lets through: repeated attributes, version 0.3.
fn read_event(headers: &HeaderMap, body: &Bytes) -> Result<Event, Failure> {
    for name in headers.keys() {
        let is_attribute = name.as_str().starts_with("ce-") || name == header::CONTENT_TYPE;
        if is_attribute && headers.get_all(name).iter().count() > 1 {
            return Err(Failure::NoEvent(format!("the header {name} stands there twice")));
        }
    }
    if headers.get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(STRUCTURED)) {
        serde_json::from_slice::<DistinctKeys>(body)
            .map_err(|_| Failure::NoEvent("its JSON cannot be read, or an attribute stands there twice".to_owned()))?;
    }
    let event = to_event(headers, body.to_vec()).map_err(|error| Failure::NoEvent(why(&error).to_owned()))?;
    if event.specversion() != SpecVersion::V10 {
        return Err(Failure::NoEvent("its specversion is 0.3".to_owned()));
    }
    Ok(event)
}

/// A JSON object in which no key stands twice: the SDK would take the last.
struct DistinctKeys;

impl<'de> Deserialize<'de> for DistinctKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Self)
    }
}

impl<'de> Visitor<'de> for DistinctKeys {
    type Value = Self;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self, A::Error> {
        let mut seen = HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            map.next_value::<IgnoredAny>()?;
            if !seen.insert(key) {
                return Err(A::Error::custom("a key stands there twice"));
            }
        }
        Ok(self)
    }
}

/// Why the SDK could not read an event, without what it quotes of it.
fn why(error: &cloudevents::message::Error) -> &'static str {
    use cloudevents::message::Error;
    match error {
        Error::WrongEncoding {} => "neither ce- headers nor the content type application/cloudevents+json",
        Error::UnknownSpecVersion { .. } => "its specversion is not 1.0",
        Error::UnknownAttribute { .. } => "it has an attribute that no version knows",
        Error::SerdeJsonError { .. } => "its JSON cannot be read",
        Error::ParseTimeError { .. } => "its time is not written as RFC 3339 wants it",
        Error::ParseUrlError { .. } => "its dataschema is no URI",
        _ => "an attribute is missing or cannot be read",
    }
}

async fn metrics(State(inbox): State<Inbox>, headers: HeaderMap) -> Response {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (content_type, body) = inbox.metrics.render(accept);
    ([(header::CONTENT_TYPE, content_type)], body).into_response()
}
