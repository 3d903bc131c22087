//! A Google Chat message: its text, and its cards below.
//!
//! Invariant: a widget of another kind than these is shown as unknown; those after the hundredth of a card are not
//! shown, as Chat drops them.

use serde_json::Value;

use super::card_html;
use super::markup::Html;
use super::mrkdwn::GOOGLE_CHAT;

/// Widgets that Chat shows of a card.
const MOST_WIDGETS: usize = 100;

/// What a space shows of a payload.
pub(super) fn message(payload: &Value) -> Html {
    let text = payload["text"].as_str().filter(|text| !text.is_empty());
    let text = text.map(|text| Html::element("div", "text", GOOGLE_CHAT.html(text))).unwrap_or_default();
    let old = if payload["cards"].is_null() { Html::default() } else { Html::unknown("part", "cards") };
    text.and(list(&payload["cardsV2"]).map(|card| self::card(&card["card"])).collect()).and(old)
}

fn list(values: &Value) -> impl Iterator<Item = &Value> {
    values.as_array().into_iter().flatten()
}

fn card(card: &Value) -> Html {
    let mut left = MOST_WIDGETS;
    let mut shown = header(&card["header"]);
    for part in list(&card["sections"]) {
        let widgets: Vec<_> = list(&part["widgets"]).take(left).map(widget).collect();
        left -= widgets.len();
        if !widgets.is_empty() {
            shown = shown.and(section(part, widgets));
        }
    }
    Html::element("div", "card", shown)
}

fn header(header: &Value) -> Html {
    let line = |key: &str, class| match header[key].as_str() {
        Some(text) => Html::element("div", class, Html::text(text)),
        None => Html::default(),
    };
    let lines = line("title", "title").and(line("subtitle", "subtitle"));
    if lines.is_empty() { lines } else { Html::element("div", "header", lines) }
}

fn section(section: &Value, widgets: Vec<Html>) -> Html {
    let heading = section["header"].as_str().map(card_html::html);
    let heading = heading.map(|text| Html::element("div", "heading", text)).unwrap_or_default();
    let all = widgets.len();
    let first = section["uncollapsibleWidgetsCount"].as_u64().and_then(|first| usize::try_from(first).ok());
    let shown = if section["collapsible"] == true { first.unwrap_or(0).min(all) } else { all };
    let more = match all - shown {
        0 => Html::default(),
        hidden => Html::element("div", "more", Html::text(&format!("Show more ({hidden})"))),
    };
    Html::element("div", "part", heading.and(widgets.into_iter().take(shown).collect()).and(more))
}

fn widget(widget: &Value) -> Html {
    let kind = widget.as_object().and_then(|widget| widget.iter().next());
    match kind.map(|(kind, inner)| (kind.as_str(), inner)) {
        Some(("decoratedText", inner)) => decorated(inner),
        Some(("textParagraph", inner)) => Html::element("div", "widget", html(&inner["text"])),
        Some(("buttonList", inner)) => {
            Html::element_of("div", &["widget", "buttons"], list(&inner["buttons"]).map(button).collect())
        }
        Some(("divider", _)) => Html::void("hr"),
        Some((other, _)) => Html::unknown("widget", other),
        None => Html::unknown("widget", "without a kind"),
    }
}

fn html(text: &Value) -> Html {
    card_html::html(text.as_str().unwrap_or_default())
}

/// A text with labels around it; it is cut at the end of its line, unless it may wrap.
fn decorated(inner: &Value) -> Html {
    let label = |key: &str| match &inner[key] {
        Value::Null => Html::default(),
        text => Html::element("div", "label", html(text)),
    };
    let class = if inner["wrapText"] == true { "wraps" } else { "one-line" };
    let text = Html::element("div", class, html(&inner["text"]));
    let text = label("topLabel").and(text).and(label("bottomLabel"));
    Html::element("div", "widget", text)
}

fn button(button: &Value) -> Html {
    let text = Html::text(button["text"].as_str().unwrap_or_default());
    match button["onClick"]["openLink"]["url"].as_str() {
        Some(url) => Html::link(url, "button", text),
        None => Html::unknown("button", "without openLink"),
    }
}
