//! The sources of all namespaces, for a sweep.
//!
//! Invariant: one page at a time, so that memory does not grow with what the objects hold.
//! Left out: what is looked for in them (reload/sweep.rs).

use serde::Deserialize;

use super::cluster::Cluster;
use super::cluster_error::{Call, ClusterError};
use crate::reload::opt_in::{Annotations, SourceMarks};
use crate::reload::source::{Namespace, SourceKind};
use crate::reload::sweep::{SeenSource, SeenSources};
use crate::reload::version::{News, Version};

#[derive(Deserialize)]
pub(super) struct Metadata {
    pub(super) namespace: Namespace,
    pub(super) name: String,
    #[serde(rename = "resourceVersion")]
    version: Version,
    pub(super) annotations: Option<Annotations>,
}

impl Cluster {
    /// All sources of a kind, by metadata alone.
    pub async fn see_all_sources(&self, kind: SourceKind, seen: &mut SeenSources) -> Result<(), ClusterError> {
        if kind == SourceKind::SecretProviderClass {
            return self.see_all_classes(seen).await;
        }
        let call = Call::everywhere("list", kind.plural());
        let take = |source: Metadata| {
            let marks = SourceMarks::of(&source.annotations.unwrap_or_default(), &self.rules.annotations);
            let seen_source = SeenSource { version: source.version, news: News::OfAnotherVersion, marks };
            seen.add(source.namespace, kind, source.name, seen_source);
        };
        self.each_metadata(&call, kind, &format!("{}/{}", kind.root(), kind.plural()), take).await
    }
}
