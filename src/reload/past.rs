//! What the earlier versions of a source say about a workload that has no record of it.
//!
//! Invariant: a workload is spared a rollout only where the past shows that it started on the present content, or
//! that nothing it uses ever differed. Where the past cannot be read and the server's own bookkeeping says that the
//! data was written later than the workload, it is rolled out: rather once too often than once too little.
//! Left out: the reading (edge/history.rs).

use super::change::Occasion;
use super::comparison::Since;
use super::decision::{Skip, counts};
use super::digest::Digest;
use super::references::Keys;
use super::rollout_way::PodsReplaced;
use super::rules::Rules;
use super::source_object::SourceObject;
use super::version::Version;
use super::workload::Workload;

/// How many earlier versions are looked at before the source is taken for changed.
pub const MOST_VERSIONS: usize = 16;

/// A version of the source that another one replaced.
#[derive(Clone, Debug)]
pub struct EarlierVersion {
    /// The source as it was.
    pub object: SourceObject,
    /// The version at which it was no longer so.
    pub replaced_at: Version,
}

/// Why no earlier version can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PastEnd {
    /// The source did not exist before.
    Created,
    /// The server has forgotten what came before (410 `Expired`).
    Compacted,
    /// [`MOST_VERSIONS`] were read.
    TooManyVersions,
    /// The server does not read the past at all.
    Refused,
}

impl PastEnd {
    /// What the end of the past means to a workload that was never seen. An event says that something changed, so
    /// where the past cannot be read, the server's bookkeeping has to do. A sweep says nothing: then what cannot be seen
    /// is taken to have been so always. Otherwise the first sweep of all would roll out whatever uses a source that was
    /// ever edited.
    #[must_use]
    pub fn on(self, occasion: Occasion, since: Since) -> Self {
        match (occasion, since, self) {
            (Occasion::Sweep, Since::Birth, Self::Compacted | Self::Refused) => Self::Created,
            _ => self,
        }
    }
}

/// What one look at the past tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The workload runs on other content.
    Changed,
    /// The workload was there before the source was.
    Created,
    /// It does not.
    Unchanged(Skip),
    /// This version does not tell; the one before it may.
    LookFurther,
    /// It differs: whether the workload ran on it, the workload's own past at that version tells.
    WasItUsedAt(Version),
}

/// What an earlier version tells about a workload.
#[must_use]
pub fn judge(
    earlier: &EarlierVersion,
    now: Digest,
    keys: &Keys,
    since: Since,
    workload: &Workload,
    rules: &Rules,
) -> Judgement {
    let object = &earlier.object;
    let differs = object.digest(keys, &rules.digest_key) != now;
    match since {
        Since::Version(seen) if object.version > seen => Judgement::LookFurther,
        Since::Version(_) if differs => Judgement::Changed,
        Since::Version(_) => Judgement::Unchanged(Skip::SameContent),
        Since::Birth if !differs => Judgement::LookFurther,
        // Nobody wrote the workload since, so it was there, and as it is now.
        Since::Birth if workload.version < earlier.replaced_at => Judgement::Changed,
        Since::Birth => Judgement::WasItUsedAt(earlier.replaced_at),
    }
}

/// What the workload as it was when the content changed tells of how it is `now`; `then` is `None` if it did not exist.
#[must_use]
pub fn judge_use(then: Option<&Workload>, now: &Workload, source: &SourceObject, rules: &Rules) -> Judgement {
    match then {
        Some(then) if counts(then, source, rules).is_err() => Judgement::Unchanged(Skip::BornLater),
        // Another template made other pods, which started on the new content.
        Some(then) if then.template != now.template && now.terms.pods == PodsReplaced::AtOnce => {
            Judgement::Unchanged(Skip::RestartedSince)
        }
        Some(_) => Judgement::Changed,
        None => Judgement::Unchanged(Skip::BornLater),
    }
}

/// What remains to be said where the past ends; `oldest` is the earliest version that was read.
#[must_use]
pub fn judge_end(
    end: PastEnd,
    oldest: Option<&EarlierVersion>,
    now: &SourceObject,
    digest: Digest,
    keys: &Keys,
    workload: &Workload,
    rules: &Rules,
) -> Judgement {
    let differs = |earlier: &EarlierVersion| earlier.object.digest(keys, &rules.digest_key) != digest;
    match (end, oldest) {
        (PastEnd::TooManyVersions, _) => Judgement::Changed,
        // Where a difference had to be looked past, the last one seen is the best that is known.
        (PastEnd::Created | PastEnd::Compacted, Some(oldest)) if differs(oldest) => Judgement::Changed,
        (PastEnd::Created, _) | (PastEnd::Compacted, Some(_)) => Judgement::Unchanged(Skip::SameContent),
        (PastEnd::Compacted | PastEnd::Refused, _) => judge_bookkeeping(now, workload),
    }
}

/// The server's own notes, in whole seconds: was the data written after the workload was created, and not by the
/// source's creation? (A source created later than its workload is no change.)
fn judge_bookkeeping(now: &SourceObject, workload: &Workload) -> Judgement {
    match (now.data_written, workload.created) {
        (Some(written), Some(created)) if written >= created && Some(written) > now.created => Judgement::Changed,
        _ => Judgement::Unchanged(Skip::SameContent),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{app_at, deployment, rules, source_from, version, workload};
    use super::*;

    /// `value` at `number`, until `replaced_at`.
    fn earlier(number: u64, value: &str, replaced_at: u64) -> EarlierVersion {
        EarlierVersion { object: app_at(number, value), replaced_at: version(replaced_at) }
    }

    fn digest(value: &str) -> Digest {
        let source = app_at(1, value);
        source.digest(&Keys::Whole, &rules().digest_key)
    }

    /// Judges for a workload at version 50 and a source that holds "new" now.
    fn judged(earlier: &EarlierVersion, since: Since) -> Judgement {
        judge(earlier, digest("new"), &Keys::Whole, since, &workload(&deployment()), &rules())
    }

    #[test]
    fn a_workload_that_was_there_before_the_change_runs_on_the_old() {
        assert_eq!(judged(&earlier(40, "old", 60), Since::Birth), Judgement::Changed);
    }

    #[test]
    fn a_label_edit_says_nothing_so_one_looks_further() {
        assert_eq!(judged(&earlier(40, "new", 60), Since::Birth), Judgement::LookFurther);
    }

    #[test]
    fn a_workload_written_after_the_change_may_have_been_born_after_it() {
        let judgement = judged(&earlier(30, "old", 40), Since::Birth);
        assert_eq!(judgement, Judgement::WasItUsedAt(version(40)));
        let (now, rules) = (app_at(40, "new"), rules());
        let same = workload(&deployment());
        assert_eq!(judge_use(None, &same, &now, &rules), Judgement::Unchanged(Skip::BornLater));
        assert_eq!(judge_use(Some(&same), &same, &now, &rules), Judgement::Changed);
        let mut unused = deployment();
        unused["spec"]["template"]["spec"]["containers"] = json!([{ "name": "main" }]);
        assert_eq!(judge_use(Some(&workload(&unused)), &same, &now, &rules), Judgement::Unchanged(Skip::BornLater));
    }

    #[test]
    fn pods_that_were_made_anew_since_run_on_the_new_unless_somebody_has_to_delete_the_old_ones() {
        let (then, source, rules) = (workload(&deployment()), app_at(40, "new"), rules());
        let mut json = deployment();
        json["spec"]["template"]["spec"]["containers"][0]["image"] = json!("api:2");
        let restarted = Judgement::Unchanged(Skip::RestartedSince);
        assert_eq!(judge_use(Some(&then), &workload(&json), &source, &rules), restarted);
        json["spec"]["updateStrategy"] = json!({ "type": "OnDelete" });
        assert_eq!(judge_use(Some(&then), &workload(&json), &source, &rules), Judgement::Changed);
    }

    #[test]
    fn a_record_without_a_usable_digest_is_compared_at_the_version_it_saw() {
        let since = Since::Version(version(40));
        assert_eq!(judged(&earlier(55, "between", 60), since), Judgement::LookFurther);
        assert_eq!(judged(&earlier(40, "old", 55), since), Judgement::Changed);
        assert_eq!(judged(&earlier(40, "new", 55), since), Judgement::Unchanged(Skip::SameContent));
        // It went there and back again.
        assert_eq!(judged(&earlier(39, "new", 55), since), Judgement::Unchanged(Skip::SameContent));
    }

    fn ended(end: PastEnd, oldest: Option<&EarlierVersion>, now: &SourceObject) -> Judgement {
        judge_end(end, oldest, now, digest("new"), &Keys::Whole, &workload(&deployment()), &rules())
    }

    /// The source now: created and its data last written at these seconds of a day, the workload's being its first.
    fn now_with(created: &str, written: &str) -> SourceObject {
        source_from(&json!({ "metadata": { "resourceVersion": "60", "creationTimestamp": created, "managedFields": [
            { "time": written, "fieldsV1": { "f:data": {} } } ] }, "data": { "a": "new" } }))
    }

    #[test]
    fn where_the_past_ends_what_was_seen_decides() {
        let now = app_at(60, "new");
        let (same, differs) = (earlier(55, "new", 60), earlier(55, "between", 60));
        let nothing = Judgement::Unchanged(Skip::SameContent);
        assert_eq!(ended(PastEnd::Created, None, &now), nothing);
        assert_eq!(ended(PastEnd::Created, Some(&same), &now), nothing);
        assert_eq!(ended(PastEnd::Compacted, Some(&same), &now), nothing);
        assert_eq!(ended(PastEnd::Compacted, Some(&differs), &now), Judgement::Changed);
        assert_eq!(ended(PastEnd::TooManyVersions, Some(&same), &now), Judgement::Changed);
    }

    #[test]
    fn where_there_is_no_past_the_servers_bookkeeping_decides() {
        // The workload was created on 2026-01-01 at midnight.
        let rows = [
            ("2025-12-01T00:00:00Z", "2026-01-01T00:00:01Z", Judgement::Changed),
            ("2025-12-01T00:00:00Z", "2026-01-01T00:00:00Z", Judgement::Changed), // the same second: rather once too often
            ("2025-12-01T00:00:00Z", "2025-12-31T23:59:59Z", Judgement::Unchanged(Skip::SameContent)),
            ("2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", Judgement::Unchanged(Skip::SameContent)), // made together
            ("2026-01-02T00:00:00Z", "2026-01-02T00:00:00Z", Judgement::Unchanged(Skip::SameContent)), // made later
        ];
        for end in [PastEnd::Compacted, PastEnd::Refused] {
            for (created, written, expected) in rows {
                assert_eq!(ended(end, None, &now_with(created, written)), expected, "{created} {written}");
            }
        }
    }
}
