//! A namespace on a control plane of every kind, with a ConfigMap `app`, a function that is called by hand, and what it tells.

use confroll::reload::workload_kind::WorkloadKind;
use confroll_stack::object::{JSON, MERGE_PATCH, send as request};
use confroll_stack::{Function, RecordingSink};
use serde_json::{Value, json};

use crate::fixtures::{kinds, workload};
use crate::kind_plane::{Plane, changed};
use crate::support::told;

pub(crate) fn kind(name: &str) -> &'static WorkloadKind {
    kinds().into_iter().find(|kind| kind.kind == name).unwrap()
}

/// A pod of one container that uses the ConfigMap `app`.
pub(crate) fn pod() -> Value {
    json!({ "containers": [{ "name": "main", "image": "shop", "envFrom": [{ "configMapRef": { "name": "app" } }] }] })
}

fn annotated(mut object: Value, annotations: &[(&str, &str)]) -> Value {
    annotations.iter().for_each(|(key, value)| object["metadata"]["annotations"][*key] = json!(value));
    object
}

/// A namespace with a ConfigMap `app`, a function, and what it tells.
pub(crate) struct Stage {
    pub(crate) plane: Plane,
    pub(crate) namespace: String,
    pub(crate) sink: RecordingSink,
    pub(crate) function: Function,
    pub(crate) value: u32,
}

impl Stage {
    pub(crate) async fn set(env: &[(&'static str, &str)]) -> Self {
        let plane = Plane::with_all_kinds().await;
        Self::on(plane, env).await
    }

    pub(crate) async fn on(plane: Plane, env: &[(&'static str, &str)]) -> Self {
        let sink = RecordingSink::start().await.unwrap();
        let function = plane.function(&sink, env).await;
        let namespace = plane.namespace().await;
        plane.source(&namespace, "ConfigMap", "app", "0").await;
        Self { plane, namespace, sink, function, value: 0 }
    }

    pub(crate) async fn create(&self, kind_name: &str, name: &str, annotations: &[(&str, &str)]) -> Value {
        let object = annotated(workload(kind(kind_name), name, &pod()), annotations);
        self.plane.create(kind(kind_name), &self.namespace, &object).await
    }

    /// Edits the ConfigMap, tells of it and sees it acted on.
    pub(crate) async fn change(&mut self) {
        self.value += 1;
        self.plane.source(&self.namespace, "ConfigMap", "app", &self.value.to_string()).await;
        changed(&self.function, &self.namespace, "ConfigMap", "app").await;
    }

    pub(crate) async fn get(&self, kind_name: &str, name: &str) -> Value {
        self.plane.get(kind(kind_name), &self.namespace, name).await
    }

    pub(crate) async fn patch(&self, kind_name: &str, name: &str, patch: Value) {
        let path = format!("{}/{name}", kind(kind_name).collection_path(&self.namespace));
        request(&self.plane.client, "PATCH", &path, MERGE_PATCH, &patch).await.unwrap();
    }

    pub(crate) async fn jobs(&self) -> Vec<Value> {
        let path = kind("Job").collection_path(&self.namespace);
        let list = request(&self.plane.client, "GET", &path, JSON, &json!({})).await.unwrap();
        list["items"].as_array().unwrap().clone()
    }

    /// What was told of a workload: outcome, and note or message.
    pub(crate) fn told_of(&self, name: &str) -> Vec<(String, String)> {
        let of_it = told(&self.sink).into_iter().filter(|told| told.data["workload"]["name"] == name);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        of_it
            .map(|told| (text(&told.data["outcome"]), text(&told.data["note"]) + &text(&told.data["message"])))
            .collect()
    }
}
