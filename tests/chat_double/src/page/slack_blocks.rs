//! A Slack message: its blocks, or its text where it has none.
//!
//! Invariant: a block or element of another kind than these is shown as unknown.

use serde_json::Value;

use super::inline::Dialect;
use super::markup::Html;
use super::mrkdwn::{SLACK, SLACK_EMOJI, SLACK_VERBATIM};

/// What a channel shows of a payload.
pub(super) fn message(payload: &Value) -> Html {
    let attachments =
        if payload["attachments"].is_null() { Html::default() } else { Html::unknown("part", "attachments") };
    let said = match payload["blocks"].as_array() {
        Some(blocks) if !blocks.is_empty() => blocks.iter().map(block).collect(),
        _ => in_text(&SLACK, payload["text"].as_str().unwrap_or_default()),
    };
    said.and(attachments)
}

fn in_text(dialect: &'static Dialect, text: &str) -> Html {
    if text.is_empty() { Html::default() } else { Html::element("div", "section", dialect.html(text)) }
}

fn block(block: &Value) -> Html {
    match block["type"].as_str().unwrap_or("without a type") {
        "header" => Html::element("div", "header", text(&block["text"])),
        "section" => section(block),
        "context" => Html::element("div", "context", each(&block["elements"], "span", text)),
        "divider" => Html::void("hr"),
        other => Html::unknown("block", other),
    }
}

fn section(block: &Value) -> Html {
    let words = if block["text"].is_null() { Html::default() } else { text(&block["text"]) };
    let fields = each(&block["fields"], "div", text);
    let fields = if fields.is_empty() { fields } else { Html::element("div", "fields", fields) };
    let accessory = match &block["accessory"] {
        Value::Null => Html::default(),
        accessory => Html::unknown("element", accessory["type"].as_str().unwrap_or("accessory")),
    };
    Html::element("div", "section", words.and(fields).and(accessory))
}

fn each(values: &Value, tag: &'static str, show: fn(&Value) -> Html) -> Html {
    values.as_array().into_iter().flatten().map(|value| Html::element(tag, "", show(value))).collect()
}

/// A text object. Plain text is shown as it is, with emoji where it asks for them.
fn text(object: &Value) -> Html {
    let words = object["text"].as_str().unwrap_or_default();
    match object["type"].as_str().unwrap_or("without a type") {
        "mrkdwn" if object["verbatim"] == true => SLACK_VERBATIM.html(words),
        "mrkdwn" => SLACK.html(words),
        "plain_text" if object["emoji"] == true => SLACK_EMOJI.html(words),
        "plain_text" => Html::text(words),
        other => Html::unknown("element", other),
    }
}
