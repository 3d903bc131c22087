//! What `confroll watch` holds: at rest, after 20,000 Secrets of 6 kB were made under its eyes, and after a sweep over them.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use confroll_stack::{Function, FunctionOptions, User};
use serde_json::{Value, json};

use crate::bed::{Bed, Reloader, Via};
use crate::figures::ratio;

const SECRETS: usize = 20_000;
const BYTES: usize = 6000;
/// How often it sweeps meanwhile.
const SYNC_PERIOD: &str = "20s";

/// Runs the scenario.
pub(crate) async fn memory(bed: &Bed) -> Result<Vec<Value>> {
    let field = bed.field(&Reloader::Confroll(Via::Watch)).await?;
    let env = [("CONFROLL_DIGEST_KEY", "of a benchmark"), ("CONFROLL_SYNC_PERIOD", SYNC_PERIOD)];
    let options = FunctionOptions {
        kubeconfig: bed.control_plane.kubeconfig_for(User::Confroll),
        sink: None,
        env: env.map(|(name, value)| (name, value.to_owned())).to_vec(),
    };
    let watcher = Function::start_watch(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await?;
    swept(&watcher, 2).await?;
    let at_rest = watcher.rss_bytes()?;
    let value = "x".repeat(BYTES);
    let secret =
        |n: usize| json!({ "metadata": { "name": format!("s{n}") }, "stringData": { "a": format!("{n}{value}") } });
    let began = Instant::now();
    field.create("secrets", (0..SECRETS).map(|n| (String::new(), secret(n)))).await?;
    let made = began.elapsed().as_secs();
    let so_far = watcher.log().matches(SWEPT).count();
    swept(&watcher, so_far + 2).await?;
    Ok(vec![json!({
        "scenario": "memory",
        "secrets": SECRETS,
        "bytes_each": BYTES,
        "made_in_s": made,
        "at_rest_mb": megabytes(at_rest),
        "after_mb": megabytes(watcher.rss_bytes()?),
        "peak_mb": megabytes(watcher.rss_peak_bytes()?),
    })])
}

const SWEPT: &str = "a sweep looked at";

async fn swept(watcher: &Function, times: usize) -> Result<()> {
    let waiting = async {
        while watcher.log().matches(SWEPT).count() < times {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    Ok(tokio::time::timeout(Duration::from_mins(5), waiting).await?)
}

fn megabytes(bytes: u64) -> f64 {
    (ratio(usize::try_from(bytes).unwrap_or(usize::MAX), 1 << 20) * 10.0).round() / 10.0
}
