//! An announcement as a message of Slack's incoming webhooks: Block Kit.
//!
//! Invariants: `& < >` of whatever is not ours are escaped and names are code, so nothing of an event is a link, a
//! mention or markup; the limits here lie below Slack's, which refuses a whole message for one text that is too long.
//! Left out: what else a webhook cannot do (threads, edits, another channel).

use serde_json::{Value, json};
use url::Url;

use super::announcement::{Announcement, Failure, Tone};
use super::text::{Line, Span, cut, escaped, marked, units, words};

/// Slack takes 50 blocks; more than a screenful is not read.
const MOST_BLOCKS: usize = 20;
/// Slack takes 3000.
const LONGEST_SECTION: usize = 2800;
/// Slack takes 2000.
const LONGEST_FIELD: usize = 1900;
/// Slack takes 150.
const LONGEST_HEADER: usize = 150;
/// Slack refuses a message with more than some 12,000 in all its blocks.
const LONGEST_IN_ALL: usize = 9000;
/// Slack advises 4000.
const LONGEST_TEXT: usize = 4000;

/// The message with blocks.
#[must_use]
pub fn payload(said: &Announcement) -> Value {
    let mut blocks = Vec::new();
    if said.tone == Tone::Failed || said.facts.is_empty() {
        blocks.push(header(said));
    }
    blocks.extend(said.message.iter().map(|message| verbatim(message)));
    blocks.extend(summary(said));
    blocks.extend(said.failures.iter().flat_map(failure));
    if !said.rows.is_empty() {
        let heading = (!said.failures.is_empty()).then(|| "*Reloaded*".to_owned());
        let rows = said.rows.iter().map(|row| format!("• {}", mrkdwn(row)));
        let rows: Vec<_> = heading.into_iter().chain(rows).collect();
        blocks.push(json!({ "type": "section", "text": text(&rows.join("\n")) }));
    }
    blocks.push(json!({ "type": "context", "elements": [text(&footer(said))] }));
    let mut payload = text_only(said);
    payload["blocks"] = Value::Array(blocks);
    payload
}

/// The message without blocks.
#[must_use]
pub fn text_only(said: &Announcement) -> Value {
    json!({ "text": fallback(said), "unfurl_links": false, "unfurl_media": false })
}

/// Whether Slack takes it, with room left for what it counts otherwise than we do.
#[must_use]
pub fn fits(payload: &Value) -> bool {
    let blocks = payload["blocks"].as_array().map(Vec::as_slice).unwrap_or_default();
    let texts = |block: &Value| -> Vec<(usize, usize)> {
        let of = |text: &Value, longest| text["text"].as_str().map(|text| (units(text), longest));
        let longest = if block["type"] == "header" { LONGEST_HEADER } else { LONGEST_SECTION };
        let many = |key: &str| block[key].as_array().cloned().unwrap_or_default();
        let fields = many("fields").into_iter().chain(many("elements"));
        of(&block["text"], longest).into_iter().chain(fields.filter_map(|field| of(&field, LONGEST_FIELD))).collect()
    };
    let texts: Vec<_> = blocks.iter().flat_map(texts).collect();
    blocks.len() <= MOST_BLOCKS
        && texts.iter().all(|(length, longest)| length <= longest)
        && texts.iter().map(|(length, _)| length).sum::<usize>() <= LONGEST_IN_ALL
}

fn header(said: &Announcement) -> Value {
    let sign = if said.tone == Tone::Failed { "🚨 " } else { "" };
    let text = cut_units(&format!("{sign}{}", words(&said.title)), LONGEST_HEADER);
    json!({ "type": "header", "text": { "type": "plain_text", "text": text, "emoji": false } })
}

/// The title where no header has all of it, who is called, and the facts.
fn summary(said: &Announcement) -> Option<Value> {
    let has_header = said.tone == Tone::Failed || said.facts.is_empty();
    let is_whole = units(&words(&said.title)) + 3 <= LONGEST_HEADER;
    let title = match said.tone {
        _ if has_header && is_whole => None,
        Tone::Done => Some(format!(":arrows_counterclockwise: {}", mrkdwn(&said.title))),
        Tone::Failed => Some(mrkdwn(&said.title)),
    };
    let mention = said.mention.as_ref().map(|mention| mention.as_str().to_owned());
    let lines: Vec<_> = mention.into_iter().chain(title).collect();
    let fields: Vec<_> =
        said.facts.iter().map(|fact| text(&format!("*{}*\n{}", fact.label, mrkdwn(&fact.value)))).collect();
    let mut section = json!({ "type": "section" });
    if !lines.is_empty() {
        section["text"] = text(&lines.join(" "));
    }
    if !fields.is_empty() {
        section["fields"] = Value::Array(fields);
    }
    (section.as_object().is_some_and(|section| section.len() > 1)).then_some(section)
}

fn failure(failure: &Failure) -> Vec<Value> {
    let title = json!({ "type": "section", "text": text(&format!(":x: {}", mrkdwn(&failure.title))) });
    [title].into_iter().chain(failure.message.iter().map(|message| verbatim(message))).collect()
}

/// Text in which nothing is markup.
fn verbatim(message: &str) -> Value {
    json!({ "type": "section", "text": { "type": "plain_text", "text": message, "emoji": false } })
}

/// When, which message, and a page: the reader's own time zone, as Slack knows it.
fn footer(said: &Announcement) -> String {
    let at = said.at.map(|at| {
        let written = at.strftime("%Y-%m-%dT%H:%M:%SZ");
        // Slack counts from 1970 on, and would show a date before it as what it is written as.
        match u64::try_from(at.as_second()) {
            Ok(seconds) => format!("<!date^{seconds}^{{date_short_pretty}} {{time_secs}}|{written}>"),
            Err(_) => written.to_string(),
        }
    });
    let link = said.link.as_ref().map(|link| format!("<{}|details>", address(link)));
    at.into_iter().chain([said.short_id.clone()]).chain(link).collect::<Vec<_>>().join(" · ")
}

fn fallback(said: &Announcement) -> String {
    // There is no way to write these as themselves.
    let text = said.lines().join("\n").replace('`', "'").replace('*', "∗").replace('~', "∼");
    // Each `&` may become five characters.
    let mut kept = cut(&text, LONGEST_TEXT / 2);
    while units(&escaped(&kept)) > LONGEST_TEXT {
        kept = cut(&kept, kept.chars().count() / 2);
    }
    escaped(&kept)
}

fn text(mrkdwn: &str) -> Value {
    json!({ "type": "mrkdwn", "verbatim": true, "text": mrkdwn })
}

fn mrkdwn(line: &Line) -> String {
    marked(line, |span| match span {
        Span::Plain(text) => escaped(text),
        Span::Strong(text) => format!("*{}*", escaped(text)),
        Span::Name(text) => code(text),
    })
}

/// In code nothing is markup but a backtick, which no Kubernetes name has.
fn code(text: &str) -> String {
    format!("`{}`", escaped(&text.replace('`', "'")))
}

/// An address inside `<…|…>`, which either of these would end; a backtick in its query would begin code.
fn address(url: &Url) -> String {
    escaped(&url.as_str().replace('|', "%7C").replace('<', "%3C").replace('>', "%3E").replace('`', "%60"))
}

fn cut_units(text: &str, longest: usize) -> String {
    let mut most = longest;
    loop {
        let kept = cut(text, most);
        if units(&kept) <= longest {
            return kept;
        }
        most -= 1;
    }
}
