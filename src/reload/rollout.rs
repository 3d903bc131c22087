//! A decision as the patch that its workload needs.
//!
//! Invariants: the patch holds the workload's uid and version, so that it is refused where either is another by
//! then; the record goes in with it, so that a rollout and the memory of it are one write.
//! Left out: sending it, and deciding again where it is refused (edge/reload_run.rs).

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::content::Digest;
use super::record::{OBSERVED, Record};
use super::source::SourceRef;
use super::workload::Workload;

/// The annotation that the peer writes on the pod template with its strategy `annotations`, and so do we: a tool that
/// reads it works on.
pub const LAST_RELOADED_FROM: &str = "reloader.stakater.com/last-reloaded-from";

/// The merge patch that rolls out `workload` because `changed` has a content of `digest` now, and notes `record` on it.
///
/// `at` is written into the peer's annotation (whole seconds since 1970), which wants a time.
#[must_use]
pub fn merge_patch(workload: &Workload, changed: &SourceRef, digest: Digest, record: &Record, at: Timestamp) -> Value {
    let mut annotations = Map::new();
    annotations.insert(LAST_RELOADED_FROM.to_owned(), Value::String(last_reloaded_from(workload, changed, digest, at)));
    let template = json!({ "metadata": { "annotations": annotations } });
    let mut patch = workload.id.kind.template_path.iter().rev().fold(template, |inner, step| json!({ *step: inner }));
    patch["metadata"] = json!({
        "uid": workload.uid,
        "resourceVersion": workload.version,
        "annotations": { OBSERVED: record.to_annotation() },
    });
    patch
}

/// The peer's annotation: the fields of its version 1.
fn last_reloaded_from(workload: &Workload, source: &SourceRef, digest: Digest, at: Timestamp) -> String {
    let usage = workload.usage(source).map(|usage| usage.carrier.as_str());
    let carriers: Vec<&str> = usage.or_else(|| workload.references.default_carrier()).into_iter().collect();
    json!({
        "type": source.kind.upper_case(),
        "name": source.name(),
        "namespace": source.namespace,
        "hash": digest,
        "containerRefs": carriers,
        "observedAt": at.as_second(),
    })
    .to_string()
}
