//! Rolls out what runs to its end: CronJobs and Jobs.
//!
//! Invariants: one change makes one Job, however often it is tried; a Job is deleted only at the version that was read, and
//! only while a stand-in holds all of it.
//! Left out: what the Jobs look like (reload/job.rs).

use std::time::Duration;

use super::cluster::Cluster;
use super::cluster_error::ClusterError;
use crate::reload::job::{job_again, job_of_stand_in, job_to_run, stand_in};
use crate::reload::rollout::{Patch, Rollout, record_patch};
use crate::reload::workload::{Workload, WorkloadId};
use crate::reload::workload_kind::{Controller, WORKLOAD_KINDS, WorkloadKind};

/// How often, and after how long, it is looked whether a deleted Job is gone.
const MOST_WAITS: usize = 20;
const WAIT: Duration = Duration::from_millis(100);

impl Cluster {
    /// Runs a Job of a CronJob's template now, and notes that on the CronJob.
    pub(super) async fn run_job(&self, rollout: &Rollout<'_>) -> Result<(), ClusterError> {
        let workload = rollout.workload;
        let cron_job = self.same(workload).await?;
        let digests: Vec<_> = rollout.changed.iter().map(|(_, digest)| *digest).collect();
        let change = rollout.template_change(&workload.way);
        let job = job_to_run(&cron_job, workload, &digests, &change).ok_or(ClusterError::Conflict)?;
        match self.create(job_kind(), &workload.id.namespace, &job).await {
            // An earlier attempt made it and could not note it.
            Ok(()) | Err(ClusterError::Conflict) => {}
            Err(error) => return Err(error),
        }
        self.patch(&workload.id, &Patch::Merge(record_patch(workload, rollout.record))).await
    }

    /// Deletes a Job and makes it again.
    pub(super) async fn make_job_again(&self, rollout: &Rollout<'_>) -> Result<(), ClusterError> {
        let workload = rollout.workload;
        let job = self.same(workload).await?;
        let change = rollout.template_change(&workload.way);
        let again = job_again(&job, rollout.record, &change).ok_or(ClusterError::Conflict)?;
        let (name, stand_in) = stand_in(&again, &workload.uid).ok_or(ClusterError::Conflict)?;
        let stand_in_id = WorkloadId { name, ..workload.id.clone() };
        match self.create(job_kind(), &workload.id.namespace, &stand_in).await {
            // An earlier attempt made it.
            Ok(()) | Err(ClusterError::Conflict) => {}
            Err(error) => return Err(error),
        }
        match self.delete(&workload.id, &workload.uid, Some(workload.version)).await {
            // Gone: somebody who met the stand-in was faster.
            Ok(()) | Err(ClusterError::NotFound) => self.end_stand_in(&stand_in_id).await,
            Err(error) => {
                if matches!(error, ClusterError::Conflict) {
                    // It is another by now, and decided anew.
                    self.remove(&stand_in_id).await?;
                }
                Err(error)
            }
        }
    }

    /// Ends what a stand-in was made for: its Job goes, is made again, and then the stand-in goes.
    pub(super) async fn end_stand_in(&self, id: &WorkloadId) -> Result<(), ClusterError> {
        let Some(stand_in) = self.whole_workload(id).await? else { return Ok(()) };
        let Some((stands_in_for, job)) = job_of_stand_in(&stand_in) else { return Ok(()) };
        let job_id = WorkloadId { name: stands_in_for.name, ..id.clone() };
        match self.delete(&job_id, &stands_in_for.uid, None).await {
            // Gone, or made again already.
            Ok(()) | Err(ClusterError::NotFound | ClusterError::Conflict) => {}
            Err(error) => return Err(error),
        }
        let mut waits = 0;
        while let Err(error) = self.create(job_kind(), &id.namespace, &job).await {
            let there = self.whole_workload(&job_id).await?;
            let is_old = there.is_none_or(|there| there["metadata"]["uid"] == stands_in_for.uid);
            match (error, is_old) {
                (ClusterError::Conflict, false) => break,
                // Somebody's finalizer keeps the old one: the stand-in waits for whoever meets it next.
                (ClusterError::Conflict, true) if waits < MOST_WAITS => waits += 1,
                (error, _) => return Err(error),
            }
            tokio::time::sleep(WAIT).await;
        }
        self.remove(id).await
    }

    async fn remove(&self, id: &WorkloadId) -> Result<(), ClusterError> {
        let Some(object) = self.whole_workload(id).await? else { return Ok(()) };
        match self.delete(id, object["metadata"]["uid"].as_str().unwrap_or_default(), None).await {
            Ok(()) | Err(ClusterError::NotFound | ClusterError::Conflict) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The whole of a workload, as it was decided upon.
    async fn same(&self, workload: &Workload) -> Result<serde_json::Value, ClusterError> {
        let object = self.whole_workload(&workload.id).await?.ok_or(ClusterError::NotFound)?;
        let is_same = object["metadata"]["resourceVersion"] == workload.version.to_string();
        if is_same { Ok(object) } else { Err(ClusterError::Conflict) }
    }
}

fn job_kind() -> &'static WorkloadKind {
    let job = WORKLOAD_KINDS.iter().find(|kind| kind.controller == Controller::Job);
    job.unwrap_or(&WORKLOAD_KINDS[0])
}
