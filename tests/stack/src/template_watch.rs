//! Sees every rollout in a namespace at the moment at which the cluster tells of it.
//!
//! Invariant: from before [`TemplateWatch::start`] returns, no change is missed. A rollout is a change of a
//! workload's pod template; the first sight of a workload is none.

use std::{
    collections::BTreeMap,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use futures::StreamExt;
use kube::{
    Api, Client, ResourceExt,
    api::{ApiResource, DynamicObject, GroupVersionKind},
    runtime::{
        WatchStreamExt,
        watcher::{self, Event, watcher},
    },
};
use serde_json::Value;
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{error::Elapsed, timeout},
};

const KINDS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];
const SYNC: Duration = Duration::from_secs(30);

/// A change of a pod template.
#[derive(Debug, Clone)]
pub struct Rollout {
    /// When the watch delivered it.
    pub at: Instant,
    /// The workload's generation after it.
    pub generation: i64,
    /// The template's annotations after it.
    pub template_annotations: BTreeMap<String, String>,
}

/// A watch on all workloads of a namespace; it ends with its value.
#[derive(Debug)]
pub struct TemplateWatch {
    shared: Arc<Shared>,
    _watches: JoinSet<()>,
}

#[derive(Debug, Default)]
struct Shared {
    seen: Mutex<Seen>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct Seen {
    synced: usize,
    workloads: BTreeMap<(String, String), Workload>,
}

#[derive(Debug)]
struct Workload {
    template: Value,
    rollouts: Vec<Rollout>,
}

impl TemplateWatch {
    /// Begins to watch, and returns when it does.
    pub async fn start(client: Client, namespace: &str) -> Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut watches = JoinSet::new();
        for kind in KINDS {
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk("apps", "v1", kind));
            let api = Api::namespaced_with(client.clone(), namespace, &resource);
            watches.spawn(watch(kind, api, shared.clone()));
        }
        let synced = shared.until(SYNC, |seen| (seen.synced == KINDS.len()).then_some(()));
        synced.await.with_context(|| format!("The workloads of {namespace} cannot be watched"))?;
        Ok(Self { shared, _watches: watches })
    }

    /// The rollouts of a workload since the start, such as `("Deployment", "web")`.
    #[must_use]
    pub fn rollouts(&self, kind: &str, name: &str) -> Vec<Rollout> {
        self.shared.seen().rollouts(kind, name)
    }

    /// Waits for as many rollouts, at least, and returns them.
    pub async fn wait_for(&self, kind: &str, name: &str, count: usize, limit: Duration) -> Result<Vec<Rollout>> {
        let enough = |seen: &Seen| Some(seen.rollouts(kind, name)).filter(|rollouts| rollouts.len() >= count);
        if let Ok(rollouts) = self.shared.until(limit, enough).await {
            return Ok(rollouts);
        }
        let seen = self.rollouts(kind, name).len();
        bail!("{kind} {name} rolled out {seen} times within {limit:?}, not {count} times.")
    }
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn until<T>(&self, limit: Duration, find: impl Fn(&Seen) -> Option<T>) -> Result<T, Elapsed> {
        timeout(limit, async {
            loop {
                let changed = self.changed.notified();
                let found = find(&self.seen());
                if let Some(found) = found {
                    return found;
                }
                changed.await;
            }
        })
        .await
    }
}

impl Seen {
    fn rollouts(&self, kind: &str, name: &str) -> Vec<Rollout> {
        let workload = self.workloads.get(&(kind.to_owned(), name.to_owned()));
        workload.map(|workload| workload.rollouts.clone()).unwrap_or_default()
    }

    fn see(&mut self, kind: &str, object: &DynamicObject, at: Instant) {
        let template = object.data["spec"]["template"].clone();
        let key = (kind.to_owned(), object.name_any());
        let fresh = || Workload { template: template.clone(), rollouts: Vec::new() };
        let workload = self.workloads.entry(key).or_insert_with(fresh);
        if workload.template != template {
            let annotations = template["metadata"]["annotations"].clone();
            let template_annotations = serde_json::from_value(annotations).unwrap_or_default();
            let generation = object.metadata.generation.unwrap_or_default();
            workload.rollouts.push(Rollout { at, generation, template_annotations });
            workload.template = template;
        }
    }
}

async fn watch(kind: &'static str, api: Api<DynamicObject>, shared: Arc<Shared>) {
    let mut events = pin!(watcher(api, watcher::Config::default()).default_backoff());
    while let Some(event) = events.next().await {
        let at = Instant::now();
        match event {
            Ok(Event::Apply(object) | Event::InitApply(object)) => shared.seen().see(kind, &object, at),
            Ok(Event::InitDone) => shared.seen().synced += 1,
            // After a lost connection the watcher begins anew, and what was missed shows as a change.
            Ok(Event::Init | Event::Delete(_)) | Err(_) => {}
        }
        shared.changed.notify_waiters();
    }
}
