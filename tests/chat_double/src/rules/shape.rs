//! Which fields there are, as data: a service's JSON described by tables, and one walk that compares. Invariant:
//! what a table does not name is a violation. Lengths, counts and texts are the rules' affair.

use serde_json::Value;

/// What may stand in a field.
pub(super) enum Kind {
    /// Anything, since another rule speaks about it or nobody cares.
    Any,
    Text,
    Flag,
    Number,
    Object(&'static Shape),
    List(&'static Kind),
    /// An object whose `type` names one of these shapes.
    Tagged(&'static [(&'static str, &'static Shape)]),
}

/// The fields of an object.
pub(super) struct Shape {
    pub(super) required: &'static [(&'static str, Kind)],
    pub(super) optional: &'static [(&'static str, Kind)],
    /// Fields of which exactly one must be there, as in a protobuf `oneof`; none when empty.
    pub(super) one_of: &'static [(&'static str, Kind)],
}

/// How a value differs from its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    UnknownField,
    MissingField,
    WrongType,
    UnknownType,
}

/// The places where the value differs from its shape in this way.
pub(super) fn problems(value: &Value, kind: &Kind, wanted: Problem) -> Vec<String> {
    let mut found = Vec::new();
    compare("", value, kind, &mut |problem, detail| {
        if problem == wanted {
            found.push(detail);
        }
    });
    found
}

fn compare(path: &str, value: &Value, kind: &Kind, report: &mut impl FnMut(Problem, String)) {
    let fits = match kind {
        Kind::Any => true,
        Kind::Text => value.is_string(),
        Kind::Flag => value.is_boolean(),
        Kind::Number => value.is_number(),
        Kind::Object(_) | Kind::Tagged(_) => value.is_object(),
        Kind::List(_) => value.is_array(),
    };
    if !fits {
        return report(Problem::WrongType, format!("at `{path}`"));
    }
    match kind {
        Kind::Object(shape) => compare_object(path, value, shape, &[], report),
        Kind::List(item) => {
            let items = value.as_array().into_iter().flatten().enumerate();
            items.for_each(|(i, inner)| compare(&format!("{path}/{i}"), inner, item, report));
        }
        Kind::Tagged(shapes) => {
            let tag = super::json::word(value, "type").unwrap_or_default();
            match shapes.iter().find(|(name, _)| *name == tag) {
                Some((_, shape)) => compare_object(path, value, shape, &["type"], report),
                None => report(Problem::UnknownType, format!("`{tag}` at `{path}`")),
            }
        }
        Kind::Any | Kind::Text | Kind::Flag | Kind::Number => {}
    }
}

fn compare_object(
    path: &str,
    value: &Value,
    shape: &Shape,
    also_known: &[&str],
    report: &mut impl FnMut(Problem, String),
) {
    for (name, inner) in value.as_object().into_iter().flatten() {
        let mut fields = shape.required.iter().chain(shape.optional).chain(shape.one_of);
        match fields.find(|(known, _)| known == name) {
            Some((_, kind)) => compare(&format!("{path}/{name}"), inner, kind, report),
            None if also_known.contains(&name.as_str()) => {}
            None => report(Problem::UnknownField, format!("`{name}` at `{path}`")),
        }
    }
    for (name, _) in shape.required {
        if value.get(name).is_none() {
            report(Problem::MissingField, format!("`{name}` at `{path}`"));
        }
    }
    let chosen = shape.one_of.iter().filter(|(name, _)| value.get(name).is_some()).count();
    if !shape.one_of.is_empty() && chosen != 1 {
        report(Problem::MissingField, format!("{chosen} of the fields that exclude each other at `{path}`"));
    }
}
