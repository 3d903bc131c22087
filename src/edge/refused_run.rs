//! What becomes of a rollout that is not to be had: the API server refused it, or somebody sets each one back.
//!
//! Invariant: it is told once, and noted on the workload, so that it stays once whoever looks next.
//! Left out: what is told of it before (reload/refusal.rs), and everything else about a workload (workload_run.rs).

use super::cluster_error::ClusterError;
use super::reporter::SourceNow;
use super::teller::Teller;
use super::workload_run::{Attempt, WorkloadRun};
use crate::reload::decision::Skip;
use crate::reload::record::Record;
use crate::reload::rollout::{Patch, record_patch};
use crate::reload::tag::EventTag;
use crate::reload::telling::Report;
use crate::reload::workload::Workload;

/// What became of a note that a rollout was refused.
pub(super) enum Noting {
    /// It is made, and this is the record with it, or cannot be made.
    Done(Box<Option<Record>>),
    /// Somebody else wrote meanwhile.
    Overtaken,
}

/// A rollout that is not to be had.
pub(super) struct Refusal {
    pub(super) changed: Vec<SourceNow>,
    /// What it would have written, or what the reverted one wrote.
    pub(super) rollout: Record,
    /// What was noted of it.
    pub(super) noted: Option<Record>,
    pub(super) message: String,
    /// What asked for the work, and is sent again where the refusal cannot be told.
    pub(super) event: EventTag,
}

impl WorkloadRun<'_> {
    /// A rollout that is not made, unless that was told before.
    pub(super) fn refused(
        &self,
        workload: &Workload,
        changed: Vec<SourceNow>,
        record: Record,
        message: String,
    ) -> Attempt {
        if self.has_told(workload, &record) {
            Attempt::Skipped(Skip::RefusedBefore)
        } else {
            let event = record.cause.event.clone();
            Attempt::Refused(Box::new(Refusal { changed, rollout: record, noted: None, message, event }))
        }
    }

    pub(super) fn has_told(&self, workload: &Workload, rollout: &Record) -> bool {
        let events = self.triggers.iter().map(|trigger| &trigger.change.event);
        let owed = self.run.reporter.teller.owed(workload, Report::Refusal);
        workload.record.as_ref().is_some_and(|older| older.has_told(rollout, events, owed))
    }

    /// Tells once that the last rollout was reverted again, where nothing has changed since.
    pub(super) async fn tell_of_reverts(
        &self,
        workload: &Workload,
        unchanged: Vec<SourceNow>,
        seen: Record,
        objection: String,
    ) -> Result<Attempt, ClusterError> {
        let Some(last) = workload.record.as_ref().filter(|last| !self.has_told(workload, last)) else {
            return self.note(workload, seen).await;
        };
        let is_of_last = |now: &SourceNow| last.cause.changed.contains(&last.name_of(&now.object.source));
        let changed: Vec<_> = unchanged.into_iter().filter(is_of_last).collect();
        if changed.is_empty() {
            return self.note(workload, seen).await;
        }
        let (rollout, event) = (last.clone(), seen.cause.event);
        let refusal = Refusal { changed, rollout, noted: None, message: objection, event };
        Ok(Attempt::Refused(Box::new(refusal)))
    }

    /// Notes on a workload that a rollout was refused. Where that is not to be had, it is told again by the next sweep,
    /// under the same id. Where another process may just have noted the same, that is looked at first.
    pub(super) async fn note_refusal(&self, workload: &Workload, refusal: &Refusal) -> Noting {
        let (older, key) = (workload.record.as_ref(), &self.rules().digest_key);
        let teller = &self.run.reporter.teller;
        let record = refusal.rollout.as_refused(older, refusal.event.clone(), key);
        let mut record = record.with_untold(teller.note(Report::Refusal));
        Self::make_fit(&mut record, workload);
        let patch = Patch::Merge(record_patch(workload, &record));
        match self.cluster().patch(&workload.id, &patch).await {
            Ok(()) => Noting::Done(Box::new(Some(record))),
            Err(ClusterError::Conflict) if matches!(teller, Teller::Notes(_)) => Noting::Overtaken,
            Err(error) => {
                tracing::debug!(%error, workload.name = workload.id.name, "a refusal could not be noted");
                Noting::Done(Box::new(None))
            }
        }
    }
}
