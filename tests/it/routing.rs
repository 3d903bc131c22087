//! The manifests that users copy: Triggers that route by attributes, event types, and the sinks' Services.

use std::collections::BTreeSet;
use std::path::Path;

use cloudevents::{AttributesReader as _, Event};
use confroll::announce::sink_kind::SinkKind;
use confroll::edge::sink_settings::SINK_SETTINGS_HELP;
use confroll::reload::pod_status::POD_STATUSES;
use confroll::reload::source::SourceKind;
use confroll::reload::workload_kind::{Controller, WORKLOAD_KINDS};
use confroll_stack::object::{JSON, send as create};
use confroll_stack::{BrokerDelivery, Received, RecordingSink};
use serde_json::{Value, json};

use crate::sample_events::event;
use crate::shop::{SOON, stack};
use crate::sink::{http, send};

fn documents(path: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("eventing").join(path);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let whole = text.split("\n---\n").map(|document| serde_saphyr::from_str(document).unwrap());
    whole.collect()
}

fn told(cluster: &str, namespace: &str, more: &Value) -> Event {
    let mut event = event(namespace, "Deployment", &format!("of-{cluster}"), json!([]), more);
    cloudevents::AttributesWriter::set_id(&mut event, format!("{cluster}/{namespace}/{}", more.is_null()));
    event.set_extension("cluster", cluster);
    event
}

fn ids(received: &[Received]) -> BTreeSet<String> {
    received.iter().map(|received| received.event.id().to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_routes_by_failure_namespace_and_cluster_through_the_real_filter() {
    let stack = stack().await;
    let namespace = stack.control_plane.create_namespace("routed").await.unwrap();
    let broker = stack.eventing.broker(&namespace, "default", BrokerDelivery::asynchronous()).await.unwrap();
    let mut sinks = Vec::new();
    for trigger in documents("sinks/routing-example/triggers.yaml") {
        let (name, spec) = (trigger["metadata"]["name"].as_str().unwrap().to_owned(), &trigger["spec"]);
        let sink = RecordingSink::start().await.unwrap();
        let url = format!("{}{}", sink.url().trim_end_matches('/'), spec["subscriber"]["uri"].as_str().unwrap());
        let mut delivery = spec["delivery"].clone();
        delivery["deadLetterSink"] = json!({ "uri": sink.url() });
        broker.trigger(&name, spec["filters"].clone(), &url, Some(delivery)).await.unwrap();
        sinks.push((name, sink));
    }
    let failed = json!({ "message": "no" });
    let events = [
        told("prod-eu1", "shop", &Value::Null),
        told("prod-eu1", "cart", &Value::Null),
        told("prod-eu1", "kube-system", &Value::Null),
        told("prod-eu1", "kube-system", &failed),
        told("staging", "shop", &Value::Null),
        told("staging", "cart", &Value::Null),
    ];
    // It is for everybody, and comes last.
    let marker = told("prod-eu1", "shop", &failed);
    let expected = [
        ("failures-to-on-call", vec!["prod-eu1/kube-system/false"]),
        ("shop-to-its-team", vec!["prod-eu1/shop/true", "staging/shop/true"]),
        ("production-to-platform", vec!["prod-eu1/cart/true", "prod-eu1/shop/true"]),
    ];
    for event in &events {
        assert_eq!(send(&http(), &broker.url(), event).await.status, 202);
    }
    assert_eq!(sinks.len(), expected.len());
    for ((name, sink), (wanted, ids_wanted)) in sinks.iter().zip(&expected) {
        assert_eq!(name, wanted);
        sink.wait_for(|received| received.len() >= ids_wanted.len(), SOON).await.unwrap();
    }
    assert_eq!(send(&http(), &broker.url(), &marker).await.status, 202);
    for ((name, sink), (_, ids_wanted)) in sinks.iter().zip(&expected) {
        let received = sink.wait_for(|received| ids(received).contains(marker.id()), SOON).await.unwrap();
        let wanted: BTreeSet<String> =
            ids_wanted.iter().map(ToString::to_string).chain([marker.id().to_owned()]).collect();
        assert_eq!(ids(&received), wanted, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_event_types_are_those_of_the_code_and_the_api_server_takes_them() {
    let stack = stack().await;
    let namespace = stack.control_plane.create_namespace("types").await.unwrap();
    let client = stack.control_plane.client().await.unwrap();
    let types = documents("objects/event-types.yaml");
    for event_type in &types {
        let path = format!("/apis/eventing.knative.dev/v1beta3/namespaces/{namespace}/eventtypes");
        create(&client, "POST", &path, JSON, event_type).await.unwrap();
    }
    let value = |event_type: &Value, name: &str| {
        let attributes = event_type["spec"]["attributes"].as_array().unwrap().clone();
        attributes.into_iter().find(|attribute| attribute["name"] == name).unwrap()["value"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    let code = [(confroll::reload::report::RELOADED, "info"), (confroll::reload::report::RELOAD_FAILED, "error")];
    for (event_type, (name, severity)) in types.iter().zip(code) {
        assert_eq!(value(event_type, "type"), name);
        assert_eq!(value(event_type, "severity"), severity);
        assert_eq!(event_type["metadata"]["name"], name);
    }
    assert_eq!(types.len(), code.len());
}

#[test]
fn the_cluster_role_has_a_rule_for_each_kind_and_no_other() {
    let rules = confroll_stack::rights();
    let mut allowed = BTreeSet::new();
    for rule in rules.as_array().unwrap() {
        let of = |field: &str| -> Vec<&str> {
            rule[field].as_array().unwrap().iter().map(|text| text.as_str().unwrap()).collect()
        };
        for (group, resource) in
            of("apiGroups").iter().flat_map(|group| of("resources").into_iter().map(move |r| (*group, r)))
        {
            allowed.extend(of("verbs").iter().map(|verb| format!("{verb} {resource} in {group:?}")));
        }
    }
    let sources = SourceKind::ALL.iter().map(|kind| (kind.plural(), kind.group()));
    let sources = sources
        .chain([(POD_STATUSES, SourceKind::SecretProviderClass.group())])
        .flat_map(|(plural, group)| ["get", "list"].map(|verb| format!("{verb} {plural} in {group:?}")));
    let workloads = WORKLOAD_KINDS
        .iter()
        .flat_map(|kind| ["get", "list", "patch"].map(|verb| format!("{verb} {} in {:?}", kind.plural, kind.group)));
    let made_again = WORKLOAD_KINDS.iter().filter(|kind| kind.controller == Controller::Job);
    let made_again = made_again
        .flat_map(|kind| ["create", "delete"].map(|verb| format!("{verb} {} in {:?}", kind.plural, kind.group)));
    let events = ["create events in \"events.k8s.io\"".to_owned()];
    assert_eq!(allowed, sources.chain(workloads).chain(made_again).chain(events).collect());
}

#[test]
fn every_kind_of_sink_has_a_service_whose_settings_exist() {
    let service = &documents("sinks/base/service.yaml")[0];
    let container = &service["spec"]["template"]["spec"]["containers"][0];
    for variable in container["env"].as_array().unwrap() {
        assert!(SINK_SETTINGS_HELP.contains(variable["name"].as_str().unwrap()), "{variable}");
    }
    for kind in SinkKind::OFFERED.map(SinkKind::as_str) {
        let overlay = &documents(&format!("sinks/{kind}/kustomization.yaml"))[0];
        let patch: Value = serde_saphyr::from_str(overlay["patches"][0]["patch"].as_str().unwrap()).unwrap();
        let values: Vec<_> = patch.as_array().unwrap().iter().map(|step| step["value"].as_str().unwrap()).collect();
        assert_eq!(values, [&format!("confroll-{kind}"), kind, &format!("confroll-{kind}")]);
        for step in patch.as_array().unwrap() {
            let path = step["path"].as_str().unwrap().trim_end_matches("/-");
            assert!(service.pointer(path).is_some(), "{kind}: {path}");
        }
    }
}
