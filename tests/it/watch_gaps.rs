//! What becomes of watches that end, lose their place or are refused, on an API server in memory that does so on demand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use confroll::command::watch::watch;
use confroll::edge::config::Settings;
use confroll::edge::watch_settings::WatchSettings;
use futures::StreamExt as _;
use futures::stream;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::StreamBody;
use http_body_util::combinators::UnsyncBoxBody;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tower::BoxError;

use crate::fake_cluster::{FakeCluster, status};
use crate::support::{config_map, until, workload_using};

/// What the server does to one watch of ConfigMaps.
enum Watch {
    /// Says no.
    Refuse(u16, &'static str),
    /// Tells these, one a line, and ends.
    Tell(Vec<Value>),
}

/// A cluster whose watches of ConfigMaps do as they are told, one after the other; then they are open, and silent.
#[derive(Clone)]
struct Scripted {
    cluster: FakeCluster,
    script: Arc<Mutex<VecDeque<Watch>>>,
    /// Where the watches of ConfigMaps began.
    opened: Arc<Mutex<Vec<String>>>,
}

type Answer = Response<UnsyncBoxBody<Bytes, BoxError>>;

fn body(lines: Vec<String>, end: End) -> UnsyncBoxBody<Bytes, BoxError> {
    let lines = stream::iter(lines).map(|line| Ok::<_, BoxError>(Frame::data(Bytes::from(line))));
    match end {
        End::Now => UnsyncBoxBody::new(StreamBody::new(lines)),
        End::Never => UnsyncBoxBody::new(StreamBody::new(lines.chain(stream::pending()))),
    }
}

#[derive(Clone, Copy)]
enum End {
    Now,
    Never,
}

impl Scripted {
    fn new(cluster: &FakeCluster, script: Vec<Watch>) -> Self {
        let script = Arc::new(Mutex::new(script.into()));
        Self { cluster: cluster.clone(), script, opened: Arc::default() }
    }

    fn watched(&self, uri: &str) -> Answer {
        if !uri.contains("/configmaps") {
            return Response::new(body(Vec::new(), End::Never));
        }
        let version = uri.split_once("resourceVersion=").unwrap().1;
        self.opened.lock().unwrap().push(version.to_owned());
        match self.script.lock().unwrap().pop_front() {
            None => Response::new(body(Vec::new(), End::Never)),
            Some(Watch::Tell(events)) => {
                Response::new(body(events.iter().map(|event| format!("{event}\n")).collect(), End::Now))
            }
            Some(Watch::Refuse(code, message)) => {
                let (code, answer) = status(code, message);
                Response::builder().status(code).body(body(vec![answer.to_string()], End::Now)).unwrap()
            }
        }
    }

    fn client(&self) -> kube::Client {
        let scripted = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let scripted = scripted.clone();
            async move {
                let uri = request.uri().to_string();
                if uri.contains("watch=true") {
                    return Ok::<_, BoxError>(scripted.watched(&uri));
                }
                let (parts, sent) = request.into_parts();
                let sent = http_body_util::BodyExt::collect(sent).await.unwrap().to_bytes();
                let answer = scripted.cluster.respond(parts.method.as_str(), &uri, &sent);
                let (parts, text) = answer.into_parts();
                Ok(Response::from_parts(parts, body(vec![String::from_utf8(text).unwrap()], End::Now)))
            }
        });
        kube::Client::new(service, "shop")
    }

    /// Runs `confroll watch` on it until the value is dropped.
    async fn watch(&self) -> oneshot::Sender<()> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let common = Settings::for_testing();
        let listener = TcpListener::bind(common.listen).await.unwrap();
        let settings = WatchSettings { common, sync_period: Duration::from_hours(1), alerts: None };
        let (stop, stopped) = oneshot::channel::<()>();
        let client = self.client();
        tokio::spawn(async move { watch(listener, client, &settings, async { drop(stopped.await) }).await.unwrap() });
        stop
    }

    fn opened(&self) -> Vec<String> {
        self.opened.lock().unwrap().clone()
    }

    async fn rolled_out(&self, times: usize) {
        until(|| async { self.cluster.rollouts("deployments/api") >= times }).await;
        assert_eq!(self.cluster.rollouts("deployments/api"), times);
    }
}

/// A workload that runs on version 1 of its ConfigMap, as a sweep has noted, and a change that no watch tells.
fn shop() -> FakeCluster {
    let cluster = FakeCluster::default();
    cluster.put("configmaps/app", config_map("1"));
    cluster.put("deployments/api", workload_using(&["app"]));
    cluster
}

fn event(kind: &str, version: &str) -> Value {
    json!({ "type": kind, "object": { "metadata": { "namespace": "shop", "name": "app", "resourceVersion": version } } })
}

fn expired() -> Value {
    json!({ "type": "ERROR", "object": { "kind": "Status", "code": 410, "message": "too old resource version", "reason": "Expired" } })
}

/// The watch loses its place by `lost`, while the ConfigMap changes unseen.
async fn a_sweep_finds_what_it_missed(lost: Watch) {
    let cluster = shop();
    let scripted = Scripted::new(&cluster, vec![lost]);
    // As soon as the first sweep has noted what the workload runs on.
    let changing = cluster.clone();
    cluster.on_patch(move |_, _| {
        let changing = changing.clone();
        std::thread::spawn(move || changing.put("configmaps/app", config_map("2")));
        None
    });
    let _stop = scripted.watch().await;
    until(|| async { cluster.patches().len() == 1 }).await;
    cluster.on_patch(|_, _| None);
    scripted.rolled_out(1).await;
    assert_eq!(scripted.opened().len(), 2, "{:?}", scripted.opened());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_is_refused_as_its_place_is_forgotten_begins_anew_and_a_sweep_finds_what_it_missed() {
    a_sweep_finds_what_it_missed(Watch::Refuse(410, "too old resource version")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_loses_its_place_in_the_middle_begins_anew_and_a_sweep_finds_what_it_missed() {
    a_sweep_finds_what_it_missed(Watch::Tell(vec![expired()])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_ends_goes_on_where_it_ended_by_its_last_event_or_bookmark() {
    let cluster = shop();
    let bookmark = json!({ "type": "BOOKMARK", "object": { "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "resourceVersion": "500" } } });
    let script = vec![
        Watch::Tell(vec![event("ADDED", "100"), event("MODIFIED", "101")]),
        Watch::Tell(vec![bookmark]),
        Watch::Tell(vec![event("DELETED", "501")]),
    ];
    let scripted = Scripted::new(&cluster, script);
    let _stop = scripted.watch().await;
    until(|| async { scripted.opened().len() == 4 }).await;
    assert_eq!(scripted.opened()[1..], ["101", "500", "501"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_that_ends_without_a_word_or_is_refused_is_opened_again_later_and_later_and_then_acts() {
    let cluster = shop();
    let forbidden = "configmaps is forbidden: User \"confroll\" cannot watch resource";
    let script = vec![
        Watch::Refuse(403, forbidden),
        Watch::Tell(Vec::new()),
        Watch::Refuse(500, "no"),
        Watch::Tell(vec![event("MODIFIED", "900")]),
    ];
    let scripted = Scripted::new(&cluster, script);
    let _stop = scripted.watch().await;
    // The first sweep has noted what the workload runs on.
    until(|| async { cluster.patches().len() == 1 }).await;
    cluster.put("configmaps/app", config_map("2"));
    scripted.rolled_out(1).await;
}
