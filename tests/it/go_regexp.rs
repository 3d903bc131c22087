//! Patterns mean what they mean to Go, which is asked: about every seed of the fuzzer, and thousands that nearly make
//! sense. The table in src/reload/name_pattern.rs keeps what this once brought up.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use confroll::reload::name_pattern::{Budget, NamePattern};
use serde_json::{Value, json};

use crate::fuzz_harness::regex::names;
use crate::fuzzed::seeds;
use crate::mutations::mutations;

/// Such entries are small, so that none is refused for its size here and taken there.
const LONGEST: usize = 60;

#[test]
fn patterns_mean_what_they_mean_to_go() {
    let seeds = seeds("regex");
    let texts = seeds.iter().cloned().chain(mutations(&seeds).take(6000));
    let texts = texts.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned());
    let entries: Vec<String> = texts.filter(|entry| entry.len() <= LONGEST).collect();
    let answers = ask_go(&entries);
    assert_eq!(answers.len(), entries.len());
    let mut taken = 0;
    for (entry, theirs) in entries.iter().zip(answers) {
        match NamePattern::parse_within(entry, &mut Budget::of_one_list()) {
            Ok(pattern) => {
                taken += 1;
                let ours: Vec<bool> = names(entry).iter().map(|name| pattern.matches(name)).collect();
                assert_eq!(json!(ours), theirs, "{entry:?} against {:?}", names(entry));
            }
            Err(error) if error.to_string().ends_with("it is too large") => {}
            Err(error) => assert_eq!(theirs, Value::Null, "{error}"),
        }
    }
    assert!(taken > 1000, "{taken} of {} are patterns", entries.len());
}

fn ask_go(entries: &[String]) -> Vec<Value> {
    let questions: Vec<_> = entries.iter().map(|entry| json!({ "entry": entry, "names": names(entry) })).collect();
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/go_regexp/main.go");
    let mut go = Command::new("go")
        .args(["run", program.to_str().unwrap()])
        .envs([("GOTOOLCHAIN", "local"), ("GOFLAGS", ""), ("GOWORK", "off"), ("CGO_ENABLED", "0")])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    go.stdin.take().unwrap().write_all(json!(questions).to_string().as_bytes()).unwrap();
    let output = go.wait_with_output().unwrap();
    assert!(output.status.success(), "Go cannot say");
    serde_json::from_slice(&output.stdout).unwrap()
}
