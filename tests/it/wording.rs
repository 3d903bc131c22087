//! What messages look like: each kind of message in each form, as it was looked at (docs/messages).

use confroll::announce::notice::Notice;
use confroll::announce::payload::{Message, Post, chat_message};
use confroll::announce::sink_kind::SinkKind;
use confroll::announce::style::Style;
use confroll::announce::webhook::{self, EventMode};
use serde_json::Value;

use crate::sample_events::kinds_of_messages;

fn pretty(post: &Post) -> String {
    let head: Vec<_> = post.query.iter().map(|(name, value)| format!("? {name}: {value}")).collect();
    let mut headers: Vec<_> = post.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
    // Extensions of an event have no order.
    headers.sort();
    let body = match serde_json::from_slice::<Value>(&post.body) {
        Ok(json) => serde_json::to_string_pretty(&json).unwrap(),
        Err(_) => String::from_utf8(post.body.clone()).unwrap(),
    };
    format!("{}\n\n{body}", head.into_iter().chain(headers).collect::<Vec<_>>().join("\n"))
}

#[test]
fn every_kind_of_message_is_as_it_was_looked_at() {
    for kind in [SinkKind::Slack, SinkKind::GoogleChat, SinkKind::Teams, SinkKind::PlainText] {
        for (name, events) in kinds_of_messages() {
            let notices: Vec<_> = events.iter().map(|event| Notice::from_event(event).unwrap().unwrap()).collect();
            let Message { full, plain } = chat_message(kind, &notices, &Style::default()).unwrap();
            let name = format!("{}-{name}", kind.as_str());
            insta::assert_snapshot!(name.clone(), pretty(&full));
            if let Some(plain) = plain {
                insta::assert_snapshot!(format!("{name}-as-text"), pretty(&plain));
            }
        }
    }
}

#[test]
fn a_webhook_gets_the_event_in_either_form() {
    let [(_, mut reload), ..] = kinds_of_messages();
    let mut event = reload.remove(0);
    // As a Broker delivers it.
    let Some(cloudevents::Data::Json(data)) = event.data() else { panic!("the sample has JSON") };
    event.set_data_unchecked(cloudevents::Data::Binary(data.to_string().into_bytes()));
    insta::assert_snapshot!("webhook-structured", pretty(&webhook::post(&event, EventMode::Structured).unwrap()));
    insta::assert_snapshot!("webhook-binary", pretty(&webhook::post(&event, EventMode::Binary).unwrap()));
}
