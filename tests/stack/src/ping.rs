//! Knative's PingSource: the real adapter that serves all of a cluster's, with one of them.
//!
//! Invariant: when it is returned, its schedule runs. Left out: the controller that finds the sink: it is told.

use std::{sync::Arc, time::Duration};

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    control_plane::ControlPlane,
    eventing,
    object::{JSON, MERGE_PATCH, send},
    part::Part,
    parts::Parts,
    run_folder::RunFolder,
    source::ProbePort,
};

const START: Duration = Duration::from_mins(1);
const CONDITIONS: [&str; 4] = ["Ready", "SinkProvided", "Deployed", "OIDCIdentityCreated"];

/// A running adapter; it ends with its value.
#[derive(Debug)]
pub struct PingSource {
    adapter: Part,
    _folder: Arc<RunFolder>,
}

impl PingSource {
    /// Makes a PingSource from its manifest, whose events go to `sink`, and starts the adapter. One in a control plane.
    pub async fn start(
        control_plane: &ControlPlane,
        parts: &Parts,
        namespace: &str,
        manifest: &Value,
        sink: &str,
    ) -> Result<Self> {
        eventing::install(control_plane, parts).await?;
        create(control_plane, namespace, manifest, sink).await?;
        let _occupied = ProbePort::occupy(parts).await?;
        let folder = control_plane.folder().clone();
        let mut env = eventing::environment(control_plane, "mtping");
        env.push(("NAMESPACE", eventing::NAMESPACE.to_owned()));
        let adapter = Part::start("mtping", folder.path(), &parts.program("mtping")?, ["-disable-ha"], env)?;
        let runs = async || {
            let log = adapter.log();
            // The port must be occupied until the adapter has tried to take it.
            (log.contains("Probes server listening") && log.contains("Synchronizing schedule")).then_some(())
        };
        adapter.until("the start of its schedule", START, runs).await?;
        Ok(Self { adapter, _folder: folder })
    }

    /// To be killed, or its log to be read.
    #[must_use]
    pub fn adapter(&self) -> &Part {
        &self.adapter
    }
}

/// Creates it and writes its status, as its controller would.
async fn create(control_plane: &ControlPlane, namespace: &str, manifest: &Value, sink: &str) -> Result<()> {
    let client = control_plane.client().await?;
    let all = format!("/apis/sources.knative.dev/v1/namespaces/{namespace}/pingsources");
    let created = send(&client, "POST", &all, JSON, manifest).await?;
    let path = format!("{all}/{}/status", created["metadata"]["name"].as_str().unwrap_or_default());
    let generation = &created["metadata"]["generation"];
    let conditions = CONDITIONS.map(|condition| json!({"type": condition, "status": "True"}));
    let status = json!({"sinkUri": sink, "observedGeneration": generation, "conditions": conditions});
    send(&client, "PATCH", &path, MERGE_PATCH, &json!({"status": status})).await?;
    Ok(())
}
