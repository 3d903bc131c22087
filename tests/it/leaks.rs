//! A webhook URL is a credential: whatever happens, it is in no log, answer, metric, dead letter or message.

use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use confroll_chat_double::{CANARY, ChatDouble, Fault, Service};
use confroll_stack::{BrokerDelivery, Function, RecordingSink, RunFolder};
use serde_json::json;

use crate::shop::{SOON, stack};
use crate::sink::{http, reload, send};

/// Everything that a service can do to us, quoting the secret where it can.
fn faults() -> Vec<Fault> {
    let answer = |status, body: &str| Fault::Answer { status, headers: vec![], body: body.to_owned(), shown: false };
    vec![
        answer(400, CANARY),
        answer(400, CANARY),
        answer(404, CANARY),
        answer(500, CANARY),
        Fault::HtmlOk,
        Fault::Redirect { to: format!("https://evil.example/{CANARY}") },
        Fault::CloseBeforeReading,
        Fault::CloseAfterReading { shown: false },
        Fault::HalfAnswer,
        Fault::Hang,
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn no_fault_brings_the_url_into_logs_answers_or_metrics() {
    let double = ChatDouble::start().await.unwrap();
    for service in Service::ALL {
        let folder = RunFolder::new().unwrap();
        let put = |name: &str, url: String| std::fs::write(folder.path().join(name), url).unwrap();
        put("team", double.webhook_url(service, "team"));
        put("nobody", format!("http://127.0.0.1:1/{CANARY}"));
        put("no-name", format!("https://{CANARY}.invalid/{CANARY}"));
        put("no-url", CANARY.to_owned());
        put("in-the-clear", format!("http://sink.example/{CANARY}"));
        put(&format!("{CANARY}_in_a_name"), CANARY.to_owned());
        let env = vec![
            ("CONFROLL_DESTINATIONS", folder.path().to_str().unwrap().to_owned()),
            ("CONFROLL_LOG_LEVEL", "trace".to_owned()),
            ("RUST_LOG", "trace".to_owned()),
            ("RUST_BACKTRACE", "full".to_owned()),
        ];
        let sink = Function::start_sink(env!("CARGO_BIN_EXE_confroll").as_ref(), service.as_str(), env).await.unwrap();
        double.script(service, "team", faults());
        let http = http();
        let mut seen = String::new();
        // The first two faults meet one message in both its forms, where it has two.
        let messages = if service == Service::Webhook { 10 } else { 9 };
        let team = std::iter::repeat_n("team", messages);
        for destination in team.chain(["nobody", "no-name", "no-url", "in-the-clear", "unknown"]) {
            let answered = send(&http, &format!("{}/d/{destination}", sink.url()), &reload()).await;
            // Where the status says it all, half an answer or a login page is as good as any.
            let by_status = matches!(service, Service::Webhook | Service::Teams);
            assert!(answered.status >= 400 || by_status, "{service} {destination}: {answered:?}");
            seen += &answered.body;
        }
        seen += &http.get(format!("{}/metrics", sink.url())).send().await.unwrap().text().await.unwrap();
        sink.stop().await.unwrap();
        seen += &sink.log();
        assert!(seen.contains("confroll_notifications") && seen.contains("not posted"), "{service}: {seen}");
        assert!(!seen.contains("hunter2"), "{service}: {seen}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_says_why_and_holds_no_url() {
    let stack = stack().await;
    let double = ChatDouble::start().await.unwrap();
    let namespace = stack.control_plane.create_namespace("dead").await.unwrap();
    let broker = stack.eventing.broker(&namespace, "default", BrokerDelivery::asynchronous()).await.unwrap();
    let dead_letters = RecordingSink::start().await.unwrap();
    let env = vec![("CONFROLL_WEBHOOK_URL", double.webhook_url(Service::Slack, "team"))];
    let sink = Function::start_sink(env!("CARGO_BIN_EXE_confroll").as_ref(), "slack", env).await.unwrap();
    let gone = Fault::Answer { status: 404, headers: vec![], body: format!("no_service {CANARY}"), shown: false };
    double.script(Service::Slack, "team", vec![gone]);
    let delivery = json!({
        "retry": 3, "backoffPolicy": "linear", "backoffDelay": "PT0.1S",
        "deadLetterSink": { "uri": dead_letters.url() },
    });
    broker.trigger("slack", json!([]), sink.url(), Some(delivery)).await.unwrap();
    assert_eq!(send(&http(), &broker.url(), &reload()).await.status, 202);
    let letters = dead_letters.wait_for(|letters| !letters.is_empty(), SOON).await.unwrap();
    // The Broker's filter wraps what the sink said.
    let said = letters[0].event.extension("knativeerrordata").unwrap().to_string();
    let said: serde_json::Value = serde_json::from_slice(&STANDARD.decode(said).unwrap()).unwrap();
    let said = String::from_utf8(STANDARD.decode(said["errresponsebody"].as_str().unwrap()).unwrap()).unwrap();
    assert_eq!(said, "destination-refused: default, it answered 404, not-found");
    assert!(!format!("{:?}", letters[0]).contains("hunter2"));
    assert_eq!(double.requests().len(), 1, "what is refused for good is not repeated");
}

#[tokio::test]
async fn a_wrong_start_and_a_failed_test_show_no_url() {
    let double = ChatDouble::start().await.unwrap();
    let url = double.webhook_url(Service::Slack, "team");
    let wrong_channel = url.replace(CANARY, "hunter2wrong");
    let argument = ["sink", url.as_str()];
    let rows: [(&[&str], &str, &str, &str); 9] = [
        (&argument, "CONFROLL_LOG_FORMAT", "text", "an argument is a URL"),
        (&["sink", "slack"], "CONFROLL_DESTINATIONS", &url, "folder that cannot be read"),
        (&["sink", "slack"], "CONFROLL_WEBHOOK_URL", "hunter2", "holds no URL"),
        (&["sink", "slack"], "CONFROLL_PROXY", &url.replace("http", "ftp"), "CONFROLL_PROXY"),
        (&["sink", "slack"], "CONFROLL_WEBHOK_URL", &url, "no setting CONFROLL_WEBHOK_URL"),
        (&["sink", "teams"], "CONFROLL_MENTION_ON_FAILURE", &url, "CONFROLL_MENTION_ON_FAILURE"),
        (&["sink", "slack", "--test", "hunter2/"], "CONFROLL_WEBHOOK_URL", &url, "may only hold"),
        (&["sink", "slack", "--test", "other"], "CONFROLL_WEBHOOK_URL", &url, "there is default"),
        (&["sink", "slack", "--test"], "CONFROLL_WEBHOOK_URL", &wrong_channel, "What to do"),
    ];
    for (arguments, variable, value, says) in rows {
        let mut command = Command::new(env!("CARGO_BIN_EXE_confroll"));
        command.args(arguments).env_clear().env("CONFROLL_WEBHOOK_URL", &url);
        command.env("CONFROLL_LOG_LEVEL", "trace").env(variable, value);
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(says), "{arguments:?} {variable}: {text}");
        assert!(!text.contains("hunter2"), "{arguments:?} {variable}: {text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_test_posts_a_sample_and_says_so() {
    let double = ChatDouble::start().await.unwrap();
    for service in Service::ALL {
        let mut command = Command::new(env!("CARGO_BIN_EXE_confroll"));
        command.args(["sink", service.as_str(), "--test"]).env_clear();
        command.env("CONFROLL_WEBHOOK_URL", double.webhook_url(service, "team"));
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success(), "{service}: {text}{}", String::from_utf8_lossy(&output.stderr));
        assert!(text.starts_with(&format!("{service}:default took the sample")), "{text}");
        assert!(double.messages(service, "team")[0].to_string().contains("this-is-a-test"));
    }
    for request in double.requests() {
        assert!(request.violations.is_empty(), "{:?}", request.violations);
    }
}
