//! What `confroll watch` can be set to, besides what it has in common with `confroll serve`.
//!
//! Invariant: a setting of `confroll serve` that means nothing to a process that receives no events is refused, as a setting
//! without effect is worse than none.
//! Left out: what both have in common (config.rs), and alerts (alert_settings.rs).

use std::time::Duration;

use super::alert_settings::AlertSettings;
use super::config::Settings;
use super::serve_variables::Ours;
use super::setting_text::duration;
use super::variables::{SettingsError, Variables, read, unreadable, written};

/// Everything that can be set.
#[derive(Clone, Debug)]
pub struct WatchSettings {
    /// What `confroll serve` has too.
    pub common: Settings,
    /// How often everything is looked at, whatever the watches told.
    pub sync_period: Duration,
    /// Where alerts go, as the peer has them; `None` sends none.
    pub alerts: Option<AlertSettings>,
}

impl WatchSettings {
    /// Reads the settings.
    pub fn read(variables: &Variables) -> Result<Self, SettingsError> {
        let ours: Ours = variables.ours("watch")?;
        for (name, value) in [
            ("CONFROLL_AUDIENCE", &ours.audience),
            ("CONFROLL_CALLERS", &ours.callers),
            ("CONFROLL_LONGEST_BODY", &ours.longest_body),
            ("CONFROLL_REQUEST_DEADLINE", &ours.request_deadline),
        ] {
            if written(value.as_deref()).is_some() {
                return Err(unreadable(name, "is for confroll serve; confroll watch receives no events, so unset it"));
            }
        }
        if written(ours.sweep_at_start.as_deref()).is_some() {
            return Err(unreadable(
                "CONFROLL_SWEEP_AT_START",
                "is for confroll serve; confroll watch always does, so unset it",
            ));
        }
        Ok(Self {
            common: Settings::of(&ours, variables)?,
            sync_period: read("CONFROLL_SYNC_PERIOD", ours.sync_period.as_deref(), "10m", period)?,
            alerts: AlertSettings::read(variables)?,
        })
    }
}

/// A sweep costs some lists of everything, so there is a shortest period.
fn period(text: &str) -> Result<Duration, String> {
    let period = duration(text)?;
    if period < Duration::from_secs(1) { Err("is too short; write 1s or more".to_owned()) } else { Ok(period) }
}
