//! The settings of `confroll sink`, read from the environment once.
//!
//! Invariants: a setting that does nothing for a kind is refused, since one without effect is worse than none; URLs of
//! webhooks and proxies, and the signing key, are held in types that do not show them.
//! Left out: how variables are read (variables.rs).

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Certificate;
use serde::Deserialize;

use super::destinations::Destinations;
use super::setting_text::{count, duration, event_mode, one_line, proxy, shown_keys, thread_by};
use super::variables::{Log, SettingsError, Variables, log, read, unreadable, written};
use crate::announce::destination::WebhookUrl;
use crate::announce::signature::SigningKey;
use crate::announce::sink_kind::SinkKind;
use crate::announce::style::{Mention, Style};
use crate::announce::webhook::EventMode;

/// Where Knative mounts a cluster's own certificate authorities.
const KNATIVE_CERTS: &str = "/knative-custom-certs";
/// How long an event waits for others, where nothing is set.
pub(super) const USUAL_WINDOW: Duration = Duration::from_secs(1);
/// A longer window would use up what the Broker waits for an answer.
const LONGEST_WINDOW: Duration = Duration::from_secs(5);

/// Everything that can be set.
#[derive(Clone, Debug)]
pub struct SinkSettings {
    /// `ADDRESS` and `PORT`: where events are received.
    pub listen: SocketAddr,
    /// Where messages go.
    pub destinations: Destinations,
    /// How they get there.
    pub network: Network,
    /// How they look.
    pub style: Style,
    /// How long an event waits for others.
    pub window: Duration,
    /// How a webhook is sent an event.
    pub event_mode: EventMode,
    /// What a webhook's requests are signed with.
    pub signing_key: Option<SigningKey>,
    /// The longest body of an event, in bytes.
    pub longest_body: usize,
    /// How much is logged, and how.
    pub log: Log,
}

/// The way to the outside.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// The proxy; `None` takes the one of `HTTPS_PROXY` and `NO_PROXY`.
    pub proxy: Option<ProxyUrl>,
    /// Certificate authorities to trust besides the system's.
    pub extra_ca: Vec<Certificate>,
}

/// A proxy's URL, which may hold a password.
#[derive(Clone, PartialEq, Eq)]
pub struct ProxyUrl(pub(super) url::Url);

impl fmt::Debug for ProxyUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[proxy URL]")
    }
}

/// The variables with our prefix, as text.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ours {
    destinations: Option<String>,
    webhook_url: Option<String>,
    proxy: Option<String>,
    extra_ca_file: Option<String>,
    batch_window: Option<String>,
    prefix: Option<String>,
    mention_on_failure: Option<String>,
    show_keys: Option<String>,
    thread_by: Option<String>,
    event_mode: Option<String>,
    signing_key_file: Option<String>,
    longest_body: Option<String>,
    log_level: Option<String>,
    log_format: Option<String>,
}

/// The settings with their defaults and meaning, for `confroll sink --help`.
pub const SINK_SETTINGS_HELP: &str = "\
Settings (environment):
  CONFROLL_DESTINATIONS        folder with a file for each destination: its name
                               is the destination's, its content the webhook's
                               URL; read anew for each message
  CONFROLL_WEBHOOK_URL         or the URL of the one destination `default`
  PORT, ADDRESS                where events are received [8080, 0.0.0.0]
  CONFROLL_BATCH_WINDOW        how long an event waits for others, to be told in
                               one message [1s]
  CONFROLL_PREFIX              put before each title
  CONFROLL_MENTION_ON_FAILURE  who is called when a reload failed, such as
                               <!subteam^ID> (Slack) or <users/ID> (Google Chat)
  CONFROLL_SHOW_KEYS           whose changed keys are named: none, configmap or
                               all [configmap]
  CONFROLL_THREAD_BY           none, workload or source; Google Chat only [none]
  CONFROLL_EVENT_MODE          structured or binary; webhook only [structured]
  CONFROLL_SIGNING_KEY_FILE    signs requests (Standard Webhooks); webhook only
  CONFROLL_PROXY               the proxy's URL [HTTPS_PROXY, NO_PROXY]
  CONFROLL_EXTRA_CA_FILE       certificate authorities to trust besides the
                               system's and Knative's, as PEM
  CONFROLL_LONGEST_BODY        longest body of an event, in bytes [131072]
  CONFROLL_LOG_LEVEL           error, warn, info, debug or trace [info]
  CONFROLL_LOG_FORMAT          text or json [text]";

impl SinkSettings {
    /// Reads the settings of a kind of sink.
    pub fn read(kind: SinkKind, variables: &Variables) -> Result<Self, SettingsError> {
        let ours: Ours = variables.ours("sink")?;
        refuse_what_has_no_effect(kind, &ours)?;
        let given = |text: &Option<String>| written(text.as_deref()).map(str::to_owned);
        Ok(Self {
            listen: variables.listen()?,
            destinations: destinations(kind, &ours)?,
            network: network("CONFROLL_PROXY", given(&ours.proxy).as_deref(), given(&ours.extra_ca_file).as_deref())?,
            style: style(kind, &ours)?,
            window: window(&ours)?,
            event_mode: read("CONFROLL_EVENT_MODE", ours.event_mode.as_deref(), "structured", event_mode)?,
            signing_key: given(&ours.signing_key_file).map(|path| signing_key(&path)).transpose()?,
            longest_body: read("CONFROLL_LONGEST_BODY", ours.longest_body.as_deref(), "131072", count)?,
            log: log(ours.log_level.as_deref(), ours.log_format.as_deref())?,
        })
    }
}

fn refuse_what_has_no_effect(kind: SinkKind, ours: &Ours) -> Result<(), SettingsError> {
    let is_webhook = kind == SinkKind::Webhook;
    let rows = [
        ("CONFROLL_PREFIX", &ours.prefix, !is_webhook, "a webhook gets the event unchanged"),
        ("CONFROLL_SHOW_KEYS", &ours.show_keys, !is_webhook, "a webhook gets the event unchanged"),
        ("CONFROLL_BATCH_WINDOW", &ours.batch_window, !is_webhook, "a webhook gets each event for itself"),
        ("CONFROLL_THREAD_BY", &ours.thread_by, kind == SinkKind::GoogleChat, "only Google Chat has threads"),
        ("CONFROLL_EVENT_MODE", &ours.event_mode, is_webhook, "it is for `confroll sink webhook`"),
        ("CONFROLL_SIGNING_KEY_FILE", &ours.signing_key_file, is_webhook, "it is for `confroll sink webhook`"),
    ];
    for (variable, value, has_effect, because) in rows {
        if written(value.as_deref()).is_some() && !has_effect {
            return Err(unreadable(variable, format!("has no effect here: {because}; unset it")));
        }
    }
    Ok(())
}

fn destinations(kind: SinkKind, ours: &Ours) -> Result<Destinations, SettingsError> {
    const URL: &str = "CONFROLL_WEBHOOK_URL";
    let folder = written(ours.destinations.as_deref()).map(PathBuf::from);
    let default_url = written(ours.webhook_url.as_deref())
        .map(|text| WebhookUrl::parse(kind, text).map_err(|problem| unreadable(URL, problem.to_string())))
        .transpose()?;
    match (&folder, &default_url) {
        (None, None) => {
            Err(unreadable("CONFROLL_DESTINATIONS", "is not set, nor is CONFROLL_WEBHOOK_URL; set one of them"))
        }
        (Some(folder), Some(_)) if folder.join("default").exists() => {
            Err(unreadable(URL, "is set, and CONFROLL_DESTINATIONS has a file `default` too; keep one of them"))
        }
        _ => Ok(Destinations { kind, folder, default_url }),
    }
}

fn style(kind: SinkKind, ours: &Ours) -> Result<Style, SettingsError> {
    let mention = written(ours.mention_on_failure.as_deref())
        .map(|text| Mention::parse(kind, text).map_err(|problem| unreadable("CONFROLL_MENTION_ON_FAILURE", problem)));
    let prefix = written(ours.prefix.as_deref())
        .map(|text| one_line(text).map_err(|problem| unreadable("CONFROLL_PREFIX", problem)));
    Ok(Style {
        prefix: prefix.transpose()?,
        mention_on_failure: mention.transpose()?,
        keys: read("CONFROLL_SHOW_KEYS", ours.show_keys.as_deref(), "configmap", shown_keys)?,
        thread_by: read("CONFROLL_THREAD_BY", ours.thread_by.as_deref(), "none", thread_by)?,
    })
}

fn window(ours: &Ours) -> Result<Duration, SettingsError> {
    let window = |text: &str| match duration(text)? {
        window if window <= LONGEST_WINDOW => Ok(window),
        _ => Err("is too long; the Broker waits for an answer, so write 5s at most".to_owned()),
    };
    match written(ours.batch_window.as_deref()) {
        // A duration wants a unit, and this one zero is what somebody writes who wants it off.
        Some("0") => Ok(Duration::ZERO),
        Some(text) => read("CONFROLL_BATCH_WINDOW", Some(text), "", window),
        None => Ok(USUAL_WINDOW),
    }
}

/// The way to the outside by these values; `variable` is the one that holds the proxy.
pub(super) fn network(
    variable: &str,
    proxy_url: Option<&str>,
    ca_file: Option<&str>,
) -> Result<Network, SettingsError> {
    const FILE: &str = "CONFROLL_EXTRA_CA_FILE";
    let proxy = proxy_url.map(|text| proxy(text).map(ProxyUrl).map_err(|problem| unreadable(variable, problem)));
    let mut extra_ca = match ca_file {
        None => Vec::new(),
        Some(path) => certificates(Path::new(path)).map_err(|problem| unreadable(FILE, problem))?,
    };
    for path in std::fs::read_dir(KNATIVE_CERTS).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.extension().is_some_and(|extension| extension == "pem" || extension == "crt") {
            extra_ca.extend(certificates(&path).map_err(|problem| unreadable(KNATIVE_CERTS, problem))?);
        }
    }
    Ok(Network { proxy: proxy.transpose()?, extra_ca })
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, String> {
    let pem = std::fs::read(path).map_err(|error| format!("names a file that cannot be read: {}", error.kind()))?;
    let certificates = Certificate::from_pem_bundle(&pem).map_err(|_| "names a file that is no PEM".to_owned())?;
    if certificates.is_empty() { Err("names a file without certificates".to_owned()) } else { Ok(certificates) }
}

fn signing_key(path: &str) -> Result<SigningKey, SettingsError> {
    const FILE: &str = "CONFROLL_SIGNING_KEY_FILE";
    let key = std::fs::read(path)
        .map_err(|error| unreadable(FILE, format!("names a file that cannot be read: {}", error.kind())))?;
    SigningKey::parse(&key).map_err(|problem| unreadable(FILE, format!("names a file whose key {problem}")))
}

impl SinkSettings {
    /// Settings for tests: loopback, a free port, and what else is set there.
    pub fn for_testing(kind: SinkKind, ours: &[(&str, &str)]) -> Result<Self, SettingsError> {
        let listen = [("ADDRESS", "127.0.0.1"), ("PORT", "0")];
        let variables = listen.iter().chain(ours).map(|(name, value)| ((*name).into(), (*value).into()));
        Self::read(kind, &variables.collect())
    }
}
