//! The Jobs that CronJobs and Jobs are rolled out by.
//!
//! Invariant: what a Job is made of is what its CronJob or predecessor says, and nothing is added but what the peer
//! adds. One change gives one name, so that a Job that is made twice exists already.
//! Left out: deleting and creating.

use serde::Deserialize as _;
use serde_json::{Map, Value, json};

use super::digest::{Digest, hex};
use super::record::{OBSERVED, Record, hash_of};
use super::rollout::TemplateChange;
use super::workload::Workload;

/// What `kubectl create job --from` and the peer write on a Job that no schedule made.
const INSTANTIATE: &str = "cronjob.kubernetes.io/instantiate";
/// Labels that the Job controller gives a Job and its pods.
const OF_THE_CONTROLLER: [&str; 4] =
    ["controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"];
/// The longest name of a Job, whose pods get more after it.
const LONGEST_NAME: usize = 63;
const TAG: usize = 10;

/// The Job that runs a CronJob's template now. `changed` are the digests of what changed.
#[must_use]
pub fn job_to_run(cron_job: &Value, workload: &Workload, changed: &[Digest], change: &TemplateChange) -> Option<Value> {
    let template = &cron_job["spec"]["jobTemplate"];
    let mut annotations = object(&template["metadata"]["annotations"]);
    annotations.insert(INSTANTIATE.to_owned(), json!("manual"));
    let mut job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": run_name(workload, changed),
            "namespace": workload.id.namespace,
            "annotations": annotations,
            "labels": object(&template["metadata"]["labels"]),
            "ownerReferences": [{
                "apiVersion": workload.id.kind.api_version(), "kind": workload.id.kind.kind, "name": workload.id.name,
                "uid": workload.uid, "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": template["spec"].clone(),
    });
    change.apply(job.pointer_mut("/spec/template")?)?;
    Some(job)
}

/// The name of the Job that a change makes: the same for the same content on the same rollout before, another for a
/// content that came back.
fn run_name(workload: &Workload, changed: &[Digest]) -> String {
    let before = workload.record.as_ref().map(Record::tag).unwrap_or_default();
    let changed: Vec<String> = changed.iter().map(ToString::to_string).collect();
    let parts = [workload.uid.as_str(), before.as_str()].into_iter().chain(changed.iter().map(String::as_str));
    let tag = &hex(&hash_of(parts))[..TAG];
    let name: String = workload.id.name.chars().take(LONGEST_NAME - TAG - 1).collect();
    format!("{}-{tag}", name.trim_end_matches(['-', '.']))
}

/// A Job as it is made again, with the record of what it runs on.
#[must_use]
pub fn job_again(job: &Value, record: &Record, change: &TemplateChange) -> Option<Value> {
    let mut metadata = Map::new();
    for field in ["name", "namespace", "labels", "annotations", "ownerReferences", "finalizers"] {
        if let Some(value) = job["metadata"].get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let mut again =
        json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job["spec"].clone() });
    let mut annotations = object(&again["metadata"]["annotations"]);
    annotations.remove("batch.kubernetes.io/job-tracking");
    annotations.insert(OBSERVED.to_owned(), json!(record.to_annotation()));
    again["metadata"]["annotations"] = json!(annotations);
    // Its pods are found by labels that the controller made up, unless its owner chose them.
    if again["spec"]["manualSelector"] != json!(true) {
        again["spec"].as_object_mut()?.remove("selector");
        for labels in ["/metadata/labels", "/spec/template/metadata/labels"] {
            if let Some(labels) = again.pointer_mut(labels).and_then(Value::as_object_mut) {
                labels.retain(|label, _| !OF_THE_CONTROLLER.contains(&label.as_str()));
            }
        }
    }
    change.apply(again.pointer_mut("/spec/template")?)?;
    Some(again)
}

fn object(value: &Value) -> Map<String, Value> {
    Map::deserialize(value).unwrap_or_default()
}
