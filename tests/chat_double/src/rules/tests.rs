//! Every rule, broken alone. A case is a good payload with one place changed.

mod good;
mod google_chat;
mod slack;
mod teams;
mod webhook;

use serde_json::{Value, json};

use super::*;
use good::good;

/// A rule, and the change of a good payload that breaks it and no other.
type Case = (&'static str, fn(&mut Value));

fn rules_broken_by(service: Service, body: &Value) -> Vec<&'static str> {
    let mut rules: Vec<_> = check(service, body).into_iter().map(|violation| violation.rule).collect();
    rules.dedup();
    rules
}

fn each_case_breaks_its_rule_alone(service: Service, cases: &[Case]) {
    for (rule, change) in cases {
        let mut body = good(service);
        change(&mut body);
        assert_eq!(rules_broken_by(service, &body), [*rule], "{service}: {:?}", check(service, &body));
    }
    // `actions_count` cannot be broken alone, and has a test of its own.
    for rule in rules_of(service).filter(|rule| rule.name != "actions_count") {
        assert!(cases.iter().any(|(name, _)| *name == rule.name), "{service}: no case breaks {}", rule.name);
    }
}

/// Puts a value at a JSON pointer, into an object or at the end of a list.
fn put(body: &mut Value, pointer: &str, value: Value) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match body.pointer_mut(parent).unwrap() {
        Value::Array(items) if name == "-" => items.push(value),
        place => place[name] = value,
    }
}

fn remove(body: &mut Value, pointer: &str) {
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    body.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(name).unwrap();
}

#[test]
fn good_payloads_break_nothing() {
    for service in Service::ALL {
        assert_eq!(check(service, &good(service)), [], "{service}");
    }
}

#[test]
fn a_body_that_is_no_object_breaks_a_rule_of_every_service() {
    for service in Service::ALL {
        for body in [json!([]), json!("text"), json!(null), json!(7)] {
            assert_ne!(check(service, &body), [], "{service}: {body}");
        }
    }
}

#[test]
fn a_mention_is_live_unless_it_is_allowed() {
    for (service, mention) in [(Service::Slack, "<!subteam^S1>"), (Service::GoogleChat, "<users/1>")] {
        let mut body = good(service);
        put(&mut body, "/text", json!(format!("{mention} Reload failed")));
        assert_eq!(check(service, &body).len(), 1, "{service}");
        let allowed = findings(service, &body, 0, &[mention.to_owned()]);
        assert!(allowed.is_empty(), "{service}: {allowed:?}");
        let other = findings(service, &body, 0, &["<!subteam^S2>".to_owned()]);
        assert_eq!(other.len(), 1, "{service}: {other:?}");
    }
}
