//! Annotations that are called otherwise, by a setting.

use serde_json::{Value, json};

use crate::fake_cluster::FakeCluster;
use crate::kind_plane::{CSI_ON, status_event};
use crate::pausing::{PAUSE, PAUSED_AT};
use crate::rotating::mount_of;
use crate::secrets_stage::mounting;
use crate::support::{Function, config_map, settings, workload_using};

/// Where an annotation stands.
#[derive(Clone, Copy, PartialEq)]
enum On {
    Workload,
    Source,
}

#[tokio::test]
async fn every_annotation_can_be_called_otherwise_and_the_usual_key_then_means_nothing() {
    use On::{Source, Workload};
    const AUTO: (&str, &str) = ("reloader.stakater.com/auto", "true");
    const SEARCH: (&str, &str) = ("reloader.stakater.com/search", "true");
    const MATCH: (&str, &str) = ("reloader.stakater.com/match", "true");
    let prefix = "reloader.stakater.com";
    // The variable, the usual key, what it is set to and on what; what else stands on workload and source; whether the
    // annotation causes a rollout or keeps one off.
    let rows = [
        ("AUTO", format!("{prefix}/auto"), "true", Workload, None, None, 1),
        ("CONFIGMAP_AUTO", format!("configmap.{prefix}/auto"), "true", Workload, None, None, 1),
        ("CONFIGMAP", format!("configmap.{prefix}/reload"), "new,old", Workload, None, None, 1),
        ("CONFIGMAP_EXCLUDE", format!("configmaps.exclude.{prefix}/reload"), "new,old", Workload, Some(AUTO), None, 0),
        ("SECRET_AUTO", format!("secret.{prefix}/auto"), "true", Workload, None, None, 1),
        ("SECRET", format!("secret.{prefix}/reload"), "new,old", Workload, None, None, 1),
        ("SECRET_EXCLUDE", format!("secrets.exclude.{prefix}/reload"), "new,old", Workload, Some(AUTO), None, 0),
        ("SECRETPROVIDERCLASS_AUTO", format!("secretproviderclass.{prefix}/auto"), "true", Workload, None, None, 1),
        ("SECRETPROVIDERCLASS", format!("secretproviderclass.{prefix}/reload"), "new,old", Workload, None, None, 1),
        (
            "SECRETPROVIDERCLASS_EXCLUDE",
            format!("secretproviderclasses.exclude.{prefix}/reload"),
            "new,old",
            Workload,
            Some(AUTO),
            None,
            0,
        ),
        ("AUTO_SEARCH", format!("{prefix}/search"), "true", Workload, None, Some(MATCH), 1),
        ("SEARCH_MATCH", format!("{prefix}/match"), "true", Source, Some(SEARCH), None, 1),
        ("IGNORE", format!("{prefix}/ignore"), "true", Source, Some(AUTO), None, 0),
        ("RELOAD", format!("{prefix}/reload"), "false", Workload, Some(AUTO), None, 0),
        ("RELOAD_DELAY", format!("{prefix}/reload-delay"), "1h", Workload, Some(AUTO), None, 0),
    ];
    for (name, usual, value, on, beside, on_source, expected) in rows {
        let variable = format!("CONFROLL_{name}_ANNOTATION");
        let kind = match name.split('_').next() {
            Some("SECRET") => "Secret",
            Some("SECRETPROVIDERCLASS") => "SecretProviderClass",
            _ => "ConfigMap",
        };
        let cluster = FakeCluster::default();
        for (name, key) in [("new", "Shop.example/Key"), ("old", usual.as_str())] {
            let annotations = |here: On, other: Option<(&str, &str)>| {
                let mine = (on == here).then_some((key, value));
                mine.into_iter().chain(other).map(|(key, value)| (key.to_owned(), json!(value))).collect::<Value>()
            };
            let source = |content: &str| json!({ "metadata": { "annotations": annotations(Source, on_source) }, "data": { "a": content } });
            let mut workload = workload_using(&[]);
            workload["metadata"]["annotations"] = annotations(Workload, beside);
            let template = &mut workload["spec"]["template"]["spec"];
            match kind {
                "SecretProviderClass" => *template = mounting(name),
                "Secret" => template["containers"][0]["envFrom"] = json!([{ "secretRef": { "name": name } }]),
                _ => template["containers"][0]["envFrom"] = json!([{ "configMapRef": { "name": name } }]),
            }
            let write = |content: &str, time: u64| {
                if kind == "SecretProviderClass" {
                    cluster.put(&format!("secretproviderclasses/{name}"), source(content));
                    return mount_of(&cluster, name, "a", content, (time, time));
                }
                cluster.put(&format!("{}s/{name}", kind.to_lowercase()), source(content));
            };
            write("MQ==", 1);
            cluster.put(&format!("deployments/{name}"), workload);
            write("Mg==", 2);
        }
        let function = Function::with(&cluster, settings(&[CSI_ON, (&variable, "Shop.example/Key")])).await;
        for name in ["new", "old"] {
            match kind {
                "SecretProviderClass" => {
                    let event = status_event("update", "shop", &format!("a-{name}"));
                    assert_eq!(function.told(&event).await, 202);
                }
                _ => function.updated(kind, name).await,
            }
        }
        let rollouts = ["new", "old"].map(|name| cluster.rollouts(&format!("deployments/{name}")));
        assert_eq!(rollouts, [expected, 1 - expected], "{variable}");
    }
}

#[tokio::test]
async fn a_pause_is_asked_for_and_noted_by_other_keys_too() {
    let cluster = FakeCluster::default();
    cluster.put("configmaps/app", config_map("1"));
    for (name, key) in [("new", "shop.example/pause"), ("old", PAUSE)] {
        let mut workload = workload_using(&["app"]);
        workload["metadata"]["annotations"][key] = json!("1h");
        cluster.put(&format!("deployments/{name}"), workload);
    }
    cluster.put("configmaps/app", config_map("2"));
    let variables = [
        ("CONFROLL_PAUSE_DEPLOYMENT_ANNOTATION", "shop.example/pause"),
        ("CONFROLL_PAUSE_DEPLOYMENT_TIME_ANNOTATION", "shop.example/paused.at"),
    ];
    Function::with(&cluster, settings(&variables)).await.updated("ConfigMap", "app").await;
    let [new, old] = ["new", "old"].map(|name| cluster.get(&format!("deployments/{name}")));
    assert_eq!((&new["spec"]["paused"], &old["spec"]["paused"]), (&json!(true), &Value::Null));
    let began = |object: &Value, key: &str| object["metadata"]["annotations"][key].is_string();
    assert!(began(&new, "shop.example/paused.at") && !began(&new, PAUSED_AT) && !began(&old, PAUSED_AT));
}
