//! The services that the stand-in speaks for, and where a webhook of each lives. Invariant: every webhook URL
//! holds [`CANARY`], so that a leak of any part of it can be searched for by one word. No HTTP here.

use std::fmt;

/// Part of the secret of every webhook URL. Found in a log or an answer, it proves a leak.
pub const CANARY: &str = "hunter2canary";

/// A chat service, or a plain receiver of CloudEvents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// An incoming webhook of a Slack app.
    Slack,
    /// A webhook of a Google Chat space.
    GoogleChat,
    /// A Power Automate flow that posts into Teams.
    Teams,
    /// Any receiver of CloudEvents over HTTP.
    Webhook,
}

impl Service {
    /// All services, in the order of the specification.
    pub const ALL: [Self; 4] = [Self::Slack, Self::GoogleChat, Self::Teams, Self::Webhook];

    /// The word for this service in settings and on the page.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Slack => "slack",
            Self::GoogleChat => "google-chat",
            Self::Teams => "teams",
            Self::Webhook => "webhook",
        }
    }

    /// The path and query of the webhook of a channel. In Google Chat `a~b` is webhook `b` of space `a`.
    #[must_use]
    pub fn webhook_path(self, channel: &str) -> String {
        match self {
            Self::Slack => format!("/services/T000/B{channel}/{CANARY}"),
            Self::GoogleChat => format!("/v1/spaces/{channel}/messages?key={CANARY}key&token={CANARY}token"),
            Self::Teams => format!(
                "/powerautomate/automations/direct/workflows/{channel}/triggers/manual/paths/invoke\
                 ?api-version=1&sp=x&sv=1.0&sig={CANARY}"
            ),
            Self::Webhook => format!("/hook/{channel}/{CANARY}"),
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
