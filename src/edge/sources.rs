//! What one batch has read of sources: each source, its past and each list of versions at most once.
//!
//! Invariant: lives as long as its batch, so nothing of a Secret is kept. Left out: what is read and why.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use super::cluster::Cluster;
use super::cluster_error::ClusterError;
use super::history::History;
use crate::reload::opt_in::SourceMarks;
use crate::reload::source::{Namespace, SourceKind, SourceRef};
use crate::reload::source_object::SourceObject;
use crate::reload::version::Version;

/// A source that is there, or that is known to be gone, with its past.
#[derive(Clone)]
pub struct Present {
    /// The source as it was read.
    pub object: Arc<SourceObject>,
    /// Its past.
    pub history: Arc<History>,
}

type Versions = BTreeMap<String, Version>;
type Cell<T> = Arc<OnceCell<T>>;

/// The sources of one batch.
pub struct Sources {
    cluster: Cluster,
    namespace: Namespace,
    present: Mutex<HashMap<SourceRef, Cell<Option<Present>>>>,
    versions: Mutex<HashMap<SourceKind, Cell<Arc<Versions>>>>,
}

impl Sources {
    /// Nothing read yet.
    #[must_use]
    pub fn new(cluster: Cluster, namespace: Namespace) -> Self {
        Self { cluster, namespace, present: Mutex::default(), versions: Mutex::default() }
    }

    /// A source as this batch sees it; `None` if there is none, unless that is of interest.
    pub async fn get(&self, source: &SourceRef) -> Result<Option<Present>, ClusterError> {
        let cell = cell(&self.present, source.clone());
        cell.get_or_try_init(|| self.read(source)).await.cloned()
    }

    /// Reads a source again, for everybody in this batch who asks from now on.
    pub async fn get_again(&self, source: &SourceRef) -> Result<Option<Present>, ClusterError> {
        let read = self.read(source).await?;
        let mut cells = self.present.lock().unwrap_or_else(PoisonError::into_inner);
        cells.insert(source.clone(), Arc::new(OnceCell::from(read.clone())));
        Ok(read)
    }

    /// The versions of all sources of a kind in the namespace, by name.
    pub async fn versions(&self, kind: SourceKind) -> Result<Arc<Versions>, ClusterError> {
        let list = || async { self.cluster.source_versions(kind, &self.namespace).await.map(Arc::new) };
        cell(&self.versions, kind).get_or_try_init(list).await.cloned()
    }

    async fn read(&self, source: &SourceRef) -> Result<Option<Present>, ClusterError> {
        // Those of the batch's own namespace were looked at before.
        if source.namespace != self.namespace
            && let Err(out) = self.cluster.check_labels(&source.namespace).await?
        {
            let (namespace, reason) = (source.namespace.as_str(), out.as_str());
            tracing::debug!(namespace, reason, "a source of a namespace that is not looked at is as good as none");
            return Ok(None);
        }
        match self.cluster.source(source).await? {
            Some(object) => Ok(Some(Present::of(object))),
            None if self.cluster.rules.absence.of(source.kind).is_watched() => self.gone(source).await.map(Some),
            None => Ok(None),
        }
    }

    /// A source that is not there, for whom that is of interest.
    async fn gone(&self, source: &SourceRef) -> Result<Present, ClusterError> {
        let version = self.cluster.version_now(source).await?;
        let unmarked = SourceObject::gone(source.clone(), version, SourceMarks::unread());
        let unmarked = Present::of(unmarked);
        Ok(match unmarked.history.last_marks(&self.cluster).await? {
            Some(marks) => Present::of(SourceObject::gone(source.clone(), version, marks)),
            None => unmarked,
        })
    }
}

impl Present {
    fn of(object: SourceObject) -> Self {
        let object = Arc::new(object);
        Self { history: Arc::new(History::of(object.clone())), object }
    }
}

fn cell<K: Eq + std::hash::Hash, T>(cells: &Mutex<HashMap<K, Cell<T>>>, key: K) -> Cell<T> {
    cells.lock().unwrap_or_else(PoisonError::into_inner).entry(key).or_default().clone()
}
