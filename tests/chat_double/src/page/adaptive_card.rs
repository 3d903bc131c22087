//! A Teams message: its Adaptive Cards.
//!
//! Invariant: an element or action of another kind than these is shown as unknown, and so is an attachment that is no
//! Adaptive Card.

use serde_json::Value;

use super::markdown::TEAMS;
use super::markup::Html;

const CARD: &str = "application/vnd.microsoft.card.adaptive";

/// The words of a card for how it looks, each with the class of the page; case does not matter in Teams.
type Looks = [(&'static str, &'static str)];
const COLOURS: &Looks = &[
    ("attention", "attention"),
    ("good", "good"),
    ("warning", "warning"),
    ("accent", "accent"),
    ("dark", "dark"),
    ("light", "light"),
];
const WEIGHTS: &Looks = &[("bolder", "bolder"), ("lighter", "lighter")];
const SIZES: &Looks = &[("small", "small"), ("medium", "medium"), ("large", "large"), ("extralarge", "extra-large")];
const FONTS: &Looks = &[("monospace", "monospace")];
const SPACINGS: &Looks = &[
    ("none", "space-none"),
    ("small", "space-small"),
    ("medium", "space-medium"),
    ("large", "space-large"),
    ("extralarge", "space-extra-large"),
    ("padding", "space-padding"),
];
const STYLES: &Looks = &[
    ("emphasis", "box-emphasis"),
    ("good", "box-good"),
    ("attention", "box-attention"),
    ("warning", "box-warning"),
    ("accent", "box-accent"),
];

/// What a channel shows of a payload.
pub(super) fn message(payload: &Value) -> Html {
    let attachment = |attachment: &Value| match attachment["contentType"].as_str() {
        Some(CARD) => card(&attachment["content"]),
        other => Html::unknown("attachment", other.unwrap_or("without a type")),
    };
    list(&payload["attachments"]).map(attachment).collect()
}

fn list(values: &Value) -> impl Iterator<Item = &Value> {
    values.as_array().into_iter().flatten()
}

fn card(card: &Value) -> Html {
    let width = if card["msteams"]["width"] == "Full" { "full" } else { "narrow" };
    Html::element_of("div", &["card", width], elements(&card["body"]).and(actions(&card["actions"])))
}

fn elements(items: &Value) -> Html {
    list(items).map(element).collect()
}

fn element(element: &Value) -> Html {
    let inner = match element["type"].as_str().unwrap_or("without a type") {
        "TextBlock" => text_block(element),
        "RichTextBlock" => list(&element["inlines"]).map(run).collect(),
        "FactSet" => facts(&element["facts"]),
        "Container" => elements(&element["items"]),
        "ColumnSet" => Html::element("div", "columns", list(&element["columns"]).map(column).collect()),
        "ActionSet" => actions(&element["actions"]),
        other => Html::unknown("element", other),
    };
    let line = if element["separator"] == true { "separated" } else { "element" };
    let classes = [Some(line), class(SPACINGS, &element["spacing"]), class(STYLES, &element["style"])];
    Html::element_of("div", &classes.into_iter().flatten().collect::<Vec<_>>(), inner)
}

fn class(looks: &'static Looks, word: &Value) -> Option<&'static str> {
    let word = word.as_str()?;
    looks.iter().find(|(name, _)| name.eq_ignore_ascii_case(word)).map(|(_, class)| *class)
}

/// Text as its element wants it to look.
fn looking(tag: &'static str, element: &Value, own: &'static str, inner: Html) -> Html {
    let subtle = (element["isSubtle"] == true).then_some("subtle");
    let classes = [
        Some(own),
        class(COLOURS, &element["color"]),
        class(WEIGHTS, &element["weight"]),
        class(SIZES, &element["size"]),
        class(FONTS, &element["fontType"]),
        subtle,
    ];
    Html::element_of(tag, &classes.into_iter().flatten().collect::<Vec<_>>(), inner)
}

/// Markdown, cut at the end of its line unless it may wrap.
fn text_block(element: &Value) -> Html {
    let own = if element["wrap"] == true { "wraps" } else { "one-line" };
    looking("div", element, own, TEAMS.html(element["text"].as_str().unwrap_or_default()))
}

/// A piece of rich text, in which nothing is Markdown. A bare string is one too.
fn run(run: &Value) -> Html {
    let is_run = run.is_string() || run["type"] == "TextRun";
    let Some(text) = run.as_str().or_else(|| run["text"].as_str()).filter(|_| is_run) else {
        return Html::unknown("inline", run["type"].as_str().unwrap_or("without a type"));
    };
    looking("span", run, "run", Html::text(text))
}

fn facts(facts: &Value) -> Html {
    let cell = |class, text: &Value| Html::element("td", class, TEAMS.html(text.as_str().unwrap_or_default()));
    let rows = list(facts)
        .map(|fact| Html::element("tr", "", cell("fact-title", &fact["title"]).and(cell("", &fact["value"]))));
    Html::element("table", "", rows.collect())
}

/// A column: as wide as it says, as its content, or with a share of what is left.
fn column(column: &Value) -> Html {
    let items = elements(&column["items"]);
    match column["width"].as_str() {
        Some("auto") => Html::element("div", "column-auto", items),
        Some(width) if width.ends_with("px") => Html::wide(width.trim_end_matches("px").parse().unwrap_or(0), items),
        _ => Html::element("div", "column-stretch", items),
    }
}

fn actions(actions: &Value) -> Html {
    let buttons: Html = list(actions).map(action).collect();
    if buttons.is_empty() { buttons } else { Html::element("div", "buttons", buttons) }
}

fn action(action: &Value) -> Html {
    let title = Html::text(action["title"].as_str().unwrap_or_default());
    match (action["type"].as_str(), action["url"].as_str()) {
        (Some("Action.OpenUrl"), Some(url)) => Html::link(url, "button", title),
        (kind, _) => Html::unknown("action", kind.unwrap_or("without a type")),
    }
}
