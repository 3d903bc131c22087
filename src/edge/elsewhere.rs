//! Finds the workloads of other namespaces that name a source, so that its events join their lanes too.
//!
//! Nothing is remembered of workloads, so they are asked for: one list of metadata a kind, of all namespaces, of which the
//! API server sends those with the label alone. What that costs grows neither with namespaces nor with other workloads.
//! One look at a time: events that come meanwhile wait for the next and share it.
//!
//! Invariants: a look begins after its events arrived; their own lane does not wait for it; what fails for a kind is
//! noted on the tickets and stops no other kind. Left out: what a workload names (reload/extra_sources.rs).

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt as _;
use futures::future::join_all;
use serde::Deserialize;

use super::cluster::Cluster;
use super::cluster_error::{Call, ClusterError};
use super::lane::{Lanes, Progress, Ticket};
use crate::reload::change::Change;
use crate::reload::extra_sources::{CROSS_NAMESPACE, CrossNamespace, ExtraSources};
use crate::reload::label_selector::Labels;
use crate::reload::opt_in::Annotations;
use crate::reload::source::{Namespace, SourceKind, SourceRef};
use crate::reload::workload_kind::{Presence, WorkloadKind};

/// Sends events to the lanes of other namespaces.
#[derive(Clone)]
pub struct Elsewhere {
    cluster: Cluster,
    lanes: Lanes,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    waiting: Vec<(Change, Ticket)>,
    progress: Progress,
}

/// A workload with the label.
#[derive(Deserialize)]
struct Metadata {
    namespace: Namespace,
    annotations: Option<Annotations>,
    labels: Option<Labels>,
}

impl Elsewhere {
    /// Sends what it finds to `lanes`.
    #[must_use]
    pub fn new(cluster: Cluster, lanes: Lanes) -> Self {
        Self { cluster, lanes, state: Arc::default() }
    }

    /// Has an event looked after in other namespaces, where the rules allow that.
    pub fn join(&self, change: Change, ticket: Ticket) {
        // No annotation names a SecretProviderClass of another namespace.
        let may_be_named = change.source.kind != SourceKind::SecretProviderClass;
        if self.cluster.rules.cross_namespace == CrossNamespace::Off || !may_be_named {
            return;
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.waiting.push((change, ticket));
        if state.progress == Progress::Idle {
            state.progress = Progress::Running;
            let elsewhere = self.clone();
            tokio::spawn(async move { elsewhere.work().await });
        }
    }

    async fn work(&self) {
        while let Some(events) = self.next() {
            // The panic itself is logged by the hook; its tickets were answered with `Again` as it unwound.
            if AssertUnwindSafe(self.look(events)).catch_unwind().await.is_err() {
                tracing::error!("a look at other namespaces ended in a panic");
            }
        }
    }

    fn next(&self) -> Option<Vec<(Change, Ticket)>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.waiting.is_empty() {
            state.progress = Progress::Idle;
            return None;
        }
        Some(std::mem::take(&mut state.waiting))
    }

    async fn look(&self, events: Vec<(Change, Ticket)>) {
        let sources: BTreeSet<&SourceRef> = events.iter().map(|(change, _)| &change.source).collect();
        let kinds = &self.cluster.rules.kinds;
        let found = join_all(kinds.iter().map(|kind| self.cluster.who_names(&sources, kind))).await;
        let mut asked: BTreeSet<(Namespace, SourceRef)> = BTreeSet::new();
        for (kind, found) in kinds.iter().zip(found) {
            match found {
                Ok(found) => asked.extend(found),
                Err(error) => {
                    tracing::error!(%error, workload.kind = kind.kind, "workloads of other namespaces cannot be found");
                    events.iter().for_each(|(_, ticket)| ticket.again());
                }
            }
        }
        for (namespace, source) in asked {
            let of_source = events.iter().filter(|(change, _)| change.source == source);
            of_source.for_each(|(change, ticket)| self.lanes.join_in(&namespace, change.clone(), ticket.clone()));
        }
    }
}

impl Cluster {
    /// The other namespaces in scope with labelled workloads of a kind that name one of these sources, with each source.
    async fn who_names(
        &self,
        sources: &BTreeSet<&SourceRef>,
        kind: &'static WorkloadKind,
    ) -> Result<BTreeSet<(Namespace, SourceRef)>, ClusterError> {
        let mut found = BTreeSet::new();
        if !self.is_served(kind).await? {
            return Ok(found);
        }
        let call = Call::everywhere("list", kind.plural);
        let collection = format!("{}?labelSelector={CROSS_NAMESPACE}%3Dtrue", kind.cluster_path());
        let take = |workload: Metadata| {
            let (home, annotations) = (workload.namespace, workload.annotations.unwrap_or_default());
            if self.rules.scope.namespace(&home).is_err() {
                return;
            }
            let labels = workload.labels.unwrap_or_default();
            let extra = ExtraSources::of(&home, &annotations, &labels, self.rules.cross_namespace);
            let named = extra.iter().filter(|source| source.namespace != home && sources.contains(source));
            found.extend(named.map(|source| (home.clone(), source.clone())));
        };
        match self.each_metadata(&call, kind.plural, &collection, take).await {
            // Its CRD went away.
            Err(ClusterError::NotFound) if kind.presence == Presence::WhereInstalled => {
                self.served.forget(&kind.into());
            }
            done => done?,
        }
        Ok(found)
    }
}
