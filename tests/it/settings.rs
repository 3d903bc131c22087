//! The settings, as somebody who mistypes them meets them: the real binary.

use std::process::Command;

/// Starts the binary with these variables and gives back what it says before it ends.
fn refusal(variables: &[(&str, &str)]) -> String {
    refusal_of(&["serve"], variables)
}

fn refusal_of(arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_confroll"));
    command.args(arguments).env_clear().envs(variables.iter().copied());
    let output = command.output().unwrap();
    assert!(!output.status.success(), "{variables:?}");
    String::from_utf8(output.stderr).unwrap()
}

const ANNOTATIONS: [&str; 14] = [
    "CONFROLL_RELOAD_ANNOTATION",
    "CONFROLL_AUTO_ANNOTATION",
    "CONFROLL_CONFIGMAP_AUTO_ANNOTATION",
    "CONFROLL_SECRET_AUTO_ANNOTATION",
    "CONFROLL_CONFIGMAP_ANNOTATION",
    "CONFROLL_SECRET_ANNOTATION",
    "CONFROLL_CONFIGMAP_EXCLUDE_ANNOTATION",
    "CONFROLL_SECRET_EXCLUDE_ANNOTATION",
    "CONFROLL_SECRETPROVIDERCLASS_AUTO_ANNOTATION",
    "CONFROLL_SECRETPROVIDERCLASS_ANNOTATION",
    "CONFROLL_SECRETPROVIDERCLASS_EXCLUDE_ANNOTATION",
    "CONFROLL_AUTO_SEARCH_ANNOTATION",
    "CONFROLL_SEARCH_MATCH_ANNOTATION",
    "CONFROLL_IGNORE_ANNOTATION",
];

#[test]
fn a_value_that_cannot_be_read_stops_the_start_with_one_sentence() {
    let rows = [
        ("PORT", "hunter2", "number"),
        ("PORT", "70000", "number"),
        ("ADDRESS", "hunter2", "IP address"),
        ("K_SINK", "hunter2", "URL"),
        ("K_SINK", "ftp://hunter2", "URL"),
        ("CONFROLL_SETTLE", "hunter2", "250ms"),
        ("CONFROLL_SETTLE", "5", "250ms"),
        ("CONFROLL_PATCHES", "0", "above 0"),
        ("CONFROLL_EVENTS", "-1", "above 0"),
        ("CONFROLL_CALL_DEADLINE", "-1s", "250ms"),
        ("CONFROLL_REQUEST_DEADLINE", "1d", "250ms"),
        ("CONFROLL_LONGEST_BODY", "4MiB", "number"),
        ("CONFROLL_AUTO_RELOAD_ALL", "hunter2", "true"),
        ("CONFROLL_CROSS_NAMESPACE", "hunter2", "neither true nor false"),
        ("CONFROLL_ENABLE_CSI_INTEGRATION", "hunter2", "neither true nor false"),
        ("CONFROLL_CROSS_NAMESPACE", "true", "CONFROLL_DIGEST_KEY is not set"),
        ("CONFROLL_AUDIENCE", "hunter2", "CONFROLL_CALLERS is not set"),
        ("CONFROLL_CALLERS", "hunter2", "CONFROLL_AUDIENCE is not set"),
        ("CONFROLL_SWEEP_AT_START", "hunter2", "true"),
        ("CONFROLL_CLUSTER", "a/b", "letters"),
        ("CONFROLL_LINK", "hunter2", "{namespace}"),
        ("CONFROLL_LINK", "https://hunter2/{pod}", "{namespace}"),
        ("CONFROLL_LOG_LEVEL", "hunter2", "debug"),
        ("CONFROLL_NAMESPACES", "shop,Hunter2", "names"),
        ("CONFROLL_NAMESPACES", "team=hunter2", "CONFROLL_NAMESPACE_SELECTOR"),
        ("CONFROLL_NAMESPACES", " , ", "without an entry"),
        ("CONFROLL_IGNORE_NAMESPACES", "hunter2/x", "names"),
        ("CONFROLL_NAMESPACE_SELECTOR", "team in hunter2", "(one, two)"),
        ("CONFROLL_NAMESPACE_SELECTOR", "team=shop,", "requirement 2"),
        ("CONFROLL_RESOURCE_LABEL_SELECTOR", "hunter2 hunter2", "notin"),
        ("CONFROLL_RESOURCE_LABEL_SELECTOR", "team=hunter2!", "comma"),
        ("CONFROLL_RESOURCE_LABEL_SELECTOR", "team=-hunter2", "letters"),
        ("CONFROLL_RESOURCE_LABEL_SELECTOR", "team>hunter2", "whole number"),
        ("CONFROLL_RESOURCE_LABEL_SELECTOR", "a=1,hunter2/=2", "key"),
        ("CONFROLL_IGNORE_CONFIGMAPS", "Hunter2", "kube-root-ca.crt"),
        ("CONFROLL_IGNORE_SECRETS", "true,hunter2", "neither true nor false"),
        (
            "CONFROLL_IGNORED_WORKLOAD_TYPES",
            "jobs,hunter2",
            "cronjobs, daemonsets, deploymentconfigs, deployments, jobs",
        ),
        (
            "CONFROLL_IGNORED_WORKLOAD_TYPES",
            "Deployment,StatefulSets,daemonsets,job,cronjob,rollout,deploymentconfig,service",
            "nothing is left",
        ),
        ("CONFROLL_KINDS", "hunter2", "group/version/Kind"),
        ("CONFROLL_KINDS", "apps/v1/Deployment:deployments=spec.template", "knows already"),
        ("CONFROLL_RELOAD_STRATEGY", "hunter2", "env-vars"),
        ("CONFROLL_REVISION_NAMES", "hunter2", "generated"),
        ("CONFROLL_LOG_FORMAT", "hunter2", "json"),
        ("CONFROLL_DIGEST_KEY_FILE", "/no/such/file", "file"),
        ("CONFROLL_SETLE", "1s", "--help"),
    ];
    for (variable, value, says) in rows {
        let text = refusal(&[(variable, value)]);
        assert_eq!(text.lines().count(), 1, "{variable}: {text}");
        assert!(text.contains(variable) && text.contains(says), "{variable}: {text}");
        assert!(!text.contains("hunter2"), "{variable}: {text}");
    }
    for annotation in ANNOTATIONS {
        for value in ["hunter2/", "hunter 2", "a/b/hunter2", "hunter2-"] {
            let text = refusal(&[(annotation, value)]);
            assert_eq!(text.lines().count(), 1, "{annotation}: {text}");
            assert!(text.contains(&format!("{annotation} is no key that an annotation can have")), "{text}");
            assert!(!text.contains("hunter"), "{text}");
        }
    }
    for (one, other) in [
        (("CONFROLL_IGNORE_CONFIGMAPS", "true"), ("CONFROLL_IGNORE_SECRETS", "true")),
        (("CONFROLL_NAMESPACES", "a,b"), ("CONFROLL_IGNORE_NAMESPACES", "b,a")),
    ] {
        let text = refusal(&[one, other]);
        assert!(text.contains(one.0) && text.contains(other.0) && text.contains("nothing is left"), "{text}");
    }
    let beside_a_good_one = refusal(&[("CONFROLL_LOG_LEVEL", "info"), ("CONFROLL_SETLE", "1s")]);
    assert!(beside_a_good_one.contains("no setting CONFROLL_SETLE"), "{beside_a_good_one}");
    let overrides = refusal(&[("K_SINK", "http://sink"), ("K_CE_OVERRIDES", "hunter2")]);
    assert!(overrides.contains("K_CE_OVERRIDES") && !overrides.contains("hunter2"), "{overrides}");
    let both = refusal(&[("CONFROLL_DIGEST_KEY", "hunter2"), ("CONFROLL_DIGEST_KEY_FILE", "x")]);
    assert!(both.contains("one of them") && !both.contains("hunter2"), "{both}");
}

#[test]
fn without_a_cluster_it_says_what_to_do() {
    let text = refusal(&[("HOME", "/nonexistent")]);
    assert!(text.lines().last().unwrap().contains("KUBECONFIG"), "{text}");
}

#[test]
fn without_arguments_it_serves_inside_a_knative_container_and_asks_elsewhere() {
    let started = |variables: &[(&str, &str)]| {
        let output = Command::new(env!("CARGO_BIN_EXE_confroll")).env_clear().envs(variables.iter().copied()).output();
        String::from_utf8(output.unwrap().stderr).unwrap()
    };
    let in_knative = started(&[("K_SERVICE", "confroll"), ("HOME", "/nonexistent")]);
    assert!(in_knative.lines().last().unwrap().contains("KUBECONFIG"), "it gets as far as the cluster: {in_knative}");
    assert!(started(&[]).contains("Usage"));
}

#[test]
fn what_kubernetes_sets_for_a_service_of_our_name_stops_nothing() {
    let service_links = [
        ("CONFROLL_PORT", "tcp://10.0.0.7:80"),
        ("CONFROLL_PORT_80_TCP_ADDR", "10.0.0.7"),
        ("CONFROLL_SERVICE_HOST", "10.0.0.7"),
        ("CONFROLL_SERVICE_PORT_HTTP", "80"),
        ("CONFROLL_SINK_SERVICE_HOST", "10.0.0.8"),
        ("HOME", "/nonexistent"),
    ];
    let text = refusal(&service_links);
    assert!(text.lines().last().unwrap().contains("KUBECONFIG"), "it gets as far as the cluster: {text}");
}

#[test]
fn what_means_nothing_to_one_of_serve_and_watch_stops_its_start() {
    let refusal = |command: &str, variable: &str, value: &str| {
        let started =
            Command::new(env!("CARGO_BIN_EXE_confroll")).arg(command).env_clear().env(variable, value).output();
        String::from_utf8(started.unwrap().stderr).unwrap()
    };
    let of_serve = ["CONFROLL_AUDIENCE", "CONFROLL_CALLERS", "CONFROLL_LONGEST_BODY", "CONFROLL_REQUEST_DEADLINE"];
    for variable in of_serve.into_iter().chain(["CONFROLL_SWEEP_AT_START"]) {
        let text = refusal("watch", variable, "1");
        assert!(text.starts_with(&format!("confroll: {variable} is for confroll serve")), "{text}");
    }
    let text = refusal("serve", "CONFROLL_SYNC_PERIOD", "1m");
    assert!(text.starts_with("confroll: CONFROLL_SYNC_PERIOD is for confroll watch"), "{text}");
    for period in ["0", "10ms", "hunter2"] {
        let text = refusal("watch", "CONFROLL_SYNC_PERIOD", period);
        assert!(text.starts_with("confroll: CONFROLL_SYNC_PERIOD ") && !text.contains("hunter2"), "{text}");
    }
}

#[test]
fn help_names_every_setting_and_fits_a_terminal_of_80_columns() {
    let help = |command: &&str| {
        let output = Command::new(env!("CARGO_BIN_EXE_confroll")).args([command, "--help"]).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let too_wide: Vec<_> = text.lines().filter(|line| line.chars().count() > 80).collect();
        assert_eq!(too_wide, Vec::<&str>::new(), "{command}");
        text
    };
    // Serve and watch have most of their settings in common, and one list of all.
    let rows: [(&[&str], _); 2] = [
        (&["serve", "watch"], include_str!("../../src/edge/serve_variables.rs")),
        (&["sink"], include_str!("../../src/edge/sink_settings.rs")),
    ];
    for (commands, code) in rows {
        let text: String = commands.iter().map(help).collect();
        let fields = code.split_once("struct Ours {").unwrap().1.split_once('}').unwrap().0;
        let fields = fields.lines().filter_map(|line| line.trim().trim_start_matches("pub(super) ").split_once(':'));
        for field in fields {
            assert!(text.contains(&format!("CONFROLL_{}", field.0.to_uppercase())), "{}", field.0);
        }
    }
}

#[test]
fn help_shows_a_flag_of_the_peer_behind_the_setting_that_does_the_same() {
    let output = Command::new(env!("CARGO_BIN_EXE_confroll")).args(["serve", "--help"]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let rows = [
        ("CONFROLL_AUTO_RELOAD_ALL", "--auto-reload-all"),
        ("CONFROLL_NAMESPACES", "--namespaces"),
        ("CONFROLL_IGNORE_NAMESPACES", "--namespaces-to-ignore"),
        ("CONFROLL_NAMESPACE_SELECTOR", "--namespace-selector"),
        ("CONFROLL_RESOURCE_LABEL_SELECTOR", "--resource-label-selector"),
        ("CONFROLL_IGNORE_CONFIGMAPS", "--resources-to-ignore=configmaps"),
        ("CONFROLL_IGNORE_SECRETS", "--resources-to-ignore=secrets"),
        ("CONFROLL_IGNORED_WORKLOAD_TYPES", "--ignored-workload-types"),
        ("CONFROLL_ENABLE_CSI_INTEGRATION", "--enable-csi-integration"),
        ("CONFROLL_AUTO_ANNOTATION", "--auto-annotation"),
        ("CONFROLL_CONFIGMAP_AUTO_ANNOTATION", "--configmap-auto-annotation"),
        ("CONFROLL_SECRET_AUTO_ANNOTATION", "--secret-auto-annotation"),
        ("CONFROLL_CONFIGMAP_ANNOTATION", "--configmap-annotation"),
        ("CONFROLL_SECRET_ANNOTATION", "--secret-annotation"),
        ("CONFROLL_AUTO_SEARCH_ANNOTATION", "--auto-search-annotation"),
        ("CONFROLL_SEARCH_MATCH_ANNOTATION", "--search-match-annotation"),
        ("CONFROLL_IGNORE_ANNOTATION", "--ignore-annotation"),
        ("CONFROLL_PAUSE_DEPLOYMENT_ANNOTATION", "--pause-deployment-annotation"),
        ("CONFROLL_PAUSE_DEPLOYMENT_TIME_ANNOTATION", "--pause-deployment-time-annotation"),
        ("CONFROLL_LOG_LEVEL", "--log-level"),
        ("CONFROLL_LOG_FORMAT", "--log-format"),
    ];
    for (variable, flag) in rows {
        let beside = |line: &str| line.split_whitespace().eq([variable, flag]);
        assert!(text.lines().any(beside), "{variable} {flag}");
    }
    let keys = format!("{:?}", confroll::reload::annotation_keys::AnnotationKeys::default());
    for key in keys.split('"').filter(|text| text.contains('/')) {
        assert!(text.contains(&format!("[{key}]")), "{key}");
    }
}

#[test]
fn a_level_of_the_peers_log_is_read() {
    for level in ["warning", "Fatal", "panic", "TRACE"] {
        let text = refusal(&[("CONFROLL_LOG_LEVEL", level), ("HOME", "/nonexistent")]);
        assert!(text.lines().last().unwrap().contains("KUBECONFIG"), "it gets as far as the cluster: {text}");
    }
}

#[test]
fn a_setting_of_a_sink_that_cannot_be_read_or_has_no_effect_stops_the_start() {
    let rows = [
        ("slack", "CONFROLL_WEBHOOK_URL", "http://hunter2.example/", "https"),
        ("slack", "CONFROLL_WEBHOOK_URL", "https://hooks.slack.com/triggers/hunter2", "Workflow Builder"),
        ("teams", "CONFROLL_WEBHOOK_URL", "https://hooks.slack.com/services/hunter2", "confroll sink slack"),
        ("slack", "CONFROLL_DESTINATIONS", "/no/such/hunter2", "folder that cannot be read"),
        ("slack", "CONFROLL_BATCH_WINDOW", "6s", "5s at most"),
        ("slack", "CONFROLL_BATCH_WINDOW", "hunter2", "250ms"),
        ("webhook", "CONFROLL_BATCH_WINDOW", "1s", "has no effect"),
        ("slack", "CONFROLL_PREFIX", "hunter2\nhunter2", "one line"),
        ("webhook", "CONFROLL_PREFIX", "hunter2", "has no effect"),
        ("slack", "CONFROLL_MENTION_ON_FAILURE", "@hunter2", "<!subteam^ID>"),
        ("teams", "CONFROLL_MENTION_ON_FAILURE", "<!here>", "only Slack and Google Chat"),
        ("slack", "CONFROLL_SHOW_KEYS", "hunter2", "none, configmap nor all"),
        ("slack", "CONFROLL_THREAD_BY", "workload", "only Google Chat"),
        ("google-chat", "CONFROLL_THREAD_BY", "hunter2", "none, workload nor source"),
        ("webhook", "CONFROLL_EVENT_MODE", "hunter2", "structured nor binary"),
        ("slack", "CONFROLL_EVENT_MODE", "binary", "confroll sink webhook"),
        ("slack", "CONFROLL_SIGNING_KEY_FILE", "/no/such/hunter2", "confroll sink webhook"),
        ("webhook", "CONFROLL_SIGNING_KEY_FILE", "/no/such/hunter2", "cannot be read"),
        ("webhook", "CONFROLL_SIGNING_KEY_FILE", "/dev/null", "whsec_"),
        ("slack", "CONFROLL_PROXY", "hunter2", "http://HOST:PORT"),
        ("slack", "CONFROLL_EXTRA_CA_FILE", "/no/such/hunter2", "cannot be read"),
        ("slack", "CONFROLL_EXTRA_CA_FILE", "/dev/null", "without certificates"),
        ("slack", "CONFROLL_LONGEST_BODY", "1MiB", "number"),
        ("slack", "CONFROLL_CLUSTER", "prod", "confroll sink --help"),
    ];
    for (kind, variable, value, says) in rows {
        let url = ("CONFROLL_WEBHOOK_URL", "https://chat.example/hunter2");
        let text = refusal_of(&["sink", kind], &[url, (variable, value)]);
        assert_eq!(text.lines().count(), 1, "{kind} {variable}: {text}");
        assert!(text.contains(variable) && text.contains(says), "{kind} {variable}: {text}");
        assert!(!text.contains("hunter2"), "{kind} {variable}: {text}");
    }
    let nowhere = refusal_of(&["sink", "slack"], &[]);
    assert!(nowhere.contains("CONFROLL_DESTINATIONS is not set, nor is CONFROLL_WEBHOOK_URL"), "{nowhere}");
}

#[test]
fn a_sink_without_a_usable_destination_does_not_start_and_says_what_is_wrong_with_each() {
    let folder = confroll_stack::RunFolder::new().unwrap();
    let variables = [("CONFROLL_DESTINATIONS", folder.path().to_str().unwrap())];
    assert!(refusal_of(&["sink", "slack"], &variables).contains("the folder is empty"));
    std::fs::write(folder.path().join("team-a"), "hunter2").unwrap();
    std::fs::write(folder.path().join("team-b"), "").unwrap();
    std::fs::write(folder.path().join("hunter2_c"), "https://chat.example/").unwrap();
    let text = refusal_of(&["sink", "slack"], &variables);
    for says in ["team-a holds no URL", "team-b is empty", "a file whose name may only hold"] {
        assert!(text.contains(says), "{text}");
    }
    assert!(!text.contains("hunter2"), "{text}");
    std::fs::write(folder.path().join("default"), "https://chat.example/hunter2").unwrap();
    let both = [variables[0], ("CONFROLL_WEBHOOK_URL", "https://chat.example/hunter2")];
    assert!(refusal_of(&["sink", "slack"], &both).contains("keep one of them"));
}

#[test]
fn a_wrong_argument_is_refused_with_a_usage() {
    let output = Command::new(env!("CARGO_BIN_EXE_confroll")).arg("--sevre").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("Usage"));
}
