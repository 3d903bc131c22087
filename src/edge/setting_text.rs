//! The texts that settings are written as: each read into a value, or answered with what to write instead.
//!
//! Invariant: an answer does not repeat the text, which may be a secret in the wrong variable.

use std::time::Duration;

use url::Url;

use super::config::{AtStart, CountBy, KubeEvents};
use super::variables::LogFormat;
use crate::announce::style::{ShownKeys, ThreadBy};
use crate::announce::text::clean;
use crate::announce::webhook::EventMode;
use crate::reload::extra_sources::CrossNamespace;
use crate::reload::go_duration;
use crate::reload::link::LinkTemplate;
use crate::reload::opt_in::Unmarked;
use crate::reload::rollout_way::{RevisionNames, Strategy};
use crate::reload::rules::OnAbsence;

pub(super) fn duration(text: &str) -> Result<Duration, String> {
    go_duration::parse(text).map_err(|error| error.to_string())
}

pub(super) fn count(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number > 0).ok_or_else(|| "is no count; write a whole number above 0".to_owned())
}

pub(super) fn unmarked(text: &str) -> Result<Unmarked, String> {
    one_of(text, &[("true", Unmarked::Reloaded), ("false", Unmarked::LeftAlone)])
}

pub(super) fn strategy(text: &str) -> Result<Strategy, String> {
    one_of(text, &Strategy::ALL)
}

pub(super) fn revision_names(text: &str) -> Result<RevisionNames, String> {
    one_of(text, &[("kept", RevisionNames::Kept), ("generated", RevisionNames::Generated)])
}

pub(super) fn on_absence(text: &str) -> Result<OnAbsence, String> {
    one_of(text, &[("true", OnAbsence::Reload), ("false", OnAbsence::Nothing)])
}

pub(super) fn cross_namespace(text: &str) -> Result<CrossNamespace, String> {
    one_of(text, &[("true", CrossNamespace::Allowed), ("false", CrossNamespace::Off)])
}

pub(super) fn kube_events(text: &str) -> Result<KubeEvents, String> {
    one_of(text, &[("true", KubeEvents::Made), ("false", KubeEvents::Unwanted)])
}

pub(super) fn count_by(text: &str) -> Result<CountBy, String> {
    one_of(text, &[("true", CountBy::Namespace), ("false", CountBy::Outcome)])
}

pub(super) fn shown_keys(text: &str) -> Result<ShownKeys, String> {
    one_of(text, &[("none", ShownKeys::None), ("configmap", ShownKeys::ConfigMap), ("all", ShownKeys::All)])
}

pub(super) fn thread_by(text: &str) -> Result<ThreadBy, String> {
    one_of(text, &[("none", ThreadBy::None), ("workload", ThreadBy::Workload), ("source", ThreadBy::Source)])
}

pub(super) fn event_mode(text: &str) -> Result<EventMode, String> {
    one_of(text, &[("structured", EventMode::Structured), ("binary", EventMode::Binary)])
}

pub(super) fn proxy(text: &str) -> Result<Url, String> {
    let is_proxy = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    Url::parse(text).ok().filter(is_proxy).ok_or_else(|| "is no URL of a proxy; write http://HOST:PORT".to_owned())
}

pub(super) fn one_line(text: &str) -> Result<String, String> {
    clean(text, 100).filter(|line| line == text).ok_or_else(|| "is not one line of at most 100 characters".to_owned())
}

pub(super) fn at_start(text: &str) -> Result<AtStart, String> {
    one_of(text, &[("true", AtStart::Sweep), ("false", AtStart::Wait)])
}

/// The name goes into the source of events, which is a URI.
pub(super) fn cluster(text: &str) -> Result<String, String> {
    let fits = text.len() <= 100 && text.chars().all(|c| c.is_ascii_alphanumeric() || "-._".contains(c));
    if fits {
        Ok(text.to_owned())
    } else {
        Err("may only hold letters, digits, '-', '.' and '_', at most 100".to_owned())
    }
}

pub(super) fn link(text: &str) -> Result<LinkTemplate, String> {
    LinkTemplate::parse(text).ok_or_else(|| {
        "is no http or https URL, or has a place other than {cluster}, {namespace}, {kind} and {name}".to_owned()
    })
}

pub(super) fn log_level(text: &str) -> Result<tracing::Level, String> {
    // Three of them are the peer's.
    let text = match text.to_ascii_lowercase().as_str() {
        "warning" => "warn",
        "fatal" | "panic" => "error",
        _ => text,
    };
    text.parse().map_err(|_| "is no level; write error, warn, info, debug or trace".to_owned())
}

pub(super) fn log_format(text: &str) -> Result<LogFormat, String> {
    one_of(text, &[("text", LogFormat::Text), ("json", LogFormat::Json)])
}

/// One of these words, in any case.
pub(super) fn one_of<T: Clone>(text: &str, words: &[(&str, T)]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| text.eq_ignore_ascii_case(word));
    found.map(|(_, value)| value.clone()).ok_or_else(|| {
        let mut words: Vec<_> = words.iter().map(|(word, _)| *word).collect();
        let last = words.pop().unwrap_or_default();
        format!("is neither {} nor {last}", words.join(", "))
    })
}
