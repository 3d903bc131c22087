//! What is counted. Reasons are the same words as in the log.
//!
//! Invariant: labels are bounded: kinds and reasons, never a name; namespaces only where the operator wants them.

use jiff::SignedDuration;
use prometheus_client::encoding::{EncodeLabelSet, prometheus_text, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use super::config::CountBy;
use crate::reload::decision::Skip;
use crate::reload::report::Outcome;
use crate::reload::source::SourceKind;
use crate::reload::workload::WorkloadId;
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

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BySuccess {
    success: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct BySuccessAndNamespace {
    success: &'static str,
    namespace: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByResult {
    workload_kind: &'static str,
    result: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    kind: &'static str,
}

/// All counters of the process.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    events: Family<ByOutcome, Counter>,
    batches: Counter,
    rollouts: Family<ByKind, Counter>,
    skips: Family<ByReason, Counter>,
    records: Counter,
    resumes: Counter,
    sweeps: Family<ByOutcome, Counter>,
    watches_begun: Family<OfKind, Counter>,
    reload_events: Family<ByOutcome, Counter>,
    change_to_patch: Histogram,
    peers: PeersMetrics,
}

/// What the peer counts, under its names, as far as it still means something; each thing is counted once.
#[derive(Debug, Default)]
struct PeersMetrics {
    reload_executed: Family<BySuccess, Counter>,
    /// Named as if it were a counter with a suffix of its own, which a counter cannot be called here.
    by_namespace: Option<Family<BySuccessAndNamespace, Gauge>>,
    reload_errors: Counter,
    action: Family<ByResult, Counter>,
    items_monitored: Gauge,
    workloads_scanned: Family<OfKind, Counter>,
    workloads_matched: Family<OfKind, Counter>,
}

impl PeersMetrics {
    fn registered(registry: &mut Registry, count_by: CountBy) -> Self {
        let metrics = Self { by_namespace: (count_by == CountBy::Namespace).then(Family::default), ..Self::default() };
        registry.register("reload_executed", "Workloads reloaded, or not", metrics.reload_executed.clone());
        if let Some(by_namespace) = &metrics.by_namespace {
            let help = "Workloads reloaded, or not, by namespace";
            registry.register("reload_executed_total_by_namespace", help, by_namespace.clone());
        }
        registry.register("reload_errors", "Workloads that could not be reloaded", metrics.reload_errors.clone());
        registry.register("action", "Workloads patched, by kind and result", metrics.action.clone());
        let help = "Sources that some workload asks for, at the last sweep";
        registry.register("items_monitored", help, metrics.items_monitored.clone());
        registry.register("workloads_scanned", "Workloads looked at for events", metrics.workloads_scanned.clone());
        let help = "Workloads for which a source of an event counts";
        registry.register("workloads_matched", help, metrics.workloads_matched.clone());
        metrics
    }
}

impl Metrics {
    /// All counters, at zero.
    #[must_use]
    pub fn new(count_by: CountBy) -> Self {
        let mut root = Registry::default();
        let peers = PeersMetrics::registered(root.sub_registry_with_prefix("reloader"), count_by);
        let metrics = Self {
            registry: Registry::default(),
            events: Family::default(),
            batches: Counter::default(),
            rollouts: Family::default(),
            skips: Family::default(),
            records: Counter::default(),
            resumes: Counter::default(),
            sweeps: Family::default(),
            watches_begun: Family::default(),
            reload_events: Family::default(),
            change_to_patch: Histogram::new([
                0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
            ]),
            peers,
        };
        let registry = root.sub_registry_with_prefix("confroll");
        registry.register("events", "Events received, by what became of them", metrics.events.clone());
        registry.register("batches", "Batches of events that were acted on together", metrics.batches.clone());
        registry.register("rollouts", "Workloads patched, or that refused the patch", metrics.rollouts.clone());
        registry.register("skips", "Workloads left alone, by reason", metrics.skips.clone());
        let help = "Workloads whose record was written without a rollout";
        registry.register("records", help, metrics.records.clone());
        let help = "Deployments resumed at the end of their pause-period";
        registry.register("resumes", help, metrics.resumes.clone());
        registry.register("sweeps", "Sweeps, by how they ended", metrics.sweeps.clone());
        let help = "Watches that began at the present: each start, and each place that was lost";
        registry.register("watches_begun", help, metrics.watches_begun.clone());
        registry.register("reload_events", "Reload events sent, or not", metrics.reload_events.clone());
        let help = "From the write of a source to the patch of a workload; to the second where no event told";
        registry.register_with_unit("change_to_patch", help, Unit::Seconds, metrics.change_to_patch.clone());
        Self { registry: root, ..metrics }
    }

    /// Counts an event: `acted_on`, `ignored`, `refused` or `given_back`.
    pub fn event(&self, outcome: &'static str) {
        self.events.get_or_create(&ByOutcome { outcome }).inc();
    }

    /// Counts a batch.
    pub fn batch(&self) {
        self.batches.inc();
    }

    /// Counts a workload that was reloaded, or refused it.
    pub fn rollout(&self, workload: &WorkloadId, outcome: &Outcome) {
        let (word, result, success) = match outcome {
            Outcome::Reloaded => ("reloaded", "success", "true"),
            Outcome::Failed { .. } => ("failed", "error", "false"),
        };
        let workload_kind = workload.kind.kind;
        self.rollouts.get_or_create(&ByKind { workload_kind, outcome: word }).inc();
        self.peers.action.get_or_create(&ByResult { workload_kind, result }).inc();
        self.peers.reload_executed.get_or_create(&BySuccess { success }).inc();
        if let Some(by_namespace) = &self.peers.by_namespace {
            let namespace = workload.namespace.to_string();
            by_namespace.get_or_create(&BySuccessAndNamespace { success, namespace }).inc();
        }
        if success == "false" {
            self.peers.reload_errors.inc();
        }
    }

    /// Counts how long a change took to reach a workload.
    pub fn change_to_patch(&self, took: SignedDuration) {
        self.change_to_patch.observe(took.as_secs_f64().max(0.0));
    }

    /// Counts the workloads of a kind that a batch looked at, and those that one of its events concerns.
    pub fn looked_at(&self, kind: &WorkloadKind, scanned: usize, matched: usize) {
        let kind = OfKind { kind: kind.kind };
        self.peers.workloads_scanned.get_or_create(&kind).inc_by(scanned as u64);
        self.peers.workloads_matched.get_or_create(&kind).inc_by(matched as u64);
    }

    /// Shows how many sources some workload asks for.
    pub fn items_monitored(&self, sources: usize) {
        self.peers.items_monitored.set(i64::try_from(sources).unwrap_or(i64::MAX));
    }

    /// Counts a workload that was left alone.
    pub fn skip(&self, skip: Skip) {
        self.skips.get_or_create(&ByReason { reason: skip.as_str() }).inc();
    }

    /// Counts a workload of which it was noted what it runs on.
    pub fn record(&self) {
        self.records.inc();
    }

    /// Counts a Deployment that was resumed at the end of its pause-period.
    pub fn resumed(&self) {
        self.resumes.inc();
    }

    /// Counts a sweep: `done` or `given_back`.
    pub fn sweep(&self, outcome: &'static str) {
        self.sweeps.get_or_create(&ByOutcome { outcome }).inc();
    }

    /// Counts a watch that began at the present.
    pub fn watch_began(&self, kind: SourceKind) {
        self.watches_begun.get_or_create(&OfKind { kind: kind.as_str() }).inc();
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
