//! The Secrets Store CSI driver, played: classes, and statuses of pods that mount them, in a namespace with workloads.
//!
//! Invariant: a rollout is counted as it was told. Left out: what is promised (secrets_store.rs).

use std::collections::BTreeSet;

use confroll::reload::workload_kind::{WORKLOAD_KINDS, WorkloadKind};
use confroll_stack::object::{JSON, MERGE_PATCH, send as request};
use confroll_stack::{Function, RecordingSink};
use serde_json::{Value, json};

use crate::fixtures::workload;
use crate::kind_plane::{CSI, Plane, status_event};
use crate::support::{ChangeEvent, ReloadEvent, told};

const DEPLOYMENT: &WorkloadKind = &WORKLOAD_KINDS[0];

/// A pod that mounts a class.
pub(crate) fn mounting(class: &str) -> Value {
    json!({
        "containers": [{ "name": "main", "image": "shop", "volumeMounts": [{ "name": "v", "mountPath": "/v" }] }],
        "volumes": [{ "name": "v", "csi": { "driver": "secrets-store.csi.k8s.io", "readOnly": true,
            "volumeAttributes": { "secretProviderClass": class } } }],
    })
}

pub(crate) fn plain() -> Value {
    json!({ "containers": [{ "name": "main", "image": "shop" }] })
}

/// A control plane with the driver's CRDs, a function, and what it tells.
pub(crate) struct Stage {
    pub(crate) plane: Plane,
    pub(crate) sink: RecordingSink,
    pub(crate) function: Function,
}

/// A namespace of its own.
pub(crate) struct Shop<'a> {
    pub(crate) stage: &'a Stage,
    pub(crate) namespace: String,
}

impl Stage {
    pub(crate) async fn set(env: &[(&'static str, &str)]) -> Self {
        let plane = Plane::start().await;
        plane.install_secrets_store().await;
        Self::on(plane, env).await
    }

    pub(crate) async fn on(plane: Plane, env: &[(&'static str, &str)]) -> Self {
        let sink = RecordingSink::start().await.unwrap();
        let function = plane.function(&sink, env).await;
        Self { plane, sink, function }
    }

    pub(crate) async fn restart(&mut self, env: &[(&'static str, &str)]) {
        self.function = self.plane.function(&self.sink, env).await;
    }

    pub(crate) async fn shop(&self) -> Shop<'_> {
        Shop { stage: self, namespace: self.plane.namespace().await }
    }

    pub(crate) async fn tell(&self, event: &ChangeEvent) -> u16 {
        event.request(&crate::sink::http(), self.function.url()).send().await.unwrap().status().as_u16()
    }

    pub(crate) async fn sweep(&self, id: &str) {
        assert_eq!(self.tell(&ChangeEvent::ping(id)).await, 202, "{}", self.function.log());
    }
}

impl Shop<'_> {
    pub(crate) async fn class(&self, name: &str, annotations: Value) {
        self.stage.plane.class(&self.namespace, name, &annotations).await;
    }

    /// A pod has this version of the object of a class, from now on.
    pub(crate) async fn mounts(&self, pod: &str, class: &str, version: &str) {
        self.stage.plane.mount(&self.namespace, pod, class, version).await;
    }

    pub(crate) async fn status(&self, method: &str, pod: &str, patch: &Value) {
        let path = format!("{CSI}/namespaces/{}/secretproviderclasspodstatuses/{pod}-vault", self.namespace);
        let content_type = if method == "PATCH" { MERGE_PATCH } else { JSON };
        request(&self.stage.plane.client, method, &path, content_type, patch).await.unwrap();
    }

    pub(crate) async fn told(&self, verb: &str, pod: &str) {
        let event = status_event(verb, &self.namespace, &format!("{pod}-vault"));
        assert_eq!(self.stage.tell(&event).await, 202, "{}", self.stage.function.log());
    }

    pub(crate) async fn deployment(&self, name: &str, pod: &Value, annotations: Value) {
        let mut object = workload(DEPLOYMENT, name, pod);
        object["metadata"]["annotations"] = annotations;
        self.stage.plane.create(DEPLOYMENT, &self.namespace, &object).await;
    }

    pub(crate) async fn api(&self) {
        self.deployment("api", &mounting("vault"), json!({ "reloader.stakater.com/auto": "true" })).await;
    }

    pub(crate) async fn get(&self, name: &str) -> Value {
        self.stage.plane.get(DEPLOYMENT, &self.namespace, name).await
    }

    /// How often a Deployment was rolled out, as it was told: each rollout has an id of its own. (Its generation moves with
    /// its annotations, too.)
    pub(crate) fn rollouts(&self, name: &str) -> usize {
        let of_it = |told: &ReloadEvent| {
            told.source.ends_with(&format!("/namespaces/{}", self.namespace)) && told.data["workload"]["name"] == name
        };
        let ids: BTreeSet<String> = told(&self.stage.sink).into_iter().filter(of_it).map(|told| told.id).collect();
        ids.len()
    }

    pub(crate) async fn record(&self, name: &str) -> String {
        self.get(name).await["metadata"]["annotations"]["confroll.dev/observed"].to_string()
    }
}

/// What may happen to pods once the first has rotated.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    Rotates(&'static str),
    Starts(&'static str),
    Goes(&'static str),
    IsLabelled(&'static str),
    IsWrittenAgain(&'static str),
}

pub(crate) fn orders(steps: &[Step]) -> Vec<Vec<Step>> {
    if steps.is_empty() {
        return vec![Vec::new()];
    }
    let first = |at: usize| {
        let rest: Vec<Step> = [&steps[..at], &steps[at + 1..]].concat();
        orders(&rest).into_iter().map(move |order| [vec![steps[at]], order].concat())
    };
    (0..steps.len()).flat_map(first).collect()
}

pub(crate) async fn play(shop: &Shop<'_>, step: Step, version: &str) {
    match step {
        Step::Rotates(pod) => {
            shop.mounts(pod, "vault", version).await;
            shop.told("update", pod).await;
        }
        Step::Starts(pod) => {
            shop.mounts(pod, "vault", version).await;
            shop.told("add", pod).await;
        }
        Step::Goes(pod) => {
            shop.status("DELETE", pod, &json!({})).await;
            shop.told("delete", pod).await;
        }
        Step::IsLabelled(pod) => {
            shop.status("PATCH", pod, &json!({ "metadata": { "labels": { "node": "n1" } } })).await;
            shop.told("update", pod).await;
        }
        Step::IsWrittenAgain(pod) => {
            shop.status("PATCH", pod, &json!({ "status": { "targetPath": "/other" } })).await;
            shop.told("update", pod).await;
        }
    }
}
