//! From the Broker to the channel: every reload is told, whatever fails on the way, and no faster than a channel takes.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use cloudevents::Event;
use confroll::edge::reporter::now;
use confroll_chat_double::{ChatDouble, Fault, Service};
use confroll_stack::{Broker, BrokerDelivery, Function, RunFolder};
use futures::stream::{self, StreamExt as _};
use serde_json::{Value, json};

use crate::sample_events::event;
use crate::shop::{SOON, stack};
use crate::sink::{failure_of, http, reload_of, send};

const PROGRAM: &str = env!("CARGO_BIN_EXE_confroll");

/// As eventing/sinks has it, with a shorter wait between attempts.
fn delivery() -> Value {
    json!({ "retry": 8, "backoffPolicy": "linear", "backoffDelay": "PT0.5S", "timeout": "PT20S" })
}

async fn broker() -> Broker {
    let stack = stack().await;
    let namespace = stack.control_plane.create_namespace("told").await.unwrap();
    stack.eventing.broker(&namespace, "default", BrokerDelivery::asynchronous()).await.unwrap()
}

/// A sink as a process of its own, whose destinations are files of the folder.
async fn sink(service: Service, folder: &RunFolder, env: &[(&'static str, &str)]) -> Function {
    let mut all = vec![
        ("CONFROLL_DESTINATIONS", folder.path().to_str().unwrap().to_owned()),
        ("CONFROLL_LOG_LEVEL", "trace".to_owned()),
    ];
    all.extend(env.iter().map(|(name, value)| (*name, (*value).to_owned())));
    Function::start_sink(Path::new(PROGRAM), service.as_str(), all).await.unwrap()
}

fn folder(double: &ChatDouble, service: Service, channels: &[&str]) -> RunFolder {
    let folder = RunFolder::new().unwrap();
    for channel in channels {
        std::fs::write(folder.path().join(channel), double.webhook_url(service, channel)).unwrap();
    }
    folder
}

fn all_reload_events() -> Value {
    json!([{ "prefix": { "type": "dev.confroll.workload." } }])
}

#[tokio::test(flavor = "multi_thread")]
async fn five_hundred_reloads_in_a_second_are_a_few_messages_that_count_them_all() {
    let double = ChatDouble::start().await.unwrap();
    let broker = broker().await;
    let services = [Service::Slack, Service::GoogleChat, Service::Teams];
    let mut sinks = Vec::new();
    for service in services {
        let folder = folder(&double, service, &["team"]);
        let sink = sink(service, &folder, &[]).await;
        let url = format!("{}/d/team", sink.url());
        broker.trigger(service.as_str(), all_reload_events(), &url, Some(delivery())).await.unwrap();
        sinks.push((sink, folder));
    }
    let mut events: Vec<Event> = (0..500).map(|n| reload_of(&format!("w{n}"))).collect();
    events.insert(250, failure_of("broken", "exceeded quota: pods"));
    let (http, url) = (http(), broker.url());
    let began = now();
    let sent = stream::iter(&events).map(|event| send(&http, &url, event)).buffer_unordered(64);
    sent.for_each(|answered| async move { assert_eq!(answered.status, 202) }).await;
    let sending = now().duration_since(began);
    let told = |service| double.messages(service, "team").iter().map(counted).sum::<usize>();
    double.wait_for(|_| services.into_iter().all(|service| told(service) >= 501), SOON).await.unwrap();
    // What comes behind everything else: when it is told, nothing is left.
    assert_eq!(send(&http, &url, &reload_of("marker")).await.status, 202);
    double.wait_for(|_| services.into_iter().all(|service| told(service) >= 502), SOON).await.unwrap();
    for service in services {
        let arrived: Vec<_> =
            double.requests().into_iter().filter(|request| request.service == Some(service)).collect();
        assert_eq!(told(service), 502, "{service}: each reload is counted once");
        for pair in arrived.windows(2) {
            let gap = pair[1].at.duration_since(pair[0].at);
            assert!(gap >= jiff::SignedDuration::from_secs(1), "{service}: {gap:?} between two messages");
        }
        let messages = double.messages(service, "team");
        let failed = messages.iter().position(|message| message.to_string().contains("exceeded quota: pods")).unwrap();
        assert!(arrived.iter().all(|request| request.violations.is_empty() && request.shown), "{service}");
        // Figures, not promises.
        eprintln!(
            "{service}: 501 sent in {sending:?}; {} messages; the first after {:?}, the failure after {:?}",
            messages.len(),
            arrived[0].at.duration_since(began),
            arrived[failed].at.duration_since(began),
        );
    }
}

/// How many reloads a message is about, by its headline: `12 reloads in …`, `2 of 12 reloads failed in …`.
fn counted(message: &Value) -> usize {
    let headline = match message["fallbackText"].as_str().or(message["text"].as_str()) {
        Some(text) => text.lines().next().unwrap().to_owned(),
        None => message["attachments"][0]["content"]["body"][0]["inlines"][0]["text"].as_str().unwrap().to_owned(),
    };
    let before = headline.split(" reload").next().unwrap();
    before.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(1)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_reload_is_told_through_faults_and_kills_and_only_what_nobody_answered_is_told_again() {
    let double = ChatDouble::start().await.unwrap();
    let broker = broker().await;
    let folder = folder(&double, Service::Slack, &["team"]);
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let first = sink(Service::Slack, &folder, &[("PORT", &port), ("CONFROLL_BATCH_WINDOW", "300ms")]).await;
    let url = format!("{}/d/team", first.url());
    broker.trigger("slack", all_reload_events(), &url, Some(delivery())).await.unwrap();
    let refused = |status: u16| Fault::Answer { status, headers: vec![], body: String::new(), shown: false };
    let faults = vec![
        refused(503),
        Fault::CloseBeforeReading,
        Fault::CloseAfterReading { shown: true },
        Fault::HtmlOk,
        // The last: shown, and killed before it is answered.
        Fault::SlowAnswer { after: Duration::from_secs(30) },
    ];
    let faulty = faults.len();
    double.script(Service::Slack, "team", faults);
    let names: Vec<String> = (10..22).map(|n| format!("workload-{n}")).collect();
    let http = http();
    for name in &names {
        let source = json!([{ "kind": "ConfigMap", "name": format!("of-{name}"), "change": "updated" }]);
        let answered = send(&http, &broker.url(), &event("shop", "Deployment", name, source, &json!({}))).await;
        assert_eq!(answered.status, 202);
    }
    double.wait_for(|requests| requests.len() >= faulty, SOON).await.unwrap();
    first.kill();
    let second = sink(Service::Slack, &folder, &[("PORT", &port), ("CONFROLL_BATCH_WINDOW", "300ms")]).await;
    let times = |name: &str| {
        let messages = double.messages(Service::Slack, "team");
        messages.iter().filter(|message| message.to_string().contains(name)).count()
    };
    // No message was answered as posted so far, so each event is told once more, whether it was shown or not.
    let shown: BTreeMap<&str, usize> = names.iter().map(|name| (name.as_str(), times(name))).collect();
    double.wait_for(|_| shown.iter().all(|(name, before)| times(name) > *before), SOON).await.unwrap();
    // What comes behind everything else: when it is told, nothing is left.
    assert_eq!(send(&http, &broker.url(), &reload_of("marker")).await.status, 202);
    double.wait_for(|_| times("marker") > 0, SOON).await.unwrap();
    for (name, before) in &shown {
        assert_eq!(times(name), before + 1, "{name}\n{}", second.log());
    }
    assert!(shown.values().any(|before| *before > 0), "some were shown and not answered");
}
