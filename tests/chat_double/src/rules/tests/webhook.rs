//! The rules of a plain webhook, each broken by one change.

use super::*;

#[test]
fn each_rule_of_a_webhook_is_broken_alone() {
    each_case_breaks_its_rule_alone(Service::Webhook, CASES);
}

const CASES: &[Case] = &[
    ("specversion", |body| put(body, "/specversion", json!("0.3"))),
    ("required_attribute", |body| remove(body, "/id")),
    ("required_attribute", |body| put(body, "/source", json!(""))),
    ("attribute_name", |body| put(body, "/dataSchema", json!("a"))),
    ("attribute_value", |body| put(body, "/severity", json!(["info"]))),
    ("attribute_value", |body| put(body, "/count", json!(3_000_000_000_u64))),
    ("event_time", |body| put(body, "/time", json!("yesterday"))),
    ("event_data", |body| put(body, "/data_base64", json!("YQ=="))),
];
