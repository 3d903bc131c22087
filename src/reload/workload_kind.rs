//! The one table of workload kinds that can be rolled out.
//!
//! Invariant: a kind is one row; adding one is adding a row (and the right to list and patch it). Nothing else in
//! the program names a kind.
//! Left out: how a workload of a kind is rolled out (rollout_way.rs).

use std::fmt;

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
    /// Whether every API server has it.
    pub presence: Presence,
    /// Who acts on a change of it.
    pub controller: Controller,
}

/// Whether every API server has a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Presence {
    /// It is one of Kubernetes' own.
    Always,
    /// Where its CRD or API server is installed.
    WhereInstalled,
}

/// Who acts on a change of a workload, as far as it matters to how a workload is rolled out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Controller {
    /// One that replaces pods when the pod template changes.
    ByTemplate,
    /// The same, and it waits with that as long as `spec.paused` is set.
    Pausable,
    /// The same, and it restarts pods without a new template too.
    ArgoRollouts,
    /// The same, by a Revision for each template.
    KnativeServing,
    /// One that makes Jobs at certain times.
    CronJob,
    /// One that runs pods once, and takes no other template.
    Job,
}

const AT_SPEC: &[&str] = &["spec", "template"];

/// Every kind that can be rolled out, apart from those of the settings.
pub static WORKLOAD_KINDS: [WorkloadKind; 8] = [
    built_in("apps", "Deployment", "deployments", AT_SPEC, Controller::Pausable),
    built_in("apps", "StatefulSet", "statefulsets", AT_SPEC, Controller::ByTemplate),
    built_in("apps", "DaemonSet", "daemonsets", AT_SPEC, Controller::ByTemplate),
    built_in("batch", "CronJob", "cronjobs", &["spec", "jobTemplate", "spec", "template"], Controller::CronJob),
    built_in("batch", "Job", "jobs", AT_SPEC, Controller::Job),
    installed(["argoproj.io", "v1alpha1", "Rollout", "rollouts"], Controller::ArgoRollouts),
    installed(["apps.openshift.io", "v1", "DeploymentConfig", "deploymentconfigs"], Controller::ByTemplate),
    installed(["serving.knative.dev", "v1", "Service", "services"], Controller::KnativeServing),
];

const fn built_in(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    template_path: &'static [&'static str],
    controller: Controller,
) -> WorkloadKind {
    WorkloadKind { group, version: "v1", kind, plural, template_path, presence: Presence::Always, controller }
}

const fn installed([group, version, kind, plural]: [&'static str; 4], controller: Controller) -> WorkloadKind {
    let presence = Presence::WhereInstalled;
    WorkloadKind { group, version, kind, plural, template_path: AT_SPEC, presence, controller }
}

/// Why a text is no row. Says what to write instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// It has another shape.
    #[error("has an entry that is no kind; write group/version/Kind:plural=path.to.template")]
    Shape,
    /// The table has the kind already.
    #[error("has an entry for a kind that Confroll knows already; leave that one out")]
    Known,
}

impl WorkloadKind {
    /// Reads a row of the settings: `apps.kruise.io/v1alpha1/CloneSet:clonesets=spec.template`.
    ///
    /// A row lives as long as the process, like those of the table.
    pub fn read(row: &str) -> Result<&'static Self, RowError> {
        let (api, rest) = row.rsplit_once('/').ok_or(RowError::Shape)?;
        let (group, version) = api.split_once('/').unwrap_or(("", api));
        let (kind, rest) = rest.split_once(':').ok_or(RowError::Shape)?;
        let (plural, path) = rest.split_once('=').ok_or(RowError::Shape)?;
        let path: Vec<&str> = path.split('.').collect();
        let is_word = |text: &str, more: &str| {
            !text.is_empty() && text.len() <= 253 && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
        };
        let is_lower = |text: &str| !text.contains(|c: char| c.is_ascii_uppercase());
        let fits = (group.is_empty() || (is_word(group, ".-") && is_lower(group)))
            && (is_word(version, "") && is_lower(version))
            && is_word(kind, "")
            && (is_word(plural, "") && is_lower(plural))
            && path.iter().all(|step| is_word(step, "-_"));
        if !fits {
            return Err(RowError::Shape);
        }
        if WORKLOAD_KINDS.iter().any(|known| (known.group, known.plural) == (group, plural)) {
            return Err(RowError::Known);
        }
        let kept = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        let path: Vec<&'static str> = path.into_iter().map(kept).collect();
        Ok(Box::leak(Box::new(Self {
            group: kept(group),
            version: kept(version),
            kind: kept(kind),
            plural: kept(plural),
            template_path: Box::leak(path.into_boxed_slice()),
            presence: Presence::WhereInstalled,
            controller: Controller::ByTemplate,
        })))
    }

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

    /// The path that tells which kinds of its API group and version the server has.
    #[must_use]
    pub fn root(&self) -> String {
        let root = if self.group.is_empty() { "api" } else { "apis" };
        format!("/{root}/{}", self.api_version())
    }
}

/// `Deployment`.
impl fmt::Display for WorkloadKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_api_server() {
        assert_eq!(WORKLOAD_KINDS[0].collection_path("shop"), "/apis/apps/v1/namespaces/shop/deployments");
        assert_eq!(WORKLOAD_KINDS[0].cluster_path(), "/apis/apps/v1/deployments");
        let core = WorkloadKind::read("v1/Thing:things=spec").unwrap();
        assert_eq!(core.collection_path("shop"), "/api/v1/namespaces/shop/things");
    }

    #[test]
    fn a_row_of_the_settings_says_where_the_template_is() {
        let row = WorkloadKind::read("apps.kruise.io/v1alpha1/CloneSet:clonesets=spec.template").unwrap();
        assert_eq!(
            (row.group, row.version, row.kind, row.plural),
            ("apps.kruise.io", "v1alpha1", "CloneSet", "clonesets")
        );
        assert_eq!(row.template_path, ["spec", "template"]);
        assert_eq!((row.presence, row.controller), (Presence::WhereInstalled, Controller::ByTemplate));
        let odd = WorkloadKind::read("odd.example/v2/Odd:odds=spec.worker-pool.pod_template").unwrap();
        assert_eq!(odd.template_path, ["spec", "worker-pool", "pod_template"]);
    }

    #[test]
    fn what_is_no_row_is_an_error() {
        for text in [
            "",
            "CloneSet",
            "a/v1/Kind",
            "a/v1/Kind:kinds",
            "a/v1/Kind:kinds=",
            "a/v1/Kind:kinds=spec..template",
            "a/v1/Kind:Kinds=spec",
            "A/v1/Kind:kinds=spec",
            "a/b/v1/Kind:kinds=spec",
            "a/v1/Kind:kinds/x=spec",
            "a/v1/:kinds=spec",
            "a//Kind:kinds=spec",
            "a/v1/Kind:kinds=spec.a/b",
            "/Kind:kinds=spec",
            "a?b/v1/Kind:kinds=spec",
        ] {
            assert_eq!(WorkloadKind::read(text), Err(RowError::Shape), "{text}");
        }
        assert_eq!(WorkloadKind::read("apps/v1/Deployment:deployments=spec.template"), Err(RowError::Known));
    }
}
