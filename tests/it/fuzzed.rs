//! What the fuzz targets state (fuzz/harness), for their seeds and for mutations of them: the same each time, on the
//! pinned compiler. `just fuzz TARGET` looks further.

use std::path::Path;

use crate::fuzz_harness::doors::Doors;
use crate::fuzz_harness::{annotations, events, record, regex};
use crate::mutations::mutations;

/// The seeds of a target, by name.
pub(crate) fn seeds(target: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| std::fs::read(file).unwrap()).collect()
}

/// Checks every seed and so many mutations of them; shows the input that a check fails on.
fn hold(target: &str, mutated: usize, check: impl Fn(&[u8])) {
    let seeds = seeds(target);
    assert!(seeds.len() > 5, "{target} has seeds");
    for input in seeds.iter().cloned().chain(mutations(&seeds).take(mutated)) {
        let shown = ShownIfItFails(&input);
        check(&input);
        std::mem::forget(shown);
    }
}

/// Says on unwinding which input it was.
struct ShownIfItFails<'a>(&'a [u8]);

impl Drop for ShownIfItFails<'_> {
    fn drop(&mut self) {
        eprintln!("this input fails; as a file of fuzz/seeds it stays tested:\n{}", self.0.escape_ascii());
    }
}

#[test]
fn requests_from_anybody_are_answered_and_events_told() {
    let doors = Doors::open();
    hold("events", 4000, |input| events::check(&doors, input));
}

#[test]
fn annotations_from_anybody_mean_what_the_peers_order_of_rules_says() {
    hold("annotations", 2000, annotations::check);
}

#[test]
fn records_that_anybody_edited_are_read_back_as_they_are_written() {
    hold("record", 5000, record::check);
}

#[test]
fn patterns_from_anybody_are_read_alike_each_time_and_within_bounds() {
    hold("regex", 1500, regex::check);
}
