//! A sweep: does what is due, then looks at everything once, and sends what was missed down the same way as an event.
//!
//! Invariants: one sweep at a time; lists of metadata and workloads first, content only of what moved, a few namespaces
//! at a time; what a sweep finds is decided by the lanes, so events that come meanwhile and a sweep never meet.
//! Left out: what has moved (reload/sweep.rs) and what becomes of it (reload_run.rs).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Instant;

use futures::stream::{self, StreamExt as _};
use jiff::Timestamp;
use tokio::sync::Mutex;

use super::cluster::Cluster;
use super::cluster_error::ClusterError;
use super::lane::{EventOutcome, Lanes, Ticket};
use super::metrics::Metrics;
use super::namespaces::Places;
use super::reload_run::log_problems;
use super::reporter::now;
use super::teller::Teller;
use crate::reload::change::{Change, Occasion};
use crate::reload::decision::Skip;
use crate::reload::rollout_way::RolloutWay;
use crate::reload::rules::Rules;
use crate::reload::source::{Namespace, SourceKind, SourceRef};
use crate::reload::sweep::SeenSources;
use crate::reload::tag::EventTag;
use crate::reload::workload::{Workload, WorkloadId};

/// Namespaces that are worked on at once: each holds its workloads in memory.
const NAMESPACES: usize = 8;

/// What a sweep finds.
#[derive(Default)]
struct Found {
    /// What is to be looked at, by the namespace of the workloads that ask for it.
    sources: BTreeMap<Namespace, BTreeSet<SourceRef>>,
    /// Workloads on which something is due without the label, and when: such as what the peer paused and did not live to
    /// resume.
    unlabelled: Vec<(WorkloadId, Timestamp)>,
}

/// Looks at everything.
#[derive(Clone)]
pub struct Sweep {
    cluster: Cluster,
    rules: Arc<Rules>,
    lanes: Lanes,
    teller: Teller,
    metrics: Arc<Metrics>,
    one_at_a_time: Arc<Mutex<()>>,
}

impl Sweep {
    /// A sweep that sends what it finds to `lanes`.
    #[must_use]
    pub fn new(cluster: Cluster, rules: Arc<Rules>, lanes: Lanes, teller: Teller, metrics: Arc<Metrics>) -> Self {
        Self { cluster, rules, lanes, teller, metrics, one_at_a_time: Arc::default() }
    }

    /// Looks at everything, and waits until all that it found is done.
    pub async fn run(&self, event: &EventTag) -> EventOutcome {
        let _turn = self.one_at_a_time.lock().await;
        let began = Instant::now();
        let outcome = match self.cluster.places().await {
            // What waits to be done in time goes first.
            Ok(places) => {
                let (done, ended) = self.end_due(&places, event).await;
                ended.max(self.find_and_look(&places, event, &done, began).await)
            }
            Err(error) => unread(&error),
        };
        self.metrics.sweep(if outcome == EventOutcome::Done { "done" } else { "given_back" });
        outcome
    }

    /// Has what is due done on the workloads that the API server knows to wait, and says which those are.
    async fn end_due(&self, places: &Places, event: &EventTag) -> (BTreeSet<WorkloadId>, EventOutcome) {
        let (mut waiting, mut outcome) = (Vec::new(), EventOutcome::Done);
        for kind in self.rules.kinds.iter().copied() {
            let mut take = |workload: Workload| {
                let next = workload.next_due().filter(|_| places.contain(&workload.id.namespace));
                waiting.extend(next.map(|at| (workload.id, at)));
            };
            for namespace in places.lists() {
                if let Err(error) = self.cluster.each_waiting_workload(kind, namespace, &mut take).await {
                    outcome = unread(&error);
                }
            }
        }
        let ids = waiting.iter().map(|(id, _)| id.clone()).collect();
        (ids, outcome.max(self.end(waiting, event).await))
    }

    /// Has what is due by now done, and the rest when it is.
    async fn end(&self, waiting: Vec<(WorkloadId, Timestamp)>, event: &EventTag) -> EventOutcome {
        let (now, event, (ticket, answer)) = (now(), event.for_what_is_due(), Ticket::new());
        for (id, at) in waiting {
            if at <= now {
                self.lanes.join_due(id, event.clone(), ticket.clone());
            } else {
                self.lanes.wake_at(id, at);
            }
        }
        drop(ticket);
        answer.await.unwrap_or(EventOutcome::Again)
    }

    async fn find_and_look(
        &self,
        places: &Places,
        event: &EventTag,
        done: &BTreeSet<WorkloadId>,
        began: Instant,
    ) -> EventOutcome {
        match self.find(places, event).await {
            Ok(Found { mut unlabelled, sources }) => {
                unlabelled.retain(|(id, _)| !done.contains(id));
                self.end(unlabelled, event).await.max(self.look_at(sources, event, began).await)
            }
            Err(error) => unread(&error),
        }
    }

    /// What is to be looked at.
    async fn find(&self, places: &Places, event: &EventTag) -> Result<Found, ClusterError> {
        // Workloads first would find a source that is made between the lists to be missing, which says nothing; this
        // way round it is a source that nobody uses yet.
        let mut seen = SeenSources::default();
        for kind in SourceKind::ALL {
            self.cluster.see_sources(kind, places, &mut seen).await?;
        }
        let mut found = Found::default();
        let (mut stand_ins, mut asked_for) = (Vec::new(), BTreeSet::new());
        for kind in self.rules.kinds.iter().copied() {
            let mut take = |workload: Workload| {
                if !places.contain(&workload.id.namespace) {
                    return;
                }
                if workload.way == RolloutWay::LeftAlone(Skip::StandIn) {
                    stand_ins.push(workload.id.clone());
                }
                asked_for.extend(seen.asked_for(&workload, &self.rules));
                let to_look_at =
                    seen.to_look_at(&workload, event, |what| self.teller.owed(&workload, what), &self.rules);
                if !to_look_at.is_empty() {
                    found.sources.entry(workload.id.namespace.clone()).or_default().extend(to_look_at);
                }
                log_problems(&workload);
                let due = workload.due_without_label(&event.for_what_is_due());
                found.unlabelled.extend(due.map(|at| (workload.id, at)));
            };
            for namespace in places.lists() {
                self.cluster.each_workload(kind, namespace, &mut take).await?;
            }
        }
        self.metrics.items_monitored(asked_for.len());
        for id in &stand_ins {
            self.cluster.end_stand_in(id).await?;
        }
        Ok(found)
    }

    async fn look_at(
        &self,
        found: BTreeMap<Namespace, BTreeSet<SourceRef>>,
        event: &EventTag,
        began: Instant,
    ) -> EventOutcome {
        let (namespaces, sources) = (found.len(), found.values().map(BTreeSet::len).sum::<usize>());
        let outcomes = stream::iter(found).map(|(namespace, sources)| self.look_at_one(namespace, sources, event));
        let outcomes: Vec<EventOutcome> = outcomes.buffer_unordered(NAMESPACES).collect().await;
        let outcome = outcomes.into_iter().max().unwrap_or(EventOutcome::Done);
        let ms = u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX);
        tracing::info!(namespaces, sources, ms, "a sweep looked at what was at another version than last seen");
        outcome
    }

    async fn look_at_one(&self, namespace: Namespace, sources: BTreeSet<SourceRef>, event: &EventTag) -> EventOutcome {
        let (ticket, answer) = Ticket::new();
        for source in sources {
            let change = Change { source, event: event.clone(), occasion: Occasion::Sweep, at: None };
            self.lanes.join_in(&namespace, change, ticket.clone());
        }
        drop(ticket);
        answer.await.unwrap_or(EventOutcome::Again)
    }
}

fn unread(error: &ClusterError) -> EventOutcome {
    tracing::error!(%error, "a sweep could not read everything; it has to be asked for again");
    EventOutcome::Again
}
