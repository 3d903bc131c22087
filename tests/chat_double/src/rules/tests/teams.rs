//! The rules of Teams, each broken by one change.

use super::*;

const ATTACHMENT: &str = "/attachments/0";

#[test]
fn each_rule_of_teams_is_broken_alone() {
    each_case_breaks_its_rule_alone(Service::Teams, CASES);
}

const CASES: &[Case] = &[
    ("too_large", |body| put(body, &card("body/0/text"), json!("x".repeat(28_000)))),
    ("message_type", |body| remove(body, "/type")),
    ("no_attachments", |body| remove(body, "/attachments")),
    ("no_attachments", |body| put(body, "/attachments", json!([]))),
    ("content_type", |body| put(body, &format!("{ATTACHMENT}/contentType"), json!("application/json"))),
    ("card_version", |body| put(body, &card("version"), json!("1.5"))),
    ("card_version", |body| remove(body, &card("version"))),
    ("empty_card", |body| put(body, &card("body"), json!([]))),
    ("null_value", |body| put(body, &card("body/0/wrap"), json!(null))),
    ("null_value", |body| put(body, "/summary", json!(null))),
    ("unknown_element", |body| put(body, &card("body/-"), json!({"type": "Input.Text"}))),
    ("unknown_element", |body| put(body, &card("actions/0/type"), json!("Action.Submit"))),
    ("unknown_field", |body| put(body, &card("body/0/colour"), json!("red"))),
    ("missing_field", |body| remove(body, &card("body/0/text"))),
    ("missing_field", |body| remove(body, &card("body/1/facts/0/value"))),
    ("wrong_type", |body| put(body, &card("body/0/wrap"), json!("yes"))),
    ("unknown_colour", |body| put(body, &card("body/0/color"), json!("#ff0000"))),
    ("empty_text", |body| put(body, &card("body/0/text"), json!(""))),
    ("empty_text", |body| put(body, &card("body/1/facts/0/title"), json!(" "))),
    ("open_url", |body| put(body, &card("actions/0/url"), json!("/details"))),
    ("open_url", |body| put(body, &card("actions/0/url"), json!("http://example.test"))),
    ("live_markdown", |body| put(body, &card("body/0/text"), json!("see [a](https://example.test)"))),
    ("live_markdown", |body| put(body, &card("body/1/facts/0/value"), json!("[a](b)"))),
];

fn card(field: &str) -> String {
    format!("{ATTACHMENT}/content/{field}")
}
