//! The rules about what is around a payload: method, content type and query. Invariant: as with payloads, a rule
//! is a row. Where a request belongs and whether its secret is right is `address`' affair.

use http::HeaderMap;

use super::{Effect, Finding, Violation};
use crate::service::Service;

/// What of a request these rules look at.
pub(crate) struct Envelope<'a> {
    pub(crate) method: &'a str,
    pub(crate) headers: &'a HeaderMap,
    pub(crate) query: &'a [(String, String)],
    pub(crate) is_json: bool,
}

impl Envelope<'_> {
    /// Whether this is an event in the binary mode of CloudEvents.
    pub(crate) fn is_binary_event(&self) -> bool {
        self.headers.keys().any(|name| name.as_str().starts_with("ce-"))
    }

    fn media_type(&self) -> &str {
        let value = self.headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        value.and_then(|value| value.split(';').next()).unwrap_or_default().trim()
    }

    fn parameter(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

pub(super) struct RequestRule {
    pub(super) name: &'static str,
    /// The services that have it.
    pub(super) services: &'static [Service],
    pub(super) effect: fn(Service) -> Effect,
    pub(super) find: fn(Service, &Envelope) -> Option<String>,
}

const CHAT: &[Service] = &[Service::GoogleChat];
/// The option with which Chat answers into a thread, and without which it opens a new one.
pub(crate) const THREAD_OR_NEW: &str = "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD";

pub(super) const RULES: &[RequestRule] = &[
    RequestRule {
        name: "method",
        services: &Service::ALL,
        effect: |_| Effect::Refused(405, "method_not_allowed"),
        find: |_, envelope| (envelope.method != "POST").then(|| envelope.method.to_owned()),
    },
    RequestRule {
        name: "content_type",
        services: &Service::ALL,
        effect: unreadable,
        find: |service, envelope| {
            let event = service == Service::Webhook && !envelope.is_binary_event();
            let wanted = if event { "application/cloudevents+json" } else { "application/json" };
            (envelope.media_type() != wanted).then(|| format!("`{}` is not {wanted}", envelope.media_type()))
        },
    },
    RequestRule {
        name: "not_json",
        services: &Service::ALL,
        effect: unreadable,
        find: |_, envelope| (!envelope.is_json).then(|| "the body".to_owned()),
    },
    RequestRule {
        name: "unknown_query",
        services: CHAT,
        effect: unreadable,
        find: |_, envelope| {
            let known = ["key", "token", "threadKey", "requestId", "messageReplyOption", "messageId"];
            let mut names = envelope.query.iter().map(|(name, _)| name);
            // The name alone: the value may be a part of the secret that lost its `&`.
            names.find(|name| !known.contains(&name.as_str())).cloned()
        },
    },
    RequestRule {
        name: "deprecated_thread_key",
        services: CHAT,
        effect: |_| Effect::Reported,
        find: |_, envelope| envelope.parameter("threadKey").map(|_| "in the query".to_owned()),
    },
    RequestRule {
        name: "reply_option",
        services: CHAT,
        effect: unreadable,
        find: |_, envelope| {
            // Its other value loses the first message of every thread.
            let option = envelope.parameter("messageReplyOption");
            option.filter(|option| *option != THREAD_OR_NEW).map(str::to_owned)
        },
    },
    RequestRule {
        name: "message_id",
        services: CHAT,
        effect: unreadable,
        find: |_, envelope| {
            let clean = |id: &str| id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
            let fits = |id: &str| id.starts_with("client-") && id.len() <= 63 && clean(id);
            envelope.parameter("messageId").filter(|id| !fits(id)).map(str::to_owned)
        },
    },
    RequestRule {
        name: "event_headers",
        services: &[Service::Webhook],
        effect: unreadable,
        find: |_, envelope| {
            if !envelope.is_binary_event() {
                return None;
            }
            let absent = |name: &&str| envelope.headers.get(*name).is_none_or(http::HeaderValue::is_empty);
            let required = ["ce-specversion", "ce-id", "ce-source", "ce-type"];
            required.into_iter().find(absent).map(|name| format!("no {name}"))
        },
    },
];

/// What each service says of a request that it cannot read.
fn unreadable(service: Service) -> Effect {
    match service {
        Service::Slack => Effect::Refused(400, "invalid_payload"),
        Service::GoogleChat => Effect::Refused(400, "INVALID_ARGUMENT"),
        Service::Teams => Effect::Refused(400, "TriggerInputSchemaMismatch"),
        Service::Webhook => Effect::Refused(400, "bad-event"),
    }
}

/// The rules that this request breaks, its payload apart.
pub(crate) fn findings(service: Service, envelope: &Envelope) -> Vec<Finding> {
    let rules = RULES.iter().filter(|rule| rule.services.contains(&service));
    let finding = |rule: &RequestRule| {
        let detail = (rule.find)(service, envelope)?;
        Some(Finding { effect: (rule.effect)(service), violation: Violation { rule: rule.name, detail } })
    };
    rules.filter_map(finding).collect()
}
