//! CronJobs and Jobs on a real API server: what runs once for a change, and what is lost half way.

use confroll_stack::object::{MERGE_PATCH, send as request};
use serde_json::{Value, json};

use crate::fixtures::workload;
use crate::kind_plane::changed;
use crate::stage::{Stage, kind, pod};
use crate::support::ChangeEvent;

#[tokio::test(flavor = "multi_thread")]
async fn a_cron_job_runs_one_job_a_change_none_while_it_is_suspended_and_none_where_its_template_is_to_change() {
    let mut stage = Stage::set(&[]).await;
    stage.create("CronJob", "run", &[]).await;
    stage.create("CronJob", "asked", &[("confroll.dev/cronjob", "run")]).await;
    stage.create("CronJob", "template", &[("confroll.dev/cronjob", "template")]).await;
    stage.create("CronJob", "suspended", &[]).await;
    stage.patch("CronJob", "suspended", json!({ "spec": { "suspend": true } })).await;
    let of = |jobs: &[Value], owner: &str| {
        jobs.iter().filter(|job| job["metadata"]["ownerReferences"][0]["name"] == owner).count()
    };
    for times in 1..=2 {
        stage.change().await;
        // The same again, from another process too: no second Job.
        changed(&stage.function, &stage.namespace, "ConfigMap", "app").await;
        let other = stage.plane.function(&stage.sink, &[]).await;
        changed(&other, &stage.namespace, "ConfigMap", "app").await;
        let jobs = stage.jobs().await;
        let counted = ["run", "asked", "template", "suspended"].map(|owner| of(&jobs, owner));
        assert_eq!(counted, [times, times, 0, 0]);
    }
    let template = stage.get("CronJob", "template").await;
    let annotations = &template["spec"]["jobTemplate"]["spec"]["template"]["metadata"]["annotations"];
    assert!(annotations["reloader.stakater.com/last-reloaded-from"].is_string(), "{template}");
    // Back to a content that a Job was run for before: that is a change too.
    stage.plane.source(&stage.namespace, "ConfigMap", "app", "1").await;
    changed(&stage.function, &stage.namespace, "ConfigMap", "app").await;
    assert_eq!(of(&stage.jobs().await, "run"), 3);
    // Resumed: the next change runs it.
    stage.patch("CronJob", "suspended", json!({ "spec": { "suspend": false } })).await;
    stage.change().await;
    assert_eq!(of(&stage.jobs().await, "suspended"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_is_made_again_as_its_annotation_says_and_never_that_of_a_cron_job() {
    let mut stage = Stage::set(&[]).await;
    let rows =
        [("plain", ""), ("again", "recreate"), ("open", "unfinished"), ("done", "unfinished"), ("never", "never")];
    for (name, word) in rows {
        let annotations = [("confroll.dev/job", word)];
        stage.create("Job", name, if word.is_empty() { &[] } else { &annotations }).await;
    }
    let cron_job = stage.create("CronJob", "nightly", &[("confroll.dev/cronjob", "template")]).await;
    let mut owned = workload(kind("Job"), "owned", &pod());
    owned["metadata"]["ownerReferences"] = json!([{ "apiVersion": "batch/v1", "kind": "CronJob", "name": "nightly",
        "uid": cron_job["metadata"]["uid"], "controller": true }]);
    stage.plane.create(kind("Job"), &stage.namespace, &owned).await;
    let path = format!("{}/done/status", kind("Job").collection_path(&stage.namespace));
    let finished = json!({ "status": { "conditions": [
        { "type": "SuccessCriteriaMet", "status": "True", "lastTransitionTime": "2026-01-01T00:00:02Z" },
        { "type": "Complete", "status": "True", "lastTransitionTime": "2026-01-01T00:00:02Z" }],
        "startTime": "2026-01-01T00:00:00Z", "completionTime": "2026-01-01T00:00:01Z", "succeeded": 1 } });
    request(&stage.plane.client, "PATCH", &path, MERGE_PATCH, &finished).await.unwrap();
    let names = ["plain", "again", "open", "done", "never", "owned"];
    let mut before = Vec::new();
    for name in names {
        before.push(stage.get("Job", name).await["metadata"]["uid"].clone());
    }
    stage.change().await;
    changed(&stage.function, &stage.namespace, "ConfigMap", "app").await;
    let mut is_new = Vec::new();
    for (name, uid) in names.iter().zip(&before) {
        is_new.push(stage.get("Job", name).await["metadata"]["uid"] != *uid);
    }
    assert_eq!(is_new, [true, true, true, false, false, false]);
    assert_eq!(stage.jobs().await.len(), names.len(), "nobody stands in any more");
    assert_eq!(stage.told_of("plain").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_was_lost_half_way_is_made_again_by_the_next_sweep() {
    a_lost_job_is_made_again_by(&ChangeEvent::ping("later")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_was_lost_half_way_is_made_again_by_the_next_event_of_its_namespace() {
    a_lost_job_is_made_again_by(&ChangeEvent::update("ConfigMap", "another")).await;
}

async fn a_lost_job_is_made_again_by(next: &ChangeEvent) {
    let mut stage = Stage::set(&[]).await;
    stage.create("Job", "kept", &[]).await;
    // A finalizer of somebody's keeps the old Job, so that it cannot be made again yet.
    stage.patch("Job", "kept", json!({ "metadata": { "finalizers": ["theirs.example/kept"] } })).await;
    stage.value += 1;
    stage.plane.source(&stage.namespace, "ConfigMap", "app", "1").await;
    let mut event = ChangeEvent::update("ConfigMap", "app");
    event.data["namespace"] = json!(stage.namespace);
    let http = crate::sink::http();
    assert_eq!(event.request(&http, stage.function.url()).send().await.unwrap().status(), 503);
    let old = stage.get("Job", "kept").await;
    assert!(old["metadata"]["deletionTimestamp"].is_string(), "{old}");
    assert_eq!(stage.jobs().await.len(), 2);
    // The process ends here, and the Job goes altogether.
    let function = stage.plane.function(&stage.sink, &[]).await;
    std::mem::replace(&mut stage.function, function).kill();
    stage.patch("Job", "kept", json!({ "metadata": { "finalizers": null } })).await;
    let mut next = next.clone();
    next.data["namespace"] = json!(stage.namespace);
    assert_eq!(next.request(&http, stage.function.url()).send().await.unwrap().status(), 202);
    let again = stage.get("Job", "kept").await;
    assert_ne!(again["metadata"]["uid"], old["metadata"]["uid"]);
    assert_eq!((again["spec"]["suspend"].clone(), stage.jobs().await.len()), (old["spec"]["suspend"].clone(), 1));
    let annotations = &again["spec"]["template"]["metadata"]["annotations"];
    assert!(annotations["reloader.stakater.com/last-reloaded-from"].is_string(), "{again}");
    assert_eq!(event.request(&http, stage.function.url()).send().await.unwrap().status(), 202);
    assert_eq!(stage.get("Job", "kept").await["metadata"]["uid"], again["metadata"]["uid"]);
    assert_eq!(stage.told_of("kept").len(), 1, "its event comes again and tells of it");
}
