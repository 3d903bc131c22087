//! Which kinds of object the API server has: those of a CRD are there or not, and may come and go.
//!
//! Invariants: a kind that is not there costs one look in [`FORGOTTEN_AFTER`], and no error; one that appears is found
//! without a restart, by the first event or sweep after that time.
//! Left out: kinds of Kubernetes itself, which are always there.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde::Deserialize;
use tokio::time::Instant;

use super::cluster::{Cluster, JSON, text};
use super::cluster_error::{Call, ClusterError};
use crate::reload::source_object::ShapeError;
use crate::reload::workload_kind::{Presence, WorkloadKind};

/// How long a kind that was not there is taken for absent.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);

/// What was found out.
#[derive(Debug, Default)]
pub(super) struct ServedKinds(Mutex<HashMap<Resource, Served>>);

/// What the API server may have: the path of an API group and version, and a name in it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Resource {
    pub(super) root: String,
    pub(super) plural: &'static str,
}

impl From<&'static WorkloadKind> for Resource {
    fn from(kind: &'static WorkloadKind) -> Self {
        Self { root: kind.root(), plural: kind.plural }
    }
}

#[derive(Clone, Copy, Debug)]
enum Served {
    Yes,
    No(Instant),
}

impl ServedKinds {
    /// Looks again the next time.
    pub(super) fn forget(&self, resource: &Resource) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(resource);
    }

    fn get(&self, resource: &Resource) -> Option<Served> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(resource).copied()
    }

    fn set(&self, resource: Resource, served: Served) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(resource, served);
    }
}

#[derive(Deserialize)]
struct ResourceList {
    resources: Option<Vec<ListedResource>>,
}

#[derive(Deserialize)]
struct ListedResource {
    name: String,
}

impl Cluster {
    /// Whether the server has a kind of workload.
    pub(super) async fn is_served(&self, kind: &'static WorkloadKind) -> Result<bool, ClusterError> {
        match kind.presence {
            Presence::Always => Ok(true),
            Presence::WhereInstalled => self.serves(kind.into()).await,
        }
    }

    /// Whether the server has what a CRD may have brought.
    pub(super) async fn serves(&self, resource: Resource) -> Result<bool, ClusterError> {
        match self.served.get(&resource) {
            Some(Served::Yes) => return Ok(true),
            Some(Served::No(since)) if since.elapsed() < FORGOTTEN_AFTER => return Ok(false),
            _ => {}
        }
        // Every user may ask this, so that no right is missed for a kind that is not there.
        let call = Call::everywhere("discover", resource.plural);
        let served = match self.one(&call, &resource.root, JSON).await? {
            None => false,
            Some(json) => {
                let list: ResourceList = serde_json::from_str(text(&json)?)
                    .map_err(|error| ShapeError::new(format!("the kinds of {}", resource.root), &error))?;
                list.resources.unwrap_or_default().iter().any(|listed| listed.name == resource.plural)
            }
        };
        self.served.set(resource, if served { Served::Yes } else { Served::No(Instant::now()) });
        Ok(served)
    }
}
