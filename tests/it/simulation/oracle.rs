//! What must be true of every rollout, and of every workload at the end.
//!
//! Invariant: knows what users wrote and which patches landed, and nothing of how Confroll decides.
//! - A patch is just if some source that counts did not always hold the same, in what is used of it, since Confroll
//!   began to work towards the last rollout of that workload, or since its birth. So each change is good for one
//!   rollout at most, and two only where it came between Confroll's read and its patch.
//! - At the end, what is used of a source is what it was when the pods started. What else is let pass is in
//!   [`Oracle`]'s methods, each with its reason.

use std::collections::BTreeMap;

use super::shape::{Content, Key, Keys, Manifest, SOURCES};

/// How many earlier versions Confroll looks at before it takes a source for changed (design.md 3).
const MOST_VERSIONS: usize = 16;

/// The history of all sources, and the lives of all workloads.
#[derive(Default)]
pub(super) struct Oracle {
    sources: BTreeMap<Key, Vec<Version>>,
    pub(super) lives: BTreeMap<Key, Life>,
    /// The revision at which the present round of events began.
    pub(super) round: u64,
}

/// What a source holds from a revision on; nothing while it is deleted.
struct Version {
    revision: u64,
    content: Option<Content>,
}

/// A workload from its creation to its deletion.
pub(super) struct Life {
    pub(super) manifest: Manifest,
    seen: BTreeMap<Key, Seen>,
    pub(super) rollouts: usize,
}

/// What a workload has to do with a source.
#[derive(Default)]
struct Seen {
    /// What its pods may rightly run on.
    runs_on: Vec<Content>,
    /// When it first counted.
    first: Option<u64>,
    /// From when on a change is a reason for a rollout.
    since: u64,
    /// The keys of which Confroll surely has a digest.
    recorded: Option<Keys>,
}

/// What the owner of a workload did besides writing another manifest.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Rewrite {
    /// Everything else stayed.
    Applied,
    /// All annotations went, Confroll's among them.
    Replaced,
}

impl Oracle {
    pub(super) fn now(&self, source: Key) -> Option<&Content> {
        self.sources.get(source)?.last()?.content.as_ref()
    }

    /// A source was written or deleted.
    pub(super) fn source_written(&mut self, source: Key, revision: u64, content: Option<Content>) {
        if let (None, Some(content)) = (self.now(source), &content) {
            for life in self.lives.values_mut() {
                let counted = life.manifest.counted().remove(source);
                let seen = life.seen.entry(source).or_default();
                // A source that appears is no change, and Confroll may take one for new that had an earlier life if
                // it has no record of that: when the life ended nobody knows, and leaps may miss a short one.
                if seen.runs_on.is_empty() || seen.recorded.is_none() || seen.recorded != counted {
                    seen.runs_on.push(content.clone());
                }
            }
        }
        self.sources.entry(source).or_default().push(Version { revision, content });
    }

    /// A workload was created: its pods start on what is there.
    pub(super) fn born(&mut self, workload: Key, manifest: Manifest, revision: u64) {
        let seen = SOURCES.iter().map(|source| (*source, Seen::default())).collect();
        let unwritten = Manifest { uses: Vec::new(), ..manifest.clone() };
        self.lives.insert(workload, Life { manifest: unwritten, seen, rollouts: 0 });
        self.rewritten(workload, manifest, Rewrite::Replaced, revision);
    }

    /// The owner of a workload wrote it.
    pub(super) fn rewritten(&mut self, workload: Key, manifest: Manifest, rewrite: Rewrite, revision: u64) {
        let now: BTreeMap<Key, Content> =
            SOURCES.iter().filter_map(|source| Some((*source, self.now(source)?.clone()))).collect();
        let life = self.lives.get_mut(workload).unwrap();
        let (before, after) = (life.manifest.counted(), manifest.counted());
        let restarted = manifest.uses != life.manifest.uses || rewrite == Rewrite::Replaced;
        for (source, seen) in &mut life.seen {
            // Pods that the owner restarts start on what is there. Confroll does not see that they do, and still holds
            // the record against what is there: so what they ran on before passes as well. A change that came before
            // a workload asked for it, or used it, is none.
            if restarted || before.get(source) != after.get(source) {
                seen.runs_on.extend(now.get(source).cloned());
            }
            if after.contains_key(source) && seen.first.is_none() {
                (seen.first, seen.since) = (Some(revision), revision);
            }
            // Without its record Confroll asks the past, which goes back to the birth, and may act once more.
            if rewrite == Rewrite::Replaced {
                (seen.recorded, seen.since) = (None, seen.first.unwrap_or(revision));
            }
        }
        life.manifest = manifest;
    }

    pub(super) fn died(&mut self, workload: Key) {
        self.lives.remove(workload);
    }

    /// Confroll's patch of a workload landed. Says what is wrong with that, if anything.
    pub(super) fn rolled_out(&mut self, workload: Key) -> Result<(), String> {
        let Some(mut life) = self.lives.remove(workload) else { return Err(format!("{workload} is not there")) };
        let counted = life.manifest.counted();
        let is_reason = |(source, keys): (&Key, &Keys)| {
            let seen = &life.seen[source];
            self.differed(source, keys, seen.since) || self.goes_too_far_back(source, keys, seen)
        };
        let verdict = if counted.is_empty() {
            Err(format!("{workload} was rolled out and asked for nothing"))
        } else if counted.iter().any(is_reason) {
            Ok(())
        } else {
            Err(format!("{workload} was rolled out, and nothing that it uses had changed: {counted:?}"))
        };
        for (source, keys) in &counted {
            let window: Vec<_> = self.since(source, self.round).map(|version| version.content.clone()).collect();
            let seen = life.seen.get_mut(source).unwrap();
            if window.iter().all(Option::is_some) && !window.is_empty() {
                *seen =
                    Seen { runs_on: Vec::new(), since: self.round, recorded: Some(keys.clone()), first: seen.first };
            } else if window.iter().any(Option::is_some) {
                // Confroll may have seen it or not.
                seen.recorded = None;
            }
            // Of a source that is gone what was there before is remembered.
            seen.runs_on.extend(window.into_iter().flatten());
        }
        for seen in life.seen.iter_mut().filter(|(source, _)| !counted.contains_key(*source)).map(|(_, seen)| seen) {
            seen.recorded = None;
        }
        life.rollouts += 1;
        self.lives.insert(workload, life);
        verdict
    }

    /// The sources that workloads should have been rolled out for, and were not.
    pub(super) fn missed(&self) -> Vec<String> {
        let mut missed = Vec::new();
        for (workload, life) in &self.lives {
            for (source, keys) in life.manifest.counted() {
                let Some(now) = self.now(source) else { continue };
                let runs_on = &life.seen[source].runs_on;
                if !runs_on.iter().any(|content| keys.of(content) == keys.of(now)) {
                    missed.push(format!("{workload} runs on {source} as {runs_on:?}, which is {now:?} ({keys:?})"));
                }
            }
        }
        missed
    }

    /// What a source held at a revision, and everything since.
    fn since(&self, source: Key, revision: u64) -> impl Iterator<Item = &Version> {
        let versions = self.sources.get(source).map(Vec::as_slice).unwrap_or_default();
        let later = versions.partition_point(|version| version.revision <= revision);
        versions[later.saturating_sub(1)..].iter()
    }

    /// Whether what is used of a source did not always hold the same since a revision. A source that is deleted and
    /// made again with other content has changed.
    fn differed(&self, source: Key, keys: &Keys, revision: u64) -> bool {
        let versions = self.sources.get(source).map(Vec::as_slice).unwrap_or_default();
        let before = versions.iter().rfind(|version| version.revision <= revision && version.content.is_some());
        let later = versions.iter().filter(|version| version.revision > revision);
        let mut contents =
            before.into_iter().chain(later).filter_map(|version| Some(keys.of(version.content.as_ref()?)));
        let first = contents.next();
        contents.any(|content| Some(&content) != first.as_ref())
    }

    /// Whether a source without a record of these keys has more versions than Confroll cares to read.
    fn goes_too_far_back(&self, source: Key, keys: &Keys, seen: &Seen) -> bool {
        let versions = self.sources.get(source).map(Vec::as_slice).unwrap_or_default();
        seen.recorded.as_ref() != Some(keys)
            && versions.iter().filter(|version| version.content.is_some()).count() > MOST_VERSIONS
    }
}
