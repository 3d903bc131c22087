//! The rules of each service, as tables. Invariant: a rule is a row with a name, the words of its source and what
//! the service does about it; checking is pure. Rules about the request around a payload are in `request`.

mod card_html;
mod google_chat;
mod google_chat_shape;
mod json;
pub(crate) mod request;
mod shape;
mod slack;
mod slack_shape;
mod slack_text;
mod teams;
mod teams_shape;
mod webhook;

use serde_json::Value;

use crate::service::Service;

/// A rule that a request broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the rule.
    pub rule: &'static str,
    /// Where, and what was found there. Never a secret of the URL.
    pub detail: String,
}

/// What the service does about a broken rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It refuses with this status and error word.
    Refused(u16, &'static str),
    /// It accepts, and then shows nothing.
    Lost,
    /// It shows the message, perhaps not as meant. Only this stand-in objects.
    Reported,
}

/// A violation with what follows from it.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    pub(crate) effect: Effect,
    pub(crate) violation: Violation,
}

/// A payload as the rules see it.
struct Payload<'a> {
    body: &'a Value,
    /// The bytes on the wire.
    size: usize,
    /// The control sequences that may stand in a text although they ping somebody.
    mentions: &'a [String],
}

struct Rule {
    name: &'static str,
    /// Where the rule comes from, in words.
    source: &'static str,
    effect: Effect,
    /// The places that break the rule.
    find: fn(&Payload) -> Vec<String>,
}

/// The payload rules of the service that this body breaks. No mention is allowed here.
#[must_use]
pub fn check(service: Service, body: &Value) -> Vec<Violation> {
    let size = body.to_string().len();
    findings(service, body, size, &[]).into_iter().map(|finding| finding.violation).collect()
}

/// As [`check`], for a body of this many bytes, with mentions that are allowed.
pub(crate) fn findings(service: Service, body: &Value, size: usize, mentions: &[String]) -> Vec<Finding> {
    let payload = Payload { body, size, mentions };
    let of_rule = |rule: &'static Rule| {
        (rule.find)(&payload).into_iter().map(|place| Finding {
            effect: rule.effect,
            violation: Violation { rule: rule.name, detail: format!("{} ({})", place, rule.source) },
        })
    };
    rules_of(service).flat_map(of_rule).collect()
}

fn rules_of(service: Service) -> impl Iterator<Item = &'static Rule> {
    let tables: &'static [&'static [Rule]] = match service {
        Service::Slack => &[slack::RULES, slack_text::RULES],
        Service::GoogleChat => &[google_chat::RULES],
        Service::Teams => &[teams::RULES],
        Service::Webhook => &[webhook::RULES],
    };
    tables.iter().copied().flatten()
}

/// `place` alone when the rule is broken.
fn when(broken: bool, place: impl FnOnce() -> String) -> Vec<String> {
    if broken { vec![place()] } else { Vec::new() }
}

#[cfg(test)]
mod tests;
