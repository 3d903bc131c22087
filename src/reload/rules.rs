//! What was set for all workloads at once, as the core needs it.
//!
//! Invariant: made once at the start and never changed, so that a decision depends on nothing but its inputs.
//! Left out: where a setting comes from (edge/config.rs).

use super::annotation_keys::AnnotationKeys;
use super::digest::DigestKey;
use super::extra_sources::CrossNamespace;
use super::opt_in::Unmarked;
use super::rollout_way::{RevisionNames, Strategy};
use super::scope::Scope;
use super::source::SourceKind;
use super::workload_kind::WorkloadKind;

/// What it means that a source appears or vanishes, besides what is in it (the peer's `reload-on-create` and
/// `reload-on-delete`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Absence {
    /// A source appears that a workload was there without.
    pub on_create: OnAbsence,
    /// A source vanishes.
    pub on_delete: OnAbsence,
}

/// Whether that is a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnAbsence {
    /// It is no change by itself.
    Nothing,
    /// It is a change.
    Reload,
}

impl Absence {
    /// The same for one kind of source. A SecretProviderClass is there as long as pods mount it, so it vanishes and appears
    /// where a workload is scaled to nothing and back, which is no change of it.
    #[must_use]
    pub const fn of(self, kind: SourceKind) -> Self {
        match kind {
            SourceKind::ConfigMap | SourceKind::Secret => self,
            SourceKind::SecretProviderClass => Self { on_create: OnAbsence::Nothing, on_delete: OnAbsence::Nothing },
        }
    }

    /// Whether it has to be known which sources are not there.
    #[must_use]
    pub fn is_watched(self) -> bool {
        [self.on_create, self.on_delete].contains(&OnAbsence::Reload)
    }
}

/// The rules by which every decision is made.
#[derive(Clone, Debug)]
pub struct Rules {
    /// How the annotations are called.
    pub annotations: AnnotationKeys,
    /// What happens to a workload that says nothing.
    pub unmarked: Unmarked,
    /// The kinds of workload that are looked at.
    pub kinds: Vec<&'static WorkloadKind>,
    /// How workloads are rolled out that do not say.
    pub strategy: Strategy,
    /// What becomes of Revisions that have a name of their own.
    pub revision_names: RevisionNames,
    /// What a source that appears or vanishes means.
    pub absence: Absence,
    /// Whether workloads may name sources of other namespaces.
    pub cross_namespace: CrossNamespace,
    /// The key of every digest.
    pub digest_key: DigestKey,
    /// What is looked at.
    pub scope: Scope,
}
