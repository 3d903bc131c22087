//! Touches the world: HTTP in and out, the API server, settings, clocks.
//!
//! ```text
//! inbox ─ an event comes in, its answer goes out          failure.rs: which status for which outcome
//!   sweep ─ or everything is looked at                     cluster_wide.rs: lists of all namespaces; namespaces.rs: which
//!   elsewhere ─ which other namespaces ask for its source
//!   lane ─ one batch at a time per namespace
//!     reload_run ─ read, decide, patch, report            cluster.rs, classes.rs, history.rs: the API server
//!     due_run ─ what was put off, or paused               alarm.rs: wakes a lane for it
//!       outbox ─ reload events to the sink, and alerts
//! source_watch ─ or watches tell of changes                 cluster_watch.rs: the watches
//!   intake ─ each is seen through to the lane
//! sweep_timer ─ and sweeps by the clock
//!
//! sink_inbox ─ a reload event comes in, its answer goes out    sink_refusal.rs: which status for which outcome
//!   announcer ─ a hold for each destination                    destinations.rs: files with URLs
//!     chat_webhook ─ messages to the service
//! ```
//!
//! Invariant: no decision is taken here; what should roll out, and why, comes from [`crate::reload`];
//! what is said, when, and what an answer means, from [`crate::announce`].

mod alarm;
pub mod alert_settings;
mod annotation_settings;
pub mod announcer;
pub mod callers;
pub mod chat_webhook;
mod classes;
pub mod cluster;
pub mod cluster_error;
pub mod cluster_watch;
pub mod cluster_wide;
pub mod cluster_workloads;
pub mod config;
pub mod destinations;
pub mod due_run;
pub mod elsewhere;
pub mod event_reader;
pub mod failure;
pub mod history;
pub mod hold;
pub mod inbox;
pub mod intake;
mod job_run;
pub mod key_secret;
pub mod lane;
pub mod metrics;
pub mod namespaces;
pub mod outbox;
pub(crate) mod platform_routes;
mod refused_run;
pub mod reload_run;
pub mod reporter;
mod rule_settings;
mod scope_settings;
pub mod serve_variables;
mod served_kinds;
mod setting_text;
pub mod sink_inbox;
pub mod sink_metrics;
pub mod sink_refusal;
pub mod sink_settings;
pub mod sink_token;
pub mod source_look;
pub mod source_watch;
pub mod sources;
pub mod sweep;
pub mod sweep_timer;
pub mod telemetry;
pub mod teller;
pub mod variables;
pub mod watch_settings;
pub mod workload_run;
