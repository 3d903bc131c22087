//! An API server in memory, behind a real kube client: for the faults and the order of things that a real one does
//! not make on demand. It keeps every version of every object, counts requests, checks preconditions and answers as
//! Kubernetes does; everything that a real server can show is tested on one (see reloading.rs).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::client::retry::RetryPolicy;
use serde_json::{Value, json};
use tower::retry::RetryLayer;
use tower::{BoxError, Layer as _};

/// `configmaps/app` in the namespace `shop`, `bank/configmaps/app` in another.
type Key = String;
/// What a test does to a request before the server sees it: an answer of its own, or nothing.
type Fault = Box<dyn FnMut(&str, &str) -> Option<(u16, Value)> + Send>;
/// Whether the server refuses a patch (of a key) for what is in it.
type Admission = Box<dyn Fn(&str, &Value) -> Option<(u16, Value)> + Send>;

#[derive(Clone, Default)]
pub(crate) struct FakeCluster(Arc<Mutex<State>>, Arc<Mutex<()>>);

#[derive(Default)]
struct State {
    revision: u64,
    /// Every version of every object, `None` where it was deleted.
    versions: BTreeMap<Key, Vec<(u64, Option<Value>)>>,
    compacted: u64,
    requests: Vec<String>,
    patches: Vec<(Key, Value)>,
    /// Taken out while it runs.
    fault: Option<Fault>,
    /// Whether there was ever one.
    has_faults: bool,
    admission: Option<Admission>,
}

impl FakeCluster {
    /// A client that repeats what the server puts off, as the one that kube makes by itself does.
    pub(crate) fn client(&self) -> kube::Client {
        let state = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let state = state.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                let has_fault = state.0.lock().unwrap().has_faults;
                let answer = move || state.respond(parts.method.as_str(), &parts.uri.to_string(), &body);
                // A fault may sleep, and others wait for their turn meanwhile: on the runtime's own threads that would stop
                // what they test.
                let answer = if has_fault {
                    let answered = tokio::task::spawn_blocking(answer).await;
                    answered.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
                } else {
                    answer()
                };
                Ok::<_, BoxError>(answer.map(Body::from))
            }
        });
        kube::Client::new(RetryLayer::new(RetryPolicy::server_retry()).layer(service), "shop")
    }

    /// What the server answers to a request, with its headers.
    pub(crate) fn respond(&self, method: &str, uri: &str, body: &[u8]) -> Response<Vec<u8>> {
        let (status, answer) = self.answer(method, uri, body);
        let mut response = Response::builder().status(status);
        if let Some(seconds) = answer["details"]["retryAfterSeconds"].as_u64() {
            response = response.header("retry-after", seconds);
        }
        response.body(answer.to_string().into_bytes()).unwrap()
    }

    /// Writes an object as a user would.
    pub(crate) fn put(&self, key: &str, mut object: Value) {
        let mut state = self.0.lock().unwrap();
        state.revision += 1;
        let revision = state.revision;
        let (namespace, _, name) = parts(key);
        let before = state.now(key).cloned();
        let kept =
            |field: &str, fresh: Value| before.as_ref().map_or(fresh, |before| before["metadata"][field].clone());
        object["metadata"]["name"] = json!(name);
        object["metadata"]["namespace"] = json!(namespace);
        object["metadata"]["uid"] = kept("uid", json!(format!("uid-{revision}")));
        let created = object["metadata"]["creationTimestamp"].take();
        let created = if created.is_null() { json!("2026-01-01T00:00:00Z") } else { created };
        object["metadata"]["creationTimestamp"] = kept("creationTimestamp", created);
        object["metadata"]["resourceVersion"] = json!(revision.to_string());
        state.versions.entry(key.to_owned()).or_default().push((revision, Some(object)));
    }

    pub(crate) fn delete(&self, key: &str) {
        let mut state = self.0.lock().unwrap();
        state.revision += 1;
        let revision = state.revision;
        state.versions.get_mut(key).unwrap().push((revision, None));
    }

    pub(crate) fn get(&self, key: &str) -> Value {
        self.0.lock().unwrap().now(key).cloned().unwrap_or_default()
    }

    /// The version of the last write.
    pub(crate) fn revision(&self) -> u64 {
        self.0.lock().unwrap().revision
    }

    /// How often the pod template of a workload changed.
    pub(crate) fn rollouts(&self, key: &str) -> usize {
        let state = self.0.lock().unwrap();
        let templates = state.versions[key].iter().flatten_values().map(|object| &object["spec"]["template"]);
        let templates: Vec<_> = templates.collect();
        templates.windows(2).filter(|pair| pair[0] != pair[1]).count()
    }

    /// Forgets everything up to now.
    pub(crate) fn compact(&self) {
        let mut state = self.0.lock().unwrap();
        state.compacted = state.revision;
    }

    /// Lets `fault` see every request (method, URI) first.
    pub(crate) fn on_request(&self, fault: impl FnMut(&str, &str) -> Option<(u16, Value)> + Send + 'static) {
        let mut state = self.0.lock().unwrap();
        state.fault = Some(Box::new(fault));
        state.has_faults = true;
    }

    /// Lets `admission` see every patch before it is merged.
    pub(crate) fn on_patch(&self, admission: impl Fn(&str, &Value) -> Option<(u16, Value)> + Send + 'static) {
        self.0.lock().unwrap().admission = Some(Box::new(admission));
    }

    /// The patches so far, by key.
    pub(crate) fn patches(&self) -> Vec<(Key, Value)> {
        self.0.lock().unwrap().patches.clone()
    }

    /// The requests so far, as `GET /path`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.0.lock().unwrap().requests.clone()
    }

    /// What the server answers to a request.
    pub(crate) fn answer(&self, method: &str, uri: &str, body: &[u8]) -> (u16, Value) {
        self.0.lock().unwrap().requests.push(format!("{method} {uri}"));
        // Taken out while it runs, so that it may write to the cluster; others wait for their turn, or they would miss it. A
        // fault may be to panic.
        let turn = self.1.lock().unwrap_or_else(PoisonError::into_inner);
        let fault = self.0.lock().unwrap().fault.take();
        if let Some(mut fault) = fault {
            let answer = fault(method, uri);
            self.0.lock().unwrap().fault.get_or_insert(fault);
            if let Some(answer) = answer {
                return answer;
            }
        }
        drop(turn);
        let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
        let query: BTreeMap<&str, &str> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
        let (namespace, rest) = match path.split_once("/namespaces/") {
            Some((_, rest)) => rest.split_once('/').map_or((None, rest), |(namespace, rest)| (Some(namespace), rest)),
            None => (None, path.rsplit_once('/').unwrap().1),
        };
        let key = namespace.filter(|other| *other != "shop").map_or(rest.to_owned(), |other| format!("{other}/{rest}"));
        let mut state = self.0.lock().unwrap();
        if path == "/apis/secrets-store.csi.x-k8s.io/v1" {
            return state.secrets_store();
        }
        match (method, rest.contains('/')) {
            ("GET", true) => state.now(&key).map_or_else(|| status(404, "not found"), |object| (200, object.clone())),
            ("GET", false) => state.list(namespace, rest, &query),
            ("PATCH", true) => state.patch(&key, &serde_json::from_slice(body).unwrap()),
            _ => status(405, "method not allowed"),
        }
    }
}

impl State {
    fn now(&self, key: &str) -> Option<&Value> {
        self.versions.get(key)?.last()?.1.as_ref()
    }

    /// The kinds of the Secrets Store CSI driver, which is installed where there is an object of one.
    fn secrets_store(&self) -> (u16, Value) {
        let plurals: BTreeSet<_> = self.versions.keys().map(|key| parts(key).1).collect();
        let of_driver = plurals.iter().filter(|plural| plural.starts_with("secretproviderclass"));
        let resources: Vec<_> = of_driver.map(|plural| json!({ "name": plural })).collect();
        if resources.is_empty() { status(404, "not found") } else { (200, json!({ "resources": resources })) }
    }

    /// Of one namespace or, without one, of all.
    fn list(&self, namespace: Option<&str>, plural: &str, query: &BTreeMap<&str, &str>) -> (u16, Value) {
        let at: u64 = query.get("resourceVersion").map_or(self.revision, |version| version.parse().unwrap());
        if at < self.compacted {
            return status(410, "too old resource version");
        }
        let name = query.get("fieldSelector").map(|selector| selector.strip_prefix("metadata.name%3D").unwrap());
        let label = query.get("labelSelector").map(|selector| selector.split_once("%3D").unwrap());
        let matches = |key: &str| {
            let (its_namespace, its_plural, its_name) = parts(key);
            its_plural == plural
                && name.is_none_or(|name| name == its_name)
                && namespace.is_none_or(|namespace| namespace == its_namespace)
        };
        let items: Vec<_> = self
            .versions
            .iter()
            .filter(|(key, _)| matches(key))
            .filter_map(|(_, versions)| versions.iter().rfind(|(revision, _)| *revision <= at)?.1.clone())
            .filter(|object| label.is_none_or(|(key, value)| object["metadata"]["labels"][key] == value))
            .collect();
        (200, json!({ "metadata": { "resourceVersion": at.to_string() }, "items": items }))
    }

    fn patch(&mut self, key: &str, patch: &Value) -> (u16, Value) {
        let Some(mut object) = self.now(key).cloned() else { return status(404, "not found") };
        if patch["metadata"]["uid"] != object["metadata"]["uid"] {
            return status(422, "uid: field is immutable");
        }
        if patch["metadata"]["resourceVersion"] != object["metadata"]["resourceVersion"] {
            return status(409, "the object has been modified");
        }
        self.patches.push((key.to_owned(), patch.clone()));
        if let Some(refusal) = self.admission.as_ref().and_then(|admission| admission(key, patch)) {
            return refusal;
        }
        merge(&mut object, patch);
        if annotation_bytes(&object["metadata"]) > 256 * 1024 {
            return status(422, "metadata.annotations: Too long: may not be more than 262144 bytes");
        }
        self.revision += 1;
        object["metadata"]["resourceVersion"] = json!(self.revision.to_string());
        self.versions.get_mut(key).unwrap().push((self.revision, Some(object)));
        (200, json!({ "kind": "PartialObjectMetadata" }))
    }
}

/// The namespace, plural and name of a key.
fn parts(key: &str) -> (&str, &str, &str) {
    let (rest, name) = key.rsplit_once('/').unwrap();
    let (namespace, plural) = rest.split_once('/').unwrap_or(("shop", rest));
    (namespace, plural, name)
}

/// A refusal as the API server words it.
pub(crate) fn status(code: u16, message: &str) -> (u16, Value) {
    (code, json!({ "kind": "Status", "status": "Failure", "code": code, "reason": "x", "message": message }))
}

/// A refusal that asks for the request again in so many seconds.
pub(crate) fn not_before(seconds: u64) -> (u16, Value) {
    let (code, mut answer) = status(429, "too many requests");
    answer["details"] = json!({ "retryAfterSeconds": seconds });
    (code, answer)
}

fn annotation_bytes(metadata: &Value) -> usize {
    let annotations = metadata["annotations"].as_object().into_iter().flatten();
    annotations.map(|(key, value)| key.len() + value.as_str().unwrap().len()).sum()
}

/// RFC 7396.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else { return *target = patch.clone() };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, value) in patch {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut target[key], value);
        }
    }
}

trait FlattenValues<'a> {
    fn flatten_values(self) -> impl Iterator<Item = &'a Value>;
}

impl<'a, I: Iterator<Item = &'a (u64, Option<Value>)>> FlattenValues<'a> for I {
    fn flatten_values(self) -> impl Iterator<Item = &'a Value> {
        self.filter_map(|(_, object)| object.as_ref())
    }
}
