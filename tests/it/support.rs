//! The function in this process, and the events that it is sent.

use std::ffi::OsString;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use cloudevents::AttributesReader as _;
use confroll::command::serve::serve;
use confroll::edge::config::{Settings, Sink};
use confroll::edge::sink_token::SinkToken;
use confroll::edge::variables::Variables;
use confroll_stack::RecordingSink;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::fake_cluster::FakeCluster;

/// A function that serves until it is dropped.
pub(crate) struct Function {
    pub(crate) url: String,
    pub(crate) http: reqwest::Client,
    stop: Option<oneshot::Sender<()>>,
    served: JoinHandle<()>,
}

impl Function {
    pub(crate) async fn on(cluster: &FakeCluster) -> Self {
        Self::with(cluster, Settings::for_testing()).await
    }

    /// A function that sends its reload events to `sink`.
    pub(crate) async fn telling(cluster: &FakeCluster, sink: &RecordingSink) -> Self {
        Self::with(cluster, Self::settings_telling(sink)).await
    }

    pub(crate) fn settings_telling(sink: &RecordingSink) -> Settings {
        let mut settings = Settings::for_testing();
        settings.sink = Some(Sink {
            url: sink.url().parse().unwrap(),
            extensions: [].into(),
            ca_certs: None,
            token: SinkToken::default(),
        });
        settings
    }

    pub(crate) async fn with(cluster: &FakeCluster, settings: Settings) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let listener = TcpListener::bind(settings.listen).await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let (stop, stopped) = oneshot::channel::<()>();
        let client = cluster.client();
        let served = tokio::spawn(async move {
            let stopped = async { drop(stopped.await) };
            serve(listener, client, &settings, stopped).await.unwrap();
        });
        let http =
            reqwest::Client::builder().no_proxy().tls_certs_only([]).timeout(Duration::from_secs(30)).build().unwrap();
        Self { url, http, stop: Some(stop), served }
    }

    /// Asks it to stop, as SIGTERM does; done when it has.
    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        self.served.await.unwrap();
    }

    /// Sends the event of a change and gives back the status of the answer.
    pub(crate) async fn told(&self, event: &ChangeEvent) -> u16 {
        let answer = event.request(&self.http, &self.url).send().await.unwrap();
        let status = answer.status();
        if status.is_success() {
            assert_eq!(answer.bytes().await.unwrap().len(), 0, "a 2xx has no body: a Broker takes one for a reply");
        }
        status.as_u16()
    }

    /// Asks for a sweep, as a PingSource does, and gives back the status of the answer.
    pub(crate) async fn swept(&self, id: &str) -> u16 {
        self.told(&ChangeEvent::ping(id)).await
    }

    /// Tells of an update and sees it done.
    pub(crate) async fn updated(&self, kind: &str, name: &str) {
        assert_eq!(self.told(&ChangeEvent::update(kind, name)).await, 202);
    }
}

/// The settings that these variables make of those for testing.
pub(crate) fn settings(variables: &[(&str, &str)]) -> Settings {
    let usual = [("ADDRESS", "127.0.0.1"), ("PORT", "0"), ("CONFROLL_DIGEST_KEY", "for testing")];
    let all = usual.iter().chain(variables).map(|(name, value)| (OsString::from(name), OsString::from(value)));
    Settings::read(&all.collect::<Variables>()).unwrap()
}

/// An event as the `ApiServerSource` sends it in `Reference` mode.
#[derive(Clone)]
pub(crate) struct ChangeEvent {
    pub(crate) id: String,
    pub(crate) event_type: String,
    pub(crate) data: Value,
}

impl ChangeEvent {
    pub(crate) fn update(kind: &str, name: &str) -> Self {
        Self::of("update", kind, name)
    }

    /// What a PingSource sends.
    pub(crate) fn ping(id: &str) -> Self {
        Self { id: id.to_owned(), event_type: "dev.knative.sources.ping".to_owned(), data: json!({}) }
    }

    pub(crate) fn is_ping(&self) -> bool {
        self.event_type == Self::ping("").event_type
    }

    pub(crate) fn of(verb: &str, kind: &str, name: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            id: format!("event-{}", NEXT.fetch_add(1, Ordering::Relaxed)),
            event_type: format!("dev.knative.apiserver.ref.{verb}"),
            data: json!({ "apiVersion": "v1", "kind": kind, "namespace": "shop", "name": name }),
        }
    }

    /// For a router that is asked without a wire.
    pub(crate) fn as_http(&self) -> http::Request<axum::body::Body> {
        let request = http::Request::post("/")
            .header("content-type", "application/json")
            .header("ce-specversion", "1.0")
            .header("ce-id", &self.id)
            .header("ce-source", "https://10.96.0.1:443")
            .header("ce-type", &self.event_type);
        request.body(self.data.to_string().into()).unwrap()
    }

    pub(crate) fn request(&self, http: &reqwest::Client, url: &str) -> reqwest::RequestBuilder {
        http.post(url)
            .header("ce-specversion", "1.0")
            .header("ce-id", &self.id)
            .header("ce-source", "https://10.96.0.1:443")
            .header("ce-type", &self.event_type)
            .json(&self.data)
    }
}

/// A ConfigMap with one key `a`.
pub(crate) fn config_map(value: &str) -> Value {
    json!({ "metadata": {}, "data": { "a": value } })
}

/// The same with a label, which is no change of content.
pub(crate) fn labelled_config_map(value: &str, label: &str) -> Value {
    json!({ "metadata": { "labels": { "note": label } }, "data": { "a": value } })
}

/// A workload that asks for everything it uses and takes its environment from these ConfigMaps.
pub(crate) fn workload_using(config_maps: &[&str]) -> Value {
    let env_from: Vec<_> = config_maps.iter().map(|name| json!({ "configMapRef": { "name": name } })).collect();
    json!({
        "metadata": { "annotations": { "reloader.stakater.com/auto": "true" } },
        "spec": { "template": { "spec": { "containers": [{ "name": "main", "envFrom": env_from }] } } },
    })
}

/// A reload event as a sink received it.
pub(crate) struct ReloadEvent {
    pub(crate) id: String,
    pub(crate) event_type: String,
    pub(crate) source: String,
    pub(crate) subject: String,
    pub(crate) data: Value,
    event: cloudevents::Event,
}

impl ReloadEvent {
    pub(crate) fn extension(&self, name: &str) -> String {
        self.event.extension(name).unwrap().to_string()
    }
}

/// The reload events that a sink has received.
pub(crate) fn told(sink: &RecordingSink) -> Vec<ReloadEvent> {
    let read = |received: confroll_stack::Received| {
        let event = received.event;
        let data = match event.data() {
            Some(cloudevents::Data::Binary(bytes)) => serde_json::from_slice(bytes).unwrap(),
            other => panic!("in binary mode the data comes as bytes: {other:?}"),
        };
        ReloadEvent {
            id: event.id().to_owned(),
            event_type: event.ty().to_owned(),
            source: event.source().clone(),
            subject: event.subject().unwrap().to_owned(),
            data,
            event,
        }
    };
    sink.events().into_iter().map(read).collect()
}

/// Waits until something holds that has to come.
pub(crate) async fn until<F: Future<Output = bool>>(holds: impl Fn() -> F) {
    let waiting = async {
        while !holds().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_mins(3), waiting).await.unwrap();
}
