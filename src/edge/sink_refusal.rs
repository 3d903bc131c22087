//! Why an event was not told, and the one place that turns that into what the Broker is answered.
//!
//! Invariants: what may work later has a status that Brokers repeat (404, 429, 503), what never will has one that they
//! do not (400, 413, 422, 424); a service's own 404 is never passed on, as it would be repeated. The body ends up in
//! dead letters: it has our word, the destination's name, the service's status and a known word, and nothing of the
//! event, the answer or the URL.
//! Left out: successes, which have no body.

use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::{StatusCode, header};

use super::chat_webhook::Delivery;
use super::destinations::NoDestination;
use super::event_reader::EventError;
use crate::announce::answer::Verdict;
use crate::announce::answer_words::Word;
use crate::announce::delivery::pause;
use crate::announce::destination::DestinationName;
use crate::announce::notice::NoticeError;

/// Why an event was not told.
#[derive(Debug)]
pub enum SinkRefusal {
    /// What came is no event that can be read.
    BadEvent(EventError),
    /// It is one, and says nothing that can be told.
    BadNotice(NoticeError),
    /// The path names no destination that could ever be there.
    NoName,
    /// It was there and could not be told.
    Untold(DestinationName, Untold),
}

/// What became of an event that was to be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Untold {
    /// The destination is not there, or its URL cannot be used.
    Destination(NoDestination),
    /// The service did not take the message.
    Refused(Delivery),
    /// Others went first for too long, or the service asked for a pause.
    Held(Duration),
    /// The process could not go on with it.
    Broken,
}

impl Untold {
    /// Our word for it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Destination(NoDestination::Missing | NoDestination::Unreadable(_)) => "no-such-destination",
            Self::Destination(NoDestination::Url(_)) => "bad-destination",
            Self::Refused(delivery) => delivery.verdict.as_str(),
            Self::Held(_) => "too-fast",
            Self::Broken => "internal-error",
        }
    }

    fn status(self) -> StatusCode {
        match self {
            // The kubelet takes a minute to show a new key of a Secret.
            Self::Destination(NoDestination::Missing | NoDestination::Unreadable(_)) => StatusCode::NOT_FOUND,
            Self::Destination(NoDestination::Url(_)) => StatusCode::FAILED_DEPENDENCY,
            Self::Refused(delivery) => match delivery.verdict {
                Verdict::Posted => StatusCode::ACCEPTED,
                Verdict::PayloadRefused(_) => StatusCode::UNPROCESSABLE_ENTITY,
                Verdict::DestinationRefused(_) => StatusCode::FAILED_DEPENDENCY,
                Verdict::TooFast(..) => StatusCode::TOO_MANY_REQUESTS,
                Verdict::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
            },
            Self::Held(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Broken => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn retry_after(self) -> Option<Duration> {
        match self {
            Self::Held(wait) => Some(wait),
            Self::Refused(Delivery { verdict: Verdict::TooFast(word, hint), .. }) => {
                pause(Verdict::TooFast(word, hint))
            }
            _ => None,
        }
    }

    /// What is wrong with the URL; or the service's status and word, as far as there are any.
    fn details(self) -> String {
        let delivery = match self {
            Self::Refused(delivery) => delivery,
            Self::Destination(problem) => return format!(" {problem}"),
            Self::Held(_) | Self::Broken => return String::new(),
        };
        let status = delivery.status.map(|status| format!(", it answered {status}")).unwrap_or_default();
        let word = delivery.verdict.word().map(|Word { word, .. }| format!(", {word}")).unwrap_or_default();
        status + &word
    }
}

impl SinkRefusal {
    /// What is wrong, where nobody else has said it: a message is logged as a whole, by who sent it.
    fn log(&self, status: StatusCode, reason: &str) {
        let status = status.as_u16();
        match self {
            Self::Untold(_, Untold::Refused(_)) => {}
            Self::Untold(_, Untold::Held(_)) => tracing::debug!(status, reason, "an event has to come again"),
            _ => tracing::warn!(status, reason, "an event was not told"),
        }
    }

    fn answer(&self) -> (StatusCode, String, Option<Duration>) {
        match self {
            Self::BadEvent(error) => (error.status(), format!("bad-event: {error}"), None),
            Self::BadNotice(error) => (StatusCode::BAD_REQUEST, format!("bad-event: {error}"), None),
            // What the path says is not repeated: it may be a URL in the wrong place.
            Self::NoName => {
                let text = "bad-destination: the path is / or /d/NAME, with a name of 1 to 63 of a-z, 0-9 and '-'";
                (StatusCode::FAILED_DEPENDENCY, text.to_owned(), None)
            }
            Self::Untold(name, untold) => {
                let text = format!("{}: {}{}", untold.as_str(), name.as_str(), untold.details());
                (untold.status(), text, untold.retry_after())
            }
        }
    }
}

impl IntoResponse for SinkRefusal {
    fn into_response(self) -> Response {
        let (status, text, retry_after) = self.answer();
        self.log(status, &text);
        let mut response = (status, text).into_response();
        if let Some(wait) = retry_after {
            // Whole seconds, and not one too few.
            response.headers_mut().insert(header::RETRY_AFTER, (wait + Duration::from_millis(999)).as_secs().into());
        }
        response
    }
}
