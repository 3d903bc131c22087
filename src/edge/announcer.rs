//! Tells reload events to destinations: a hold for each, somebody who empties it, and one line in the log a message.
//!
//! Invariant: every event that waits is answered, whatever becomes of its message.
//! Left out: requests (sink_inbox.rs), and waiting (hold.rs).

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout};

use super::alert_settings::AlertSettings;
use super::chat_webhook::{ChatWebhook, Delivery, Form, NoClient};
use super::destinations::{Destinations, NoDestination};
use super::hold::{Due, Fate, Hold, Joined, Telling, Told};
use super::reporter::now;
use super::sink_metrics::SinkMetrics;
use super::sink_refusal::Untold;
use super::sink_settings::{Network, SinkSettings, USUAL_WINDOW};
use crate::announce::answer::Verdict;
use crate::announce::answer_words::{Meaning, Word};
use crate::announce::delivery::pause;
use crate::announce::destination::DestinationName;
use crate::announce::identity::message_uuid;
use crate::announce::notice::{EventKey, Notice};
use crate::announce::pace::Stage;
use crate::announce::payload::{Message, chat_message};
use crate::announce::signature::SigningKey;
use crate::announce::sink_kind::SinkKind;
use crate::announce::style::Style;
use crate::announce::text::clean;
use crate::announce::webhook::{self, EventMode};

/// How many event ids a log line names.
const IDS_IN_LOG: usize = 5;

/// What messages are made of and how they are sent.
pub struct Announcing {
    /// Where they go.
    pub destinations: Destinations,
    /// Who sends them.
    pub webhook: ChatWebhook,
    /// How they look.
    pub style: Style,
    /// How long an event waits for others.
    pub window: Duration,
    /// How a webhook is sent an event.
    pub event_mode: EventMode,
    /// What its requests are signed with.
    pub signing_key: Option<SigningKey>,
    /// What is counted.
    pub metrics: Arc<SinkMetrics>,
}

/// Tells reload events to destinations.
#[derive(Clone)]
pub struct Announcer {
    announcing: Arc<Announcing>,
    channels: Arc<Mutex<Channels>>,
}

struct Channels {
    by_name: HashMap<DestinationName, Arc<Channel>>,
    stage: Stage,
}

/// One destination.
struct Channel {
    name: DestinationName,
    hold: Hold,
    changed: Notify,
}

impl Announcer {
    /// An announcer with nothing to tell.
    #[must_use]
    pub fn new(announcing: Announcing) -> Self {
        let channels = Channels { by_name: HashMap::new(), stage: Stage::Open };
        Self { announcing: Arc::new(announcing), channels: Arc::new(Mutex::new(channels)) }
    }

    /// Tells an event to a destination, and waits until it is told or cannot be.
    pub async fn tell(&self, name: &DestinationName, mut telling: Telling) -> Told {
        let (destinations, metrics) = (&self.announcing.destinations, &self.announcing.metrics);
        // Before anything is kept for a name: only those that are there can be many.
        if let Err(error) = destinations.find(name) {
            let label = if error == NoDestination::Missing { None } else { Some(name) };
            metrics.notifications(label, Untold::Destination(error).as_str(), 1);
            return Err(Untold::Destination(error));
        }
        if destinations.kind != SinkKind::Webhook {
            telling.event = None;
        }
        let channel = self.channel(name);
        let told = match channel.hold.join(telling) {
            Joined::PostedBefore => {
                metrics.duplicate();
                return Ok(());
            }
            Joined::NotNow(wait) => Err(Untold::Held(wait)),
            Joined::Waits(fate, told) => {
                if fate == Fate::Again {
                    metrics.duplicate();
                }
                channel.changed.notify_one();
                told.await.unwrap_or(Err(Untold::Broken))
            }
        };
        // What was tried is counted with its message.
        if let Err(held @ Untold::Held(_)) = told {
            metrics.notifications(Some(name), held.as_str(), 1);
        }
        told
    }

    /// No more events will come: what waits is told at once.
    pub fn close(&self) {
        let mut channels = self.channels();
        channels.stage = Stage::Closing;
        for channel in channels.by_name.values() {
            channel.hold.close();
            channel.changed.notify_one();
        }
    }

    /// The channel of a destination that is there; channels live as long as the process.
    fn channel(&self, name: &DestinationName) -> Arc<Channel> {
        let mut channels = self.channels();
        if let Some(channel) = channels.by_name.get(name) {
            return channel.clone();
        }
        let pace = self.announcing.destinations.kind.pace(self.announcing.window);
        let channel =
            Arc::new(Channel { name: name.clone(), hold: Hold::new(pace, channels.stage), changed: Notify::new() });
        channels.by_name.insert(name.clone(), channel.clone());
        tokio::spawn(work(self.announcing.clone(), channel.clone()));
        channel
    }

    fn channels(&self) -> MutexGuard<'_, Channels> {
        self.channels.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn work(announcing: Arc<Announcing>, channel: Arc<Channel>) {
    loop {
        match channel.hold.due() {
            Due::Nothing => channel.changed.notified().await,
            // Either way it is asked anew.
            Due::After(wait) => drop(timeout(wait, channel.changed.notified()).await),
            Due::Post(tellings) => {
                let (announcing, channel) = (announcing.clone(), channel.clone());
                tokio::spawn(async move { post(&announcing, &channel, tellings).await });
            }
        }
    }
}

async fn post(announcing: &Announcing, channel: &Channel, tellings: Vec<Telling>) {
    let keys: Vec<EventKey> = tellings.iter().map(|telling| telling.notice.key.clone()).collect();
    let began = Instant::now();
    let delivered = AssertUnwindSafe(announcing.deliver(&channel.name, tellings)).catch_unwind().await;
    let (told, pause) = match delivered {
        Ok(Ok(delivery)) => {
            announcing.log(&channel.name, &keys, &delivery, began.elapsed());
            let told = if delivery.verdict == Verdict::Posted { Ok(()) } else { Err(Untold::Refused(delivery)) };
            (told, pause(delivery.verdict))
        }
        Ok(Err(error)) => (Err(Untold::Destination(error)), None),
        // The panic itself is logged by the hook.
        Err(_) => (Err(Untold::Broken), None),
    };
    announcing.metrics.notifications(Some(&channel.name), told.map_or_else(Untold::as_str, |()| "posted"), keys.len());
    channel.hold.done(keys.iter(), told, pause);
    channel.changed.notify_one();
}

impl Announcing {
    /// As `confroll sink` is set.
    pub fn by_sink(settings: &SinkSettings, metrics: Arc<SinkMetrics>) -> Result<Self, NoClient> {
        Ok(Self {
            window: settings.window,
            event_mode: settings.event_mode,
            signing_key: settings.signing_key.clone(),
            ..Self::usual(&settings.destinations, &settings.network, &settings.style, metrics)?
        })
    }

    /// As the peer's alerts are set, with our defaults for the rest.
    pub fn by_alerts(settings: &AlertSettings, metrics: Arc<SinkMetrics>) -> Result<Self, NoClient> {
        Self::usual(&settings.destinations, &settings.network, &settings.style, metrics)
    }

    fn usual(
        destinations: &Destinations,
        network: &Network,
        style: &Style,
        metrics: Arc<SinkMetrics>,
    ) -> Result<Self, NoClient> {
        Ok(Self {
            destinations: destinations.clone(),
            webhook: ChatWebhook::new(destinations.kind, network)?,
            style: style.clone(),
            window: USUAL_WINDOW,
            event_mode: EventMode::default(),
            signing_key: None,
            metrics,
        })
    }

    /// Posts one message about these, which are one or more.
    pub async fn deliver(&self, name: &DestinationName, tellings: Vec<Telling>) -> Result<Delivery, NoDestination> {
        // Anew for each message: the URL may have been rotated since.
        let url = self.destinations.find(name)?;
        let events = tellings.len();
        let message = self.message(tellings);
        let began = Instant::now();
        let delivery = self.webhook.deliver(&url, &message).await;
        self.metrics.message(events, began.elapsed());
        Ok(delivery)
    }

    fn message(&self, tellings: Vec<Telling>) -> Message {
        let (notices, events): (Vec<Notice>, Vec<_>) =
            tellings.into_iter().map(|telling| (telling.notice, telling.event)).unzip();
        let kind = self.destinations.kind;
        let message = match (kind, events.first()) {
            (SinkKind::Webhook, Some(Some(event))) => self.unchanged(event, &notices),
            _ => chat_message(kind, &notices, &self.style),
        };
        message.unwrap_or_else(|| unreachable!("a batch is never empty"))
    }

    fn unchanged(&self, event: &cloudevents::Event, notices: &[Notice]) -> Option<Message> {
        let mut full =
            webhook::post(event, self.event_mode).or_else(|_| webhook::post(event, EventMode::Structured)).ok()?;
        if let Some(key) = &self.signing_key {
            let headers = key.headers(&message_uuid(notices), now(), &full.body);
            full.headers.extend(headers);
        }
        Some(Message { full, plain: None })
    }

    fn log(&self, name: &DestinationName, keys: &[EventKey], delivery: &Delivery, took: Duration) {
        let destination = name.of_kind(self.destinations.kind);
        let ids = keys.iter().take(IDS_IN_LOG).filter_map(|key| clean(&key.id, 40)).collect::<Vec<_>>().join(" ");
        let (events, status, outcome) = (keys.len(), delivery.status, delivery.verdict.as_str());
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        match delivery.verdict.word() {
            None if delivery.form == Form::Plain => {
                tracing::warn!(destination, events, ids, status, ms, "posted as text alone, as its layout was refused");
            }
            None => tracing::info!(destination, events, ids, status, ms, "posted"),
            Some(Word { word, advice, meaning: Meaning::Later | Meaning::TooFast, .. }) => {
                tracing::warn!(
                    destination,
                    events,
                    ids,
                    status,
                    ms,
                    outcome,
                    word,
                    advice,
                    "not posted; it comes again"
                );
            }
            Some(Word { word, advice, .. }) => {
                tracing::error!(destination, events, ids, status, ms, outcome, word, advice, "not posted");
            }
        }
    }
}
