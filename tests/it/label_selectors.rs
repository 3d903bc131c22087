//! Label selectors mean what they mean to Kubernetes.
//!
//! label_selectors.json was written by apimachinery's own `labels.Parse` (v0.36.3), behind what the peer makes of its
//! older forms: selectors written by hand, by chance, and by chance with one slip; for each, which of [`labels`] it
//! matches, or null where it is refused.

use confroll::reload::label_selector::{LabelSelector, Labels};
use proptest::prelude::*;

fn labels() -> [Labels; 8] {
    let of = |labels: &[(&str, &str)]| labels.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    [
        of(&[]),
        of(&[("a", "1")]),
        of(&[("a", "2"), ("b", "1")]),
        of(&[("a", ""), ("b", "2")]),
        of(&[("b", "3")]),
        of(&[("in", "in"), ("notin", "1"), ("1", "2")]),
        of(&[("x.io/n", "1"), ("a", "in")]),
        of(&[("a", "7"), ("b", "in"), ("x", "foo"), ("y", "")]),
    ]
}

fn answer(text: &str) -> Option<String> {
    let selector = LabelSelector::parse(text).ok()?;
    Some(labels().iter().map(|labels| if selector.matches(labels) { '1' } else { '0' }).collect())
}

#[test]
fn what_kubernetes_reads_means_the_same_and_what_it_refuses_is_refused() {
    let table: Vec<(String, Option<String>)> = serde_json::from_str(include_str!("label_selectors.json")).unwrap();
    let (mut taken, mut refused) = (0, 0);
    for (text, theirs) in table {
        match (&theirs, answer(&text)) {
            // A star for any value is taken with any blanks, and behind == too.
            (None, Some(_)) if text.contains('*') => {}
            // The peer lets the rest fall.
            (Some(_), None) if text == "a:1:2" => {}
            (_, ours) => assert_eq!(ours, theirs, "{text:?}"),
        }
        *if theirs.is_some() { &mut taken } else { &mut refused } += 1;
    }
    assert!(taken > 100 && refused > 100, "{taken} taken, {refused} refused");
}

#[test]
fn the_peers_older_forms_are_those_of_kubernetes() {
    for (older, newer) in [
        ("a:1", "a=1"),
        ("a:*", "a"),
        ("a=*", "a"),
        ("a == *", "a"),
        ("a : 1", "a=1"),
        ("a:1,b:*,!in", "a=1,b,!in"),
        ("x.io/n:1", "x.io/n=1"),
    ] {
        assert_eq!(LabelSelector::parse(older), LabelSelector::parse(newer), "{older}");
    }
    for not_theirs in ["*", "!*", "a!=*", "a in (*)", "a=1*", "a:1:2"] {
        assert_eq!(answer(not_theirs), None, "{not_theirs}");
    }
}

/// A requirement with blanks anywhere, and whether a value (or none) fulfils it.
fn requirement() -> impl Strategy<Value = (String, Vec<Option<&'static str>>)> {
    let values = prop::sample::subsequence(vec!["", "1", "2", "in", "v"], 1..4);
    let all = [None, Some(""), Some("1"), Some("2"), Some("in"), Some("v")];
    (values, 0..6_usize, " {0,2}").prop_map(move |(values, test, blank)| {
        let first = values[0];
        let among = |value: Option<&str>| value.is_some_and(|value| values.contains(&value));
        let is_first = |value: Option<&str>| value == Some(first);
        let such = |holds: &dyn Fn(Option<&str>) -> bool| all.into_iter().filter(|value| holds(*value)).collect();
        let list = values.join(&format!("{blank},{blank}"));
        match test {
            0 => (format!("{blank}key{blank}={blank}{first}"), such(&is_first)),
            1 => (format!("key{blank}!={first}{blank}"), such(&|value| !is_first(value))),
            2 => (format!("key in{blank}({list})"), such(&among)),
            3 => (format!("key  notin ({blank}{list}{blank})"), such(&|value| !among(value))),
            4 => (format!("{blank}key{blank}"), such(&|value| value.is_some())),
            _ => (format!("!{blank}key"), such(&|value| value.is_none())),
        }
    })
}

proptest! {
    #[test]
    fn all_requirements_of_a_selector_must_hold(requirements in prop::collection::vec(requirement(), 1..4)) {
        let text = requirements.iter().map(|(text, _)| text.as_str()).collect::<Vec<_>>().join(",");
        let selector = LabelSelector::parse(&text).unwrap();
        for value in [None, Some(""), Some("1"), Some("2"), Some("in"), Some("v")] {
            let labels: Labels = value.iter().map(|value| ("key".to_owned(), (*value).to_owned())).collect();
            let holds = requirements.iter().all(|(_, values)| values.contains(&value));
            prop_assert_eq!(selector.matches(&labels), holds, "{} of {:?}", text, value);
        }
    }

    #[test]
    fn any_text_is_read_or_refused_with_a_sentence_that_does_not_quote_it(text in "[a-c1=!(),<>:* \u{e4}\n]{0,24}|\\PC{0,12}") {
        match LabelSelector::parse(&text) {
            Ok(selector) => prop_assert_eq!(Ok(selector), LabelSelector::parse(&[" ", &text, "\t"].concat())),
            Err(error) => prop_assert!(!error.to_string().contains('\n')),
        }
    }
}
