//! What only Google Chat does: threads, request ids and errors in two shapes.

use super::*;

const CHAT: Service = Service::GoogleChat;
const OPTION: &str = "&messageReplyOption=REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD";

async fn unlimited() -> ChatDouble {
    let double = ChatDouble::start().await.unwrap();
    double.limit_rate(false);
    double
}

fn threads(double: &ChatDouble) -> Vec<String> {
    double.requests().into_iter().filter_map(|request| request.thread).collect()
}

#[tokio::test]
async fn a_thread_key_needs_the_option_and_is_private_to_its_webhook() {
    let double = unlimited().await;
    let body = json!({"text": "a", "thread": {"threadKey": "k"}});
    for (channel, option) in [("a~x", OPTION), ("a~x", OPTION), ("a~y", OPTION), ("a~x", ""), ("a~x", OPTION)] {
        post_to(&(double.webhook_url(CHAT, channel) + option), CHAT, &body).await.unwrap();
    }
    let thread = |number| format!("spaces/a/threads/{number}");
    assert_eq!(threads(&double), [1, 1, 3, 4, 1].map(thread));
}

#[tokio::test]
async fn a_request_id_is_replayed_only_when_told_to() {
    for (replay, shown) in [(false, 2), (true, 1)] {
        let double = unlimited().await;
        double.replay_request_ids(replay);
        let url = double.webhook_url(CHAT, "a") + "&requestId=1";
        let first = post_to(&url, CHAT, &good(CHAT)).await.unwrap();
        let again = post_to(&url, CHAT, &good(CHAT)).await.unwrap();
        assert_eq!((double.messages(CHAT, "a").len(), first == again), (shown, replay));
    }
}

#[tokio::test]
async fn a_message_whose_answer_was_lost_is_known_by_its_request_id() {
    let double = unlimited().await;
    double.replay_request_ids(true);
    double.script(CHAT, "a", vec![Fault::CloseAfterReading { shown: true }]);
    let url = double.webhook_url(CHAT, "a") + "&requestId=1";
    assert!(post_to(&url, CHAT, &good(CHAT)).await.is_err());
    assert_eq!(post_to(&url, CHAT, &good(CHAT)).await.unwrap().0, 200);
    assert_eq!(double.messages(CHAT, "a").len(), 1);
}

#[tokio::test]
async fn errors_have_the_shape_that_was_asked_for() {
    let double = unlimited().await;
    for (flat, pointer) in [(false, "/error/status"), (true, "/status")] {
        double.flat_errors(flat);
        let (status, text) = post(&double, CHAT, "a", &json!({})).await.unwrap();
        let error: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((status, error.pointer(pointer)), (400, Some(&json!("INVALID_ARGUMENT"))));
    }
}

#[tokio::test]
async fn the_query_has_rules() {
    let double = unlimited().await;
    for (more, rule, status) in [
        ("&colour=red", "unknown_query", 400),
        ("&messageReplyOption=YES", "reply_option", 400),
        ("&messageId=1", "message_id", 400),
        ("&threadKey=a", "deprecated_thread_key", 200),
        ("&messageId=client-1&requestId=1", "", 200),
    ] {
        let answer = post_to(&(double.webhook_url(CHAT, "a") + more), CHAT, &good(CHAT)).await.unwrap();
        assert_eq!((answer.0, last_broken(&double).concat().as_str()), (status, rule), "{more}");
    }
}
