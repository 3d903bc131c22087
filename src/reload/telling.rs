//! Who tells of a rollout where processes work side by side: noted on the workload by the patch that rolls it out.
//!
//! A function needs none of this, as the event that caused a rollout is sent again until it was told. Where watches tell all
//! replicas of every change, the one whose patch lands tells of it, and takes its note away when it has. A note that stays
//! is of a process that died, and after a while another takes it over.
//!
//! Invariants: one process at a time has the note, as every write holds its precondition; a note says nothing of what a
//! workload runs on.
//! Left out: telling (edge/reporter.rs), and who is alive (time tells).

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::record::Record;

/// How long a process has for telling: more than a chat service's slowest answer, its pauses and some tries.
pub const TELLING_LASTS: SignedDuration = SignedDuration::from_secs(90);

/// A report that nobody is known to have told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Untold {
    what: Report,
    by: String,
    until: Timestamp,
}

/// What there is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Report {
    /// The last rollout.
    Rollout,
    /// The refusal that is noted.
    Refusal,
}

/// Whose it is to tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owed {
    /// Nobody's: it was told.
    Nothing,
    /// This process's.
    Ours,
    /// Another's, who has time left.
    Others,
    /// Anybody's: whoever had it let the time pass.
    Abandoned,
}

impl Untold {
    /// The note of a process that tells from `at` on.
    #[must_use]
    pub fn new(what: Report, by: &str, at: Timestamp) -> Self {
        Self { what, by: by.to_owned(), until: at.saturating_add(TELLING_LASTS).unwrap_or(at) }
    }
}

impl Record {
    /// Whose it is to tell a report of this record, at `at`, as the process `by` sees it.
    #[must_use]
    pub fn owed(&self, what: Report, by: &str, at: Timestamp) -> Owed {
        match &self.untold {
            Some(untold) if untold.what == what && untold.by == by => Owed::Ours,
            Some(untold) if untold.what == what && at < untold.until => Owed::Others,
            Some(untold) if untold.what == what => Owed::Abandoned,
            _ => Owed::Nothing,
        }
    }

    /// Whether both have the same report to tell, by the same process.
    #[must_use]
    pub fn has_same_note(&self, other: &Self) -> bool {
        (self.tag(), &self.refused, &self.untold) == (other.tag(), &other.refused, &other.untold)
    }

    /// The record with the note that `untold` is, or without any.
    #[must_use]
    pub fn with_untold(&self, untold: Option<Untold>) -> Self {
        let mut record = self.clone();
        record.untold = untold;
        record
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::Cause;
    use super::super::tag::EventTag;
    use super::super::testing::rules;
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_report_is_its_process_own_until_its_time_is_over_and_then_anybodys() {
        let record = Record::new(&rules().digest_key, Cause::new(EventTag::of("s", "1"), Vec::new()));
        assert_eq!(record.owed(Report::Rollout, "a", at(0)), Owed::Nothing);
        let record = record.with_untold(Some(Untold::new(Report::Rollout, "a", at(100))));
        let record = Record::read(&record.to_annotation()).unwrap();
        assert_eq!(record.owed(Report::Rollout, "a", at(1000)), Owed::Ours);
        assert_eq!(record.owed(Report::Rollout, "b", at(189)), Owed::Others);
        assert_eq!(record.owed(Report::Rollout, "b", at(190)), Owed::Abandoned);
        assert_eq!(record.owed(Report::Refusal, "a", at(100)), Owed::Nothing);
        assert_eq!(record.with_untold(None).owed(Report::Rollout, "b", at(190)), Owed::Nothing);
    }

    #[test]
    fn what_is_untold_changes_neither_the_name_of_a_rollout_nor_what_is_known() {
        let record = Record::new(&rules().digest_key, Cause::new(EventTag::of("s", "1"), Vec::new()));
        let untold = record.with_untold(Some(Untold::new(Report::Rollout, "a", at(100))));
        assert_eq!(record.tag(), untold.tag());
        assert!(record.knows_as_much_as(&untold));
    }
}
