//! The sources of all namespaces, or of some, for a sweep.
//!
//! Invariant: one page at a time, so that memory does not grow with what the objects hold.
//! Left out: what is looked for in them (reload/sweep.rs), and which namespaces (namespaces.rs).

use serde::Deserialize;

use super::cluster::{Cluster, sources_path};
use super::cluster_error::{Call, ClusterError};
use super::namespaces::Places;
use crate::reload::label_selector::Labels;
use crate::reload::opt_in::{Annotations, SourceMarks};
use crate::reload::pod_status::{Mounted, MountedClass};
use crate::reload::source::Namespace;
use crate::reload::source::SourceKind;
use crate::reload::sweep::{SeenSource, SeenSources};
use crate::reload::version::{News, Version};

#[derive(Deserialize)]
struct Metadata {
    namespace: Namespace,
    name: String,
    #[serde(rename = "resourceVersion")]
    version: Version,
    annotations: Option<Annotations>,
    labels: Option<Labels>,
}

impl Cluster {
    /// All sources of a kind that are in scope by name, by metadata alone. A kind that is out of scope is not listed.
    pub async fn see_sources(
        &self,
        kind: SourceKind,
        places: &Places,
        seen: &mut SeenSources,
    ) -> Result<(), ClusterError> {
        let scope = &self.rules.scope;
        if scope.source_kind(kind).is_err() {
            return Ok(());
        }
        for namespace in places.lists() {
            let mounted = match kind {
                SourceKind::ConfigMap | SourceKind::Secret => None,
                SourceKind::SecretProviderClass => Some(self.mounted(namespace).await?),
            };
            if mounted.as_ref().is_some_and(Mounted::is_empty) {
                continue;
            }
            let (call, collection) = match namespace {
                Some(namespace) => (Call::new("list", kind.plural(), namespace), sources_path(kind, namespace)),
                None => (Call::everywhere("list", kind.plural()), format!("{}/{}", kind.root(), kind.plural())),
            };
            let take = |source: Metadata| {
                if !places.contain(&source.namespace) || scope.source_name(kind, &source.name).is_err() {
                    return;
                }
                let labels = scope.source_labels(&source.labels.unwrap_or_default());
                let marks = SourceMarks::of(&source.annotations.unwrap_or_default(), &self.rules.annotations, labels);
                let (version, news) = match &mounted {
                    None => (source.version, News::OfAnotherVersion),
                    Some(mounted) => match mounted.get(&source.namespace, &source.name).and_then(MountedClass::seen) {
                        Some(seen) => seen,
                        None => return,
                    },
                };
                seen.add(source.namespace, kind, source.name, SeenSource { version, news, marks });
            };
            self.each_metadata(&call, kind.plural(), &collection, take).await?;
        }
        Ok(())
    }
}
