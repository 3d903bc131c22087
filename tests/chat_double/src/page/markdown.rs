//! The little of Markdown that Teams reads in text blocks and facts.
//!
//! Invariant: what is live in Teams stands out: a link is a link, a mention a pill.
//! Left out: nested lists.

use super::inline::{Dialect, Found, Place, emphasised, enclosed};
use super::markup::Html;

/// The text of a text block or a fact.
pub(super) static TEAMS: Dialect = Dialect(&[escape, mention, link, bold, italic, underscored, bullet]);

fn escape(place: &Place<'_>) -> Option<Found> {
    let next = place.rest.strip_prefix('\\')?.chars().next().filter(char::is_ascii_punctuation)?;
    Some(Found { html: Html::text(next.encode_utf8(&mut [0; 4])), length: 2 })
}

fn mention(place: &Place<'_>) -> Option<Found> {
    let name = enclosed(place.rest, "<at>", "</at>")?;
    Some(Found { html: Html::mention(&format!("@{name}")), length: name.len() + 9 })
}

fn link(place: &Place<'_>) -> Option<Found> {
    let label = enclosed(place.rest, "[", "](")?;
    let target = place.rest.get(label.len() + 2..)?;
    let url = enclosed(target, "(", ")").filter(|_| !label.contains(['[', '\n']))?;
    Some(Found { html: Html::link(url, "", place.dialect.html(label)), length: label.len() + url.len() + 4 })
}

fn bold(place: &Place<'_>) -> Option<Found> {
    emphasised(place, "**", "b")
}

fn italic(place: &Place<'_>) -> Option<Found> {
    emphasised(place, "*", "i")
}

fn underscored(place: &Place<'_>) -> Option<Found> {
    emphasised(place, "_", "i")
}

fn bullet(place: &Place<'_>) -> Option<Found> {
    let mark = ["- ", "* "].into_iter().find(|mark| place.begins_line() && place.rest.starts_with(mark))?;
    Some(Found { html: Html::element("span", "bullet", Html::text("•")), length: mark.len() })
}
