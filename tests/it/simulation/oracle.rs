//! What must be true of every rollout, and of every workload at the end.
//!
//! Invariant: knows what users wrote and which patches landed, and nothing of how Confroll decides.
//! - A patch is just if some source that counts did not always hold the same, in what is used of it, since Confroll
//!   began to work towards the last rollout of that workload, or since its birth. So each change is good for one
//!   rollout at most, and two only where it came between Confroll's read and its patch.
//! - At the end, what is used of a source is what it was when the pods started. What else is let pass is in
//!   [`Oracle`]'s methods, each with its reason.

use std::collections::BTreeMap;

use serde_json::Value;

use super::shape::{Content, Key, Keys, Manifest, SOURCES, Stamps, kind_and_name};

/// How many earlier versions Confroll looks at before it takes a source for changed (design.md 3).
const MOST_VERSIONS: usize = 16;

/// The history of all sources, and the lives of all workloads.
#[derive(Default)]
pub(super) struct Oracle {
    sources: BTreeMap<Key, Vec<Version>>,
    pub(super) lives: BTreeMap<Key, Life>,
    /// The revision at which the present round of events began; `None` while nothing is delivered.
    pub(super) round: Option<u64>,
    /// The revision before which the past cannot be read, and whether it was forgotten in this round.
    forgotten: u64,
    forgets: bool,
    /// Whether a sweep is asked for in this round.
    pub(super) sweeps: bool,
}

/// What a source holds from a revision on; nothing while it is deleted.
struct Version {
    revision: u64,
    content: Option<Content>,
    stamps: Stamps,
}

/// A workload from its creation to its deletion.
pub(super) struct Life {
    pub(super) manifest: Manifest,
    seen: BTreeMap<Key, Seen>,
    /// The second of its creation.
    born: u64,
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

    /// When a source was created and written, if it is there.
    pub(super) fn stamps(&self, source: Key) -> Option<Stamps> {
        self.sources.get(source)?.last().filter(|version| version.content.is_some()).map(|version| version.stamps)
    }

    /// A source was written or deleted.
    pub(super) fn source_written(&mut self, source: Key, revision: u64, written: Option<(Content, Stamps)>) {
        let (content, stamps) = written.map_or((None, Stamps::default()), |(content, stamps)| (Some(content), stamps));
        let before = self.sources.get(source).and_then(|versions| versions.last());
        if let Some((before, content)) = before.filter(|it| it.revision <= self.forgotten).zip(content.as_ref()) {
            // Of a past that is half forgotten only what can be read counts, or a label would be a reason to roll out
            // what has no record: a change before it is missed if nobody acted on it in the minutes that are remembered.
            let is_label = |keys: &Keys| before.content.as_ref().is_some_and(|it| keys.of(it) == keys.of(content));
            for life in self.lives.values_mut() {
                life.let_pass(source, content, is_label);
            }
        }
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
        self.sources.entry(source).or_default().push(Version { revision, content, stamps });
    }

    /// The server has forgotten what was before a revision.
    pub(super) fn forgotten(&mut self, revision: u64) {
        (self.forgotten, self.forgets) = (revision, self.round.is_some());
        for (source, versions) in &self.sources {
            let Some(Version { content: Some(content), stamps, .. }) = versions.last() else { continue };
            // A walk through the past that ends early is as one through a past that is half forgotten. And the
            // bookkeeping has whole seconds: data of the second of its creation is taken to be there from the start.
            if self.forgets || stamps.written == stamps.created {
                for life in self.lives.values_mut() {
                    life.let_pass(source, content, |_| true);
                }
            }
        }
    }

    /// Events are about to be delivered.
    pub(super) fn round_begins(&mut self, revision: u64) {
        (self.round, self.forgets) = (Some(revision), false);
    }

    pub(super) fn round_ends(&mut self) {
        self.round = None;
    }

    /// A workload was created: its pods start on what is there.
    pub(super) fn born(&mut self, workload: Key, manifest: Manifest, (revision, second): (u64, u64)) {
        let seen = SOURCES.iter().map(|source| (*source, Seen::default())).collect();
        let unwritten = Manifest { uses: Vec::new(), ..manifest.clone() };
        self.lives.insert(workload, Life { manifest: unwritten, seen, born: second });
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
            self.differed(source, keys, seen.since)
                || self.goes_too_far_back(source, keys, seen)
                || self.looks_changed(source, keys, &life)
        };
        let verdict = if counted.is_empty() {
            Err(format!("{workload} was rolled out and asked for nothing"))
        } else if counted.iter().any(is_reason) {
            Ok(())
        } else {
            Err(format!("{workload} was rolled out, and nothing that it uses had changed: {counted:?}"))
        };
        let round = self.round.unwrap();
        for (source, keys) in &counted {
            let window: Vec<_> = self.since(source, round).map(|version| version.content.clone()).collect();
            let seen = life.seen.get_mut(source).unwrap();
            if window.iter().all(Option::is_some) && !window.is_empty() {
                *seen = Seen { runs_on: Vec::new(), since: round, recorded: Some(keys.clone()), first: seen.first };
            } else if window.iter().any(Option::is_some) && seen.recorded.as_ref() != Some(keys) {
                // Confroll may have seen it or not.
                seen.recorded = None;
            }
            // Of a source that is gone what was there before is remembered.
            seen.runs_on.extend(window.into_iter().flatten());
        }
        for seen in life.seen.iter_mut().filter(|(source, _)| !counted.contains_key(*source)).map(|(_, seen)| seen) {
            seen.recorded = None;
        }
        self.lives.insert(workload, life);
        verdict
    }

    /// Confroll noted what a workload runs on, which is never more than a sweep does, and a rollout it is not: what the
    /// pods run on, and what is a reason for a rollout, stays as it was.
    pub(super) fn noted(&mut self, workload: Key, sources: &Value) -> Result<(), String> {
        if !self.sweeps {
            return Err(format!("{workload} was noted, and nobody asked for a sweep"));
        }
        let Some(mut life) = self.lives.remove(workload) else { return Err(format!("{workload} is not there")) };
        let counted = life.manifest.counted();
        for (source, seen) in &mut life.seen {
            let window: Vec<_> = self.since(source, self.round.unwrap()).collect();
            let is_unread = seen.recorded.is_none() || seen.recorded.as_ref() != counted.get(source);
            if !is_unread {
                continue;
            }
            // Installing rolls nothing out: what a sweep cannot see it takes to have been so always.
            let forgotten = window.iter().filter(|version| version.revision <= self.forgotten);
            seen.runs_on.extend(forgotten.filter_map(|version| version.content.clone()));
            let is_there = !window.is_empty() && window.iter().all(|version| version.content.is_some());
            let (kind, name) = kind_and_name(source);
            let is_noted = is_there && sources.get(format!("{kind}/{name}")).is_some();
            seen.recorded = counted.get(source).filter(|_| is_noted).cloned();
        }
        self.lives.insert(workload, life);
        Ok(())
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

    /// Whether a source that Confroll has to judge by the server's bookkeeping looks as if it had changed: nothing of it
    /// can be read, and its data, of whatever keys, was written since the workload's birth. Or the past was forgotten
    /// between two looks at it.
    fn looks_changed(&self, source: Key, keys: &Keys, life: &Life) -> bool {
        let is_forgotten = |version: &Version| {
            let Stamps { created, written } = version.stamps;
            version.content.is_some() && version.revision <= self.forgotten && written >= life.born && written > created
        };
        life.seen[source].recorded.as_ref() != Some(keys)
            && (self.since(source, self.round.unwrap()).any(is_forgotten)
                || self.forgets && self.differed(source, keys, 0))
    }
}

impl Life {
    /// Lets a content pass as what the pods run on, where Confroll has no record of a source that could tell better.
    fn let_pass(&mut self, source: Key, content: &Content, is_so: impl Fn(&Keys) -> bool) {
        if let Some(keys) = self.manifest.counted().get(source)
            && let Some(seen) = self.seen.get_mut(source)
            && seen.recorded.as_ref() != Some(keys)
            && is_so(keys)
        {
            seen.runs_on.push(content.clone());
        }
    }
}
