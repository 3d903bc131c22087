//! An announcement as the message that a Teams workflow posts: one Adaptive Card 1.4.
//!
//! Invariants: text of events stands in text runs, which know no markdown, so nothing of it is a link or a mention;
//! there is no null anywhere, and always an attachment, as a workflow fails after it has answered 202.

use serde_json::{Value, json};

use super::announcement::{Announcement, Tone};
use super::text::{Line, Span, cut, plain};

/// Teams takes some 28,000 bytes; 21,000 have been measured.
const MOST_BYTES: usize = 20_000;
/// The longest text of a card that has nothing else.
const LONGEST_TEXT: usize = 4000;

/// The message with everything.
#[must_use]
pub fn payload(said: &Announcement) -> Value {
    let mut body = vec![title(said)];
    body.extend(said.message.iter().map(|message| text(&vec![plain(message)], Colour::Usual)));
    body.extend(said.facts.iter().map(|fact| labelled(fact.label, &fact.value)));
    for failure in &said.failures {
        body.push(spaced(text(&failure.title, Colour::Attention)));
        body.extend(failure.message.iter().map(|message| text(&vec![plain(message)], Colour::Usual)));
    }
    let heading = (!said.failures.is_empty()).then(|| vec![Span::Strong("Reloaded".to_owned())]);
    for (index, row) in heading.iter().chain(&said.rows).enumerate() {
        let row = text(row, Colour::Usual);
        body.push(if index == 0 { spaced(row) } else { row });
    }
    body.push(footer(said));
    let mut card = json!({
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "msteams": { "width": "Full" },
        "body": body,
    });
    if let Some(link) = &said.link {
        card["actions"] = json!([{ "type": "Action.OpenUrl", "title": "Details", "url": link.as_str() }]);
    }
    message(&card)
}

/// The message as little more than a line.
#[must_use]
pub fn text_only(said: &Announcement) -> Value {
    let all = cut(&said.lines().join("\n"), LONGEST_TEXT);
    let body: Vec<_> = all.lines().map(|line| text(&vec![plain(line)], colour(said.tone))).collect();
    message(&json!({ "type": "AdaptiveCard", "version": "1.2", "body": body }))
}

/// Whether Teams takes it.
#[must_use]
pub fn fits(payload: &Value) -> bool {
    payload.to_string().len() <= MOST_BYTES
}

fn message(card: &Value) -> Value {
    json!({
        "type": "message",
        "attachments": [{ "contentType": "application/vnd.microsoft.card.adaptive", "content": card }],
    })
}

/// How a text stands out, as Adaptive Cards call it.
#[derive(Clone, Copy)]
enum Colour {
    Usual,
    Good,
    Attention,
}

fn colour(tone: Tone) -> Colour {
    match tone {
        Tone::Done => Colour::Good,
        Tone::Failed => Colour::Attention,
    }
}

fn title(said: &Announcement) -> Value {
    let mut runs = runs(&said.title, colour(said.tone));
    for run in &mut runs {
        run["size"] = json!("Medium");
        run["weight"] = json!("Bolder");
    }
    json!({ "type": "RichTextBlock", "inlines": runs })
}

/// A label and its value side by side, in columns as a fact set has them.
fn labelled(label: &str, value: &Line) -> Value {
    let label =
        json!({ "type": "RichTextBlock", "inlines": [{ "type": "TextRun", "text": label, "weight": "Bolder" }] });
    json!({
        "type": "ColumnSet",
        "spacing": "Small",
        "columns": [
            { "type": "Column", "width": "80px", "items": [label] },
            { "type": "Column", "width": "stretch", "items": [text(value, Colour::Usual)] },
        ],
    })
}

fn text(line: &Line, colour: Colour) -> Value {
    json!({ "type": "RichTextBlock", "spacing": "Small", "inlines": runs(line, colour) })
}

fn spaced(mut block: Value) -> Value {
    block["spacing"] = json!("Medium");
    block
}

fn footer(said: &Announcement) -> Value {
    let run = json!({ "type": "TextRun", "text": said.footer(), "size": "Small", "isSubtle": true });
    json!({ "type": "RichTextBlock", "spacing": "Medium", "inlines": [run] })
}

fn runs(line: &Line, colour: Colour) -> Vec<Value> {
    let run = |span: &Span| {
        let mut run = match span {
            Span::Plain(text) => json!({ "type": "TextRun", "text": text }),
            Span::Strong(text) => json!({ "type": "TextRun", "text": text, "weight": "Bolder" }),
            Span::Name(text) => json!({ "type": "TextRun", "text": text, "fontType": "Monospace" }),
        };
        match colour {
            Colour::Usual => {}
            Colour::Good => run["color"] = json!("Good"),
            Colour::Attention => run["color"] = json!("Attention"),
        }
        run
    };
    tidy(line).iter().map(run).collect()
}

/// A line in which no piece is blank, which a card would show as a hole: a space belongs to the piece before it.
fn tidy(line: &Line) -> Line {
    let mut tidy = Line::new();
    for span in line {
        match (tidy.last_mut(), span) {
            (Some(Span::Plain(before) | Span::Strong(before) | Span::Name(before)), Span::Plain(text))
                if text.trim().is_empty() =>
            {
                before.push_str(text);
            }
            _ => tidy.push(span.clone()),
        }
    }
    tidy
}
