//! The variables of `confroll serve`: how they are called, and what `--help` says of them.
//!
//! Invariant: a variable of ours is a field here and a line of the help; any other one with our prefix is refused.
//! Left out: how their texts are read (config.rs).

use serde::Deserialize;

/// The variables with our prefix, as text: each is parsed by us, so that an error can say what to write.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Ours {
    pub(super) cluster: Option<String>,
    pub(super) link: Option<String>,
    pub(super) digest_key: Option<String>,
    pub(super) digest_key_file: Option<String>,
    pub(super) digest_key_secret: Option<String>,
    pub(super) settle: Option<String>,
    pub(super) patches: Option<String>,
    pub(super) events: Option<String>,
    pub(super) call_deadline: Option<String>,
    pub(super) request_deadline: Option<String>,
    pub(super) longest_body: Option<String>,
    pub(super) auto_reload_all: Option<String>,
    pub(super) enable_csi_integration: Option<String>,
    pub(super) reload_strategy: Option<String>,
    pub(super) reload_on_create: Option<String>,
    pub(super) reload_on_delete: Option<String>,
    pub(super) revision_names: Option<String>,
    pub(super) cross_namespace: Option<String>,
    pub(super) kinds: Option<String>,
    pub(super) rollout_strategy_annotation: Option<String>,
    pub(super) kubernetes_events: Option<String>,
    pub(super) metrics_by_namespace: Option<String>,
    pub(super) sweep_at_start: Option<String>,
    pub(super) sync_period: Option<String>,
    pub(super) audience: Option<String>,
    pub(super) callers: Option<String>,
    pub(super) sink_token_file: Option<String>,
    pub(super) log_level: Option<String>,
    pub(super) log_format: Option<String>,
    pub(super) namespaces: Option<String>,
    pub(super) ignore_namespaces: Option<String>,
    pub(super) namespace_selector: Option<String>,
    pub(super) resource_label_selector: Option<String>,
    pub(super) ignore_configmaps: Option<String>,
    pub(super) ignore_secrets: Option<String>,
    pub(super) ignored_workload_types: Option<String>,
    pub(super) reload_annotation: Option<String>,
    pub(super) auto_annotation: Option<String>,
    pub(super) configmap_auto_annotation: Option<String>,
    pub(super) secret_auto_annotation: Option<String>,
    pub(super) configmap_annotation: Option<String>,
    pub(super) secret_annotation: Option<String>,
    pub(super) configmap_exclude_annotation: Option<String>,
    pub(super) secret_exclude_annotation: Option<String>,
    pub(super) secretproviderclass_auto_annotation: Option<String>,
    pub(super) secretproviderclass_annotation: Option<String>,
    pub(super) secretproviderclass_exclude_annotation: Option<String>,
    pub(super) auto_search_annotation: Option<String>,
    pub(super) search_match_annotation: Option<String>,
    pub(super) ignore_annotation: Option<String>,
    pub(super) pause_deployment_annotation: Option<String>,
    pub(super) pause_deployment_time_annotation: Option<String>,
    pub(super) reload_delay_annotation: Option<String>,
}

/// How settings are written.
const HEAD: &str = "\
Settings are variables of the environment; [what holds where none is set]. Lists
are written with commas. A flag behind a variable is that of stakater/Reloader
v1 for the same.";

/// What only `confroll serve` has.
const SERVE: &str = "\
Events:
  PORT, ADDRESS              where events are received [8080, 0.0.0.0]
  CONFROLL_AUDIENCE          check tokens of callers: what they must be made out
                             for [no check]
  CONFROLL_CALLERS           whose tokens, such as
                             system:serviceaccount:NAMESPACE:NAME
  CONFROLL_SWEEP_AT_START    look at everything at the start, as at a ping of a
                             PingSource [false]
  CONFROLL_EVENTS            events at work or waiting, before others are given
                             back at once [2000]
  CONFROLL_REQUEST_DEADLINE  an event is answered after this long at most [25s]
  CONFROLL_LONGEST_BODY      longest body of an event, in bytes [4194304]";

/// What only `confroll watch` has.
const WATCH: &str = "\
Watches and alerts:
  PORT, ADDRESS              where probes and scrapers are answered
                             [8080, 0.0.0.0]
  ALERT_ON_RELOAD            exactly true: reloads are told to a chat service
  ALERT_SINK                 slack, teams or gchat; anything else: plain text
  ALERT_WEBHOOK_URL          where it is
  ALERT_WEBHOOK_PROXY        the proxy on the way there [none]
  ALERT_ADDITIONAL_INFO      what messages begin with [nothing]
  CONFROLL_SYNC_PERIOD       how often everything is looked at, whatever the
                             watches told [10m]
  CONFROLL_EVENTS            new changes at work at once; others wait [2000]";

/// What both have of reload events.
const TELLING: &str = "\
Where reload events go:
  K_SINK                     where reload events are sent [nowhere]
  K_CE_OVERRIDES, K_CA_CERTS as Knative's SinkBinding sets them
  CONFROLL_SINK_TOKEN_FILE   a file with a token for that, read for each event
                             [/oidc/token of a SinkBinding, if it is there]
  CONFROLL_CLUSTER           this cluster's name in reload events [default]
  CONFROLL_LINK              a page about a workload, for messages, such as
                             https://grafana.example/d/1?ns={namespace}; also
                             {cluster}, {kind}, {name} [none]";

/// What both have.
const BOTH: &str = "\
What is looked at:
  CONFROLL_NAMESPACES               --namespaces
      only these namespaces, so that Roles in them suffice [all]
  CONFROLL_IGNORE_NAMESPACES        --namespaces-to-ignore
      never these namespaces [none]
  CONFROLL_NAMESPACE_SELECTOR       --namespace-selector
      only namespaces with such labels: team=shop, env in (prod, test), !old;
      needs the rights to get and list namespaces [any labels]
  CONFROLL_RESOURCE_LABEL_SELECTOR  --resource-label-selector
      only ConfigMaps, Secrets and SecretProviderClasses with such labels
      [any labels]
  CONFROLL_IGNORE_CONFIGMAPS        --resources-to-ignore=configmaps
      true: no ConfigMap; or names of some, such as kube-root-ca.crt [false]
  CONFROLL_IGNORE_SECRETS           --resources-to-ignore=secrets
      true: no Secret, which then need not be readable; or names [false]
  CONFROLL_IGNORED_WORKLOAD_TYPES   --ignored-workload-types
      kinds that are never rolled out, such as jobs,daemonsets [none]
  CONFROLL_AUTO_RELOAD_ALL          --auto-reload-all
      reload workloads without annotations [false]
  CONFROLL_ENABLE_CSI_INTEGRATION   --enable-csi-integration
      reload by SecretProviderClasses of the Secrets Store CSI driver too, as
      their pods' SecretProviderClassPodStatuses tell of rotations; without the
      driver, that has no effect [false]
  CONFROLL_CROSS_NAMESPACE
      workloads may name sources of other namespaces (namespace/name,…) in
      annotations confroll.dev/extra-configmaps and confroll.dev/extra-secrets,
      beside the label confroll.dev/cross-namespace=true; needs the rights in
      all namespaces, by a ClusterRoleBinding, and a digest key [false]

  CONFROLL_KINDS
      further kinds of workloads: group/version/Kind:plural=path.to.template,
      such as apps.kruise.io/v1alpha1/CloneSet:clonesets=spec.template [none]

How workloads are rolled out:
  CONFROLL_RELOAD_STRATEGY          --reload-strategy
      what is changed in pod templates: annotations; env-vars; or restart, as
      kubectl rollout restart does [annotations]
  CONFROLL_RELOAD_ON_CREATE         --reload-on-create
      a source that appears is a change to workloads that were there without
      it [false]
  CONFROLL_RELOAD_ON_DELETE         --reload-on-delete
      a source that vanishes is a change [false]
  CONFROLL_REVISION_NAMES
      kept: a Knative Service that names its Revision is not rolled out;
      generated: it gets another name [kept]

How annotations are called:
  CONFROLL_AUTO_ANNOTATION               --auto-annotation
      [reloader.stakater.com/auto]
  CONFROLL_CONFIGMAP_AUTO_ANNOTATION     --configmap-auto-annotation
      [configmap.reloader.stakater.com/auto]
  CONFROLL_SECRET_AUTO_ANNOTATION        --secret-auto-annotation
      [secret.reloader.stakater.com/auto]
  CONFROLL_CONFIGMAP_ANNOTATION          --configmap-annotation
      [configmap.reloader.stakater.com/reload]
  CONFROLL_SECRET_ANNOTATION             --secret-annotation
      [secret.reloader.stakater.com/reload]
  CONFROLL_AUTO_SEARCH_ANNOTATION        --auto-search-annotation
      [reloader.stakater.com/search]
  CONFROLL_SEARCH_MATCH_ANNOTATION       --search-match-annotation
      [reloader.stakater.com/match]
  CONFROLL_IGNORE_ANNOTATION             --ignore-annotation
      [reloader.stakater.com/ignore]
  CONFROLL_CONFIGMAP_EXCLUDE_ANNOTATION
      [configmaps.exclude.reloader.stakater.com/reload]
  CONFROLL_SECRET_EXCLUDE_ANNOTATION
      [secrets.exclude.reloader.stakater.com/reload]
  CONFROLL_SECRETPROVIDERCLASS_AUTO_ANNOTATION
      [secretproviderclass.reloader.stakater.com/auto]
  CONFROLL_SECRETPROVIDERCLASS_ANNOTATION
      [secretproviderclass.reloader.stakater.com/reload]
  CONFROLL_SECRETPROVIDERCLASS_EXCLUDE_ANNOTATION
      [secretproviderclasses.exclude.reloader.stakater.com/reload]
  CONFROLL_RELOAD_ANNOTATION
      [reloader.stakater.com/reload]
  CONFROLL_ROLLOUT_STRATEGY_ANNOTATION
      [reloader.stakater.com/rollout-strategy]
  CONFROLL_PAUSE_DEPLOYMENT_ANNOTATION       --pause-deployment-annotation
      [deployment.reloader.stakater.com/pause-period]
  CONFROLL_PAUSE_DEPLOYMENT_TIME_ANNOTATION  --pause-deployment-time-annotation
      [deployment.reloader.stakater.com/paused-at]
  CONFROLL_RELOAD_DELAY_ANNOTATION
      [reloader.stakater.com/reload-delay]

How it works:
  KUBECONFIG                 the cluster, where the process does not run in it
  CONFROLL_DIGEST_KEY        secret key of the digests on workloads [fixed]
  CONFROLL_DIGEST_KEY_FILE   or a file that holds it
  CONFROLL_DIGEST_KEY_SECRET or a Secret (NAME, or NAMESPACE/NAME) that holds it
                             as digest-key, and is made where there is none, and
                             filled where it is empty
  CONFROLL_SETTLE            how long a workload with several sources waits for
                             changes of the others [250ms]
  CONFROLL_PATCHES           patches on their way at once [32]
  CONFROLL_CALL_DEADLINE     longest call to the API server [10s]
  CONFROLL_KUBERNETES_EVENTS
      make Events Reloaded and ReloadFailed on workloads [true]
  CONFROLL_METRICS_BY_NAMESPACE     METRICS_COUNT_BY_NAMESPACE
      count reloads by namespace too [false]
  CONFROLL_LOG_LEVEL         --log-level
      error, warn, info, debug or trace [info]
  CONFROLL_LOG_FORMAT        --log-format
      text or json [text]";

/// The settings with their defaults and meaning, for `confroll serve --help` and the README's reader.
#[must_use]
pub fn serve_settings_help() -> String {
    [HEAD, SERVE, TELLING, BOTH].join("\n\n")
}

/// The same for `confroll watch --help`.
#[must_use]
pub fn watch_settings_help() -> String {
    [HEAD, WATCH, TELLING, BOTH].join("\n\n")
}
