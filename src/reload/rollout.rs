//! A decision as the patch that its workload needs.
//!
//! Invariants: a patch holds the workload's uid and version, so that it is refused where either is another by then; the
//! record goes in with it, so that a rollout and the memory of it, and a pause that it begins, are one write.
//! Left out: sending it, and deciding again where it is refused (edge/workload_run.rs); Jobs (job.rs).

use jiff::Timestamp;
use jiff::fmt::temporal::DateTimePrinter;
use serde_json::{Value, json};

use super::digest::Digest;
use super::due::PausePatch;
use super::record::{OBSERVED, Record};
use super::rollout_way::{RolloutWay, Strategy};
use super::source::SourceRef;
use super::workload::{HasAnnotations, Workload};

/// The annotation that the peer writes on the pod template with its strategy `annotations`, and so do we: a tool that
/// reads it works on.
pub const LAST_RELOADED_FROM: &str = "reloader.stakater.com/last-reloaded-from";
/// The annotation of `kubectl rollout restart`.
const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";

/// A patch, by its content type.
#[derive(Clone, Debug, PartialEq)]
pub enum Patch {
    /// RFC 7396.
    Merge(Value),
    /// RFC 6902.
    Operations(Vec<Value>),
}

/// What a rollout is for.
pub struct Rollout<'a> {
    /// Which workload.
    pub workload: &'a Workload,
    /// The sources whose content changed, with their digests; never empty.
    pub changed: &'a [(SourceRef, Digest)],
    /// What the workload runs on from now on.
    pub record: &'a Record,
    /// Written where a time is wanted: whole seconds.
    pub at: Timestamp,
}

/// A change of a pod template.
#[derive(Clone, Debug, PartialEq)]
pub struct TemplateChange(Patch);

impl TemplateChange {
    /// Changes a template. `None` where it is another one than the change was made for.
    pub(super) fn apply(&self, template: &mut Value) -> Option<()> {
        match &self.0 {
            Patch::Merge(patch) => json_patch::merge(template, patch),
            Patch::Operations(operations) => {
                let patch: json_patch::Patch = serde_json::from_value(json!(operations)).ok()?;
                json_patch::patch(template, &patch).ok()?;
            }
        }
        Some(())
    }
}

impl Rollout<'_> {
    /// The patch that rolls the workload out and notes the record.
    #[must_use]
    pub fn patch(&self) -> Patch {
        match &self.workload.way {
            RolloutWay::RestartAt => {
                let mut patch = record_patch(self.workload, self.record);
                patch["spec"] = json!({ "restartAt": seconds(self.at) });
                Patch::Merge(patch)
            }
            way => self.on_template(self.template_change(way)),
        }
    }

    /// What a way changes in the pod template.
    #[must_use]
    pub fn template_change(&self, way: &RolloutWay) -> TemplateChange {
        let annotation =
            |key: &str, value: String| Patch::Merge(json!({ "metadata": { "annotations": { key: value } } }));
        TemplateChange(match way.strategy() {
            Strategy::Annotations => annotation(LAST_RELOADED_FROM, self.last_reloaded_from()),
            Strategy::Restart => annotation(RESTARTED_AT, seconds(self.at)),
            Strategy::EnvVars => {
                let changed: Vec<&SourceRef> = self.changed.iter().map(|(source, _)| source).collect();
                Patch::Operations(self.workload.environments.operations(self.workload, &changed, self.record))
            }
        })
    }

    /// The change of the template as a patch of the whole workload.
    fn on_template(&self, TemplateChange(change): TemplateChange) -> Patch {
        let (workload, path) = (self.workload, self.workload.id.kind.template_path);
        let pause = workload.pause_patch(self.at);
        match change {
            Patch::Merge(mut template) => {
                if let Some(name) = workload.next_revision(self.record) {
                    template["metadata"]["name"] = json!(name);
                }
                let mut patch = path.iter().rev().fold(template, |inner, step| json!({ *step: inner }));
                patch["metadata"] = noted(workload, self.record, pause.as_ref());
                pause.iter().for_each(|pause| pause.merge_into(&mut patch));
                Patch::Merge(patch)
            }
            Patch::Operations(mut operations) => {
                let root = path.iter().fold(String::new(), |root, step| root + "/" + step);
                for operation in &mut operations {
                    let path = operation["path"].as_str().unwrap_or_default();
                    operation["path"] = json!(format!("{root}{path}"));
                }
                if let Some(name) = workload.next_revision(self.record) {
                    operations.push(json!({ "op": "replace", "path": format!("{root}/metadata/name"), "value": name }));
                }
                let noted = noted_by_operations(workload, self.record, pause.as_ref());
                Patch::Operations([noted, operations].concat())
            }
        }
    }

    /// The peer's annotation: the fields of its version 1.
    fn last_reloaded_from(&self) -> String {
        let Some((source, digest)) = self.changed.first() else { return String::new() };
        let workload = self.workload;
        let carriers: Vec<&str> = workload.carrier(source).into_iter().collect();
        json!({
            "type": source.kind.upper_case(),
            "name": source.name(),
            "namespace": source.namespace,
            "hash": digest,
            "containerRefs": carriers,
            "observedAt": self.at.as_second(),
        })
        .to_string()
    }
}

/// A time as Kubernetes writes it.
pub(super) fn seconds(at: Timestamp) -> String {
    DateTimePrinter::new().precision(Some(0)).timestamp_to_string(&at)
}

/// The merge patch that notes `record` on `workload` and rolls nothing out, as it leaves the pod template alone.
#[must_use]
pub fn record_patch(workload: &Workload, record: &Record) -> Value {
    json!({ "metadata": noted(workload, record, None) })
}

/// The patch that notes `next` on a workload in place of exactly the record `last`.
#[must_use]
pub fn next_record_patch(last: &Record, next: &Record) -> Patch {
    let path = format!("/metadata/annotations/{}", OBSERVED.replace('/', "~1"));
    let is_last = json!({ "op": "test", "path": path, "value": last.to_annotation() });
    Patch::Operations(vec![is_last, json!({ "op": "replace", "path": path, "value": next.to_annotation() })])
}

fn noted(workload: &Workload, record: &Record, pause: Option<&PausePatch<'_>>) -> Value {
    let mut metadata = json!({
        "uid": workload.uid,
        "resourceVersion": workload.version,
        "annotations": { OBSERVED: record.to_annotation() },
    });
    if let Some(labels) = workload.label_patch(record, pause) {
        metadata["labels"] = labels;
    }
    metadata
}

/// The same as operations. To replace a version by itself is a precondition, as in a merge patch.
fn noted_by_operations(workload: &Workload, record: &Record, pause: Option<&PausePatch<'_>>) -> Vec<Value> {
    let replace = |path: &str, value: Value| json!({ "op": "replace", "path": path, "value": value });
    let labels = workload.label_operations(record, pause);
    let record = json!(record.to_annotation());
    let noted = match workload.annotations {
        HasAnnotations::Yes => {
            let key = OBSERVED.replace('/', "~1");
            json!({ "op": "add", "path": format!("/metadata/annotations/{key}"), "value": record })
        }
        HasAnnotations::No => json!({ "op": "add", "path": "/metadata/annotations", "value": { OBSERVED: record } }),
    };
    let (uid, version) = (json!(workload.uid), json!(workload.version));
    let mut operations = vec![replace("/metadata/uid", uid), replace("/metadata/resourceVersion", version), noted];
    operations.extend(labels);
    operations.extend(pause.into_iter().flat_map(PausePatch::operations));
    operations
}

#[cfg(test)]
mod tests {
    use super::super::record::Cause;
    use super::super::references::Keys;
    use super::super::tag::EventTag;
    use super::super::testing::{app_at, config_map, deployment, rules, workload};
    use super::*;

    fn patch(json: &Value) -> Value {
        let (source, rules) = (app_at(60, "new"), rules());
        let digest = source.digest(&Keys::Whole, &rules.digest_key);
        let mut record = Record::new(&rules.digest_key, Cause::new(EventTag::of("s", "1"), Vec::new()));
        record.note(&source.source, &Keys::Whole, source.version, digest);
        let (workload, changed) = (workload(json), [(source.source, digest)]);
        let at = Timestamp::from_second(1_700_000_000).unwrap();
        match (Rollout { workload: &workload, changed: &changed, record: &record, at }).patch() {
            Patch::Merge(patch) => patch,
            Patch::Operations(operations) => panic!("{operations:?}"),
        }
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
    fn operations_hold_the_same_precondition() {
        let mut json = deployment();
        json["metadata"]["annotations"]["reloader.stakater.com/rollout-strategy"] = json!("env-vars");
        let (workload, source, rules) = (workload(&json), app_at(60, "new"), rules());
        let digest = source.digest(&Keys::Whole, &rules.digest_key);
        let record = Record::new(&rules.digest_key, Cause::new(EventTag::of("s", "1"), Vec::new()));
        let rollout = Rollout {
            workload: &workload,
            changed: &[(source.source, digest)],
            record: &record,
            at: Timestamp::UNIX_EPOCH,
        };
        let Patch::Operations(operations) = rollout.patch() else { panic!("env-vars are operations") };
        // To replace a version by itself is refused where it is another by then.
        for (path, value) in [("/metadata/uid", "u1"), ("/metadata/resourceVersion", "50")] {
            let expected = json!({ "op": "replace", "path": path, "value": value });
            assert!(operations.contains(&expected), "{operations:?}");
        }
    }

    #[test]
    fn a_pod_without_containers_has_no_carrier() {
        let mut json = deployment();
        json["spec"]["template"]["spec"] = json!({ "volumes": [{ "name": "v", "configMap": { "name": "app" } }] });
        assert_eq!(last_reloaded_from(&patch(&json))["containerRefs"], json!([]));
    }
}
