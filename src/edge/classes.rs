//! What is asked of SecretProviderClasses: the class itself for its annotations, the statuses of its pods for the rest.
//!
//! Invariant: where the Secrets Store CSI driver is not installed there is no class, which costs one look now and then.
//! Left out: what the statuses mean (reload/pod_status.rs).

use std::collections::BTreeMap;

use super::cluster::{Cluster, JSON, text};
use super::cluster_error::{Call, ClusterError};
use super::served_kinds::Resource;
use crate::reload::change::Change;
use crate::reload::pod_status::{Mounted, POD_STATUSES, PodStatusRef};
use crate::reload::source::{Namespace, SourceKind, SourceRef};
use crate::reload::source_object::SourceObject;
use crate::reload::version::Version;

const CLASS: SourceKind = SourceKind::SecretProviderClass;

impl Cluster {
    /// The change that the status of a pod tells; `None` where the status is gone, or of no class that there could be.
    pub async fn class_of(&self, status: PodStatusRef) -> Result<Option<Change>, ClusterError> {
        let call = Call::new("get", POD_STATUSES, &status.namespace);
        let path = format!("{}/{}", statuses_path(&status.namespace), status.name);
        let Some(json) = self.one(&call, &path, JSON).await? else { return Ok(None) };
        let class = status.class(text(&json)?)?;
        Ok(class.and_then(|class| status.change_of(&class).ok()))
    }

    /// A class as it is now; `None` if there is none, or nobody has mounted anything of it.
    pub(super) async fn class(&self, source: &SourceRef) -> Result<Option<SourceObject>, ClusterError> {
        let mounted = self.mounted(Some(&source.namespace)).await?.take(source);
        let Some(mounted) = mounted else { return Ok(None) };
        let class = self.source_itself(source).await?;
        Ok(class.and_then(|class| SourceObject::of_class(source, Some(&class), &mounted)))
    }

    /// A class as it was at a version of the cluster, but for its annotations.
    pub(super) async fn class_at(
        &self,
        source: &SourceRef,
        version: Version,
    ) -> Result<Option<SourceObject>, ClusterError> {
        let call = Call::past("list", POD_STATUSES, &source.namespace);
        let mut mounted = Mounted::default();
        let path = statuses_path(&source.namespace);
        self.pages_at(&call, &path, Some(version), JSON, |json| mounted.add_page(json)).await?;
        Ok(mounted.take(source).and_then(|mounted| SourceObject::of_class(source, None, &mounted)))
    }

    /// The versions of all classes of a namespace of which something is mounted.
    pub(super) async fn class_versions(
        &self,
        namespace: &Namespace,
    ) -> Result<BTreeMap<String, Version>, ClusterError> {
        let classes = self.mounted(Some(namespace)).await?.into_classes();
        Ok(classes.filter_map(|((_, name), mounted)| Some((name, mounted.version()?))).collect())
    }

    /// What pods have mounted, in one namespace or in all.
    pub(super) async fn mounted(&self, namespace: Option<&Namespace>) -> Result<Mounted, ClusterError> {
        let resource = statuses();
        let mut mounted = Mounted::default();
        if !self.serves(resource.clone()).await? {
            return Ok(mounted);
        }
        let (call, path) = match namespace {
            Some(namespace) => (Call::new("list", POD_STATUSES, namespace), statuses_path(namespace)),
            None => (Call::everywhere("list", POD_STATUSES), all_statuses_path()),
        };
        match self.pages(&call, &path, JSON, |json| mounted.add_page(json)).await {
            // The driver was uninstalled.
            Err(ClusterError::NotFound) => self.served.forget(&resource),
            done => done?,
        }
        Ok(mounted)
    }
}

/// What the driver's CRD brings.
pub(super) fn statuses() -> Resource {
    Resource { root: CLASS.root().to_owned(), plural: POD_STATUSES }
}

pub(super) fn all_statuses_path() -> String {
    format!("{}/{POD_STATUSES}", CLASS.root())
}

pub(super) fn statuses_path(namespace: &Namespace) -> String {
    format!("{}/namespaces/{namespace}/{POD_STATUSES}", CLASS.root())
}
