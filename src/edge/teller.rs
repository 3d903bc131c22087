//! Who sees to it that what happened is told, whatever becomes of the process that did it.
//!
//! Invariant: what a process has in hand it does not take in hand again.
//! Left out: what a note on a workload means (reload/telling.rs), and telling (reporter.rs).

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::reporter::now;
use crate::reload::telling::{Owed, Report, Untold};
use crate::reload::workload::{Workload, WorkloadId};

/// A process among its replicas: other for each, and for each start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessName(u64);

impl ProcessName {
    /// A name that no other process has.
    #[must_use]
    pub fn random() -> Self {
        let mut bytes = [0; 8];
        // It fails where the kernel has no randomness; then a clock is as good as can be had.
        match rustls::crypto::ring::default_provider().secure_random.fill(&mut bytes) {
            Ok(()) => Self(u64::from_be_bytes(bytes)),
            Err(_) => Self(now().as_microsecond().unsigned_abs()),
        }
    }

    /// The name as a number from 0 to 1.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "any number near it will do")]
    pub fn fraction(self) -> f64 {
        self.0 as f64 / u64::MAX as f64
    }
}

impl fmt::Display for ProcessName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// How it is seen to that a report is told.
#[derive(Clone)]
pub enum Teller {
    /// The event that led to it is sent again until it was told.
    Redelivery,
    /// Every replica is told of every change: who tells of what it led to is noted on workloads.
    Notes(Arc<Notes>),
}

/// Notes of one process.
pub struct Notes {
    process: String,
    audience: Audience,
    /// How many reports of each.
    in_hand: Mutex<HashMap<WorkloadId, usize>>,
}

/// Whether anybody is told of anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Audience {
    /// A sink, or alerts.
    Somebody,
    /// Nobody: then nothing is owed.
    Nobody,
}

impl Teller {
    /// A teller that leaves notes under a process's name.
    #[must_use]
    pub fn by_notes(process: ProcessName, audience: Audience) -> Self {
        Self::Notes(Arc::new(Notes { process: process.to_string(), audience, in_hand: Mutex::default() }))
    }

    /// The note that this process is about to tell a report.
    #[must_use]
    pub fn note(&self, what: Report) -> Option<Untold> {
        match self {
            Self::Notes(notes) if notes.audience == Audience::Somebody => {
                Some(Untold::new(what, &notes.process, now()))
            }
            _ => None,
        }
    }

    /// Whose it is to tell a report of a workload; `None` where events tell.
    #[must_use]
    pub fn owed(&self, workload: &Workload, what: Report) -> Option<Owed> {
        let Self::Notes(notes) = self else { return None };
        let Some(record) = &workload.record else { return Some(Owed::Nothing) };
        match record.owed(what, &notes.process, now()) {
            Owed::Ours if notes.in_hand().contains_key(&workload.id) => Some(Owed::Nothing),
            owed => Some(owed),
        }
    }

    /// Has a workload's report in hand until the value is dropped.
    #[must_use]
    pub fn take_in_hand(&self, id: &WorkloadId) -> Option<InHand> {
        let Self::Notes(notes) = self else { return None };
        *notes.in_hand().entry(id.clone()).or_default() += 1;
        Some(InHand(notes.clone(), id.clone()))
    }
}

impl Notes {
    fn in_hand(&self) -> MutexGuard<'_, HashMap<WorkloadId, usize>> {
        self.in_hand.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A report that is being told.
pub struct InHand(Arc<Notes>, WorkloadId);

impl Drop for InHand {
    fn drop(&mut self) {
        let mut in_hand = self.0.in_hand();
        let left = in_hand.get(&self.1).map_or(0, |reports| reports - 1);
        if left == 0 {
            in_hand.remove(&self.1);
        } else {
            in_hand.insert(self.1.clone(), left);
        }
    }
}
