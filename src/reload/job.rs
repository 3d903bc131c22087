//! The Jobs that CronJobs and Jobs are rolled out by.
//!
//! Invariant: what a Job is made of is what its CronJob or predecessor says, and nothing is added but what the peer
//! adds. One change gives one name, so that a Job that is made twice exists already.
//!
//! A Job takes no other template, so it is deleted and made again. In between there would be nothing of it, if the process
//! ended just then. So first a suspended Job is made that stands in for it and holds all of it; whoever meets one ends what
//! was begun.
//! Left out: deleting and creating (edge/job_run.rs).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::digest::{Digest, hex};
use super::due::DUE;
use super::record::{OBSERVED, Record};
use super::rollout::TemplateChange;
use super::tag::hash_of;
use super::workload::Workload;

/// What `kubectl create job --from` and the peer write on a Job that no schedule made.
const INSTANTIATE: &str = "cronjob.kubernetes.io/instantiate";
/// Labels that the Job controller gives a Job and its pods.
const OF_THE_CONTROLLER: [&str; 4] =
    ["controller-uid", "job-name", "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"];
/// On a stand-in: for which Job, as JSON.
pub const STANDS_IN_FOR: &str = "confroll.dev/stands-in-for";
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
    let parts: Vec<&str> =
        [workload.uid.as_str(), before.as_str()].into_iter().chain(changed.iter().map(String::as_str)).collect();
    tagged(&workload.id.name, &parts)
}

/// A name with a tag of some texts after it.
fn tagged(name: &str, parts: &[&str]) -> String {
    let tag = &hex(&hash_of(parts.iter().copied()))[..TAG];
    let name: String = name.chars().take(LONGEST_NAME - TAG - 1).collect();
    format!("{}-{tag}", name.trim_end_matches(['-', '.']))
}

/// A Job as it is made again, with the record of what it runs on.
#[must_use]
pub fn job_again(job: &Value, record: &Record, change: &TemplateChange) -> Option<Value> {
    let mut again = made_anew(job)?;
    again["metadata"]["annotations"][OBSERVED] = json!(record.to_annotation());
    if let Some(labels) = again.pointer_mut("/metadata/labels").and_then(Value::as_object_mut) {
        labels.remove(DUE);
    }
    change.apply(again.pointer_mut("/spec/template")?)?;
    Some(again)
}

/// A Job without what the API server and the controller have added to it.
fn made_anew(job: &Value) -> Option<Value> {
    let mut metadata = Map::new();
    for field in ["name", "namespace", "labels", "ownerReferences", "finalizers"] {
        if let Some(value) = job["metadata"].get(field) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let mut annotations = object(&job["metadata"]["annotations"]);
    annotations.remove("batch.kubernetes.io/job-tracking");
    metadata.insert("annotations".to_owned(), json!(annotations));
    let mut anew = json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": job["spec"] });
    // Its pods are found by labels that the controller made up, unless its owner chose them.
    if anew["spec"]["manualSelector"] != json!(true) {
        anew["spec"].as_object_mut()?.remove("selector");
        for labels in ["/metadata/labels", "/spec/template/metadata/labels"] {
            if let Some(labels) = anew.pointer_mut(labels).and_then(Value::as_object_mut) {
                labels.retain(|label, _| !OF_THE_CONTROLLER.contains(&label.as_str()));
            }
        }
    }
    Some(anew)
}

/// For which Job a stand-in stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StandsInFor {
    /// The Job's name.
    pub name: String,
    /// The uid of the one that has to go.
    pub uid: String,
    /// Whether it is suspended itself.
    suspend: Option<bool>,
}

/// The stand-in for a Job with this uid, which is to be made again as `again`; and its name.
#[must_use]
pub fn stand_in(again: &Value, uid: &str) -> Option<(String, Value)> {
    let name = again["metadata"]["name"].as_str()?.to_owned();
    let suspend = again["spec"]["suspend"].as_bool();
    let mut stand_in = again.clone();
    let stand_in_name = tagged(&name, &[uid]);
    stand_in["metadata"]["name"] = json!(stand_in_name);
    stand_in["metadata"]["annotations"][STANDS_IN_FOR] =
        json!(json!(StandsInFor { name, uid: uid.to_owned(), suspend }).to_string());
    // It can be deleted at once.
    stand_in["metadata"].as_object_mut()?.remove("finalizers");
    stand_in["spec"]["suspend"] = json!(true);
    Some((stand_in_name, stand_in))
}

/// The Job that a stand-in stands for, as it is to be made; `None` where it is no stand-in.
#[must_use]
pub fn job_of_stand_in(stand_in: &Value) -> Option<(StandsInFor, Value)> {
    let stands_in_for: StandsInFor =
        serde_json::from_str(stand_in["metadata"]["annotations"][STANDS_IN_FOR].as_str()?).ok()?;
    let mut job = made_anew(stand_in)?;
    job["metadata"]["name"] = json!(stands_in_for.name);
    job["metadata"]["annotations"].as_object_mut()?.remove(STANDS_IN_FOR);
    match stands_in_for.suspend {
        Some(suspend) => job["spec"]["suspend"] = json!(suspend),
        None => _ = job["spec"].as_object_mut()?.remove("suspend"),
    }
    Some((stands_in_for, job))
}

fn object(value: &Value) -> Map<String, Value> {
    Map::deserialize(value).unwrap_or_default()
}
