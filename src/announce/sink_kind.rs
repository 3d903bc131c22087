//! The kinds of sinks: what is sent, and how fast each service takes it.
//!
//! Invariant: whatever differs between kinds by value is a row here; what differs by form is a file of its own.

use std::time::Duration;

use super::pace::Pace;

/// What a sink speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SinkKind {
    /// Slack's incoming webhooks.
    Slack,
    /// Google Chat's incoming webhooks.
    GoogleChat,
    /// Microsoft Teams, by a Power Automate workflow.
    Teams,
    /// Any HTTP service: the reload event itself, unchanged.
    Webhook,
    /// Any HTTP service: one line of text a reload. Only the peer's `ALERT_SINK` asks for it.
    PlainText,
}

impl SinkKind {
    /// Those that `confroll sink` offers.
    pub const OFFERED: [Self; 4] = [Self::Slack, Self::GoogleChat, Self::Teams, Self::Webhook];

    /// The name in commands, logs and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Slack => "slack",
            Self::GoogleChat => "google-chat",
            Self::Teams => "teams",
            Self::Webhook => "webhook",
            Self::PlainText => "plain-text",
        }
    }

    /// Hosts that speak this kind: a name, or the end of one where it begins with a dot. None: any host may.
    #[must_use]
    pub fn hosts(self) -> &'static [&'static str] {
        match self {
            Self::Slack => &["hooks.slack.com", "hooks.slack-gov.com"],
            Self::GoogleChat => &["chat.googleapis.com"],
            Self::Teams => &[".api.powerplatform.com", ".api.powerplatform.us"],
            Self::Webhook | Self::PlainText => &[],
        }
    }

    /// How fast messages may follow each other. `window` is the setting `CONFROLL_BATCH_WINDOW`.
    ///
    /// One message a second a channel is what Slack and Google Chat document; Teams is not told in numbers.
    #[must_use]
    pub fn pace(self, window: Duration) -> Pace {
        match self {
            Self::Slack | Self::GoogleChat | Self::Teams => {
                Pace { gap: Duration::from_secs(1), window, early: 50, batch: 1000, in_flight: 1 }
            }
            Self::Webhook | Self::PlainText => {
                Pace { gap: Duration::ZERO, window: Duration::ZERO, early: 1, batch: 1, in_flight: 32 }
            }
        }
    }
}
