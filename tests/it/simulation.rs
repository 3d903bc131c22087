//! Thousands of steps by chance, on an API server in memory: users edit, label, delete and make again, annotate and
//! change templates; events come late, twice and in any order, or never, to one process of many or to each; sweeps are
//! asked for, once or twice; the server forgets the past; processes crash between any two calls; requests are refused,
//! lost, late, or met by another writer.
//!
//! Invariant: one seed, one run. A failure names its seed, and `CONFROLL_SIMULATION_SEED` repeats it alone (with
//! `CONFROLL_SIMULATION_STEPS` as it was, which makes runs longer).
//! Left out: rollouts that are refused or reverted (refusing.rs), and what is told of them (delivering.rs).

mod oracle;
mod random;
mod shape;
mod wire;
mod world;

use std::collections::BTreeSet;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::time::Duration;

use futures::future::join_all;

use self::wire::{Process, Shared};
use self::world::{Hearers, World};
use crate::support::ChangeEvent;

/// Many short runs, each with workloads that have hardly been rolled out.
const SHORT: (std::ops::Range<u64>, usize) = (0..200, 60);
/// A few long ones, each with a past.
const LONG: (std::ops::Range<u64>, usize) = (1000..1002, 1000);
/// Runs are independent of each other.
const THREADS: usize = 2;
/// How many events are delivered together at the end.
const AT_ONCE: usize = 50;
const SEED: &str = "CONFROLL_SIMULATION_SEED";
/// How many steps each run has, instead of as many as fit into a minute of one processor. CI runs 2,000, optimized.
const STEPS: &str = "CONFROLL_SIMULATION_STEPS";
/// How much of what happened a failure shows, unless its seed was asked for.
const SHOWN: usize = 150;

#[test]
fn whatever_happens_each_change_is_rolled_out_and_nothing_else_is() {
    run_all(SHORT);
}

#[test]
fn and_so_it_stays_in_the_long_run() {
    run_all(LONG);
}

#[test]
fn one_seed_is_one_run() {
    for seed in 0..3 {
        // The clock's own grid, on which timers of one moment are sorted, lies elsewhere each time.
        let [first, second] = [0, 3].map(|offset| run_from(Duration::from_millis(offset), seed, 150).log);
        let differs = first.iter().zip(&second).position(|(first, second)| first != second);
        assert_eq!(
            (first.len(), differs),
            (second.len(), None),
            "seed {seed}: {:?}",
            differs.map(|at| (&first[at - 5..=at], &second[at]))
        );
    }
}

fn run_all((seeds, steps): (std::ops::Range<u64>, usize)) {
    let only = asked_for();
    let steps = asked(STEPS).unwrap_or(steps);
    let seeds = Mutex::new(seeds.filter(|seed| only.is_none_or(|only| only == *seed)));
    let next = || seeds.lock().unwrap().next();
    let work = || std::iter::from_fn(next).map(|seed| run(seed, steps)).collect::<Vec<_>>();
    let worlds: Vec<World> = std::thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| scope.spawn(work));
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    let sum = |of: fn(&World) -> usize| worlds.iter().map(of).sum::<usize>();
    let counts: [fn(&World) -> usize; 4] =
        [|world| world.rollouts, |world| world.notes, |world| world.tellings, |world| world.lost];
    let done = counts.map(sum);
    println!("rollouts, notes, tellings, lost events: {done:?}; compactions: {}", sum(|world| world.compactions));
    assert!(only.is_some() || done.iter().all(|count| *count > 100), "{done:?} prove little");
}

fn asked_for() -> Option<u64> {
    asked(SEED)
}

#[expect(clippy::disallowed_methods, reason = "for whoever repeats a failure, or looks for more")]
fn asked<T: std::str::FromStr<Err: std::fmt::Debug>>(variable: &str) -> Option<T> {
    std::env::var(variable).ok().map(|text| text.parse().unwrap())
}

/// One run, to its end.
fn run(seed: u64, steps: usize) -> World {
    run_from(Duration::ZERO, seed, steps)
}

fn run_from(offset: Duration, seed: u64, steps: usize) -> World {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        tokio::time::advance(offset).await;
        let mut simulation = Simulation::new(seed);
        for _ in 0..steps {
            simulation.step().await;
            simulation.check();
        }
        simulation.end().await;
        if asked_for().is_some() {
            println!("{}", simulation.world.lock().log.join("\n"));
        }
        let end = World::new(seed);
        std::mem::replace(&mut *simulation.world.lock(), end)
    })
}

struct Simulation {
    seed: u64,
    world: Shared,
    processes: Vec<Process>,
    /// Delivered at least once, and their ids.
    delivered: Vec<ChangeEvent>,
    known: BTreeSet<String>,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let world = Shared::new(World::new(seed));
        let processes = vec![Process::start(&world)];
        Self { seed, world, processes, delivered: Vec::new(), known: BTreeSet::new() }
    }

    async fn step(&mut self) {
        let what = self.world.lock().random.below(100);
        match what {
            0..60 => self.world.lock().step(),
            60..63 => self.scale(),
            _ => {
                let trouble = self.world.lock().random.pick(&[0, 5, 30]);
                self.world.lock().trouble = trouble;
                let events = self.some_events();
                self.deliver(events).await;
            }
        }
    }

    /// One process or two.
    fn scale(&mut self) {
        if self.processes.len() == 1 {
            self.processes.push(Process::start(&self.world));
        } else {
            self.processes.remove(0);
        }
    }

    /// Some of those that wait, in any order; now and then one that was delivered before.
    fn some_events(&mut self) -> Vec<ChangeEvent> {
        let mut world = self.world.lock();
        let mut events = Vec::new();
        for _ in 0..=world.random.below(4) {
            let waiting = world.events.len();
            let sweeps = world.climate.sweeps;
            if world.random.chance(sweeps) {
                let ping = world.ping();
                // Now and then twice, be it to one process or to two.
                events.extend(std::iter::repeat_n(ping, 1 + usize::from(world.random.chance(20))));
            } else if waiting > 0 && world.random.chance(90) {
                let index = world.random.below(waiting);
                events.push(world.events.swap_remove(index));
            } else if !self.delivered.is_empty() {
                let index = world.random.below(self.delivered.len());
                events.push(self.delivered[index].clone());
            }
        }
        events
    }

    /// Delivers events, one shortly after the other and some to two processes. Those without a good answer wait again.
    async fn deliver(&mut self, events: Vec<ChangeEvent>) -> usize {
        let plans: Vec<_> = {
            let mut world = self.world.lock();
            let revision = world.cluster.revision();
            world.oracle.round_begins(revision);
            world.oracle.sweeps = events.iter().any(ChangeEvent::is_ping);
            let all = 0..self.processes.len();
            let mut plan = |event: ChangeEvent| {
                let hearers = match world.climate.hearers {
                    Hearers::One => vec![world.random.below(all.end)],
                    Hearers::Each => all.clone().collect(),
                };
                hearers.into_iter().map(|process| (event.clone(), process, world.moment(100))).collect::<Vec<_>>()
            };
            events.into_iter().flat_map(&mut plan).collect()
        };
        let told = plans.into_iter().map(|(event, process, start)| {
            let process = &self.processes[process];
            async move {
                tokio::time::sleep_until(start).await;
                (process.told(&event).await, event)
            }
        });
        let answers = join_all(told).await;
        let mut refused = 0;
        for (answer, event) in answers {
            let mut world = self.world.lock();
            world.note(&format!("event {} {}: {answer:?}", event.id, event.data["name"]));
            match answer {
                Some(202) => self.delivered.extend(self.known.insert(event.id.clone()).then_some(event)),
                None | Some(503) => {
                    refused += 1;
                    // Whoever did not get through with it tries again, and all do here.
                    if !world.events.iter().any(|waiting| waiting.id == event.id) {
                        world.events.push(event);
                    }
                }
                Some(other) => world.wrong.push(format!("an event was answered with {other}")),
            }
        }
        self.world.lock().oracle.round_ends();
        for process in &mut self.processes {
            if !process.is_alive() {
                *process = Process::start(&self.world);
            }
        }
        refused
    }

    /// Lets everything that waits be delivered, and looks at what it came to.
    async fn end(&mut self) {
        self.world.lock().trouble = 0;
        self.world.lock().note("the end");
        let waiting = std::mem::take(&mut self.world.lock().events);
        // Thousands of requests at once would wait for each other until their deadlines.
        for events in waiting.chunks(AT_ONCE) {
            assert_eq!(self.deliver(events.to_vec()).await, 0, "seed {}: nothing stands in the way", self.seed);
        }
        if self.world.lock().lost == 0 {
            self.check_nothing_is_missed();
        }
        // What nobody told is found all the same, and then there is nothing more to find.
        self.sweep().await;
        self.check_nothing_is_missed();
        let before = self.world.lock().patches();
        self.sweep().await;
        assert_eq!(self.world.lock().patches(), before, "seed {}: a second sweep found something", self.seed);
        // A workload that lost its record may still be rolled out once by an event that comes again. Then never more.
        let all = self.delivered.clone();
        self.deliver(all.clone()).await;
        self.check_nothing_is_missed();
        let before = self.world.lock().rollouts;
        self.deliver(all).await;
        assert_eq!(self.world.lock().rollouts, before, "seed {}: a repetition rolled out", self.seed);
    }

    async fn sweep(&mut self) {
        let ping = self.world.lock().ping();
        assert_eq!(self.deliver(vec![ping]).await, 0, "nothing stands in the way of a sweep");
        self.check();
    }

    fn check_nothing_is_missed(&self) {
        let mut world = self.world.lock();
        let missed = world.oracle.missed();
        world.wrong.extend(missed);
        drop(world);
        self.check();
    }

    fn check(&self) {
        let world = self.world.lock();
        let shown = if asked_for().is_some() { world.log.len() } else { SHOWN };
        let last = &world.log[world.log.len().saturating_sub(shown)..];
        assert!(
            world.wrong.is_empty(),
            "{}\n\n{:#?}\nRepeat it with {SEED}={} cargo test --test it simulation",
            last.join("\n"),
            world.wrong,
            self.seed
        );
    }
}
