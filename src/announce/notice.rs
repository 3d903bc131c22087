//! What one reload event says, as far as a message needs it.
//!
//! Invariants: unknown fields are ignored and missing ones left out, as the event's contract grows (docs/events.md);
//! every text is cleaned here, so nothing behind this file meets a control character or a name without end; an event
//! that is not about a reload is none of ours, and no error.
//! Left out: how it is worded (announcement.rs).

use cloudevents::{AttributesReader as _, Data, Event};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use url::Url;

use super::text::{LONGEST_NAME, clean, clean_message};
use crate::reload::report::{LONGEST_MESSAGE, RELOAD_FAILED, RELOADED};

/// What makes two deliveries the same event: its `source` and `id`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EventKey {
    /// The attribute `source`.
    pub source: String,
    /// The attribute `id`.
    pub id: String,
}

/// What became of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Which event says it.
    pub key: EventKey,
    /// Reloaded or not.
    pub outcome: NoticedOutcome,
    /// The cluster's name.
    pub cluster: Option<String>,
    /// The workload's namespace.
    pub namespace: Option<String>,
    /// The workload's kind: `Deployment`.
    pub kind: Option<String>,
    /// The workload's name.
    pub name: String,
    /// What changed.
    pub sources: Vec<NoticedSource>,
    /// Why the sources count for the workload: a word of docs/events.md, or one that a later version says.
    pub reason: Option<String>,
    /// What people should know about a rollout: one line.
    pub note: Option<String>,
    /// When it happened.
    pub at: Option<Timestamp>,
    /// A page about the workload.
    pub link: Option<Url>,
}

/// How it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticedOutcome {
    /// The workload was rolled out.
    Reloaded,
    /// It should have been and was not.
    Failed {
        /// Why: one line.
        message: Option<String>,
    },
}

/// A source that changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NoticedSource {
    /// `ConfigMap`, `Secret`, or a kind of a later version.
    pub kind: String,
    /// Its name, with its namespace before it where that is another than the workload's.
    pub name: String,
    /// Keys that came, as far as they are known.
    pub added: Vec<String>,
    /// Keys with another value.
    pub changed: Vec<String>,
    /// Keys that went.
    pub removed: Vec<String>,
}

/// Why an event cannot be told, though its type is ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoticeError {
    /// There is no data.
    #[error("the event has no data")]
    NoData,
    /// The data is no JSON of the shape in docs/events.md.
    #[error("the event's data is no reload report")]
    Unreadable,
    /// Neither data nor extensions name the workload.
    #[error("the event names no workload")]
    NoWorkload,
}

#[derive(Deserialize)]
struct Report {
    cluster: Option<String>,
    namespace: Option<String>,
    workload: Option<Workload>,
    sources: Option<Vec<Source>>,
    #[serde(default, deserialize_with = "text")]
    reason: Option<String>,
    #[serde(default, deserialize_with = "text")]
    message: Option<String>,
    #[serde(default, deserialize_with = "text")]
    note: Option<String>,
    #[serde(default, deserialize_with = "text")]
    at: Option<String>,
    #[serde(default, deserialize_with = "text")]
    link: Option<String>,
}

/// A text; anything else is as good as none, where the message can do without.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_str().map(str::to_owned))
}

#[derive(Deserialize)]
struct Workload {
    kind: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
struct Source {
    kind: Option<String>,
    #[serde(default, deserialize_with = "text")]
    namespace: Option<String>,
    name: Option<String>,
    keys: Option<Keys>,
}

#[derive(Default, Deserialize)]
struct Keys {
    added: Option<Vec<String>>,
    changed: Option<Vec<String>>,
    removed: Option<Vec<String>>,
}

impl Notice {
    /// Reads an event; `None` where its type is none of ours.
    pub fn from_event(event: &Event) -> Result<Option<Self>, NoticeError> {
        let failed = match event.ty() {
            RELOADED => false,
            RELOAD_FAILED => true,
            _ => return Ok(None),
        };
        let report: Report = match event.data() {
            None => return Err(NoticeError::NoData),
            Some(Data::Json(json)) => Report::deserialize(json).map_err(|_| NoticeError::Unreadable)?,
            Some(Data::Binary(bytes)) => serde_json::from_slice(bytes).map_err(|_| NoticeError::Unreadable)?,
            Some(Data::String(text)) => serde_json::from_str(text).map_err(|_| NoticeError::Unreadable)?,
        };
        let extension = |name: &str| event.extension(name).map(ToString::to_string);
        let named = |field: Option<String>, name: &str| {
            field.or_else(|| extension(name)).and_then(|text| clean(&text, LONGEST_NAME))
        };
        let (kind, name) = report.workload.map_or((None, None), |workload| (workload.kind, workload.name));
        let message = report.message.and_then(|text| clean_message(&text, LONGEST_MESSAGE));
        Ok(Some(Self {
            key: EventKey { source: event.source().clone(), id: event.id().to_owned() },
            outcome: if failed { NoticedOutcome::Failed { message } } else { NoticedOutcome::Reloaded },
            cluster: named(report.cluster, "cluster"),
            namespace: named(report.namespace, "namespace"),
            kind: named(kind, "kind"),
            name: named(name, "name").ok_or(NoticeError::NoWorkload)?,
            sources: report.sources.into_iter().flatten().filter_map(Source::noticed).collect(),
            reason: report.reason.and_then(|text| clean(&text, 60)),
            note: report.note.and_then(|text| clean_message(&text, LONGEST_MESSAGE)),
            at: report.at.and_then(|text| text.parse().ok()).or_else(|| {
                let time = event.time()?;
                Timestamp::from_second(time.timestamp()).ok()
            }),
            link: report.link.and_then(|text| web_page(&text)),
        }))
    }

    /// Whether somebody has to look: failures do not wait for company.
    #[must_use]
    pub fn urgency(&self) -> Urgency {
        match self.outcome {
            NoticedOutcome::Failed { .. } => Urgency::AtOnce,
            NoticedOutcome::Reloaded => Urgency::CanWait,
        }
    }
}

/// How long a notice may wait for others to be told with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Not at all.
    AtOnce,
    /// As long as the window is open.
    CanWait,
}

impl Source {
    fn noticed(self) -> Option<NoticedSource> {
        let names =
            |names: Option<Vec<String>>| names.iter().flatten().filter_map(|name| clean(name, LONGEST_NAME)).collect();
        let keys = self.keys.unwrap_or_default();
        let name = self.name?;
        let name = self.namespace.map_or_else(|| name.clone(), |namespace| format!("{namespace}/{name}"));
        Some(NoticedSource {
            kind: self.kind.and_then(|kind| clean(&kind, LONGEST_NAME)).unwrap_or_else(|| "source".to_owned()),
            name: clean(&name, LONGEST_NAME)?,
            added: names(keys.added),
            changed: names(keys.changed),
            removed: names(keys.removed),
        })
    }
}

/// An absolute address that a chat can open; a longer one would cost the message its content.
fn web_page(text: &str) -> Option<Url> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())?;
    (url.as_str().len() <= 1000).then_some(url)
}

#[cfg(test)]
mod tests {
    use cloudevents::{EventBuilder as _, EventBuilderV10};
    use serde_json::json;

    use super::*;

    fn read(event_type: &str, data: Value) -> Result<Option<Notice>, NoticeError> {
        let event = EventBuilderV10::new()
            .id("1")
            .source("/clusters/prod/namespaces/shop")
            .ty(event_type)
            .time("2026-09-21T14:13:20Z")
            .extension("name", "api")
            .data("application/json", data)
            .build()
            .unwrap();
        Notice::from_event(&event)
    }

    #[test]
    fn other_types_are_none_of_ours() {
        for event_type in ["boson.fn", "dev.knative.apiserver.ref.update", "dev.confroll.workload.skipped.v1"] {
            assert_eq!(read(event_type, json!([])), Ok(None));
        }
    }

    #[test]
    fn missing_fields_are_left_out_and_unknown_ones_ignored() {
        let notice = read(RELOADED, json!({ "later": { "a": [1] }, "sources": [{ "name": "x", "later": 1 }, {}] }));
        let notice = notice.unwrap().unwrap();
        assert_eq!((notice.name.as_str(), notice.cluster, notice.kind), ("api", None, None));
        assert_eq!(notice.at.unwrap().to_string(), "2026-09-21T14:13:20Z");
        assert_eq!((notice.sources.len(), notice.sources[0].kind.as_str()), (1, "source"));
    }

    #[test]
    fn a_source_of_another_namespace_is_shown_with_it() {
        let sources = json!([{ "name": "x", "namespace": "bank" }, { "name": "y", "namespace": 7 }]);
        let notice = read(RELOADED, json!({ "sources": sources })).unwrap().unwrap();
        assert_eq!(notice.sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>(), ["bank/x", "y"]);
    }

    #[test]
    fn null_is_as_good_as_missing_and_an_odd_extra_is_left_out() {
        let source = json!({ "name": "x", "kind": null, "keys": { "added": null, "changed": ["a"] } });
        let odd = json!({ "sources": [source, { "name": "y", "keys": null }], "at": 7, "link": {}, "message": [] });
        let notice = read(RELOADED, odd).unwrap().unwrap();
        assert_eq!((notice.sources.len(), notice.sources[0].changed.as_slice()), (2, &["a".to_owned()][..]));
        assert_eq!((notice.link, notice.at.is_some()), (None, true));
        assert!(read(RELOADED, json!({ "sources": null, "cluster": null })).unwrap().is_some());
    }

    #[test]
    fn data_of_another_shape_is_refused() {
        for data in [json!([]), json!("text"), json!({ "sources": {} }), json!({ "workload": "api" })] {
            assert_eq!(read(RELOADED, data.clone()), Err(NoticeError::Unreadable), "{data}");
        }
        let nameless = json!({ "workload": { "name": "\u{200b}" } });
        assert_eq!(read(RELOADED, nameless), Err(NoticeError::NoWorkload));
    }

    #[test]
    fn a_message_is_one_line_and_a_link_leads_to_a_page() {
        let of = |message: &str, link: &str| {
            let data = json!({ "message": message, "link": link });
            read(RELOAD_FAILED, data).unwrap().unwrap()
        };
        let notice = of("no\u{1b}[1m\nmore", "https://grafana.example/d/1");
        assert_eq!(notice.outcome, NoticedOutcome::Failed { message: Some("no[1m".to_owned()) });
        assert_eq!(notice.link.unwrap().as_str(), "https://grafana.example/d/1");
        assert_eq!(of(&"x".repeat(400), "javascript:alert(1)").link, None);
        assert_eq!(of("", "/relative").outcome, NoticedOutcome::Failed { message: None });
    }
}
