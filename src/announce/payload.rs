//! A message as the request that carries it: as much detail as fits, and a plain one for a service that refuses that.
//!
//! Invariants: every kind's payload fits its service, whatever the notices hold; the same notices give the same bytes.
//! Left out: the URL, and sending (edge/chat_webhook.rs).

use std::iter;

use serde_json::Value;

use super::announcement::{Announcement, Detail};
use super::identity::message_uuid;
use super::notice::Notice;
use super::sink_kind::SinkKind;
use super::style::Style;
use super::{google_chat, slack, teams};

/// What is told, from everything to the least; after it comes the text alone.
const LADDER: [Detail; 4] = [
    Detail { keys: 20, names: 10, rows: 12, failures: 8 },
    Detail { keys: 6, names: 5, rows: 8, failures: 8 },
    Detail { keys: 0, names: 3, rows: 5, failures: 5 },
    Detail { keys: 0, names: 1, rows: 3, failures: 3 },
];

/// A request but for its URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Post {
    /// Parameters to merge into the URL's query.
    pub query: Vec<(&'static str, String)>,
    /// Headers, the content type among them.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// A message and what is left of it where the service refuses its layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// With blocks or a card.
    pub full: Post,
    /// Text alone, with nothing that could be what was refused: no mention, no thread, no parameters. `None` where there is no simpler form.
    pub plain: Option<Post>,
}

/// How a service wants an announcement.
struct Dialect {
    full: fn(&Announcement) -> Value,
    text_only: fn(&Announcement) -> Value,
    fits: fn(&Value) -> bool,
}

/// The message of a chat service about these notices; `None` where there are none, or the kind is no chat service.
#[must_use]
pub fn chat_message(kind: SinkKind, notices: &[Notice], style: &Style) -> Option<Message> {
    let dialect = match kind {
        SinkKind::Slack => Dialect { full: slack::payload, text_only: slack::text_only, fits: slack::fits },
        SinkKind::GoogleChat => {
            Dialect { full: google_chat::payload, text_only: google_chat::text_only, fits: google_chat::fits }
        }
        SinkKind::Teams => Dialect { full: teams::payload, text_only: teams::text_only, fits: teams::fits },
        SinkKind::PlainText => return plain_text(notices, style),
        SinkKind::Webhook => return None,
    };
    let most = Announcement::of(notices, style, LADDER[0])?;
    let plain = (dialect.text_only)(&most);
    let less = LADDER[1..].iter().filter_map(|detail| Announcement::of(notices, style, *detail));
    let fitting = iter::once(most).chain(less).map(|said| (dialect.full)(&said)).find(dialect.fits);
    let post = |payload: &Value| Post {
        query: Vec::new(),
        headers: vec![("content-type".to_owned(), "application/json; charset=utf-8".to_owned())],
        body: payload.to_string().into_bytes(),
    };
    Some(match fitting {
        Some(payload) => {
            let mut full = post(&payload);
            if kind == SinkKind::GoogleChat {
                full.query = chat_query(notices, &payload);
            }
            Message { full, plain: Some(post(&plain)) }
        }
        None => Message { full: post(&plain), plain: None },
    })
}

/// Threads need an option in the query, and a repeat is told by its id: documented for the method, not for webhooks.
fn chat_query(notices: &[Notice], payload: &Value) -> Vec<(&'static str, String)> {
    let mut query = vec![("requestId", message_uuid(notices))];
    if payload.get("thread").is_some() {
        query.push(("messageReplyOption", "REPLY_MESSAGE_FALLBACK_TO_NEW_THREAD".to_owned()));
    }
    query
}

/// One line a notice, as the peer's raw sink gets it.
fn plain_text(notices: &[Notice], style: &Style) -> Option<Message> {
    let lines: Vec<_> = notices
        .chunks(1)
        .filter_map(|notice| Announcement::of(notice, style, LADDER[0]))
        .map(|said| [said.headline].into_iter().chain(said.message).collect::<Vec<_>>().join(": "))
        .collect();
    let headers = vec![("content-type".to_owned(), "text/plain; charset=utf-8".to_owned())];
    let full = Post { query: Vec::new(), headers, body: lines.join("\n").into_bytes() };
    (!lines.is_empty()).then_some(Message { full, plain: None })
}
