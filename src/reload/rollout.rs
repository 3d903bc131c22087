//! A decision as the patch that its workload needs.
//!
//! Invariants: the patch holds the workload's uid and version, so that it is refused where either is another by
//! then; the record goes in with it, so that a rollout and the memory of it are one write.
//! Left out: sending it, and deciding again where it is refused (edge/reload_run.rs).

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::digest::Digest;
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
    patch["metadata"] = noted(workload, record);
    patch
}

/// The merge patch that notes `record` on `workload` and rolls nothing out, as it leaves the pod template alone.
#[must_use]
pub fn record_patch(workload: &Workload, record: &Record) -> Value {
    json!({ "metadata": noted(workload, record) })
}

fn noted(workload: &Workload, record: &Record) -> Value {
    json!({
        "uid": workload.uid,
        "resourceVersion": workload.version,
        "annotations": { OBSERVED: record.to_annotation() },
    })
}

/// The peer's annotation: the fields of its version 1.
fn last_reloaded_from(workload: &Workload, source: &SourceRef, digest: Digest, at: Timestamp) -> String {
    let user = workload.usage(source).map(|usage| usage.carrier.as_str()).filter(|name| !name.is_empty());
    let carriers: Vec<&str> = user.or_else(|| workload.references.default_carrier()).into_iter().collect();
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

#[cfg(test)]
mod tests {
    use super::super::record::{Cause, EventTag};
    use super::super::references::Keys;
    use super::super::testing::{app_at, config_map, deployment, rules, workload};
    use super::*;

    fn patch(json: &Value) -> Value {
        let (source, rules) = (app_at(60, "new"), rules());
        let digest = source.digest(&Keys::Whole, &rules.digest_key);
        let mut record = Record::new(&rules.digest_key, Cause::new(EventTag::of("s", "1"), Vec::new()));
        record.note(&source.source, &Keys::Whole, source.version, digest);
        merge_patch(&workload(json), &source.source, digest, &record, Timestamp::from_second(1_700_000_000).unwrap())
    }

    fn last_reloaded_from(patch: &Value) -> Value {
        let annotations = &patch["spec"]["template"]["metadata"]["annotations"];
        assert_eq!(annotations.as_object().unwrap().len(), 1);
        serde_json::from_str(annotations[LAST_RELOADED_FROM].as_str().unwrap()).unwrap()
    }

    #[test]
    fn a_patch_holds_its_precondition_the_record_and_the_peers_annotation_and_nothing_else() {
        let patch = patch(&deployment());
        assert_eq!((&patch["metadata"]["uid"], &patch["metadata"]["resourceVersion"]), (&json!("u1"), &json!("50")));
        let record = Record::read(patch["metadata"]["annotations"][OBSERVED].as_str().unwrap()).unwrap();
        assert!(record.seen(&config_map("app"), &rules().digest_key).is_some());
        assert_eq!(patch["metadata"].as_object().unwrap().len(), 3);
        assert_eq!((patch.as_object().unwrap().len(), patch["spec"].as_object().unwrap().len()), (2, 1));
        let digest = app_at(60, "new").digest(&Keys::Whole, &rules().digest_key);
        let expected = json!({
            "type": "CONFIGMAP", "name": "app", "namespace": "shop", "hash": digest.to_string(),
            "containerRefs": ["main"], "observedAt": 1_700_000_000,
        });
        assert_eq!(last_reloaded_from(&patch), expected);
    }

    #[test]
    fn a_pod_without_containers_has_no_carrier() {
        let mut json = deployment();
        json["spec"]["template"]["spec"] = json!({ "volumes": [{ "name": "v", "configMap": { "name": "app" } }] });
        assert_eq!(last_reloaded_from(&patch(&json))["containerRefs"], json!([]));
    }
}
