//! What a service's answer, or the lack of one, means for a message.
//!
//! Invariants: the word in the body counts before the status, as some services say 200 and mean no; what is unknown is
//! tried again rather than lost, but for statuses that say it will never work.
//! Left out: what the Broker is told (edge/sink_refusal.rs).

use std::time::Duration;

use serde_json::Value;

use super::answer_words::{Meaning, WRONG_BODY, Word, later, word_of_status, words_of};
use super::sink_kind::SinkKind;

/// An answer, as far as it was read.
#[derive(Clone, Copy, Debug)]
pub struct Answer<'a> {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: &'a [u8],
    /// `Retry-After`.
    pub retry_after: Option<Duration>,
}

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The service has it.
    Posted,
    /// The service does not take this payload.
    PayloadRefused(&'static Word),
    /// The destination takes nothing.
    DestinationRefused(&'static Word),
    /// Too many messages; how long to wait, where it is said.
    TooFast(&'static Word, Option<Duration>),
    /// Nobody knows, or it was not there: it may work later.
    Unavailable(&'static Word),
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The host's name is not known.
    Name,
    /// Nobody listens, or nothing leads there.
    Connect,
    /// The certificate is not trusted, or TLS failed otherwise.
    Tls,
    /// The proxy did not let us through.
    Proxy,
    /// It took too long. The message may have been posted.
    Timeout,
    /// The connection ended in the middle. The message may have been posted.
    Closed,
}

impl Verdict {
    /// The word that says why; none for a message that was posted.
    #[must_use]
    pub fn word(self) -> Option<&'static Word> {
        match self {
            Self::Posted => None,
            Self::PayloadRefused(word)
            | Self::DestinationRefused(word)
            | Self::TooFast(word, _)
            | Self::Unavailable(word) => Some(word),
        }
    }

    /// The outcome in logs and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Posted => "posted",
            Self::PayloadRefused(_) => "payload-refused",
            Self::DestinationRefused(_) => "destination-refused",
            Self::TooFast(..) => "too-fast",
            Self::Unavailable(_) => "upstream-unavailable",
        }
    }

    fn of(word: &'static Word, retry_after: Option<Duration>) -> Self {
        match word.meaning {
            Meaning::Payload => Self::PayloadRefused(word),
            Meaning::Destination => Self::DestinationRefused(word),
            Meaning::TooFast => Self::TooFast(word, retry_after),
            Meaning::Later => Self::Unavailable(word),
            Meaning::Posted => Self::Posted,
        }
    }
}

impl NoAnswer {
    /// The word for it, with advice.
    #[must_use]
    pub fn word(self) -> &'static Word {
        static NAME: Word = later(
            "name-not-found",
            "the host's name cannot be resolved: check the URL, DNS and whether a proxy is needed",
        );
        static CONNECT: Word = later(
            "cannot-connect",
            "nothing answers there: check NetworkPolicies, egress rules and whether a proxy is needed",
        );
        static TLS: Word =
            later("tls-failed", "its certificate is not trusted: put your own CA into CONFROLL_EXTRA_CA_FILE");
        static PROXY: Word =
            later("proxy-refused", "the proxy did not open the way: check its URL, its login and what it allows");
        static TIMEOUT: Word =
            later("timeout", "it took too long: check egress rules, and whether the service has an incident");
        static CLOSED: Word = later(
            "connection-closed",
            "the connection ended in the middle: try again, then look at proxies on the way",
        );
        match self {
            Self::Name => &NAME,
            Self::Connect => &CONNECT,
            Self::Tls => &TLS,
            Self::Proxy => &PROXY,
            Self::Timeout => &TIMEOUT,
            Self::Closed => &CLOSED,
        }
    }

    /// What it means: it may work later.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        Verdict::Unavailable(self.word())
    }
}

/// What a status alone means, where the kind's answers have nothing more to say.
#[must_use]
pub fn verdict_of_status(kind: SinkKind, status: u16) -> Option<Verdict> {
    match kind {
        SinkKind::Webhook | SinkKind::PlainText if (200..300).contains(&status) => Some(Verdict::Posted),
        SinkKind::Teams if status == 202 => Some(Verdict::Posted),
        _ => None,
    }
}

/// What an answer of that kind of service means.
#[must_use]
pub fn verdict(kind: SinkKind, answer: Answer<'_>) -> Verdict {
    if let Some(verdict) = verdict_of_status(kind, answer.status) {
        return verdict;
    }
    let text = String::from_utf8_lossy(answer.body);
    let json: Option<Value> = serde_json::from_str(&text).ok();
    if let Some(word) = known_word(kind, text.trim(), json.as_ref()) {
        return Verdict::of(word, answer.retry_after);
    }
    if !(200..300).contains(&answer.status) {
        return Verdict::of(word_of_status(answer.status), answer.retry_after);
    }
    let is_success = match kind {
        SinkKind::Slack => answer.status == 200 && text.trim() == "ok",
        SinkKind::GoogleChat => {
            json.as_ref().and_then(Value::as_object).is_some_and(|json| !json.contains_key("error"))
        }
        // What a flow's own response says; a page is a proxy's, and the connectors of old told
        // of failures in prose.
        SinkKind::Teams => !text.trim_start().starts_with('<') && !text.contains("delivery failed"),
        SinkKind::Webhook | SinkKind::PlainText => true,
    };
    if is_success { Verdict::Posted } else { Verdict::Unavailable(&WRONG_BODY) }
}

/// The first word in the places where services put one that is in the kind's table.
fn known_word(kind: SinkKind, text: &str, json: Option<&Value>) -> Option<&'static Word> {
    let in_json = json.into_iter().flat_map(|json| {
        ["/error/code", "/error/status", "/error", "/status", "/code"].map(|place| json.pointer(place)?.as_str())
    });
    let candidates = in_json.flatten().chain([text]);
    candidates.into_iter().find_map(|found| words_of(kind).iter().find(|word| word.word == found))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(kind: SinkKind, status: u16, body: &str) -> (&'static str, &'static str) {
        let answer = Answer { status, body: body.as_bytes(), retry_after: None };
        let verdict = verdict(kind, answer);
        (verdict.as_str(), verdict.word().map_or("", |word| word.word))
    }

    /// What sections 1.3, 2 and 3 of the services' descriptions list, and what stands between us and them.
    #[test]
    fn every_answer_has_its_meaning() {
        use SinkKind::{GoogleChat, PlainText, Slack, Teams, Webhook};
        let wrapped = |status: &str| format!(r#"{{"error":{{"code":400,"message":"hunter2","status":"{status}"}}}}"#);
        let flat = |status: &str| format!(r#"{{"code":400,"message":"hunter2","status":"{status}"}}"#);
        let flow = |code: &str| format!(r#"{{"error":{{"code":"{code}","message":"hunter2"}}}}"#);
        let limited = r#"{"retry_after":1,"ok":false,"error":"rate_limited"}"#;
        let page = "<html>hunter2</html>";
        let rows: Vec<(SinkKind, u16, String, &str, &str)> = vec![
            (Slack, 200, "ok".into(), "posted", ""),
            (Slack, 200, "ok\n".into(), "posted", ""),
            (Slack, 200, page.into(), "upstream-unavailable", "wrong-body"),
            (Slack, 200, r#"{"ok":false,"error":"no_service"}"#.into(), "destination-refused", "no_service"),
            (Slack, 202, "ok".into(), "upstream-unavailable", "wrong-body"),
            (Slack, 400, "invalid_payload".into(), "payload-refused", "invalid_payload"),
            (Slack, 400, "invalid_blocks".into(), "payload-refused", "invalid_blocks"),
            (Slack, 400, "something_new".into(), "payload-refused", "bad-request"),
            (Slack, 403, "action_prohibited".into(), "destination-refused", "action_prohibited"),
            (Slack, 403, "invalid_token".into(), "destination-refused", "invalid_token"),
            (Slack, 404, "no_service".into(), "destination-refused", "no_service"),
            (Slack, 404, page.into(), "destination-refused", "not-found"),
            (Slack, 410, "channel_is_archived".into(), "destination-refused", "channel_is_archived"),
            (Slack, 429, limited.into(), "too-fast", "rate_limited"),
            (Slack, 429, String::new(), "too-fast", "too-many-requests"),
            (Slack, 500, "rollup_error".into(), "upstream-unavailable", "rollup_error"),
            (Slack, 503, page.into(), "upstream-unavailable", "server-error"),
            (Slack, 302, String::new(), "destination-refused", "redirect"),
            (Slack, 407, page.into(), "upstream-unavailable", "proxy-wants-a-login"),
            (GoogleChat, 200, r#"{"name":"spaces/A/messages/1"}"#.into(), "posted", ""),
            (GoogleChat, 200, page.into(), "upstream-unavailable", "wrong-body"),
            (GoogleChat, 200, String::new(), "upstream-unavailable", "wrong-body"),
            (GoogleChat, 400, wrapped("INVALID_ARGUMENT"), "payload-refused", "INVALID_ARGUMENT"),
            (GoogleChat, 400, flat("INVALID_ARGUMENT"), "payload-refused", "INVALID_ARGUMENT"),
            (GoogleChat, 401, wrapped("UNAUTHENTICATED"), "destination-refused", "UNAUTHENTICATED"),
            (GoogleChat, 403, wrapped("PERMISSION_DENIED"), "destination-refused", "PERMISSION_DENIED"),
            (GoogleChat, 404, flat("NOT_FOUND"), "destination-refused", "NOT_FOUND"),
            (GoogleChat, 429, wrapped("RESOURCE_EXHAUSTED"), "too-fast", "RESOURCE_EXHAUSTED"),
            (GoogleChat, 503, wrapped("UNAVAILABLE"), "upstream-unavailable", "UNAVAILABLE"),
            (GoogleChat, 502, page.into(), "upstream-unavailable", "server-error"),
            (Teams, 202, String::new(), "posted", ""),
            (Teams, 200, "1".into(), "posted", ""),
            (Teams, 200, page.into(), "upstream-unavailable", "wrong-body"),
            (Teams, 200, "Webhook message delivery failed with error: …".into(), "upstream-unavailable", "wrong-body"),
            (Teams, 400, flow("WorkflowTriggerIsNotEnabled"), "destination-refused", "WorkflowTriggerIsNotEnabled"),
            (Teams, 400, flow("TriggerInputSchemaMismatch"), "payload-refused", "TriggerInputSchemaMismatch"),
            (
                Teams,
                401,
                flow("DirectApiAuthorizationRequired"),
                "destination-refused",
                "DirectApiAuthorizationRequired",
            ),
            (Teams, 404, flow("WorkflowNotFound"), "destination-refused", "WorkflowNotFound"),
            (Teams, 413, String::new(), "payload-refused", "too-large"),
            (Teams, 429, flow("Later"), "too-fast", "too-many-requests"),
            (Webhook, 200, page.into(), "posted", ""),
            (Webhook, 204, String::new(), "posted", ""),
            (Webhook, 400, String::new(), "payload-refused", "bad-request"),
            (Webhook, 401, String::new(), "destination-refused", "unauthorized"),
            (Webhook, 409, String::new(), "destination-refused", "refused"),
            (Webhook, 408, String::new(), "upstream-unavailable", "request-timeout"),
            (PlainText, 201, String::new(), "posted", ""),
        ];
        for (kind, status, body, outcome, word) in rows {
            assert_eq!(said(kind, status, &body), (outcome, word), "{kind:?} {status} {body}");
        }
    }

    #[test]
    fn every_word_of_a_table_means_what_it_says_and_has_advice() {
        for kind in [SinkKind::Slack, SinkKind::GoogleChat, SinkKind::Teams] {
            for word in words_of(kind) {
                let body = format!(r#"{{"error":{{"code":"{}"}}}}"#, word.word);
                let expected = if word.meaning == Meaning::Posted { "" } else { word.word };
                assert_eq!(said(kind, 400, &body).1, expected);
                assert!(word.advice.len() > 20, "{}", word.word);
            }
        }
    }
}
