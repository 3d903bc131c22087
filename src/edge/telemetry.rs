//! The log: where it goes and what may be in it.
//!
//! Invariant: our own lines have the level that was set; libraries stay at `warn`, and the one that logs the objects
//! it cannot parse (kube's client) is silent at every level. There is no way to set a filter that would let it speak.

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use super::variables::{Log, LogFormat};

/// Starts the log, on standard error.
pub fn start(log: &Log) {
    let filter = EnvFilter::new(format!("warn,kube_client=off,kube=off,confroll={}", log.level));
    let lines = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // Fails only where a log was started before, as in a test: then that one serves.
    let _ = match log.format {
        LogFormat::Text => lines.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
}
