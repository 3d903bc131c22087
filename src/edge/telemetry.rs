//! The log: where it goes and what may be in it.
//!
//! Invariant: our own lines have the level that was set; libraries stay at `warn`, and the one that logs the objects
//! it cannot parse (kube's client) is silent at every level. There is no way to set a filter that would let it speak.
//! A panic is told by its place, and by its words only where they stand in the source: others may quote an object.

use std::panic::PanicHookInfo;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt;

use super::variables::{Log, LogFormat};

/// Starts the log, on standard error. Panics are told there too.
pub fn start(log: &Log) {
    let filter = EnvFilter::new(format!("warn,kube_client=off,kube=off,confroll={}", log.level));
    let lines = fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // Fails only where a log was started before, as in a test: then that one serves.
    let _ = match log.format {
        LogFormat::Text => lines.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr())).try_init(),
        LogFormat::Json => lines.json().flatten_event(true).try_init(),
    };
    std::panic::set_hook(Box::new(tell_panic));
}

fn tell_panic(panic: &PanicHookInfo<'_>) {
    let at = panic.location().map(tracing::field::display);
    // Words that were put together are a `String`.
    let words = panic.payload().downcast_ref::<&'static str>();
    tracing::error!(at, words, "a panic: please report it");
}
