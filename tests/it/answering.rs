//! What the Broker is answered for whatever a service does: repeated where it may work later, and only there.

use std::time::Duration;

use confroll_chat_double::{CANARY, ChatDouble, Fault, Service};

use Service::{GoogleChat, Slack, Teams, Webhook};

use crate::sink::{Sink, reload, send};

fn answer(status: u16, body: &str) -> Fault {
    Fault::Answer { status, headers: vec![], body: body.to_owned(), shown: false }
}

fn limited(status: u16, seconds: &str, body: &str) -> Fault {
    let headers = vec![("Retry-After".to_owned(), seconds.to_owned())];
    Fault::Answer { status, headers, body: body.to_owned(), shown: false }
}

#[derive(Clone)]
struct Row {
    name: &'static str,
    service: Service,
    faults: Vec<Fault>,
    status: u16,
    says: &'static str,
    requests: usize,
}

fn row(
    name: &'static str,
    service: Service,
    faults: Vec<Fault>,
    status: u16,
    says: &'static str,
    requests: usize,
) -> Row {
    Row { name, service, faults, status, says, requests }
}

/// Google Chat's error, quoting the secret.
fn wrapped(code: u16, word: &str) -> String {
    format!(r#"{{"error":{{"code":{code},"message":"{CANARY}","status":"{word}"}}}}"#)
}

/// Power Automate's error, quoting the secret.
fn flow(code: &str) -> String {
    format!(r#"{{"error":{{"code":"{code}","message":"{CANARY}"}}}}"#)
}

const RATE_LIMITED: &str = r#"{"retry_after":1,"ok":false,"error":"rate_limited"}"#;

/// It is taken, its layout is refused, or all of it.
fn taken_or_refused_payloads() -> Vec<Row> {
    vec![
        row("taken", Slack, vec![], 202, "", 1),
        row("taken", GoogleChat, vec![], 202, "", 1),
        row("taken", Teams, vec![], 202, "", 1),
        row("taken", Webhook, vec![], 202, "", 1),
        row("layout", Slack, vec![answer(400, "invalid_blocks")], 202, "", 2),
        row("layout", GoogleChat, vec![answer(400, &wrapped(400, "INVALID_ARGUMENT"))], 202, "", 2),
        row("layout", Teams, vec![answer(413, "")], 202, "", 2),
        row(
            "poison",
            Slack,
            vec![answer(400, "invalid_payload"), answer(400, "no_text")],
            422,
            "payload-refused: poison, it answered 400, no_text",
            2,
        ),
        row(
            "poison",
            GoogleChat,
            vec![answer(400, &wrapped(400, "INVALID_ARGUMENT")), answer(400, &wrapped(400, "INVALID_ARGUMENT"))],
            422,
            "INVALID_ARGUMENT",
            2,
        ),
        row(
            "poison",
            Webhook,
            vec![answer(400, CANARY)],
            422,
            "payload-refused: poison, it answered 400, bad-request",
            1,
        ),
    ]
}

/// The destination takes nothing any more.
fn refusing_destinations() -> Vec<Row> {
    vec![
        row(
            "gone",
            Slack,
            vec![answer(404, "no_service")],
            424,
            "destination-refused: gone, it answered 404, no_service",
            1,
        ),
        row("archived", Slack, vec![answer(410, "channel_is_archived")], 424, "channel_is_archived", 1),
        row("forbidden", Slack, vec![answer(403, "action_prohibited")], 424, "action_prohibited", 1),
        row(
            "forbidden",
            GoogleChat,
            vec![answer(403, &wrapped(403, "PERMISSION_DENIED"))],
            424,
            "PERMISSION_DENIED",
            1,
        ),
        row(
            "off",
            Teams,
            vec![answer(400, &flow("WorkflowTriggerIsNotEnabled"))],
            424,
            "WorkflowTriggerIsNotEnabled",
            1,
        ),
        row("gone", Webhook, vec![answer(404, CANARY)], 424, "it answered 404, not-found", 1),
        row(
            "moved",
            Slack,
            vec![Fault::Redirect { to: format!("https://evil.example/{CANARY}") }],
            424,
            "it answered 302, redirect",
            1,
        ),
        row("moved", Webhook, vec![Fault::Redirect { to: "http://127.0.0.1:1/".to_owned() }], 424, "redirect", 1),
    ]
}

/// The service wants a pause.
fn pauses() -> Vec<Row> {
    vec![
        row("slow-down", Slack, vec![limited(429, "1", RATE_LIMITED)], 202, "", 2),
        row("slow-down", GoogleChat, vec![answer(429, &wrapped(429, "RESOURCE_EXHAUSTED"))], 202, "", 2),
        row(
            "far-too-fast",
            Slack,
            vec![limited(429, "30", RATE_LIMITED)],
            429,
            "too-fast: far-too-fast, it answered 429, rate_limited",
            1,
        ),
        row(
            "too-fast-twice",
            Slack,
            vec![limited(429, "1", RATE_LIMITED), limited(429, "1", RATE_LIMITED)],
            429,
            "rate_limited",
            2,
        ),
    ]
}

/// The service, or the way to it, fails.
fn troubles() -> Vec<Row> {
    vec![
        row(
            "incident",
            Slack,
            vec![answer(503, "<html>")],
            503,
            "upstream-unavailable: incident, it answered 503, server-error",
            1,
        ),
        row("incident", GoogleChat, vec![answer(500, &wrapped(500, "INTERNAL"))], 503, "INTERNAL", 1),
        row("login-page", Slack, vec![Fault::HtmlOk], 503, "it answered 200, wrong-body", 1),
        row("login-page", GoogleChat, vec![Fault::HtmlOk], 503, "wrong-body", 1),
        row("login-page", Teams, vec![Fault::HtmlOk], 503, "wrong-body", 1),
        row(
            "hangs-up",
            Slack,
            vec![Fault::CloseBeforeReading],
            503,
            "upstream-unavailable: hangs-up, connection-closed",
            1,
        ),
        row("hangs-up-late", Slack, vec![Fault::CloseAfterReading { shown: true }], 503, "connection-closed", 1),
        row("half", GoogleChat, vec![Fault::HalfAnswer], 503, "connection-closed", 1),
        row("silent", Slack, vec![Fault::Hang], 503, "upstream-unavailable: silent, timeout", 1),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn each_thing_that_a_service_does_has_its_answer() {
    let double = ChatDouble::start().await.unwrap();
    let all = [taken_or_refused_payloads(), refusing_destinations(), pauses(), troubles()].concat();
    let mut running = tokio::task::JoinSet::new();
    let double = std::sync::Arc::new(double);
    for row in all {
        let double = double.clone();
        running.spawn(async move {
            double.script(row.service, row.name, row.faults);
            let sink = Sink::to(&double, row.service, &[row.name]).await;
            let answered = sink.tell(row.name, &reload()).await;
            let name = format!("{} {}", row.service.as_str(), row.name);
            assert_eq!(answered.status, row.status, "{name}: {answered:?}");
            assert!(answered.body.contains(row.says), "{name}: {answered:?}");
            assert!(!answered.body.contains(CANARY), "{name}: {answered:?}");
            assert_eq!(answered.retry_after.is_some(), row.status == 429, "{name}: {answered:?}");
            let requests = double.requests();
            let to_it = |request: &&_| is_to(request, row.service, row.name);
            assert_eq!(requests.iter().filter(to_it).count(), row.requests, "{name}");
        });
    }
    while let Some(done) = running.join_next().await {
        done.unwrap();
    }
}

fn is_to(request: &confroll_chat_double::Request, service: Service, channel: &str) -> bool {
    request.service == Some(service) && request.channel == channel
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_long_pause_was_asked_for_nothing_is_sent_until_it_is_over() {
    let double = ChatDouble::start().await.unwrap();
    double.script(Service::Slack, "team", vec![limited(429, "6", "")]);
    let sink = Sink::to(&double, Service::Slack, &["team", "other"]).await;
    assert_eq!(sink.tell("team", &reload()).await.status, 429);
    let answered = sink.tell("team", &reload()).await;
    assert_eq!((answered.status, double.requests().len()), (429, 1), "{answered:?}");
    assert!(answered.retry_after.is_some_and(|seconds| (5..=6).contains(&seconds.parse().unwrap())));
    assert_eq!(sink.tell("other", &reload()).await.status, 202, "a pause is of one destination");
}

#[tokio::test]
async fn what_is_no_reload_event_is_refused_for_good_or_left_alone() {
    let double = ChatDouble::start().await.unwrap();
    let sink = Sink::to(&double, Service::Slack, &["default"]).await;
    let mut invoked = reload();
    cloudevents::AttributesWriter::set_type(&mut invoked, "boson.fn");
    assert_eq!(sink.tell("default", &invoked).await.status, 204);
    let url = format!("{}/", sink.url);
    assert_eq!(send(&sink.http, &url, &invoked).await.status, 204);
    let refused = sink.http.post(&url).body(CANARY).send().await.unwrap();
    assert_eq!(refused.status(), 400);
    let text = refused.text().await.unwrap();
    assert!(text.starts_with("bad-event: ") && !text.contains(CANARY), "{text}");
    let mut unreadable = reload();
    unreadable.set_data_unchecked(serde_json::json!({ "sources": CANARY }));
    let answered = sink.tell("default", &unreadable).await;
    assert_eq!((answered.status, answered.body.as_str()), (400, "bad-event: the event's data is no reload report"));
    let too_long = sink.http.post(&url).body(vec![b' '; 2 << 20]).send().await.unwrap();
    assert_eq!(too_long.status(), 413);
    assert_eq!(double.requests().len(), 0);
    assert_eq!(send(&sink.http, &url, &reload()).await.status, 202, "and `/` is the destination `default`");
}

#[tokio::test]
async fn a_destination_may_come_go_and_change_while_the_sink_runs() {
    let double = ChatDouble::start().await.unwrap();
    let sink = Sink::to(&double, Service::Webhook, &["first"]).await;
    let answered = sink.tell("second", &reload()).await;
    assert_eq!((answered.status, answered.body.as_str()), (404, "no-such-destination: second is not there"));
    let answered = sink.tell(&format!("..%2F{CANARY}"), &reload()).await;
    assert_eq!(answered.status, 424);
    assert!(!answered.body.contains(CANARY));
    let wrong_path = send(&sink.http, &format!("{}/second/{CANARY}", sink.url), &reload()).await;
    assert_eq!(wrong_path.status, 424);
    assert!(wrong_path.body.contains("/d/NAME") && !wrong_path.body.contains(CANARY), "{wrong_path:?}");
    let second = sink.folder.path().join("second");
    std::fs::write(&second, "http://not-loopback.example/").unwrap();
    let answered = sink.tell("second", &reload()).await;
    assert_eq!(
        (answered.status, answered.body.as_str()),
        (424, "bad-destination: second holds a URL that is not https; only a loopback address may be http")
    );
    std::fs::write(&second, format!("{}\n", double.webhook_url(Service::Webhook, "second"))).unwrap();
    assert_eq!(sink.tell("second", &reload()).await.status, 202);
    std::fs::write(&second, double.webhook_url(Service::Webhook, "rotated")).unwrap();
    assert_eq!(sink.tell("second", &reload()).await.status, 202);
    std::fs::remove_file(&second).unwrap();
    assert_eq!(sink.tell("second", &reload()).await.status, 404);
    let channels: Vec<_> = double.requests().into_iter().map(|request| request.channel).collect();
    assert_eq!(channels, ["second", "rotated"]);
}

#[tokio::test]
async fn an_event_that_comes_again_is_posted_once() {
    let double = ChatDouble::start().await.unwrap();
    double.script(Service::Slack, "team", vec![Fault::SlowAnswer { after: Duration::from_millis(300) }]);
    let sink = Sink::to(&double, Service::Slack, &["team"]).await;
    let event = reload();
    // At once, while the first is on its way, and after it was posted.
    let answers = tokio::join!(sink.tell("team", &event), sink.tell("team", &event));
    assert_eq!((answers.0.status, answers.1.status), (202, 202));
    assert_eq!(sink.tell("team", &event).await.status, 202);
    assert_eq!(double.messages(Service::Slack, "team").len(), 1);
    let metrics = sink.metrics().await;
    assert!(metrics.contains("confroll_duplicates_total 2"), "{metrics}");
}

#[tokio::test]
async fn an_event_that_was_not_posted_is_when_it_comes_again() {
    let double = ChatDouble::start().await.unwrap();
    double.script(Service::Slack, "team", vec![answer(503, "")]);
    let sink = Sink::to(&double, Service::Slack, &["team"]).await;
    let event = reload();
    assert_eq!(sink.tell("team", &event).await.status, 503);
    assert_eq!(sink.tell("team", &event).await.status, 202);
    assert_eq!(double.messages(Service::Slack, "team").len(), 1);
}

#[tokio::test]
async fn what_waits_for_company_is_posted_when_the_sink_is_told_to_stop() {
    let double = ChatDouble::start().await.unwrap();
    let urls = [("team", double.webhook_url(Service::Slack, "team"))];
    let sink =
        Sink::with(confroll::announce::sink_kind::SinkKind::Slack, &urls, &[("CONFROLL_BATCH_WINDOW", "5s")]).await;
    let event = reload();
    let waiting = [(), ()].map(|()| {
        let (http, url, event) = (sink.http.clone(), format!("{}/d/team", sink.url), event.clone());
        tokio::spawn(async move { send(&http, &url, &event).await })
    });
    // Both wait once one of them is counted as a repetition.
    while !sink.metrics().await.contains("confroll_duplicates_total 1") {
        tokio::task::yield_now().await;
    }
    assert!(double.requests().is_empty());
    sink.stop().await;
    for waiting in waiting {
        assert_eq!(waiting.await.unwrap().status, 202);
    }
    assert_eq!(double.messages(Service::Slack, "team").len(), 1);
}
