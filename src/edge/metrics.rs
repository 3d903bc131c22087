//! What is counted. Reasons are the same words as in the log.
//!
//! Invariant: labels are bounded: kinds and reasons, never a name.

use prometheus_client::encoding::{EncodeLabelSet, prometheus_text, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;

use crate::reload::decision::Skip;
use crate::reload::workload_kind::WorkloadKind;

/// The text that a scraper gets.
pub const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The older text format.
pub const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByKind {
    workload_kind: &'static str,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByReason {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOutcome {
    outcome: &'static str,
}

/// All counters of the process.
#[derive(Debug, Default)]
pub struct Metrics {
    registry: Registry,
    events: Family<ByOutcome, Counter>,
    batches: Counter,
    rollouts: Family<ByKind, Counter>,
    skips: Family<ByReason, Counter>,
    records: Counter,
    sweeps: Family<ByOutcome, Counter>,
    reload_events: Family<ByOutcome, Counter>,
}

impl Metrics {
    /// All counters, at zero.
    #[must_use]
    pub fn new() -> Self {
        let mut metrics = Self { registry: Registry::with_prefix("confroll"), ..Self::default() };
        let registry = &mut metrics.registry;
        registry.register("events", "Events received, by what became of them", metrics.events.clone());
        registry.register("batches", "Batches of events that were acted on together", metrics.batches.clone());
        registry.register("rollouts", "Workloads patched, or that refused the patch", metrics.rollouts.clone());
        registry.register("skips", "Workloads left alone, by reason", metrics.skips.clone());
        let help = "Workloads whose record was written without a rollout";
        registry.register("records", help, metrics.records.clone());
        registry.register("sweeps", "Sweeps, by how they ended", metrics.sweeps.clone());
        registry.register("reload_events", "Reload events sent, or not", metrics.reload_events.clone());
        metrics
    }

    /// Counts an event: `acted_on`, `ignored`, `refused` or `given_back`.
    pub fn event(&self, outcome: &'static str) {
        self.events.get_or_create(&ByOutcome { outcome }).inc();
    }

    /// Counts a batch.
    pub fn batch(&self) {
        self.batches.inc();
    }

    /// Counts a workload that was to be patched: `reloaded` or `failed`.
    pub fn rollout(&self, kind: &WorkloadKind, outcome: &'static str) {
        self.rollouts.get_or_create(&ByKind { workload_kind: kind.kind, outcome }).inc();
    }

    /// Counts a workload that was left alone.
    pub fn skip(&self, skip: Skip) {
        self.skips.get_or_create(&ByReason { reason: skip.as_str() }).inc();
    }

    /// Counts a workload of which it was noted what it runs on.
    pub fn record(&self) {
        self.records.inc();
    }

    /// Counts a sweep: `done` or `given_back`.
    pub fn sweep(&self, outcome: &'static str) {
        self.sweeps.get_or_create(&ByOutcome { outcome }).inc();
    }

    /// Counts a reload event: `sent` or `failed`.
    pub fn reload_event(&self, outcome: &'static str) {
        self.reload_events.get_or_create(&ByOutcome { outcome }).inc();
    }

    /// The metrics as text, with its content type.
    #[must_use]
    pub fn render(&self, accept: &str) -> (&'static str, String) {
        render(&self.registry, accept)
    }
}

/// Metrics as text, with its content type: OpenMetrics where the scraper accepts it.
pub(super) fn render(registry: &Registry, accept: &str) -> (&'static str, String) {
    let mut body = String::new();
    let (content_type, written) = if accept.contains("application/openmetrics-text") {
        (OPEN_METRICS, text::encode(&mut body, registry))
    } else {
        (PROMETHEUS_TEXT, prometheus_text::encode(&mut body, registry))
    };
    // Writing to a String cannot fail.
    debug_assert!(written.is_ok());
    (content_type, body)
}
