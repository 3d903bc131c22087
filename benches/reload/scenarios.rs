//! The scenarios. In each, rounds of ours and raw take turns, so that both see the same machine.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures::{StreamExt, TryStreamExt, stream};

use crate::bed::{Bed, IN_FLIGHT, LIMIT, Reloader, Run, workload_name};
use crate::figures::{Figures, Requests};

const SINGLE_ROUNDS: usize = 50;
/// Between single edits: an API server that was just asked for a list lets the next one wait up to 100 ms.
const IDLE: Duration = Duration::from_millis(200);
const FANOUT: usize = 500;
const FANOUT_ROUNDS: usize = 5;
const BURST: usize = 200;
const BURST_ROUNDS: usize = 5;

/// One ConfigMap, one Deployment, one edit after the other, with a pause. Compared: a PATCH and its way to the watch.
pub(crate) async fn single(bed: &Bed, reloader: &Reloader) -> Result<Figures> {
    let run = bed.run(reloader, 1, |_| "app".to_owned()).await?;
    let mark = bed.control_plane.audit().mark().await?;
    let mut compared = Vec::new();
    for round in 1..=SINGLE_ROUNDS {
        tokio::time::sleep(IDLE).await;
        let began = Instant::now();
        run.field.patch_template("raw", &round.to_string()).await?;
        let raw = run.watch.wait_for("Deployment", "raw", round, LIMIT).await?[round - 1].at - began;
        tokio::time::sleep(IDLE).await;
        let began = Instant::now();
        run.field.edit("app", &format!("edit {round}")).await?;
        compared.push((run.rolled_out(1, round).await?[0] - began, raw));
    }
    let reloaded = compared.iter().map(|(ours, _)| *ours).collect();
    let requests = Requests::since(bed, mark, reloader).await?;
    let peak_bytes = run.peak_bytes()?;
    Ok(Figures {
        scenario: "single",
        reloader: reloader.clone(),
        reloads: SINGLE_ROUNDS,
        reloaded,
        compared,
        requests,
        peak_bytes,
    })
}

/// One ConfigMap, 500 Deployments. Compared: the last change of 500 PATCHes.
pub(crate) async fn fanout(bed: &Bed, reloader: &Reloader) -> Result<Figures> {
    let run = bed.run(reloader, FANOUT, |_| "app".to_owned()).await?;
    rounds("fanout", bed, reloader, &run, FANOUT, FANOUT_ROUNDS, async |value| {
        tokio::time::sleep(IDLE).await;
        let began = Instant::now();
        run.field.edit("app", value).await?;
        Ok(vec![began; FANOUT])
    })
    .await
}

/// 200 ConfigMaps written at once, each with a Deployment of its own. Compared: the last change of 200 PATCHes.
pub(crate) async fn burst(bed: &Bed, reloader: &Reloader) -> Result<Figures> {
    let source = |n: usize| format!("c{n}");
    let run = bed.run(reloader, BURST, source).await?;
    rounds("burst", bed, reloader, &run, BURST, BURST_ROUNDS, async |value| {
        let field = &run.field;
        let edits = (0..BURST).map(|n| async move {
            let began = Instant::now();
            field.edit(&source(n), value).await.map(|()| began)
        });
        stream::iter(edits).buffered(IN_FLIGHT).try_collect().await
    })
    .await
}

/// Rounds of raw patches and of edits, over the same workloads. `edit` gives back when each workload's source was
/// written.
async fn rounds(
    scenario: &'static str,
    bed: &Bed,
    reloader: &Reloader,
    run: &Run,
    workloads: usize,
    rounds: usize,
    edit: impl AsyncFn(&str) -> Result<Vec<Instant>>,
) -> Result<Figures> {
    let mark = bed.control_plane.audit().mark().await?;
    let (mut compared, mut reloaded) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        let raw = raw_patches(run, workloads, 2 * round - 1).await?;
        let began = Instant::now();
        let written = edit(&format!("edit {round}")).await?;
        let at = run.rolled_out(workloads, 2 * round).await?;
        let last = at.iter().max().map_or(Duration::ZERO, |last| *last - began);
        compared.push((last, raw));
        reloaded.extend(at.iter().zip(written).map(|(at, written)| *at - written));
    }
    let requests = Requests::since(bed, mark, reloader).await?;
    let peak_bytes = run.peak_bytes()?;
    Ok(Figures {
        scenario,
        reloader: reloader.clone(),
        reloads: workloads * rounds,
        reloaded,
        compared,
        requests,
        peak_bytes,
    })
}

/// The raw limit: the time of as many plain PATCHes, up to the last change that the watch shows.
async fn raw_patches(run: &Run, workloads: usize, times: usize) -> Result<Duration> {
    let began = Instant::now();
    let value = times.to_string();
    let patches = (0..workloads).map(|n| {
        let (name, value) = (workload_name(n), value.as_str());
        async move { run.field.patch_template(&name, value).await }
    });
    stream::iter(patches).buffer_unordered(IN_FLIGHT).try_for_each(|()| async { Ok(()) }).await?;
    let last = run.rolled_out(workloads, times).await?.into_iter().max();
    Ok(last.map_or(Duration::ZERO, |last| last - began))
}
