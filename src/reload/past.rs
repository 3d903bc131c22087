//! What the earlier versions of a source say about a workload that has no record of it.
//!
//! Invariant: a workload is spared a rollout only where the past shows that it started on the present content, or
//! that nothing it uses ever differed. Where the past cannot be read and the server's own bookkeeping says that the
//! data was written later than the workload, it is rolled out: rather once too often than once too little.
//! Left out: the reading (edge/history.rs).

use super::content::Digest;
use super::decision::{Since, Skip, counts};
use super::references::Keys;
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

/// What one look at the past tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The workload runs on other content.
    Changed,
    /// It does not.
    Unchanged(Skip),
    /// This version does not tell; the one before it may.
    LookFurther,
    /// It differs: whether the workload ran on it, the workload's own past at that version tells.
    WasItUsedAt(Version),
}

/// What an earlier version tells about a workload.
#[must_use]
pub fn judge(earlier: &EarlierVersion, now: Digest, keys: &Keys, since: Since, workload: &Workload, rules: &Rules) -> Judgement {
    let object = &earlier.object;
    let differs = object.content.digest(&object.source, keys, &rules.digest_key) != now;
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

/// What the workload as it was when the content changed tells; `then` is `None` if it did not exist.
#[must_use]
pub fn judge_use(then: Option<&Workload>, source: &SourceObject, rules: &Rules) -> Judgement {
    match then {
        Some(then) if counts(then, source, rules).is_ok() => Judgement::Changed,
        _ => Judgement::Unchanged(Skip::BornLater),
    }
}

/// What remains to be said where the past ends; `oldest` is the earliest version that was read.
#[must_use]
pub fn judge_end(end: PastEnd, oldest: Option<&EarlierVersion>, now: &SourceObject, digest: Digest, keys: &Keys, workload: &Workload, rules: &Rules) -> Judgement {
    let differs = |earlier: &EarlierVersion| earlier.object.content.digest(&now.source, keys, &rules.digest_key) != digest;
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
