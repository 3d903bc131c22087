//! Every kind of workload, by every strategy, with every kind of source and way to use it, on a real API server with the
//! real CRDs where somebody ships them.

use confroll::reload::workload_kind::{Controller, WORKLOAD_KINDS, WorkloadKind};
use confroll_stack::object::{JSON, MERGE_PATCH, send as request};
use confroll_stack::{Function, RecordingSink};
use futures::future::join_all;
use serde_json::{Value, json};

use crate::fixtures::{FURTHER_KINDS, differences, kinds, may_change, workload};
use crate::kind_plane::{CSI_ON, Plane, changed};
use crate::secrets_stage::{mounting, plain};
use crate::support::{ReloadEvent, told, until};

const SOURCE_KINDS: [&str; 3] = ["ConfigMap", "Secret", "SecretProviderClass"];

/// The ways to use a source, with what they add to a pod of one container.
fn ways(source_kind: &str, source: &str) -> Vec<(&'static str, Value)> {
    if source_kind == "SecretProviderClass" {
        return vec![("csi", mounting(source)), ("named", plain())];
    }
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
            for source_kind in SOURCE_KINDS {
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

/// How a change comes to be acted on.
#[derive(Clone, Copy)]
enum By {
    /// The function is told of it.
    Event,
    /// `confroll watch` sees it.
    Watch,
}

/// A namespace with every case of a kind.
struct Table<'a> {
    by: By,
    plane: &'a Plane,
    function: &'a Function,
    sink: &'a RecordingSink,
    namespace: String,
}

impl Table<'_> {
    fn told(&self) -> Vec<ReloadEvent> {
        let of_namespace = format!("/namespaces/{}", self.namespace);
        told(self.sink).into_iter().filter(|event| event.source.ends_with(&of_namespace)).collect()
    }

    /// Edits all sources and sees that acted on, for all of the workloads.
    async fn change(&self, cases: &[Case]) {
        for source_kind in SOURCE_KINDS {
            self.plane.source(&self.namespace, source_kind, "app", "2").await;
        }
        match self.by {
            By::Event => self.tell().await,
            By::Watch => {
                until(|| async { self.told().len() >= cases.len() }).await;
                for case in cases {
                    // The last write of a watcher takes its note away.
                    let path = "/metadata/annotations/confroll.dev~1observed";
                    let record = || async { self.get(case).await.pointer(path).map(Value::to_string) };
                    until(|| async { !record().await.is_some_and(|record| record.contains("untold")) }).await;
                }
            }
        }
    }

    /// Sees that everything before was acted on, though it had to come to nothing.
    async fn seen_through(&self) {
        match self.by {
            By::Event => self.tell().await,
            By::Watch => {
                let is_marker = |event: &ReloadEvent| event.data["workload"]["name"] == "marker";
                let before = self.told().iter().filter(|event| is_marker(event)).count();
                let value = format!("marked {before}");
                self.plane.source(&self.namespace, "ConfigMap", "marker", &value).await;
                until(|| async { self.told().iter().filter(|event| is_marker(event)).count() > before }).await;
            }
        }
    }

    async fn tell(&self) {
        join_all(SOURCE_KINDS.map(|kind| changed(self.function, &self.namespace, kind, "app"))).await;
    }

    async fn get(&self, case: &Case) -> Value {
        self.plane.get(case.kind, &self.namespace, &case.name).await
    }

    async fn add_marker(&self) {
        self.plane.source(&self.namespace, "ConfigMap", "marker", "0").await;
        let pod = json!({ "containers": [{ "name": "main", "image": "shop", "envFrom": [{ "configMapRef": { "name": "marker" } }] }] });
        let deployment = &WORKLOAD_KINDS[0];
        self.plane.create(deployment, &self.namespace, &workload(deployment, "marker", &pod)).await;
    }

    async fn check(&self, kind: &'static WorkloadKind) {
        let (plane, namespace) = (self.plane, &self.namespace);
        for source_kind in SOURCE_KINDS {
            plane.source(namespace, source_kind, "app", "1").await;
        }
        let cases = Case::create(plane, namespace, kind).await;
        self.add_marker().await;
        self.change(&cases).await;
        let jobs = WORKLOAD_KINDS.iter().find(|kind| kind.controller == Controller::Job).unwrap();
        let run = request(&plane.client, "GET", &jobs.collection_path(namespace), JSON, &json!({})).await.unwrap();
        let mut after = Vec::new();
        for case in &cases {
            let object = self.get(case).await;
            case.check(&object, run["items"].as_array().unwrap());
            after.push(object);
        }
        // The same told again, and a label of the source: nothing is written at all.
        let path = format!("/api/v1/namespaces/{namespace}/configmaps/app");
        let label = json!({ "metadata": { "labels": { "a": "b" } } });
        request(&plane.client, "PATCH", &path, MERGE_PATCH, &label).await.unwrap();
        self.seen_through().await;
        for (case, after) in cases.iter().zip(&after) {
            let now = self.get(case).await;
            let versions = (&now["metadata"]["resourceVersion"], &after["metadata"]["resourceVersion"]);
            assert_eq!(versions.0, versions.1, "{kind} {}", case.name);
        }
        let told = self.told();
        let told: Vec<_> = told.iter().filter(|event| event.data["workload"]["name"] != "marker").collect();
        assert_eq!(told.len(), cases.len(), "{kind}");
        for event in told {
            let said = (event.data["outcome"].clone(), event.data["workload"]["kind"].clone());
            assert_eq!(said, (json!("reloaded"), json!(kind.kind)));
        }
    }
}

async fn check_all(by: By) {
    let plane = Plane::with_all_kinds().await;
    plane.install_secrets_store().await;
    let sink = RecordingSink::start().await.unwrap();
    let further = FURTHER_KINDS.join(",");
    let env = [("CONFROLL_KINDS", further.as_str()), CSI_ON];
    let function = match by {
        By::Event => plane.function(&sink, &env).await,
        By::Watch => plane.watcher(&sink, &env).await,
    };
    for kind in kinds() {
        let namespace = plane.namespace().await;
        Table { by, plane: &plane, function: &function, sink: &sink, namespace }.check(kind).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_rolls_out_by_every_strategy_for_every_source_and_way_to_use_it_and_nothing_else_changes() {
    check_all(By::Event).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_rolls_out_in_the_same_way_where_its_sources_are_watched() {
    check_all(By::Watch).await;
}
