//! Ends what is due on one workload: a rollout that was put off, a pause whose time is over.
//!
//! Invariants: what is due is told by the workload as it is now, so that it is done once, whoever else was woken for it; a
//! rollout goes before the end of a pause, which then rolls out both; what the API server refuses keeps nothing else from
//! being done.
//! Left out: what is due (reload/due.rs), and when somebody looks (alarm.rs, sweep.rs).

use jiff::Timestamp;

use super::cluster_error::ClusterError;
use super::lane::{Ticket, Trigger};
use super::reload_run::{ReloadRun, log_problems};
use super::reporter::now;
use super::sources::Sources;
use super::workload_run::WorkloadRun;
use crate::reload::change::{Change, Occasion};
use crate::reload::source::SourceRef;
use crate::reload::tag::EventTag;
use crate::reload::workload::{Workload, WorkloadId};

/// How often a workload that changes under our hands is looked at before it is left for later.
const MOST_LOOKS: usize = 8;

/// Who asks for what is due on a workload.
#[derive(Clone)]
pub struct DueCall {
    /// The sweep, or the alarm of a process.
    pub event: EventTag,
    /// The claim to an answer.
    pub ticket: Ticket,
}

/// Whether what was put off was tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reload {
    NotYet,
    Tried,
}

impl ReloadRun {
    /// Ends what is due on a workload, and gives back when the next is.
    pub(super) async fn end_due(&self, id: &WorkloadId, calls: &[DueCall], sources: &Sources) -> Option<Timestamp> {
        let next = self.looks(id, calls, sources).await;
        next.unwrap_or_else(|error| {
            let (namespace, kind) = (id.namespace.as_str(), id.kind.kind);
            tracing::error!(%error, namespace, workload.kind = kind, workload.name = id.name, "what is due could not be done yet");
            calls.iter().for_each(|call| call.ticket.again());
            None
        })
    }

    async fn looks(
        &self,
        id: &WorkloadId,
        calls: &[DueCall],
        sources: &Sources,
    ) -> Result<Option<Timestamp>, ClusterError> {
        let mut reload = Reload::NotYet;
        for _ in 0..MOST_LOOKS {
            let Some(workload) = self.cluster.workload(id).await? else { return Ok(None) };
            let delayed = workload.reload_due(now()).filter(|_| reload == Reload::NotYet);
            let resumes = workload.resume_due(now());
            match (delayed, resumes) {
                (Some(delayed), _) => {
                    reload = Reload::Tried;
                    log_problems(&workload);
                    let (named, triggers) = (self.wanted(&workload, &delayed), triggers(&delayed, calls));
                    WorkloadRun::new(self, sources, named, triggers).bring_up_to_date(workload).await;
                }
                (None, Some(patch)) => match self.cluster.patch(id, &patch).await {
                    Ok(()) => self.resumed(id),
                    Err(ClusterError::Conflict) => {}
                    Err(ClusterError::NotFound) => return Ok(None),
                    Err(ClusterError::Refused { message }) => {
                        refused(id, &message);
                        return Ok(None);
                    }
                    Err(error) => return Err(error),
                },
                (None, None) => {
                    self.tell_again(&workload, reload, calls);
                    return Ok(workload.next_due().filter(|at| *at > now()));
                }
            }
        }
        Err(ClusterError::Conflict)
    }

    /// The sources that may still be read.
    fn wanted(&self, workload: &Workload, delayed: &[SourceRef]) -> Vec<SourceRef> {
        let may_name = |source: &SourceRef| source.namespace == workload.id.namespace || workload.extra.contain(source);
        let is_wanted = |source: &&SourceRef| may_name(source) && self.rules.scope.source(source).is_ok();
        delayed.iter().filter(is_wanted).cloned().collect()
    }

    /// Tells the last rollout again where it was made for this call, which comes again as that could not be told.
    fn tell_again(&self, workload: &Workload, reload: Reload, calls: &[DueCall]) {
        let Some(record) = workload.record.as_ref().filter(|_| reload == Reload::NotYet) else { return };
        let changed = record.cause.changed.iter();
        let changed: Vec<_> =
            changed.filter_map(|source| SourceRef::from_display(&workload.id.namespace, source)).collect();
        self.reporter.repeat(workload, triggers(&changed, calls));
    }

    fn resumed(&self, id: &WorkloadId) {
        self.metrics.resumed();
        let (namespace, kind) = (id.namespace.as_str(), id.kind.kind);
        tracing::info!(namespace, workload.kind = kind, workload.name = id.name, "resumed: its pause-period is over");
    }
}

/// A call asks for each of the sources.
fn triggers(sources: &[SourceRef], calls: &[DueCall]) -> Vec<Trigger> {
    let of_call = |call: &DueCall| {
        let (event, ticket) = (call.event.clone(), call.ticket.clone());
        let change = move |source: &SourceRef| Change {
            source: source.clone(),
            event: event.clone(),
            occasion: Occasion::Sweep,
            at: None,
        };
        sources.iter().map(change).map(move |change| Trigger::new(change, ticket.clone())).collect::<Vec<_>>()
    };
    calls.iter().flat_map(of_call).collect()
}

fn refused(id: &WorkloadId, message: &str) {
    let (namespace, kind, name) = (id.namespace.as_str(), id.kind.kind, id.name.as_str());
    tracing::error!(
        namespace,
        workload.kind = kind,
        workload.name = name,
        message,
        "the end of a pause was refused; the next sweep tries again"
    );
}
