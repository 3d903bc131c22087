//! Sources that appear and vanish: no change by themselves, unless somebody asked for it.

use confroll::edge::config::Settings;
use confroll::reload::rules::OnAbsence;
use confroll_stack::RecordingSink;

use crate::fake_cluster::FakeCluster;
use crate::support::{ChangeEvent, Function, config_map, told, workload_using};

const API: &str = "deployments/api";
const APP: &str = "configmaps/app";

struct Stage {
    cluster: FakeCluster,
    sink: RecordingSink,
    function: Function,
}

impl Stage {
    /// A workload that uses `app`, which is not there yet.
    async fn set(on_create: OnAbsence, on_delete: OnAbsence) -> Self {
        let cluster = FakeCluster::default();
        cluster.put("configmaps/other", config_map("1"));
        cluster.put(API, workload_using(&["app"]));
        let sink = RecordingSink::start().await.unwrap();
        let mut settings: Settings = Function::settings_telling(&sink);
        (settings.rules.absence.on_create, settings.rules.absence.on_delete) = (on_create, on_delete);
        let function = Function::with(&cluster, settings).await;
        Self { cluster, sink, function }
    }

    async fn event(&self, verb: &str) {
        assert_eq!(self.function.told(&ChangeEvent::of(verb, "ConfigMap", "app")).await, 202);
    }

    async fn put(&self, value: &str) {
        self.cluster.put(APP, config_map(value));
        self.event("add").await;
    }

    async fn delete(&self) {
        self.cluster.delete(APP);
        self.event("delete").await;
    }

    async fn sweep(&self) {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let id = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(self.function.swept(&id.to_string()).await, 202);
    }

    /// Rollouts, after everything was told once more and two sweeps: none of them adds any.
    async fn rollouts(&self) -> usize {
        let before = self.cluster.rollouts(API);
        for verb in ["add", "update", "delete"] {
            self.event(verb).await;
        }
        self.sweep().await;
        self.sweep().await;
        assert_eq!(self.cluster.rollouts(API), before, "a repetition rolled out");
        before
    }

    fn changes(&self) -> Vec<String> {
        told(&self.sink).iter().map(|told| told.data["sources"][0]["change"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn by_default_neither_is_a_change_and_other_content_is() {
    let stage = Stage::set(OnAbsence::Nothing, OnAbsence::Nothing).await;
    stage.put("1").await;
    stage.delete().await;
    assert_eq!(stage.rollouts().await, 0);
    stage.put("1").await;
    assert_eq!(stage.rollouts().await, 0);
    stage.delete().await;
    stage.put("2").await;
    assert_eq!((stage.rollouts().await, stage.changes()), (1, vec!["updated".to_owned()]));
}

#[tokio::test]
async fn a_source_that_appears_is_a_change_where_that_is_asked_for() {
    let stage = Stage::set(OnAbsence::Reload, OnAbsence::Nothing).await;
    assert_eq!(stage.rollouts().await, 0, "what is not there is no change");
    stage.put("1").await;
    assert_eq!((stage.rollouts().await, stage.changes()), (1, vec!["created".to_owned()]));
    // Deleted, which is none, and made again as it was.
    stage.delete().await;
    stage.put("1").await;
    assert_eq!(stage.rollouts().await, 1);
}

#[tokio::test]
async fn a_source_that_was_there_first_is_not_created_for_a_workload() {
    for is_swept in [false, true] {
        let stage = Stage::set(OnAbsence::Reload, OnAbsence::Nothing).await;
        stage.cluster.put("configmaps/first", config_map("1"));
        stage.cluster.put("deployments/late", workload_using(&["first"]));
        if is_swept {
            stage.sweep().await;
        }
        assert_eq!(stage.function.told(&ChangeEvent::of("add", "ConfigMap", "first")).await, 202);
        stage.sweep().await;
        assert_eq!(stage.cluster.rollouts("deployments/late"), 0);
    }
}

#[tokio::test]
async fn a_source_that_appeared_unseen_is_found_though_the_past_is_forgotten() {
    let stage = Stage::set(OnAbsence::Reload, OnAbsence::Nothing).await;
    stage.sweep().await;
    stage.cluster.put(APP, config_map("1"));
    stage.cluster.compact();
    stage.sweep().await;
    assert_eq!((stage.rollouts().await, stage.changes()), (1, vec!["created".to_owned()]));
}

#[tokio::test]
async fn a_source_that_vanishes_is_a_change_where_that_is_asked_for() {
    let stage = Stage::set(OnAbsence::Nothing, OnAbsence::Reload).await;
    assert_eq!(stage.rollouts().await, 0, "a source that never was has not vanished");
    stage.put("1").await;
    assert_eq!(stage.rollouts().await, 0);
    stage.delete().await;
    assert_eq!((stage.rollouts().await, stage.changes()), (1, vec!["deleted".to_owned()]));
    // It comes back as it was, which is none; and with other content, which is one.
    stage.put("1").await;
    assert_eq!(stage.rollouts().await, 1);
    stage.put("2").await;
    assert_eq!(stage.rollouts().await, 2);
    stage.delete().await;
    assert_eq!(stage.rollouts().await, 3);
    stage.put("3").await;
    assert_eq!(stage.rollouts().await, 4);
}

#[tokio::test]
async fn a_source_that_nobody_remembers_has_vanished_if_the_past_says_so() {
    let stage = Stage::set(OnAbsence::Nothing, OnAbsence::Reload).await;
    stage.cluster.put("configmaps/gone", config_map("1"));
    stage.cluster.put("deployments/before", workload_using(&["gone"]));
    // It was there for a while, or looks into the past would leap over it.
    (0..100).for_each(|n| stage.cluster.put("configmaps/other", config_map(&n.to_string())));
    stage.cluster.delete("configmaps/gone");
    stage.cluster.put("deployments/after", workload_using(&["gone"]));
    (0..5).for_each(|n| stage.cluster.put("configmaps/other", config_map(&n.to_string())));
    assert_eq!(stage.function.told(&ChangeEvent::of("delete", "ConfigMap", "gone")).await, 202);
    stage.sweep().await;
    let rollouts = ["deployments/before", "deployments/after"].map(|key| stage.cluster.rollouts(key));
    assert_eq!(rollouts, [1, 0]);
}

#[tokio::test]
async fn a_deletion_that_nobody_told_is_found_by_a_sweep() {
    let stage = Stage::set(OnAbsence::Nothing, OnAbsence::Reload).await;
    stage.put("1").await;
    stage.sweep().await;
    stage.cluster.delete(APP);
    stage.cluster.compact();
    stage.sweep().await;
    assert_eq!(stage.rollouts().await, 1);
}

#[tokio::test]
async fn a_source_that_says_never_may_come_and_go() {
    let stage = Stage::set(OnAbsence::Reload, OnAbsence::Reload).await;
    let mut ignored = config_map("1");
    ignored["metadata"]["annotations"] = serde_json::json!({ "reloader.stakater.com/ignore": "true" });
    stage.cluster.put(APP, ignored);
    stage.event("add").await;
    stage.sweep().await;
    stage.delete().await;
    assert_eq!(stage.rollouts().await, 0);
}
