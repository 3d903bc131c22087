//! How messages look, as the operator set it.
//!
//! Invariant: a mention comes from here and never from an event.

use super::sink_kind::SinkKind;

/// The look of all messages of a sink.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Style {
    /// Put before each title.
    pub prefix: Option<String>,
    /// Who is called when a reload failed, as the service writes it.
    pub mention_on_failure: Option<Mention>,
    /// Whose keys are named.
    pub keys: ShownKeys,
    /// What a thread is about, where the service has threads.
    pub thread_by: ThreadBy,
}

/// Whose changed keys are named. Never their values, which no event holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ShownKeys {
    /// No keys.
    None,
    /// Those of ConfigMaps.
    #[default]
    ConfigMap,
    /// Those of Secrets too.
    All,
}

/// What the messages of one thread have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ThreadBy {
    /// No threads.
    #[default]
    None,
    /// The workload.
    Workload,
    /// The sources that changed.
    Source,
}

/// A call for somebody, such as `<!subteam^S0123>` in Slack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mention(String);

impl Mention {
    /// Reads a mention as `kind` writes it. The error says how it is written.
    pub fn parse(kind: SinkKind, text: &str) -> Result<Self, String> {
        let inner = text.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        let is_id = |id: &str| !id.is_empty() && id.chars().all(|c| c.is_ascii_alphanumeric());
        let (fits, written) = match kind {
            SinkKind::Slack => {
                let is_mention = |inner: &str| {
                    matches!(inner, "!here" | "!channel")
                        || ["@", "!subteam^"].iter().any(|mark| inner.strip_prefix(mark).is_some_and(is_id))
                };
                (inner.is_some_and(is_mention), "write <!subteam^ID>, <@ID>, <!here> or <!channel>")
            }
            SinkKind::GoogleChat => {
                let is_mention = |inner: &str| inner.strip_prefix("users/").is_some_and(is_id);
                (inner.is_some_and(is_mention), "write <users/ID> or <users/all>")
            }
            SinkKind::Teams | SinkKind::Webhook | SinkKind::PlainText => (false, "only Slack and Google Chat have it"),
        };
        if fits { Ok(Self(text.to_owned())) } else { Err(format!("is no mention; {written}")) }
    }

    /// The mention as the service reads it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mention_is_read_only_as_its_service_writes_it() {
        let rows = [
            (SinkKind::Slack, "<!subteam^S0123>", true),
            (SinkKind::Slack, "<@U1>", true),
            (SinkKind::Slack, "<!here>", true),
            (SinkKind::Slack, "@here", false),
            (SinkKind::Slack, "<!subteam^>", false),
            (SinkKind::Slack, "<!here> <!channel>", false),
            (SinkKind::GoogleChat, "<users/123>", true),
            (SinkKind::GoogleChat, "<users/all>", true),
            (SinkKind::GoogleChat, "<!here>", false),
            (SinkKind::Teams, "<at>all</at>", false),
        ];
        for (kind, text, fits) in rows {
            assert_eq!(Mention::parse(kind, text).is_ok(), fits, "{kind:?} {text}");
        }
    }
}
