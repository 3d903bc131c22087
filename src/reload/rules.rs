//! What was set for all workloads at once, as the core needs it.
//!
//! Invariant: made once at the start and never changed, so that a decision depends on nothing but its inputs.
//! Left out: where a setting comes from (edge/config.rs).

use super::digest::DigestKey;
use super::opt_in::{AnnotationKeys, Unmarked};
use super::rollout_way::{RevisionNames, Strategy};
use super::scope::Scope;
use super::workload_kind::WorkloadKind;

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
    /// The key of every digest.
    pub digest_key: DigestKey,
    /// What is looked at.
    pub scope: Scope,
}
