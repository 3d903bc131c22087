//! A reload event for any HTTP service: the CloudEvent itself, unchanged.
//!
//! Invariant: what is sent is the event that came, in one of the two forms of the CloudEvents HTTP binding.

use cloudevents::{AttributesReader as _, Data, Event};

use super::payload::Post;

/// How an event is put into a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum EventMode {
    /// All of it as JSON in the body.
    #[default]
    Structured,
    /// Attributes as headers, the data in the body.
    Binary,
}

/// The event has an attribute that is no HTTP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the event has an attribute that is no HTTP header")]
pub struct NoHeader;

/// The request that carries an event.
pub fn post(event: &Event, mode: EventMode) -> Result<Post, NoHeader> {
    match mode {
        EventMode::Structured => structured(event),
        EventMode::Binary => binary(event),
    }
}

fn structured(event: &Event) -> Result<Post, NoHeader> {
    let mut event = event.clone();
    // An event that came in binary mode has bytes for data, which JSON would show as base64.
    let json = match event.data() {
        Some(Data::Binary(bytes)) if is_json(event.datacontenttype()) => serde_json::from_slice(bytes).ok(),
        _ => None,
    };
    if let Some(json) = json {
        event.set_data_unchecked(Data::Json(json));
    }
    let headers = vec![("content-type".to_owned(), "application/cloudevents+json; charset=utf-8".to_owned())];
    let body = serde_json::to_vec(&event).map_err(|_| NoHeader)?;
    Ok(Post { query: Vec::new(), headers, body })
}

fn is_json(content_type: Option<&str>) -> bool {
    let media = content_type.unwrap_or("application/json").split(';').next().unwrap_or_default().trim();
    media == "application/json" || media.ends_with("+json")
}

fn binary(event: &Event) -> Result<Post, NoHeader> {
    let request = http::Request::<Option<Vec<u8>>>::try_from(event.clone()).map_err(|_| NoHeader)?;
    let (parts, body) = request.into_parts();
    let text = |value: &http::HeaderValue| value.to_str().map(str::to_owned).map_err(|_| NoHeader);
    let headers =
        parts.headers.iter().map(|(name, value)| Ok((name.to_string(), text(value)?))).collect::<Result<_, _>>()?;
    Ok(Post { query: Vec::new(), headers, body: body.unwrap_or_default() })
}
