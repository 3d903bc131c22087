//! Looks at the sources of a workload: what they hold now, and how that compares with what the workload was last seen
//! to run on.
//!
//! Invariants: what is compared was read after the record was written, or is told apart by version; a source that is
//! only looked at beside others is read only where its version moved, or where it is another namespace's.
//! Left out: what follows from it (workload_run.rs).

use std::collections::BTreeSet;

use futures::future::try_join_all;

use super::cluster::Cluster;
use super::cluster_error::ClusterError;
use super::reporter::SourceNow;
use super::sources::{Present, Sources};
use crate::reload::change::Occasion;
use crate::reload::comparison::{Comparison, ReadOrder, compare, may_tell, seen_as_it_counts};
use crate::reload::decision::{Skip, candidates, counts};
use crate::reload::past::Judgement;
use crate::reload::record::{Cause, Known, Record};
use crate::reload::report::SourceChange;
use crate::reload::rules::{OnAbsence, Rules};
use crate::reload::source::SourceRef;
use crate::reload::source_object::Presence;
use crate::reload::workload::Workload;

/// The looks that one workload needs.
pub struct SourceLook<'a> {
    /// Where what is not read yet is read.
    pub cluster: &'a Cluster,
    /// The rules of every decision.
    pub rules: &'a Rules,
    /// What the batch has read.
    pub sources: &'a Sources,
    /// What asks for the work: an event, if there is one, as it knows more than a sweep.
    pub occasion: Occasion,
}

/// What there is to say of a source now.
pub enum Judged {
    /// The workload runs on other content.
    Changed(SourceNow),
    /// It does not, and why that is known.
    Unchanged(Skip, SourceNow),
    /// The source is no reason for anything.
    DoesNotCount(Skip),
}

impl SourceLook<'_> {
    /// Whether the workload runs on other content of a source than there is now.
    pub async fn judge(
        &self,
        workload: &Workload,
        source: &SourceRef,
        order: ReadOrder,
    ) -> Result<Judged, ClusterError> {
        let (now, comparison) = match self.standing(workload, source, order).await? {
            Ok(standing) => standing,
            Err(skip) => return Ok(Judged::DoesNotCount(skip)),
        };
        let judgement = match comparison {
            Comparison::Same => Judgement::Unchanged(Skip::AlreadyCurrent),
            Comparison::Changed | Comparison::Outdated => Judgement::Changed,
            Comparison::Created => Judgement::Created,
            Comparison::AskThePast(since) => {
                let asked = (since, self.occasion);
                now.history.judge(workload, &now.counted, asked, self.cluster, self.rules).await?
            }
        };
        match judgement {
            Judgement::Unchanged(skip) => Ok(Judged::Unchanged(skip, now)),
            Judgement::Created => Ok(Judged::Changed(SourceNow { change: SourceChange::Created, ..now })),
            _ => Ok(Judged::Changed(now)),
        }
    }

    /// As [`judge`](Self::judge), for a workload that is rolled out anyway: what only the past could tell is let pass, as
    /// the new pods start on what is there.
    async fn judge_by_record(
        &self,
        workload: &Workload,
        source: &SourceRef,
        order: ReadOrder,
    ) -> Result<Judged, ClusterError> {
        Ok(match self.standing(workload, source, order).await? {
            Ok((now, Comparison::Changed)) => Judged::Changed(now),
            Ok((now, Comparison::Created)) => Judged::Changed(SourceNow { change: SourceChange::Created, ..now }),
            Ok((now, _)) => Judged::Unchanged(Skip::AlreadyCurrent, now),
            Err(skip) => Judged::DoesNotCount(skip),
        })
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
            let counted = match counts(workload, &object, self.rules) {
                Ok(counted) => counted,
                Err(skip) => return Ok(Err(skip)),
            };
            let comparison = compare(workload, &object, &counted, order, self.rules);
            if comparison != Comparison::Outdated {
                let change = match object.presence {
                    Presence::There => SourceChange::Updated,
                    Presence::Gone => SourceChange::Deleted,
                };
                return Ok(Ok((SourceNow { object, history, counted, change }, comparison)));
            }
            read = self.sources.get_again(source).await?;
            order = ReadOrder::SourceLast;
        }
    }

    /// Looks at all sources of a workload that is about to be patched, and gives the record of them. Those that are seen
    /// to have changed as well are added to `changed`.
    pub async fn observe(
        &self,
        workload: &Workload,
        changed: &mut Vec<SourceNow>,
        unchanged: &[SourceNow],
        cause: Cause,
        order: ReadOrder,
    ) -> Result<Record, ClusterError> {
        let mut record = Record::new(&self.rules.digest_key, cause).of(&workload.id.namespace);
        for now in changed.iter().chain(unchanged) {
            self.note(&mut record, workload, now);
        }
        let done: BTreeSet<SourceRef> = changed.iter().chain(unchanged).map(|now| now.object.source.clone()).collect();
        let candidates = candidates(workload, self.rules);
        let rolls_out = !changed.is_empty();
        let looks = candidates.difference(&done).map(|source| async move {
            let judged = match (self.is_unmoved(workload, source).await?, rolls_out) {
                (true, _) => None,
                (false, true) => Some(self.judge_by_record(workload, source, order).await?),
                (false, false) => Some(self.judge(workload, source, order).await?),
            };
            Ok::<_, ClusterError>((source, judged))
        });
        for (source, judged) in try_join_all(looks).await? {
            match (judged, &workload.record) {
                (Some(Judged::Unchanged(_, now)), _) => self.note(&mut record, workload, &now),
                (Some(Judged::Changed(now)), _) => {
                    self.note(&mut record, workload, &now);
                    changed.push(now);
                }
                // Gone, by the list or between the list and the read.
                (None | Some(Judged::DoesNotCount(Skip::SourceAbsent)), Some(older)) => {
                    record.carry_over(source, older);
                }
                (None | Some(Judged::DoesNotCount(_)), _) => {}
            }
        }
        record.cause.changed = changed.iter().map(|now| record.name_of(&now.object.source)).collect();
        Ok(record)
    }

    /// Whether a source is, by its version alone, what the record says, or is gone since. One of which other keys count
    /// by now is looked at: the record's digest says nothing of them, and the past that could is soon forgotten.
    async fn is_unmoved(&self, workload: &Workload, source: &SourceRef) -> Result<bool, ClusterError> {
        // A list of another namespace is as long as that is large: one of its sources is read instead.
        if source.namespace != workload.id.namespace {
            return Ok(false);
        }
        let Some(seen) = seen_as_it_counts(workload, source, self.rules) else { return Ok(false) };
        let versions = self.sources.versions(source.kind).await?;
        let is_missed = self.rules.absence.of(source.kind).on_delete == OnAbsence::Reload;
        Ok(versions.get(source.name()).map_or(!is_missed, |now| *now == seen))
    }

    /// Notes what is known of a source. A deletion that is no change leaves what was known before, and so does a source
    /// that can tell no more than that.
    fn note(&self, record: &mut Record, workload: &Workload, now: &SourceNow) {
        let source = &now.object.source;
        let known = workload.record.as_ref().filter(|older| older.names(source));
        if let Some(older) = known {
            let known = older.knows(source, &now.counted.keys, &self.rules.digest_key);
            if matches!(known, Known::Content(..)) && !may_tell(workload, &now.object, known) {
                return record.carry_over(source, older);
            }
        }
        match (now.object.presence, known, self.rules.absence.of(source.kind).on_delete) {
            (Presence::There, ..) => {
                record.note(source, &now.counted.keys, now.object.version, now.counted.digest);
            }
            (Presence::Gone, Some(older), OnAbsence::Nothing) => record.carry_over(source, older),
            (Presence::Gone, known, _) => record.note_gone(source, known, now.object.version, now.counted.digest),
        }
    }
}
