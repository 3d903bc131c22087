//! Confroll rolls out Kubernetes workloads when the ConfigMaps and Secrets that they use change.
//!
//! An event is a hint, the API server is the truth: an event names a source; what that source and the workloads are
//! now is read, compared with what each workload was last seen to run on, and only then is a workload patched. So
//! duplicates, disorder, forged events and replays are all harmless.
//!
//! # Rooms, in reading order
//! - [`reload`] decides. Pure: no IO, no clock, no environment.
//! - [`announce`] words what was decided for people, and reads what chat services answer. Pure, too.
//! - [`edge`] touches the world: HTTP, the API server, settings. It holds no decisions.
//! - [`command`] is the front door: one file per subcommand.
//!
//! Arrows point one way: command → edge → announce → reload's report.
//!
//! # Invariants
//! 1. Handling an event twice, or two events at once in two processes, gives one rollout. ([`reload::decision`])
//! 2. An event for an object that did not change in content rolls nothing out. ([`reload::past`])
//! 3. Sources of one workload that change together give one rollout where they are seen together.
//!    ([`edge::workload_run`])
//! 4. Installing, upgrading, restarting or scaling Confroll rolls nothing out by itself. ([`reload::record`])
//! 5. One workload that cannot be patched never keeps another from being patched. ([`edge::reload_run`])
//! 6. No Secret value, and nothing from which one could be guessed, is logged, stored, emitted or shown.
//!    ([`reload::content`], [`edge::telemetry`], [`announce::destination`])
//! 7. A change that no event told is acted on by the next sweep, once. ([`reload::sweep`], [`edge::sweep`])
//! 8. What is due, a pause's end or a delayed rollout, stands on the workload and is done once, by whoever is awake.
//!    ([`reload::due`], [`edge::due_run`])
//! 9. A reload event is acknowledged only after its message was posted. ([`edge::hold`])

pub mod announce;
pub mod command;
pub mod edge;
pub mod reload;
