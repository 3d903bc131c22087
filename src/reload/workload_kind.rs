//! The one table of workload kinds that can be rolled out.
//!
//! Invariant: a kind is one row; adding one is adding a row (and the right to list and patch it). Nothing else in
//! the program names a kind.
//! Left out: kinds that are not rolled out by a change of their pod template, such as Job.

/// A kind of workload, as a row of [`WORKLOAD_KINDS`].
#[derive(Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkloadKind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// API version within the group.
    pub version: &'static str,
    /// The kind's name: `Deployment`.
    pub kind: &'static str,
    /// The name in a URL: `deployments`.
    pub plural: &'static str,
    /// Where the pod template is in the object.
    pub template_path: &'static [&'static str],
}

/// Every kind that can be rolled out.
pub static WORKLOAD_KINDS: [WorkloadKind; 3] =
    [apps("Deployment", "deployments"), apps("StatefulSet", "statefulsets"), apps("DaemonSet", "daemonsets")];

const fn apps(kind: &'static str, plural: &'static str) -> WorkloadKind {
    WorkloadKind { group: "apps", version: "v1", kind, plural, template_path: &["spec", "template"] }
}

impl WorkloadKind {
    /// `apps/v1`, or `v1` for the core group.
    #[must_use]
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The path of all objects of this kind in a namespace.
    #[must_use]
    pub fn collection_path(&self, namespace: &str) -> String {
        format!("{}/namespaces/{namespace}/{}", self.root(), self.plural)
    }

    /// The path of all objects of this kind in the cluster.
    #[must_use]
    pub fn cluster_path(&self) -> String {
        format!("{}/{}", self.root(), self.plural)
    }

    fn root(&self) -> String {
        let root = if self.group.is_empty() { "api" } else { "apis" };
        format!("/{root}/{}", self.api_version())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_api_server() {
        assert_eq!(WORKLOAD_KINDS[0].collection_path("shop"), "/apis/apps/v1/namespaces/shop/deployments");
        assert_eq!(WORKLOAD_KINDS[0].cluster_path(), "/apis/apps/v1/deployments");
        let core = WorkloadKind { group: "", version: "v1", kind: "Pod", plural: "pods", template_path: &["spec"] };
        assert_eq!(core.collection_path("shop"), "/api/v1/namespaces/shop/pods");
    }
}
