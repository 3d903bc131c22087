//! The one sequence of a batch: read the changed sources and the workloads, find who is concerned, let each be
//! brought up to date; and let what is due be done.
//!
//! Invariants: the reads of a batch begin after its events arrived; what fails for one source, kind or workload is
//! noted on the tickets that it concerns and stops nothing else.
//! Left out: what happens to one workload (workload_run.rs) and when a batch begins (lane.rs).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use futures::future::join_all;
use jiff::Timestamp;
use tokio::sync::OnceCell;

use super::cluster::Cluster;
use super::due_run::DueCall;
use super::lane::{Batch, Leftover, Trigger, Unsettled};
use super::metrics::Metrics;
use super::reporter::Reporter;
use super::sources::{Present, Sources};
use super::workload_run::WorkloadRun;
use crate::reload::change::Occasion;
use crate::reload::comparison::{Comparison, ReadOrder, compare};
use crate::reload::decision::{Counted, Settling, Skip, counts, settling};
use crate::reload::rollout_way::RolloutWay;
use crate::reload::rules::Rules;
use crate::reload::source::{Namespace, SourceRef};
use crate::reload::source_object::SourceObject;
use crate::reload::telling::Report;
use crate::reload::workload::{Workload, WorkloadId};
use crate::reload::workload_kind::WorkloadKind;

/// What every batch works with.
pub struct ReloadRun {
    /// The API server.
    pub cluster: Cluster,
    /// The rules of every decision.
    pub rules: Arc<Rules>,
    /// Tells what became of workloads.
    pub reporter: Reporter,
    /// What is counted.
    pub metrics: Arc<Metrics>,
}

/// A source that counts for a workload, as first read.
struct Hit<'a> {
    present: &'a Present,
    counted: Counted,
}

/// The events of a batch, by the source that they name.
type BySource = BTreeMap<SourceRef, Vec<Trigger>>;

/// A batch, as the work on each kind of workload sees it.
struct Work<'a> {
    namespace: &'a Namespace,
    sources: &'a Sources,
    new: &'a BySource,
    settled: &'a HashMap<WorkloadId, BySource>,
    everybody: Vec<&'a Trigger>,
    /// The sources that events name, read by whichever kind comes first.
    present: OnceCell<BTreeMap<SourceRef, Present>>,
}

impl ReloadRun {
    /// Works on a batch and gives back what should be done later.
    pub async fn run(&self, namespace: Namespace, batch: Batch) -> Leftover {
        self.metrics.batch();
        let Some(batch) = self.in_scope(&namespace, batch).await else { return Leftover::default() };
        let sources = Sources::new(self.cluster.clone(), namespace.clone());
        let new = by_source(batch.triggers);
        let settled: HashMap<WorkloadId, BySource> =
            batch.settled.into_iter().map(|(id, waited)| (id, by_source(waited))).collect();
        let work = Work {
            namespace: &namespace,
            sources: &sources,
            new: &new,
            settled: &settled,
            everybody: new.values().chain(settled.values().flat_map(BTreeMap::values)).flatten().collect(),
            present: OnceCell::new(),
        };
        let (mut leftover, due) = tokio::join!(self.run_kinds(&work), self.end_all_due(batch.due, &sources));
        leftover.due.extend(due);
        leftover
    }

    /// Works on the workloads for which there are events.
    async fn run_kinds(&self, work: &Work<'_>) -> Leftover {
        if work.everybody.is_empty() {
            return Leftover::default();
        }
        let kinds = self.rules.kinds.iter().map(|kind| self.run_kind(kind, work));
        let all = join_all(kinds).await.into_iter();
        all.fold(Leftover::default(), |mut all, of_kind| {
            all.unsettled.extend(of_kind.unsettled);
            all.due.extend(of_kind.due);
            all
        })
    }

    async fn end_all_due(
        &self,
        due: HashMap<WorkloadId, Vec<DueCall>>,
        sources: &Sources,
    ) -> Vec<(WorkloadId, Timestamp)> {
        let ends = due.into_iter().map(|(id, calls)| async move {
            let next = self.end_due(&id, &calls, sources).await?;
            Some((id, next))
        });
        join_all(ends).await.into_iter().flatten().collect()
    }

    /// The batch, where the labels of its namespace are as they should be. Where they cannot be read, it is sent again.
    async fn in_scope(&self, namespace: &Namespace, batch: Batch) -> Option<Batch> {
        match self.cluster.check_labels(namespace).await {
            Ok(Ok(())) => return Some(batch),
            Ok(Err(out)) => {
                self.metrics.skip(Skip::OutOfScope(out));
                tracing::debug!(namespace = namespace.as_str(), reason = out.as_str(), "a namespace is not looked at");
            }
            Err(error) => {
                tracing::error!(%error, namespace = namespace.as_str(), "a namespace's labels cannot be read");
                give_back(batch.triggers.iter().chain(batch.settled.values().flatten()));
                batch.due.values().flatten().for_each(|call| call.ticket.again());
            }
        }
        None
    }

    /// Works on the workloads of one kind: none waits for the list of another.
    async fn run_kind(&self, kind: &'static WorkloadKind, work: &Work<'_>) -> Leftover {
        let (workloads, present) =
            tokio::join!(self.list_workloads(kind, work), work.present.get_or_init(|| self.read_sources(work)),);
        let (scanned, mut matched) = (workloads.len(), 0);
        let mut leftover = Leftover::default();
        let mut runs = Vec::new();
        for workload in workloads {
            leftover.due.extend(workload.next_due().map(|at| (workload.id.clone(), at)));
            if workload.way == RolloutWay::LeftAlone(Skip::StandIn) {
                self.end_stand_in(&workload.id, work).await;
                continue;
            }
            let waited = work.settled.get(&workload.id);
            let hits = self.hits(&workload, work.new, waited, present);
            if hits.is_empty() {
                continue;
            }
            matched += 1;
            let triggers = asking(&hits, work.new, waited);
            let is_sweep = triggers.iter().any(|trigger| trigger.change.occasion == Occasion::Sweep);
            let events = triggers.iter().map(|trigger| &trigger.change.event);
            let owed = self.reporter.teller.owed(&workload, Report::Refusal);
            let is_noted = self.all_noted(&workload, &hits) && !workload.has_reverts_to_tell(events, owed);
            if (is_noted || !is_sweep) && self.all_current(&workload, &hits) {
                self.metrics.skip(Skip::AlreadyCurrent);
                self.reporter.repeat(&workload, triggers);
            } else if waited.is_none() && settling(&workload, &self.rules) == Settling::WaitsForOthers {
                leftover.unsettled.push(Unsettled { workload: workload.id.clone(), triggers });
            } else {
                let named = hits.iter().map(|hit| hit.present.object.source.clone()).collect();
                let (id, run) = (workload.id.clone(), WorkloadRun::new(self, work.sources, named, triggers));
                runs.push(async move { Some((id, run.bring_up_to_date(workload).await?)) });
            }
        }
        self.metrics.looked_at(kind, scanned, matched);
        leftover.due.extend(join_all(runs).await.into_iter().flatten());
        leftover
    }

    /// Ends what another process began.
    async fn end_stand_in(&self, id: &WorkloadId, work: &Work<'_>) {
        if let Err(error) = self.cluster.end_stand_in(id).await {
            tracing::error!(%error, namespace = id.namespace.as_str(), workload.name = id.name, "a Job could not be made again yet");
            give_back(work.everybody.iter().copied());
        }
    }

    /// The sources that count for a workload, of those that events name: new ones, and those that waited for it.
    fn hits<'a>(
        &self,
        workload: &Workload,
        new: &BySource,
        waited: Option<&BySource>,
        present: &'a BTreeMap<SourceRef, Present>,
    ) -> Vec<Hit<'a>> {
        let mut hits = Vec::new();
        let named: BTreeSet<&SourceRef> = new.keys().chain(waited.into_iter().flat_map(BTreeMap::keys)).collect();
        for present in named.into_iter().filter_map(|source| present.get(source)) {
            match counts(workload, &present.object, &self.rules) {
                Ok(counted) => hits.push(Hit { present, counted }),
                Err(skip) => {
                    self.metrics.skip(skip);
                    tracing::trace!(
                        workload.kind = workload.id.kind.kind,
                        workload.name = workload.id.name,
                        source.name = present.object.source.name(),
                        reason = skip.as_str(),
                        "a source does not count for a workload"
                    );
                }
            }
        }
        hits
    }

    fn all_current(&self, workload: &Workload, hits: &[Hit<'_>]) -> bool {
        hits.iter().all(|hit| {
            compare(workload, &hit.present.object, &hit.counted, ReadOrder::Unknown, &self.rules) == Comparison::Same
        })
    }

    /// Whether the record knows all of them at the version that they have now.
    fn all_noted(&self, workload: &Workload, hits: &[Hit<'_>]) -> bool {
        let Some(record) = &workload.record else { return false };
        let key = &self.rules.digest_key;
        let is_noted = |object: &SourceObject| record.has_seen(&object.source, (object.version, object.news), key);
        hits.iter().all(|hit| is_noted(&hit.present.object))
    }

    async fn read_sources(&self, work: &Work<'_>) -> BTreeMap<SourceRef, Present> {
        let named: BTreeSet<&SourceRef> = work.everybody.iter().map(|trigger| &trigger.change.source).collect();
        let reads = named.into_iter().map(|source| async move {
            let (kind, name) = (source.kind.as_str(), source.name());
            match work.sources.get(source).await {
                Ok(Some(present)) => Some((source.clone(), present)),
                Ok(None) => {
                    self.metrics.skip(Skip::SourceAbsent);
                    tracing::debug!(source.kind = kind, source.name = name, "a source is gone: nothing to do");
                    None
                }
                Err(error) => {
                    tracing::error!(%error, source.kind = kind, source.name = name, "a source cannot be read");
                    give_back(work.everybody.iter().copied().filter(|trigger| trigger.change.source == *source));
                    None
                }
            }
        });
        join_all(reads).await.into_iter().flatten().collect()
    }

    async fn list_workloads(&self, kind: &'static WorkloadKind, work: &Work<'_>) -> Vec<Workload> {
        let namespace = work.namespace.as_str();
        let workloads = self.cluster.workloads(kind, work.namespace).await.unwrap_or_else(|error| {
            tracing::error!(%error, namespace, workload.kind = kind.kind, "workloads cannot be listed");
            give_back(work.everybody.iter().copied());
            Vec::new()
        });
        workloads.iter().for_each(log_problems);
        workloads
    }
}

/// Says what is wrong with what a workload asks for.
pub(super) fn log_problems(workload: &Workload) {
    let (namespace, kind) = (workload.id.namespace.as_str(), workload.id.kind.kind);
    let problems = workload.opt_in.problems().map(ToString::to_string);
    for problem in problems.chain(workload.problems.iter().cloned()) {
        tracing::warn!(namespace, workload.kind = kind, workload.name = workload.id.name, "{problem}");
    }
}

/// Has the events sent again.
pub(super) fn give_back<'a>(triggers: impl IntoIterator<Item = &'a Trigger>) {
    for trigger in triggers {
        trigger.ticket.again();
    }
}

fn by_source(triggers: Vec<Trigger>) -> BySource {
    let mut by_source = BySource::new();
    for trigger in triggers {
        by_source.entry(trigger.change.source.clone()).or_default().push(trigger);
    }
    by_source
}

/// The events that ask for one workload: those that name one of the sources that count for it.
fn asking(hits: &[Hit<'_>], new: &BySource, waited: Option<&BySource>) -> Vec<Trigger> {
    let of = |hit: &Hit<'_>| {
        let source = &hit.present.object.source;
        [new.get(source), waited.and_then(|waited| waited.get(source))].into_iter().flatten().flatten()
    };
    hits.iter().flat_map(of).cloned().collect()
}
