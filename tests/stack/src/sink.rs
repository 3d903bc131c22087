//! A receiver that records what reaches it, as the end of a path that is under test.
//!
//! Invariant: what was answered was recorded before. Left out: checks; a request that is no CloudEvent is
//! counted, and answered with 400.

use std::{
    net::Ipv4Addr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use axum::{
    Router,
    body::Bytes,
    extract::{DefaultBodyLimit, State},
};
use cloudevents::{AttributesReader, Event, binding::http::to_event};
use http::{HeaderMap, StatusCode};
use tokio::{sync::Notify, task::JoinHandle, time::timeout};

/// An event that arrived.
#[derive(Debug, Clone)]
pub struct Received {
    /// What arrived.
    pub event: Event,
    /// Its HTTP headers.
    pub headers: HeaderMap,
    /// When it had arrived whole.
    pub at: Instant,
}

/// A server on loopback that records CloudEvents.
#[derive(Debug)]
pub struct RecordingSink {
    url: String,
    shared: Arc<Shared>,
    server: JoinHandle<()>,
}

#[derive(Debug)]
struct Shared {
    record: Mutex<Record>,
    changed: Notify,
}

#[derive(Debug)]
struct Record {
    events: Vec<Received>,
    requests: usize,
    answer: StatusCode,
}

impl RecordingSink {
    /// Starts one in the calling runtime; it ends with its value.
    pub async fn start() -> Result<Self> {
        let record = Record { events: Vec::new(), requests: 0, answer: StatusCode::ACCEPTED };
        let shared = Arc::new(Shared { record: Mutex::new(record), changed: Notify::new() });
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("No port for the sink")?;
        let url = format!("http://{}/", listener.local_addr()?);
        let router = Router::new().fallback(receive).layer(DefaultBodyLimit::disable()).with_state(shared.clone());
        let server = tokio::spawn(async move {
            // Ends only with the task.
            let _ = axum::serve(listener, router).await;
        });
        Ok(Self { url, shared, server })
    }

    /// Where it listens; it takes every path.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// All events up to now, in the order of arrival.
    #[must_use]
    pub fn events(&self) -> Vec<Received> {
        self.shared.record().events.clone()
    }

    /// How many requests came, those included that were no event or were refused.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.shared.record().requests
    }

    /// Answers with this status from now on; at first it is 202. The body is always empty.
    pub fn answer_with(&self, status: StatusCode) {
        self.shared.record().answer = status;
    }

    /// Waits until the events satisfy the predicate, and returns them.
    pub async fn wait_for(&self, enough: impl Fn(&[Received]) -> bool, limit: Duration) -> Result<Vec<Received>> {
        let waiting = async {
            loop {
                let changed = self.shared.changed.notified();
                let events = self.events();
                if enough(&events) {
                    return events;
                }
                changed.await;
            }
        };
        match timeout(limit, waiting).await {
            Ok(events) => Ok(events),
            Err(_) => bail!("What was waited for did not reach the sink within {limit:?}; it has:\n{}", self.listing()),
        }
    }

    fn listing(&self) -> String {
        let line = |Received { event, .. }: &Received| format!("  {} {:?} {}", event.ty(), event.subject(), event.id());
        self.events().iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

impl Drop for RecordingSink {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Shared {
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn receive(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> StatusCode {
    let at = Instant::now();
    let event = to_event(&headers, body.to_vec());
    let mut record = shared.record();
    record.requests += 1;
    let Ok(event) = event else { return StatusCode::BAD_REQUEST };
    record.events.push(Received { event, headers, at });
    let answer = record.answer;
    drop(record);
    shared.changed.notify_waiters();
    answer
}
