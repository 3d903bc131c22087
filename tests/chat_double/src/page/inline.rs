//! The reading of marked-up text, which the services do alike with other marks.
//!
//! Invariant: every character is either part of a mark that a [`Recogniser`] of the dialect knows, or shown as itself.
//! Left out: which marks there are (mrkdwn.rs, markdown.rs).

use super::markup::Html;

/// How far the end of an emphasis is looked for, in bytes, so that a text of nothing but marks is read in good time.
const LONGEST_EMPHASIS: usize = 2000;

/// The marks that a kind of text knows, tried in this order.
pub(super) struct Dialect(pub(super) &'static [Recogniser]);

/// Reads one mark at a place, if it stands there.
pub(super) type Recogniser = fn(&Place<'_>) -> Option<Found>;

/// Where in a text the reader is.
pub(super) struct Place<'a> {
    /// What is still to be read.
    pub(super) rest: &'a str,
    /// The character before it.
    pub(super) before: Option<char>,
    /// The dialect of the text.
    pub(super) dialect: &'static Dialect,
}

/// A mark with what it encloses.
pub(super) struct Found {
    /// How it is shown.
    pub(super) html: Html,
    /// How many bytes of the text it takes.
    pub(super) length: usize,
}

impl Dialect {
    /// A text as it is shown.
    pub(super) fn html(&'static self, text: &str) -> Html {
        self.html_behind(None, text)
    }

    /// A text that stands behind a mark, so that no line begins with it; else a line of quote marks would be quotes in
    /// quotes without an end.
    pub(super) fn html_behind(&'static self, mark: Option<char>, text: &str) -> Html {
        let mut html = Html::default();
        let (mut rest, mut before) = (text, mark);
        while let Some(next) = rest.chars().next() {
            let place = Place { rest, before, dialect: self };
            let found = self.0.iter().find_map(|recogniser| recogniser(&place));
            let plain = || Found { html: Html::text(next.encode_utf8(&mut [0; 4])), length: next.len_utf8() };
            let Found { html: piece, length } = found.unwrap_or_else(plain);
            html = html.and(piece);
            let (read, unread) = rest.split_at(length);
            (rest, before) = (unread, read.chars().next_back());
        }
        html
    }
}

impl Place<'_> {
    /// Whether a line begins here.
    pub(super) fn begins_line(&self) -> bool {
        self.before.is_none_or(|c| c == '\n')
    }
}

/// What stands between two marks, the first of which begins the text; not if it is nothing.
pub(super) fn enclosed<'a>(rest: &'a str, open: &str, close: &str) -> Option<&'a str> {
    let (inner, _) = rest.strip_prefix(open)?.split_once(close)?;
    (!inner.is_empty()).then_some(inner)
}

/// Text between two equal marks on one line, which hug it on the inside and no word on the outside.
pub(super) fn emphasised(place: &Place<'_>, mark: &str, tag: &'static str) -> Option<Found> {
    let inner = place.rest.strip_prefix(mark)?;
    let is_word_before = place.before.is_some_and(char::is_alphanumeric);
    if is_word_before || inner.starts_with(mark) || inner.starts_with(char::is_whitespace) {
        return None;
    }
    let inner = inner.split_at_checked(closing(inner, mark)?)?.0;
    let html = Html::element(tag, "", place.dialect.html_behind(mark.chars().next(), inner));
    Some(Found { html, length: inner.len() + 2 * mark.len() })
}

/// An address that is written without any mark.
pub(super) fn bare_link(place: &Place<'_>) -> Option<Found> {
    if place.before.is_some_and(char::is_alphanumeric) || !super::markup::is_web(place.rest) {
        return None;
    }
    let is_end = |c: char| c.is_whitespace() || matches!(c, '<' | '>' | '|' | '`' | '"');
    let url = place.rest.split(is_end).next()?.trim_end_matches(['.', ',', ')', ':']);
    Some(Found { html: Html::link(url, "", Html::text(url)), length: url.len() })
}

/// Where the mark stands that ends an emphasis; marks in code and in links do not count.
fn closing(text: &str, mark: &str) -> Option<usize> {
    let line = text.lines().next()?;
    let line = line.get(..line.floor_char_boundary(LONGEST_EMPHASIS))?;
    let (mut at, mut before) = (0, None);
    while let Some(next) = line.get(at..)?.chars().next() {
        let rest = line.get(at..)?;
        let hugs = before.is_some_and(|c: char| !c.is_whitespace());
        if hugs && rest.strip_prefix(mark).is_some_and(|after| !after.starts_with(char::is_alphanumeric)) {
            return Some(at);
        }
        let skipped = [("`", "`"), ("<", ">")].into_iter().find_map(|(open, close)| enclosed(rest, open, close));
        at += skipped.map_or(next.len_utf8(), |inner| inner.len() + 2);
        before = Some(next);
    }
    None
}
