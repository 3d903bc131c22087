//! What the fuzz targets state (fuzz/harness), for their seeds and for mutations of them: the same each time, on the
//! pinned compiler. `just fuzz TARGET` looks further.

use std::collections::BTreeMap;
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

/// Checks every seed and so many mutations of them; shows the input that a check fails on. Of all that an input can
/// turn out to be, `reached`, there are some.
fn hold(target: &str, mutated: usize, reached: &[&str], check: impl Fn(&[u8]) -> &'static str) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let seeds = seeds(target);
    for input in seeds.iter().cloned().chain(mutations(&seeds).take(mutated)) {
        let shown = ShownIfItFails(&input);
        *counts.entry(check(&input)).or_default() += 1;
        std::mem::forget(shown);
    }
    for word in reached {
        assert!(counts.get(word).is_some_and(|&count| count >= 5), "{target} is seldom {word}: {counts:?}");
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
    let reached = ["no event", "not for us", "of no use", "a change", "a notice"];
    hold("events", 4000, &reached, |input| events::check(&doors, input));
}

#[test]
fn annotations_from_anybody_mean_what_the_peers_order_of_rules_says() {
    let reached = [
        "nothing counts",
        "named_in_annotation",
        "referenced_and_searched",
        "referenced_and_auto",
        "referenced_by_default",
    ];
    hold("annotations", 2000, &reached, annotations::check);
}

#[test]
fn records_that_anybody_edited_are_read_back_as_they_are_written() {
    hold("record", 5000, &["no record", "a record"], record::check);
}

#[test]
fn patterns_from_anybody_are_read_alike_each_time_and_within_bounds() {
    hold("regex", 1500, &["no pattern", "too large", "a pattern"], regex::check);
}
