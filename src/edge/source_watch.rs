//! Watches sources and hands on each change.
//!
//! Invariants: nothing is remembered but how far the watch came, so memory does not grow with the cluster; a watch that
//! ends goes on where it ended; where that is no longer known, it begins at the present, and a sweep is asked for, which
//! finds what happened between.
//! Left out: the watch itself (cluster_watch.rs), and what a change leads to (intake.rs).

use std::sync::Arc;

use backon::BackoffBuilder as _;
use futures::StreamExt as _;
use kube::core::WatchEvent;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::cluster::Cluster;
use super::cluster_error::ClusterError;
use super::cluster_watch::{Feed, WATCH_LASTS, Watched};
use super::intake::{Intake, waits};
use super::metrics::Metrics;
use super::reporter::now;
use crate::reload::change::{Change, Occasion};
use crate::reload::source::{SourceKind, SourceRef};
use crate::reload::tag::EventTag;
use crate::reload::version::Version;

/// Watches the sources of one feed.
#[derive(Clone)]
pub struct SourceWatch {
    /// The API server.
    pub cluster: Cluster,
    /// Where changes go.
    pub intake: Intake,
    /// Who is told that a sweep is needed.
    pub sweep_wanted: Arc<Notify>,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// What is watched.
    pub feed: Feed,
}

/// Why a watch is over.
enum Ended {
    /// The API server ended it, as it does from time to time.
    InTime,
    /// It told nothing, not even how far it is, as it does every minute.
    Silent,
    /// It does not know any more what came after the last version.
    Expired,
    /// There is no such kind of object, and need not be.
    Missing,
    Failed(ClusterError),
}

impl SourceWatch {
    /// Watches until it is dropped.
    pub async fn run(self) {
        let mut position = None;
        let mut pauses = waits().without_max_times().build();
        loop {
            let ended = match position {
                Some(_) => self.follow(&mut position, || pauses = waits().without_max_times().build()).await,
                None => match self.cluster.version_of_feed(&self.feed).await {
                    Err(ClusterError::NotFound) if self.may_be_missing() => Ended::Missing,
                    Ok(version) => {
                        position = Some(version);
                        self.metrics.watch_began(self.feed.kind);
                        self.sweep_wanted.notify_one();
                        continue;
                    }
                    Err(error) => Ended::Failed(error),
                },
            };
            match ended {
                Ended::InTime => continue,
                Ended::Silent => tracing::debug!(source.kind = self.feed.kind.as_str(), "a watch ended without a word"),
                Ended::Expired => {
                    tracing::info!(
                        source.kind = self.feed.kind.as_str(),
                        "a watch lost its place; a sweep finds what it missed"
                    );
                    position = None;
                }
                Ended::Missing => {
                    tracing::debug!(source.kind = self.feed.kind.as_str(), "what is to be watched is not installed");
                    position = None;
                }
                Ended::Failed(error) => {
                    tracing::error!(%error, source.kind = self.feed.kind.as_str(), "a watch failed; it is opened again");
                }
            }
            sleep(pauses.next().unwrap_or_default()).await;
        }
    }

    /// Hands changes on until the watch is over. `came` is called when something came.
    async fn follow(&self, position: &mut Option<Version>, mut came: impl FnMut()) -> Ended {
        let mut ended = Ended::Silent;
        let Some(version) = *position else { return Ended::Expired };
        let events = match self.cluster.watch(&self.feed, version).await {
            Ok(events) => events,
            Err(ClusterError::Expired) => return Ended::Expired,
            Err(ClusterError::NotFound) if self.may_be_missing() => return Ended::Missing,
            Err(error) => return Ended::Failed(error),
        };
        let mut events = std::pin::pin!(events);
        // A connection may die without a word: then the watch is over when it should have been.
        while let Ok(Some(event)) = timeout(WATCH_LASTS, events.next()).await {
            match event {
                Ok(WatchEvent::Bookmark(bookmark)) => {
                    *position = Version::try_from(bookmark.metadata.resource_version).ok().or(*position);
                }
                Ok(WatchEvent::Added(source) | WatchEvent::Modified(source) | WatchEvent::Deleted(source)) => {
                    let version = source.metadata.resource_version;
                    self.hand_on(source).await;
                    *position = Some(version);
                }
                // It is made an error of below.
                Ok(WatchEvent::Error(_)) | Err(ClusterError::Expired) => return Ended::Expired,
                Err(error) => return Ended::Failed(error),
            }
            came();
            ended = Ended::InTime;
        }
        ended
    }

    /// Only the Secrets Store CSI driver has its own kinds, by CRDs that may come later.
    fn may_be_missing(&self) -> bool {
        self.feed.kind == SourceKind::SecretProviderClass
    }

    async fn hand_on(&self, Watched { metadata, status }: Watched) {
        let labels = metadata.labels.unwrap_or_default();
        // The labels of a class are read with it: those of the status are the driver's.
        let (name, out) = match self.feed.kind {
            SourceKind::ConfigMap | SourceKind::Secret => {
                (Some(metadata.name.clone()), self.cluster.rules.scope.source_labels(&labels).err())
            }
            SourceKind::SecretProviderClass => (status.secret_provider_class_name, None),
        };
        let source = name.and_then(|name| SourceRef::new(self.feed.kind, metadata.namespace, &name).ok());
        // Names of the API server's own are names; a status may be of no class.
        let Some(source) = source else { return };
        if out.is_some() {
            self.metrics.event("ignored");
            return;
        }
        let event =
            EventTag::of("confroll watch", &format!("{}/{source}@{}", source.namespace, metadata.resource_version));
        self.intake.take(Change { source, event, occasion: Occasion::Event, at: Some(now()) }).await;
    }
}
