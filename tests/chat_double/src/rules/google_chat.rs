//! What Google Chat refuses, drops or shows otherwise than meant. Invariant: a dropped widget is reported, since
//! Chat says nothing about it. Labels and titles are plain text, and their markup is not looked at.

use std::collections::HashSet;

use serde_json::Value;

use super::card_html::{HtmlFlaw, html_flaws, is_https};
use super::google_chat_shape::MESSAGE;
use super::json::{list, named, word};
use super::shape::{Problem, problems};
use super::{Effect, Payload, Rule, when};

const INVALID: Effect = Effect::Refused(400, "INVALID_ARGUMENT");

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "unknown_field",
        source: "Google APIs: an unknown JSON field is an error",
        effect: INVALID,
        find: |p| problems(p.body, &MESSAGE, Problem::UnknownField),
    },
    Rule {
        name: "missing_field",
        source: "card reference: required fields and exactly one of a union",
        effect: INVALID,
        find: |p| problems(p.body, &MESSAGE, Problem::MissingField),
    },
    Rule {
        name: "wrong_type",
        source: "card reference: the types of fields",
        effect: INVALID,
        find: |p| problems(p.body, &MESSAGE, Problem::WrongType),
    },
    Rule {
        name: "no_content",
        source: "messages: a message has text or cards",
        effect: INVALID,
        find: |p| {
            let has = |name| p.body.get(name).is_some();
            when(!has("text") && !has("cardsV2") && !has("cards"), || "no text and no card".to_owned())
        },
    },
    Rule {
        name: "too_large",
        source: "messages: 32000 bytes with cards",
        effect: INVALID,
        find: |p| when(p.size > 32_000, || format!("{} bytes", p.size)),
    },
    Rule {
        name: "deprecated_cards",
        source: "messages: cardsV2 instead of cards",
        effect: Effect::Reported,
        find: |p| when(p.body.get("cards").is_some(), || "at `/cards`".to_owned()),
    },
    Rule {
        name: "card_id",
        source: "messages: a cardId for each card, unique in the message",
        effect: INVALID,
        find: |p| {
            let mut seen = HashSet::new();
            let ids = list(p.body, "cardsV2").iter().map(|card| word(card, "cardId").unwrap_or_default());
            ids.filter(|id| id.is_empty() || !seen.insert(*id)).map(|id| format!("`{id}` at `/cardsV2`")).collect()
        },
    },
    Rule {
        name: "widgets_dropped",
        source: "card reference: widgets after the 100th of a card are ignored",
        effect: Effect::Reported,
        find: |p| {
            let widgets = |card: &Value| sections(card).map(|section| list(section, "widgets").len()).sum::<usize>();
            let counts = cards(p.body).map(widgets);
            counts.filter(|count| *count > 100).map(|count| format!("{count} in a card")).collect()
        },
    },
    Rule {
        name: "empty_section",
        source: "card reference: a section has at least one widget",
        effect: INVALID,
        find: |p| {
            let empty = all_sections(p.body).filter(|section| list(section, "widgets").is_empty());
            empty.map(|_| "a section".to_owned()).collect()
        },
    },
    Rule {
        name: "uncollapsible_widgets",
        source: "card reference: uncollapsibleWidgetsCount takes effect when collapsible",
        effect: Effect::Reported,
        find: |p| {
            let counted = all_sections(p.body).filter(|section| section.get("uncollapsibleWidgetsCount").is_some());
            let useless = counted.filter(|section| section.get("collapsible") != Some(&Value::Bool(true)));
            useless.map(|_| "a section that is not collapsible".to_owned()).collect()
        },
    },
    Rule { name: "empty_text", source: "seen: an empty text is refused", effect: INVALID, find: empty_texts },
    Rule {
        name: "relative_link",
        source: "seen: a link that is not absolute shows an empty alert; here it must be https too",
        effect: INVALID,
        find: |p| {
            let links = named(p.body, "openLink").into_iter();
            let bad = links.filter(|(_, link)| !word(link, "url").is_some_and(is_https));
            bad.map(|(path, _)| format!("at `{path}`")).chain(html(p, HtmlFlaw::Link)).collect()
        },
    },
    Rule {
        name: "card_markup",
        source: "formatting: the HTML tags of card text, well closed",
        effect: Effect::Reported,
        find: |p| html(p, HtmlFlaw::Markup),
    },
    Rule {
        name: "card_entity",
        source: "formatting: `&` is written `&amp;` in card text",
        effect: Effect::Reported,
        find: |p| html(p, HtmlFlaw::Entity),
    },
    Rule {
        name: "text_control",
        source: "formatting: `<` begins a mention or a link, and has no escape in text",
        effect: Effect::Reported,
        find: |p| {
            let text = word(p.body, "text").unwrap_or_default().to_owned();
            let rest = p.mentions.iter().fold(text, |text, mention| text.replace(mention, ""));
            when(rest.contains(['<', '>']), || "at `/text`".to_owned())
        },
    },
    Rule {
        name: "thread_key_length",
        source: "messages: threadKey 4000",
        effect: INVALID,
        find: |p| {
            let key = p.body.pointer("/thread/threadKey").and_then(Value::as_str).unwrap_or_default();
            let length = key.chars().count();
            when(length > 4000, || format!("{length} at `/thread/threadKey`"))
        },
    },
];

fn cards(body: &Value) -> impl Iterator<Item = &Value> {
    list(body, "cardsV2").iter().filter_map(|item| item.get("card"))
}

fn sections(card: &Value) -> impl Iterator<Item = &Value> {
    list(card, "sections").iter()
}

fn all_sections(body: &Value) -> impl Iterator<Item = &Value> {
    cards(body).flat_map(sections)
}

/// A text, label or title that is there but has nothing to read.
fn empty_texts(payload: &Payload) -> Vec<String> {
    let fields = ["text", "title", "subtitle", "topLabel", "bottomLabel", "fallbackText"];
    let strings = fields.into_iter().flat_map(|field| named(payload.body, field));
    let empty = strings.filter(|(_, text)| text.as_str().is_some_and(|text| text.trim().is_empty()));
    empty.map(|(path, _)| format!("at `{path}`")).collect()
}

/// The flaws of this kind in every text that Chat reads as HTML.
fn html(payload: &Payload, wanted: HtmlFlaw) -> Vec<String> {
    let widgets = || all_sections(payload.body).flat_map(|section| list(section, "widgets"));
    let paragraphs = widgets().filter_map(|widget| word(widget.get("textParagraph")?, "text"));
    let decorated = widgets().filter_map(|widget| word(widget.get("decoratedText")?, "text"));
    let headers = all_sections(payload.body).filter_map(|section| word(section, "header"));
    let flaws = paragraphs.chain(decorated).chain(headers).flat_map(html_flaws);
    flaws.filter(|(flaw, _)| *flaw == wanted).map(|(_, part)| format!("`{part}`")).collect()
}
