//! What a receiver of CloudEvents demands of a structured event. Invariant: only what the CloudEvents
//! specification says, as the receiver may be anybody's. Events in binary mode have their rules in `request`.

use serde_json::Value;

use super::json::word;
use super::{Effect, Rule, when};

const BAD: Effect = Effect::Refused(400, "bad-event");

pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "specversion",
        source: "CloudEvents: specversion is 1.0",
        effect: BAD,
        find: |p| when(word(p.body, "specversion") != Some("1.0"), || "at `/specversion`".to_owned()),
    },
    Rule {
        name: "required_attribute",
        source: "CloudEvents: id, source and type are strings with content",
        effect: BAD,
        find: |p| {
            let absent = |name: &&str| word(p.body, name).is_none_or(str::is_empty);
            ["id", "source", "type"].iter().filter(|name| absent(name)).map(|name| format!("`{name}`")).collect()
        },
    },
    Rule {
        name: "attribute_name",
        source: "CloudEvents: names are lower-case letters and digits",
        effect: BAD,
        find: |p| {
            let fits = |name: &str| name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
            let names = attributes(p.body).map(|(name, _)| name);
            names.filter(|name| !fits(name)).map(|name| format!("`{name}`")).collect()
        },
    },
    Rule {
        name: "attribute_value",
        source: "CloudEvents: attributes are strings, booleans or 32-bit integers",
        effect: BAD,
        find: |p| {
            let number = |value: &Value| value.as_i64().is_some_and(|number| i32::try_from(number).is_ok());
            let fits = |value: &Value| value.is_string() || value.is_boolean() || number(value);
            // The ones above have said it of these already.
            let others = attributes(p.body).filter(|(name, _)| !REQUIRED.contains(&name.as_str()));
            others.filter(|(_, value)| !fits(value)).map(|(name, _)| format!("`{name}`")).collect()
        },
    },
    Rule {
        name: "event_time",
        source: "CloudEvents: time is a timestamp of RFC 3339",
        effect: BAD,
        find: |p| {
            let time = word(p.body, "time");
            when(time.is_some_and(|time| time.parse::<jiff::Timestamp>().is_err()), || "at `/time`".to_owned())
        },
    },
    Rule {
        name: "event_data",
        source: "CloudEvents: data or data_base64, not both",
        effect: BAD,
        find: |p| {
            let both = p.body.get("data").is_some() && p.body.get("data_base64").is_some();
            when(both, || "data and data_base64".to_owned())
        },
    },
];

const REQUIRED: [&str; 4] = ["specversion", "id", "source", "type"];

/// What is there except the data.
fn attributes(body: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let fields = body.as_object().into_iter().flatten();
    fields.filter(|(name, _)| !["data", "data_base64"].contains(&name.as_str()))
}
