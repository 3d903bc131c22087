//! No Secret value comes out, nor anything from which one could be guessed: not in a log at its fullest, an answer, a metric,
//! a reload event or an annotation.
//!
//! What an API server says of a refused patch is shown: its first line, 300 characters, without the values of the Secrets
//! that changed, as text or base64. Not promised: a refusal that quotes them in another form, or another Secret's; the
//! patch holds no value, so an admission webhook that does this has read them itself. An event's `id` and `type` are shown:
//! CloudEvents forbids secrets in attributes.

use std::io::Write as _;
use std::sync::{Arc, Mutex};

use axum::body::Bytes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use confroll_stack::{Function, FunctionOptions, RecordingSink, RunFolder};
use http::{Method, Response, Uri};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::canary::{LONG, SHORT, assert_silent, secret, values};
use crate::fake_cluster::{FakeCluster, status};
use crate::shop::{Route, SOON, Shop, with_marker, workload};
use crate::sink::http;
use crate::support::{ChangeEvent, told};

const API: &str = "deployments/api";

/// Events that carry the whole Secret where the Reference mode carries its name, broken in every way.
fn carriers(namespace: &str) -> Vec<(&'static str, String, Bytes)> {
    const JSON: &str = "application/json";
    const STRUCTURED: &str = "application/cloudevents+json";
    let resource = |name: Value| {
        let mut object = secret("1");
        object["apiVersion"] = json!("v1");
        object["kind"] = json!("Secret");
        object["metadata"] = json!({ "namespace": namespace, "name": name });
        object
    };
    let whole = resource(json!("db")).to_string();
    let update = "dev.knative.apiserver.resource.update".to_owned();
    let mut carriers: Vec<(&'static str, String, Bytes)> = ["add", "update", "delete", "patch"]
        .map(|verb| (JSON, format!("dev.knative.apiserver.resource.{verb}"), whole.clone().into()))
        .to_vec();
    for broken in [
        whole[..whole.len() / 2].to_owned(),
        whole.replace('"', ""),
        format!("[{whole}]"),
        resource(json!(LONG)).to_string(),
        resource(json!({ LONG: SHORT })).to_string(),
        resource(json!("db")).to_string().replace(namespace, LONG),
        LONG.to_owned(),
        json!(LONG).to_string(),
        "x".repeat(5 << 20) + LONG,
    ] {
        carriers.push((JSON, update.clone(), broken.into()));
    }
    carriers.push((JSON, update.clone(), [LONG.as_bytes(), &[255, 254]].concat().into()));
    carriers.push((JSON, "boson.fn".to_owned(), whole.clone().into()));
    for structured in [
        format!(r#"{{"specversion":"1.0","id":"1","source":"s","type":"{update}","data":{whole}}}"#),
        format!(r#"{{"specversion":"1.0","id":"1","source":"s","type":"{update}","time":"{LONG}","data":{whole}}}"#),
        format!(r#"{{"specversion":"{LONG}","id":"1","data":{whole}}}"#),
        format!(r#"{{"id":"1","data":{whole}"#),
        format!(r#"{{"data":{whole},"data":{whole}}}"#),
    ] {
        carriers.push((STRUCTURED, update.clone(), structured.into()));
    }
    carriers
}

/// Sends all of them and gives back what was answered.
async fn answers_to_carriers(url: &str, namespace: &str) -> String {
    let http = http();
    let mut seen = String::new();
    for (content_type, event_type, body) in carriers(namespace) {
        let mut request = http.post(url).header("content-type", content_type).body(body);
        if !content_type.contains("cloudevents") {
            let attributes = [("specversion", "1.0"), ("id", "1"), ("source", "s"), ("type", &event_type)];
            request =
                attributes.iter().fold(request, |request, (name, value)| request.header(format!("ce-{name}"), *value));
        }
        // A body that is too long is answered before it was sent whole, which the client may not live to read.
        let Ok(answer) = request.send().await else { continue };
        seen.extend([format!("{} {:?} {}\n", answer.status(), answer.headers().clone(), answer.text().await.unwrap())]);
    }
    seen + &http.get(format!("{url}/metrics")).send().await.unwrap().text().await.unwrap()
}

/// A Deployment that uses the Secret `db` in every way.
fn uses_db(name: &str) -> Value {
    let key = json!({ "secretKeyRef": { "name": "db", "key": "pin" } });
    workload(
        name,
        &json!({
            "main": { "env": [{ "name": "A", "valueFrom": key }], "envFrom": [{ "secretRef": { "name": "db" } }],
                "volumeMounts": [{ "name": "v", "mountPath": "/v" }] },
            "volumes": [{ "name": "v", "secret": { "secretName": "db" } }],
        }),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn on_the_real_parts_no_path_shows_a_value() {
    let mut by_name = uses_db("by-name");
    by_name["metadata"]["annotations"] = json!({ "secret.reloader.stakater.com/reload": "db" });
    // Its annotations have no room, so its patches are refused.
    let mut full = uses_db("full");
    full["metadata"]["annotations"]["note"] = json!("x".repeat(262_080));
    let objects = [
        ("secrets/db", secret("1")),
        (API, uses_db("api")),
        ("deployments/by-name", by_name),
        ("deployments/full", full),
    ];
    let shop = Shop::open(Route::Direct, &with_marker(objects)).await;
    for (n, round) in ["2", "3"].into_iter().enumerate() {
        shop.patch("secrets/db", secret(round)).await;
        shop.rolled_out(API, n + 1).await;
        shop.rolled_out("deployments/by-name", n + 1).await;
    }
    shop.patch("secrets/db", json!({ "metadata": { "labels": { "note": "x" } } })).await;
    let mut seen = answers_to_carriers(shop.functions[0].url(), &shop.namespace).await;
    shop.delete("secrets/db").await;
    shop.create("secrets/db", secret("4")).await;
    shop.rolled_out(API, 3).await;
    let enough = |_: &[confroll_stack::Received]| {
        let told = told(&shop.sink);
        let of = |subject: &str| told.iter().filter(|event| event.subject == subject).count();
        of("Deployment/api") >= 3 && of("Deployment/full") >= 1
    };
    let received = shop.sink.wait_for(enough, SOON).await.unwrap();
    for received in &received {
        let data = match received.event.data() {
            Some(cloudevents::Data::Binary(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            other => format!("{other:?}"),
        };
        seen.extend([format!("{:?} {:?} {data}\n", received.event, received.headers)]);
    }
    for key in [API, "deployments/by-name", "deployments/full", "deployments/marker"] {
        let mut object = shop.get(key).await;
        object["metadata"]["annotations"]["note"].take();
        seen += &object.to_string();
    }
    assert!(shop.functions[0].stop().await.unwrap().success());
    seen += &shop.functions[0].log();
    assert!(seen.contains("confroll_rollouts") && seen.contains("Too long") && seen.contains("TRACE"), "{seen}");
    assert_silent(&["1", "2", "3", "4"], &seen);
}

/// What the lying API server says instead, to a method and a URI.
pub(crate) type Lie = Box<dyn Fn(&str, &str) -> Option<(u16, Vec<u8>)> + Send>;

/// An API server in memory, at an address of its own, that can be told to lie.
pub(crate) async fn serve(cluster: FakeCluster, lie: Arc<Mutex<Lie>>) -> (RunFolder, std::path::PathBuf) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = format!("http://{}", listener.local_addr().unwrap());
    let answer = move |method: Method, uri: Uri, body: Bytes| async move {
        let (method, uri) = (method.as_str(), uri.to_string());
        let lied = lie.lock().unwrap()(method, &uri);
        let lied = lied.map(|(code, body)| Response::builder().status(code).body(body).unwrap());
        lied.unwrap_or_else(|| cluster.respond(method, &uri, &body)).map(axum::body::Body::from)
    };
    tokio::spawn(async move { axum::serve(listener, axum::Router::new().fallback(answer)).await });
    let folder = RunFolder::new().unwrap();
    let path = folder.path().join("kubeconfig");
    let kubeconfig = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{ "name": "c", "cluster": { "server": server } }],
        "users": [{ "name": "u", "user": {} }],
        "contexts": [{ "name": "c", "context": { "cluster": "c", "user": "u" } }],
    });
    std::fs::File::create(&path).unwrap().write_all(kubeconfig.to_string().as_bytes()).unwrap();
    (folder, path)
}

/// Everything that an API server could say with the Secret in it.
fn bodies() -> Vec<(u16, Vec<u8>)> {
    let whole = secret("2").to_string();
    let quoting = |code: u16, said: &str| {
        let (code, body) = status(code, &format!("admission webhook \"policy.example\" denied the request: {said}"));
        (code, body.to_string().into_bytes())
    };
    let mut bodies: Vec<(u16, Vec<u8>)> = [200, 400, 401, 403, 404, 409, 410, 422, 429, 500, 503]
        .into_iter()
        .flat_map(|code| [(code, whole.clone().into_bytes()), quoting(code, &format!("{whole} {LONG}2"))])
        .collect();
    for (_, value) in values("2") {
        bodies.push(quoting(422, &String::from_utf8_lossy(&value)));
        bodies.push(quoting(403, &STANDARD.encode(&value)));
    }
    bodies.extend([
        (200, format!("{LONG}2").into_bytes()),
        (200, json!(LONG).to_string().into_bytes()),
        (200, whole[..whole.len() / 2].into()),
        (200, json!({ "metadata": { "resourceVersion": LONG, "name": LONG }, "data": LONG }).to_string().into()),
        (200, json!({ "metadata": { "resourceVersion": "1" }, "items": [secret("2")] }).to_string().into()),
        (200, json!({ "metadata": { "resourceVersion": "1", "continue": LONG }, "items": LONG }).to_string().into()),
        (200, [whole.as_bytes(), &[255]].concat()),
        (422, LONG.into()),
    ]);
    bodies
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_an_api_server_says_no_fault_shows_a_value() {
    let cluster = FakeCluster::default();
    cluster.put("secrets/db", secret("1"));
    cluster.put(API, uses_db("api"));
    let lie: Arc<Mutex<Lie>> = Arc::new(Mutex::new(Box::new(|_, _| None)));
    let (_folder, kubeconfig) = serve(cluster.clone(), lie.clone()).await;
    let sink = RecordingSink::start().await.unwrap();
    let set = [("CONFROLL_LOG_LEVEL", "trace"), ("RUST_LOG", "trace"), ("RUST_BACKTRACE", "full")];
    // What the client repeats itself (429, 503) is given up soon.
    let env =
        set.into_iter().chain([("CONFROLL_CALL_DEADLINE", "100ms")]).map(|(name, value)| (name, value.to_owned()));
    let options = FunctionOptions { kubeconfig, sink: Some(sink.url().to_owned()), env: env.collect() };
    let function = Function::start(env!("CARGO_BIN_EXE_confroll").as_ref(), options).await.unwrap();
    let http = http();
    let mut seen = String::new();
    // Where it lies: to the read of the Secret, of its past, of the workloads, to the patch.
    let places =
        [("GET", "/secrets/db"), ("GET", "/secrets?"), ("GET", "/deployments?"), ("PATCH", "/deployments/api")];
    for (method, place) in places {
        for (code, body) in bodies() {
            cluster.put("secrets/db", secret("2"));
            *lie.lock().unwrap() =
                Box::new(move |asked, uri| (asked == method && uri.contains(place)).then(|| (code, body.clone())));
            let answer = ChangeEvent::update("Secret", "db").request(&http, function.url()).send().await.unwrap();
            seen.extend([format!("{} {}\n", answer.status(), answer.text().await.unwrap())]);
            *lie.lock().unwrap() = Box::new(|_, _| None);
            // Back again, so that the next is a change.
            cluster.put("secrets/db", secret("1"));
            assert_eq!(
                ChangeEvent::update("Secret", "db").request(&http, function.url()).send().await.unwrap().status(),
                202
            );
        }
    }
    seen += &answers_to_carriers(function.url(), "shop").await;
    seen.extend(told(&sink).iter().map(|event| format!("{} {} {}\n", event.id, event.subject, event.data)));
    seen += &cluster.get(API).to_string();
    assert!(function.stop().await.unwrap().success());
    seen += &function.log();
    assert!(seen.contains("denied the request: [redacted]") && seen.contains("reload-failed"), "{seen}");
    assert_silent(&["1", "2"], &seen);
}
