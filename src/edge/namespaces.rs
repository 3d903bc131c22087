//! Which namespaces are looked at: by name, and by labels where a selector asks for them.
//!
//! Invariant: labels are read only where they are asked for, and never kept: a namespace may be given others. One
//! whose labels cannot be read is an error, not a namespace out of scope.
//! Left out: what is in scope (reload/scope.rs).

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Deserialize;

use super::cluster::{Cluster, METADATA};
use super::cluster_error::{Call, ClusterError};
use crate::reload::label_selector::Labels;
use crate::reload::rules::Rules;
use crate::reload::scope::OutOfScope;
use crate::reload::source::Namespace;
use crate::reload::source_object::ShapeError;

const NAMESPACES: &str = "namespaces";

/// The namespaces that a sweep looks at.
pub struct Places {
    rules: Arc<Rules>,
    which: Which,
}

enum Which {
    /// All that are in scope by name; lists are of all namespaces.
    All,
    /// Of all, only these have labels as they should be.
    Selected(BTreeSet<Namespace>),
    /// These; lists are of one namespace each, as there may be no right to others.
    Listed(Vec<Namespace>),
}

impl Places {
    /// The lists that have to be made: of one namespace, or of all.
    pub fn lists(&self) -> Vec<Option<&Namespace>> {
        match &self.which {
            Which::All | Which::Selected(_) => vec![None],
            Which::Listed(listed) => listed.iter().map(Some).collect(),
        }
    }

    /// Whether a namespace is one of them.
    #[must_use]
    pub fn contain(&self, namespace: &Namespace) -> bool {
        let is_selected = match &self.which {
            Which::All | Which::Listed(_) => true,
            Which::Selected(selected) => selected.contains(namespace),
        };
        is_selected && self.rules.scope.namespace(namespace).is_ok()
    }
}

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: Namespace,
    labels: Option<Labels>,
}

impl Cluster {
    /// Whether the labels of a namespace are as they should be. They are read only where a selector asks for them; a
    /// namespace that is gone has none to be selected by.
    pub async fn check_labels(&self, namespace: &Namespace) -> Result<Result<(), OutOfScope>, ClusterError> {
        if self.rules.scope.namespace_selector.is_none() {
            return Ok(Ok(()));
        }
        let call = Call::new("get", NAMESPACES, namespace);
        let path = format!("/api/v1/namespaces/{namespace}");
        let Some(json) = self.one(&call, &path, METADATA).await? else {
            return Ok(Err(OutOfScope::NamespaceNotSelected));
        };
        let object: Object = serde_json::from_slice(&json)
            .map_err(|error| ShapeError::new(format!("the namespace {namespace}"), &error))?;
        Ok(self.rules.scope.namespace_labels(&object.metadata.labels.unwrap_or_default()))
    }

    /// The namespaces that a sweep looks at.
    pub async fn places(&self) -> Result<Places, ClusterError> {
        let which = match self.rules.scope.listed_namespaces() {
            Some(listed) => {
                let mut selected = Vec::new();
                for namespace in listed {
                    if self.check_labels(namespace).await?.is_ok() {
                        selected.push(namespace.clone());
                    }
                }
                Which::Listed(selected)
            }
            None if self.rules.scope.namespace_selector.is_some() => Which::Selected(self.selected_namespaces().await?),
            None => Which::All,
        };
        Ok(Places { rules: self.rules.clone(), which })
    }

    async fn selected_namespaces(&self) -> Result<BTreeSet<Namespace>, ClusterError> {
        let call = Call::everywhere("list", NAMESPACES);
        let mut selected = BTreeSet::new();
        let take = |namespace: Metadata| {
            if self.rules.scope.namespace_labels(&namespace.labels.unwrap_or_default()).is_ok() {
                selected.insert(namespace.name);
            }
        };
        self.each_metadata(&call, NAMESPACES, "/api/v1/namespaces", take).await?;
        Ok(selected)
    }
}
