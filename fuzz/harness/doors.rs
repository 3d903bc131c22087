//! The two doors that events come in by: the function's, before an API server that has nothing, and a sink's, which
//! has no destination. So a request goes all the way and leads to nothing.
//!
//! Invariant: one request does not change the answer to another. Left out: what must hold of the answers (events.rs).

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::{Body, Bytes};
use confroll::announce::sink_kind::SinkKind;
use confroll::command::serve::inbox;
use confroll::edge::announcer::{Announcer, Announcing};
use confroll::edge::config::Settings;
use confroll::edge::sink_inbox::SinkInbox;
use confroll::edge::sink_metrics::SinkMetrics;
use confroll::edge::sink_settings::SinkSettings;
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt as _, Collected};
use tokio::runtime::Runtime;
use tower::ServiceExt as _;

type Paths = Arc<Mutex<Vec<String>>>;

/// Both doors, and the time that passes behind them.
pub(crate) struct Doors {
    runtime: Runtime,
    function: Router,
    sink: Router,
    asked: Paths,
}

/// What a request was answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

impl Doors {
    pub(crate) fn open() -> Self {
        // An error means that it is there already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.unwrap_or_else(|error| unreachable!("{error}"));
        let asked = Paths::default();
        let (function, sink) = runtime.block_on(async { (function(&asked), sink()) });
        Self { runtime, function, sink, asked }
    }

    /// What the function answers.
    pub(crate) fn function(&self, headers: &HeaderMap, body: &[u8]) -> Answer {
        self.answer(&self.function, headers, body)
    }

    /// What a sink answers.
    pub(crate) fn sink(&self, headers: &HeaderMap, body: &[u8]) -> Answer {
        self.answer(&self.sink, headers, body)
    }

    /// What the API server was asked for since the last time.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn answer(&self, router: &Router, headers: &HeaderMap, body: &[u8]) -> Answer {
        let mut request = Request::post("/").body(Body::from(body.to_vec())).unwrap_or_default();
        request.headers_mut().clone_from(headers);
        self.runtime.block_on(async {
            let answer = router.clone().oneshot(request).await.unwrap_or_else(|never| match never {});
            let status = answer.status().as_u16();
            let body = answer.into_body().collect().await.map(Collected::to_bytes).unwrap_or_default();
            Answer { status, body: String::from_utf8_lossy(&body).into_owned() }
        })
    }
}

fn function(asked: &Paths) -> Router {
    let inbox = inbox(empty_cluster(asked.clone()), &Settings::for_testing());
    inbox.unwrap_or_else(|error| unreachable!("{error}")).router()
}

fn sink() -> Router {
    let settings = SinkSettings::for_testing(SinkKind::Slack, &[("CONFROLL_DESTINATIONS", "/no/such/folder")]);
    let settings = settings.unwrap_or_else(|error| unreachable!("{error}"));
    let metrics = Arc::new(SinkMetrics::new());
    let announcing = Announcing::by_sink(&settings, metrics.clone()).unwrap_or_else(|error| unreachable!("{error}"));
    let announcer = Announcer::new(announcing);
    SinkInbox { announcer, metrics, longest_body: settings.longest_body }.router()
}

/// An API server that has no object of any kind.
fn empty_cluster(asked: Paths) -> kube::Client {
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let path = request.uri().path().to_owned();
        let is_list = path.rsplit_once("/namespaces/").is_some_and(|(_, rest)| rest.split('/').count() == 2);
        asked.lock().unwrap_or_else(PoisonError::into_inner).push(path);
        let (status, answer) = if is_list {
            (200, r#"{"metadata":{"resourceVersion":"1"},"items":[]}"#)
        } else {
            (404, r#"{"kind":"Status","status":"Failure","code":404,"reason":"NotFound","message":"none"}"#)
        };
        let mut response = Response::new(kube::client::Body::from(Bytes::from_static(answer.as_bytes()).to_vec()));
        *response.status_mut() = http::StatusCode::from_u16(status).unwrap_or_default();
        async { Ok::<_, std::convert::Infallible>(response) }
    });
    kube::Client::new(service, "default")
}
