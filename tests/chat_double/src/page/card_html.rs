//! The text of Google Chat's cards: a few tags of HTML, and entities.
//!
//! Invariant: of the text only what is understood becomes markup, and that as elements which are closed in the order in
//! which they were opened, whatever the text does.

use super::markup::Html;

/// A tag that is open, and what it holds so far.
struct Open<'a> {
    name: &'a str,
    /// The colour of `font`, the address of `a`.
    value: &'a str,
    inner: Html,
}

const ENTITIES: [(&str, &str); 6] =
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", "\u{a0}"), ("&amp;", "&")];

/// A text as a card shows it.
pub(super) fn html(text: &str) -> Html {
    let mut open = vec![Open { name: "", value: "", inner: Html::default() }];
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('<') {
        add(&mut open, Html::text(&unescaped(before)));
        let Some((tag, after)) = behind.split_once('>') else {
            add(&mut open, Html::unknown("tag", "one that never ends"));
            rest = behind;
            continue;
        };
        read(&mut open, tag);
        rest = after;
    }
    add(&mut open, Html::text(&unescaped(rest)));
    while open.len() > 1 {
        close(&mut open);
    }
    open.pop().map(|outermost| outermost.inner).unwrap_or_default()
}

fn read<'a>(open: &mut Vec<Open<'a>>, tag: &'a str) {
    if let Some(name) = tag.strip_prefix('/') {
        if open.last().is_some_and(|last| last.name == name) {
            return close(open);
        }
        return add(open, Html::unknown("tag", tag));
    }
    let (name, rest) = tag.split_once(' ').unwrap_or((tag, ""));
    match (name, rest) {
        ("br" | "br/", _) => add(open, Html::void("br")),
        ("b" | "i" | "u" | "s", "") => open.push(Open { name, value: "", inner: Html::default() }),
        ("font", _) => open.push(Open { name, value: attribute(rest, "color"), inner: Html::default() }),
        ("a", _) => open.push(Open { name, value: attribute(rest, "href"), inner: Html::default() }),
        _ => add(open, Html::unknown("tag", tag)),
    }
}

fn add(open: &mut [Open<'_>], html: Html) {
    if let Some(last) = open.last_mut() {
        last.inner = std::mem::take(&mut last.inner).and(html);
    }
}

fn close(open: &mut Vec<Open<'_>>) {
    let Some(Open { name, value, inner }) = open.pop() else { return };
    let html = match name {
        "b" => Html::element("b", "", inner),
        "i" => Html::element("i", "", inner),
        "u" => Html::element("u", "", inner),
        "s" => Html::element("s", "", inner),
        "font" => Html::coloured(value, inner),
        _ => Html::link(&unescaped(value), "", inner),
    };
    add(open, html);
}

/// The value of an attribute, in either kind of quotes.
fn attribute<'a>(attributes: &'a str, name: &str) -> &'a str {
    let value = attributes.trim().strip_prefix(name).and_then(|rest| rest.strip_prefix('=')).unwrap_or_default();
    value.trim().trim_matches(['"', '\''])
}

fn unescaped(text: &str) -> String {
    ENTITIES.into_iter().fold(text.to_owned(), |text, (name, shown)| text.replace(name, shown))
}
