//! The alert settings of stakater/Reloader, as sink settings: `confroll watch` tells its reloads by the same code.
//!
//! Invariants: what the peer takes is taken (`ALERT_ON_RELOAD` exactly `true`; `ALERT_SINK` trimmed, in any case, and
//! anything unknown is raw); what would have lost every alert there is refused here.
//! Left out: everything that only `confroll sink` can set, which has its defaults.

use super::destinations::Destinations;
use super::sink_settings::{Network, network};
use super::variables::{SettingsError, Variables, unreadable};
use crate::announce::destination::WebhookUrl;
use crate::announce::sink_kind::SinkKind;
use crate::announce::style::Style;
use crate::announce::text::clean;

/// Where the peer's alerts go.
#[derive(Clone, Debug)]
pub struct AlertSettings {
    /// The one destination, `default`.
    pub destinations: Destinations,
    /// The way there.
    pub network: Network,
    /// The look.
    pub style: Style,
}

impl AlertSettings {
    /// Reads the settings; `None` where alerts are not asked for.
    pub fn read(variables: &Variables) -> Result<Option<Self>, SettingsError> {
        if variables.exactly("ALERT_ON_RELOAD") != Some("true") {
            return Ok(None);
        }
        let kind = match variables.get("ALERT_SINK").unwrap_or_default().to_lowercase().as_str() {
            "slack" => SinkKind::Slack,
            "teams" => SinkKind::Teams,
            "gchat" => SinkKind::GoogleChat,
            _ => SinkKind::PlainText,
        };
        let url = variables.get("ALERT_WEBHOOK_URL").ok_or_else(|| {
            unreadable(
                "ALERT_WEBHOOK_URL",
                "is not set, though ALERT_ON_RELOAD is true; write the webhook's URL into it",
            )
        })?;
        let url =
            WebhookUrl::parse(kind, url).map_err(|problem| unreadable("ALERT_WEBHOOK_URL", problem.to_string()))?;
        let network = network("ALERT_WEBHOOK_PROXY", variables.get("ALERT_WEBHOOK_PROXY"), None)?;
        let info = variables.get("ALERT_ADDITIONAL_INFO").and_then(|text| clean(text, 300));
        Ok(Some(Self {
            destinations: Destinations { kind, folder: None, default_url: Some(url) },
            network,
            style: Style { prefix: info.map(|info| format!("{info} :")), ..Style::default() },
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<AlertSettings>, SettingsError> {
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        AlertSettings::read(&variables.collect())
    }

    const URL: (&str, &str) = ("ALERT_WEBHOOK_URL", "https://chat.example/hunter2");

    #[test]
    fn only_exactly_true_asks_for_alerts() {
        for text in ["", " true", "false", "True", "TRUE", "1", "yes"] {
            assert!(read(&[("ALERT_ON_RELOAD", text), URL]).unwrap().is_none(), "{text}");
        }
        assert!(read(&[URL]).unwrap().is_none());
        assert!(read(&[("ALERT_ON_RELOAD", "true"), URL]).unwrap().is_some());
    }

    #[test]
    fn a_sink_is_trimmed_and_has_any_case_and_an_unknown_one_is_raw() {
        let rows = [
            ("slack", SinkKind::Slack),
            (" Slack ", SinkKind::Slack),
            ("TEAMS", SinkKind::Teams),
            ("gChat", SinkKind::GoogleChat),
            ("webhook", SinkKind::PlainText),
            ("", SinkKind::PlainText),
        ];
        for (text, kind) in rows {
            let settings = read(&[("ALERT_ON_RELOAD", "true"), ("ALERT_SINK", text), URL]).unwrap().unwrap();
            assert_eq!(settings.destinations.kind, kind, "{text}");
        }
    }

    #[test]
    fn what_cannot_work_is_refused_without_the_url() {
        let missing = read(&[("ALERT_ON_RELOAD", "true")]).unwrap_err().to_string();
        assert!(missing.contains("ALERT_WEBHOOK_URL"), "{missing}");
        for (name, value) in [("ALERT_WEBHOOK_URL", "hunter2"), ("ALERT_WEBHOOK_PROXY", "hunter2")] {
            let text = read(&[("ALERT_ON_RELOAD", "true"), URL, (name, value)]).unwrap_err().to_string();
            assert!(text.contains(name) && !text.contains("hunter2"), "{text}");
        }
    }

    #[test]
    fn additional_info_comes_first_and_debug_shows_no_url() {
        let settings =
            read(&[("ALERT_ON_RELOAD", "true"), ("ALERT_ADDITIONAL_INFO", "Cluster: prod"), URL]).unwrap().unwrap();
        assert_eq!(settings.style.prefix.as_deref(), Some("Cluster: prod :"));
        assert!(!format!("{settings:?}").contains("hunter2"));
    }
}
