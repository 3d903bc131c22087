//! One batch at a time per namespace: what arrives while a batch runs waits and forms the next one.
//!
//! Invariants: no timer and no delay while idle; a batch reads only after its events arrived; every ticket is
//! answered, whatever becomes of the run. Left out: what a batch does (reload_run.rs).

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use jiff::Timestamp;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

use super::alarm::Alarm;
use super::due_run::DueCall;
use super::reload_run::ReloadRun;
use crate::reload::change::Change;
use crate::reload::source::Namespace;
use crate::reload::tag::EventTag;
use crate::reload::workload::WorkloadId;

/// What became of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum EventOutcome {
    /// Everything that it led to is done.
    Done,
    /// Something failed that may work later: the event should be sent again.
    Again,
}

/// The claim of one event to an answer. It is answered when the last clone is dropped, so whatever works for the
/// event holds one.
#[derive(Clone)]
pub struct Ticket(Arc<TicketState>);

struct TicketState {
    outcome: Mutex<EventOutcome>,
    /// Taken by the end of the last clone, which needs no lock.
    answer: Option<oneshot::Sender<EventOutcome>>,
}

impl Ticket {
    /// A ticket and where its answer comes.
    #[must_use]
    pub fn new() -> (Self, oneshot::Receiver<EventOutcome>) {
        let (sender, receiver) = oneshot::channel();
        let state = TicketState { outcome: Mutex::new(EventOutcome::Done), answer: Some(sender) };
        (Self(Arc::new(state)), receiver)
    }

    /// Notes that something failed that may work later.
    pub fn again(&self) {
        self.0.note(EventOutcome::Again);
    }
}

impl TicketState {
    fn note(&self, outcome: EventOutcome) {
        let mut held = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        *held = outcome.max(*held);
    }
}

impl Drop for TicketState {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.note(EventOutcome::Again);
        }
        let outcome = *self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = self.answer.take() {
            // Nobody waits any more where the request was given up.
            let _ = answer.send(outcome);
        }
    }
}

/// An event that waits to be acted on.
#[derive(Clone)]
pub struct Trigger {
    /// Which source to look at.
    pub change: Change,
    /// Its claim to an answer.
    pub ticket: Ticket,
    /// When it arrived.
    pub arrived: Instant,
}

impl Trigger {
    /// An event that arrives now.
    #[must_use]
    pub fn new(change: Change, ticket: Ticket) -> Self {
        Self { change, ticket, arrived: Instant::now() }
    }
}

/// What one run works on: all of one namespace.
#[derive(Default)]
pub struct Batch {
    /// Events that just arrived.
    pub triggers: Vec<Trigger>,
    /// Workloads that have waited for their other sources, with the events that made them wait.
    pub settled: HashMap<WorkloadId, Vec<Trigger>>,
    /// Workloads on which something is due.
    pub due: HashMap<WorkloadId, Vec<DueCall>>,
}

impl Batch {
    fn is_empty(&self) -> bool {
        self.triggers.is_empty() && self.settled.is_empty() && self.due.is_empty()
    }
}

/// A workload that should wait for its other sources.
pub struct Unsettled {
    /// Which workload.
    pub workload: WorkloadId,
    /// The events that ask for it.
    pub triggers: Vec<Trigger>,
}

/// What a run leaves for later.
#[derive(Default)]
pub struct Leftover {
    /// Workloads that should wait for their other sources.
    pub unsettled: Vec<Unsettled>,
    /// When something is due on a workload.
    pub due: Vec<(WorkloadId, Timestamp)>,
}

/// The lanes of all namespaces that have something to do.
#[derive(Clone)]
pub struct Lanes {
    run: Arc<ReloadRun>,
    settle: Duration,
    state: Arc<Mutex<HashMap<Namespace, Lane>>>,
    alarm: Alarm,
}

#[derive(Default)]
struct Lane {
    waiting: Batch,
    /// Workloads that wait, and the events that arrived for them meanwhile.
    settling: HashMap<WorkloadId, Vec<Trigger>>,
    progress: Progress,
}

/// Whether a task works on what waits.
#[derive(Default, PartialEq, Eq)]
pub(super) enum Progress {
    #[default]
    Idle,
    Running,
}

impl Lanes {
    /// Lanes that run batches through `run`.
    #[must_use]
    pub fn new(run: Arc<ReloadRun>, settle: Duration) -> Self {
        Self { run, settle, state: Arc::default(), alarm: Alarm::default() }
    }

    /// Puts an event into the lane of its source's namespace.
    pub fn join(&self, change: Change, ticket: Ticket) {
        self.join_in(&change.source.namespace.clone(), change, ticket);
    }

    /// Puts an event into the lane of a namespace whose workloads ask for its source.
    pub fn join_in(&self, namespace: &Namespace, change: Change, ticket: Ticket) {
        let trigger = Trigger::new(change, ticket);
        self.add(namespace, |lane| lane.waiting.triggers.push(trigger));
    }

    /// Has what is due on a workload done, in the lane of its namespace.
    pub fn join_due(&self, id: WorkloadId, event: EventTag, ticket: Ticket) {
        let namespace = id.namespace.clone();
        self.add(&namespace, |lane| lane.waiting.due.entry(id).or_default().push(DueCall { event, ticket }));
    }

    /// Has what is due on a workload at a time done then, if the process lives.
    pub fn wake_at(&self, id: WorkloadId, at: Timestamp) {
        if let Some(alarm) = self.alarm.set(id, at) {
            tokio::spawn(alarm.run(self.clone()));
        }
    }

    /// Changes a lane and sees to it that somebody works on it.
    fn add(&self, namespace: &Namespace, change: impl FnOnce(&mut Lane)) {
        let mut lanes = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = lanes.entry(namespace.clone()).or_default();
        change(lane);
        if lane.progress == Progress::Idle {
            lane.progress = Progress::Running;
            let (lanes, namespace) = (self.clone(), namespace.clone());
            // A task of its own: a sender that hangs up does not end the run in the middle.
            tokio::spawn(async move { lanes.work(namespace).await });
        }
    }

    async fn work(&self, namespace: Namespace) {
        while let Some(batch) = self.next_batch(&namespace) {
            let run = AssertUnwindSafe(self.run.run(namespace.clone(), batch)).catch_unwind();
            if let Ok(Leftover { unsettled, due }) = run.await {
                unsettled.into_iter().for_each(|workload| self.settle(&namespace, workload));
                due.into_iter().for_each(|(workload, at)| self.wake_at(workload, at));
            } else {
                // The panic itself is logged by the hook; its tickets were answered with `Again` as it unwound.
                tracing::error!(namespace = namespace.as_str(), "a batch ended in a panic");
            }
        }
    }

    fn next_batch(&self, namespace: &Namespace) -> Option<Batch> {
        let mut lanes = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = lanes.get_mut(namespace)?;
        if !lane.waiting.is_empty() {
            return Some(std::mem::take(&mut lane.waiting));
        }
        lane.progress = Progress::Idle;
        if lane.settling.is_empty() {
            lanes.remove(namespace);
        }
        None
    }

    /// Lets a workload wait until its time is up, counted from its first event; one that waits already takes the new
    /// events with it.
    fn settle(&self, namespace: &Namespace, unsettled: Unsettled) {
        let Some(due) = unsettled.triggers.iter().map(|trigger| trigger.arrived + self.settle).min() else { return };
        let mut lanes = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let lane = lanes.entry(namespace.clone()).or_default();
        if let Some(waiting) = lane.settling.get_mut(&unsettled.workload) {
            waiting.extend(unsettled.triggers);
            return;
        }
        lane.settling.insert(unsettled.workload.clone(), unsettled.triggers);
        let (lanes, namespace, workload) = (self.clone(), namespace.clone(), unsettled.workload);
        tokio::spawn(async move {
            sleep_until(due).await;
            lanes.add(&namespace, |lane| {
                let triggers = lane.settling.remove(&workload).unwrap_or_default();
                lane.waiting.settled.entry(workload).or_default().extend(triggers);
            });
        });
    }
}
