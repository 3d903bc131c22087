//! Which sources count for a workload, with which of their keys, and why others do not.
//!
//! Invariant: the same inputs give the same answer.
//! Left out: whether what counts has changed (comparison.rs, past.rs).

use std::collections::BTreeSet;

use super::digest::Digest;
use super::opt_in::{self, Answer, Reason, SourceMarks};
use super::references::Keys;
use super::rollout_way::RolloutWay;
use super::rules::Rules;
use super::scope::OutOfScope;
use super::source::{SourceKind, SourceRef};
use super::source_object::SourceObject;
use super::workload::Workload;

/// What a source means to a workload for which it counts.
#[derive(Clone, Debug)]
pub struct Counted {
    /// Why it counts.
    pub reason: Reason,
    /// Which of its keys count.
    pub keys: Keys,
    /// The digest of those keys as they are now.
    pub digest: Digest,
}

/// Why a workload was not rolled out. The same words stand in logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Skip {
    /// The workload does not ask for a reload by this source.
    Opt(opt_in::SkipReason),
    /// The source, or its namespace, is not looked at.
    OutOfScope(OutOfScope),
    /// A Knative Revision owns the workload: its Service is what has to change.
    OwnedByKnativeRevision,
    /// The source is not there: a deletion rolls nothing out.
    SourceAbsent,
    /// The record says that the workload runs on this content.
    AlreadyCurrent,
    /// No earlier version since the workload's creation differs in content.
    SameContent,
    /// The workload was deleted meanwhile.
    WorkloadGone,
    /// The workload was created, or began to use the source, after the change.
    BornLater,
    /// Its pods were made anew after the change.
    RestartedSince,
    /// The API server does not let us note what was seen; nothing had to be rolled out.
    RecordRefused,
    /// The rollout was refused before, which was told.
    RefusedBefore,
    /// A CronJob owns the Job: it is the CronJob that is rolled out.
    OwnedByCronJob,
    /// The CronJob is suspended: it runs no Job.
    Suspended,
    /// The Job is to be made again only while it is at work, and is not.
    JobFinished,
    /// The Job is never to be made again.
    JobLeftAlone,
    /// Changes are gathered until its `reload-delay` is over.
    Delayed,
    /// The Job keeps the place of one that is being made again.
    StandIn,
}

impl Skip {
    /// The word for logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Opt(reason) => reason.as_str(),
            Self::OutOfScope(reason) => reason.as_str(),
            Self::OwnedByKnativeRevision => "owned_by_knative_revision",
            Self::SourceAbsent => "source_absent",
            Self::AlreadyCurrent => "already_current",
            Self::SameContent => "same_content",
            Self::WorkloadGone => "workload_gone",
            Self::BornLater => "born_later",
            Self::RestartedSince => "restarted_since",
            Self::RecordRefused => "record_refused",
            Self::RefusedBefore => "refused_before",
            Self::OwnedByCronJob => "owned_by_cron_job",
            Self::Suspended => "suspended",
            Self::JobFinished => "job_finished",
            Self::JobLeftAlone => "job_left_alone",
            Self::Delayed => "delayed",
            Self::StandIn => "stand_in",
        }
    }
}

/// Why a source of these marks counts for a workload, whatever is in it; or why it does not.
pub fn asks_for(workload: &Workload, source: &SourceRef, marks: SourceMarks) -> Result<Reason, Skip> {
    if let RolloutWay::LeftAlone(skip) = workload.way {
        return Err(skip);
    }
    marks.scope().map_err(Skip::OutOfScope)?;
    match answer(workload, source, marks) {
        Answer::Skips(reason) => Err(Skip::Opt(reason)),
        Answer::Counts(reason) => Ok(reason),
    }
}

/// Names and patterns are for the workload's own namespace; one that is written with its namespace counts as a name.
fn answer(workload: &Workload, source: &SourceRef, marks: SourceMarks) -> Answer {
    let (opt_in, is_extra) = (&workload.opt_in, workload.extra.contain(source));
    let answer = if source.namespace == workload.id.namespace {
        opt_in.asks_for(source.kind, source.name(), &marks, workload.usage(source))
    } else {
        Answer::Skips(opt_in.veto(&marks).unwrap_or(opt_in::SkipReason::NotOptedIn))
    };
    match answer {
        Answer::Counts(_) | Answer::Skips(opt_in::SkipReason::NotOptedIn | opt_in::SkipReason::NotReferenced)
            if is_extra =>
        {
            Answer::Counts(Reason::NamedInAnnotation)
        }
        answer => answer,
    }
}

/// Whether a source counts for a workload.
pub fn counts(workload: &Workload, source: &SourceObject, rules: &Rules) -> Result<Counted, Skip> {
    let reason = asks_for(workload, &source.source, source.marks)?;
    let keys = keys_that_count(workload, &source.source, reason);
    let digest = source.digest(&keys, &rules.digest_key);
    Ok(Counted { reason, keys, digest })
}

/// The sources, known by name, that may count for a workload and are in scope as far as names tell: others are never
/// read.
#[must_use]
pub fn candidates(workload: &Workload, rules: &Rules) -> BTreeSet<SourceRef> {
    workload.candidates().into_iter().filter(|source| rules.scope.source(source).is_ok()).collect()
}

/// Which keys of a source count that counts for a reason. One that an annotation names counts whole: it may be read in
/// ways that the template does not show.
pub(super) fn keys_that_count(workload: &Workload, source: &SourceRef, reason: Reason) -> Keys {
    match (reason, workload.usage(source)) {
        (Reason::NamedInAnnotation, _) | (_, None) => Keys::Whole,
        (_, Some(usage)) => usage.keys.clone(),
    }
}

/// Whether a workload is patched at once or lets its sources settle first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settling {
    /// One source counts, so there is nothing to wait for.
    AtOnce,
    /// Several do, and they may be changing together.
    WaitsForOthers,
}

/// Whether more than one source may count for a workload.
#[must_use]
pub fn settling(workload: &Workload, rules: &Rules) -> Settling {
    let by_pattern = |kind: &SourceKind| {
        rules.scope.source_kind(*kind).is_ok()
            && workload.opt_in.named(*kind).iter().any(|pattern| pattern.literal().is_none())
    };
    let may_count = |source: &&SourceRef| asks_for(workload, source, SourceMarks::unread()).is_ok();
    let several = candidates(workload, rules).iter().filter(may_count).nth(1).is_some();
    if several || SourceKind::ALL.iter().any(by_pattern) { Settling::WaitsForOthers } else { Settling::AtOnce }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::scope::IgnoredSources;
    use super::super::testing::{app_at, config_map, deployment, rules, workload};
    use super::*;

    #[test]
    fn only_the_keys_that_are_used_count_unless_the_source_is_named() {
        let mut json = deployment();
        json["spec"]["template"]["spec"]["containers"][0] = json!({ "name": "main", "env": [
            { "name": "A", "valueFrom": { "configMapKeyRef": { "name": "app", "key": "other" } } } ] });
        let used = counts(&workload(&json), &app_at(10, "1"), &rules()).unwrap();
        assert_eq!(used.keys, Keys::Named(["other".to_owned()].into()));
        json["metadata"]["annotations"] = json!({ "configmap.reloader.stakater.com/reload": "app" });
        let named = counts(&workload(&json), &app_at(10, "1"), &rules()).unwrap();
        assert_eq!((named.keys, named.reason), (Keys::Whole, Reason::NamedInAnnotation));
    }

    #[test]
    fn the_deployment_of_a_knative_revision_is_left_to_its_service() {
        let mut json = deployment();
        json["metadata"]["ownerReferences"] =
            json!([{ "apiVersion": "serving.knative.dev/v1", "kind": "Revision", "controller": true }]);
        assert_eq!(counts(&workload(&json), &app_at(10, "1"), &rules()).unwrap_err(), Skip::OwnedByKnativeRevision);
        json["metadata"]["ownerReferences"][0]["controller"] = json!(false);
        assert!(counts(&workload(&json), &app_at(10, "1"), &rules()).is_ok());
    }

    #[test]
    fn a_workload_waits_only_if_a_second_source_may_count() {
        let env_from = |names: &[&str]| {
            let mut json = deployment();
            let refs: Vec<_> = names.iter().map(|name| json!({ "configMapRef": { "name": name } })).collect();
            json["spec"]["template"]["spec"]["containers"][0]["envFrom"] = json!(refs);
            json
        };
        assert_eq!(settling(&workload(&env_from(&["app"])), &rules()), Settling::AtOnce);
        assert_eq!(settling(&workload(&env_from(&["app", "app"])), &rules()), Settling::AtOnce);
        assert_eq!(settling(&workload(&env_from(&["app", "db"])), &rules()), Settling::WaitsForOthers);
        let mut excluded = env_from(&["app", "db"]);
        excluded["metadata"]["annotations"]["configmaps.exclude.reloader.stakater.com/reload"] = json!("db");
        assert_eq!(settling(&workload(&excluded), &rules()), Settling::AtOnce);
        let mut typed = env_from(&["app"]);
        typed["metadata"]["annotations"] = json!({ "configmap.reloader.stakater.com/auto": "true" });
        typed["spec"]["template"]["spec"]["containers"][0]["envFrom"] =
            json!([{ "configMapRef": { "name": "app" } }, { "secretRef": { "name": "db" } }]);
        assert_eq!(settling(&workload(&typed), &rules()), Settling::AtOnce);
        let mut pattern = env_from(&[]);
        pattern["metadata"]["annotations"] = json!({ "secret.reloader.stakater.com/reload": "db-.*" });
        assert_eq!(settling(&workload(&pattern), &rules()), Settling::WaitsForOthers);
    }

    #[test]
    fn a_workload_does_not_wait_for_what_is_out_of_scope() {
        let mut json = deployment();
        json["spec"]["template"]["spec"]["containers"][0]["envFrom"] =
            json!([{ "configMapRef": { "name": "app" } }, { "configMapRef": { "name": "kube-root-ca.crt" } }]);
        json["metadata"]["annotations"]["secret.reloader.stakater.com/reload"] = json!("db-.*");
        let mut quiet = rules();
        quiet.scope.ignored_config_maps = IgnoredSources::Named(["kube-root-ca.crt".to_owned()].into());
        assert_eq!(settling(&workload(&json), &quiet), Settling::WaitsForOthers);
        quiet.scope.ignored_secrets = IgnoredSources::All;
        assert_eq!(settling(&workload(&json), &quiet), Settling::AtOnce);
        assert_eq!(candidates(&workload(&json), &quiet), [config_map("app")].into());
    }
}
