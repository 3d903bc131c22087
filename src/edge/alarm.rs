//! Wakes lanes for what is due on a workload, as long as the process lives.
//!
//! Invariants: one task, and only while something waits; so many workloads and no more, as whatever is not known here the
//! next sweep finds on the workload itself; what failed is tried again under the name of its first try, so that what could
//! not be told is told.
//! Left out: what is due (reload/due.rs), and doing it (due_run.rs).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use backon::BackoffBuilder as _;
use futures::stream::{FuturesUnordered, StreamExt as _};
use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::time::sleep;

use super::intake::waits;
use super::lane::{EventOutcome, Lanes, Progress, Ticket};
use super::reporter::now;
use crate::reload::tag::EventTag;
use crate::reload::workload::WorkloadId;

/// How many workloads are known.
const MOST: usize = 10_000;
/// How often it is looked at the clock at least: a machine may sleep, and clocks are set.
const A_LOOK: Duration = Duration::from_mins(1);
/// How often something is tried again, later and later, before it is left to the next sweep.
const MOST_TRIES: usize = 5;

/// What is due when.
#[derive(Clone, Default)]
pub(super) struct Alarm(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    news: Notify,
}

#[derive(Default)]
struct State {
    wakes: HashMap<WorkloadId, Wake>,
    progress: Progress,
}

#[derive(Clone)]
struct Wake {
    at: Timestamp,
    /// The tries before, and the name of the first.
    tried: Option<(usize, EventTag)>,
}

/// What became of waking a lane.
struct Woken {
    id: WorkloadId,
    tries: usize,
    tag: EventTag,
    outcome: EventOutcome,
}

impl Alarm {
    /// Takes in that something is due on a workload at a time. Where the answer is a value, the caller has to start
    /// [`run`](Self::run) with it.
    pub(super) fn set(&self, id: WorkloadId, at: Timestamp) -> Option<Self> {
        self.add(id, Wake { at, tried: None })
    }

    fn add(&self, id: WorkloadId, wake: Wake) -> Option<Self> {
        let mut state = self.state();
        let is_full = state.wakes.len() >= MOST;
        match state.wakes.get_mut(&id) {
            Some(known) => {
                let is_sooner = wake.at < known.at;
                known.at = known.at.min(wake.at);
                known.tried = known.tried.take().or(wake.tried);
                if !is_sooner {
                    return None;
                }
            }
            None if !is_full => _ = state.wakes.insert(id, wake),
            None => {
                tracing::debug!(
                    workload.name = id.name,
                    "too much is due to keep the time of it; the next sweep does it"
                );
            }
        }
        self.0.news.notify_one();
        if state.progress == Progress::Running || state.wakes.is_empty() {
            return None;
        }
        state.progress = Progress::Running;
        Some(self.clone())
    }

    /// Wakes lanes until nothing is due any more.
    pub(super) async fn run(self, lanes: Lanes) {
        let mut at_work = FuturesUnordered::new();
        loop {
            at_work.extend(self.take_due(now()).into_iter().map(|(id, wake)| go(&lanes, id, wake)));
            if at_work.is_empty() && self.rests() {
                return;
            }
            tokio::select! {
                Some(woken) = at_work.next() => self.done(woken),
                () = self.0.news.notified() => {}
                () = sleep(self.wait(now())) => {}
            }
        }
    }

    fn take_due(&self, now: Timestamp) -> HashMap<WorkloadId, Wake> {
        let mut state = self.state();
        let (due, later) = std::mem::take(&mut state.wakes).into_iter().partition(|(_, wake)| wake.at <= now);
        state.wakes = later;
        due
    }

    /// Ends the task where nothing waits.
    fn rests(&self) -> bool {
        let mut state = self.state();
        if state.wakes.is_empty() {
            state.progress = Progress::Idle;
        }
        state.progress == Progress::Idle
    }

    fn wait(&self, now: Timestamp) -> Duration {
        let next = self.state().wakes.values().map(|wake| wake.at).min();
        let wait = next.map(|at| Duration::try_from(at.duration_since(now)).unwrap_or_default());
        wait.map_or(A_LOOK, |wait| wait.min(A_LOOK))
    }

    fn done(&self, Woken { id, tries, tag, outcome }: Woken) {
        if outcome == EventOutcome::Done {
            return;
        }
        let Some(wait) = waits().with_max_times(MOST_TRIES).build().nth(tries) else {
            let (namespace, kind) = (id.namespace.as_str(), id.kind.kind);
            tracing::error!(
                namespace,
                workload.kind = kind,
                workload.name = id.name,
                "what was due could not be done; the next sweep tries again"
            );
            return;
        };
        let at = now().checked_add(wait).unwrap_or_else(|_| now());
        // The task that would have to be started is this one.
        let _ = self.add(id, Wake { at, tried: Some((tries + 1, tag)) });
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn go(lanes: &Lanes, id: WorkloadId, wake: Wake) -> Woken {
    let name = || EventTag::of("confroll alarm", &format!("{} {id} {}", id.namespace, now()));
    let (tries, tag) = wake.tried.unwrap_or_else(|| (0, name()));
    let (ticket, answer) = Ticket::new();
    lanes.join_due(id.clone(), tag.clone(), ticket);
    let outcome = answer.await.unwrap_or(EventOutcome::Again);
    Woken { id, tries, tag, outcome }
}
