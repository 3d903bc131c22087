//! A workload of every kind of the table, as its users would write it, and what a rollout may change of it.
//!
//! Invariant: a kind without a row here is made with nothing but its pod template, so that a new row of the table is
//! tested by being there.

use confroll::reload::workload_kind::{Controller, WORKLOAD_KINDS, WorkloadKind};
use serde_json::{Value, json};

/// Kinds that no one knows by name: what `CONFROLL_KINDS` says of them, and what they are called as CRDs.
pub(crate) const FURTHER_KINDS: [&str; 2] =
    ["apps.kruise.io/v1alpha1/CloneSet:clonesets=spec.template", "odd.example/v2/Odd:odds=spec.pools.worker-pool.pod"];

/// Every kind, those of the settings too.
pub(crate) fn kinds() -> Vec<&'static WorkloadKind> {
    let further = FURTHER_KINDS.iter().map(|row| WorkloadKind::read(row).unwrap());
    WORKLOAD_KINDS.iter().chain(further).collect()
}

/// A CRD of a kind for which nobody ships one here: any fields.
pub(crate) fn crd(kind: &WorkloadKind) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{}.{}", kind.plural, kind.group) },
        "spec": {
            "group": kind.group, "scope": "Namespaced",
            "names": { "kind": kind.kind, "plural": kind.plural, "singular": kind.kind.to_lowercase() },
            "versions": [{ "name": kind.version, "served": true, "storage": true, "subresources": { "status": {} },
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } } }],
        },
    })
}

/// A workload around a pod template.
pub(crate) fn workload(kind: &WorkloadKind, name: &str, pod: &Value) -> Value {
    let labels = json!({ "app": name });
    let template = json!({ "metadata": { "labels": labels, "annotations": { "theirs": "kept" } }, "spec": pod });
    let nested = kind.template_path.iter().rev().fold(template, |inner, step| json!({ *step: inner }));
    let mut object = json!({
        "apiVersion": kind.api_version(), "kind": kind.kind,
        "metadata": { "name": name, "annotations": { "reloader.stakater.com/auto": "true" } },
        "spec": nested["spec"],
    });
    let spec = &mut object["spec"];
    match kind.kind {
        "Deployment" | "StatefulSet" | "DaemonSet" => spec["selector"] = json!({ "matchLabels": labels }),
        "Rollout" => {
            spec["selector"] = json!({ "matchLabels": labels });
            spec["strategy"] = json!({ "canary": { "maxSurge": "25%", "steps": [
                { "setWeight": 20 }, { "pause": { "duration": "1h" } }] } });
        }
        "CronJob" => {
            spec["schedule"] = json!("0 0 1 1 *");
            spec["jobTemplate"]["metadata"] =
                json!({ "labels": { "of": "template" }, "annotations": { "theirs": "too" } });
            spec["jobTemplate"]["spec"]["backoffLimit"] = json!(1);
            spec["jobTemplate"]["spec"]["template"]["spec"]["restartPolicy"] = json!("Never");
        }
        "Job" => {
            spec["backoffLimit"] = json!(2);
            spec["template"]["spec"]["restartPolicy"] = json!("Never");
        }
        "Service" => spec["template"]["spec"]["timeoutSeconds"] = json!(30),
        "DeploymentConfig" => spec["triggers"] = json!([{ "type": "ConfigChange" }]),
        _ => spec["unknown"] = json!({ "of": ["a", { "newer": "version" }] }),
    }
    object
}

/// What may be another after a rollout, as JSON pointers: the mark of a strategy and what the API server keeps itself.
pub(crate) fn may_change(kind: &WorkloadKind, strategy: &str) -> Vec<String> {
    let template = kind.template_path.iter().fold(String::new(), |path, step| path + "/" + step);
    let mut paths = vec!["/metadata/annotations/confroll.dev~1observed".to_owned()];
    match kind.controller {
        // Its Job is marked, and it is none itself.
        Controller::CronJob => return paths,
        Controller::ArgoRollouts if strategy == "restart" => {
            paths.push("/spec/restartAt".to_owned());
            return paths;
        }
        Controller::Job => {
            for path in [
                "/metadata/uid",
                "/metadata/creationTimestamp",
                "/metadata/labels",
                "/spec/selector",
                "/spec/template/metadata/labels/batch.kubernetes.io~1controller-uid",
                "/spec/template/metadata/labels/controller-uid",
            ] {
                paths.push(path.to_owned());
            }
        }
        Controller::ByTemplate | Controller::Pausable | Controller::ArgoRollouts | Controller::KnativeServing => {}
    }
    paths.push(match strategy {
        "annotations" => format!("{template}/metadata/annotations/reloader.stakater.com~1last-reloaded-from"),
        "restart" => format!("{template}/metadata/annotations/kubectl.kubernetes.io~1restartedAt"),
        _ => format!("{template}/spec/containers/0/env"),
    });
    paths
}

/// The places in which two objects differ, as JSON pointers, besides what every write changes.
pub(crate) fn differences(before: &Value, after: &Value) -> Vec<String> {
    let mut found = Vec::new();
    differ(before, after, String::new(), &mut found);
    let of_every_write = [
        "/metadata/managedFields",
        "/metadata/resourceVersion",
        "/metadata/generation",
        "/metadata/annotations/deprecated.daemonset.template.generation",
    ];
    found.retain(|path| !of_every_write.iter().any(|prefix| path.starts_with(prefix)));
    found
}

fn differ(before: &Value, after: &Value, path: String, found: &mut Vec<String>) {
    match (before, after) {
        (Value::Object(before), Value::Object(after)) => {
            for key in before.keys().chain(after.keys().filter(|key| !before.contains_key(*key))) {
                let path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                let of = |object: &serde_json::Map<String, Value>| object.get(key).cloned().unwrap_or_default();
                differ(&of(before), &of(after), path, found);
            }
        }
        (Value::Array(before), Value::Array(after)) => {
            for index in 0..before.len().max(after.len()) {
                let of = |list: &[Value]| list.get(index).cloned().unwrap_or_default();
                differ(&of(before), &of(after), format!("{path}/{index}"), found);
            }
        }
        (before, after) if before == after => {}
        _ => found.push(path),
    }
}
