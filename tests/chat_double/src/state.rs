//! What the stand-in knows, and how it takes a request. Invariant: a request is judged, recorded and shown under
//! one lock, so that the record is in the order of the channel. Writing the answer is `serve`'s affair.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::address::{Address, Place, Secret};
use crate::answer::{self, ErrorShape};
use crate::chat_memory::{ChatMemory, RequestIds};
use crate::fault::Fault;
use crate::http1::{Answer, Head};
use crate::rate::{self, Bucket};
use crate::request::Request;
use crate::rules::request::Envelope;
use crate::rules::{self, Effect, Finding, Violation};
use crate::service::Service;
use crate::shown::ShownMessage;

/// What a proxy answers to whom it does not know.
const LOGIN_PAGE: &str = "<!doctype html><title>Sign in</title>";

/// What a test may change.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    pub(crate) unlimited: bool,
    pub(crate) request_ids: RequestIds,
    pub(crate) error_shape: ErrorShape,
    pub(crate) mentions: Vec<String>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) requests: Vec<Request>,
    pub(crate) shown: Vec<ShownMessage>,
    pub(crate) scripts: HashMap<Place, VecDeque<Fault>>,
    buckets: HashMap<Place, Bucket>,
    chat: ChatMemory,
}

/// A request that was read.
pub(crate) struct Arrival {
    pub(crate) head: Head,
    pub(crate) query: Vec<(String, String)>,
    pub(crate) address: Option<Address>,
    pub(crate) body: Vec<u8>,
    pub(crate) at: jiff::Timestamp,
}

/// How an exchange ends.
#[derive(Clone, Debug)]
pub(crate) enum Ending {
    Answer(Answer),
    Half(Answer),
    Later(Duration, Answer),
    Close,
    Hang,
}

impl Ending {
    fn status(&self) -> u16 {
        match self {
            Self::Answer(answer) | Self::Half(answer) | Self::Later(_, answer) => answer.status,
            Self::Close | Self::Hang => 0,
        }
    }
}

/// An ending, and whether and where the message stands in the channel.
struct Outcome {
    ending: Ending,
    shown: bool,
    thread: Option<String>,
}

impl Outcome {
    fn unseen(ending: Ending) -> Self {
        Self { ending, shown: false, thread: None }
    }
}

/// The state as connections and tests share it.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    state: Mutex<State>,
    /// How many requests were recorded; whoever waits for one listens here.
    pub(crate) arrivals: watch::Sender<usize>,
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the script has for the next request to this place.
    pub(crate) fn next_fault(&self, address: Option<&Address>) -> Option<Fault> {
        self.lock().scripts.get_mut(&address?.place)?.pop_front()
    }

    /// Records a request whose body was not read.
    pub(crate) fn take_unread(&self, arrival: Arrival) {
        self.lock().record(arrival, &Outcome::unseen(Ending::Close), Vec::new());
        self.arrivals.send_modify(|count| *count += 1);
    }

    /// Judges and records a request.
    pub(crate) fn take(&self, arrival: Arrival, fault: Option<Fault>) -> Ending {
        let ending = self.lock().take(arrival, fault);
        self.arrivals.send_modify(|count| *count += 1);
        ending
    }
}

impl State {
    fn take(&mut self, arrival: Arrival, fault: Option<Fault>) -> Ending {
        let Some(Address { place, secret }) = arrival.address.clone() else {
            let outcome = Outcome::unseen(Ending::Answer(answer::not_found()));
            let violation = Violation { rule: "unknown_path", detail: "no webhook has this path".to_owned() };
            return self.record(arrival, &outcome, vec![violation]);
        };
        let findings = self.inspect(&arrival, place.0);
        let outcome = self.meet(fault, &arrival, &place, secret, &findings);
        let mut violations: Vec<_> = findings.into_iter().map(|finding| finding.violation).collect();
        if secret != Secret::Right {
            violations.push(Violation { rule: "wrong_secret", detail: format!("{secret:?}") });
        }
        self.record(arrival, &outcome, violations)
    }

    /// Every rule that the request and its payload break.
    fn inspect(&self, arrival: &Arrival, service: Service) -> Vec<Finding> {
        let body = serde_json::from_slice(&arrival.body).ok();
        let envelope = Envelope {
            method: &arrival.head.method,
            headers: &arrival.head.headers,
            query: &arrival.query,
            is_json: body.is_some(),
        };
        let mut findings = rules::request::findings(service, &envelope);
        // In binary mode the body is the event's data, about which nobody has rules.
        let structured = body.filter(|_| service != Service::Webhook || !envelope.is_binary_event());
        if let Some(body) = structured {
            findings.extend(rules::findings(service, &body, arrival.body.len(), &self.settings.mentions));
        }
        findings
    }

    /// What comes of a request under a fault, or under none.
    fn meet(
        &mut self,
        fault: Option<Fault>,
        arrival: &Arrival,
        place: &Place,
        secret: Secret,
        findings: &[Finding],
    ) -> Outcome {
        let mut served = |end: &dyn Fn(Answer) -> Ending| {
            let (answer, outcome) = self.serve(arrival, place, secret, findings);
            Outcome { ending: end(answer), ..outcome }
        };
        let (ending, shown) = match fault {
            None => return served(&Ending::Answer),
            Some(Fault::HalfAnswer) => return served(&Ending::Half),
            Some(Fault::SlowAnswer { after }) => return served(&|answer| Ending::Later(after, answer)),
            Some(Fault::Answer { status, headers, body, shown }) => {
                (Ending::Answer(Answer { status, headers, body }), shown)
            }
            Some(Fault::Hang) => (Ending::Hang, false),
            Some(Fault::CloseBeforeReading) => (Ending::Close, false),
            Some(Fault::CloseAfterReading { shown }) => (Ending::Close, shown),
            Some(Fault::HtmlOk) => (Ending::Answer(answer::html(LOGIN_PAGE)), false),
            Some(Fault::Redirect { to }) => (Ending::Answer(Answer::empty(302).with("location", to)), false),
        };
        if shown { Outcome { ending, ..self.show(arrival, place).1 } } else { Outcome::unseen(ending) }
    }

    /// What the service itself does.
    fn serve(&mut self, arrival: &Arrival, place: &Place, secret: Secret, findings: &[Finding]) -> (Answer, Outcome) {
        let (service, shape) = (place.0, self.settings.error_shape);
        let unseen = |answer| (answer, Outcome::unseen(Ending::Close));
        if secret != Secret::Right {
            return unseen(answer::denied(service, secret, shape));
        }
        if !self.has_token(place) {
            return unseen(answer::too_fast(service, shape));
        }
        let refusal = findings.iter().find_map(|finding| match finding.effect {
            Effect::Refused(status, word) => Some((status, word)),
            Effect::Lost | Effect::Reported => None,
        });
        if let Some((status, word)) = refusal {
            return unseen(answer::refused(service, status, word, shape));
        }
        if findings.iter().any(|finding| finding.effect == Effect::Lost) {
            return unseen(answer::accepted(service, "", ""));
        }
        self.show(arrival, place)
    }

    fn has_token(&mut self, (service, channel): &Place) -> bool {
        let Some((bucket, size)) = rate::limit(*service, channel).filter(|_| !self.settings.unlimited) else {
            return true;
        };
        let now = Instant::now();
        self.buckets.entry((*service, bucket)).or_insert_with(|| Bucket::full(now)).take(size, now)
    }

    /// Puts the message into the channel, unless Chat knows it already or nothing could be read of it.
    fn show(&mut self, arrival: &Arrival, place: &Place) -> (Answer, Outcome) {
        let (service, channel) = place;
        let Ok(payload) = serde_json::from_slice(&arrival.body) else {
            return (answer::accepted(*service, "", ""), Outcome::unseen(Ending::Close));
        };
        let chat = *service == Service::GoogleChat;
        let placed = chat.then(|| self.chat.place(channel, &arrival.query, &payload, self.settings.request_ids));
        let (message, thread) = placed.as_ref().map_or(("", ""), |placed| (&placed.message, &placed.thread));
        let answer = answer::accepted(*service, message, thread);
        let shown = placed.as_ref().is_none_or(|placed| placed.is_new);
        if shown {
            self.shown.push(ShownMessage { service: *service, channel: channel.clone(), at: arrival.at, payload });
        }
        (answer, Outcome { ending: Ending::Close, shown, thread: placed.map(|placed| placed.thread) })
    }

    fn record(&mut self, arrival: Arrival, outcome: &Outcome, violations: Vec<Violation>) -> Ending {
        let (service, channel) = arrival.address.map(|address| address.place).unzip();
        self.requests.push(Request {
            service,
            channel: channel.unwrap_or_default(),
            at: arrival.at,
            headers: arrival.head.headers,
            query: arrival.query,
            body: arrival.body,
            status: outcome.ending.status(),
            violations,
            shown: outcome.shown,
            thread: outcome.thread.clone(),
        });
        outcome.ending.clone()
    }
}
