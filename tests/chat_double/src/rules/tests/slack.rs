//! The rules of Slack, each broken by one change.

use super::*;

const SECTION: &str = "/blocks/1";

#[test]
fn each_rule_of_slack_is_broken_alone() {
    each_case_breaks_its_rule_alone(Service::Slack, CASES);
}

#[test]
fn too_many_actions_break_their_count_besides() {
    let mut body = good(Service::Slack);
    put(&mut body, "/blocks/-", actions(26));
    assert_eq!(rules_broken_by(Service::Slack, &body), ["actions_count", "actions_need_endpoint"]);
}

const CASES: &[Case] = &[
    ("message_fields", |body| put(body, "/channel", json!("#other"))),
    ("message_fields", |body| put(body, "/unfurl_links", json!("no"))),
    ("no_text", |body| remove(body, "/text")),
    ("no_text", |body| put(body, "/text", json!(" "))),
    ("text_length", |body| put(body, "/text", json!("x".repeat(40_001)))),
    ("too_many_attachments", |body| put(body, "/attachments", json!(vec![json!({"color": "good"}); 101]))),
    ("blocks_in_attachment", |body| put(body, "/attachments", json!([{"blocks": []}]))),
    ("too_many_blocks", |body| put(body, "/blocks", json!(vec![json!({"type": "divider"}); 51]))),
    ("block_type", |body| put(body, "/blocks/-", json!({"type": "input"}))),
    ("block_type", |body| put(body, "/blocks/1/text/type", json!("markdown"))),
    ("block_unknown_field", |body| put(body, "/blocks/1/colour", json!("red"))),
    ("block_unknown_field", |body| put(body, "/blocks/0/text/verbatim", json!(true))),
    ("block_missing_field", |body| remove(body, "/blocks/0/text")),
    ("block_missing_field", |body| remove(body, "/blocks/4/elements")),
    ("block_wrong_type", |body| put(body, "/blocks/0/text/emoji", json!("yes"))),
    ("block_wrong_type", |body| put(body, "/blocks/1/fields", json!({}))),
    ("header_not_plain", |body| put(body, "/blocks/0/text", json!({"type": "mrkdwn", "text": "a"}))),
    ("header_length", |body| put(body, "/blocks/0/text/text", json!("x".repeat(151)))),
    // Two units each.
    ("header_length", |body| put(body, "/blocks/0/text/text", json!("😀".repeat(76)))),
    ("section_text_length", |body| put(body, "/blocks/1/text/text", json!("x".repeat(3001)))),
    ("section_without_text", |body| {
        remove(body, "/blocks/1/text");
        remove(body, "/blocks/1/fields");
    }),
    ("section_fields_count", |body| put(body, "/blocks/1/fields", json!([]))),
    ("section_fields_count", |body| put(body, "/blocks/1/fields", texts(11))),
    ("section_field_length", |body| put(body, "/blocks/1/fields/0/text", json!("x".repeat(2001)))),
    ("context_count", |body| put(body, "/blocks/4/elements", json!([]))),
    ("context_count", |body| put(body, "/blocks/4/elements", texts(11))),
    ("context_text_length", |body| put(body, "/blocks/4/elements/0/text", json!("x".repeat(3001)))),
    ("actions_need_endpoint", |body| put(body, "/blocks/-", actions(1))),
    ("block_id_length", |body| put(body, "/blocks/1/block_id", json!("x".repeat(256)))),
    ("block_id_twice", |body| put(body, "/blocks/3/block_id", json!("one"))),
    ("empty_text", |body| put(body, "/blocks/1/fields/0/text", json!(""))),
    ("empty_text", |body| put(body, "/blocks/0/text/text", json!(""))),
    ("empty_text", |body| put(body, "/blocks/5/elements/0/elements/0/text", json!(""))),
    ("total_text", |body| {
        for _ in 0..4 {
            put(body, "/blocks/-", json!({"type": "section", "text": {"type": "mrkdwn", "text": "x".repeat(3000)}}));
        }
    }),
    ("live_control", |body| put(body, "/text", json!("<!channel> look"))),
    ("live_control", |body| mrkdwn(body, "<@U123>")),
    ("live_control", |body| mrkdwn(body, "a < b")),
    ("live_control", |body| mrkdwn(body, "<!date^soon^{date}|soon>")),
    ("live_control", |body| mrkdwn(body, "<ftp://example.test|a>")),
    ("link_separator", |body| mrkdwn(body, "<https://example.test|a|b>")),
    ("link_separator", |body| mrkdwn(body, "<https://example.test|a<b>")),
    ("link_separator", |body| mrkdwn(body, "<https://example.test|>")),
    ("link_separator", |body| mrkdwn(body, "<https://example.test/a b|c>")),
    ("raw_angle", |body| mrkdwn(body, "a -> b")),
    ("raw_angle", |body| put(body, "/text", json!("a > b"))),
    ("raw_ampersand", |body| mrkdwn(body, "a & b")),
    ("raw_ampersand", |body| mrkdwn(body, "&quot;a&quot;")),
    ("unbalanced_code_span", |body| mrkdwn(body, "`a``")),
    ("unbalanced_code_span", |body| mrkdwn(body, "`a\nb`")),
];

fn mrkdwn(body: &mut Value, text: &str) {
    put(body, &format!("{SECTION}/text/text"), json!(text));
}

fn texts(count: usize) -> Value {
    json!(vec![json!({"type": "mrkdwn", "text": "a"}); count])
}

fn actions(count: usize) -> Value {
    let button = json!({"type": "button", "text": {"type": "plain_text", "text": "a"}, "url": "https://a.test"});
    json!({"type": "actions", "elements": vec![button; count]})
}
