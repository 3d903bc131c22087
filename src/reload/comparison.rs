//! What the record of a workload says of a source as it is now.
//!
//! Invariant: the same inputs give the same answer; a workload whose record matches what is there runs on it.
//! Left out: which sources count (decision.rs), and what only earlier versions of the source can tell (past.rs).

use super::decision::{Counted, asks_for, keys_that_count};
use super::opt_in::SourceMarks;
use super::record::Known;
use super::rules::{OnAbsence, Rules};
use super::source::SourceRef;
use super::source_object::{Presence, SourceObject, absent_digest};
use super::version::{News, Version};
use super::workload::Workload;

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
    let absence = rules.absence.of(source.source.kind);
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
        known if known != Known::Owed && !may_tell(workload, source, known) => Comparison::Same,
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

/// Whether a source can tell more than the record knows of it: of a ConfigMap or Secret, its content tells that.
#[must_use]
pub fn may_tell(workload: &Workload, source: &SourceObject, known: Known) -> bool {
    match (source.news, known.version()) {
        (News::OfAnotherVersion, _) | (News::OfLaterVersion, None) => true,
        // In a record from another cluster's backup versions mean nothing here (see above).
        (News::OfLaterVersion, Some(seen)) => source.version > seen || seen >= workload.version,
        (News::Never, _) => false,
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::decision::counts;
    use super::super::testing::{app_at, deployment, rules, version, workload, workload_that_runs_on};
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
    fn of_a_secret_provider_class_only_a_later_rotation_is_news() {
        let class = |number: u64, value: &str, news: News| {
            let mut class = app_at(number, value);
            class.news = news;
            class
        };
        let (rotated, started) = (News::OfLaterVersion, News::Never);
        let workload = workload_that_runs_on(&app_at(40, "2"));
        for (now, expected) in [
            (class(41, "3", rotated), Comparison::Changed),
            (class(41, "2", rotated), Comparison::Same),
            // The pod that rotated went away, and one that has not is left.
            (class(39, "1", rotated), Comparison::Same),
            (class(40, "1", rotated), Comparison::Same),
            (class(41, "3", started), Comparison::Same),
        ] {
            assert_eq!(compared(&workload, &now, ReadOrder::Unknown), expected, "{now:?}");
        }
        // The workload came from a backup, with a record of another cluster.
        let mut restored = deployment();
        restored["metadata"]["annotations"]["confroll.dev/observed"] =
            json!(workload_that_runs_on(&app_at(70, "2")).record.unwrap().to_annotation());
        let restored = super::super::testing::workload(&restored);
        assert_eq!(compared(&restored, &class(41, "3", rotated), ReadOrder::SourceLast), Comparison::Changed);
        assert_eq!(compared(&restored, &class(41, "3", started), ReadOrder::SourceLast), Comparison::Same);
        // Nothing is known.
        let ask = Comparison::AskThePast(Since::Birth);
        let unseen = super::super::testing::workload(&deployment());
        assert_eq!(compared(&unseen, &class(60, "1", rotated), ReadOrder::Unknown), ask);
        assert_eq!(compared(&unseen, &class(60, "1", started), ReadOrder::Unknown), Comparison::Same);
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
}
