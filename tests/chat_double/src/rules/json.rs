//! Walks over JSON values. Invariant: a walk never objects; a value of the wrong kind is passed over, since the
//! shape rules report it once.

use serde_json::Value;

/// Calls `visit` for the value and everything in it, with its JSON pointer.
pub(super) fn walk<'a>(value: &'a Value, visit: &mut impl FnMut(&str, &'a Value)) {
    walk_from("", value, visit);
}

fn walk_from<'a>(path: &str, value: &'a Value, visit: &mut impl FnMut(&str, &'a Value)) {
    visit(path, value);
    match value {
        Value::Object(fields) => {
            fields.iter().for_each(|(name, field)| walk_from(&format!("{path}/{name}"), field, visit));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(i, item)| walk_from(&format!("{path}/{i}"), item, visit));
        }
        _ => {}
    }
}

/// Every value of an object field with this name, wherever it is, with its JSON pointer.
pub(super) fn named<'a>(value: &'a Value, name: &str) -> Vec<(String, &'a Value)> {
    let mut found = Vec::new();
    walk(value, &mut |path, inner| {
        if let Some(field) = inner.get(name) {
            found.push((format!("{path}/{name}"), field));
        }
    });
    found
}

/// Every object whose `type` is this word, with its JSON pointer.
pub(super) fn typed<'a>(value: &'a Value, kind: &str) -> Vec<(String, &'a Value)> {
    let mut found = Vec::new();
    walk(value, &mut |path, inner| {
        if word(inner, "type") == Some(kind) {
            found.push((path.to_owned(), inner));
        }
    });
    found
}

/// The items of the list at this field; none when there is no list.
pub(super) fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The string at this field.
pub(super) fn word<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// The length that services count: UTF-16 units. What Slack calls a character is not documented; no other
/// reading gives a larger number.
pub(super) fn units(text: &str) -> usize {
    text.encode_utf16().count()
}
