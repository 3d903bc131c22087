//! From the start of a process to the answer to its first probe, and to the rollout of an event that waits for it: what a
//! function that scales to zero adds to a change.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use confroll_stack::{Function, FunctionOptions, TemplateWatch, User};
use serde_json::{Value, json};

use crate::bed::{Bed, LIMIT, Reloader, Via, config_map, deployment};
use crate::figures::{milliseconds, percentile};

const ROUNDS: usize = 20;

/// Runs the scenario.
pub(crate) async fn start(bed: &Bed) -> Result<Vec<Value>> {
    let field = bed.field(&Reloader::Confroll(Via::Source)).await?;
    field.create("configmaps", [(String::new(), config_map("app"))].into_iter()).await?;
    field.create("deployments", [(String::new(), deployment("w0", "app"))].into_iter()).await?;
    let watch = TemplateWatch::start(field.client.clone(), field.namespace()).await?;
    let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).timeout(LIMIT).build()?;
    let (mut ready, mut rolled_out) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        field.edit("app", &format!("edit {round}")).await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
        let options = FunctionOptions {
            kubeconfig: bed.control_plane.kubeconfig_for(User::Confroll),
            sink: None,
            env: vec![("CONFROLL_DIGEST_KEY", "of a benchmark".to_owned())],
        };
        let began = Instant::now();
        let function = Function::start(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await?;
        http.get(format!("{}/health/readiness", function.url())).send().await?.error_for_status()?;
        ready.push(began.elapsed());
        let data = json!({ "apiVersion": "v1", "kind": "ConfigMap", "namespace": field.namespace(), "name": "app" });
        let event = http.post(function.url()).header("ce-specversion", "1.0").header("ce-id", round.to_string());
        let event = event.header("ce-source", "/bench").header("ce-type", "dev.knative.apiserver.ref.update");
        let event = event.header("content-type", "application/json").body(data.to_string());
        event.send().await?.error_for_status()?;
        rolled_out.push(watch.wait_for("Deployment", "w0", round, LIMIT).await?[round - 1].at - began);
    }
    Ok(vec![json!({
        "scenario": "start",
        "rounds": ROUNDS,
        "ready_p50_ms": milliseconds(percentile(&mut ready, 50)),
        "ready_max_ms": milliseconds(percentile(&mut ready, 100)),
        "first_rollout_p50_ms": milliseconds(percentile(&mut rolled_out, 50)),
        "first_rollout_max_ms": milliseconds(percentile(&mut rolled_out, 100)),
    })])
}
