//! Whether a workload has to be rolled out because of a source, as far as that can be told without the past.
//!
//! Invariants: the same inputs give the same answer; a workload whose record matches what is there is skipped.
//! Left out: what only earlier versions of the source can tell (past.rs).

use std::collections::BTreeSet;

use super::digest::Digest;
use super::opt_in::{self, Answer, Reason, SourceMarks};
use super::record::Known;
use super::references::Keys;
use super::rollout_way::RolloutWay;
use super::rules::{OnAbsence, Rules};
use super::scope::OutOfScope;
use super::source::{SourceKind, SourceRef};
use super::source_object::{Presence, SourceObject, absent_digest};
use super::version::Version;
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
fn keys_that_count(workload: &Workload, source: &SourceRef, reason: Reason) -> Keys {
    match (reason, workload.usage(source)) {
        (Reason::NamedInAnnotation, _) | (_, None) => Keys::Whole,
        (_, Some(usage)) => usage.keys.clone(),
    }
}

/// The version of a source that a workload was seen to run on, where its record has a digest of the keys that count
/// today, as far as that can be told without the source.
#[must_use]
pub fn seen_as_it_counts(workload: &Workload, source: &SourceRef, rules: &Rules) -> Option<Version> {
    let record = workload.record.as_ref()?;
    let Ok(reason) = asks_for(workload, source, SourceMarks::unread()) else {
        // It may count again one day.
        return record.seen(source, &rules.digest_key);
    };
    match record.knows(source, &keys_that_count(workload, source, reason), &rules.digest_key) {
        Known::Content(version, _) => Some(version),
        _ => None,
    }
}

/// How sure it is that a source was read after the workload's record was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadOrder {
    /// Both were read at once, so the record may know of a version that was written in between.
    Unknown,
    /// The source was read after the workload.
    SourceLast,
}

/// What the record says of a source's present content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The workload runs on it.
    Same,
    /// The workload runs on something else.
    Changed,
    /// The workload runs without it, and it is there now.
    Created,
    /// The record is of a later version than the one that was read: read the source again.
    Outdated,
    /// There is no record that could tell: only the source's past can.
    AskThePast(Since),
}

/// From when on a difference counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// Since the workload began to use the source.
    Birth,
    /// Since the version that the workload was last seen to run on.
    Version(Version),
}

/// Compares what is there with what the workload was last seen to run on.
#[must_use]
pub fn compare(
    workload: &Workload,
    source: &SourceObject,
    counted: &Counted,
    order: ReadOrder,
    rules: &Rules,
) -> Comparison {
    let known = workload
        .record
        .as_ref()
        .map_or(Known::Nothing, |record| record.knows(&source.source, &counted.keys, &rules.digest_key));
    let absence = rules.absence;
    let change_if = |act: OnAbsence, change| if act == OnAbsence::Reload { change } else { Comparison::Same };
    match (source.presence, known) {
        (Presence::Gone, Known::Gone(..)) => return Comparison::Same,
        (Presence::Gone, Known::Content(..) | Known::Version(_)) => {
            return change_if(absence.on_delete, Comparison::Changed);
        }
        (Presence::There, Known::Gone(seen, digest)) => {
            // What appears with the content that it had before, or for the first time, is a change where that is asked for.
            let is_only_created =
                digest == counted.digest || digest == absent_digest(&source.source, &rules.digest_key);
            return match order {
                ReadOrder::Unknown if seen > source.version => Comparison::Outdated,
                _ if is_only_created => change_if(absence.on_create, Comparison::Created),
                _ => Comparison::Changed,
            };
        }
        _ => {}
    }
    match known {
        // After an etcd restored from a backup, versions are lower than the record's for good: then content decides.
        Known::Version(seen) | Known::Content(seen, _) if seen > source.version && order == ReadOrder::Unknown => {
            Comparison::Outdated
        }
        Known::Content(_, digest) if digest == counted.digest => Comparison::Same,
        Known::Content(..) | Known::Owed => Comparison::Changed,
        Known::Version(seen) if seen == source.version => Comparison::Same,
        Known::Version(seen) => Comparison::AskThePast(Since::Version(seen)),
        // The patch that wrote the record made the workload's version later than this one. Where it is not, the workload
        // came from another cluster's backup, and the record's versions mean nothing here.
        Known::UpTo(version) if version >= workload.version => Comparison::AskThePast(Since::Birth),
        Known::UpTo(version) if source.version <= version => Comparison::Same,
        Known::UpTo(version) => Comparison::AskThePast(Since::Version(version)),
        Known::Nothing | Known::Gone(..) => Comparison::AskThePast(Since::Birth),
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
    use super::super::testing::{app_at, config_map, deployment, rules, version, workload, workload_that_runs_on};
    use super::*;

    fn compared(workload: &Workload, source: &SourceObject, order: ReadOrder) -> Comparison {
        let counted = counts(workload, source, &rules()).unwrap();
        compare(workload, source, &counted, order, &rules())
    }

    #[test]
    fn a_record_that_matches_is_the_end_of_it() {
        let workload = workload_that_runs_on(&app_at(10, "1"));
        assert_eq!(compared(&workload, &app_at(10, "1"), ReadOrder::Unknown), Comparison::Same);
        // A label edit: another version, the same content.
        assert_eq!(compared(&workload, &app_at(11, "1"), ReadOrder::Unknown), Comparison::Same);
        assert_eq!(compared(&workload, &app_at(11, "2"), ReadOrder::Unknown), Comparison::Changed);
    }

    #[test]
    fn a_source_that_was_read_too_early_is_read_again_and_not_rolled_back() {
        let workload = workload_that_runs_on(&app_at(12, "2"));
        assert_eq!(compared(&workload, &app_at(11, "1"), ReadOrder::Unknown), Comparison::Outdated);
        // Versions that are lower for good, after a restore from a backup: content decides.
        assert_eq!(compared(&workload, &app_at(11, "1"), ReadOrder::SourceLast), Comparison::Changed);
        assert_eq!(compared(&workload, &app_at(11, "2"), ReadOrder::SourceLast), Comparison::Same);
    }

    #[test]
    fn without_a_record_only_the_past_can_tell() {
        let source = app_at(60, "1");
        assert_eq!(
            compared(&workload(&deployment()), &source, ReadOrder::Unknown),
            Comparison::AskThePast(Since::Birth)
        );
    }

    #[test]
    fn a_record_of_other_keys_tells_from_which_version_on_a_difference_counts() {
        let mut json = deployment();
        let observed = workload_that_runs_on(&app_at(10, "1")).record.unwrap().to_annotation();
        json["metadata"]["annotations"]["confroll.dev/observed"] = json!(observed);
        json["spec"]["template"]["spec"]["containers"][0] = json!({ "name": "main", "env": [
            { "name": "A", "valueFrom": { "configMapKeyRef": { "name": "app", "key": "a" } } } ] });
        let workload = workload(&json);
        let expected = Comparison::AskThePast(Since::Version(version(10)));
        assert_eq!(compared(&workload, &app_at(11, "1"), ReadOrder::Unknown), expected);
        assert_eq!(compared(&workload, &app_at(10, "1"), ReadOrder::Unknown), Comparison::Same);
    }

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
