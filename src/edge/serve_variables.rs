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
    pub(super) settle: Option<String>,
    pub(super) patches: Option<String>,
    pub(super) events: Option<String>,
    pub(super) call_deadline: Option<String>,
    pub(super) request_deadline: Option<String>,
    pub(super) longest_body: Option<String>,
    pub(super) auto_reload_all: Option<String>,
    pub(super) sweep_at_start: Option<String>,
    pub(super) audience: Option<String>,
    pub(super) callers: Option<String>,
    pub(super) log_level: Option<String>,
    pub(super) log_format: Option<String>,
}

/// The settings with their defaults and meaning, for `confroll serve --help` and the README's reader.
pub const SETTINGS_HELP: &str = "\
Settings (environment):
  PORT, ADDRESS              where events are received [8080, 0.0.0.0]
  K_SINK                     where reload events are sent [nowhere]
  K_CE_OVERRIDES, K_CA_CERTS as Knative's SinkBinding sets them
  KUBECONFIG                 the cluster, where the process does not run in it
  CONFROLL_CLUSTER           this cluster's name in reload events [default]
  CONFROLL_LINK              a page about a workload, for messages, such as
                             https://grafana.example/d/1?ns={namespace}; also
                             {cluster}, {kind}, {name} [none]
  CONFROLL_DIGEST_KEY        secret key of the digests on workloads [fixed]
  CONFROLL_DIGEST_KEY_FILE   or a file that holds it
  CONFROLL_SETTLE            how long a workload with several sources waits for
                             changes of the others [250ms]
  CONFROLL_PATCHES           patches on their way at once [32]
  CONFROLL_EVENTS            events at work or waiting, before others are given
                             back at once [2000]
  CONFROLL_CALL_DEADLINE     longest call to the API server [10s]
  CONFROLL_REQUEST_DEADLINE  an event is answered after this long at most [25s]
  CONFROLL_LONGEST_BODY      longest body of an event, in bytes [4194304]
  CONFROLL_AUTO_RELOAD_ALL   reload workloads without annotations [false]
  CONFROLL_SWEEP_AT_START    look at everything at the start, as at a ping of a
                             PingSource [false]
  CONFROLL_AUDIENCE          check tokens of callers: what they must be made out
                             for [no check]
  CONFROLL_CALLERS           whose tokens, with commas, such as
                             system:serviceaccount:NAMESPACE:NAME
  CONFROLL_LOG_LEVEL         error, warn, info, debug or trace [info]
  CONFROLL_LOG_FORMAT        text or json [text]";
