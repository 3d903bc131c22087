//! Sees the changes through that watches tell of: `confroll watch` has nobody who would send an event again.
//!
//! Invariants: a change is tried again, later and later, until it is done or the next sweep is the better bet; what waits
//! to be tried again keeps nothing else from being tried; so many are new at once and no more, so that a flood waits in the
//! API server rather than in our memory.
//! Left out: where changes come from (source_watch.rs), and what they lead to (lane.rs).

use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBuilder};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::elsewhere::Elsewhere;
use super::lane::{EventOutcome, Lanes, Ticket};
use super::metrics::Metrics;
use crate::reload::change::Change;
use crate::reload::rules::Rules;

/// How often a change is tried again: for some eight minutes.
const MOST_TRIES: usize = 12;
/// The longest wait before it is tried again.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// Spans to wait between tries, each about twice the one before.
pub(super) fn waits() -> ExponentialBuilder {
    ExponentialBuilder::default().with_min_delay(Duration::from_secs(1)).with_max_delay(LONGEST_WAIT).with_jitter()
}

/// Sees changes through.
#[derive(Clone)]
pub struct Intake {
    lanes: Lanes,
    elsewhere: Elsewhere,
    rules: Arc<Rules>,
    metrics: Arc<Metrics>,
    places: Arc<Semaphore>,
    at_work: TaskTracker,
    stopping: CancellationToken,
}

impl Intake {
    /// An intake for `most` new changes at once, that tries nothing again once `stopping` is cancelled.
    #[must_use]
    pub fn new(
        lanes: Lanes,
        elsewhere: Elsewhere,
        rules: Arc<Rules>,
        metrics: Arc<Metrics>,
        most: usize,
        stopping: CancellationToken,
    ) -> Self {
        let (places, at_work) = (Arc::new(Semaphore::new(most)), TaskTracker::new());
        Self { lanes, elsewhere, rules, metrics, places, at_work, stopping }
    }

    /// Takes a change in, as soon as there is a place for it.
    pub async fn take(&self, change: Change) {
        if let Err(out) = self.rules.scope.source(&change.source) {
            self.metrics.event("ignored");
            tracing::trace!(reason = out.as_str(), "a change is of what is not looked at");
            return;
        }
        // A semaphore that is never closed.
        let Ok(place) = self.places.clone().acquire_owned().await else { return };
        let intake = self.clone();
        self.at_work.spawn(async move { intake.see_through(change, place).await });
    }

    /// Done when nothing is at work any more.
    pub async fn idle(&self) {
        self.at_work.close();
        self.at_work.wait().await;
    }

    async fn see_through(&self, change: Change, place: OwnedSemaphorePermit) {
        let mut outcome = self.try_once(&change).await;
        drop(place);
        for wait in waits().with_max_times(MOST_TRIES).build() {
            if outcome == EventOutcome::Done {
                return;
            }
            tokio::select! {
                () = sleep(wait) => {}
                () = self.stopping.cancelled() => return,
            }
            outcome = self.try_once(&change).await;
        }
        if outcome == EventOutcome::Again {
            let (kind, name) = (change.source.kind.as_str(), change.source.name());
            tracing::error!(
                namespace = change.source.namespace.as_str(),
                source.kind = kind,
                source.name = name,
                "a change could not be acted on for minutes; the next sweep tries again"
            );
        }
    }

    async fn try_once(&self, change: &Change) -> EventOutcome {
        let (ticket, answer) = Ticket::new();
        self.elsewhere.join(change.clone(), ticket.clone());
        self.lanes.join(change.clone(), ticket);
        let outcome = answer.await.unwrap_or(EventOutcome::Again);
        self.metrics.event(if outcome == EventOutcome::Done { "acted_on" } else { "given_back" });
        outcome
    }
}
