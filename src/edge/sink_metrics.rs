//! What a sink counts. Outcomes are the same words as in the log and in what the Broker is told.
//!
//! Invariant: labels are bounded: names of destinations that are there, and outcomes.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::metrics::render;
use crate::announce::destination::DestinationName;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOutcome {
    destination: String,
    outcome: &'static str,
}

/// All counters of a sink.
#[derive(Debug)]
pub struct SinkMetrics {
    registry: Registry,
    notifications: Family<ByOutcome, Counter>,
    batch_size: Histogram,
    upstream: Histogram,
    duplicates: Counter,
}

impl Default for SinkMetrics {
    fn default() -> Self {
        Self::new()
    }
}

impl SinkMetrics {
    /// All counters, at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("confroll"),
            notifications: Family::default(),
            batch_size: Histogram::new([1.0, 2.0, 5.0, 10.0, 50.0, 100.0, 500.0, 1000.0]),
            upstream: Histogram::new([0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 9.0]),
            duplicates: Counter::default(),
        };
        let registry = &mut metrics.registry;
        let help = "Reload events, by destination and what became of them";
        registry.register("notifications", help, metrics.notifications.clone());
        registry.register("batch_size", "Reload events in a message", metrics.batch_size.clone());
        let help = "How long a message took, with all its attempts";
        registry.register_with_unit("upstream", help, Unit::Seconds, metrics.upstream.clone());
        registry.register("duplicates", "Reload events that came again", metrics.duplicates.clone());
        metrics
    }

    /// Counts events: `posted`, or a word of sink_refusal.rs. A destination that is not there has no name here, as
    /// anything can be asked for.
    pub fn notifications(&self, destination: Option<&DestinationName>, outcome: &'static str, events: usize) {
        let destination = destination.map_or("", DestinationName::as_str).to_owned();
        let labels = ByOutcome { destination, outcome };
        self.notifications.get_or_create(&labels).inc_by(events as u64);
    }

    /// Counts a message.
    pub fn message(&self, events: usize, took: Duration) {
        #[expect(clippy::cast_precision_loss, reason = "a batch has at most 1000 events")]
        self.batch_size.observe(events as f64);
        self.upstream.observe(took.as_secs_f64());
    }

    /// Counts an event that came again.
    pub fn duplicate(&self) {
        self.duplicates.inc();
    }

    /// The metrics as text, with its content type.
    #[must_use]
    pub fn render(&self, accept: &str) -> (&'static str, String) {
        render(&self.registry, accept)
    }
}
