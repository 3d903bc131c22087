//! The cluster with its users: what they do, by chance, and the events that it leads to.
//!
//! Invariant: every write of a source makes one event at most, as an `ApiServerSource` does; whatever is done is told
//! to the oracle in the same breath.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::oracle::{Oracle, Rewrite};
use super::random::Random;
use super::shape::{
    Content, Key, Manifest, SOURCES, Stamps, WORKLOADS, any_content, any_opt_in, any_uses, edit, kind_and_name,
    source_object, timestamp,
};
use crate::fake_cluster::FakeCluster;
use crate::support::ChangeEvent;

/// What is common in one run and never happens in another.
pub(super) struct Climate {
    /// How many of a hundred events ask for a sweep.
    pub(super) sweeps: usize,
    /// How many events of a hundred the adapter loses.
    losses: usize,
    /// How many of a thousand things that are done make the server forget the past.
    compactions: usize,
    /// Who gets an event.
    pub(super) hearers: Hearers,
}

/// Which processes get an event.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Hearers {
    /// One, as of a Broker.
    One,
    /// Each, as of watches; who tells of what it led to is noted on workloads.
    Each,
}

/// Everything outside Confroll.
pub(super) struct World {
    pub(super) random: Random,
    pub(super) climate: Climate,
    pub(super) cluster: FakeCluster,
    pub(super) oracle: Oracle,
    /// Not delivered yet.
    pub(super) events: Vec<ChangeEvent>,
    /// How many requests in a hundred meet something.
    pub(super) trouble: usize,
    /// What happened, for whoever has to understand a failure.
    pub(super) log: Vec<String>,
    pub(super) wrong: Vec<String>,
    pub(super) rollouts: usize,
    /// Patches that rolled nothing out.
    pub(super) notes: usize,
    /// Patches that said who tells of a rollout, or that it was told, and nothing else.
    pub(super) tellings: usize,
    /// Events that nobody will ever deliver.
    pub(super) lost: usize,
    pub(super) compactions: usize,
    written: usize,
    pings: usize,
    began: Instant,
    moments: BTreeSet<u64>,
}

impl World {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let climate = Climate {
            sweeps: random.pick(&[0, 3, 15]),
            losses: random.pick(&[0, 0, 10, 50]),
            compactions: random.pick(&[0, 2, 10, 50]),
            hearers: random.pick(&[Hearers::One, Hearers::Each]),
        };
        let mut world = Self {
            random,
            climate,
            cluster: FakeCluster::default(),
            oracle: Oracle::default(),
            events: Vec::new(),
            trouble: 0,
            log: Vec::new(),
            wrong: Vec::new(),
            rollouts: 0,
            notes: 0,
            tellings: 0,
            lost: 0,
            compactions: 0,
            written: 0,
            pings: 0,
            began: Instant::now(),
            moments: BTreeSet::new(),
        };
        SOURCES.iter().for_each(|source| world.write_source(source));
        WORKLOADS.iter().for_each(|workload| world.write_workload(workload));
        world
    }

    /// Somebody does something.
    pub(super) fn step(&mut self) {
        if self.random.below(1000) < self.climate.compactions {
            return self.compact();
        }
        let (source, workload) = (self.random.pick(&SOURCES), self.random.pick(&WORKLOADS));
        match self.random.below(100) {
            0..60 => self.write_source(source),
            60..68 => self.delete_source(source),
            68..74 => self.delete_workload(workload),
            _ => self.write_workload(workload),
        }
    }

    /// Edits, labels, re-applies or creates a source.
    fn write_source(&mut self, source: Key) {
        let before = self.oracle.now(source).cloned();
        let mut content = before.clone().unwrap_or_else(|| any_content(&mut self.random));
        if before.is_some() && self.random.chance(70) {
            edit(&mut content, &mut self.random);
        }
        self.written += usize::from(self.random.chance(50));
        let now = self.second();
        let stamps = match self.oracle.stamps(source) {
            Some(stamps) if before.as_ref() == Some(&content) => stamps,
            Some(stamps) => Stamps { written: now, ..stamps },
            None => Stamps { created: now, written: now },
        };
        self.cluster.put(source, source_object(&content, &self.written.to_string(), stamps));
        self.source_written(source, if before.is_some() { "update" } else { "add" }, Some((content, stamps)));
    }

    fn delete_source(&mut self, source: Key) {
        if self.oracle.now(source).is_some() {
            self.cluster.delete(source);
            self.source_written(source, "delete", None);
        }
    }

    fn source_written(&mut self, source: Key, verb: &str, content: Option<(Content, Stamps)>) {
        let revision = self.cluster.revision();
        let (kind, name) = kind_and_name(source);
        let mut event = ChangeEvent::of(verb, kind, name);
        event.id = revision.to_string();
        let lost = self.random.chance(self.climate.losses);
        let told = if lost { ", which nobody tells" } else { "" };
        self.note(&format!("{verb} {source} {:?}{told}", content.as_ref().map(|(content, _)| content)));
        if lost {
            self.lost += 1;
        } else {
            self.events.push(event);
        }
        self.oracle.source_written(source, revision, content);
    }

    /// Creates a workload, or writes it: another status, opt-in or template, or the manifest without anything else.
    fn write_workload(&mut self, workload: Key) {
        let Some(before) = self.oracle.lives.get(workload).map(|life| life.manifest.clone()) else {
            let manifest = Manifest { opt_in: any_opt_in(&mut self.random), uses: any_uses(&mut self.random) };
            let now = self.second();
            let mut object = manifest.object(Value::Null);
            object["metadata"]["creationTimestamp"] = json!(timestamp(now));
            self.cluster.put(workload, object);
            self.note(&format!("create {workload} {manifest:?}"));
            return self.oracle.born(workload, manifest, (self.cluster.revision(), now));
        };
        let mut manifest = before;
        let mut rewrite = Rewrite::Applied;
        match self.random.below(5) {
            0 | 1 => return self.write_status(workload),
            2 => manifest.opt_in = any_opt_in(&mut self.random),
            3 => manifest.uses = any_uses(&mut self.random),
            _ => rewrite = Rewrite::Replaced,
        }
        let live = if rewrite == Rewrite::Replaced { Value::Null } else { self.cluster.get(workload) };
        self.cluster.put(workload, manifest.object(live));
        let how = if rewrite == Rewrite::Replaced { "replace" } else { "apply" };
        self.note(&format!("{how} {workload} {manifest:?}"));
        self.oracle.rewritten(workload, manifest, rewrite, self.cluster.revision());
    }

    /// What controllers do to a workload all the time.
    pub(super) fn write_status(&mut self, workload: Key) {
        if self.oracle.lives.contains_key(workload) {
            let mut object = self.cluster.get(workload);
            self.written += 1;
            object["status"] = json!({ "observedGeneration": self.written });
            self.cluster.put(workload, object);
        }
    }

    fn delete_workload(&mut self, workload: Key) {
        if self.oracle.lives.contains_key(workload) {
            self.cluster.delete(workload);
            self.note(&format!("delete {workload}"));
            self.oracle.died(workload);
        }
    }

    /// The server forgets what was before.
    fn compact(&mut self) {
        self.compactions += 1;
        self.cluster.compact();
        self.note("compact");
        self.oracle.forgotten(self.cluster.revision());
    }

    /// A patch of Confroll's has landed on a workload that was as `before`.
    pub(super) fn patched(&mut self, workload: Key, before: &Value, patch: &Value) {
        let after = self.cluster.get(workload);
        let sources = noted_sources(&after);
        let verdict = if patch.get("spec").is_some() {
            self.rollouts += 1;
            self.note(&format!("PATCH {workload}"));
            self.oracle.rolled_out(workload)
        } else if before["spec"] != after["spec"] {
            Err(format!("a note changed {workload}"))
        } else if self.climate.hearers == Hearers::Each && sources == noted_sources(before) {
            self.tellings += 1;
            self.note(&format!("TELLING {workload}"));
            Ok(())
        } else {
            self.notes += 1;
            self.note(&format!("NOTE {workload} {sources}"));
            self.oracle.noted(workload, &sources)
        };
        self.wrong.extend(verdict.err());
    }

    /// Asks for a sweep, as a PingSource does.
    pub(super) fn ping(&mut self) -> ChangeEvent {
        self.pings += 1;
        ChangeEvent::ping(&format!("sweep-{}", self.pings))
    }

    pub(super) fn patches(&self) -> usize {
        self.rollouts + self.notes
    }

    /// The second of the run that it is.
    fn second(&self) -> u64 {
        self.began.elapsed().as_secs()
    }

    /// A moment soon, by an even number of milliseconds that nobody else has: of timers that end at one moment nobody
    /// knows which comes first. (Those of Confroll end at odd ones.)
    pub(super) fn moment(&mut self, within: usize) -> Instant {
        let now = u64::try_from(self.began.elapsed().as_millis()).unwrap() / 2;
        let mut moment = now + 1 + self.random.below(within) as u64;
        while !self.moments.insert(moment) {
            moment += 1;
        }
        self.moments = self.moments.split_off(&now);
        self.began + Duration::from_millis(2 * moment)
    }

    pub(super) fn note(&mut self, what: &str) {
        self.log.push(format!("{:>5} {what}", self.cluster.revision()));
    }
}

/// What a workload's record says of sources. The rest of it may hold traces of the time of day.
fn noted_sources(workload: &Value) -> Value {
    let record = workload["metadata"]["annotations"]["confroll.dev/observed"].as_str().unwrap_or("{}");
    serde_json::from_str::<Value>(record).unwrap()["sources"].take()
}
