//! What a Teams flow refuses, and what it accepts and then never shows. Invariant: a flow answers 202 to any JSON
//! that is not too large; everything else is found out after that, and only this stand-in tells of it.

use serde_json::Value;

use super::card_html::is_https;
use super::json::{list, named, typed, walk, word};
use super::shape::{Problem, problems};
use super::teams_shape::MESSAGE;
use super::{Effect, Payload, Rule, when};

const CARD_TYPE: &str = "application/vnd.microsoft.card.adaptive";
const COLOURS: [&str; 7] = ["default", "dark", "light", "accent", "good", "warning", "attention"];

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "too_large",
        source: "connectors: a card 28 KB",
        effect: Effect::Refused(413, "RequestEntityTooLarge"),
        find: |p| when(p.size > 28_000, || format!("{} bytes", p.size)),
    },
    Rule {
        name: "message_type",
        source: "incoming webhooks: type is message",
        effect: Effect::Lost,
        find: |p| when(word(p.body, "type") != Some("message"), || "at `/type`".to_owned()),
    },
    Rule {
        name: "no_attachments",
        source: "seen: the flow loops over attachments and fails without",
        effect: Effect::Lost,
        find: |p| when(list(p.body, "attachments").is_empty(), || "at `/attachments`".to_owned()),
    },
    Rule {
        name: "content_type",
        source: "incoming webhooks: the content type of an Adaptive Card",
        effect: Effect::Lost,
        find: |p| {
            let other = list(p.body, "attachments").iter().filter(|item| word(item, "contentType") != Some(CARD_TYPE));
            other.map(|_| "at `/attachments`".to_owned()).collect()
        },
    },
    Rule {
        name: "card_version",
        source: "Adaptive Cards: Teams knows 1.2 to 1.4",
        effect: Effect::Lost,
        find: |p| {
            let known = |card: &Value| matches!(word(card, "version"), Some("1.2" | "1.3" | "1.4"));
            let cards = typed(p.body, "AdaptiveCard").into_iter();
            cards.filter(|(_, card)| !known(card)).map(|(path, _)| format!("at `{path}`")).collect()
        },
    },
    Rule {
        name: "empty_card",
        source: "Adaptive Cards: a card without a body shows nothing",
        effect: Effect::Lost,
        find: |p| {
            let cards = typed(p.body, "AdaptiveCard").into_iter();
            cards.filter(|(_, card)| list(card, "body").is_empty()).map(|(path, _)| format!("at `{path}`")).collect()
        },
    },
    Rule {
        name: "null_value",
        source: "seen: a null in a card makes the flow fail; only contentUrl may be null",
        effect: Effect::Lost,
        find: nulls,
    },
    Rule {
        name: "unknown_element",
        source: "Adaptive Cards: the types of elements and actions",
        effect: Effect::Lost,
        find: |p| problems(p.body, &MESSAGE, Problem::UnknownType),
    },
    Rule {
        name: "unknown_field",
        source: "Adaptive Cards: the fields of an element",
        effect: Effect::Reported,
        find: |p| problems(p.body, &MESSAGE, Problem::UnknownField),
    },
    Rule {
        name: "missing_field",
        source: "Adaptive Cards: the required fields of an element",
        effect: Effect::Lost,
        find: |p| problems(p.body, &MESSAGE, Problem::MissingField),
    },
    Rule { name: "wrong_type", source: "Adaptive Cards: the types of fields", effect: Effect::Lost, find: wrong_types },
    Rule {
        name: "unknown_colour",
        source: "Adaptive Cards: colours are names",
        effect: Effect::Reported,
        find: |p| {
            let known = |name: &str| COLOURS.iter().any(|colour| colour.eq_ignore_ascii_case(name));
            let named = named(p.body, "color").into_iter();
            let other = named.filter(|(_, colour)| colour.as_str().is_some_and(|name| !known(name)));
            other.map(|(path, colour)| format!("{colour} at `{path}`")).collect()
        },
    },
    Rule {
        name: "empty_text",
        source: "Adaptive Cards: a text or fact without content is a hole in the card",
        effect: Effect::Reported,
        find: |p| {
            let empty = texts(p.body).into_iter().filter(|(_, text)| text.trim().is_empty());
            empty.map(|(path, _)| format!("at `{path}`")).collect()
        },
    },
    Rule {
        name: "open_url",
        source: "Adaptive Cards: a link is absolute; here it must be https",
        effect: Effect::Reported,
        find: |p| {
            let actions = typed(p.body, "Action.OpenUrl").into_iter();
            let other = actions.filter(|(_, action)| word(action, "url").is_some_and(|url| !is_https(url)));
            other.map(|(path, _)| format!("at `{path}`")).collect()
        },
    },
    Rule {
        name: "live_markdown",
        source: "Adaptive Cards: a text block reads Markdown, so `[..](..)` is a link",
        effect: Effect::Reported,
        find: |p| {
            let runs: Vec<_> = typed(p.body, "TextRun").into_iter().map(|(path, _)| path).collect();
            let read = texts(p.body).into_iter().filter(|(path, _)| !runs.iter().any(|run| path.starts_with(run)));
            read.filter(|(_, text)| has_link(text)).map(|(path, _)| format!("at `{path}`")).collect()
        },
    },
];

fn nulls(payload: &Payload) -> Vec<String> {
    let mut found = Vec::new();
    walk(payload.body, &mut |path, value| {
        if value.is_null() && !path.ends_with("/contentUrl") {
            found.push(format!("at `{path}`"));
        }
    });
    found
}

/// A null is the affair of `null_value` alone.
fn wrong_types(payload: &Payload) -> Vec<String> {
    let null_places = nulls(payload);
    problems(payload.body, &MESSAGE, Problem::WrongType).into_iter().filter(|at| !null_places.contains(at)).collect()
}

/// The texts of blocks and runs, and both sides of facts.
fn texts(body: &Value) -> Vec<(String, &str)> {
    let mut found = named(body, "text");
    for (path, facts) in named(body, "facts") {
        for (i, fact) in facts.as_array().into_iter().flatten().enumerate() {
            let sides = ["title", "value"].into_iter();
            found.extend(sides.filter_map(|side| Some((format!("{path}/{i}/{side}"), fact.get(side)?))));
        }
    }
    found.into_iter().filter_map(|(path, text)| Some((path, text.as_str()?))).collect()
}

/// Whether `[…](…)` is there without a backslash before its brackets.
fn has_link(text: &str) -> bool {
    let mut bytes = text.bytes();
    let mut bracket_open = false;
    let mut just_closed = false;
    let mut target_open = false;
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b')' if target_open => return true,
            b'(' if just_closed => target_open = true,
            b'[' => bracket_open = true,
            _ => {}
        }
        just_closed = byte == b']' && bracket_open;
    }
    false
}
