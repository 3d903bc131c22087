//! What a record leaves out where a workload's annotations have no room for all of it.
//!
//! Kubernetes refuses an object whose annotations hold more than 256 KiB together, and with it the rollout that the
//! record goes in with. So the record takes half of that at most, as the other half is its users', and never more than
//! the others leave. What does not fit is left out, and one version stands for all of it: every version that was read
//! before the patch was there before the new pods were, so they run on that or a later one. A source whose version is
//! not later is what the workload runs on; for one that moved since, the past tells, from that version on.
//!
//! Invariants: no rollout is lost for want of room, and none is repeated. Where not even that version fits, the API
//! server refuses the patch, which is told as a failure: a rollout without a memory of it would be made again for every
//! event that comes twice.
//! Left out: what the version means for a source (decision.rs).

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::json;

use super::record::{OBSERVED, Record};
use super::workload::Workload;

/// What all annotations of an object may hold together, names and values, in bytes.
const ANNOTATIONS: usize = 256 * 1024;
/// What a record may take of it.
const MOST: usize = ANNOTATIONS / 2;

/// Whether a record had room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    /// For everything.
    Whole,
    /// Not for everything.
    Cut,
}

/// How many bytes a record may have beside the other annotations.
pub(super) fn room_beside(annotations: &BTreeMap<String, String>) -> usize {
    let others = annotations.iter().filter(|(key, _)| *key != OBSERVED);
    let taken: usize = others.map(|(key, value)| key.len() + value.len()).sum();
    ANNOTATIONS.saturating_sub(taken + OBSERVED.len()).min(MOST)
}

impl Record {
    /// Leaves out what has no room on `workload`: the sources that moved longest ago, as they are asked about least.
    pub fn fit(&mut self, workload: &Workload) -> Fit {
        if self.to_annotation().len() <= workload.room {
            return Fit::Whole;
        }
        self.up_to = self.sources.values().map(|entry| entry.version).max();
        let mut sources: Vec<_> = std::mem::take(&mut self.sources).into_iter().collect();
        sources.sort_by_key(|(_, entry)| Reverse(entry.version));
        let changed = std::mem::take(&mut self.cause.changed);
        if self.to_annotation().len() > workload.room {
            // Whether rollouts stand is worth less than the next one.
            (self.replaced, self.refused) = (None, None);
        }
        let mut room = workload.room.saturating_sub(self.to_annotation().len());
        // A JSON string and what stands around it: names hold nothing that is escaped.
        for name in changed {
            let Some(left) = room.checked_sub(name.len() + "\"\",".len()) else { break };
            room = left;
            self.cause.changed.push(name);
        }
        for (name, entry) in sources {
            let Some(left) = room.checked_sub(name.len() + "\"\":,".len() + json!(entry).to_string().len()) else {
                break;
            };
            room = left;
            self.sources.insert(name, entry);
        }
        Fit::Cut
    }
}

#[cfg(test)]
mod tests {
    use super::super::comparison::{Comparison, ReadOrder, Since, compare};
    use super::super::decision::counts;
    use super::super::digest::DigestKey;
    use super::super::record::Cause;
    use super::super::references::Keys;
    use super::super::tag::EventTag;
    use super::super::testing::{app_at, config_map, deployment, rules, version, workload};
    use super::*;

    /// A record of sources `0` to `count`, each at a version one later than the last, all of them changed.
    fn record(count: u64) -> Record {
        let key = DigestKey::new(b"test");
        let digest = app_at(1, "x").digest(&Keys::Whole, &key);
        let changed = (0..count).map(|n| format!("ConfigMap/{n}")).collect();
        let mut record = Record::new(&key, Cause::new(EventTag::of("s", "1"), changed));
        (0..count).for_each(|n| record.note(&config_map(&n.to_string()), &Keys::Whole, version(n + 1), digest));
        record
    }

    /// A Deployment with a further annotation of so many bytes.
    fn filled(bytes: usize) -> Workload {
        let mut json = deployment();
        json["metadata"]["annotations"]["note"] = json!("x".repeat(bytes));
        workload(&json)
    }

    #[test]
    fn a_record_that_has_room_is_left_as_it_is() {
        let mut fitted = record(100);
        assert_eq!(fitted.fit(&filled(0)), Fit::Whole);
        assert_eq!(fitted, record(100));
    }

    #[test]
    fn a_record_is_never_longer_than_its_room_and_uses_it() {
        let longest_entry = 200;
        for bytes in [0, 130_000, 200_000, 255_000, 261_500] {
            let (workload, mut fitted) = (filled(bytes), record(3000));
            assert_eq!(fitted.fit(&workload), Fit::Cut);
            let length = fitted.to_annotation().len();
            assert!(length <= workload.room && length + longest_entry > workload.room, "{bytes}: {length}");
            assert_eq!(Record::read(&fitted.to_annotation()).unwrap(), fitted);
        }
        assert_eq!(filled(0).room, MOST);
    }

    #[test]
    fn what_moved_last_is_kept() {
        let mut fitted = record(3000);
        fitted.fit(&filled(0));
        assert!(fitted.sources.contains_key("ConfigMap/2999") && !fitted.sources.contains_key("ConfigMap/0"));
    }

    #[test]
    fn the_record_that_is_replaced_takes_no_room() {
        let mut json = deployment();
        let before = workload(&json).room;
        json["metadata"]["annotations"][OBSERVED] = json!("x".repeat(200_000));
        assert_eq!(workload(&json).room, before);
    }

    #[test]
    fn a_source_that_was_left_out_is_told_by_version() {
        let mut json = deployment();
        let mut cut = record(45);
        cut.fit(&filled(262_000));
        json["metadata"]["annotations"][OBSERVED] = json!(cut.to_annotation());
        let compared = |json: &serde_json::Value, number| {
            let (workload, source) = (workload(json), app_at(number, "1"));
            compare(&workload, &source, &counts(&workload, &source, &rules()).unwrap(), ReadOrder::Unknown, &rules())
        };
        assert_eq!(compared(&json, 3), Comparison::Same);
        assert_eq!(compared(&json, 45), Comparison::Same);
        assert_eq!(compared(&json, 46), Comparison::AskThePast(Since::Version(version(45))));
        // A workload from a backup of another cluster, whose versions were higher.
        json["metadata"]["resourceVersion"] = json!("45");
        assert_eq!(compared(&json, 3), Comparison::AskThePast(Since::Birth));
    }

    #[test]
    fn every_cut_record_has_a_tag_of_its_own() {
        let (mut first, mut second) = (record(3000), record(3001));
        let full = filled(262_000);
        first.fit(&full);
        second.fit(&full);
        assert_ne!(first.tag(), second.tag());
    }
}
