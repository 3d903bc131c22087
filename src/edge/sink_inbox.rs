//! Receives the reload events of a sink: one route for each destination, three for the platform.
//!
//! Invariants: a 2xx has no body, since a Broker takes one for a reply; an event is answered after it was posted, since
//! a pod that scales to zero gets no CPU after it.
//! Left out: what an answer means to the Broker (sink_refusal.rs).

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use cloudevents::AttributesReader as _;
use http::{HeaderMap, StatusCode};

use super::announcer::Announcer;
use super::event_reader::read_event;
use super::hold::Telling;
use super::platform_routes::platform_routes;
use super::sink_metrics::SinkMetrics;
use super::sink_refusal::SinkRefusal;
use crate::announce::destination::DestinationName;
use crate::announce::notice::Notice;

/// What the routes share.
#[derive(Clone)]
pub struct SinkInbox {
    /// Who tells.
    pub announcer: Announcer,
    /// What is counted.
    pub metrics: Arc<SinkMetrics>,
    /// The longest body, in bytes.
    pub longest_body: usize,
}

impl SinkInbox {
    /// The routes of `confroll sink`.
    pub fn router(self) -> Router {
        let metrics = self.metrics.clone();
        Router::new()
            .route("/", post(receive_default))
            .route("/d/{name}", post(receive))
            .fallback(|| async { SinkRefusal::NoName })
            .merge(platform_routes(move |accept| metrics.render(accept)))
            .layer(DefaultBodyLimit::max(self.longest_body))
            .with_state(self)
    }
}

async fn receive_default(inbox: State<SinkInbox>, headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Response {
    act(&inbox, Some(DestinationName::default_one()), &headers, body).await.into_response()
}

async fn receive(
    inbox: State<SinkInbox>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    act(&inbox, DestinationName::parse(&name), &headers, body).await.into_response()
}

async fn act(
    inbox: &SinkInbox,
    name: Option<DestinationName>,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<StatusCode, SinkRefusal> {
    let event = read_event(headers, body, inbox.longest_body).map_err(SinkRefusal::BadEvent)?;
    let Some(notice) = Notice::from_event(&event).map_err(SinkRefusal::BadNotice)? else {
        tracing::debug!(event.id = event.id(), event.type = event.ty(), "an event is not for us");
        return Ok(StatusCode::NO_CONTENT);
    };
    let Some(name) = name else { return Err(SinkRefusal::NoName) };
    match inbox.announcer.tell(&name, Telling { notice, event: Some(event) }).await {
        Ok(()) => Ok(StatusCode::ACCEPTED),
        Err(untold) => Err(SinkRefusal::Untold(name, untold)),
    }
}
