//! The settings of `confroll serve`, and what `confroll watch` has in common with it, read from the environment once.
//!
//! Invariant: a secret is held in a type that does not show it.
//! Left out: where the API server is (kube reads KUBECONFIG and the service account itself), and what only `confroll watch`
//! has (watch_settings.rs).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

use reqwest::Url;
use serde::Deserialize;

use super::callers::CallerRules;
use super::key_secret::{KeyError, KeySecret};
use super::rule_settings::{KeySetting, digest_key, rules};
use super::serve_variables::Ours;
use super::setting_text::{at_start, cluster, count, count_by, duration, kube_events, link};
use super::variables::{Log, SettingsError, Variables, log, read, unreadable, written};
use crate::reload::digest::DigestKey;
use crate::reload::link::LinkTemplate;
use crate::reload::rules::Rules;

/// Everything that can be set.
#[derive(Clone, Debug)]
pub struct Settings {
    /// `ADDRESS` and `PORT`: where events are received.
    pub listen: SocketAddr,
    /// Where reload events go; `None` sends none.
    pub sink: Option<Sink>,
    /// What this cluster is called in reload events.
    pub cluster: String,
    /// A page about a workload, for reload events.
    pub link: Option<LinkTemplate>,
    /// The rules of every decision.
    pub rules: Rules,
    /// Where the digest key came from.
    pub key_origin: KeyOrigin,
    /// How a run goes about its work.
    pub pace: Pace,
    /// Whether to look at everything once at the start.
    pub sweep_at_start: AtStart,
    /// Who may send events; `None`: whoever can reach us.
    pub callers: Option<CallerRules>,
    /// Whether Events are made that `kubectl describe` shows on workloads.
    pub kube_events: KubeEvents,
    /// Whether reloads are counted by namespace too.
    pub count_by: CountBy,
    /// The longest body of an event, in bytes.
    pub longest_body: usize,
    /// How much is logged, and how.
    pub log: Log,
}

/// How fast, how long and how much at once.
#[derive(Clone, Debug)]
pub struct Pace {
    /// How long a workload with several sources waits for changes of the others.
    pub settle: Duration,
    /// How many patches are on their way at once.
    pub patches: usize,
    /// How many events are at work or wait, before others are given back at once.
    pub events: usize,
    /// After how long a call to the API server is given up.
    pub call_deadline: Duration,
    /// After how long an event is answered with 503, whatever is still open.
    pub request_deadline: Duration,
}

/// Whether the digest key is a secret at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyOrigin {
    /// The operator gave one, or it was read.
    Given,
    /// It is still to be read.
    InSecret(KeySecret),
    /// None was given, so everybody knows it.
    Fixed,
}

/// Whether Kubernetes Events are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KubeEvents {
    /// One for each report.
    Made,
    /// None: every rollout costs one request less.
    Unwanted,
}

/// What reloads are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CountBy {
    /// How they went.
    Outcome,
    /// And by namespace, of which there may be many.
    Namespace,
}

/// What is done at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtStart {
    /// A sweep.
    Sweep,
    /// Nothing: a function starts at each event.
    Wait,
}

/// Where reload events go. The URL may hold a credential, so it is not shown.
#[derive(Clone)]
pub struct Sink {
    /// `K_SINK`.
    pub url: Url,
    /// The extensions of `K_CE_OVERRIDES`.
    pub extensions: BTreeMap<String, String>,
    /// `K_CA_CERTS`: certificates to trust besides the system's, as PEM.
    pub ca_certs: Option<String>,
}

impl fmt::Debug for Sink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sink({})", self.url.host_str().unwrap_or("?"))
    }
}

impl Settings {
    /// Reads the settings.
    pub fn read(variables: &Variables) -> Result<Self, SettingsError> {
        let ours: Ours = variables.ours("serve")?;
        if written(ours.sync_period.as_deref()).is_some() {
            return Err(unreadable(
                "CONFROLL_SYNC_PERIOD",
                "is for confroll watch; a PingSource asks confroll serve for sweeps",
            ));
        }
        Self::of(&ours, variables)
    }

    /// Reads what two commands have in common.
    pub(super) fn of(ours: &Ours, variables: &Variables) -> Result<Self, SettingsError> {
        let key = digest_key(ours)?;
        Ok(Self {
            listen: variables.listen()?,
            sink: sink(variables)?,
            cluster: read("CONFROLL_CLUSTER", ours.cluster.as_deref(), "default", cluster)?,
            link: written(ours.link.as_deref())
                .map(link)
                .transpose()
                .map_err(|problem| unreadable("CONFROLL_LINK", problem))?,
            rules: rules(ours, &key)?,
            key_origin: match key {
                KeySetting::Given(_) => KeyOrigin::Given,
                KeySetting::InSecret(secret) => KeyOrigin::InSecret(secret),
                KeySetting::Fixed => KeyOrigin::Fixed,
            },
            pace: pace(ours)?,
            sweep_at_start: read("CONFROLL_SWEEP_AT_START", ours.sweep_at_start.as_deref(), "false", at_start)?,
            callers: callers(ours)?,
            kube_events: read("CONFROLL_KUBERNETES_EVENTS", ours.kubernetes_events.as_deref(), "true", kube_events)?,
            count_by: read("CONFROLL_METRICS_BY_NAMESPACE", ours.metrics_by_namespace.as_deref(), "false", count_by)?,
            longest_body: read("CONFROLL_LONGEST_BODY", ours.longest_body.as_deref(), "4194304", count)?,
            log: log(ours.log_level.as_deref(), ours.log_format.as_deref())?,
        })
    }

    /// The same with the digest key, where it is in a Secret that has to be read, or made.
    pub async fn with_key(mut self, client: &kube::Client) -> Result<Self, KeyError> {
        if let KeyOrigin::InSecret(secret) = &self.key_origin {
            self.rules.digest_key = DigestKey::new(&secret.key(client, self.pace.call_deadline).await?);
            self.key_origin = KeyOrigin::Given;
        }
        Ok(self)
    }

    /// Settings for tests: loopback, a free port, no sink and no Events, so that requests are those of the work itself.
    #[must_use]
    pub fn for_testing() -> Self {
        let variables = [("ADDRESS", "127.0.0.1"), ("PORT", "0"), ("CONFROLL_DIGEST_KEY", "for testing")];
        let variables = variables.into_iter().chain([("CONFROLL_KUBERNETES_EVENTS", "false")]);
        let variables = variables.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Self::read(&variables.into_iter().collect()).unwrap_or_else(|error| unreachable!("{error}"))
    }
}

/// Both or none: a token for us of whoever has one is as good as none.
fn callers(ours: &Ours) -> Result<Option<CallerRules>, SettingsError> {
    const CALLERS: &str = "CONFROLL_CALLERS";
    match (written(ours.audience.as_deref()), written(ours.callers.as_deref())) {
        (None, None) => Ok(None),
        (Some(audience), Some(subjects)) => {
            let subjects = subjects.split(',').map(str::trim).filter(|subject| !subject.is_empty());
            Ok(Some(CallerRules { audience: audience.to_owned(), subjects: subjects.map(str::to_owned).collect() }))
        }
        (Some(_), None) => Err(unreadable(CALLERS, "is not set, though CONFROLL_AUDIENCE is; say who may send events")),
        (None, Some(_)) => Err(unreadable("CONFROLL_AUDIENCE", "is not set, though CONFROLL_CALLERS is; set both")),
    }
}

fn pace(ours: &Ours) -> Result<Pace, SettingsError> {
    Ok(Pace {
        settle: read("CONFROLL_SETTLE", ours.settle.as_deref(), "250ms", duration)?,
        patches: read("CONFROLL_PATCHES", ours.patches.as_deref(), "32", count)?,
        events: read("CONFROLL_EVENTS", ours.events.as_deref(), "2000", count)?,
        call_deadline: read("CONFROLL_CALL_DEADLINE", ours.call_deadline.as_deref(), "10s", duration)?,
        request_deadline: read("CONFROLL_REQUEST_DEADLINE", ours.request_deadline.as_deref(), "25s", duration)?,
    })
}

#[derive(Default, Deserialize)]
struct Overrides {
    #[serde(default)]
    extensions: BTreeMap<String, String>,
}

fn sink(variables: &Variables) -> Result<Option<Sink>, SettingsError> {
    let set = |name| variables.get(name);
    let Some(url) = set("K_SINK") else { return Ok(None) };
    let url = Url::parse(url)
        .ok()
        .filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
        .ok_or_else(|| unreadable("K_SINK", "is no http or https URL"))?;
    let overrides: Overrides = match set("K_CE_OVERRIDES") {
        None => Overrides::default(),
        Some(text) => serde_json::from_str(text)
            .map_err(|_| unreadable("K_CE_OVERRIDES", r#"is no JSON like {"extensions": {"team": "shop"}}"#))?,
    };
    let is_name =
        |name: &String| !name.is_empty() && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    if !overrides.extensions.keys().all(is_name) {
        return Err(unreadable("K_CE_OVERRIDES", "names an extension with other characters than a-z and 0-9"));
    }
    Ok(Some(Sink { url, extensions: overrides.extensions, ca_certs: set("K_CA_CERTS").map(str::to_owned) }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edge::serve_variables::serve_settings_help;
    use crate::reload::opt_in::Unmarked;

    fn settings(variables: &[(&str, &str)]) -> Settings {
        let variables = variables.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        Settings::read(&variables.collect()).unwrap()
    }

    #[test]
    fn without_variables_the_defaults_are_those_of_the_help() {
        let settings = settings(&[]);
        assert_eq!(settings.listen.to_string(), "0.0.0.0:8080");
        assert_eq!((settings.pace.settle, settings.pace.patches), (Duration::from_millis(250), 32));
        assert_eq!(settings.pace.call_deadline, Duration::from_secs(10));
        assert_eq!(settings.pace.request_deadline, Duration::from_secs(25));
        assert_eq!((settings.longest_body, settings.cluster.as_str()), (4 << 20, "default"));
        assert_eq!((settings.key_origin, settings.rules.unmarked), (KeyOrigin::Fixed, Unmarked::LeftAlone));
        assert!(settings.sink.is_none());
        for default in
            ["[8080, 0.0.0.0]", "[250ms]", "[32]", "[10s]", "[25s]", "[4194304]", "[default]", "[false]", "[info]"]
        {
            assert!(serve_settings_help().contains(default), "{default}");
        }
    }

    #[test]
    fn values_are_trimmed_and_an_empty_one_is_as_good_as_none() {
        let settings =
            settings(&[("PORT", " 9 "), ("CONFROLL_SETTLE", ""), ("CONFROLL_PATCHES", " 7 "), ("K_SINK", " ")]);
        assert_eq!((settings.listen.port(), settings.pace.patches), (9, 7));
        assert_eq!(settings.pace.settle, Duration::from_millis(250));
        assert!(settings.sink.is_none());
    }

    #[test]
    fn a_sink_takes_its_overrides_and_does_not_show_its_path() {
        let overrides = r#"{"extensions":{"team":"front"}}"#;
        let settings = settings(&[("K_SINK", "https://sink.example/hunter2"), ("K_CE_OVERRIDES", overrides)]);
        let sink = settings.sink.unwrap();
        assert_eq!(sink.extensions["team"], "front");
        assert_eq!(format!("{sink:?}"), "Sink(sink.example)");
    }

    #[test]
    fn a_key_from_a_file_is_the_key_itself() {
        let file = std::env::temp_dir().join(format!("confroll-key-{}", std::process::id()));
        std::fs::write(&file, "of a file").unwrap();
        let by_file = settings(&[("CONFROLL_DIGEST_KEY_FILE", file.to_str().unwrap())]);
        let by_value = settings(&[("CONFROLL_DIGEST_KEY", "of a file")]);
        std::fs::remove_file(&file).unwrap();
        assert_eq!(by_file.rules.digest_key.id(), by_value.rules.digest_key.id());
        assert_ne!(by_file.rules.digest_key.id(), settings(&[]).rules.digest_key.id());
        assert_eq!(by_file.key_origin, KeyOrigin::Given);
    }
}
