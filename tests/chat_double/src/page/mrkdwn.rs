//! The marked-up text of Slack ("mrkdwn") and of Google Chat, which took it over.
//!
//! Invariant: whatever is live in the service stands out here: a mention of people is a pill, even in code, where
//! Slack reads it too; a link is a link.

use super::inline::{Dialect, Found, Place, bare_link, emphasised, enclosed};
use super::markup::{Html, is_web};
use super::slack_date;

/// Slack's text, in which bare addresses become links.
pub(super) static SLACK: Dialect =
    Dialect(&[quote, slack_code_block, slack_code, slack_control, bold, italic, strike, emoji, entity, bare_link]);
/// Slack's text with `verbatim`, in which they do not.
pub(super) static SLACK_VERBATIM: Dialect =
    Dialect(&[quote, slack_code_block, slack_code, slack_control, bold, italic, strike, emoji, entity]);
/// Slack's plain text with `emoji`.
pub(super) static SLACK_EMOJI: Dialect = Dialect(&[emoji]);
/// What of it Slack reads in code.
static SLACK_CODE: Dialect = Dialect(&[slack_control, entity]);
/// Google Chat's text.
pub(super) static GOOGLE_CHAT: Dialect =
    Dialect(&[chat_code_block, chat_code, chat_control, bold, italic, strike, bare_link]);
/// Google Chat reads nothing in code.
static LITERAL: Dialect = Dialect(&[]);

/// The emoji of our messages, of some thousands that Slack knows.
const EMOJI: [(&str, &str); 5] = [
    (":arrows_counterclockwise:", "🔄"),
    (":rotating_light:", "🚨"),
    (":warning:", "⚠️"),
    (":white_check_mark:", "✅"),
    (":x:", "❌"),
];
/// How Slack writes the three characters that it reads itself. `&` comes last, or `&amp;lt;` would become `<`.
const ENTITIES: [(&str, &str); 3] = [("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];

fn bold(place: &Place<'_>) -> Option<Found> {
    emphasised(place, "*", "b")
}

fn italic(place: &Place<'_>) -> Option<Found> {
    emphasised(place, "_", "i")
}

fn strike(place: &Place<'_>) -> Option<Found> {
    emphasised(place, "~", "s")
}

fn slack_code(place: &Place<'_>) -> Option<Found> {
    code(place, &SLACK_CODE)
}

fn chat_code(place: &Place<'_>) -> Option<Found> {
    code(place, &LITERAL)
}

fn slack_code_block(place: &Place<'_>) -> Option<Found> {
    code_block(place, &SLACK_CODE)
}

fn chat_code_block(place: &Place<'_>) -> Option<Found> {
    code_block(place, &LITERAL)
}

fn code(place: &Place<'_>, dialect: &'static Dialect) -> Option<Found> {
    let inner = enclosed(place.rest, "`", "`").filter(|inner| !inner.contains('\n'))?;
    Some(Found { html: Html::element("code", "", dialect.html(inner)), length: inner.len() + 2 })
}

fn code_block(place: &Place<'_>, dialect: &'static Dialect) -> Option<Found> {
    let inner = enclosed(place.rest, "```", "```")?;
    Some(Found { html: Html::element("pre", "", dialect.html(inner.trim_matches('\n'))), length: inner.len() + 6 })
}

/// A quoted line; Slack reads its own escape of `>` as the mark too.
fn quote(place: &Place<'_>) -> Option<Found> {
    let mark = ["&gt;", ">"].into_iter().find(|mark| place.rest.starts_with(mark))?;
    let line = place.rest.split_inclusive('\n').next().filter(|_| place.begins_line())?;
    let inner = line.strip_prefix(mark)?.trim();
    let quoted = place.dialect.html_behind(Some('>'), inner);
    Some(Found { html: Html::element("blockquote", "", quoted), length: line.len() })
}

fn emoji(place: &Place<'_>) -> Option<Found> {
    let (code, shown) = EMOJI.into_iter().find(|(code, _)| place.rest.starts_with(code))?;
    Some(Found { html: Html::element("span", "emoji", Html::text(shown)), length: code.len() })
}

fn entity(place: &Place<'_>) -> Option<Found> {
    let (name, shown) = ENTITIES.into_iter().find(|(name, _)| place.rest.starts_with(name))?;
    Some(Found { html: Html::text(shown), length: name.len() })
}

fn unescaped(text: &str) -> String {
    ENTITIES.into_iter().fold(text.to_owned(), |text, (name, shown)| text.replace(name, shown))
}

/// `<…>` in Slack: a link, a date or a mention.
fn slack_control(place: &Place<'_>) -> Option<Found> {
    let inner = enclosed(place.rest, "<", ">")?;
    let (target, label) = parted(inner);
    let html = if let Some(date) = target.strip_prefix("!date^") {
        Html::text(&slack_date::shown(date).unwrap_or_else(|| unescaped(label.unwrap_or(target))))
    } else if is_web(target) {
        Html::link(&unescaped(target), "", Html::text(&unescaped(label.unwrap_or(target))))
    } else {
        slack_mention(target, label).map_or_else(|| Html::unknown("control", inner), |name| Html::mention(&name))
    };
    Some(Found { html, length: inner.len() + 2 })
}

fn slack_mention(target: &str, label: Option<&str>) -> Option<String> {
    let named = |sign: &str, id: &str| format!("{sign}{}", label.unwrap_or(id).trim_start_matches(['@', '#']));
    let groups = ["!channel", "!here", "!everyone"];
    let group = groups.into_iter().find(|group| target == *group).and_then(|group| group.strip_prefix('!'));
    let people = group.or_else(|| target.strip_prefix("!subteam^")).or_else(|| target.strip_prefix('@'));
    people.map(|id| named("@", id)).or_else(|| target.strip_prefix('#').map(|id| named("#", id)))
}

/// `<…>` in Google Chat: a link or a mention. No escape is documented, so anything else is text.
fn chat_control(place: &Place<'_>) -> Option<Found> {
    let inner = enclosed(place.rest, "<", ">")?;
    let (target, label) = parted(inner);
    let html = match target.strip_prefix("users/") {
        Some(id) => Html::mention(&format!("@{id}")),
        None if is_web(target) => Html::link(target, "", Html::text(label.unwrap_or(target))),
        None => return None,
    };
    Some(Found { html, length: inner.len() + 2 })
}

fn parted(inner: &str) -> (&str, Option<&str>) {
    inner.split_once('|').map_or((inner, None), |(target, label)| (target, Some(label)))
}
