//! Brings one workload up to date: decide by record or past, take in its other sources, patch, and decide again where
//! somebody else was faster.
//!
//! Invariants: a patch holds what all sources of the workload are now, not only the changed one; what is decided is
//! decided on a workload and sources that were read in this order or compared by version.
//! Left out: which workloads are concerned (reload_run.rs), rollouts that are not to be had (refused_run.rs), and what an
//! outcome looks like outside (reporter.rs).

use jiff::Timestamp;

use super::cluster::Cluster;
use super::cluster_error::ClusterError;
use super::lane::Trigger;
use super::refused_run::{Noting, Refusal};
use super::reload_run::{ReloadRun, give_back};
use super::reporter::{SourceNow, now};
use super::source_look::{Judged, SourceLook};
use super::sources::Sources;
use crate::reload::change::Occasion;
use crate::reload::comparison::ReadOrder;
use crate::reload::decision::Skip;
use crate::reload::due::PutOff;
use crate::reload::record::{Cause, Record};
use crate::reload::record_room::Fit;
use crate::reload::redaction::without_values;
use crate::reload::refusal::Reverted;
use crate::reload::report::{Outcome, ReportedWorkload};
use crate::reload::rollout::{Patch, Rollout, record_patch};
use crate::reload::rollout_way::RolloutWay;
use crate::reload::rules::Rules;
use crate::reload::source::SourceRef;
use crate::reload::telling::Report;
use crate::reload::workload::Workload;

/// How often a workload that changes under our hands is decided again before its events are given back.
const MOST_ATTEMPTS: usize = 8;

/// The work on one workload.
pub struct WorkloadRun<'a> {
    pub(super) run: &'a ReloadRun,
    sources: &'a Sources,
    /// The sources that events named and that count.
    named: Vec<SourceRef>,
    pub(super) triggers: Vec<Trigger>,
}

/// What one attempt came to.
pub(super) enum Attempt {
    Skipped(Skip),
    /// Rolled out; and when a pause ends that this began.
    Patched(Vec<SourceNow>, Box<Record>, Option<Timestamp>),
    /// It is put off until then.
    PutOff(Timestamp),
    Refused(Box<Refusal>),
    /// Nothing had to be rolled out, and what was seen is noted.
    Recorded,
}

impl<'a> WorkloadRun<'a> {
    /// Work that `triggers` ask for by naming the sources `named`.
    pub fn new(run: &'a ReloadRun, sources: &'a Sources, named: Vec<SourceRef>, triggers: Vec<Trigger>) -> Self {
        Self { run, sources, named, triggers }
    }

    /// Does the work, and gives back when something is due because of it. What fails and may work later is noted on the
    /// tickets.
    pub async fn bring_up_to_date(self, workload: Workload) -> Option<Timestamp> {
        let (id, reported) = (workload.id.clone(), ReportedWorkload::of(&workload));
        match self.attempts(workload).await {
            Ok(Attempt::Skipped(skip)) => {
                self.run.metrics.skip(skip);
                let (kind, name) = (id.kind.kind, id.name.as_str());
                tracing::debug!(
                    workload.kind = kind,
                    workload.name = name,
                    reason = skip.as_str(),
                    "a workload is left as it is"
                );
            }
            Ok(Attempt::Recorded) => {
                self.run.metrics.record();
                tracing::debug!(
                    workload.kind = id.kind.kind,
                    workload.name = id.name,
                    "what a workload runs on is noted"
                );
            }
            Ok(Attempt::Patched(changed, record, paused_until)) => {
                let written = Some((*record).clone());
                self.run.reporter.tell(reported, Outcome::Reloaded, changed, &record, written, self.triggers);
                return paused_until;
            }
            Ok(Attempt::PutOff(until)) => {
                self.run.metrics.skip(Skip::Delayed);
                let (namespace, kind, name) = (id.namespace.as_str(), id.kind.kind, id.name.as_str());
                let reason = Skip::Delayed.as_str();
                tracing::info!(namespace, workload.kind = kind, workload.name = name, %until, reason, "a rollout is put off until its reload-delay is over");
                return Some(until);
            }
            Ok(Attempt::Refused(refusal)) => {
                let Refusal { changed, rollout, noted, message, .. } = *refusal;
                self.run.reporter.tell(reported, Outcome::failed(&message), changed, &rollout, noted, self.triggers);
            }
            Err(error) => {
                let (kind, name) = (id.kind.kind, id.name.as_str());
                tracing::error!(%error, namespace = id.namespace.as_str(), workload.kind = kind, workload.name = name, "a workload could not be brought up to date");
                give_back(&self.triggers);
            }
        }
        None
    }

    async fn attempts(&self, mut workload: Workload) -> Result<Attempt, ClusterError> {
        let mut order = ReadOrder::Unknown;
        for attempt in 0..MOST_ATTEMPTS {
            let refused = match self.attempt(&workload, order).await {
                Ok(Attempt::Skipped(Skip::AlreadyCurrent)) if attempt > 0 => {
                    // A patch of our own event landed meanwhile, of a process that ended before it could tell.
                    self.run.reporter.repeat(&workload, self.triggers.clone());
                    return Ok(Attempt::Skipped(Skip::AlreadyCurrent));
                }
                Err(ClusterError::Conflict) => None,
                Ok(Attempt::Refused(refusal)) => Some(refusal),
                done => return done,
            };
            let Some(again) = self.cluster().workload(&workload.id).await? else {
                return Ok(Attempt::Skipped(Skip::WorkloadGone));
            };
            match refused {
                // Another process was refused the same, and has noted it.
                Some(refusal) if self.has_told(&again, &refusal.rollout) => {
                    return Ok(Attempt::Skipped(Skip::RefusedBefore));
                }
                // A workload that was made again is refused for its uid: then this was another one.
                Some(refusal) if again.uid == workload.uid => match self.note_refusal(&again, &refusal).await {
                    Noting::Overtaken => workload = again,
                    Noting::Done(noted) => {
                        return Ok(Attempt::Refused(Box::new(Refusal { noted: *noted, ..*refusal })));
                    }
                },
                _ => workload = again,
            }
            for source in &self.named {
                self.sources.get_again(source).await?;
            }
            order = ReadOrder::SourceLast;
        }
        Err(ClusterError::Conflict)
    }

    async fn attempt(&self, workload: &Workload, order: ReadOrder) -> Result<Attempt, ClusterError> {
        let look = self.look();
        let (mut changed, mut unchanged) = (Vec::new(), Vec::new());
        let mut skipped = Skip::SourceAbsent;
        for source in &self.named {
            match look.judge(workload, source, order).await? {
                Judged::Changed(source) => changed.push(source),
                Judged::Unchanged(skip, source) => {
                    skipped = skip;
                    unchanged.push(source);
                }
                Judged::DoesNotCount(skip) => skipped = skip,
            }
        }
        let by_change =
            self.triggers.iter().find(|trigger| changed.iter().any(|it| it.object.source == trigger.change.source));
        let by_sweep = self.triggers.iter().find(|trigger| trigger.change.occasion == Occasion::Sweep);
        let Some(cause) = by_change.or(by_sweep) else { return Ok(Attempt::Skipped(skipped)) };
        let cause = Cause::new(cause.change.event.clone(), Vec::new());
        let mut record = look.observe(workload, &mut changed, &unchanged, cause, order).await?;
        if !changed.is_empty() && matches!(workload.way, RolloutWay::Template(_)) {
            record.replaces(workload);
        }
        if !changed.is_empty() {
            record = record.with_untold(self.run.reporter.teller.note(Report::Rollout));
        }
        Self::make_fit(&mut record, workload);
        let objection = match workload.way {
            RolloutWay::Blocked(_, problem) => Some(problem.to_owned()),
            _ => workload.reverted.as_ref().and_then(Reverted::objection),
        };
        match (changed.is_empty(), objection) {
            (false, None) => self.roll_out_in_time(workload, changed, record).await,
            (false, Some(objection)) => Ok(self.refused(workload, changed, record, objection)),
            (true, _) if by_sweep.is_none() => Ok(Attempt::Skipped(skipped)),
            (true, Some(objection)) if workload.reverted.is_some() => {
                self.tell_of_reverts(workload, unchanged, record, objection).await
            }
            (true, _) => self.note(workload, record).await,
        }
    }

    /// Makes a record fit among the annotations of a workload, and says where that costs something.
    pub(super) fn make_fit(record: &mut Record, workload: &Workload) {
        if record.fit(workload) == Fit::Cut {
            tracing::warn!(
                namespace = workload.id.namespace.as_str(),
                workload.kind = workload.id.kind.kind,
                workload.name = workload.id.name,
                "the record of what a workload runs on has no room among its annotations; sources that it leaves out are \
                 told apart by version"
            );
        }
    }

    /// Rolls out, or puts that off where the workload asks for a delay.
    async fn roll_out_in_time(
        &self,
        workload: &Workload,
        changed: Vec<SourceNow>,
        record: Record,
    ) -> Result<Attempt, ClusterError> {
        let sources: Vec<_> = changed.iter().map(|now| &now.object.source).collect();
        match workload.put_off(&sources, &record.cause.event, now(), &self.rules().digest_key) {
            PutOff::No => self.roll_out(workload, changed, record).await,
            PutOff::Noted(_) => Ok(Attempt::Skipped(Skip::Delayed)),
            PutOff::Note(note, until) => {
                match self.cluster().patch(&workload.id, &Patch::Merge(record_patch(workload, &note))).await {
                    Ok(()) => Ok(Attempt::PutOff(until)),
                    Err(ClusterError::NotFound) => Ok(Attempt::Skipped(Skip::WorkloadGone)),
                    // Without a note of it, it would be lost.
                    Err(ClusterError::Refused { .. }) => self.roll_out(workload, changed, record).await,
                    Err(error) => Err(error),
                }
            }
        }
    }

    async fn roll_out(
        &self,
        workload: &Workload,
        changed: Vec<SourceNow>,
        record: Record,
    ) -> Result<Attempt, ClusterError> {
        let digests: Vec<_> = changed.iter().map(|now| (now.object.source.clone(), now.counted.digest)).collect();
        let at = now();
        let rollout = Rollout { workload, changed: &digests, record: &record, at };
        let done = match &workload.way {
            RolloutWay::RunJob(_) => self.cluster().run_job(&rollout).await,
            RolloutWay::JobAgain(_) => self.cluster().make_job_again(&rollout).await,
            _ => self.cluster().patch(&workload.id, &rollout.patch()).await,
        };
        match done {
            Ok(()) => Ok(Attempt::Patched(changed, Box::new(record), workload.pause_until(at))),
            Err(ClusterError::NotFound) => Ok(Attempt::Skipped(Skip::WorkloadGone)),
            Err(ClusterError::Refused { message }) => {
                let message = without_values(&message, changed.iter().map(|now| &now.object.content));
                Ok(self.refused(workload, changed, record, message))
            }
            Err(error) => Err(error),
        }
    }

    /// Notes what a workload was seen to run on, where nothing has to be rolled out.
    pub(super) async fn note(&self, workload: &Workload, mut record: Record) -> Result<Attempt, ClusterError> {
        if let Some(older) = &workload.record {
            if older.knows_as_much_as(&record) && !workload.has_put_off() {
                return Ok(Attempt::Skipped(Skip::AlreadyCurrent));
            }
            // The event of the last rollout must still find itself here when it comes again.
            record.keep_rollout(older);
        }
        let patch = Patch::Merge(record_patch(workload, &record));
        match self.cluster().patch(&workload.id, &patch).await {
            Ok(()) => Ok(Attempt::Recorded),
            Err(ClusterError::NotFound) => Ok(Attempt::Skipped(Skip::WorkloadGone)),
            Err(ClusterError::Refused { .. }) => Ok(Attempt::Skipped(Skip::RecordRefused)),
            Err(error) => Err(error),
        }
    }

    fn look(&self) -> SourceLook<'_> {
        // An event, if there is one among what asks for the work: it knows more.
        let is_sweep = self.triggers.iter().all(|trigger| trigger.change.occasion == Occasion::Sweep);
        let occasion = if is_sweep { Occasion::Sweep } else { Occasion::Event };
        SourceLook { cluster: self.cluster(), rules: self.rules(), sources: self.sources, occasion }
    }

    pub(super) fn cluster(&self) -> &Cluster {
        &self.run.cluster
    }

    pub(super) fn rules(&self) -> &Rules {
        &self.run.rules
    }
}
