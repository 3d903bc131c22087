//! What Confroll promises, tested through its front door. In reading order:

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says where")]

mod manifests;
mod support;

// On the real parts.
mod calling;
mod charting;
mod crossing_for_real;
mod due_for_real;
mod installing;
mod key_secret;
mod limits;
mod many_processes;
mod noise;
mod refusing;
mod reloading;
mod rights;
mod scoping_for_real;
mod shop;
mod source_rights;
mod sweeping_for_real;
mod watching;

// On an API server in memory: what a real one does not do on demand.
mod absence;
mod canary;
mod crossing;
mod deciding;
mod delaying;
mod fake_cluster;
mod faults;
mod fixtures;
mod jobs;
mod kind_plane;
mod kinds;
mod opting;
mod overload;
mod pausing;
mod racing;
mod renaming;
mod requests;
mod rollout_ways;
mod rotating;
mod scoping;
mod secrets;
mod secrets_stage;
mod secrets_store;
mod simulation;
mod stage;
mod sweeping;
mod telling;
mod throttled;
mod tokens;
mod watch_gaps;

// What is told, and how.
mod alerts;
mod answering;
mod any_text;
mod delivering;
mod leaks;
mod network;
mod routing;
#[path = "../../examples/demo/sample_events.rs"]
mod sample_events;
mod sink;
mod styling;
mod wording;

// At the door.
#[path = "../../fuzz/harness/mod.rs"]
mod fuzz_harness;
mod fuzzed;
mod go_regexp;
mod inbox;
mod label_selectors;
mod mutations;
mod settings;

// The tree itself.
mod events_doc;
mod monitoring;
mod releasing;
mod rooms;
