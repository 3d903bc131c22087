//! Every kind of workload, by every strategy, with every kind of source and way to use it, on a real API server with the
//! real CRDs where somebody ships them.

use confroll::reload::workload_kind::{Controller, WORKLOAD_KINDS, WorkloadKind};
use confroll_stack::RecordingSink;
use confroll_stack::object::{JSON, MERGE_PATCH, send as request};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::fixtures::{FURTHER_KINDS, differences, kinds, may_change, workload};
use crate::kind_plane::{Plane, changed};
use crate::support::{ReloadEvent, told};

/// The ways to use a source, with what they add to a pod of one container.
fn ways(source_kind: &str, source: &str) -> Vec<(&'static str, Value)> {
    let is_secret = source_kind == "Secret";
    let (key_ref, env_ref, field, name) = if is_secret {
        ("secretKeyRef", "secretRef", "secret", "secretName")
    } else {
        ("configMapKeyRef", "configMapRef", "configMap", "name")
    };
    let pod = |container: Value, volumes: Value| {
        let mut main = json!({ "name": "main", "image": "shop" });
        container.as_object().unwrap().iter().for_each(|(key, value)| main[key] = value.clone());
        json!({ "containers": [main], "volumes": volumes })
    };
    let mount = json!({ "volumeMounts": [{ "name": "v", "mountPath": "/v" }] });
    vec![
        (
            "env",
            pod(
                json!({ "env": [{ "name": "A", "valueFrom": { key_ref: { "name": source, "key": "a" } } }] }),
                json!([]),
            ),
        ),
        ("env-from", pod(json!({ "envFrom": [{ env_ref: { "name": source } }] }), json!([]))),
        ("volume", pod(mount.clone(), json!([{ "name": "v", field: { name: source } }]))),
        (
            "projected",
            pod(mount, json!([{ "name": "v", "projected": { "sources": [{ field: { "name": source } }] } }])),
        ),
        ("named", pod(json!({}), json!([]))),
    ]
}

/// A case of the table.
struct Case {
    kind: &'static WorkloadKind,
    strategy: &'static str,
    source_kind: &'static str,
    name: String,
    before: Value,
}

impl Case {
    async fn create(plane: &Plane, namespace: &str, kind: &'static WorkloadKind) -> Vec<Self> {
        let mut cases = Vec::new();
        for strategy in ["annotations", "env-vars", "restart"] {
            for source_kind in ["ConfigMap", "Secret"] {
                for (way, pod) in ways(source_kind, "app") {
                    let name = format!("{way}-{strategy}-{}", source_kind.to_lowercase());
                    let mut object = workload(kind, &name, &pod);
                    let annotations = &mut object["metadata"]["annotations"];
                    annotations["reloader.stakater.com/rollout-strategy"] = json!(strategy);
                    if way == "named" {
                        annotations[format!("{}.reloader.stakater.com/reload", source_kind.to_lowercase())] =
                            json!("app");
                    }
                    let before = plane.create(kind, namespace, &object).await;
                    cases.push(Self { kind, strategy, source_kind, name, before });
                }
            }
        }
        cases
    }

    /// What the peer's users look for.
    fn check_mark(&self, template: &Value) {
        let annotation = |key: &str| template["metadata"]["annotations"][key].as_str().unwrap_or_default();
        match self.strategy {
            "annotations" => {
                let mark: Value = serde_json::from_str(annotation("reloader.stakater.com/last-reloaded-from")).unwrap();
                let expected = (json!(self.source_kind.to_uppercase()), json!("app"), json!(["main"]));
                assert_eq!((mark["type"].clone(), mark["name"].clone(), mark["containerRefs"].clone()), expected);
            }
            "env-vars" => {
                let env = template["spec"]["containers"][0]["env"].as_array().unwrap();
                let name = format!("STAKATER_APP_{}", self.source_kind.to_uppercase());
                let values: Vec<_> =
                    env.iter().filter(|it| it["name"] == name).map(|it| it["value"].as_str().unwrap()).collect();
                assert!(values.len() == 1 && values[0].len() == 32, "{}: {env:?}", self.name);
            }
            _ => {
                assert!(annotation("kubectl.kubernetes.io/restartedAt").starts_with("20"), "{}: {template}", self.name);
            }
        }
        assert_eq!(annotation("theirs"), "kept");
    }

    /// Rolled out once: marked as the peer's users expect it, and nothing else is another.
    fn check(&self, after: &Value, jobs: &[Value]) {
        let (kind, allowed) = (self.kind, may_change(self.kind, self.strategy));
        for path in differences(&self.before, after) {
            let is_allowed = allowed.iter().any(|allowed| path == *allowed || path.starts_with(&format!("{allowed}/")));
            assert!(is_allowed, "{kind} {}: {path} is another: {after}", self.name);
        }
        let template = kind.template_path.iter().fold(after, |inner, step| &inner[step]);
        match kind.controller {
            Controller::CronJob => {
                let own: Vec<_> = jobs
                    .iter()
                    .filter(|job| job["metadata"]["ownerReferences"][0]["uid"] == after["metadata"]["uid"])
                    .collect();
                assert_eq!(own.len(), 1, "{}", self.name);
                let metadata = &own[0]["metadata"];
                assert_eq!(metadata["annotations"]["cronjob.kubernetes.io/instantiate"], "manual");
                assert_eq!(
                    (&metadata["annotations"]["theirs"], &metadata["labels"]["of"]),
                    (&json!("too"), &json!("template"))
                );
                assert_eq!(
                    (&metadata["ownerReferences"][0]["controller"], &own[0]["spec"]["backoffLimit"]),
                    (&json!(true), &json!(1))
                );
                self.check_mark(&own[0]["spec"]["template"]);
            }
            Controller::ArgoRollouts if self.strategy == "restart" => {
                assert!(after["spec"]["restartAt"].as_str().unwrap().starts_with("20"), "{}", self.name);
            }
            Controller::Job => {
                assert_ne!(after["metadata"]["uid"], self.before["metadata"]["uid"], "{}", self.name);
                self.check_mark(template);
            }
            _ => self.check_mark(template),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_rolls_out_by_every_strategy_for_every_source_and_way_to_use_it_and_nothing_else_changes() {
    let plane = Plane::with_all_kinds().await;
    let sink = RecordingSink::start().await.unwrap();
    let function = plane.function(&sink, &[("CONFROLL_KINDS", &FURTHER_KINDS.join(","))]).await;
    let jobs = WORKLOAD_KINDS.iter().find(|kind| kind.controller == Controller::Job).unwrap();
    for kind in kinds() {
        let namespace = plane.namespace().await;
        for source_kind in ["ConfigMap", "Secret"] {
            plane.source(&namespace, source_kind, "app", "1").await;
        }
        let cases = Case::create(&plane, &namespace, kind).await;
        for source_kind in ["ConfigMap", "Secret"] {
            plane.source(&namespace, source_kind, "app", "2").await;
        }
        join_all(["ConfigMap", "Secret"].map(|kind| changed(&function, &namespace, kind, "app"))).await;
        let run = request(&plane.client, "GET", &jobs.collection_path(&namespace), JSON, &json!({})).await.unwrap();
        let mut after = Vec::new();
        for case in &cases {
            let object = plane.get(kind, &namespace, &case.name).await;
            case.check(&object, run["items"].as_array().unwrap());
            after.push(object);
        }
        // The same told again, and a label of the source: nothing is written at all.
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/app");
        request(&plane.client, "PATCH", &path, MERGE_PATCH, &json!({ "metadata": { "labels": { "a": "b" } } }))
            .await
            .unwrap();
        join_all(["ConfigMap", "Secret"].map(|kind| changed(&function, &namespace, kind, "app"))).await;
        for (case, after) in cases.iter().zip(&after) {
            let now = plane.get(kind, &namespace, &case.name).await;
            assert_eq!(
                now["metadata"]["resourceVersion"], after["metadata"]["resourceVersion"],
                "{kind} {}",
                case.name
            );
        }
        let of_kind = |event: &&ReloadEvent| event.source.ends_with(&format!("/namespaces/{namespace}"));
        let told = told(&sink);
        assert_eq!(told.iter().filter(of_kind).count(), cases.len(), "{kind}");
        for event in told.iter().filter(of_kind) {
            assert_eq!(
                (event.data["outcome"].clone(), event.data["workload"]["kind"].clone()),
                (json!("reloaded"), json!(kind.kind))
            );
        }
    }
}
