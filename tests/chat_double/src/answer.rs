//! What each service answers, word by word. Invariant: only statuses and bodies that were seen or documented, and
//! never a part of the request.

use serde_json::json;

use crate::address::Secret;
use crate::http1::Answer;
use crate::service::Service;

/// Which of its two shapes an error of Google Chat has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ErrorShape {
    /// As seen: `{"error":{…}}`.
    #[default]
    Wrapped,
    /// As documented: `{…}`.
    Flat,
}

const TEXT: &str = "text/plain; charset=utf-8";
const HTML: &str = "text/html; charset=utf-8";
const JSON: &str = "application/json; charset=UTF-8";

/// The service took the message. In Chat it has these names.
pub(crate) fn accepted(service: Service, message: &str, thread: &str) -> Answer {
    match service {
        Service::Slack => Answer::new(200, TEXT, "ok"),
        Service::GoogleChat => json_answer(200, &json!({"name": message, "thread": {"name": thread}})),
        Service::Teams => Answer::empty(202),
        Service::Webhook => Answer::empty(204),
    }
}

/// The service refuses the request with an error word of its own.
pub(crate) fn refused(service: Service, status: u16, word: &str, shape: ErrorShape) -> Answer {
    match service {
        Service::Slack | Service::Webhook => Answer::new(status, TEXT, word),
        Service::GoogleChat => chat_error(status, word, "Request contains an invalid argument.", shape),
        Service::Teams => {
            json_answer(status, &json!({"error": {"code": word, "message": "The request was not accepted."}}))
        }
    }
}

/// The secret of the URL is not right.
pub(crate) fn denied(service: Service, secret: Secret, shape: ErrorShape) -> Answer {
    match (service, secret) {
        (Service::GoogleChat, Secret::NoKey) => {
            let message = "Method doesn't allow unregistered callers (callers without established identity). \
                           Please use API Key or other form of API consumer identity to call this API.";
            chat_error(403, "PERMISSION_DENIED", message, shape)
        }
        (Service::GoogleChat, Secret::WrongKey) => {
            let message = "API key not valid. Please pass a valid API key.";
            chat_error(400, "INVALID_ARGUMENT", message, shape)
        }
        (Service::GoogleChat, _) => {
            let message = "Request had invalid authentication credentials.";
            chat_error(401, "UNAUTHENTICATED", message, shape)
        }
        (Service::Slack, _) => Answer::new(403, TEXT, "invalid_token"),
        (Service::Teams, _) => refused(service, 401, "AuthorizationFailed", shape),
        (Service::Webhook, _) => Answer::empty(401),
    }
}

/// No webhook lives here: as Slack says it, since its paths are the ones that are most easily mistaken.
pub(crate) fn not_found() -> Answer {
    Answer::new(404, TEXT, "no_service")
}

/// Too many messages for this channel.
pub(crate) fn too_fast(service: Service, shape: ErrorShape) -> Answer {
    match service {
        Service::GoogleChat => chat_error(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted.", shape),
        Service::Slack | Service::Teams | Service::Webhook => {
            let body = json!({"retry_after": 1, "ok": false, "error": "rate_limited"});
            json_answer(429, &body).with("retry-after", "1")
        }
    }
}

/// A page instead of an answer.
pub(crate) fn html(body: impl Into<String>) -> Answer {
    Answer::new(200, HTML, body)
}

fn chat_error(status: u16, word: &str, message: &str, shape: ErrorShape) -> Answer {
    let error = json!({"code": status, "message": message, "status": word});
    match shape {
        ErrorShape::Flat => json_answer(status, &error),
        ErrorShape::Wrapped => json_answer(status, &json!({ "error": error })),
    }
}

fn json_answer(status: u16, body: &serde_json::Value) -> Answer {
    Answer::new(status, JSON, body.to_string())
}
