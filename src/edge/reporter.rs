//! Tells what became of workloads: log, metrics, reload events.
//!
//! Invariants: a rollout is told once where it is handled; an event is answered only after its reload events were
//! taken by the sink; telling holds up no lane.
//! Left out: what a reload event looks like (reload/report.rs).

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::cluster::Cluster;
use super::cluster_error::ClusterError;
use super::config::KubeEvents;
use super::history::History;
use super::lane::Trigger;
use super::metrics::Metrics;
use super::outbox::Outbox;
use super::reload_run::give_back;
use super::teller::{InHand, Teller};
use crate::reload::change::Occasion;
use crate::reload::content::ChangedKeys;
use crate::reload::decision::Counted;
use crate::reload::kube_event::kube_event;
use crate::reload::link::LinkTemplate;
use crate::reload::record::Record;
use crate::reload::report::{Outcome, Promptness, ReloadReport, ReportedSource, ReportedWorkload, SourceChange};
use crate::reload::rollout::{Patch, next_record_patch, record_patch};
use crate::reload::rules::Rules;
use crate::reload::source::SourceRef;
use crate::reload::source_object::SourceObject;
use crate::reload::telling::{Owed, Report};
use crate::reload::workload::{Workload, WorkloadId};

/// A source as it is now, to a workload for which it counts.
pub struct SourceNow {
    /// The source as it is now.
    pub object: Arc<SourceObject>,
    /// Its past, which knows the keys that changed.
    pub history: Arc<History>,
    /// What it means to the workload.
    pub counted: Counted,
    /// What became of it.
    pub change: SourceChange,
}

/// Whether a reload event was taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    Taken,
    Failed,
}

/// How often it is tried to take a note away that others write over.
const MOST_TRIES: usize = 4;

/// Tells outcomes to the outside.
#[derive(Clone)]
pub struct Reporter {
    /// Where reload events go.
    pub outbox: Arc<Outbox>,
    /// What this cluster is called.
    pub cluster_name: Arc<str>,
    /// Where a workload's page is.
    pub link: Option<LinkTemplate>,
    /// Where the past is read.
    pub cluster: Cluster,
    /// The rules of every decision.
    pub rules: Arc<Rules>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// Whether Events are made.
    pub kube_events: KubeEvents,
    /// Who sees to it that it is told.
    pub teller: Teller,
}

impl Reporter {
    /// Tells what became of a workload, of which `record` has the rollout's name; its events are answered when that is
    /// done. `written` is what stands on the workload.
    pub fn tell(
        &self,
        workload: ReportedWorkload,
        outcome: Outcome,
        changed: Vec<SourceNow>,
        record: &Record,
        written: Option<Record>,
        triggers: Vec<Trigger>,
    ) {
        self.log(&workload.id, &outcome, &changed);
        let (reporter, at, identity) = (self.clone(), now(), record.tag());
        if outcome == Outcome::Reloaded && workload.promptness == Promptness::AtOnce {
            let written = changed.iter().filter_map(|now| written_at(now, &triggers)).max();
            written.into_iter().for_each(|written| self.metrics.change_to_patch(at.duration_since(written)));
        }
        if !self.outbox.has_sink() && self.kube_events == KubeEvents::Unwanted {
            return;
        }
        let in_hand = self.teller.take_in_hand(&workload.id);
        // A task of its own: the lane goes on with the next batch while a slow sink makes this one's events wait.
        tokio::spawn(async move {
            // What changed is worth knowing, but no rollout waits for it.
            let turn = reporter.cluster.turn_behind_patches().await;
            let mut sources = Vec::new();
            for now in changed {
                let (keys, digest) = (&now.counted.keys, now.counted.digest);
                let keys = now.history.changed_keys(keys, digest, &reporter.cluster, &reporter.rules).await;
                sources.push(ReportedSource {
                    source: now.object.source.clone(),
                    reason: Some(now.counted.reason),
                    keys,
                    change: now.change,
                });
            }
            drop(turn);
            let report = ReloadReport { workload, outcome, sources, at, identity };
            reporter.show(&report).await;
            let sent = reporter.send(&report, &triggers).await;
            reporter.end_note(&report.workload.id, sent, written).await;
            drop(in_hand);
        });
    }

    /// Tells a rollout again, where that is owed: where one of the events is the one that caused it, it was sent again
    /// because its first telling failed; or a note says so. The reload event has the id of the first, so a sink drops it
    /// where it has it.
    pub fn repeat(&self, workload: &Workload, triggers: Vec<Trigger>) {
        let Some(record) = workload.record.as_ref().filter(|_| self.outbox.has_sink()) else { return };
        let is_owed = match self.teller.owed(workload, Report::Rollout) {
            None => triggers.iter().any(|trigger| trigger.change.event == record.cause.event),
            Some(Owed::Nothing) => false,
            Some(Owed::Ours | Owed::Abandoned) => true,
            Some(Owed::Others) => {
                // Whether it does tell is worth another look. A sweep has its next one.
                give_back(triggers.iter().filter(|trigger| trigger.change.occasion == Occasion::Event));
                false
            }
        };
        // A sweep that only noted what it saw changed nothing, and has nothing to tell.
        if !is_owed || record.cause.changed.is_empty() {
            return;
        }
        let namespace = &workload.id.namespace;
        let changed = record.cause.changed.iter().filter_map(|source| SourceRef::from_display(namespace, source));
        let sources = changed
            .map(|source| ReportedSource {
                source,
                reason: None,
                keys: ChangedKeys::default(),
                change: SourceChange::Updated,
            })
            .collect();
        let note = self.teller.note(Report::Rollout).map(|note| {
            let written = record.with_untold(Some(note));
            (Patch::Merge(record_patch(workload, &written)), written)
        });
        let (workload, identity) = (ReportedWorkload::of(workload), record.tag());
        let report = ReloadReport { workload, outcome: Outcome::Reloaded, sources, at: now(), identity };
        let (reporter, in_hand) = (self.clone(), self.teller.take_in_hand(&report.workload.id));
        tokio::spawn(async move { reporter.tell_again(&report, note, in_hand, &triggers).await });
    }

    async fn tell_again(
        &self,
        report: &ReloadReport,
        note: Option<(Patch, Record)>,
        _in_hand: Option<InHand>,
        triggers: &[Trigger],
    ) {
        let id = &report.workload.id;
        let written = match note {
            None => None,
            Some((patch, written)) => match self.cluster.patch(id, &patch).await {
                Ok(()) => Some(written),
                // Another took it over, or the workload is another by now.
                Err(_) => return give_back(triggers),
            },
        };
        let sent = self.send(report, triggers).await;
        self.end_note(id, sent, written).await;
    }

    /// Takes the note away that a report has to be told, where it was.
    async fn end_note(&self, id: &WorkloadId, sent: Sent, written: Option<Record>) {
        let (Sent::Taken, Some(written)) = (sent, written) else { return };
        if self.teller.note(Report::Rollout).is_none() {
            return;
        }
        let told = next_record_patch(&written, &written.with_untold(None));
        if self.cluster.patch(id, &told).await.is_err() {
            self.end_later_note(id, &written).await;
        }
    }

    /// The same, where something was written since.
    async fn end_later_note(&self, id: &WorkloadId, written: &Record) {
        for _ in 0..MOST_TRIES {
            let Ok(Some(workload)) = self.cluster.workload(id).await else { return };
            let Some(record) = workload.record.as_ref().filter(|record| record.has_same_note(written)) else { return };
            let told = Patch::Merge(record_patch(&workload, &record.with_untold(None)));
            match self.cluster.patch(id, &told).await {
                Err(ClusterError::Conflict) => {}
                Ok(()) => return,
                Err(error) => {
                    tracing::warn!(%error, workload.name = id.name, "that a rollout was told cannot be noted; it may be told twice");
                    return;
                }
            }
        }
    }

    /// Makes the Event that `kubectl describe` shows. It is there for people who happen to look, so it is tried once.
    async fn show(&self, report: &ReloadReport) {
        if self.kube_events == KubeEvents::Unwanted {
            return;
        }
        let event = kube_event(report);
        if let Err(error) = self.cluster.create_event(&report.workload.id.namespace, &event).await {
            tracing::warn!(%error, workload.name = report.workload.id.name, "no Event could be made for a workload");
        }
    }

    async fn send(&self, report: &ReloadReport, triggers: &[Trigger]) -> Sent {
        let sent = match report.to_event(&self.cluster_name, self.link.as_ref()) {
            Ok(event) => self.outbox.send(event).await.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        match sent {
            Ok(()) => {
                self.metrics.reload_event("sent");
                Sent::Taken
            }
            Err(error) => {
                self.metrics.reload_event("failed");
                tracing::error!(
                    error,
                    workload.name = report.workload.id.name,
                    "a reload event was not sent; it will be when its event comes again"
                );
                give_back(triggers);
                Sent::Failed
            }
        }
    }

    fn log(&self, workload: &WorkloadId, outcome: &Outcome, changed: &[SourceNow]) {
        let (namespace, kind, name) = (workload.namespace.as_str(), workload.kind.kind, workload.name.as_str());
        let called = |now: &SourceNow| now.object.source.seen_from(&workload.namespace);
        let sources = changed.iter().map(called).collect::<Vec<_>>().join(", ");
        let reason = changed.first().map_or("", |now| now.counted.reason.as_str());
        self.metrics.rollout(workload, outcome);
        match outcome {
            Outcome::Reloaded => {
                tracing::info!(namespace, workload.kind = kind, workload.name = name, sources, reason, "reloaded");
            }
            Outcome::Failed { message } => {
                tracing::error!(
                    namespace,
                    workload.kind = kind,
                    workload.name = name,
                    sources,
                    reason,
                    message,
                    "the reload was refused"
                );
            }
        }
    }
}

/// When a source was written, as closely as it is known: the server's own bookkeeping has whole seconds, and within that
/// one the event that told of it came right after.
fn written_at(now: &SourceNow, triggers: &[Trigger]) -> Option<Timestamp> {
    let second = now.object.data_written?;
    let end = second + SignedDuration::from_secs(1);
    let told = triggers.iter().filter(|trigger| trigger.change.source == now.object.source);
    let told = told.filter_map(|trigger| trigger.change.at).filter(|at| *at >= second).min();
    Some(told.unwrap_or(end).min(end))
}

/// The one clock.
#[expect(clippy::disallowed_methods, reason = "the edge's one clock")]
#[must_use]
pub fn now() -> Timestamp {
    Timestamp::now()
}
