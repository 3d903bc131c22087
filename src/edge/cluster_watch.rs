//! Watches of the API server: the names of sources as they change, and where a watch may begin.
//!
//! Invariant: of ConfigMaps and Secrets metadata alone is asked for, and of that only names, versions and labels are read:
//! no content of a source is ever on this way.
//! Left out: what to do when a watch ends (source_watch.rs).

use std::time::Duration;

use futures::{Stream, StreamExt as _};
use http::{Request, StatusCode, header};
use kube::core::{Status, WatchEvent};
use serde::Deserialize;

use super::cluster::{Cluster, JSON, METADATA, METADATA_LIST, list_version};
use super::cluster_error::{Call, ClusterError};
use crate::reload::label_selector::Labels;
use crate::reload::pod_status::POD_STATUSES;
use crate::reload::source::{Namespace, SourceKind};
use crate::reload::version::Version;

/// The API server ends a watch after this, and it is opened anew where it ended.
pub const WATCH_LASTS: Duration = Duration::from_mins(5);

/// A source as a watch names it.
#[derive(Clone, Debug, Deserialize)]
pub struct Watched {
    /// Its metadata.
    pub metadata: WatchedMetadata,
    /// Where it is the status of a pod, what that says.
    #[serde(default)]
    pub status: WatchedStatus,
}

/// What is read of it.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchedMetadata {
    /// Where it is.
    pub namespace: Namespace,
    /// What it is called.
    pub name: String,
    /// At which version.
    pub resource_version: Version,
    /// Its labels.
    pub labels: Option<Labels>,
}

/// What is read of the status of a pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WatchedStatus {
    /// The class that the pod mounts.
    pub secret_provider_class_name: Option<String>,
}

/// What is watched: the sources of a kind, of one namespace or of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Which kind.
    pub kind: SourceKind,
    /// `None`: all namespaces.
    pub namespace: Option<Namespace>,
}

impl Feed {
    fn call(&self, verb: &'static str) -> Call {
        match &self.namespace {
            Some(namespace) => Call::new(verb, self.plural(), namespace),
            None => Call::everywhere(verb, self.plural()),
        }
    }

    fn path(&self) -> String {
        let root = self.kind.root();
        match &self.namespace {
            Some(namespace) => format!("{root}/namespaces/{namespace}/{}", self.plural()),
            None => format!("{root}/{}", self.plural()),
        }
    }

    /// Of a SecretProviderClass, the statuses of its pods tell.
    const fn plural(&self) -> &'static str {
        match self.kind {
            SourceKind::ConfigMap | SourceKind::Secret => self.kind.plural(),
            SourceKind::SecretProviderClass => POD_STATUSES,
        }
    }

    /// Metadata does not say of which class the status of a pod is. No status holds content of a Secret.
    const fn accept(&self) -> &'static str {
        match self.kind {
            SourceKind::ConfigMap | SourceKind::Secret => METADATA,
            SourceKind::SecretProviderClass => JSON,
        }
    }
}

impl Cluster {
    /// The version that a watch begins at so that it tells of everything from now on.
    pub async fn version_of_feed(&self, feed: &Feed) -> Result<Version, ClusterError> {
        let path = format!("{}?limit=1", feed.path());
        let json = self.one(&feed.call("list"), &path, METADATA_LIST).await?.ok_or(ClusterError::NotFound)?;
        list_version(&json, feed.plural())
    }

    /// What changes after a version. It ends with an error, or without one when the API server ends it.
    pub async fn watch(
        &self,
        feed: &Feed,
        version: Version,
    ) -> Result<impl Stream<Item = Result<WatchEvent<Watched>, ClusterError>> + use<>, ClusterError> {
        let call = feed.call("watch");
        let (path, seconds) = (feed.path(), WATCH_LASTS.as_secs());
        let path =
            format!("{path}?watch=true&allowWatchBookmarks=true&timeoutSeconds={seconds}&resourceVersion={version}");
        let request = Request::get(path).header(header::ACCEPT, feed.accept()).body(Vec::new());
        let request = request.map_err(|_| ClusterError::BadPath)?;
        let events = self.client.request_events(request).await.map_err(|error| failed(&call, error))?;
        Ok(events.map(move |event| {
            event.map_err(|error| failed(&call, error)).and_then(|event| unless_refused(&call, event))
        }))
    }
}

/// The server may say in the middle that it cannot go on.
fn unless_refused(call: &Call, event: WatchEvent<Watched>) -> Result<WatchEvent<Watched>, ClusterError> {
    match event {
        WatchEvent::Error(status) => Err(refused(call, &status)),
        event => Ok(event),
    }
}

fn failed(call: &Call, error: kube::Error) -> ClusterError {
    match error {
        kube::Error::Api(status) => refused(call, &status),
        error => ClusterError::unreachable(call, error),
    }
}

fn refused(call: &Call, status: &Status) -> ClusterError {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let body = serde_json::json!({ "message": status.message }).to_string();
    ClusterError::refused(call, code, body.as_bytes())
}
