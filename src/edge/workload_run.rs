//! Brings one workload up to date: decide by record or past, take in its other sources, patch, and decide again where
//! somebody else was faster.
//!
//! Invariants: a patch holds what all sources of the workload are now, not only the changed one; what is decided is
//! decided on a workload and sources that were read in this order or compared by version.
//! Left out: which workloads are concerned (reload_run.rs), and what an outcome looks like outside (reporter.rs).

use std::collections::BTreeSet;

use futures::future::try_join_all;
use serde_json::Value;

use super::cluster::Cluster;
use super::cluster_error::ClusterError;
use super::lane::Trigger;
use super::reload_run::{ReloadRun, give_back};
use super::reporter::{SourceNow, now};
use super::sources::{Present, Sources};
use crate::reload::change::Occasion;
use crate::reload::decision::{Comparison, ReadOrder, Skip, compare, counts};
use crate::reload::past::Judgement;
use crate::reload::record::{Cause, Record};
use crate::reload::record_room::Fit;
use crate::reload::redaction::without_values;
use crate::reload::report::Outcome;
use crate::reload::rollout::{merge_patch, record_patch};
use crate::reload::rules::Rules;
use crate::reload::source::SourceRef;
use crate::reload::workload::Workload;

/// How often a workload that changes under our hands is decided again before its events are given back.
const MOST_ATTEMPTS: usize = 8;

/// The work on one workload.
pub struct WorkloadRun<'a> {
    run: &'a ReloadRun,
    sources: &'a Sources,
    /// The sources that events named and that count.
    named: Vec<SourceRef>,
    triggers: Vec<Trigger>,
}

/// What one attempt came to.
enum Attempt {
    Skipped(Skip),
    Patched(Vec<SourceNow>, Record),
    Refused(Vec<SourceNow>, Record, String),
    /// Nothing had to be rolled out, and what was seen is noted.
    Recorded,
}

/// What there is to say of a source now.
enum Judged {
    Changed(SourceNow),
    Unchanged(Skip, SourceNow),
    DoesNotCount(Skip),
}

impl<'a> WorkloadRun<'a> {
    /// Work that `triggers` ask for by naming the sources `named`.
    pub fn new(run: &'a ReloadRun, sources: &'a Sources, named: Vec<SourceRef>, triggers: Vec<Trigger>) -> Self {
        Self { run, sources, named, triggers }
    }

    /// Does the work. What fails and may work later is noted on the tickets.
    pub async fn bring_up_to_date(self, workload: Workload) {
        let id = workload.id.clone();
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
            Ok(Attempt::Patched(changed, record)) => {
                self.run.reporter.tell(id, Outcome::Reloaded, changed, &record, self.triggers);
            }
            Ok(Attempt::Refused(changed, record, message)) => {
                self.run.reporter.tell(id, Outcome::failed(&message), changed, &record, self.triggers);
            }
            Err(error) => {
                let (kind, name) = (id.kind.kind, id.name.as_str());
                tracing::error!(%error, namespace = id.namespace.as_str(), workload.kind = kind, workload.name = name, "a workload could not be brought up to date");
                give_back(&self.triggers);
            }
        }
    }

    async fn attempts(&self, mut workload: Workload) -> Result<Attempt, ClusterError> {
        let mut order = ReadOrder::Unknown;
        for _ in 0..MOST_ATTEMPTS {
            let refused = match self.attempt(&workload, order).await {
                Err(ClusterError::Conflict) => None,
                Ok(refused @ Attempt::Refused(..)) => Some(refused),
                done => return done,
            };
            let Some(again) = self.cluster().workload(&workload.id).await? else {
                return Ok(Attempt::Skipped(Skip::WorkloadGone));
            };
            match refused {
                // A workload that was made again is refused for its uid: then this was another one.
                Some(refused) if again.uid == workload.uid => return Ok(refused),
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
        let (mut changed, mut unchanged) = (Vec::new(), Vec::new());
        let mut skipped = Skip::SourceAbsent;
        for source in &self.named {
            match self.judge(workload, source, order).await? {
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
        let mut record = self.observe(workload, &mut changed, &unchanged, cause, order).await?;
        Self::make_fit(&mut record, workload);
        match changed.first() {
            Some(first) => {
                let patch = merge_patch(workload, &first.object.source, first.counted.digest, &record, now());
                self.roll_out(workload, &patch, changed, record).await
            }
            None if by_sweep.is_some() => self.note(workload, record).await,
            None => Ok(Attempt::Skipped(skipped)),
        }
    }

    /// Makes a record fit among the annotations of a workload, and says where that costs something.
    fn make_fit(record: &mut Record, workload: &Workload) {
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

    async fn roll_out(
        &self,
        workload: &Workload,
        patch: &Value,
        changed: Vec<SourceNow>,
        record: Record,
    ) -> Result<Attempt, ClusterError> {
        match self.cluster().patch(&workload.id, patch).await {
            Ok(()) => Ok(Attempt::Patched(changed, record)),
            Err(ClusterError::NotFound) => Ok(Attempt::Skipped(Skip::WorkloadGone)),
            Err(ClusterError::Refused { message }) => {
                let message = without_values(&message, changed.iter().map(|now| &now.object.content));
                Ok(Attempt::Refused(changed, record, message))
            }
            Err(error) => Err(error),
        }
    }

    /// Notes what a workload was seen to run on, where nothing has to be rolled out.
    async fn note(&self, workload: &Workload, mut record: Record) -> Result<Attempt, ClusterError> {
        if let Some(older) = &workload.record {
            if older.knows_as_much_as(&record) {
                return Ok(Attempt::Skipped(Skip::AlreadyCurrent));
            }
            // The event of the last rollout must still find itself here when it comes again.
            record.keep_cause(older);
        }
        match self.cluster().patch(&workload.id, &record_patch(workload, &record)).await {
            Ok(()) => Ok(Attempt::Recorded),
            Err(ClusterError::NotFound) => Ok(Attempt::Skipped(Skip::WorkloadGone)),
            Err(ClusterError::Refused { .. }) => Ok(Attempt::Skipped(Skip::RecordRefused)),
            Err(error) => Err(error),
        }
    }

    /// Whether the workload runs on other content of a source than there is now.
    async fn judge(&self, workload: &Workload, source: &SourceRef, order: ReadOrder) -> Result<Judged, ClusterError> {
        let (now, comparison) = match self.standing(workload, source, order).await? {
            Ok(standing) => standing,
            Err(skip) => return Ok(Judged::DoesNotCount(skip)),
        };
        let judgement = match comparison {
            Comparison::Same => Judgement::Unchanged(Skip::AlreadyCurrent),
            Comparison::Changed | Comparison::Outdated => Judgement::Changed,
            Comparison::AskThePast(since) => {
                let asked = (since, self.occasion());
                now.history.judge(workload, &now.counted, asked, self.cluster(), self.rules()).await?
            }
        };
        match judgement {
            Judgement::Unchanged(skip) => Ok(Judged::Unchanged(skip, now)),
            _ => Ok(Judged::Changed(now)),
        }
    }

    /// A source as it is now and how that compares with the record; or why it does not count. Never `Outdated`: a
    /// source that was read before the record was written is read again.
    async fn standing(
        &self,
        workload: &Workload,
        source: &SourceRef,
        mut order: ReadOrder,
    ) -> Result<Result<(SourceNow, Comparison), Skip>, ClusterError> {
        let mut read = self.sources.get(source).await?;
        loop {
            let Some(Present { object, history }) = read else { return Ok(Err(Skip::SourceAbsent)) };
            let counted = match counts(workload, &object, self.rules()) {
                Ok(counted) => counted,
                Err(skip) => return Ok(Err(skip)),
            };
            let comparison = compare(workload, &object, &counted, order, self.rules());
            if comparison != Comparison::Outdated {
                return Ok(Ok((SourceNow { object, history, counted }, comparison)));
            }
            read = self.sources.get_again(source).await?;
            order = ReadOrder::SourceLast;
        }
    }

    /// Looks at all sources of a workload that is about to be patched. Those that the record shows to have changed as
    /// well are added to `changed`; the others are noted as they are now, since the new pods will start on that.
    async fn observe(
        &self,
        workload: &Workload,
        changed: &mut Vec<SourceNow>,
        unchanged: &[SourceNow],
        cause: &Trigger,
        order: ReadOrder,
    ) -> Result<Record, ClusterError> {
        let rules = self.rules();
        let mut record = Record::new(&rules.digest_key, Cause::new(cause.change.event.clone(), Vec::new()));
        for now in changed.iter().chain(unchanged) {
            record.note(&now.object.source, &now.counted.keys, now.object.version, now.counted.digest);
        }
        let done: BTreeSet<SourceRef> = changed.iter().chain(unchanged).map(|now| now.object.source.clone()).collect();
        let candidates = workload.candidates();
        let looks = candidates.difference(&done).map(|source| async move {
            let unmoved = self.is_unmoved(workload, source).await?;
            let standing = if unmoved { None } else { Some(self.standing(workload, source, order).await?) };
            Ok::<_, ClusterError>((source, standing))
        });
        for (source, standing) in try_join_all(looks).await? {
            match (standing, &workload.record) {
                (None, Some(older)) => record.carry_over(source, older),
                (None, None) | (Some(Err(_)), _) => {}
                (Some(Ok((now, comparison))), _) => {
                    record.note(source, &now.counted.keys, now.object.version, now.counted.digest);
                    if comparison == Comparison::Changed {
                        changed.push(now);
                    }
                }
            }
        }
        record.cause.changed = changed.iter().map(|now| now.object.source.to_string()).collect();
        Ok(record)
    }

    /// Whether a source is, by its version alone, what the record says, or is gone since.
    async fn is_unmoved(&self, workload: &Workload, source: &SourceRef) -> Result<bool, ClusterError> {
        let seen = workload.record.as_ref().and_then(|record| record.seen(source, &self.rules().digest_key));
        let Some(seen) = seen else { return Ok(false) };
        let versions = self.sources.versions(source.kind).await?;
        Ok(versions.get(source.name()).is_none_or(|now| *now == seen))
    }

    /// An event, if there is one among what asks for the work: it knows more.
    fn occasion(&self) -> Occasion {
        let is_sweep = self.triggers.iter().all(|trigger| trigger.change.occasion == Occasion::Sweep);
        if is_sweep { Occasion::Sweep } else { Occasion::Event }
    }

    fn cluster(&self) -> &Cluster {
        &self.run.cluster
    }

    fn rules(&self) -> &Rules {
        &self.run.rules
    }
}
