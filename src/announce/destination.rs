//! Where messages go: a name that may be shown, and a URL that may not, as whoever knows it can post.
//!
//! Invariants: a webhook URL prints as nothing, in any format, at any level; what is wrong with one is said without
//! quoting it. Left out: where URLs are kept (edge/destinations.rs).

use std::fmt;

use url::{Host, Url};

use super::sink_kind::SinkKind;

/// The name of a destination: `[a-z0-9-]`, 1 to 63 of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DestinationName(String);

impl DestinationName {
    /// The destination of `/`.
    #[must_use]
    pub fn default_one() -> Self {
        Self("default".to_owned())
    }

    /// Reads a name; `None` where it is none.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (1..=63).contains(&text.len())
            && text.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-');
        fits.then(|| Self(text.to_owned()))
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The name as it is shown where the kind is of interest: `slack:team-a`.
    #[must_use]
    pub fn of_kind(&self, kind: SinkKind) -> String {
        format!("{}:{}", kind.as_str(), self.0)
    }
}

/// The secret address of a channel.
#[derive(Clone, PartialEq, Eq)]
pub struct WebhookUrl(Url);

impl fmt::Debug for WebhookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[webhook URL]")
    }
}

/// What is wrong with a webhook URL; each sentence goes on from what holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlProblem {
    /// Nothing is there.
    #[error("is empty; write the webhook's URL into it")]
    Empty,
    /// It cannot be read as one.
    #[error("holds no URL; write the webhook's URL into it, without quotes, and nothing else")]
    NoUrl,
    /// It would be sent in the clear.
    #[error("holds a URL that is not https; only a loopback address may be http")]
    NotHttps,
    /// It is of another service.
    #[error("holds a URL of another service; `confroll sink {}` is the one for it", .0.as_str())]
    OtherService(SinkKind),
    /// Slack's Workflow Builder.
    #[error(
        "holds a URL of Slack's Workflow Builder, which takes no messages; make an incoming webhook (hooks.slack.com/services/…)"
    )]
    SlackWorkflow,
    /// A shell took a part of it.
    #[error("holds a URL that lacks key or token; copy all of it, in quotes, as a shell takes & for its own")]
    ChatQuery,
}

/// What is odd about a webhook URL, though it may work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UrlDoubt {
    /// The service may have a new host, or the URL may be wrong.
    #[error("its host is not known to speak that")]
    UnknownHost,
    /// It is of a chat service, which takes no events.
    #[error("its host is that of a chat; `confroll sink {}` is the one for it", .0.as_str())]
    Chat(SinkKind),
}

impl WebhookUrl {
    /// Reads the URL of a webhook of that kind.
    pub fn parse(kind: SinkKind, text: &str) -> Result<Self, UrlProblem> {
        let text = text.trim();
        if text.is_empty() {
            return Err(UrlProblem::Empty);
        }
        if text.chars().any(|c| c.is_whitespace() || c.is_control() || c == '"' || c == '\'') {
            return Err(UrlProblem::NoUrl);
        }
        let url = Url::parse(text).ok().filter(Url::has_host).ok_or(UrlProblem::NoUrl)?;
        match url.scheme() {
            "https" => {}
            // The peer's raw sink takes any; what it is sent holds no secret.
            "http" if is_loopback(&url) || kind == SinkKind::PlainText => {}
            "http" => return Err(UrlProblem::NotHttps),
            _ => return Err(UrlProblem::NoUrl),
        }
        match speaks(&url) {
            Some(other) if other != kind && !kind.hosts().is_empty() => return Err(UrlProblem::OtherService(other)),
            Some(SinkKind::Slack) if kind == SinkKind::Slack && !url.path().starts_with("/services/") => {
                return Err(UrlProblem::SlackWorkflow);
            }
            Some(SinkKind::GoogleChat) if kind == SinkKind::GoogleChat => {
                let has = |wanted: &str| url.query_pairs().any(|(name, value)| name == wanted && !value.is_empty());
                if !(has("key") && has("token")) {
                    return Err(UrlProblem::ChatQuery);
                }
            }
            _ => {}
        }
        Ok(Self(url))
    }

    /// What is odd about it.
    #[must_use]
    pub fn doubt(&self, kind: SinkKind) -> Option<UrlDoubt> {
        match speaks(&self.0) {
            Some(spoken) if spoken != kind => Some(UrlDoubt::Chat(spoken)),
            None if !kind.hosts().is_empty() && !is_loopback(&self.0) => Some(UrlDoubt::UnknownHost),
            _ => None,
        }
    }

    /// The URL itself, to send a request to and for nothing else, with these parameters merged into its query.
    #[must_use]
    pub fn to_request_url(&self, query: &[(&'static str, String)]) -> Url {
        let mut url = self.0.clone();
        let is_there = |wanted: &str| self.0.query_pairs().any(|(name, _)| name == wanted);
        // Only appends: what is there is not decoded and encoded again, and what its owner wrote wins.
        for (name, value) in query.iter().filter(|(name, _)| !is_there(name)) {
            url.query_pairs_mut().append_pair(name, value);
        }
        url
    }
}

/// The service whose host it is.
fn speaks(url: &Url) -> Option<SinkKind> {
    let host = url.host_str()?.trim_end_matches('.');
    let is = |known: &&str| if known.starts_with('.') { host.ends_with(*known) } else { host == *known };
    [SinkKind::Slack, SinkKind::GoogleChat, SinkKind::Teams].into_iter().find(|kind| kind.hosts().iter().any(is))
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_is_taken_where_it_can_work() {
        use SinkKind::{GoogleChat, Slack, Teams, Webhook};
        let chat = "https://chat.googleapis.com/v1/spaces/A/messages?key=hunter2&token=hunter2";
        let teams = "https://x.0a.environment.api.powerplatform.com:443/powerautomate/a?sig=hunter2";
        let rows = [
            (Slack, " https://hooks.slack.com/services/T/B/hunter2\n", None),
            (Slack, "https://hooks.slack-gov.com/services/T/B/hunter2", None),
            (Slack, "http://127.0.0.1:9/services/hunter2", None),
            (Slack, "http://localhost:9/hunter2", None),
            (Slack, "http://[::1]:9/hunter2", None),
            (Slack, "", Some(UrlProblem::Empty)),
            (Slack, "hunter2", Some(UrlProblem::NoUrl)),
            (Slack, "\"https://hooks.slack.com/services/hunter2\"", Some(UrlProblem::NoUrl)),
            (Slack, "https://a.example/hunter2 https://b.example", Some(UrlProblem::NoUrl)),
            (Slack, "ftp://hooks.slack.com/hunter2", Some(UrlProblem::NoUrl)),
            (Slack, "http://hooks.slack.com/services/hunter2", Some(UrlProblem::NotHttps)),
            (Slack, "https://hooks.slack.com/triggers/hunter2", Some(UrlProblem::SlackWorkflow)),
            (Slack, "https://hooks.slack.com/workflows/hunter2", Some(UrlProblem::SlackWorkflow)),
            (Slack, chat, Some(UrlProblem::OtherService(GoogleChat))),
            (GoogleChat, chat, None),
            (GoogleChat, "https://chat.googleapis.com/v1/spaces/A/messages?key=hunter2", Some(UrlProblem::ChatQuery)),
            (Teams, teams, None),
            (Teams, chat, Some(UrlProblem::OtherService(GoogleChat))),
            (Webhook, chat, None),
            (Webhook, "http://sink.example/hunter2", Some(UrlProblem::NotHttps)),
        ];
        for (kind, text, problem) in rows {
            let read = WebhookUrl::parse(kind, text);
            assert_eq!(read.as_ref().err().copied(), problem, "{kind:?} {text}");
            assert!(!format!("{read:?}").contains("hunter2"), "{kind:?} {text}");
            assert!(!problem.is_some_and(|problem| problem.to_string().contains("hunter2")));
        }
    }

    #[test]
    fn an_unknown_host_is_odd_and_works() {
        let doubt = |kind, text| WebhookUrl::parse(kind, text).unwrap().doubt(kind);
        assert_eq!(doubt(SinkKind::Teams, "https://prod.webhook.office.com/x"), Some(UrlDoubt::UnknownHost));
        assert_eq!(doubt(SinkKind::Slack, "https://hooks.slack.com/services/x"), None);
        assert_eq!(
            doubt(SinkKind::Slack, "https://hooks.slack.com.evil.example/services/x"),
            Some(UrlDoubt::UnknownHost)
        );
        assert_eq!(
            doubt(SinkKind::Webhook, "https://hooks.slack.com/services/x"),
            Some(UrlDoubt::Chat(SinkKind::Slack))
        );
        assert_eq!(doubt(SinkKind::Webhook, "https://any.example/x"), None);
    }

    #[test]
    fn parameters_join_the_query_that_is_there() {
        let url = WebhookUrl::parse(SinkKind::GoogleChat, "http://localhost/m?key=a%2Fb&token=c%3D").unwrap();
        let merged = url.to_request_url(&[("requestId", "1 2".to_owned())]);
        assert_eq!(merged.as_str(), "http://localhost/m?key=a%2Fb&token=c%3D&requestId=1+2");
        let there = url.to_request_url(&[("key", "other".to_owned())]);
        assert_eq!(there.as_str(), "http://localhost/m?key=a%2Fb&token=c%3D");
        assert_eq!(url.to_request_url(&[]).as_str(), "http://localhost/m?key=a%2Fb&token=c%3D");
    }

    #[test]
    fn a_name_is_one_part_of_a_path() {
        for name in ["team-a", "0", &"a".repeat(63)] {
            assert!(DestinationName::parse(name).is_some(), "{name}");
        }
        for name in ["", "Team", "a/b", "..", "a.b", "a_b", &"a".repeat(64), "ä"] {
            assert!(DestinationName::parse(name).is_none(), "{name}");
        }
    }
}
