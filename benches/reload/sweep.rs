//! A sweep over 10,000 workloads and 10,000 sources: the first one, one that finds nothing, one that finds one percent.
//! Compared: the same lists, page by page, by a plain client.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use confroll_stack::{Function, FunctionOptions, User};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use http::Request;
use serde_json::{Value, json};

use crate::bed::{Bed, Field, IN_FLIGHT, Reloader, Via, config_map, deployment, workload_name};
use crate::figures::{Requests, milliseconds, percentile, ratio};

const NAMESPACES: usize = 20;
const WORKLOADS: usize = 500;
const ROUNDS: usize = 3;
/// Of each namespace: one percent.
const MOVED: usize = WORKLOADS / 100;
const RELOADER: Reloader = Reloader::Confroll(Via::Source);
const METADATA_LIST: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
const LISTS: [(&str, &str); 5] = [
    ("/api/v1/configmaps", METADATA_LIST),
    ("/api/v1/secrets", METADATA_LIST),
    ("/apis/apps/v1/deployments", "application/json"),
    ("/apis/apps/v1/statefulsets", "application/json"),
    ("/apis/apps/v1/daemonsets", "application/json"),
];

/// Runs the scenario; a line for each kind of sweep.
pub(crate) async fn sweep(bed: &Bed) -> Result<Vec<Value>> {
    let mut fields = Vec::new();
    for _ in 0..NAMESPACES {
        let field = bed.field(&RELOADER).await?;
        field.create("configmaps", (0..WORKLOADS).map(|n| (String::new(), config_map(&format!("c{n}"))))).await?;
        let workloads = (0..WORKLOADS).map(|n| (String::new(), deployment(&workload_name(n), &format!("c{n}"))));
        field.create("deployments", workloads).await?;
        fields.push(field);
    }
    let options = FunctionOptions {
        kubeconfig: bed.control_plane.kubeconfig_for(User::Confroll),
        sink: None,
        env: vec![("CONFROLL_DIGEST_KEY", "of a benchmark".to_owned())],
    };
    let function = Function::start(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await?;
    let sweeper = Sweeper { bed, function, fields };
    let first = sweeper.measure("first", 1, async || Ok(())).await?;
    let nothing = sweeper.measure("nothing moved", ROUNDS, async || Ok(())).await?;
    let some = sweeper.measure("1 % moved", ROUNDS, async || sweeper.edit().await).await?;
    Ok(vec![first, nothing, some])
}

struct Sweeper<'a> {
    bed: &'a Bed,
    function: Function,
    fields: Vec<Field>,
}

impl Sweeper<'_> {
    async fn measure(&self, what: &str, rounds: usize, before: impl AsyncFn() -> Result<()>) -> Result<Value> {
        let (mut ours, mut raw, mut asked) = (Vec::new(), Vec::new(), 0);
        let mark = self.bed.control_plane.audit().mark().await?;
        for round in 0..rounds {
            raw.push(self.plain_lists().await?);
            before().await?;
            let began = Instant::now();
            asked += self.ask(&format!("{what} {round}")).await?;
            ours.push(began.elapsed());
        }
        let requests = Requests::since(self.bed, mark, &RELOADER).await?;
        let peak = usize::try_from(self.function.rss_peak_bytes()?).unwrap_or(usize::MAX);
        let each: Vec<_> = ours.iter().zip(&raw).map(|(ours, raw)| [milliseconds(*ours), milliseconds(*raw)]).collect();
        Ok(json!({
            "scenario": "sweep",
            "moved": what,
            "workloads": NAMESPACES * WORKLOADS,
            "sources": NAMESPACES * WORKLOADS,
            "p50_ms": milliseconds(percentile(&mut ours, 50)),
            "raw_lists_ms": milliseconds(percentile(&mut raw, 50)),
            "rounds_ms": each,
            "asked": asked,
            "requests": requests.by_verb,
            "peak_rss_mb": (ratio(peak, 1 << 20) * 10.0).round() / 10.0,
        }))
    }

    /// Asks for a sweep as a PingSource does, until it is done; gives back how often.
    async fn ask(&self, id: &str) -> Result<usize> {
        let http = reqwest::Client::builder().no_proxy().tls_certs_only([]).timeout(Duration::from_mins(1)).build()?;
        for asked in 1..=20 {
            let ping = http.post(self.function.url()).header("ce-specversion", "1.0").header("ce-id", id);
            let ping = ping.header("ce-source", "/bench").header("ce-type", "dev.knative.sources.ping");
            match ping.send().await?.status().as_u16() {
                202 => return Ok(asked),
                status => ensure!(status == 503, "a sweep was answered with {status}"),
            }
        }
        anyhow::bail!("a sweep was not done after 20 requests")
    }

    async fn edit(&self) -> Result<()> {
        let value = format!("{:?}", Instant::now());
        let edits = self.fields.iter().flat_map(|field| (0..MOVED).map(move |n| (field, n)));
        let edits = edits.map(|(field, n)| {
            let value = value.as_str();
            async move { field.edit(&format!("c{n}"), value).await }
        });
        stream::iter(edits).buffer_unordered(IN_FLIGHT).try_for_each(|()| async { Ok(()) }).await
    }

    /// The lists that a sweep needs, and nothing done with them.
    async fn plain_lists(&self) -> Result<Duration> {
        let began = Instant::now();
        for (path, accept) in LISTS {
            let mut next = String::new();
            loop {
                let uri = format!("{path}?limit=500{next}");
                let request = Request::get(uri).header("accept", accept).body(Vec::new())?;
                let page: Value = serde_json::from_str(&self.fields[0].client.request_text(request).await?)?;
                match page["metadata"]["continue"].as_str() {
                    Some(token) if !token.is_empty() => next = format!("&continue={token}"),
                    _ => break,
                }
            }
        }
        Ok(began.elapsed())
    }
}
