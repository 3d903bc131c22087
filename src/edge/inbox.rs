//! Receives events: one route for them, one for those that a Broker could not deliver, three for the platform.
//!
//! Invariants: a body is read up to its limit and no further, and none where too many events wait already; a 2xx has no body, since a Broker takes one for a
//! reply; everything is finished before the answer, since a pod that scales to zero gets no CPU after it.
//! Left out: how an event is read (event_reader.rs), what it means (reload/change.rs), and which status a failure has (failure.rs).

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use cloudevents::{AttributesReader as _, Event};
use http::{HeaderMap, StatusCode};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

use super::callers::Callers;
use super::cluster::Cluster;
use super::elsewhere::Elsewhere;
use super::event_reader::read_event;
use super::failure::Failure;
use super::lane::{EventOutcome, Lanes, Ticket};
use super::metrics::Metrics;
use super::platform_routes::platform_routes;
use super::sweep::Sweep;
use crate::reload::change::Change;
use crate::reload::pod_status::PodStatusRef;
use crate::reload::rules::Rules;
use crate::reload::scope::OutOfScope;
use crate::reload::source::SourceKind;
use crate::reload::sweep::asked_by;

/// What the routes share.
#[derive(Clone)]
pub struct Inbox {
    /// Where events go.
    pub lanes: Lanes,
    /// And where else.
    pub elsewhere: Elsewhere,
    /// Looks at everything.
    pub sweep: Sweep,
    /// The rules of every decision.
    pub rules: Arc<Rules>,
    /// Which class the status of a pod is of has to be read.
    pub cluster: Cluster,
    /// What is counted.
    pub metrics: Arc<Metrics>,
    /// After how long an event is given back.
    pub deadline: Duration,
    /// The longest body, in bytes.
    pub longest_body: usize,
    /// Who may send events; `None`: whoever can reach us.
    pub callers: Option<Callers>,
    /// How many events may be at work or wait.
    pub places: Arc<Semaphore>,
}

impl Inbox {
    /// The routes of `confroll serve`.
    pub fn router(self) -> Router {
        let metrics = self.metrics.clone();
        Router::new()
            .route("/", post(receive).layer(from_fn_with_state(self.clone(), let_in)))
            .route("/dead-letter", post(bury).layer(from_fn_with_state(self.clone(), let_in)))
            .merge(platform_routes(move |accept| metrics.render(accept)))
            .layer(DefaultBodyLimit::max(self.longest_body))
            .with_state(self)
    }
}

/// Lets an event in where there is a place for it and its sender may send one, before its body is read.
async fn let_in(State(inbox): State<Inbox>, request: Request, next: Next) -> Response {
    let Ok(_place) = inbox.places.try_acquire() else { return Failure::Full.into_response() };
    if let Some(callers) = &inbox.callers
        && let Err(error) = callers.check(request.headers()).await
    {
        inbox.metrics.event("refused");
        return Failure::Caller(error).into_response();
    }
    next.run(request).await
}

async fn receive(State(inbox): State<Inbox>, headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Response {
    match act(&inbox, &headers, body).await {
        Ok(answer) => {
            inbox.metrics.event(if answer == StatusCode::ACCEPTED { "acted_on" } else { "ignored" });
            answer.into_response()
        }
        Err(failure) => {
            let given_back = matches!(failure, Failure::Again | Failure::Late);
            inbox.metrics.event(if given_back { "given_back" } else { "refused" });
            failure.into_response()
        }
    }
}

/// Says that a Broker gave an event up. Where it went may be a webhook's URL, so that is not said.
async fn bury(State(inbox): State<Inbox>, headers: HeaderMap, body: Result<Bytes, BytesRejection>) -> Response {
    match read_event(&headers, body, inbox.longest_body) {
        Ok(event) => {
            inbox.metrics.event("dead_letter");
            let code = event.extension("knativeerrorcode").map(ToString::to_string).unwrap_or_default();
            let subject = event.subject().unwrap_or_default();
            tracing::error!(event.id = event.id(), event.type = event.ty(), subject, code, "a Broker could not deliver an event");
            StatusCode::ACCEPTED.into_response()
        }
        Err(failure) => {
            inbox.metrics.event("refused");
            Failure::from(failure).into_response()
        }
    }
}

async fn act(inbox: &Inbox, headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<StatusCode, Failure> {
    let event = read_event(headers, body, inbox.longest_body)?;
    let deadline = Instant::now() + inbox.deadline;
    let outcome = if let Some(tag) = asked_by(&event)? {
        let sweep = inbox.sweep.clone();
        // A task of its own: a sender that hangs up, or the deadline, does not end a sweep in the middle.
        let sweep = tokio::spawn(async move { sweep.run(&tag).await });
        timeout_at(deadline, sweep).await.map(|ended| ended.unwrap_or(EventOutcome::Again))
    } else {
        let change = match timeout_at(deadline, told(inbox, &event)).await.map_err(|_| Failure::Late)?? {
            Told::Change(change) => change,
            Told::OfPodThatIsGone => return Ok(StatusCode::ACCEPTED),
            Told::NotForUs => return Ok(StatusCode::NO_CONTENT),
        };
        let (ticket, answer) = Ticket::new();
        inbox.elsewhere.join(change.clone(), ticket.clone());
        inbox.lanes.join(change, ticket);
        timeout_at(deadline, answer).await.map(|answered| answered.unwrap_or(EventOutcome::Again))
    };
    match outcome {
        Ok(EventOutcome::Done) => Ok(StatusCode::ACCEPTED),
        Ok(EventOutcome::Again) => Err(Failure::Again),
        Err(_) => Err(Failure::Late),
    }
}

/// What an event tells.
enum Told {
    /// That a source may have changed.
    Change(Change),
    /// Something of a pod that is gone, with what it had mounted.
    OfPodThatIsGone,
    NotForUs,
}

async fn told(inbox: &Inbox, event: &Event) -> Result<Told, Failure> {
    let scope = &inbox.rules.scope;
    let out_of_scope = |out: OutOfScope| {
        tracing::debug!(event.id = event.id(), reason = out.as_str(), "an event names what is not looked at");
        Told::NotForUs
    };
    if let Some(change) = Change::from_event(event)? {
        return Ok(scope.source(&change.source).map_or_else(out_of_scope, |()| Told::Change(change)));
    }
    let Some(status) = PodStatusRef::from_event(event)? else {
        tracing::debug!(event.id = event.id(), event.type = event.ty(), "an event is not for us");
        return Ok(Told::NotForUs);
    };
    let is_in_scope =
        scope.source_kind(SourceKind::SecretProviderClass).and_then(|()| scope.namespace(&status.namespace));
    if let Err(out) = is_in_scope {
        return Ok(out_of_scope(out));
    }
    match inbox.cluster.class_of(status).await {
        Ok(None) => Ok(Told::OfPodThatIsGone),
        Ok(Some(change)) => Ok(scope.source(&change.source).map_or_else(out_of_scope, |()| Told::Change(change))),
        Err(error) => {
            tracing::error!(%error, "the status of a pod cannot be read");
            Err(Failure::Again)
        }
    }
}
