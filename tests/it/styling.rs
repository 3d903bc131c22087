//! What an operator can set about messages, as the services show it.

use confroll::announce::sink_kind::SinkKind;
use confroll::edge::sink_settings::SinkSettings;
use confroll_chat_double::{ChatDouble, Fault, Service};

use crate::sample_events::event;
use crate::sink::{Sink, failure_of, kind_of, reload, reload_of};

async fn sink(double: &ChatDouble, service: Service, settings: &[(&str, &str)]) -> Sink {
    let urls = [("team", double.webhook_url(service, "team"))];
    let window = [("CONFROLL_BATCH_WINDOW", "0")];
    let all: Vec<_> = window.iter().filter(|_| service != Service::Webhook).chain(settings).copied().collect();
    Sink::with(kind_of(service), &urls, &all).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_calls_who_is_set_and_a_reload_calls_nobody() {
    for (service, mention) in [(Service::Slack, "<!subteam^S0123>"), (Service::GoogleChat, "<users/all>")] {
        let double = ChatDouble::start().await.unwrap();
        double.allow_mention(mention);
        let sink = sink(&double, service, &[("CONFROLL_MENTION_ON_FAILURE", mention)]).await;
        assert_eq!(sink.tell("team", &reload_of("<!channel>")).await.status, 202);
        assert_eq!(sink.tell("team", &failure_of("<users/all>", "<!here> no")).await.status, 202);
        let messages = double.messages(service, "team");
        assert!(!messages[0].to_string().contains(mention), "{service}: {:#}", messages[0]);
        assert!(messages[1].to_string().contains(mention), "{service}: {:#}", messages[1]);
        for request in double.requests() {
            assert!(request.violations.is_empty(), "{service}: {:?}", request.violations);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollout_that_reaches_no_pods_by_itself_says_so_in_every_chat() {
    let note = "its update strategy is OnDelete: pods restart only when they are deleted";
    let sources = serde_json::json!([{ "kind": "ConfigMap", "name": "app", "change": "updated" }]);
    let event = event("shop", "DaemonSet", "agent", sources, &serde_json::json!({ "note": note }));
    for service in [Service::Slack, Service::GoogleChat, Service::Teams] {
        let double = ChatDouble::start().await.unwrap();
        let sink = sink(&double, service, &[]).await;
        assert_eq!(sink.tell("team", &event).await.status, 202);
        let message = double.messages(service, "team")[0].to_string();
        assert!(message.contains(note) && message.contains("Reloaded"), "{service}: {message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_about_one_workload_share_a_thread_where_that_is_set() {
    let double = ChatDouble::start().await.unwrap();
    let sink = sink(&double, Service::GoogleChat, &[("CONFROLL_THREAD_BY", "workload")]).await;
    for (id, mut event) in [("1", reload_of("api")), ("2", failure_of("api", "no")), ("3", reload_of("web"))] {
        cloudevents::AttributesWriter::set_id(&mut event, id);
        assert_eq!(sink.tell("team", &event).await.status, 202);
    }
    let threads: Vec<_> = double.requests().into_iter().map(|request| request.thread.unwrap()).collect();
    assert!(threads[0] == threads[1] && threads[1] != threads[2], "{threads:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_whose_answer_was_lost_is_shown_once_where_the_service_knows_repeats() {
    let double = ChatDouble::start().await.unwrap();
    double.replay_request_ids(true);
    double.script(Service::GoogleChat, "team", vec![Fault::CloseAfterReading { shown: true }]);
    let sink = sink(&double, Service::GoogleChat, &[]).await;
    let event = reload();
    assert_eq!(sink.tell("team", &event).await.status, 503, "nobody knows whether it was posted");
    assert_eq!(sink.tell("team", &event).await.status, 202);
    assert_eq!((double.requests().len(), double.messages(Service::GoogleChat, "team").len()), (2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn destinations_that_share_a_space_are_all_told_though_it_takes_one_a_second() {
    let double = ChatDouble::start().await.unwrap();
    double.flat_errors(true);
    let names = ["a", "b", "c", "d"];
    let urls: Vec<_> =
        names.iter().map(|name| (*name, double.webhook_url(Service::GoogleChat, &format!("space~{name}")))).collect();
    let sink = Sink::with(SinkKind::GoogleChat, &urls, &[("CONFROLL_BATCH_WINDOW", "0")]).await;
    let told = futures::future::join_all(names.map(|name| {
        let sink = &sink;
        async move {
            let event = reload();
            // As a Broker does: what comes too fast comes again.
            for _ in 0..8 {
                match sink.tell(name, &event).await.status {
                    202 => return true,
                    status => assert_eq!(status, 429),
                }
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
            }
            false
        }
    }));
    assert_eq!(told.await, [true; 4]);
}

#[tokio::test]
async fn a_signed_webhook_can_be_verified() {
    let double = ChatDouble::start().await.unwrap();
    let key = std::env::temp_dir().join(format!("confroll-signing-key-{}", std::process::id()));
    std::fs::write(&key, "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let sink = sink(&double, Service::Webhook, &[("CONFROLL_SIGNING_KEY_FILE", key.to_str().unwrap())]).await;
    std::fs::remove_file(&key).unwrap();
    assert_eq!(sink.tell("team", &reload()).await.status, 202);
    let request = &double.requests()[0];
    let header = |name: &str| request.headers[name].to_str().unwrap().to_owned();
    let at = jiff::Timestamp::from_second(header("webhook-timestamp").parse().unwrap()).unwrap();
    let same_key = confroll::announce::signature::SigningKey::parse(b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
    let [_, _, (_, signature)] = same_key.headers(&header("webhook-id"), at, &request.body);
    assert_eq!(header("webhook-signature"), signature);
    assert_eq!(request.violations, []);
}

#[test]
fn no_format_of_the_settings_shows_a_secret() {
    let key = std::env::temp_dir().join(format!("confroll-shown-key-{}", std::process::id()));
    std::fs::write(&key, "whsec_hunter2hunter2hunter2hunter2hunt").unwrap();
    let settings = [
        ("CONFROLL_WEBHOOK_URL", "https://hunter2:hunter2@hooks.example/hunter2?hunter2"),
        ("CONFROLL_PROXY", "http://hunter2:hunter2@proxy.example"),
        ("CONFROLL_SIGNING_KEY_FILE", key.to_str().unwrap()),
    ];
    let settings = SinkSettings::for_testing(SinkKind::Webhook, &settings).unwrap();
    std::fs::remove_file(&key).unwrap();
    assert!(!format!("{settings:?}{settings:#?}").contains("hunter2"));
}
