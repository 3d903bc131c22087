//! Why an event was not taken, and the one place that turns that into an HTTP status.
//!
//! Invariants: only what an `ApiServerSource` and a Broker both repeat (503, 413, 400 for what they must not repeat)
//! is answered: never 500, 408 or 409, which the source drops without a word; every answer that is a refusal says
//! why in one sentence, and nothing of the event's data is in it.
//! Left out: successes, which have no body (knative.md 2.3: a Broker takes any body for a reply).

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};

use super::callers::CallerError;
use super::event_reader::EventError;
use crate::reload::change::ChangeError;

/// Why an event was not taken.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// Who sent it may not.
    #[error(transparent)]
    Caller(#[from] CallerError),
    /// What was sent is no event.
    #[error(transparent)]
    Event(#[from] EventError),
    /// It is one, but says nothing that can be.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// Something failed that may work later.
    #[error("not everything could be done; send the event again")]
    Again,
    /// Too many wait already.
    #[error("too many events wait; send this one again a little later")]
    Full,
    /// It took too long.
    #[error("not everything could be done in time; send the event again")]
    Late,
}

impl Failure {
    fn status(&self) -> StatusCode {
        match self {
            Self::Caller(CallerError::NoToken | CallerError::BadToken) => StatusCode::UNAUTHORIZED,
            Self::Caller(CallerError::NotListed(_)) => StatusCode::FORBIDDEN,
            Self::Event(error) => error.status(),
            Self::Change(_) => StatusCode::BAD_REQUEST,
            Self::Caller(CallerError::Cluster(_)) | Self::Again | Self::Full | Self::Late => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let text = self.to_string();
        match self {
            // What led here was logged where it happened.
            Self::Again | Self::Full | Self::Late => tracing::warn!(reason = text, "an event was given back"),
            _ => tracing::warn!(reason = text, "an event was refused"),
        }
        let mut response = (self.status(), text).into_response();
        if let Self::Full = self {
            // Seconds. The source and Brokers with the feature for it wait so long; others as they are set.
            response.headers_mut().insert(header::RETRY_AFTER, 1.into());
        }
        response
    }
}
