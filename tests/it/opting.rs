//! Settings of what is rolled out, and how: each acts, and without it nothing of that happens.

use std::fs;
use std::path::Path;

use confroll::edge::serve_variables::serve_settings_help;
use serde_json::json;

use crate::fake_cluster::FakeCluster;
use crate::support::{Function, config_map, settings, workload_using};

const API: &str = "deployments/api";

/// A Deployment with these annotations whose ConfigMap has changed, and how often that rolled it out under these settings.
async fn rolled_out(annotations: &[(&str, &str)], set: &[(&str, &str)]) -> FakeCluster {
    let cluster = FakeCluster::default();
    let mut api = workload_using(&["app"]);
    api["metadata"]["annotations"] = annotations.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    cluster.put("configmaps/app", config_map("1"));
    cluster.put(API, api);
    cluster.put("configmaps/app", config_map("2"));
    let function = Function::with(&cluster, settings(set)).await;
    function.updated("ConfigMap", "app").await;
    cluster
}

#[tokio::test]
async fn all_workloads_are_reloaded_where_that_is_set_but_for_those_that_say_no() {
    const ALL: (&str, &str) = ("CONFROLL_AUTO_RELOAD_ALL", "true");
    const NO: (&str, &str) = ("reloader.stakater.com/auto", "false");
    const NEVER: (&str, &str) = ("reloader.stakater.com/reload", "false");
    let rows: [(&[_], &[_], usize); 5] = [
        (&[], &[ALL], 1),
        (&[], &[], 0),
        (&[], &[("CONFROLL_AUTO_RELOAD_ALL", "false")], 0),
        (&[NO], &[ALL], 0),
        (&[NEVER], &[ALL], 0),
    ];
    for (annotations, set, expected) in rows {
        assert_eq!(rolled_out(annotations, set).await.rollouts(API), expected, "{annotations:?} {set:?}");
    }
}

#[tokio::test]
async fn a_strategy_is_set_for_all_or_by_an_annotation_that_may_be_called_otherwise() {
    const AUTO: (&str, &str) = ("reloader.stakater.com/auto", "true");
    const USUAL: (&str, &str) = ("reloader.stakater.com/rollout-strategy", "restart");
    const RENAMED: (&str, &str) = ("shop.example/strategy", "restart");
    const CALLED: (&str, &str) = ("CONFROLL_ROLLOUT_STRATEGY_ANNOTATION", "shop.example/strategy");
    let (annotation, restart) = ("reloader.stakater.com/last-reloaded-from", "kubectl.kubernetes.io/restartedAt");
    let rows: [(&[_], &[_], &str); 6] = [
        (&[AUTO], &[], annotation),
        (&[AUTO], &[("CONFROLL_RELOAD_STRATEGY", "restart")], restart),
        (&[AUTO, USUAL], &[], restart),
        (&[AUTO, RENAMED], &[], annotation),
        (&[AUTO, RENAMED], &[CALLED], restart),
        (&[AUTO, USUAL], &[CALLED], annotation),
    ];
    for (annotations, set, expected) in rows {
        let cluster = rolled_out(annotations, set).await;
        let (_, patch) = cluster.patches().pop().unwrap();
        let marks = &patch["spec"]["template"]["metadata"]["annotations"];
        let set_marks = [annotation, restart].map(|key| !marks[key].is_null());
        assert_eq!(set_marks, [annotation == expected, restart == expected], "{annotations:?} {set:?}");
    }
}

#[test]
fn every_setting_is_named_by_a_test() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it");
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let texts: Vec<String> = files
        .filter(|path| path.extension().is_some_and(|it| it == "rs"))
        .map(|path| fs::read_to_string(path).unwrap())
        .collect();
    let help = serve_settings_help();
    let is_name = |word: &&str| word.starts_with("CONFROLL_");
    let names = help.split(|c: char| !(c.is_ascii_uppercase() || c == '_')).filter(is_name);
    for name in names {
        // renaming.rs makes the names of its rows.
        let row = name.strip_prefix("CONFROLL_").and_then(|name| name.strip_suffix("_ANNOTATION"));
        let is_named = |text: &String| {
            text.contains(&format!("\"{name}\""))
                || row.is_some_and(|row| text.contains(&format!("(\"{row}\", format!(")))
        };
        assert!(texts.iter().any(is_named), "{name}");
    }
}
