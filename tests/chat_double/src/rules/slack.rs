//! What Slack refuses: the counts, lengths and fields of a message and of Block Kit. Invariant: a limit of Slack
//! refuses the whole message, nothing is cut. What is inside of a text is in `slack_text`.

use std::collections::HashSet;

use serde_json::Value;

use super::json::{list, named, typed, units, word};
use super::shape::{Problem, problems};
use super::slack_shape::{BLOCK, MESSAGE};
use super::{Effect, Payload, Rule, when};

const PAYLOAD: Effect = Effect::Refused(400, "invalid_payload");
const BLOCKS: Effect = Effect::Refused(400, "invalid_blocks");

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "message_fields",
        source: "incoming webhooks: the fields of a message",
        effect: PAYLOAD,
        find: message_problems,
    },
    Rule {
        name: "no_text",
        source: "incoming webhooks: text feeds notifications and screen readers",
        effect: Effect::Refused(400, "no_text"),
        find: |p| when(word(p.body, "text").is_none_or(|text| text.trim().is_empty()), || "at `/text`".to_owned()),
    },
    Rule {
        name: "text_length",
        source: "incoming webhooks: text is cut at 40000",
        effect: Effect::Reported,
        find: |p| over(word(p.body, "text").map_or(0, units), 40_000, "/text").into_iter().collect(),
    },
    Rule {
        name: "too_many_attachments",
        source: "incoming webhooks: 100 attachments",
        effect: Effect::Refused(400, "too_many_attachments"),
        find: |p| over(list(p.body, "attachments").len(), 100, "/attachments").into_iter().collect(),
    },
    Rule {
        name: "blocks_in_attachment",
        source: "seen: blocks inside of an attachment fail",
        effect: Effect::Refused(400, "invalid_attachments"),
        find: |p| {
            let with_blocks = list(p.body, "attachments").iter().filter(|item| item.get("blocks").is_some());
            with_blocks.map(|_| "at `/attachments`".to_owned()).collect()
        },
    },
    Rule {
        name: "too_many_blocks",
        source: "Block Kit: 50 blocks",
        effect: BLOCKS,
        find: |p| over(list(p.body, "blocks").len(), 50, "/blocks").into_iter().collect(),
    },
    Rule {
        name: "block_type",
        source: "Block Kit: the types of blocks and elements",
        effect: BLOCKS,
        find: |p| block_problems(p, Problem::UnknownType),
    },
    Rule {
        name: "block_unknown_field",
        source: "Block Kit: the fields of a block",
        effect: BLOCKS,
        find: |p| block_problems(p, Problem::UnknownField),
    },
    Rule {
        name: "block_missing_field",
        source: "Block Kit: the required fields of a block",
        effect: BLOCKS,
        find: |p| block_problems(p, Problem::MissingField),
    },
    Rule {
        name: "block_wrong_type",
        source: "Block Kit: the types of fields",
        effect: BLOCKS,
        find: |p| block_problems(p, Problem::WrongType),
    },
    Rule {
        name: "header_not_plain",
        source: "Block Kit: header text is plain_text",
        effect: BLOCKS,
        find: |p| {
            let texts = typed(p.body, "header").into_iter().filter_map(|(_, block)| block.get("text"));
            texts.filter(|text| word(text, "type") == Some("mrkdwn")).map(|_| "a header".to_owned()).collect()
        },
    },
    Rule {
        name: "header_length",
        source: "Block Kit: header text 150",
        effect: BLOCKS,
        find: |p| each(p, "header", |path, block| over(text_units(block.get("text")), 150, path)),
    },
    Rule {
        name: "section_text_length",
        source: "Block Kit: section text 3000",
        effect: BLOCKS,
        find: |p| each(p, "section", |path, block| over(text_units(block.get("text")), 3000, path)),
    },
    Rule {
        name: "section_without_text",
        source: "Block Kit: a section has text or fields",
        effect: BLOCKS,
        find: |p| {
            each(p, "section", |path, block| {
                (block.get("text").is_none() && block.get("fields").is_none()).then(|| format!("at `{path}`"))
            })
        },
    },
    Rule {
        name: "section_fields_count",
        source: "Block Kit: 1 to 10 fields",
        effect: BLOCKS,
        find: |p| each(p, "section", |path, block| count_outside(block.get("fields"), 10, path)),
    },
    Rule {
        name: "section_field_length",
        source: "Block Kit: a field 2000",
        effect: BLOCKS,
        find: |p| {
            each(p, "section", |path, block| {
                list(block, "fields").iter().find_map(|field| over(text_units(Some(field)), 2000, path))
            })
        },
    },
    Rule {
        name: "context_count",
        source: "Block Kit: 1 to 10 context elements",
        effect: BLOCKS,
        find: |p| each(p, "context", |path, block| count_outside(block.get("elements"), 10, path)),
    },
    Rule {
        name: "context_text_length",
        source: "Block Kit: any text object 3000",
        effect: BLOCKS,
        find: |p| {
            each(p, "context", |path, block| {
                list(block, "elements").iter().find_map(|text| over(text_units(Some(text)), 3000, path))
            })
        },
    },
    Rule {
        name: "actions_count",
        source: "Block Kit: 1 to 25 actions",
        effect: BLOCKS,
        find: |p| each(p, "actions", |path, block| count_outside(block.get("elements"), 25, path)),
    },
    Rule {
        name: "actions_need_endpoint",
        source: "known behaviour: a button makes Slack expect an interactivity endpoint",
        effect: Effect::Reported,
        find: |p| each(p, "actions", |path, _| Some(format!("at `{path}`"))),
    },
    Rule {
        name: "block_id_length",
        source: "Block Kit: block_id 255",
        effect: BLOCKS,
        find: |p| {
            let ids = named(p.body, "block_id").into_iter();
            ids.filter_map(|(path, id)| over(id.as_str().map_or(0, units), 255, &path)).collect()
        },
    },
    Rule {
        name: "block_id_twice",
        source: "Block Kit: block_id is unique in a message",
        effect: BLOCKS,
        find: |p| {
            let mut seen = HashSet::new();
            let ids = named(p.body, "block_id").into_iter();
            ids.filter(|(_, id)| !seen.insert(id.to_string())).map(|(path, _)| format!("at `{path}`")).collect()
        },
    },
    Rule {
        name: "empty_text",
        source: "Block Kit: a text object has at least one character",
        effect: BLOCKS,
        find: |p| {
            let blank = |text: &Value| word(text, "text").is_some_and(|text| text.trim().is_empty());
            let objects = ["plain_text", "mrkdwn"].into_iter().flat_map(|kind| typed(p.body, kind));
            // A piece of rich text may be a space.
            let pieces = typed(p.body, "text").into_iter().filter(|(_, piece)| word(piece, "text") == Some(""));
            objects.filter(|(_, text)| blank(text)).chain(pieces).map(|(path, _)| format!("at `{path}`")).collect()
        },
    },
    Rule {
        name: "total_text",
        source: "seen, named by Slack's staff: 12000 in all blocks together",
        effect: BLOCKS,
        find: |p| {
            let total = block_texts(p.body).iter().map(|(_, text)| units(text)).sum();
            over(total, 12_000, "/blocks").into_iter().collect()
        },
    },
];

fn message_problems(payload: &Payload) -> Vec<String> {
    let kinds = [Problem::UnknownField, Problem::WrongType];
    kinds.into_iter().flat_map(|kind| problems(payload.body, &MESSAGE, kind)).collect()
}

fn block_problems(payload: &Payload, wanted: Problem) -> Vec<String> {
    list(payload.body, "blocks").iter().flat_map(|block| problems(block, &BLOCK, wanted)).collect()
}

/// What is wrong with the blocks of this type, one answer per block.
fn each(payload: &Payload, kind: &str, wrong: impl Fn(&str, &Value) -> Option<String>) -> Vec<String> {
    typed(payload.body, kind).iter().filter_map(|(path, block)| wrong(path, block)).collect()
}

/// Every text in a block that a reader sees.
fn block_texts(body: &Value) -> Vec<(String, &str)> {
    let blocks = body.get("blocks").map(|blocks| named(blocks, "text")).unwrap_or_default();
    blocks.into_iter().filter_map(|(path, text)| Some((path, text.as_str()?))).collect()
}

fn text_units(text: Option<&Value>) -> usize {
    text.and_then(|text| word(text, "text")).map_or(0, units)
}

fn over(found: usize, limit: usize, path: &str) -> Option<String> {
    (found > limit).then(|| format!("{found} at `{path}`"))
}

/// A list that is there must have one to `limit` items.
fn count_outside(items: Option<&Value>, limit: usize, path: &str) -> Option<String> {
    let found = items?.as_array()?.len();
    (found == 0 || found > limit).then(|| format!("{found} at `{path}`"))
}
