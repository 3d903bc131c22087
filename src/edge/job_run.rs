//! Rolls out what runs to its end: CronJobs and Jobs.
//!
//! Invariants: one change makes one Job, however often it is tried; a Job is deleted only at the version that was read.
//! Left out: what the Jobs look like (reload/job.rs).

use super::cluster::Cluster;
use super::cluster_error::ClusterError;
use crate::reload::job::{job_again, job_to_run};
use crate::reload::rollout::{Patch, Rollout, record_patch};
use crate::reload::workload::Workload;
use crate::reload::workload_kind::{Controller, WORKLOAD_KINDS, WorkloadKind};

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
        self.delete(&workload.id, &workload.uid, workload.version).await?;
        self.create(job_kind(), &workload.id.namespace, &again).await
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
