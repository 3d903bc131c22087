//! What became of a workload, as the CloudEvent that tells it: its types, extensions and data are a contract
//! (docs/events.md).
//!
//! Invariants: the id of an event is derived from what it reports, so that a report sent again is the same event; no
//! value and no digest of a source is in it, only names of keys.
//! Left out: sending (edge/outbox.rs), and how a chat words it.

use cloudevents::{Event, EventBuilder, EventBuilderV10};
use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use super::content::ChangedKeys;
use super::link::LinkTemplate;
use super::opt_in::Reason;
use super::rollout_way::RolloutWay;
use super::source::{Namespace, SourceRef};
use super::tag::tag;
use super::workload::{Workload, WorkloadId};

/// The type of the event for a workload that was rolled out.
pub const RELOADED: &str = "dev.confroll.workload.reloaded.v1";
/// The type of the event for a workload that should have been rolled out and was not.
pub const RELOAD_FAILED: &str = "dev.confroll.workload.reload-failed.v1";

/// The longest message of a failure, in characters: an admission error can quote whole objects.
pub(crate) const LONGEST_MESSAGE: usize = 300;

/// What became of one workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReloadReport {
    /// Which workload, and how it is rolled out.
    pub workload: ReportedWorkload,
    /// Reloaded or not.
    pub outcome: Outcome,
    /// The sources whose content changed.
    pub sources: Vec<ReportedSource>,
    /// When the workload was patched, or the patch refused.
    pub at: Timestamp,
    /// What makes this report's id: other for every rollout, the same for one told twice.
    pub identity: String,
}

/// A workload as a report names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedWorkload {
    /// Which workload.
    pub id: WorkloadId,
    /// Its uid, where it is still that workload when it is told.
    pub uid: Option<String>,
    /// How it is rolled out.
    pub strategy: &'static str,
    /// What people should know about that.
    pub note: Option<&'static str>,
    /// Whether it came as soon as it could.
    pub promptness: Promptness,
}

/// Whether a rollout came as soon as it could.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Promptness {
    /// It did.
    AtOnce,
    /// It was put off, as the workload asked.
    PutOff,
}

impl ReportedWorkload {
    /// What a report needs of a workload.
    #[must_use]
    pub fn of(workload: &Workload) -> Self {
        let is_made_again = matches!(workload.way, RolloutWay::JobAgain(_));
        Self {
            id: workload.id.clone(),
            uid: (!is_made_again).then(|| workload.uid.clone()),
            strategy: workload.way.as_str(),
            note: workload.note(),
            promptness: if workload.has_put_off() { Promptness::PutOff } else { Promptness::AtOnce },
        }
    }
}

/// How it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The pod template was changed; the workload's controller does the rest.
    Reloaded,
    /// The API server refuses the change, and would again.
    Failed {
        /// Its first line, without control characters, at most 300 characters.
        message: String,
    },
}

/// A source as a report names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedSource {
    /// Which source.
    pub source: SourceRef,
    /// Why it counts, where that is known.
    pub reason: Option<Reason>,
    /// The names of the keys that changed, where that is known.
    pub keys: ChangedKeys,
    /// What became of it.
    pub change: SourceChange,
}

/// What became of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceChange {
    /// It has another content.
    Updated,
    /// It appeared.
    Created,
    /// It vanished.
    Deleted,
}

impl SourceChange {
    /// The word for events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Updated => "updated",
            Self::Created => "created",
            Self::Deleted => "deleted",
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    outcome: &'a str,
    cluster: &'a str,
    namespace: &'a str,
    workload: serde_json::Value,
    sources: Vec<serde_json::Value>,
    strategy: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'a str>,
    at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<String>,
}

impl Outcome {
    /// A failure with the first line of what the API server said.
    #[must_use]
    pub fn failed(message: &str) -> Self {
        let line = message.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Self::Failed { message: line.chars().filter(|c| !c.is_control()).take(LONGEST_MESSAGE).collect() }
    }
}

impl ReloadReport {
    /// The report as a CloudEvent, with a link where there is a page to lead to. An error says which attribute the builder
    /// would not take.
    pub fn to_event(
        &self,
        cluster: &str,
        link: Option<&LinkTemplate>,
    ) -> Result<Event, cloudevents::event::EventBuilderError> {
        let ReportedWorkload { id, strategy, note, .. } = &self.workload;
        let (namespace, kind) = (id.namespace.as_str(), id.kind.kind);
        let (outcome, event_type, severity, message) = match &self.outcome {
            Outcome::Reloaded => ("reloaded", RELOADED, "info", None),
            Outcome::Failed { message } => ("failed", RELOAD_FAILED, "error", Some(message.as_str())),
        };
        let data = Data {
            outcome,
            cluster,
            namespace,
            workload: json!({ "apiVersion": id.kind.api_version(), "kind": kind, "name": id.name }),
            sources: self.sources.iter().map(|source| source.to_json(&id.namespace)).collect(),
            strategy,
            reason: self.sources.iter().find_map(|source| source.reason).map(Reason::as_str),
            message,
            note: note.filter(|_| self.outcome == Outcome::Reloaded),
            at: self.at.to_string(),
            link: link.map(|link| link.of(cluster, id)),
        };
        EventBuilderV10::new()
            .id(tag(&[cluster, namespace, kind, &id.name, outcome, &self.identity]))
            .source(format!("/clusters/{cluster}/namespaces/{namespace}"))
            .ty(event_type)
            .subject(id.to_string())
            .time(self.at.to_string())
            .extension("cluster", cluster)
            .extension("namespace", namespace)
            .extension("kind", kind)
            .extension("name", id.name.as_str())
            .extension("severity", severity)
            .data("application/json", json!(data))
            .build()
    }
}

impl ReportedSource {
    fn to_json(&self, home: &Namespace) -> serde_json::Value {
        let mut json =
            json!({ "kind": self.source.kind.as_str(), "name": self.source.name(), "change": self.change.as_str() });
        if self.source.namespace != *home {
            json["namespace"] = json!(self.source.namespace);
        }
        if self.keys != ChangedKeys::default() {
            json["keys"] = json!(self.keys);
        }
        json
    }
}
