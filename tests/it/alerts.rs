//! The peer's alert settings, through the code that sinks tell by.

use std::sync::{Arc, Mutex};

use axum::Router;
use confroll::announce::destination::DestinationName;
use confroll::announce::notice::Notice;
use confroll::edge::alert_settings::AlertSettings;
use confroll::edge::announcer::{Announcer, Announcing};
use confroll::edge::hold::Telling;
use confroll::edge::sink_metrics::SinkMetrics;
use confroll_chat_double::{ChatDouble, Service};

use tokio::net::TcpListener;

use crate::sink::{failure_of, reload_of};

/// Takes lines of text, as scripts behind the peer's raw sink do.
struct TextReceiver {
    url: String,
    texts: Arc<Mutex<Vec<String>>>,
}

impl TextReceiver {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hunter2canary", listener.local_addr().unwrap());
        let texts = Arc::<Mutex<Vec<String>>>::default();
        let kept = texts.clone();
        let receive = move |body: String| async move { kept.lock().unwrap().push(body) };
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(receive)).await.unwrap() });
        Self { url, texts }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_sink_of_the_peer_is_told_reloads_and_failures_with_its_prefix() {
    let (double, raw) = (ChatDouble::start().await.unwrap(), TextReceiver::start().await);
    let rows = [
        ("slack", Service::Slack),
        (" GChat", Service::GoogleChat),
        ("TEAMS", Service::Teams),
        ("raw", Service::Webhook),
    ];
    for (sink, service) in rows {
        let url = if sink == "raw" { raw.url.clone() } else { double.webhook_url(service, "alerts") };
        let variables = [
            ("ALERT_ON_RELOAD", "true"),
            ("ALERT_SINK", sink),
            ("ALERT_WEBHOOK_URL", url.as_str()),
            ("ALERT_ADDITIONAL_INFO", "Cluster: prod"),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into())).into_iter().collect();
        let settings = AlertSettings::read(&variables).unwrap().unwrap();
        let _ = rustls::crypto::ring::default_provider().install_default();
        let announcing = Announcing::by_alerts(&settings, Arc::new(SinkMetrics::new())).unwrap();
        let announcer = Announcer::new(announcing);
        for event in [reload_of("api"), failure_of("web", "exceeded quota")] {
            let notice = Notice::from_event(&event).unwrap().unwrap();
            announcer.tell(&DestinationName::default_one(), Telling { notice, event: Some(event) }).await.unwrap();
        }
        let of_double = double.requests().into_iter().filter(|request| request.service == Some(service));
        let mut said: Vec<String> = of_double.map(|request| String::from_utf8(request.body).unwrap()).collect();
        said.extend(raw.texts.lock().unwrap().drain(..));
        assert_eq!(said.len(), 2, "{service}");
        assert!(said.iter().all(|body| body.contains("Cluster: prod : ")), "{service}: {said:?}");
        assert!(said[0].contains("api") && said[1].contains("exceeded quota"), "{service}: {said:?}");
    }
}
