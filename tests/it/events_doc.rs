//! docs/events.md is the contract: what is sent is what it says.

use confroll::reload::link::LinkTemplate;
use confroll_stack::RecordingSink;
use serde_json::{Value, json};

use crate::fake_cluster::{FakeCluster, status};
use crate::sample_events::kinds_of_messages;
use crate::support::{Function, config_map, told, workload_using};

/// The schema in the document: its one JSON block that has a `$schema`.
pub(crate) fn schema() -> Value {
    let text = include_str!("../../docs/events.md");
    let block = text.split("```json\n").find(|block| block.contains("\"$schema\"")).unwrap();
    serde_json::from_str(block.split_once("\n```").unwrap().0).unwrap()
}

fn workload_named(annotations: Value) -> Value {
    let mut workload = workload_using(&["app"]);
    workload["metadata"]["annotations"] = annotations;
    workload
}

#[tokio::test]
async fn every_kind_of_reload_event_is_as_documented() {
    let cluster = FakeCluster::default();
    cluster.put("configmaps/app", config_map("1"));
    cluster.put("deployments/auto", workload_using(&["app"]));
    cluster.put("statefulsets/named", workload_named(json!({ "configmap.reloader.stakater.com/reload": "app" })));
    cluster.put("daemonsets/refused", workload_using(&["app"]));
    cluster.on_request(|method, uri| {
        (method == "PATCH" && uri.contains("/refused?")).then(|| status(422, &"x".repeat(999)))
    });
    let sink = RecordingSink::start().await.unwrap();
    let mut settings = Function::settings_telling(&sink);
    settings.link = LinkTemplate::parse("https://pages.example/{cluster}/{namespace}/{kind}?name={name}");
    let function = Function::with(&cluster, settings).await;
    cluster.put("configmaps/app", json!({ "metadata": {}, "data": { "a": "hunter2", "b": "hunter2" } }));
    function.updated("ConfigMap", "app").await;

    let schema = jsonschema::validator_for(&schema()).unwrap();
    let events = told(&sink);
    assert_eq!(events.len(), 3);
    for event in &events {
        let data = &event.data;
        let errors: Vec<_> = schema.iter_errors(data).map(|error| error.to_string()).collect();
        assert_eq!(errors, Vec::<String>::new(), "{data}");
        assert!(!data.to_string().contains("hunter2"), "{data}");
        assert_eq!(data["sources"][0]["keys"], json!({ "added": ["b"], "changed": ["a"], "removed": [] }));
        let failed = data["outcome"] == "failed";
        assert_eq!(event.extension("severity"), if failed { "error" } else { "info" });
        assert_eq!(
            event.event_type,
            if failed { "dev.confroll.workload.reload-failed.v1" } else { "dev.confroll.workload.reloaded.v1" }
        );
        assert_eq!(event.source, "/clusters/default/namespaces/shop");
        let name = data["workload"]["name"].as_str().unwrap();
        assert_eq!(event.subject, format!("{}/{name}", data["workload"]["kind"].as_str().unwrap()));
        assert_eq!(event.extension("name"), name);
        let kind = data["workload"]["kind"].as_str().unwrap();
        assert_eq!(data["link"], format!("https://pages.example/default/shop/{kind}?name={name}"));
        assert_eq!(event.extension("kind"), data["workload"]["kind"].as_str().unwrap());
        assert_eq!(
            (event.extension("namespace"), event.extension("cluster")),
            ("shop".to_owned(), "default".to_owned())
        );
    }
    let mut outcomes: Vec<_> = events.iter().map(|event| event.data["outcome"].as_str().unwrap().to_owned()).collect();
    outcomes.sort();
    assert_eq!(outcomes, ["failed", "reloaded", "reloaded"]);
}

#[test]
fn the_samples_of_the_demo_are_such_events() {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    for (kind, events) in kinds_of_messages() {
        for event in events {
            let Some(cloudevents::Data::Json(data)) = event.data() else { panic!("{kind}") };
            let errors: Vec<_> = schema.iter_errors(data).map(|error| error.to_string()).collect();
            assert_eq!(errors, Vec::<String>::new(), "{kind}: {data}");
        }
    }
}

#[test]
fn the_schema_refuses_what_is_not_documented() {
    let schema = jsonschema::validator_for(&schema()).unwrap();
    assert!(!schema.is_valid(&json!({})));
    assert!(!schema.is_valid(&json!({ "outcome": "skipped" })));
}

#[tokio::test]
async fn extensions_of_the_binding_are_added() {
    let cluster = FakeCluster::default();
    cluster.put("configmaps/app", config_map("1"));
    cluster.put("deployments/api", workload_using(&["app"]));
    let sink = RecordingSink::start().await.unwrap();
    let mut settings = Function::settings_telling(&sink);
    settings.sink.as_mut().unwrap().extensions.insert("team".to_owned(), "front".to_owned());
    let function = Function::with(&cluster, settings).await;
    cluster.put("configmaps/app", config_map("2"));
    function.updated("ConfigMap", "app").await;
    assert_eq!(told(&sink)[0].extension("team"), "front");
}
