//! A SecretProviderClass is rotated pod by pod, as the Secrets Store CSI driver does it, on a real API server with CRDs that
//! leave status where the driver's leave it.

use confroll_stack::RecordingSink;
use confroll_stack::object::{MERGE_PATCH, send as request};
use serde_json::json;

use crate::kind_plane::{CSI, CSI_ON, Plane, changed, status_event};
use crate::secrets_stage::{Shop, Stage, Step, mounting, orders, plain, play};
use crate::support::{told, until};

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_rotate_at_different_moments_are_one_rollout_in_every_order() {
    let stage = Stage::set(&[CSI_ON]).await;
    let later = [Step::Rotates("b"), Step::Goes("a"), Step::Starts("d"), Step::IsLabelled("c")];
    for order in orders(&later) {
        let shop = stage.shop().await;
        shop.class("vault", json!({})).await;
        for pod in ["a", "b", "c"] {
            shop.mounts(pod, "vault", "1").await;
        }
        shop.api().await;
        shop.told("update", "b").await;
        assert_eq!(shop.rollouts("api"), 0, "nothing was rotated yet");
        play(&shop, Step::Rotates("a"), "2").await;
        assert_eq!(shop.rollouts("api"), 1, "{}", stage.function.log());
        for step in &order {
            play(&shop, *step, "2").await;
            assert_eq!(shop.rollouts("api"), 1, "{step:?} of {order:?}: {}", stage.function.log());
        }
        // The last of the old ones, and what the rollout started; then the next rotation.
        for step in [Step::Rotates("c"), Step::Starts("e"), Step::Goes("b"), Step::Goes("c")] {
            play(&shop, step, "2").await;
            assert_eq!(shop.rollouts("api"), 1, "{step:?} after {order:?}");
        }
        for (pod, times) in [("e", 2), ("d", 2)] {
            play(&shop, Step::Rotates(pod), "3").await;
            assert_eq!(shop.rollouts("api"), times, "{order:?}: {}", stage.function.log());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rotation_that_is_told_again_or_by_many_at_once_or_to_another_process_is_one_rollout() {
    let mut stage = Stage::set(&[CSI_ON]).await;
    let namespace = {
        let shop = stage.shop().await;
        shop.class("vault", json!({})).await;
        for pod in ["a", "b", "c"] {
            shop.mounts(pod, "vault", "1").await;
        }
        shop.api().await;
        for pod in ["a", "b", "c"] {
            shop.mounts(pod, "vault", "2").await;
        }
        let events = ["a", "b", "c", "a"].map(|pod| status_event("update", &shop.namespace, &format!("{pod}-vault")));
        let told = futures::future::join_all(events.iter().map(|event| stage.tell(event))).await;
        assert_eq!(told, [202; 4]);
        assert_eq!(stage.tell(&events[0]).await, 202);
        assert_eq!(shop.rollouts("api"), 1);
        shop.namespace.clone()
    };
    let told = told(&stage.sink);
    assert_eq!(told[0].data["sources"][0]["kind"], "SecretProviderClass");
    assert_eq!(told[0].data["sources"][0]["keys"]["changed"], json!(["db"]));
    stage.restart(&[CSI_ON]).await;
    let shop = Shop { stage: &stage, namespace };
    shop.told("update", "b").await;
    play(&shop, Step::IsWrittenAgain("c"), "2").await;
    stage.sweep("after").await;
    assert_eq!(shop.rollouts("api"), 1);
    // A version that was there before is as good as a new one.
    play(&shop, Step::Rotates("a"), "1").await;
    assert_eq!(shop.rollouts("api"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_with_a_version_of_their_own_each_do_not_roll_out_their_workload_again_and_again() {
    let stage = Stage::set(&[CSI_ON]).await;
    let shop = stage.shop().await;
    shop.class("vault", json!({})).await;
    shop.mounts("a", "vault", "of a").await;
    shop.api().await;
    stage.sweep("first").await;
    shop.mounts("a", "vault", "of a, later").await;
    shop.told("update", "a").await;
    assert_eq!(shop.rollouts("api"), 1);
    play(&shop, Step::Starts("b"), "of b").await;
    play(&shop, Step::Goes("a"), "").await;
    play(&shop, Step::Starts("c"), "of c").await;
    stage.sweep("second").await;
    assert_eq!(shop.rollouts("api"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn annotations_say_who_is_rolled_out_by_a_class() {
    let stage = Stage::set(&[CSI_ON]).await;
    let shop = stage.shop().await;
    shop.class("vault", json!({ "reloader.stakater.com/match": "true" })).await;
    shop.class("quiet", json!({ "reloader.stakater.com/ignore": "true" })).await;
    shop.class("plain", json!({})).await;
    let key = |name: &str| format!("secretproviderclass.reloader.stakater.com/{name}");
    let exclude = "secretproviderclasses.exclude.reloader.stakater.com/reload";
    let rows = [
        ("auto", mounting("vault"), json!({ "reloader.stakater.com/auto": "true" }), 1),
        ("typed", mounting("vault"), json!({ key("auto"): "true" }), 1),
        ("named", plain(), json!({ key("reload"): "other,vau.*" }), 1),
        ("search", mounting("vault"), json!({ "reloader.stakater.com/search": "true" }), 1),
        ("search-plain", mounting("plain"), json!({ "reloader.stakater.com/search": "true" }), 0),
        ("excluded", mounting("vault"), json!({ "reloader.stakater.com/auto": "true", exclude: "vault" }), 0),
        ("ignored", mounting("quiet"), json!({ "reloader.stakater.com/auto": "true", key("reload"): "quiet" }), 0),
        ("other-type", mounting("vault"), json!({ "secret.reloader.stakater.com/auto": "true" }), 0),
        ("unused", plain(), json!({ "reloader.stakater.com/auto": "true" }), 0),
        ("silent", mounting("vault"), json!({}), 0),
    ];
    let classes = ["vault", "quiet", "plain"];
    for class in classes {
        shop.mounts("a", class, "1").await;
    }
    for (name, pod, annotations, _) in &rows {
        shop.deployment(name, pod, annotations.clone()).await;
    }
    for class in classes {
        shop.mounts("a", class, "2").await;
        let event = status_event("update", &shop.namespace, &format!("a-{class}"));
        assert_eq!(stage.tell(&event).await, 202);
    }
    for (name, _, _, times) in rows {
        assert_eq!(shop.rollouts(name), times, "{name}");
    }
    // The class itself may be told of, too: its spec is no content, its annotations are read when they matter.
    let path = format!("{CSI}/namespaces/{}/secretproviderclasses/vault", shop.namespace);
    let edit = json!({ "spec": { "provider": "other" }, "metadata": { "annotations": { "reloader.stakater.com/ignore": "true" } } });
    request(&stage.plane.client, "PATCH", &path, MERGE_PATCH, &edit).await.unwrap();
    let mut event = status_event("update", &shop.namespace, "vault");
    event.data["kind"] = json!("SecretProviderClass");
    assert_eq!(stage.tell(&event).await, 202);
    shop.mounts("a", "vault", "3").await;
    shop.told("update", "a").await;
    assert_eq!(shop.rollouts("auto"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_acts_on_a_rotation_that_no_event_told_once_and_the_first_rolls_nothing_out() {
    let mut stage = Stage::set(&[]).await;
    let shop = stage.shop().await;
    shop.class("vault", json!({})).await;
    // Rotated before anybody looked, and before the workload was there.
    shop.mounts("a", "vault", "0").await;
    shop.mounts("a", "vault", "1").await;
    shop.mounts("b", "vault", "1").await;
    stage.plane.source(&shop.namespace, "ConfigMap", "app", "1").await;
    let mut pod = mounting("vault");
    pod["containers"][0]["envFrom"] = json!([{ "configMapRef": { "name": "app" } }]);
    shop.deployment("api", &pod, json!({ "reloader.stakater.com/auto": "true" })).await;
    // A record without the class, as the setting is off.
    stage.plane.source(&shop.namespace, "ConfigMap", "app", "2").await;
    changed(&stage.function, &shop.namespace, "ConfigMap", "app").await;
    assert_eq!(shop.rollouts("api"), 1);
    assert!(!shop.record("api").await.contains("SecretProviderClass"));

    let namespace = shop.namespace;
    stage.restart(&[CSI_ON]).await;
    let shop = Shop { stage: &stage, namespace };
    stage.sweep("first").await;
    assert_eq!(shop.rollouts("api"), 1);
    assert!(shop.record("api").await.contains("SecretProviderClass/vault"));
    shop.mounts("b", "vault", "2").await;
    for (id, steps) in [
        ("second", vec![]),
        ("third", vec![]),
        ("fourth", vec![Step::Rotates("a")]),
        ("fifth", vec![Step::Goes("a"), Step::Starts("c"), Step::Goes("b")]),
    ] {
        for step in steps {
            play(&shop, step, "2").await;
        }
        stage.sweep(id).await;
        assert_eq!(shop.rollouts("api"), 2, "{id}: {}", stage.function.log());
    }
    // All pods are new: that leaves nothing to be noted, and the next sweep nothing to do.
    let version = shop.get("api").await["metadata"]["resourceVersion"].clone();
    stage.sweep("sixth").await;
    assert_eq!(shop.get("api").await["metadata"]["resourceVersion"], version);
    shop.mounts("c", "vault", "3").await;
    stage.sweep("seventh").await;
    assert_eq!(shop.rollouts("api"), 3);
}

/// Rolls `api` out by a ConfigMap, and gives back its record: everything before it was acted on.
async fn by_config_map(shop: &Shop<'_>) -> String {
    let (stage, namespace) = (shop.stage, &shop.namespace);
    stage.plane.source(namespace, "ConfigMap", "app", "1").await;
    let mut pod = mounting("vault");
    pod["containers"][0]["envFrom"] = json!([{ "configMapRef": { "name": "app" } }]);
    shop.deployment("api", &pod, json!({ "reloader.stakater.com/auto": "true" })).await;
    stage.plane.source(namespace, "ConfigMap", "app", "2").await;
    changed(&stage.function, namespace, "ConfigMap", "app").await;
    stage.sweep("any").await;
    assert_eq!(shop.rollouts("api"), 1);
    shop.record("api").await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_class_is_nothing_where_the_setting_is_off() {
    let stage = Stage::set(&[]).await;
    let shop = stage.shop().await;
    shop.class("vault", json!({})).await;
    shop.mounts("a", "vault", "1").await;
    let by_name = json!({ "secretproviderclass.reloader.stakater.com/reload": "vault" });
    shop.deployment("by-name", &mounting("vault"), by_name).await;
    shop.mounts("a", "vault", "2").await;
    let mut of_class = status_event("update", &shop.namespace, "vault");
    of_class.data["kind"] = json!("SecretProviderClass");
    assert_eq!(stage.tell(&of_class).await, 204);
    assert_eq!(stage.tell(&status_event("update", &shop.namespace, "a-vault")).await, 204);
    assert!(!by_config_map(&shop).await.contains("SecretProviderClass"));
    assert_eq!(shop.rollouts("by-name"), 0);
    let requests = stage.plane.requests_of_confroll().await;
    let for_classes: Vec<_> = requests.iter().filter(|uri| uri.contains("secrets-store")).collect();
    assert!(for_classes.is_empty(), "{for_classes:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_driver_is_not_installed_the_setting_costs_one_look_and_no_error() {
    let stage = Stage::on(Plane::start().await, &[CSI_ON]).await;
    let shop = stage.shop().await;
    assert!(!by_config_map(&shop).await.contains("SecretProviderClass"));
    let requests = stage.plane.requests_of_confroll().await;
    let for_classes: Vec<_> = requests.iter().filter(|uri| uri.contains("secrets-store")).collect();
    assert_eq!(for_classes, [CSI]);
    // Forged, or told before the driver was uninstalled.
    shop.told("update", "a").await;
    assert!(!stage.function.log().contains("ERROR"), "{}", stage.function.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_many_pods_have_mounted_is_read_page_by_page_and_the_past_of_it_too() {
    let stage = Stage::set(&[CSI_ON]).await;
    let shop = stage.shop().await;
    shop.class("vault", json!({})).await;
    let pods: Vec<String> = (0..520).map(|number| format!("p{number}")).collect();
    for some in pods.chunks(20) {
        futures::future::join_all(some.iter().map(|pod| shop.mounts(pod, "vault", "1"))).await;
    }
    // On the second page: rotated before the workload is there.
    shop.mounts("z", "vault", "1").await;
    shop.mounts("z", "vault", "2").await;
    shop.api().await;
    play(&shop, Step::IsWrittenAgain("z"), "2").await;
    assert_eq!(shop.rollouts("api"), 0, "{}", stage.function.log());
    play(&shop, Step::Rotates("z"), "3").await;
    assert_eq!(shop.rollouts("api"), 1, "{}", stage.function.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watcher_waits_without_an_error_for_a_driver_that_is_installed_later() {
    let plane = Plane::start().await;
    let sink = RecordingSink::start().await.unwrap();
    let watcher = plane.watcher(&sink, &[CSI_ON, ("CONFROLL_LOG_LEVEL", "debug")]).await;
    until(|| async { watcher.log().contains("what is to be watched is not installed") }).await;
    plane.install_secrets_store().await;
    let stage = Stage { plane, sink, function: watcher };
    let shop = stage.shop().await;
    shop.class("vault", json!({})).await;
    shop.mounts("a", "vault", "1").await;
    shop.api().await;
    // Whether the watch or the sweep at its start sees it.
    shop.mounts("a", "vault", "2").await;
    until(|| async { shop.rollouts("api") == 1 }).await;
    shop.mounts("b", "vault", "2").await;
    shop.mounts("a", "vault", "3").await;
    until(|| async { shop.rollouts("api") == 2 }).await;
    assert!(!stage.function.log().contains("ERROR"), "{}", stage.function.log());
}
