//! Lists of all namespaces, for a sweep.
//!
//! Invariant: one page at a time, so that memory does not grow with what the objects hold.
//! Left out: what is looked for in them (reload/sweep.rs).

use serde::Deserialize;

use super::cluster::{Cluster, JSON, METADATA_LIST};
use super::cluster_error::{Call, ClusterError};
use crate::reload::opt_in::{Annotations, SourceMarks};
use crate::reload::source::{Namespace, SourceKind};
use crate::reload::source_object::ShapeError;
use crate::reload::sweep::{SeenSource, SeenSources};
use crate::reload::version::Version;
use crate::reload::workload::Workload;
use crate::reload::workload_kind::WorkloadKind;

#[derive(Deserialize)]
struct Page {
    metadata: PageMetadata,
    items: Option<Vec<Item>>,
}

#[derive(Deserialize)]
struct PageMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
}

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

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
        let take = |json: &str| {
            let page: Page = serde_json::from_str(json)
                .map_err(|error| ShapeError::new(format!("the list of all {}", kind.plural()), &error))?;
            for Item { metadata } in page.items.unwrap_or_default() {
                let marks = SourceMarks::of(&metadata.annotations.unwrap_or_default(), &self.rules.annotations);
                let source = SeenSource { version: metadata.version, marks };
                seen.add(metadata.namespace, kind, metadata.name, source);
            }
            Ok(page.metadata.next)
        };
        self.pages(&call, &format!("/api/v1/{}", kind.plural()), METADATA_LIST, take).await
    }

    /// All workloads of a kind, each given to `take`. One that cannot be read is logged and left out.
    pub async fn all_workloads(
        &self,
        kind: &'static WorkloadKind,
        mut take: impl FnMut(Workload),
    ) -> Result<(), ClusterError> {
        let call = Call::everywhere("list", kind.plural);
        let take_page = |json: &str| {
            let page = Workload::read_page(kind, None, json, &self.rules)?;
            for error in page.unreadable {
                tracing::error!(%error, "a workload is left out");
            }
            page.workloads.into_iter().for_each(&mut take);
            Ok(page.next)
        };
        self.pages(&call, &kind.cluster_path(), JSON, take_page).await
    }
}
