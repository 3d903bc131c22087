//! A process of Confroll on a wire to the API server where everything may happen.
//!
//! Invariant: a process that has crashed reaches nobody any more, and nobody hears its answers.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use axum::Router;
use confroll::command::serve::inbox_of;
use confroll::edge::config::{KubeEvents, Settings};
use confroll::edge::teller::{Audience, ProcessName, Teller};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;
use tower::ServiceExt as _;

use super::shape::{Key, WORKLOADS};
use super::world::{Hearers, World};
use crate::fake_cluster::status;
use crate::support::ChangeEvent;

/// The world, shared with every request on its way.
#[derive(Clone)]
pub(super) struct Shared(Arc<Mutex<World>>);

impl Shared {
    pub(super) fn new(world: World) -> Self {
        Self(Arc::new(Mutex::new(world)))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap()
    }
}

/// Within how many steps of two milliseconds a request is done with its way there, and with its way back.
const SHORTLY: usize = 10;
/// Longer than any deadline of a call.
const AGES: Duration = Duration::from_hours(1);

/// What a request meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Answered,
    Refused(u16),
    /// No answer, before or after the server did it.
    Lost(Reached),
    /// As `Lost`, and long after the request was given up.
    Late(Reached),
    /// The process ends, before or after.
    Crash(Reached),
}

/// Whether a request that got no answer was acted on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    Yes,
    No,
}

/// A process of Confroll.
pub(super) struct Process {
    router: Router,
    alive: Arc<AtomicBool>,
}

impl Process {
    pub(super) fn start(world: &Shared) -> Self {
        let alive = Arc::new(AtomicBool::new(true));
        let mut settings = settings();
        let teller = match world.lock().climate.hearers {
            Hearers::One => Teller::Redelivery,
            Hearers::Each => {
                // Without a sink, Events are what there is to tell.
                settings.kube_events = KubeEvents::Made;
                Teller::by_notes(ProcessName::random(), Audience::Somebody)
            }
        };
        let router = inbox_of(client(world.clone(), alive.clone()), &settings, teller).unwrap().router();
        Self { router, alive }
    }

    pub(super) fn is_alive(&self) -> bool {
        self.alive.load(Ordering::Relaxed)
    }

    /// Sends an event; no status where the process ended meanwhile.
    pub(super) async fn told(&self, event: &ChangeEvent) -> Option<u16> {
        let answer = self.router.clone().oneshot(event.as_http()).await.unwrap();
        self.is_alive().then(|| answer.status().as_u16())
    }
}

/// How the function is set, so that no work goes on after its answer: a round of events is over when all are answered.
fn settings() -> Settings {
    let mut settings = Settings::for_testing();
    (settings.pace.settle, settings.pace.call_deadline) = (Duration::from_millis(251), Duration::from_millis(2001));
    settings.pace.request_deadline = Duration::from_hours(24);
    settings
}

fn client(world: Shared, alive: Arc<AtomicBool>) -> kube::Client {
    let service = tower::service_fn(move |request: Request<Body>| {
        let (world, alive) = (world.clone(), alive.clone());
        async move { call(&world, &alive, request).await }
    });
    kube::Client::new(service, "shop")
}

async fn call(world: &Shared, alive: &AtomicBool, request: Request<Body>) -> io::Result<Response<Body>> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let (method, uri) = (parts.method.as_str(), parts.uri.to_string());
    let lost = || io::Error::from(io::ErrorKind::ConnectionReset);
    let fate = world.lock().fate(method, &uri);
    wait(world, SHORTLY).await;
    if !alive.load(Ordering::Relaxed) {
        return Err(lost());
    }
    let done = match fate {
        Fate::Refused(code) => return Ok(response(code, &status(code, "not today").1)),
        Fate::Answered | Fate::Lost(Reached::Yes) | Fate::Late(Reached::Yes) | Fate::Crash(Reached::Yes) => {
            Some(world.lock().answer(method, &uri, &body))
        }
        _ => None,
    };
    match fate {
        Fate::Crash(_) => alive.store(false, Ordering::Relaxed),
        Fate::Late(_) => tokio::time::sleep(AGES).await,
        _ => wait(world, SHORTLY).await,
    }
    match done.filter(|_| fate == Fate::Answered && alive.load(Ordering::Relaxed)) {
        Some((code, answer)) => Ok(response(code, &answer)),
        None => Err(lost()),
    }
}

async fn wait(world: &Shared, within: usize) {
    let moment = world.lock().moment(within);
    tokio::time::sleep_until(moment).await;
}

fn response(code: u16, answer: &Value) -> Response<Body> {
    Response::builder().status(code).body(Body::from(answer.to_string().into_bytes())).unwrap()
}

/// Which workload a path names.
fn workload_of(uri: &str) -> Key {
    WORKLOADS.into_iter().find(|workload| uri.contains(&format!("/{workload}?"))).unwrap()
}

impl World {
    /// What a request meets; somebody may do something just before it is answered.
    fn fate(&mut self, method: &str, uri: &str) -> Fate {
        if !self.random.chance(self.trouble) {
            return Fate::Answered;
        }
        let reached = if self.random.chance(50) { Reached::Yes } else { Reached::No };
        let fate = match self.random.below(12) {
            0 => Fate::Refused(429),
            1 => Fate::Refused(500),
            2 => Fate::Refused(503),
            3 if method == "PATCH" => Fate::Refused(409),
            4 | 5 => Fate::Lost(reached),
            6 => Fate::Late(reached),
            7 => Fate::Crash(reached),
            8..10 if method == "PATCH" => {
                self.write_status(workload_of(uri));
                Fate::Answered
            }
            _ => {
                self.step();
                Fate::Answered
            }
        };
        if fate != Fate::Answered {
            self.note(&format!("{fate:?} {method} {uri}"));
        }
        fate
    }

    fn answer(&mut self, method: &str, uri: &str, body: &[u8]) -> (u16, Value) {
        let cluster = self.cluster.clone();
        let patched = (method == "PATCH").then(|| workload_of(uri)).map(|workload| (workload, cluster.get(workload)));
        let (code, answer) = cluster.answer(method, uri, body);
        if let (Some((workload, before)), 200) = (patched, code) {
            let patch: Value = serde_json::from_slice(body).unwrap();
            self.patched(workload, &before, &patch);
        }
        (code, answer)
    }
}
