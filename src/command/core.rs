//! What `confroll serve` and `confroll watch` have in common, put together: everything between a change and its report.

use std::sync::Arc;

use anyhow::{Context as _, bail};

use crate::edge::announcer::Announcer;
use crate::edge::cluster::Cluster;
use crate::edge::config::{KeyOrigin, Settings};
use crate::edge::elsewhere::Elsewhere;
use crate::edge::lane::Lanes;
use crate::edge::metrics::Metrics;
use crate::edge::outbox::Outbox;
use crate::edge::reload_run::ReloadRun;
use crate::edge::reporter::Reporter;
use crate::edge::sweep::Sweep;
use crate::edge::teller::Teller;
use crate::reload::rules::Rules;

/// The parts.
pub(super) struct Core {
    pub(super) cluster: Cluster,
    pub(super) lanes: Lanes,
    pub(super) elsewhere: Elsewhere,
    pub(super) sweep: Sweep,
    pub(super) rules: Arc<Rules>,
    pub(super) metrics: Arc<Metrics>,
}

impl Core {
    /// Parts that tell what they do to the sink of the settings, and to `alerts`.
    pub(super) fn new(
        client: kube::Client,
        settings: &Settings,
        alerts: Option<Announcer>,
        teller: Teller,
    ) -> anyhow::Result<Self> {
        match &settings.key_origin {
            KeyOrigin::Given => {}
            KeyOrigin::Fixed => tracing::warn!(
                "CONFROLL_DIGEST_KEY is not set: digests on workloads are made with a key that everybody knows, so a short secret could be guessed from one"
            ),
            // Rather no start than digests with the key that everybody knows.
            KeyOrigin::InSecret(secret) => bail!("the digest key in the Secret {secret} was not read"),
        }
        let rules = Arc::new(settings.rules.clone());
        let metrics = Arc::new(Metrics::new(settings.count_by));
        let cluster = Cluster::new(client, rules.clone(), &settings.pace);
        let outbox = Outbox::new(settings.sink.clone(), alerts);
        let outbox = outbox.map_err(reqwest::Error::without_url).context("K_SINK cannot be used")?;
        let reporter = Reporter {
            outbox: Arc::new(outbox),
            cluster_name: settings.cluster.as_str().into(),
            link: settings.link.clone(),
            cluster: cluster.clone(),
            rules: rules.clone(),
            metrics: metrics.clone(),
            kube_events: settings.kube_events,
            teller: teller.clone(),
        };
        let run = ReloadRun { cluster: cluster.clone(), rules: rules.clone(), reporter, metrics: metrics.clone() };
        let lanes = Lanes::new(Arc::new(run), settings.pace.settle);
        let elsewhere = Elsewhere::new(cluster.clone(), lanes.clone());
        let sweep = Sweep::new(cluster.clone(), rules.clone(), lanes.clone(), teller, metrics.clone());
        Ok(Self { cluster, lanes, elsewhere, sweep, rules, metrics })
    }
}
