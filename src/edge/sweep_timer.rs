//! Sweeps by the clock, and where a watch asks for one.
//!
//! Invariants: the first comes when the watches have begun, so what happened before them is found and what happens after is
//! told; replicas do not sweep in step; a sweep that could not do all it should is made again under the same name, so that
//! it tells again what it could not tell.
//! Left out: the sweep itself (sweep.rs).

use std::sync::Arc;
use std::time::Duration;

use backon::BackoffBuilder as _;
use futures::FutureExt as _;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use super::intake::waits;
use super::lane::EventOutcome;
use super::reporter::now;
use super::sweep::Sweep;
use super::teller::ProcessName;
use crate::reload::tag::EventTag;

/// The watches of a process begin one after the other: a sweep waits for them this long.
const GATHERING: Duration = Duration::from_millis(200);
/// How often a sweep that could not do everything is made again before the next is due.
const MOST_TRIES: usize = 5;

/// Sweeps until it is dropped, at least every `period`, each process a little more often than that.
pub async fn run(sweep: Sweep, period: Duration, wanted: Arc<Notify>, process: ProcessName) {
    let period = period.mul_f64(0.9 + 0.1 * process.fraction());
    loop {
        if timeout(period, wanted.notified()).await.is_ok() {
            sleep(GATHERING).await;
            // What others asked for meanwhile is this one, too.
            let _ = wanted.notified().now_or_never();
        }
        let tag = EventTag::of("confroll watch", &format!("{process} {}", now()));
        let mut outcome = sweep.run(&tag).await;
        for wait in waits().with_max_times(MOST_TRIES).build() {
            if outcome == EventOutcome::Done {
                break;
            }
            sleep(wait).await;
            outcome = sweep.run(&tag).await;
        }
    }
}
