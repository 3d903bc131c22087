//! Reads a CloudEvent from a request, for every command that receives one.
//!
//! Invariants: what cannot be read is refused with a sentence that quotes nothing of it, but for the beginning of a
//! header's name; nothing is guessed where an attribute stands there twice. Left out: what the event means.

use std::collections::HashSet;
use std::fmt;

use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use cloudevents::binding::http::to_event;
use cloudevents::event::SpecVersion;
use cloudevents::{AttributesReader as _, Event};
use http::{HeaderMap, StatusCode, header};
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// How the content type of a structured event begins.
const STRUCTURED: &[u8] = b"application/cloudevents";

/// Headers that no attribute has: as JSON, an event with such would have two data.
const DATA: [&str; 2] = ["ce-data", "ce-data_base64"];

/// Why a request is no event.
#[derive(Debug, thiserror::Error)]
pub enum EventError {
    /// What was sent is no CloudEvent that we can read.
    #[error("this is no CloudEvent 1.0: {0}")]
    NoEvent(String),
    /// Its body is too long.
    #[error("the body is longer than {0} bytes")]
    TooLarge(usize),
    /// The body broke off.
    #[error("the body could not be read to its end")]
    BrokenBody,
}

impl EventError {
    /// The status that says so.
    pub(super) fn status(&self) -> StatusCode {
        match self {
            Self::NoEvent(_) | Self::BrokenBody => StatusCode::BAD_REQUEST,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
        }
    }
}

/// Reads an event, and refuses what the SDK lets through: repeated attributes, version 0.3. `longest` is the limit
/// that the body was read with, in bytes.
pub(super) fn read_event(
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
    longest: usize,
) -> Result<Event, EventError> {
    let body = body.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => EventError::TooLarge(longest),
        _ => EventError::BrokenBody,
    })?;
    for name in headers.keys() {
        let is_attribute = name.as_str().starts_with("ce-") || name == header::CONTENT_TYPE;
        if is_attribute && headers.get_all(name).iter().count() > 1 {
            return Err(EventError::NoEvent(format!("the header {:.80} stands there twice", name.as_str())));
        }
        if DATA.contains(&name.as_str()) {
            return Err(EventError::NoEvent(format!("the header {name} is no attribute")));
        }
    }
    if headers.get(header::CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(STRUCTURED)) {
        serde_json::from_slice::<DistinctKeys>(&body).map_err(|_| {
            EventError::NoEvent("its JSON cannot be read, or an attribute stands there twice".to_owned())
        })?;
    }
    let event = to_event(headers, body.to_vec()).map_err(|error| EventError::NoEvent(why(&error).to_owned()))?;
    if event.specversion() != SpecVersion::V10 {
        return Err(EventError::NoEvent("its specversion is 0.3".to_owned()));
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
