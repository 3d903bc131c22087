//! A sink in this process, and the reload events that it is sent.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cloudevents::Event;
use confroll::announce::sink_kind::SinkKind;
use confroll::announce::webhook::{self, EventMode};
use confroll::command::sink::serve;
use confroll::edge::sink_settings::SinkSettings;
use confroll_chat_double::{ChatDouble, Service};
use confroll_stack::RunFolder;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::sample_events::event;

/// A sink that serves until it is dropped or stopped.
pub(crate) struct Sink {
    pub(crate) url: String,
    pub(crate) http: reqwest::Client,
    pub(crate) folder: RunFolder,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<()>,
}

/// What a Broker is answered.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    pub(crate) body: String,
    pub(crate) retry_after: Option<String>,
}

pub(crate) fn kind_of(service: Service) -> SinkKind {
    match service {
        Service::Slack => SinkKind::Slack,
        Service::GoogleChat => SinkKind::GoogleChat,
        Service::Teams => SinkKind::Teams,
        Service::Webhook => SinkKind::Webhook,
    }
}

impl Sink {
    /// A sink whose destinations are these channels of the double, and which does not wait for company.
    pub(crate) async fn to(double: &ChatDouble, service: Service, channels: &[&str]) -> Self {
        let window: &[_] = if service == Service::Webhook { &[] } else { &[("CONFROLL_BATCH_WINDOW", "0")] };
        let urls: Vec<_> = channels.iter().map(|channel| (*channel, double.webhook_url(service, channel))).collect();
        Self::with(kind_of(service), &urls, window).await
    }

    pub(crate) async fn with(kind: SinkKind, destinations: &[(&str, String)], settings: &[(&str, &str)]) -> Self {
        let folder = RunFolder::new().unwrap();
        for (name, url) in destinations {
            std::fs::write(folder.path().join(name), url).unwrap();
        }
        let path = folder.path().to_str().unwrap().to_owned();
        let mut all = vec![("CONFROLL_DESTINATIONS", path.as_str())];
        all.extend(settings);
        let settings = SinkSettings::for_testing(kind, &all).unwrap();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind(settings.listen).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            serve(listener, &settings, stopped).await.unwrap();
        });
        Self { url, http: http(), folder, stop: Some(stop), served }
    }

    /// Sends an event to a destination, and gives back what a Broker would get.
    pub(crate) async fn tell(&self, destination: &str, event: &Event) -> Answered {
        send(&self.http, &format!("{}/d/{destination}", self.url), event).await
    }

    /// Tells it to stop, and waits until it has.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        self.served.await.unwrap();
    }

    pub(crate) async fn metrics(&self) -> String {
        self.http.get(format!("{}/metrics", self.url)).send().await.unwrap().text().await.unwrap()
    }
}

pub(crate) fn http() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().tls_certs_only([]).timeout(Duration::from_mins(1)).build().unwrap()
}

/// Sends an event as a Broker does.
pub(crate) async fn send(http: &reqwest::Client, url: &str, event: &Event) -> Answered {
    let post = webhook::post(event, EventMode::Binary).unwrap();
    let request = post.headers.iter().fold(http.post(url), |request, (name, value)| request.header(name, value));
    let answer = request.body(post.body).send().await.unwrap();
    let status = answer.status();
    let retry_after = answer.headers().get("retry-after").map(|value| value.to_str().unwrap().to_owned());
    let body = answer.text().await.unwrap();
    assert!(!status.is_success() || body.is_empty(), "a 2xx has no body: a Broker takes one for a reply");
    Answered { status: status.as_u16(), body, retry_after }
}

/// A reload of a workload that no other event is about.
pub(crate) fn reload() -> Event {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    reload_of(&format!("api-{}", NEXT.fetch_add(1, Ordering::Relaxed)))
}

pub(crate) fn reload_of(name: &str) -> Event {
    let sources = json!([{ "kind": "ConfigMap", "name": "app", "change": "updated" }]);
    event("shop", "Deployment", name, sources, &json!({}))
}

pub(crate) fn failure_of(name: &str, message: &str) -> Event {
    let sources = json!([{ "kind": "ConfigMap", "name": "app", "change": "updated" }]);
    event("shop", "Deployment", name, sources, &json!({ "message": message }))
}
