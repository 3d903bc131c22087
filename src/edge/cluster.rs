//! Calls to the API server, and what is asked of sources: reads, lists, reads of the past.
//!
//! Invariants: every call has a deadline; at most so many are on their way at once; an answer is parsed here and
//! never by the client library, which would log it where it does not parse; no error quotes an object.
//! Left out: workloads (cluster_workloads.rs), SecretProviderClasses (classes.rs), lists of all namespaces
//! (cluster_wide.rs), and what the answers mean.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::cluster_error::{Call, ClusterError};
use super::config::Pace;
use super::served_kinds::ServedKinds;
use crate::reload::rules::Rules;
use crate::reload::source::{Namespace, SourceKind, SourceRef};
use crate::reload::source_object::{ShapeError, SourceObject};
use crate::reload::version::Version;

/// How many objects a page of a LIST holds: bounds the memory of the largest answer.
const PAGE: usize = 500;
/// Reads of single objects on their way at once.
const READS: usize = 32;
/// Lists on their way at once: not behind the reads, as a whole batch waits for each, and few, as they are large.
const LISTS: usize = 8;

pub(super) const JSON: &str = "application/json";
pub(super) const METADATA: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
pub(super) const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

/// The API server of one cluster.
#[derive(Clone)]
pub struct Cluster {
    pub(super) client: Client,
    pub(super) rules: Arc<Rules>,
    deadline: Duration,
    reads: Arc<Semaphore>,
    lists: Arc<Semaphore>,
    pub(super) patches: Arc<Semaphore>,
    pub(super) served: Arc<ServedKinds>,
}

impl Cluster {
    /// Makes calls through `client`.
    #[must_use]
    pub fn new(client: Client, rules: Arc<Rules>, pace: &Pace) -> Self {
        Self {
            client,
            rules,
            deadline: pace.call_deadline,
            reads: Arc::new(Semaphore::new(READS)),
            lists: Arc::new(Semaphore::new(LISTS)),
            patches: Arc::new(Semaphore::new(pace.patches)),
            served: Arc::default(),
        }
    }

    /// A source as it is now; `None` if there is none.
    pub async fn source(&self, source: &SourceRef) -> Result<Option<SourceObject>, ClusterError> {
        if source.kind == SourceKind::SecretProviderClass {
            return self.class(source).await;
        }
        self.source_itself(source).await
    }

    /// A source by its own object.
    pub(super) async fn source_itself(&self, source: &SourceRef) -> Result<Option<SourceObject>, ClusterError> {
        let call = Call::new("get", source.kind.plural(), &source.namespace);
        let path = format!("{}/{}", sources_path(source.kind, &source.namespace), source.name());
        let json = self.one(&call, &path, JSON).await?;
        json.map(|json| Ok(SourceObject::read(source, text(&json)?, &self.rules)?)).transpose()
    }

    /// A source as it was at a version of the cluster; `None` if there was none.
    pub async fn source_at(&self, source: &SourceRef, version: Version) -> Result<Option<SourceObject>, ClusterError> {
        if source.kind == SourceKind::SecretProviderClass {
            return self.class_at(source, version).await;
        }
        let collection = sources_path(source.kind, &source.namespace);
        let call = Call::past("list", source.kind.plural(), &source.namespace);
        let json = self.one_at(&call, &collection, source.name(), version).await?;
        Ok(json.map(|json| SourceObject::read(source, &json, &self.rules)).transpose()?)
    }

    /// The version of the cluster now, as a list of this source tells it.
    pub async fn version_now(&self, source: &SourceRef) -> Result<Version, ClusterError> {
        let call = Call::new("list", source.kind.plural(), &source.namespace);
        let collection = sources_path(source.kind, &source.namespace);
        let path = format!("{collection}?fieldSelector=metadata.name%3D{}", source.name());
        let json = self.read(&self.reads, &call, &path, METADATA_LIST).await?;
        list_version(&json, source.name())
    }

    /// The versions of all sources of a kind in a namespace, by metadata alone.
    pub async fn source_versions(
        &self,
        kind: SourceKind,
        namespace: &Namespace,
    ) -> Result<BTreeMap<String, Version>, ClusterError> {
        if kind == SourceKind::SecretProviderClass {
            return self.class_versions(namespace).await;
        }
        let call = Call::new("list", kind.plural(), namespace);
        let mut versions = BTreeMap::new();
        let take = |source: VersionMetadata| versions.extend([(source.name, source.version)]);
        self.each_metadata(&call, kind.plural(), &sources_path(kind, namespace), take).await?;
        Ok(versions)
    }

    /// The metadata of all objects of a collection, as far as `M` asks for it.
    pub(super) async fn each_metadata<M: DeserializeOwned>(
        &self,
        call: &Call,
        plural: &str,
        collection: &str,
        mut take: impl FnMut(M),
    ) -> Result<(), ClusterError> {
        let take_page = |json: &str| {
            let page: MetadataPage<M> =
                serde_json::from_str(json).map_err(|error| ShapeError::new(format!("the list of {plural}"), &error))?;
            page.items.unwrap_or_default().into_iter().for_each(|item| take(item.metadata));
            Ok(page.metadata.next)
        };
        self.pages(call, collection, METADATA_LIST, take_page).await
    }

    /// Waits for its turn behind all patches that wait now: for reads that hold up nobody, such as those for a report.
    pub async fn turn_behind_patches(&self) -> Option<SemaphorePermit<'_>> {
        self.patches.acquire().await.ok()
    }

    /// The object at a path, as JSON; `None` if there is none.
    pub(super) async fn one(&self, call: &Call, path: &str, accept: &str) -> Result<Option<Bytes>, ClusterError> {
        match self.read(&self.reads, call, path, accept).await {
            Ok(json) => Ok(Some(json)),
            Err(ClusterError::NotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Reads a collection page by page, or what a query leaves of it. `take` gets each as JSON and gives back the token of the next.
    pub(super) async fn pages(
        &self,
        call: &Call,
        collection: &str,
        accept: &str,
        take: impl FnMut(&str) -> Result<Option<String>, ShapeError>,
    ) -> Result<(), ClusterError> {
        self.pages_at(call, collection, None, accept, take).await
    }

    /// The same as it was at a version.
    pub(super) async fn pages_at(
        &self,
        call: &Call,
        collection: &str,
        version: Option<Version>,
        accept: &str,
        mut take: impl FnMut(&str) -> Result<Option<String>, ShapeError>,
    ) -> Result<(), ClusterError> {
        let and = if collection.contains('?') { '&' } else { '?' };
        // The token of a next page holds the version.
        let at = version.map(|version| format!("&resourceVersion={version}&resourceVersionMatch=Exact"));
        let mut path = format!("{collection}{and}limit={PAGE}{}", at.unwrap_or_default());
        loop {
            let json = self.read(&self.lists, call, &path, accept).await?;
            match take(text(&json)?)? {
                // The token is base64url, which needs no escape in a query.
                Some(token) if !token.is_empty() => path = format!("{collection}{and}limit={PAGE}&continue={token}"),
                _ => return Ok(()),
            }
        }
    }

    /// The one object of a name in a collection as it was at a version, as JSON.
    pub(super) async fn one_at(
        &self,
        call: &Call,
        collection: &str,
        name: &str,
        version: Version,
    ) -> Result<Option<String>, ClusterError> {
        #[derive(Deserialize)]
        struct List<'a> {
            #[serde(borrow)]
            items: Option<Vec<&'a serde_json::value::RawValue>>,
        }
        let path = format!(
            "{collection}?fieldSelector=metadata.name%3D{name}&resourceVersion={version}&resourceVersionMatch=Exact"
        );
        let json = self.read(&self.reads, call, &path, JSON).await?;
        let list: List<'_> =
            serde_json::from_slice(&json).map_err(|error| ShapeError::new(format!("the past of {name}"), &error))?;
        Ok(list.items.unwrap_or_default().first().map(|item| item.get().to_owned()))
    }

    async fn read(&self, slots: &Semaphore, call: &Call, path: &str, accept: &str) -> Result<Bytes, ClusterError> {
        let _slot = slots.acquire().await.map_err(|_| ClusterError::Stopping)?;
        let request = Request::get(path).header(header::ACCEPT, accept).body(Body::empty());
        self.send(call, request.map_err(|_| ClusterError::BadPath)?).await
    }

    /// Sends a request and takes its whole answer, within the deadline. The client below repeats 429, 503 and 504
    /// itself, as long as the server asks for (`Retry-After`) and the deadline lasts.
    pub(super) async fn send(&self, call: &Call, request: Request<Body>) -> Result<Bytes, ClusterError> {
        let answer = timeout(self.deadline, async {
            let response = self.client.send(request).await.map_err(|error| ClusterError::unreachable(call, error))?;
            let status = response.status();
            let body = response.into_body().collect().await.map_err(|error| ClusterError::unreachable(call, error))?;
            Ok::<(StatusCode, Bytes), ClusterError>((status, body.to_bytes()))
        });
        let (status, body) = answer.await.map_err(|_| ClusterError::late(call, self.deadline))??;
        if status.is_success() { Ok(body) } else { Err(ClusterError::refused(call, status, &body)) }
    }
}

#[derive(Deserialize)]
struct MetadataPage<M> {
    metadata: PageMetadata,
    items: Option<Vec<MetadataItem<M>>>,
}

#[derive(Deserialize)]
struct PageMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
}

#[derive(Deserialize)]
struct MetadataItem<M> {
    metadata: M,
}

#[derive(Deserialize)]
struct VersionMetadata {
    name: String,
    #[serde(rename = "resourceVersion")]
    version: Version,
}

/// The version of the cluster that a list is of.
pub(super) fn list_version(json: &Bytes, what: &str) -> Result<Version, ClusterError> {
    #[derive(Deserialize)]
    struct List {
        metadata: At,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct At {
        resource_version: Version,
    }
    let list: List =
        serde_json::from_slice(json).map_err(|error| ShapeError::new(format!("the list of {what}"), &error))?;
    Ok(list.metadata.resource_version)
}

pub(super) fn sources_path(kind: SourceKind, namespace: &Namespace) -> String {
    format!("{}/namespaces/{namespace}/{}", kind.root(), kind.plural())
}

pub(super) fn text(json: &Bytes) -> Result<&str, ClusterError> {
    std::str::from_utf8(json).map_err(|_| ClusterError::NotText)
}
