//! What each service says to good and bad requests.

use super::*;

#[tokio::test]
async fn a_good_payload_is_accepted_recorded_and_shown_by_every_service() {
    let double = ChatDouble::start().await.unwrap();
    for (service, status, body) in [
        (Service::Slack, 200, "ok"),
        (Service::GoogleChat, 200, r#"{"name":"spaces/a/messages/1","thread":{"name":"spaces/a/threads/1"}}"#),
        (Service::Teams, 202, ""),
        (Service::Webhook, 204, ""),
    ] {
        assert_eq!(post(&double, service, "a", &good(service)).await.unwrap(), (status, body.to_owned()));
        assert_eq!(double.messages(service, "a"), [good(service)]);
        assert_eq!(double.messages(service, "b"), [] as [Value; 0]);
        let recorded = double.requests().pop().unwrap();
        assert_eq!((recorded.service, recorded.channel.as_str(), recorded.status), (Some(service), "a", status));
        assert_eq!((recorded.violations, recorded.shown), (vec![], true));
        assert_eq!(recorded.body, good(service).to_string().into_bytes());
    }
    let order: Vec<_> = double.all_messages().iter().map(|shown| shown.service).collect();
    assert_eq!(order, Service::ALL);
}

#[tokio::test]
async fn a_broken_rule_has_the_answer_of_its_service() {
    let double = ChatDouble::start().await.unwrap();
    double.limit_rate(false);
    let widgets = vec![json!({"textParagraph": {"text": "a"}}); 101];
    let cards = json!([{"cardId": "a", "card": {"sections": [{"widgets": widgets}]}}]);
    let big = json!({"type": "message", "attachments": "x".repeat(28_000)});
    for (service, body, status, word, shown) in [
        (Service::Slack, json!({"text": ""}), 400, "no_text", false),
        (Service::Slack, json!({"text": "a", "blocks": [{"type": "input"}]}), 400, "invalid_blocks", false),
        (Service::Slack, json!({"text": "a", "channel": "b"}), 400, "invalid_payload", false),
        (Service::Slack, json!({"text": "<!channel>"}), 200, "ok", true),
        (Service::GoogleChat, json!({"text": "a", "b": 1}), 400, r#""status":"INVALID_ARGUMENT""#, false),
        (Service::GoogleChat, json!({"cardsV2": cards}), 200, r#""name":"#, true),
        (Service::Teams, json!({"text": "a"}), 202, "", false),
        (Service::Teams, big, 413, "RequestEntityTooLarge", false),
        (Service::Webhook, json!({"id": "a"}), 400, "bad-event", false),
    ] {
        let (answered, text) = post(&double, service, "a", &body).await.unwrap();
        assert!(answered == status && text.contains(word), "{service} {body}: {answered} {text}");
        assert_ne!(last_broken(&double), [] as [&str; 0], "{service} {body}");
        assert_eq!(double.requests().last().unwrap().shown, shown, "{service} {body}");
    }
    double.allow_mention("<!channel>");
    post(&double, Service::Slack, "a", &json!({"text": "<!channel>"})).await.unwrap();
    assert_eq!(last_broken(&double), [] as [&str; 0]);
}

#[tokio::test]
async fn a_wrong_url_is_answered_as_the_service_does_and_recorded() {
    let double = ChatDouble::start().await.unwrap();
    let url = |service| double.webhook_url(service, "a");
    for (service, from, to, status, word) in [
        (Service::Slack, CANARY, "guess", 403, "invalid_token"),
        (Service::Slack, "T000", "T001", 404, "no_service"),
        (Service::GoogleChat, "key=", "kex=", 403, "unregistered callers"),
        (Service::GoogleChat, "key=", "key=x", 400, "API key not valid"),
        (Service::GoogleChat, "token=", "token=x", 401, "UNAUTHENTICATED"),
        (Service::Teams, CANARY, "guess", 401, "AuthorizationFailed"),
        (Service::Webhook, CANARY, "guess", 401, ""),
    ] {
        let (answered, text) = post_to(&url(service).replacen(from, to, 1), service, &good(service)).await.unwrap();
        assert!(answered == status && text.contains(word), "{service} {to}: {answered} {text}");
        let broken = last_broken(&double);
        assert!(broken.contains(&"wrong_secret") || broken.contains(&"unknown_path"), "{broken:?}");
    }
    assert!(double.all_messages().is_empty());
}

#[tokio::test]
async fn what_is_around_a_payload_has_rules_too() {
    let double = ChatDouble::start().await.unwrap();
    double.limit_rate(false);
    let client = client();
    for service in Service::ALL {
        let url = double.webhook_url(service, "a");
        let get = client.get(&url).header("content-type", content_type(service)).body(good(service).to_string());
        let form = client.post(&url).header("content-type", "text/plain").body(good(service).to_string());
        let torn = client.post(&url).header("content-type", content_type(service)).body("{");
        for (request, rule, status) in [(get, "method", 405), (form, "content_type", 400), (torn, "not_json", 400)] {
            assert_eq!(request.send().await.unwrap().status(), status, "{service} {rule}");
            assert_eq!(last_broken(&double), [rule], "{service}");
        }
    }
    assert!(double.all_messages().is_empty());
}

#[tokio::test]
async fn a_webhook_takes_binary_events_with_all_their_headers() {
    let double = ChatDouble::start().await.unwrap();
    let headers = ["ce-specversion", "ce-id", "ce-source", "ce-type"];
    for (left_out, status) in [(None, 204), (Some("ce-id"), 400)] {
        let request = client().post(double.webhook_url(Service::Webhook, "a"));
        let request = request.header("content-type", "application/json").body(r#"{"outcome":"reloaded"}"#);
        let sent = headers.iter().filter(|name| Some(**name) != left_out);
        let answer = sent.fold(request, |request, name| request.header(*name, "1.0")).send().await.unwrap();
        assert_eq!(answer.status(), status);
    }
    assert_eq!(last_broken(&double), ["event_headers"]);
    assert_eq!(double.messages(Service::Webhook, "a"), [json!({"outcome": "reloaded"})]);
}

#[tokio::test]
async fn a_burst_is_refused_where_the_service_has_a_limit() {
    for (service, burst, hint) in [(Service::Slack, 3, Some("1")), (Service::GoogleChat, 2, None)] {
        let double = ChatDouble::start().await.unwrap();
        for _ in 0..burst {
            assert_eq!(post(&double, service, "a~x", &good(service)).await.unwrap().0, 200);
        }
        let request = client().post(double.webhook_url(service, if hint.is_none() { "a~y" } else { "a~x" }));
        let request = request.header("content-type", "application/json").body(good(service).to_string());
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status(), 429);
        assert_eq!(answer.headers().get("retry-after").map(|value| value.to_str().unwrap()), hint);
        let word = if service == Service::Slack { "rate_limited" } else { "RESOURCE_EXHAUSTED" };
        assert!(answer.text().await.unwrap().contains(word));
        assert_eq!(double.all_messages().len(), burst);
        double.limit_rate(false);
        assert_eq!(post(&double, service, "a~x", &good(service)).await.unwrap().0, 200);
    }
}
