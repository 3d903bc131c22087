//! HTML that is safe to show.
//!
//! Invariant: text gets into an [`Html`] escaped only; tags and classes are words of this program (`&'static str`);
//! a link leads to http or https, or is no link.

use std::fmt;

/// A piece of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Html(String);

impl Html {
    /// Text, shown as it is.
    pub(super) fn text(text: &str) -> Self {
        Self(escaped(text))
    }

    /// An element; without a class where that is empty.
    pub(super) fn element(tag: &'static str, class: &'static str, inner: Self) -> Self {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        inner.inside(tag, &class)
    }

    /// An element of several classes.
    pub(super) fn element_of(tag: &'static str, classes: &[&'static str], inner: Self) -> Self {
        inner.inside(tag, &format!(" class=\"{}\"", classes.join(" ")))
    }

    /// An element with nothing in it, as `br` and `hr` are.
    pub(super) fn void(tag: &'static str) -> Self {
        Self(format!("<{tag}>"))
    }

    /// A link, if the address is one of the web.
    pub(super) fn link(url: &str, class: &'static str, inner: Self) -> Self {
        if !is_web(url) {
            return Self::unknown("address", url).and(inner);
        }
        inner.inside("a", &format!(" class=\"{class}\" href=\"{}\" rel=\"noreferrer\"", escaped(url)))
    }

    /// Text in a colour given as `#rrggbb`; any other colour is none.
    pub(super) fn coloured(colour: &str, inner: Self) -> Self {
        let digits = colour.strip_prefix('#').unwrap_or_default();
        if digits.len() != 6 || !digits.chars().all(|c| c.is_ascii_hexdigit()) {
            return inner;
        }
        inner.inside("span", &format!(" style=\"color:#{digits}\""))
    }

    /// A box of a fixed width, as a column has it.
    pub(super) fn wide(pixels: u32, inner: Self) -> Self {
        inner.inside("div", &format!(" style=\"flex:0 0 {pixels}px\""))
    }

    /// A mention that calls people.
    pub(super) fn mention(name: &str) -> Self {
        Self::element("mark", "", Self::text(name))
    }

    /// What this page cannot show as the service would.
    pub(super) fn unknown(what: &str, kind: &str) -> Self {
        Self::element("span", "unknown", Self::text(&format!("unknown {what}: {kind}")))
    }

    /// This, and then more.
    pub(super) fn and(mut self, more: Self) -> Self {
        self.0.extend([more.0]);
        self
    }

    /// Whether nothing is in it.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// This in an element; the attributes are written by the functions above.
    fn inside(mut self, tag: &'static str, attributes: &str) -> Self {
        self.0.insert_str(0, &format!("<{tag}{attributes}>"));
        self.0.extend(["</", tag, ">"]);
        self
    }
}

impl fmt::Display for Html {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromIterator<Html> for Html {
    fn from_iter<I: IntoIterator<Item = Html>>(pieces: I) -> Self {
        pieces.into_iter().fold(Self::default(), Self::and)
    }
}

/// Whether an address is one of the web.
pub(super) fn is_web(url: &str) -> bool {
    ["http://", "https://"].into_iter().any(|scheme| url.starts_with(scheme))
}

fn escaped(text: &str) -> String {
    let named = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
    // `&` comes first, or it would escape what the others became.
    named.into_iter().fold(text.to_owned(), |text, (c, name)| text.replace(c, name))
}
