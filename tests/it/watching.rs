//! `confroll watch`: no Knative, any number of replicas, each change rolled out once and told once.

use std::collections::BTreeSet;

use confroll_chat_double::{ChatDouble, Service};
use confroll_stack::Function;
use confroll_stack::object::{JSON, MERGE_PATCH, send};
use futures::future::join_all;
use http::StatusCode;
use serde_json::{Value, json};

use crate::shop::{Shop, watcher, workload};
use crate::sink::http;
use crate::support::{told, until};

const RECORD: &str = "confroll.dev/observed";

fn named(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("w{n}")).collect()
}

/// How many reloads a process told a chat service.
async fn posted(replica: &Function) -> usize {
    let metrics = http().get(format!("{}/metrics", replica.url())).send().await.unwrap().text().await.unwrap();
    let posted = metrics
        .lines()
        .find(|line| line.starts_with("confroll_notifications_total{") && line.contains("outcome=\"posted\""));
    posted.map_or(0, |line| line.rsplit_once(' ').unwrap().1.parse().unwrap())
}

/// Workloads that use a ConfigMap each, and one that uses a Secret.
async fn shop(count: usize) -> Shop {
    let mut objects = vec![
        ("secrets/db".to_owned(), json!({ "stringData": { "a": "0" } })),
        (
            "deployments/marker".to_owned(),
            workload("marker", &json!({ "main": { "envFrom": [{ "secretRef": { "name": "db" } }] } })),
        ),
    ];
    for name in named(count) {
        let env_from = json!([{ "configMapRef": { "name": name } }]);
        objects.push((format!("configmaps/{name}"), json!({ "data": { "a": "0" } })));
        objects.push((format!("deployments/{name}"), workload(&name, &json!({ "main": { "envFrom": env_from } }))));
    }
    let objects: Vec<_> = objects.iter().map(|(key, object)| (key.as_str(), object.clone())).collect();
    Shop::unattended(&objects).await
}

async fn replicas(shop: &Shop, count: usize, env: &[(&'static str, &str)]) -> Vec<Function> {
    let replicas = join_all((0..count).map(|_| watcher(&shop.namespace, env))).await;
    // A sweep at the start notes what each workload runs on, so all of them watch by then.
    for replica in &replicas {
        until(|| async { replica.log().contains("a sweep looked at") }).await;
    }
    replicas
}

impl Shop {
    /// A later change of something else was acted on, so everything before it was.
    async fn marked(&self, times: usize) {
        self.patch("secrets/db", json!({ "stringData": { "a": times.to_string() } })).await;
        self.rolled_out("deployments/marker", times).await;
    }

    async fn record(&self, name: &str) -> Value {
        let workload = self.get(&format!("deployments/{name}")).await;
        let record = workload["metadata"]["annotations"][RECORD].as_str().unwrap_or("null");
        serde_json::from_str(record).unwrap()
    }

    /// Has the API server refuse changes of the pod template of `w0`, by a policy.
    async fn refuse_templates(&self) {
        let metadata = json!({ "name": format!("no-{}", self.namespace) });
        let policy = json!({
            "metadata": metadata,
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {
                    "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": self.namespace } },
                    "resourceRules": [{
                        "apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"],
                        "resources": ["deployments"], "resourceNames": ["w0"],
                    }],
                },
                "validations": [{ "expression": "object.spec.template == oldObject.spec.template", "message": "not on Fridays" }],
            },
        });
        let binding = json!({
            "metadata": metadata,
            "spec": { "policyName": metadata["name"], "validationActions": ["Deny"] },
        });
        let root = "/apis/admissionregistration.k8s.io/v1";
        for (plural, object) in
            [("validatingadmissionpolicies", policy), ("validatingadmissionpolicybindings", binding)]
        {
            send(&self.client, "POST", &format!("{root}/{plural}"), JSON, &object).await.unwrap();
        }
        // It takes effect some time later.
        let path = format!("/apis/apps/v1/namespaces/{}/deployments/w0?dryRun=All", self.namespace);
        let change = json!({ "spec": { "template": { "metadata": { "labels": { "x": "y" } } } } });
        until(|| async { send(&self.client, "PATCH", &path, MERGE_PATCH, &change).await.is_err() }).await;
    }

    /// Nobody has anything to tell any more.
    async fn all_told(&self, names: &[String]) {
        for name in names {
            until(|| async { self.record(name).await["untold"].is_null() }).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_rolls_out_once_and_a_label_nothing_and_a_start_nothing() {
    let shop = shop(1).await;
    let first = replicas(&shop, 1, &[("K_SINK", shop.sink.url())]).await;
    shop.marked(1).await;
    assert_eq!(shop.rollouts("deployments/w0"), 0, "a start rolls nothing out");
    shop.patch("configmaps/w0", json!({ "data": { "a": "1" } })).await;
    shop.rolled_out("deployments/w0", 1).await;
    shop.patch("configmaps/w0", json!({ "metadata": { "labels": { "a": "b" } } })).await;
    shop.marked(2).await;
    assert_eq!(shop.rollouts("deployments/w0"), 1);
    shop.all_told(&["w0".to_owned(), "marker".to_owned()]).await;
    assert_eq!(told(&shop.sink).len(), 3);
    assert!(first[0].stop().await.unwrap().success(), "{}", first[0].log());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changed_while_nobody_watched_is_acted_on_at_the_next_start() {
    let shop = shop(3).await;
    let first = replicas(&shop, 1, &[]).await;
    until(|| async { shop.record("w0").await["sources"]["ConfigMap/w0"].is_object() }).await;
    assert!(first[0].stop().await.unwrap().success());
    shop.patch("configmaps/w0", json!({ "data": { "a": "1" } })).await;
    let _second = replicas(&shop, 1, &[]).await;
    shop.rolled_out("deployments/w0", 1).await;
    shop.marked(1).await;
    assert_eq!([1, 2].map(|n| shop.rollouts(&format!("deployments/w{n}"))), [0, 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn three_replicas_roll_out_a_burst_once_and_tell_it_once_though_one_is_killed_in_the_middle() {
    const COUNT: usize = 200;
    let shop = shop(COUNT).await;
    let (names, env) = (named(COUNT), [("K_SINK", shop.sink.url()), ("CONFROLL_SYNC_PERIOD", "5s")]);
    let replicas = replicas(&shop, 3, &env).await;
    for name in &names {
        shop.patch(&format!("configmaps/{name}"), json!({ "data": { "a": "1" } })).await;
        if name == "w100" {
            replicas[1].kill();
        }
    }
    for name in &names {
        shop.rolled_out(&format!("deployments/{name}"), 1).await;
    }
    shop.marked(1).await;
    // What the killed one did not tell, another does when its time is over.
    shop.all_told(&names).await;
    for name in &names {
        assert_eq!(shop.rollouts(&format!("deployments/{name}")), 1, "{name}");
    }
    let told: Vec<String> = told(&shop.sink).into_iter().map(|event| event.id).collect();
    let ids: BTreeSet<&String> = told.iter().collect();
    assert_eq!(ids.len(), COUNT + 1);
    // A process that dies between the answer and its note cannot say that it has told.
    assert!(told.len() <= COUNT + 1 + 32, "{}", told.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_tell_a_chat_service_each_rollout_once_and_show_no_url() {
    let (shop, chat) = (shop(20).await, ChatDouble::start().await.unwrap());
    let url = chat.webhook_url(Service::Slack, "alerts");
    let env = [("ALERT_ON_RELOAD", "true"), ("ALERT_SINK", "slack"), ("ALERT_WEBHOOK_URL", url.as_str())];
    let replicas = replicas(&shop, 3, &env).await;
    let names = named(20);
    for name in &names {
        shop.patch(&format!("configmaps/{name}"), json!({ "data": { "a": "1" } })).await;
    }
    for name in &names {
        shop.rolled_out(&format!("deployments/{name}"), 1).await;
    }
    shop.all_told(&names).await;
    let posted = join_all(replicas.iter().map(posted)).await;
    assert_eq!(posted.iter().sum::<usize>(), names.len(), "{posted:?}");
    assert!(!chat.messages(Service::Slack, "alerts").is_empty());
    for replica in &replicas {
        assert!(replica.stop().await.unwrap().success(), "{}", replica.log());
        assert!(!replica.log().contains(&url), "no URL in a log");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_replica_could_not_tell_before_it_was_killed_another_tells() {
    let shop = shop(1).await;
    let replicas = replicas(&shop, 3, &[("K_SINK", shop.sink.url()), ("CONFROLL_SYNC_PERIOD", "2s")]).await;
    shop.sink.answer_with(StatusCode::SERVICE_UNAVAILABLE);
    shop.patch("configmaps/w0", json!({ "data": { "a": "1" } })).await;
    shop.rolled_out("deployments/w0", 1).await;
    let mut record = shop.record("w0").await;
    let teller = record["untold"]["by"].as_str().unwrap().to_owned();
    let is_teller = |replica: &&Function| replica.log().contains(&format!("process={teller}"));
    let teller = replicas.iter().find(is_teller).unwrap();
    teller.kill();
    until(|| async { http().get(teller.url()).send().await.is_err() }).await;
    let of_it = || told(&shop.sink).into_iter().filter(|event| event.subject.ends_with("w0")).collect::<Vec<_>>();
    let in_vain = of_it().len();
    shop.sink.answer_with(StatusCode::ACCEPTED);
    // Its time is not over: nobody tells.
    shop.marked(1).await;
    until(|| async { told(&shop.sink).iter().any(|event| event.subject.ends_with("marker")) }).await;
    assert_eq!(of_it().len(), in_vain);
    record["untold"]["until"] = json!("2020-01-01T00:00:00Z");
    shop.patch("deployments/w0", json!({ "metadata": { "annotations": { RECORD: record.to_string() } } })).await;
    shop.all_told(&["w0".to_owned()]).await;
    let told = of_it();
    assert_eq!(told.len(), in_vain + 1);
    assert!(told.iter().all(|event| event.id == told[0].id), "one id, whoever tells");
    assert_eq!(told[in_vain].data["sources"][0]["name"], "w0");
    assert_eq!(shop.rollouts("deployments/w0"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_is_told_by_one_replica_alone() {
    let shop = shop(1).await;
    let replicas = replicas(&shop, 3, &[("K_SINK", shop.sink.url()), ("CONFROLL_SYNC_PERIOD", "2s")]).await;
    shop.refuse_templates().await;
    shop.patch("configmaps/w0", json!({ "data": { "a": "1" } })).await;
    until(|| async { !told(&shop.sink).is_empty() }).await;
    // Sweeps of every replica try again, and none tells again.
    for replica in &replicas {
        let sweeps = || replica.log().matches("a sweep looked at").count();
        let before = sweeps();
        until(|| async { sweeps() >= before + 2 }).await;
    }
    let told = told(&shop.sink);
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].data["outcome"], "failed");
    assert_eq!(shop.rollouts("deployments/w0"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_at_work_when_it_is_told_to_stop_is_finished_and_told() {
    let shop = shop(50).await;
    let replicas = replicas(&shop, 1, &[("K_SINK", shop.sink.url())]).await;
    for name in named(50) {
        shop.patch(&format!("configmaps/{name}"), json!({ "data": { "a": "1" } })).await;
    }
    shop.rolled_out("deployments/w0", 1).await;
    assert!(replicas[0].stop().await.unwrap().success());
    let rolled: Vec<_> =
        named(50).into_iter().filter(|name| shop.rollouts(&format!("deployments/{name}")) > 0).collect();
    for name in &rolled {
        assert!(shop.record(name).await["untold"].is_null(), "{name}");
    }
    assert_eq!(told(&shop.sink).len(), rolled.len());
}
