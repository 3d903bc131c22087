//! What a workload's own spec and annotations make of a rollout, on a real API server.

use confroll_stack::object::{JSON, send as request};
use serde_json::{Value, json};

use crate::fixtures::{FURTHER_KINDS, workload};
use crate::kind_plane::{Plane, changed};
use crate::stage::{Stage, kind, pod};

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_whose_template_is_a_deployments_is_restarted_for_what_that_template_uses() {
    let mut stage = Stage::set(&[]).await;
    let mut of_rollout = workload(kind("Deployment"), "template", &pod());
    of_rollout["metadata"]["annotations"] = json!({});
    of_rollout["spec"]["replicas"] = json!(0);
    stage.plane.create(kind("Deployment"), &stage.namespace, &of_rollout).await;
    let mut rollout = workload(kind("Rollout"), "canary", &pod());
    rollout["spec"].as_object_mut().unwrap().remove("template");
    rollout["spec"]["workloadRef"] = json!({ "apiVersion": "apps/v1", "kind": "Deployment", "name": "template" });
    stage.plane.create(kind("Rollout"), &stage.namespace, &rollout).await;
    stage.change().await;
    let rollout = stage.get("Rollout", "canary").await;
    assert!(rollout["spec"]["restartAt"].is_string() && rollout["spec"]["template"].is_null(), "{rollout}");
    assert_eq!(stage.told_of("canary").len(), 1);
    changed(&stage.function, &stage.namespace, "ConfigMap", "app").await;
    assert_eq!(
        stage.get("Rollout", "canary").await["metadata"]["resourceVersion"],
        rollout["metadata"]["resourceVersion"]
    );
    assert!(stage.told_of("template").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_knative_service_that_names_its_revision_is_told_of_or_gets_a_new_name_where_that_is_allowed() {
    let mut stage = Stage::set(&[]).await;
    let mut named = workload(kind("Service"), "web", &pod());
    named["spec"]["template"]["metadata"]["name"] = json!("web-mine");
    stage.plane.create(kind("Service"), &stage.namespace, &named).await;
    stage.change().await;
    let told = stage.told_of("web");
    assert!(told.len() == 1 && told[0].0 == "failed" && told[0].1.contains("CONFROLL_REVISION_NAMES"), "{told:?}");
    assert_eq!(stage.get("Service", "web").await["spec"]["template"]["metadata"]["name"], "web-mine");
    // What was refused is owed: with the setting, its event makes a new name.
    stage.function = stage.plane.function(&stage.sink, &[("CONFROLL_REVISION_NAMES", "generated")]).await;
    changed(&stage.function, &stage.namespace, "ConfigMap", "app").await;
    let first = stage.get("Service", "web").await["spec"]["template"]["metadata"]["name"].clone();
    stage.change().await;
    let second = stage.get("Service", "web").await["spec"]["template"]["metadata"]["name"].clone();
    let [first, second] = [first, second].map(|name| name.as_str().unwrap().to_owned());
    assert!(
        first.starts_with("web-") && first != "web-mine" && second.starts_with("web-") && second != first,
        "{first} {second}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_that_reaches_no_pods_by_itself_says_so() {
    let mut stage = Stage::set(&[]).await;
    stage.create("DaemonSet", "on-delete", &[]).await;
    stage
        .patch(
            "DaemonSet",
            "on-delete",
            json!({ "spec": { "updateStrategy": { "type": "OnDelete", "rollingUpdate": null } } }),
        )
        .await;
    stage.create("Deployment", "paused", &[]).await;
    stage.patch("Deployment", "paused", json!({ "spec": { "paused": true } })).await;
    stage.create("StatefulSet", "usual", &[]).await;
    stage.change().await;
    let reloaded = |note: &str| vec![("reloaded".to_owned(), note.to_owned())];
    let notes = [
        "its update strategy is OnDelete: pods restart only when they are deleted",
        "it is paused: pods restart when it is resumed",
        "",
    ];
    for (name, note) in ["on-delete", "paused", "usual"].iter().zip(notes) {
        assert_eq!(stage.told_of(name), reloaded(note), "{name}");
    }
    assert_eq!(stage.get("Deployment", "paused").await["spec"]["paused"], true);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kind_whose_crd_comes_later_is_found_without_a_restart() {
    let plane = Plane::start().await;
    let mut stage = Stage::on(plane, &[("CONFROLL_KINDS", FURTHER_KINDS[0])]).await;
    stage.create("Deployment", "marker", &[]).await;
    stage.change().await;
    assert_eq!(stage.told_of("marker").len(), 1, "kinds that are not there are no error");
    stage.plane.install(kind("Rollout")).await;
    stage.plane.install(kind("CloneSet")).await;
    stage.create("Rollout", "late", &[]).await;
    stage.create("CloneSet", "late-too", &[]).await;
    // What was not there a moment ago is taken for absent for some seconds; the marker is acted on each time.
    for _ in 0..60 {
        stage.change().await;
        if !stage.told_of("late").is_empty() && !stage.told_of("late-too").is_empty() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    }
    panic!("{}", stage.function.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn another_strategy_rolls_nothing_out_and_the_next_change_once() {
    let mut stage = Stage::set(&[]).await;
    stage.create("Deployment", "api", &[]).await;
    stage.change().await;
    let by_annotation = stage.get("Deployment", "api").await;
    for strategy in ["env-vars", "restart", "annotations"] {
        stage.function = stage.plane.function(&stage.sink, &[("CONFROLL_RELOAD_STRATEGY", strategy)]).await;
        changed(&stage.function, &stage.namespace, "ConfigMap", "app").await;
        let ping = crate::support::ChangeEvent::ping(strategy);
        ping.request(&crate::sink::http(), stage.function.url()).send().await.unwrap();
    }
    let now = stage.get("Deployment", "api").await;
    assert_eq!(now["spec"], by_annotation["spec"]);
    stage.function = stage.plane.function(&stage.sink, &[("CONFROLL_RELOAD_STRATEGY", "env-vars")]).await;
    stage.change().await;
    let now = stage.get("Deployment", "api").await;
    assert_eq!(now["metadata"]["generation"], 3);
    assert_eq!(now["spec"]["template"]["spec"]["containers"][0]["env"][0]["name"], "STAKATER_APP_CONFIGMAP");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_source_that_comes_and_goes_shows_in_every_strategy() {
    let env = [("CONFROLL_RELOAD_ON_CREATE", "true"), ("CONFROLL_RELOAD_ON_DELETE", "true")];
    let mut stage = Stage::set(&env).await;
    let strategies = ["annotations", "env-vars", "restart"];
    for strategy in strategies {
        stage.create("Deployment", strategy, &[("reloader.stakater.com/rollout-strategy", strategy)]).await;
    }
    let path = format!("/api/v1/namespaces/{}/configmaps/app", stage.namespace);
    let mut templates = Vec::new();
    for round in 0..4 {
        if round % 2 == 0 {
            request(&stage.plane.client, "DELETE", &path, JSON, &json!({})).await.unwrap();
            changed(&stage.function, &stage.namespace, "ConfigMap", "app").await;
        } else {
            stage.change().await;
        }
        for strategy in strategies {
            templates.push((strategy, stage.get("Deployment", strategy).await["spec"]["template"].clone()));
        }
        // A time in the template of the strategy restart has whole seconds.
        tokio::time::sleep(std::time::Duration::from_millis(1001)).await;
    }
    for (index, (strategy, template)) in templates.iter().enumerate().skip(strategies.len()) {
        assert_ne!(*template, templates[index - strategies.len()].1, "{strategy}: {templates:?}");
    }
    for strategy in strategies {
        assert_eq!(stage.told_of(strategy).len(), 4, "{strategy}");
    }
    let variable = |round: usize| templates[round * 3 + 1].1["spec"]["containers"][0]["env"][0]["value"].clone();
    assert_eq!((variable(0), variable(2)), (json!("gone"), Value::Null));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_peer_left_behind_is_adopted_and_the_next_change_rolls_out_once() {
    for strategy in ["annotations", "env-vars"] {
        let mut stage = Stage::set(&[("CONFROLL_RELOAD_STRATEGY", strategy)]).await;
        let mut object = workload(kind("Deployment"), "api", &pod());
        object["metadata"]["annotations"]["deployment.reloader.stakater.com/paused-at"] = json!("2026-01-01T00:00:00Z");
        let template = &mut object["spec"]["template"];
        let mark = r#"{"type":"CONFIGMAP","name":"app","namespace":"x","hash":"da39a3ee","containerRefs":["main"],"observedAt":1}"#;
        template["metadata"]["annotations"]["reloader.stakater.com/last-reloaded-from"] = json!(mark);
        template["spec"]["containers"][0]["env"] = json!([
            { "name": "STAKATER_APP_CONFIGMAP", "value": "da39a3ee" }, { "name": "STAKATER_GONE_SECRET", "value": "da39a3ee" }]);
        let before = stage.plane.create(kind("Deployment"), &stage.namespace, &object).await;
        let ping = crate::support::ChangeEvent::ping("first");
        ping.request(&crate::sink::http(), stage.function.url()).send().await.unwrap();
        changed(&stage.function, &stage.namespace, "ConfigMap", "app").await;
        assert_eq!(stage.get("Deployment", "api").await["spec"], before["spec"], "{strategy}");
        stage.change().await;
        let after = stage.get("Deployment", "api").await;
        assert_ne!(after["spec"], before["spec"], "{strategy}");
        changed(&stage.function, &stage.namespace, "ConfigMap", "app").await;
        assert_eq!(
            stage.get("Deployment", "api").await["metadata"]["resourceVersion"],
            after["metadata"]["resourceVersion"]
        );
        if strategy == "env-vars" {
            let env = after["spec"]["template"]["spec"]["containers"][0]["env"].as_array().unwrap();
            assert!(
                env.len() == 1 && env[0]["name"] == "STAKATER_APP_CONFIGMAP" && env[0]["value"] != "da39a3ee",
                "{env:?}"
            );
        }
    }
}
