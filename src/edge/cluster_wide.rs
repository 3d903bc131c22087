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
use crate::reload::version::Version;

#[derive(Deserialize)]
struct Metadata {
    namespace: Namespace,
    name: String,
    #[serde(rename = "resourceVersion")]
    version: Version,
    annotations: Option<Annotations>,
}

impl Cluster {
    /// All sources of a kind, by metadata alone.
    pub async fn see_all_sources(&self, kind: SourceKind, seen: &mut SeenSources) -> Result<(), ClusterError> {
        let call = Call::everywhere("list", kind.plural());
        let take = |source: Metadata| {
            let marks = SourceMarks::of(&source.annotations.unwrap_or_default(), &self.rules.annotations);
            seen.add(source.namespace, kind, source.name, SeenSource { version: source.version, marks });
        };
        self.each_metadata(&call, kind, &format!("/api/v1/{}", kind.plural()), take).await
    }
}
