//! The chats of the demo: a stand-in for the services, and a sink for each behind a Trigger.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use confroll_chat_double::{ChatDouble, Service, ShownMessage};
use confroll_stack::{Broker, Function, RunFolder};
use serde_json::{Value, json};

/// The services that are shown; what a plain webhook gets is JSON.
pub(crate) const CHATS: [Service; 3] = [Service::Slack, Service::GoogleChat, Service::Teams];
/// How long a message may take: a sink waits a second for company, and another for its turn.
const LIMIT: Duration = Duration::from_secs(30);

/// Everything that tells. It ends with its value.
pub(crate) struct Chats {
    double: ChatDouble,
    sinks: Vec<Sink>,
}

struct Sink {
    service: Service,
    process: Function,
    _destinations: RunFolder,
}

impl Chats {
    /// Starts the services' stand-in, and a sink with a Trigger for each.
    pub(crate) async fn open(program: &Path, broker: &Broker) -> Result<Self> {
        let double = ChatDouble::start().await?;
        let mut sinks = Vec::new();
        for service in CHATS {
            let destinations = RunFolder::new()?;
            std::fs::write(destinations.path().join("team"), double.webhook_url(service, "team"))?;
            let env = vec![("CONFROLL_DESTINATIONS", destinations.path().to_string_lossy().into_owned())];
            let process = Function::start_sink(program, service.as_str(), env).await?;
            let filters = json!([{ "prefix": { "type": "dev.confroll.workload." } }]);
            let subscriber = format!("{}/d/team", process.url());
            broker.trigger(service.as_str(), filters, &subscriber, None).await?;
            sinks.push(Sink { service, process, _destinations: destinations });
        }
        Ok(Self { double, sinks })
    }

    /// Where the messages are shown.
    pub(crate) fn page(&self) -> String {
        self.double.page_url()
    }

    /// Waits until every chat was told of so many reloads, and gives back all messages.
    pub(crate) async fn told(&self, reloads: usize) -> Result<Vec<ShownMessage>> {
        let began = Instant::now();
        for Sink { service, process, .. } in &self.sinks {
            while posted(&reqwest::get(format!("{}/metrics", process.url())).await?.text().await?) < reloads {
                ensure!(began.elapsed() < LIMIT, "{service} was not told; the sink's log:\n{}", process.log());
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        }
        Ok(self.double.all_messages())
    }
}

/// How many reloads a sink has told, by its metrics.
fn posted(metrics: &str) -> usize {
    let line = metrics
        .lines()
        .find(|line| line.starts_with("confroll_notifications_total{") && line.contains("outcome=\"posted\""));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or(0)
}

/// The message in one line.
pub(crate) fn headline(payload: &Value) -> &str {
    let title = &payload["attachments"][0]["content"]["body"][0]["inlines"][0]["text"];
    let text = payload["fallbackText"].as_str().or(payload["text"].as_str()).or(title.as_str());
    text.and_then(|text| text.lines().next()).unwrap_or("?")
}
