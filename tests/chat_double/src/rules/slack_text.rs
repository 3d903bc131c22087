//! What Slack shows although it is not what was meant: control sequences, entities and code spans in its text
//! markup. Invariant: all of these rules are reported, none is refused, as Slack would not either.
//! `plain_text` has no markup and is not looked at.

use super::json::{typed, word};
use super::{Effect, Payload, Rule};

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "live_control",
        source: "formatting: an unescaped `<` begins a mention, a link or a command",
        effect: Effect::Reported,
        find: |p| broken(p, Flaw::LiveControl),
    },
    Rule {
        name: "link_separator",
        source: "formatting: `|`, `<` and `>` end a link",
        effect: Effect::Reported,
        find: |p| broken(p, Flaw::LinkSeparator),
    },
    Rule {
        name: "raw_angle",
        source: "formatting: `>` is written `&gt;`",
        effect: Effect::Reported,
        find: |p| broken(p, Flaw::RawAngle),
    },
    Rule {
        name: "raw_ampersand",
        source: "formatting: `&` is written `&amp;`",
        effect: Effect::Reported,
        find: |p| marked_up(p).filter(|(_, text)| has_raw_ampersand(text)).map(|(place, _)| place).collect(),
    },
    Rule {
        name: "unbalanced_code_span",
        source: "formatting: a backtick has no escape, and a code span ends in its line",
        effect: Effect::Reported,
        find: |p| {
            let odd = |text: &str| text.replace("```", "").lines().any(|line| line.matches('`').count() % 2 == 1);
            marked_up(p).filter(|(_, text)| odd(text)).map(|(place, _)| place).collect()
        },
    },
];

/// What can be wrong with angle brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    LiveControl,
    LinkSeparator,
    RawAngle,
}

/// The texts in which markup is read: the message's own and every `mrkdwn` object.
fn marked_up<'a>(payload: &Payload<'a>) -> impl Iterator<Item = (String, &'a str)> {
    let own = word(payload.body, "text").map(|text| ("at `/text`".to_owned(), text));
    let objects = typed(payload.body, "mrkdwn").into_iter();
    own.into_iter().chain(objects.filter_map(|(path, object)| Some((format!("at `{path}`"), word(object, "text")?))))
}

fn broken(payload: &Payload, wanted: Flaw) -> Vec<String> {
    let found = |(place, text)| {
        let flaws = flaws(text, payload.mentions).into_iter().filter(|(flaw, _)| *flaw == wanted);
        flaws.map(|(_, part)| format!("`{part}` {place}")).collect::<Vec<_>>()
    };
    marked_up(payload).flat_map(found).collect()
}

/// The flaws of a text, each with the part that has it.
fn flaws<'a>(text: &'a str, mentions: &[String]) -> Vec<(Flaw, &'a str)> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['<', '>']) {
        let (opened, inner) = (rest[at..].starts_with('<'), &rest[at + 1..]);
        if !opened {
            found.push((Flaw::RawAngle, ">"));
            rest = inner;
            continue;
        }
        let Some(end) = inner.find('>') else {
            found.push((Flaw::LiveControl, &rest[at..]));
            break;
        };
        let control = &inner[..end];
        if let Some(flaw) = flaw_of(control, mentions) {
            found.push((flaw, control));
        }
        rest = &inner[end + 1..];
    }
    found
}

/// What is wrong with the inside of a `<…>`.
fn flaw_of(control: &str, mentions: &[String]) -> Option<Flaw> {
    if control.starts_with("https://") || control.starts_with("http://") {
        let mut parts = control.split('|');
        let (url, label, more) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let ends_early = more.is_some() || control.contains('<') || url.contains(char::is_whitespace);
        return (ends_early || label.is_some_and(str::is_empty)).then_some(Flaw::LinkSeparator);
    }
    let allowed = mentions.iter().any(|mention| mention.trim_matches(['<', '>']) == control);
    (!allowed && !is_date(control)).then_some(Flaw::LiveControl)
}

/// `!date^UNIX^format|fallback`, with an optional link after the format.
fn is_date(control: &str) -> bool {
    let Some((parts, fallback)) = control.strip_prefix("!date^").and_then(|date| date.split_once('|')) else {
        return false;
    };
    let mut parts = parts.split('^');
    let seconds = parts.next().is_some_and(|unix| !unix.is_empty() && unix.bytes().all(|digit| digit.is_ascii_digit()));
    let format = parts.next().is_some_and(|format| format.contains('{'));
    let link = parts.next().is_none_or(|link| link.starts_with("https://"));
    seconds && format && link && parts.next().is_none() && !fallback.is_empty() && !fallback.contains(['<', '|'])
}

fn has_raw_ampersand(text: &str) -> bool {
    let begins = |rest: &str| ["&amp;", "&lt;", "&gt;"].iter().any(|entity| rest.starts_with(entity));
    text.match_indices('&').any(|(at, _)| !begins(&text[at..]))
}
