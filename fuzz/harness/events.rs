//! Requests from anybody: what is answered, and what is made of an event that was read.
//!
//! Invariant of the input: headers as `name: value`, a line each; after an empty line, the body.

use std::str::FromStr as _;

use cloudevents::binding::http::to_event;
use cloudevents::event::SpecVersion;
use cloudevents::{AttributesReader as _, Event};
use confroll::announce::notice::{Notice, NoticedOutcome, NoticedSource};
use confroll::announce::payload::chat_message;
use confroll::announce::sink_kind::SinkKind;
use confroll::announce::style::{ShownKeys, Style, ThreadBy};
use confroll::announce::text::LONGEST_NAME;
use confroll::announce::webhook::{EventMode, post};
use confroll::reload::change::Change;
use confroll::reload::source::{Namespace, SourceRef};
use confroll_chat_double::Service;
use http::{HeaderMap, HeaderName, HeaderValue};

use super::doors::{Answer, Doors};

/// Our longest sentence, around the 80 characters of a name; each may be written as `\u{10ffff}`.
const LONGEST_ANSWER: usize = 200 + 80 * 10;
/// The longest reason of a failure.
const LONGEST_MESSAGE: usize = 300;
const CHATS: [(SinkKind, Service); 3] =
    [(SinkKind::Slack, Service::Slack), (SinkKind::GoogleChat, Service::GoogleChat), (SinkKind::Teams, Service::Teams)];

pub(crate) fn check(doors: &Doors, input: &[u8]) -> &'static str {
    let (headers, body) = request(input);
    let (function, sink) = (doors.function(&headers, body), doors.sink(&headers, body));
    is_an_answer(&function, &[202, 204, 400, 413]);
    is_an_answer(&sink, &[204, 400, 404, 413]);
    let refused = |answer: &Answer| answer.body.contains("this is no CloudEvent");
    assert_eq!(refused(&function), refused(&sink), "{function:?} {sink:?}");
    if refused(&function) {
        assert_eq!(sink.body, format!("bad-event: {}", function.body), "both doors read alike");
    }
    let asked = doors.asked();
    assert_eq!(!asked.is_empty(), function.status == 202, "{function:?} {asked:?}");
    for path in asked {
        let is_tame = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '.');
        assert!(path.chars().all(is_tame) && !path.contains("..") && !path.contains("//"), "{path}");
    }
    if refused(&function) || function.status == 413 {
        return "no event";
    }
    let event = to_event(&headers, body.to_vec()).unwrap_or_else(|error| unreachable!("{error}"));
    assert_eq!(event.specversion(), SpecVersion::V10);
    names_a_source(&event, &function);
    is_told(&event, &sink);
    match (function.status, sink.status) {
        (202, _) => "a change",
        (_, 404) => "a notice",
        (204, 204) => "not for us",
        _ => "of no use",
    }
}

fn request(input: &[u8]) -> (HeaderMap, &[u8]) {
    let end = input.windows(2).position(|two| two == b"\n\n");
    let (head, body) = end.map_or((input, &[][..]), |end| (&input[..end], &input[end + 2..]));
    let mut headers = HeaderMap::new();
    for line in head.split(|&byte| byte == b'\n') {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let name = std::str::from_utf8(&line[..colon]).ok().and_then(|name| HeaderName::from_str(name).ok());
        if let (Some(name), Ok(value)) = (name, HeaderValue::from_bytes(line[colon + 1..].trim_ascii())) {
            headers.append(name, value);
        }
    }
    (headers, body)
}

fn is_an_answer(answer: &Answer, statuses: &[u16]) {
    assert!(statuses.contains(&answer.status), "{answer:?}");
    assert_eq!(answer.body.is_empty(), answer.status < 300, "{answer:?}");
    let is_one_line = !answer.body.contains(char::is_control);
    assert!(is_one_line && answer.body.chars().count() <= LONGEST_ANSWER, "{answer:?}");
}

/// What the function makes of it.
fn names_a_source(event: &Event, answer: &Answer) {
    match Change::from_event(event) {
        Ok(None) => assert_eq!(answer.status, 204),
        Err(error) => assert_eq!((answer.status, &answer.body), (400, &error.to_string())),
        Ok(Some(change)) => {
            assert_eq!(answer.status, 202);
            let source = &change.source;
            assert_eq!(Namespace::parse(source.namespace.as_str()).as_ref(), Ok(&source.namespace));
            assert_eq!(SourceRef::from_display(&source.namespace, &source.to_string()).as_ref(), Some(source));
        }
    }
}

/// What a sink makes of it.
fn is_told(event: &Event, answer: &Answer) {
    match Notice::from_event(event) {
        Ok(None) => assert_eq!(answer.status, 204),
        Err(error) => assert_eq!((answer.status, &answer.body), (400, &format!("bad-event: {error}"))),
        Ok(Some(notice)) => {
            assert_eq!(answer.status, 404, "there is no destination");
            is_clean(&notice);
            is_passed_on(event, &notice);
            let other = Notice { name: "other".to_owned(), ..notice.clone() };
            let both = [notice, other];
            chats_take(&both[..1]);
            chats_take(&both);
        }
    }
}

/// Texts are there, on one line, and have an end.
fn is_clean(notice: &Notice) {
    let mut texts: Vec<&String> =
        [&notice.cluster, &notice.namespace, &notice.kind, &notice.reason].into_iter().flatten().collect();
    texts.push(&notice.name);
    for NoticedSource { kind, name, added, changed, removed } in &notice.sources {
        texts.extend([kind, name].into_iter().chain(added).chain(changed).chain(removed));
    }
    if let NoticedOutcome::Failed { message: Some(message) } = &notice.outcome {
        texts.push(message);
    }
    for text in texts {
        assert!(!text.is_empty() && !text.contains(char::is_control), "{text:?}");
        assert!(text.chars().count() <= LONGEST_NAME.max(LONGEST_MESSAGE), "{text:?}");
    }
}

/// Every service takes the message, whatever its style.
fn chats_take(notices: &[Notice]) {
    for (keys, thread_by) in [(ShownKeys::All, ThreadBy::Source), (ShownKeys::None, ThreadBy::Workload)] {
        let style = Style { prefix: Some("[staging]".to_owned()), mention_on_failure: None, keys, thread_by };
        for (kind, service) in CHATS {
            let Some(message) = chat_message(kind, notices, &style) else { unreachable!("nothing for {service:?}") };
            for post in [Some(message.full), message.plain].into_iter().flatten() {
                let payload = serde_json::from_slice(&post.body).unwrap_or_else(|error| unreachable!("{error}"));
                let violations = confroll_chat_double::check(service, &payload);
                assert!(violations.is_empty(), "{service:?} {violations:?}\n{payload}");
            }
        }
    }
}

/// A webhook that gets the event unchanged can read it, and it says the same.
fn is_passed_on(event: &Event, notice: &Notice) {
    for mode in [EventMode::Structured, EventMode::Binary] {
        let Ok(post) = post(event, mode) else {
            assert_eq!(mode, EventMode::Binary, "any event can be told as JSON");
            continue;
        };
        let mut headers = HeaderMap::new();
        for (name, value) in &post.headers {
            let name = HeaderName::from_str(name).unwrap_or_else(|error| unreachable!("{error}"));
            headers.append(name, HeaderValue::from_str(value).unwrap_or_else(|error| unreachable!("{error}")));
        }
        let read = to_event(&headers, post.body).unwrap_or_else(|error| unreachable!("{mode:?}: {error}"));
        assert_eq!(Notice::from_event(&read).ok().flatten().as_ref(), Some(notice), "{mode:?}");
    }
}
