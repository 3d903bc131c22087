//! The small HTML of Google Chat's cards. Invariant: what is no known tag, well closed, and no known entity is a
//! flaw, since what Chat does with it is not documented. No HTML parser: attributes are compared, not read.

/// What can be wrong with a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HtmlFlaw {
    /// A tag that is unknown, not closed, or closed in the wrong order; a `<` or `>` alone.
    Markup,
    /// An `&` that begins no entity.
    Entity,
    /// A link that is not absolute and https.
    Link,
}

const PLAIN_TAGS: [&str; 5] = ["b", "i", "u", "s", "strike"];
const ENTITIES: [&str; 5] = ["&amp;", "&lt;", "&gt;", "&quot;", "&#39;"];

/// The flaws of a text, each with the part that has it.
pub(super) fn html_flaws(text: &str) -> Vec<(HtmlFlaw, String)> {
    let mut found = Vec::new();
    let mut open: Vec<&str> = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['<', '>', '&']) {
        rest = &rest[at..];
        let tag = rest.strip_prefix('<').and_then(|inner| inner.split_once('>')).map(|(tag, _)| tag);
        let flaw = match tag {
            Some(tag) => tag_flaw(tag, &mut open),
            None if !rest.starts_with('&') => Some(HtmlFlaw::Markup),
            None => (!ENTITIES.iter().any(|entity| rest.starts_with(entity))).then_some(HtmlFlaw::Entity),
        };
        found.extend(flaw.map(|flaw| (flaw, tag.map_or_else(|| rest.chars().take(8).collect(), str::to_owned))));
        rest = &rest[tag.map_or(1, |tag| tag.len() + 2)..];
    }
    found.extend(open.into_iter().map(|tag| (HtmlFlaw::Markup, format!("{tag} is not closed"))));
    found
}

fn tag_flaw<'a>(tag: &'a str, open: &mut Vec<&'a str>) -> Option<HtmlFlaw> {
    if let Some(name) = tag.strip_prefix('/') {
        return (open.pop() != Some(name)).then_some(HtmlFlaw::Markup);
    }
    if ["br", "br/", "br /"].contains(&tag) {
        return None;
    }
    let (name, attribute) = tag.split_once(' ').unwrap_or((tag, ""));
    open.push(name);
    let value = attribute.split_once("=\"").and_then(|(key, value)| Some((key, value.strip_suffix('"')?)));
    match (name, value) {
        ("a", Some(("href", url))) => (!is_https(url)).then_some(HtmlFlaw::Link),
        ("font", Some(("color", colour))) => (!is_colour(colour)).then_some(HtmlFlaw::Markup),
        (name, None) if attribute.is_empty() && PLAIN_TAGS.contains(&name) => None,
        _ => Some(HtmlFlaw::Markup),
    }
}

fn is_colour(value: &str) -> bool {
    value.strip_prefix('#').is_some_and(|hex| hex.len() == 6 && hex.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// An absolute https URL with a host.
pub(super) fn is_https(url: &str) -> bool {
    let clean = !url.contains(|c: char| c.is_whitespace() || c.is_control() || "<>\"".contains(c));
    clean && reqwest::Url::parse(url).is_ok_and(|url| url.scheme() == "https" && url.has_host())
}
