//! How the annotations are called: the one place where keys that users know from the peer are spelled.
//!
//! Invariant: the defaults are the peer's (stakater/Reloader v1), so that objects annotated for it mean the same here.
//! Left out: what the values mean (opt_in.rs, rollout_way.rs, timing.rs).

use super::source::SourceKind;

/// How the annotations are called. The defaults are the peer's; its users may have renamed them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotationKeys {
    /// On a workload: `"false"` leaves it alone whatever else it says.
    pub reload: String,
    /// On a workload: reload by every source that the template uses.
    pub auto: String,
    /// On a workload: reload by used sources that carry [`Self::matched`].
    pub search: String,
    /// On a source: reload workloads that search.
    pub matched: String,
    /// On a source: never reload anything.
    pub ignore: String,
    /// On a workload: how it is rolled out.
    pub rollout_strategy: String,
    /// On a Deployment: for how long it is paused from a rollout on.
    pub pause_period: String,
    /// On a Deployment: since when it is.
    pub paused_at: String,
    /// On a workload: for how long changes are gathered before a rollout.
    pub reload_delay: String,
    /// The keys for ConfigMaps.
    pub config_map: KindKeys,
    /// The keys for Secrets.
    pub secret: KindKeys,
    /// The keys for SecretProviderClasses.
    pub secret_provider_class: KindKeys,
}

/// The keys of one kind of source, all on workloads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindKeys {
    /// As `auto`, for this kind alone.
    pub auto: String,
    /// Names, as patterns, that reload the workload whether it uses them or not.
    pub named: String,
    /// Names that never reload it.
    pub exclude: String,
}

impl Default for AnnotationKeys {
    fn default() -> Self {
        let key = |name: &str| format!("reloader.stakater.com/{name}");
        let of_kind = |kind: SourceKind| KindKeys {
            auto: format!("{}.reloader.stakater.com/auto", kind.as_str().to_lowercase()),
            named: format!("{}.reloader.stakater.com/reload", kind.as_str().to_lowercase()),
            exclude: format!("{}.exclude.reloader.stakater.com/reload", kind.plural()),
        };
        Self {
            reload: key("reload"),
            auto: key("auto"),
            search: key("search"),
            matched: key("match"),
            ignore: key("ignore"),
            rollout_strategy: key("rollout-strategy"),
            pause_period: "deployment.reloader.stakater.com/pause-period".to_owned(),
            paused_at: "deployment.reloader.stakater.com/paused-at".to_owned(),
            reload_delay: key("reload-delay"),
            config_map: of_kind(SourceKind::ConfigMap),
            secret: of_kind(SourceKind::Secret),
            secret_provider_class: of_kind(SourceKind::SecretProviderClass),
        }
    }
}

impl AnnotationKeys {
    /// The keys of one kind of source.
    pub(super) const fn of_kind(&self, kind: SourceKind) -> &KindKeys {
        match kind {
            SourceKind::ConfigMap => &self.config_map,
            SourceKind::Secret => &self.secret,
            SourceKind::SecretProviderClass => &self.secret_provider_class,
        }
    }
}
