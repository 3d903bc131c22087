//! What was measured, as one line of JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use confroll_stack::AuditMark;
use serde_json::{Value, json};

use crate::bed::{Bed, Reloader};

/// The figures of one scenario.
pub(crate) struct Figures {
    pub(crate) scenario: &'static str,
    pub(crate) reloader: Reloader,
    /// How many workloads were to be reloaded in all.
    pub(crate) reloads: usize,
    /// From the write of a source to its workload's change, of every reload.
    pub(crate) reloaded: Vec<Duration>,
    /// What the ratio is of, ours and raw, of every round.
    pub(crate) compared: Vec<(Duration, Duration)>,
    pub(crate) requests: Requests,
    pub(crate) peak_bytes: u64,
}

/// The requests of a reloader, by verb, and its Kubernetes Events apart.
#[derive(Default)]
pub(crate) struct Requests {
    pub(crate) by_verb: BTreeMap<String, usize>,
    events: usize,
    conflicts: usize,
    throttled: usize,
}

impl Requests {
    pub(crate) async fn since(bed: &Bed, mark: AuditMark, reloader: &Reloader) -> Result<Self> {
        let mut requests = Self::default();
        for request in bed.control_plane.audit().requests_since(mark, reloader.user()).await? {
            if request.resource == "events" {
                requests.events += 1;
                continue;
            }
            *requests.by_verb.entry(request.verb).or_default() += 1;
            requests.conflicts += usize::from(request.code == 409);
            requests.throttled += usize::from(request.code == 429);
        }
        Ok(requests)
    }
}

impl Figures {
    pub(crate) fn to_json(&self) -> Value {
        let total: usize = self.requests.by_verb.values().sum();
        let mut ours: Vec<_> = self.compared.iter().map(|(ours, _)| *ours).collect();
        let mut raw: Vec<_> = self.compared.iter().map(|(_, raw)| *raw).collect();
        let (ours, raw) = (percentile(&mut ours, 50), percentile(&mut raw, 50));
        let mut reloaded = self.reloaded.clone();
        json!({
            "scenario": self.scenario,
            "reloader": self.reloader.name(),
            "via": self.reloader.via(),
            "reloads": self.reloads,
            "p50_ms": milliseconds(percentile(&mut reloaded, 50)),
            "p99_ms": milliseconds(percentile(&mut reloaded, 99)),
            "last_ms": milliseconds(percentile(&mut reloaded, 100)),
            "compared_ms": milliseconds(ours),
            "raw_ms": milliseconds(raw),
            "ratio": (ours.as_secs_f64() / raw.as_secs_f64() * 100.0).round() / 100.0,
            "rounds_ms": self.compared.iter().map(|(ours, raw)| [milliseconds(*ours), milliseconds(*raw)]).collect::<Vec<_>>(),
            "requests": self.requests.by_verb,
            "requests_per_reload": (ratio(total, self.reloads) * 100.0).round() / 100.0,
            "conflicts": self.requests.conflicts,
            "throttled": self.requests.throttled,
            "kubernetes_events": self.requests.events,
            "peak_rss_mb": (ratio(usize::try_from(self.peak_bytes).unwrap_or(usize::MAX), 1 << 20) * 10.0).round() / 10.0,
        })
    }
}

/// The value that so many percent of all do not pass (nearest rank).
pub(crate) fn percentile(values: &mut [Duration], percent: usize) -> Duration {
    values.sort_unstable();
    let rank = (values.len() * percent).div_ceil(100).max(1);
    values.get(rank - 1).copied().unwrap_or_default()
}

pub(crate) fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 100_000.0).round() / 100.0
}

#[expect(clippy::cast_precision_loss, reason = "counts and megabytes are far below 2^52")]
pub(crate) fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}
