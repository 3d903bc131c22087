//! An announcement as a message of Google Chat's incoming webhooks: a line of text and a card below it.
//!
//! Invariants: `& < >` are escaped in cards and replaced in `text`, for which no escape is documented, so nothing of an
//! event is a mention or markup; no text is empty; the serialised message stays below the limit, which Chat enforces by
//! refusing, and below 100 widgets, the rest of which it would drop without a word.

use serde_json::{Value, json};

use super::announcement::{Announcement, Tone};
use super::text::{Line, Span, cut, escaped, marked, plain};

/// Chat shows 100 widgets of a card.
const MOST_WIDGETS: usize = 60;
/// Chat takes 32,000 bytes.
const MOST_BYTES: usize = 24_000;
/// Chat once took 4096 characters of text.
const LONGEST_TEXT: usize = 4000;
/// Rows of a digest that are shown before somebody asks for the rest.
const ROWS_SHOWN: usize = 3;

/// The message with a card.
#[must_use]
pub fn payload(said: &Announcement) -> Value {
    let mut sections = Vec::new();
    let facts = said.facts.iter().map(|fact| labelled(fact.label, &html(&fact.value)));
    let message = said.message.iter().map(|message| paragraph(&escaped(message)));
    sections.extend(section(None, &message.chain(facts).collect::<Vec<_>>()));
    let failures = said.failures.iter().map(|failure| {
        let title = format!("<b>{}</b>", html(&failure.title));
        match &failure.message {
            Some(message) => paragraph(&format!("{title}<br>{}", escaped(message))),
            None => paragraph(&title),
        }
    });
    sections.extend(section(Some("Failed"), &failures.collect::<Vec<_>>()));
    let rows: Vec<_> = said.rows.iter().map(|row| paragraph(&html(row))).collect();
    sections.extend(section((!said.failures.is_empty()).then_some("Reloaded"), &rows).map(collapsible));
    let footer = paragraph(&format!("<font color=\"#5f6368\">{}</font>", escaped(&said.footer())));
    let link = said.link.iter().map(|link| {
        json!({ "buttonList": { "buttons": [{ "text": "Details", "onClick": { "openLink": { "url": link.as_str() } } }] } })
    });
    sections.extend(section(None, &[footer].into_iter().chain(link).collect::<Vec<_>>()));
    let mention = said.mention.as_ref().map(|mention| format!("{} ", mention.as_str())).unwrap_or_default();
    let mut payload = json!({
        "text": format!("{mention}{}", text(&said.title, said.tone)),
        "fallbackText": shown(&said.headline),
        "cardsV2": [{ "cardId": "reload", "card": { "sections": sections } }],
    });
    if let Some(thread) = &said.thread {
        payload["thread"] = json!({ "threadKey": thread });
    }
    payload
}

/// The message without a card, and without anything else that could be refused.
#[must_use]
pub fn text_only(said: &Announcement) -> Value {
    json!({ "text": text(&vec![plain(said.lines().join("\n"))], said.tone) })
}

/// Whether Chat takes it and shows all of it.
#[must_use]
pub fn fits(payload: &Value) -> bool {
    let sections = payload["cardsV2"][0]["card"]["sections"].as_array().map(Vec::as_slice).unwrap_or_default();
    let widgets = sections.iter().filter_map(|section| section["widgets"].as_array()).map(Vec::len).sum::<usize>();
    widgets <= MOST_WIDGETS && payload.to_string().len() <= MOST_BYTES
}

/// A line of `text`. Backticks are the one mark that all of Chat's dialects share.
fn text(line: &Line, tone: Tone) -> String {
    let sign = if tone == Tone::Failed { "🚨 " } else { "" };
    let line = marked(line, |span| match span {
        Span::Plain(text) | Span::Strong(text) => shown(text),
        Span::Name(text) => format!("`{}`", shown(text)),
    });
    format!("{sign}{}", cut(&line, LONGEST_TEXT))
}

fn section(header: Option<&str>, widgets: &[Value]) -> Option<Value> {
    if widgets.is_empty() {
        return None;
    }
    let mut section = json!({ "widgets": widgets });
    if let Some(header) = header {
        section["header"] = json!(header);
    }
    Some(section)
}

fn collapsible(mut section: Value) -> Value {
    if section["widgets"].as_array().is_some_and(|widgets| widgets.len() > ROWS_SHOWN) {
        section["collapsible"] = json!(true);
        section["uncollapsibleWidgetsCount"] = json!(ROWS_SHOWN);
    }
    section
}

fn labelled(label: &str, html: &str) -> Value {
    json!({ "decoratedText": { "topLabel": label, "text": html, "wrapText": true } })
}

fn paragraph(html: &str) -> Value {
    json!({ "textParagraph": { "text": html } })
}

fn html(line: &Line) -> String {
    marked(line, |span| match span {
        Span::Plain(text) | Span::Name(text) => escaped(text),
        Span::Strong(text) => format!("<b>{}</b>", escaped(text)),
    })
}

/// Text where no escape is documented: what could begin markup looks like itself, and is not.
fn shown(text: &str) -> String {
    let marks = [('<', '‹'), ('>', '›'), ('`', '\''), ('*', '∗'), ('~', '∼'), ('[', '('), (']', ')')];
    text.chars().map(|c| marks.iter().find(|(mark, _)| *mark == c).map_or(c, |(_, like)| *like)).collect()
}
