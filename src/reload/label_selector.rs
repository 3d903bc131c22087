//! Which labels a setting asks for, in Kubernetes' own words: `app in (shop, bank), tier != test, !legacy`.
//!
//! Invariants: every text that Kubernetes reads is read here and means the same (apimachinery's `labels.Parse`,
//! checked against it); beside them the peer's older forms `key:value` and `key:*`, and nothing else.
//! Left out: whose labels they are (scope.rs).

use std::collections::{BTreeMap, BTreeSet};

use super::qualified_name::{is_label_key, is_label_value};

/// Labels by key.
pub type Labels = BTreeMap<String, String>;

/// A list of requirements, all of which must hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    test: Test,
}

/// What is asked of the value of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(BTreeSet<String>),
    /// Holds where there is no such key, too.
    NotIn(BTreeSet<String>),
    Exists,
    Absent,
    Above(i64),
    Below(i64),
}

/// Why a text is no selector. It is not quoted, as it may be anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem} (requirement {number} of the list)")]
pub struct SelectorError {
    problem: Problem,
    /// Counted from 1.
    number: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error("a requirement does not begin with a label's key, such as team or app.kubernetes.io/name, or '!' and one")]
    Key,
    #[error("after a key comes =, ==, !=, in, notin, a comma or the end")]
    Operator,
    #[error("a value is none that a label can have: letters, digits, '-', '_' and '.', at most 63")]
    Value,
    #[error("the values of in and notin are written as (one, two)")]
    Values,
    #[error("only a whole number can stand after < and >")]
    Number,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    /// A key, a value, `in` or `notin`.
    Word(&'a str),
    Open,
    Close,
    Comma,
    Not,
    /// `=`, `==`, and the peer's `:`.
    Equals,
    NotEquals,
    Above,
    Below,
}

const SYMBOLS: &str = "=!(),><:";

impl LabelSelector {
    /// Reads a selector. One without requirements asks for nothing, so any labels will do.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let tokens = tokens(text);
        let mut tokens = tokens.as_slice();
        let mut requirements = Vec::new();
        if tokens.is_empty() {
            return Ok(Self(requirements));
        }
        loop {
            let number = requirements.len() + 1;
            let at = |problem| SelectorError { problem, number };
            let (requirement, rest) = requirement(tokens).map_err(at)?;
            requirements.push(requirement);
            match rest {
                [] => return Ok(Self(requirements)),
                [Token::Comma, rest @ ..] => tokens = rest,
                _ => return Err(at(Problem::Operator)),
            }
        }
    }

    /// Whether labels are as it asks.
    #[must_use]
    pub fn matches(&self, labels: &Labels) -> bool {
        self.0.iter().all(|requirement| requirement.test.holds(labels.get(&requirement.key).map(String::as_str)))
    }
}

impl Test {
    fn holds(&self, value: Option<&str>) -> bool {
        let number = || value.and_then(|value| value.parse::<i64>().ok());
        match self {
            Self::In(values) => value.is_some_and(|value| values.contains(value)),
            Self::NotIn(values) => !value.is_some_and(|value| values.contains(value)),
            Self::Exists => value.is_some(),
            Self::Absent => value.is_none(),
            Self::Above(bound) => number().is_some_and(|number| number > *bound),
            Self::Below(bound) => number().is_some_and(|number| number < *bound),
        }
    }
}

/// Reads one requirement, and gives back what comes after it.
fn requirement<'a, 'b>(tokens: &'b [Token<'a>]) -> Result<(Requirement, &'b [Token<'a>]), Problem> {
    let (key, test, rest) = match tokens {
        [Token::Not, Token::Word(key), rest @ ..] => (key, Test::Absent, rest),
        [Token::Word(key), rest @ ..] => {
            // A wrong key is told before what follows it.
            if !is_label_key(key) {
                return Err(Problem::Key);
            }
            let (test, rest) = test(rest)?;
            (key, test, rest)
        }
        _ => return Err(Problem::Key),
    };
    if is_label_key(key) { Ok((Requirement { key: (*key).to_owned(), test }, rest)) } else { Err(Problem::Key) }
}

fn test<'a, 'b>(tokens: &'b [Token<'a>]) -> Result<(Test, &'b [Token<'a>]), Problem> {
    let set = |rest| values(rest);
    let exact = |rest| value(rest).map(|(value, rest)| ([value.to_owned()].into(), rest));
    match tokens {
        [] | [Token::Comma, ..] => Ok((Test::Exists, tokens)),
        // The peer's: any value will do.
        [Token::Equals, Token::Word("*"), rest @ ..] => Ok((Test::Exists, rest)),
        [Token::Equals, rest @ ..] => exact(rest).map(|(values, rest)| (Test::In(values), rest)),
        [Token::NotEquals, rest @ ..] => exact(rest).map(|(values, rest)| (Test::NotIn(values), rest)),
        [Token::Word("in"), rest @ ..] => set(rest).map(|(values, rest)| (Test::In(values), rest)),
        [Token::Word("notin"), rest @ ..] => set(rest).map(|(values, rest)| (Test::NotIn(values), rest)),
        [Token::Above, rest @ ..] => number(rest).map(|(bound, rest)| (Test::Above(bound), rest)),
        [Token::Below, rest @ ..] => number(rest).map(|(bound, rest)| (Test::Below(bound), rest)),
        _ => Err(Problem::Operator),
    }
}

/// One value; where none stands, the empty one.
fn value<'a, 'b>(tokens: &'b [Token<'a>]) -> Result<(&'a str, &'b [Token<'a>]), Problem> {
    match tokens {
        [] | [Token::Comma, ..] => Ok(("", tokens)),
        [Token::Word(value), rest @ ..] if is_label_value(value) => Ok((value, rest)),
        _ => Err(Problem::Value),
    }
}

fn number<'a, 'b>(tokens: &'b [Token<'a>]) -> Result<(i64, &'b [Token<'a>]), Problem> {
    let (value, rest) = value(tokens)?;
    Ok((value.parse().map_err(|_| Problem::Number)?, rest))
}

/// Values in brackets; between two commas, the empty one.
fn values<'a, 'b>(tokens: &'b [Token<'a>]) -> Result<(BTreeSet<String>, &'b [Token<'a>]), Problem> {
    let [Token::Open, rest @ ..] = tokens else { return Err(Problem::Values) };
    let end = rest.iter().position(|token| *token == Token::Close).ok_or(Problem::Values)?;
    let (within, after) = rest.split_at(end);
    let values = within.split(|token| *token == Token::Comma).map(|value| match value {
        [] => Ok(String::new()),
        [Token::Word(value)] if is_label_value(value) => Ok((*value).to_owned()),
        [Token::Word(_)] => Err(Problem::Value),
        _ => Err(Problem::Values),
    });
    Ok((values.collect::<Result<_, _>>()?, &after[1..]))
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let is_blank = |c: char| " \t\r\n".contains(c);
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    while let Some(first) = rest.chars().next() {
        let (token, length) = match first {
            '=' if rest.starts_with("==") => (Token::Equals, 2),
            '=' | ':' => (Token::Equals, 1),
            '!' if rest.starts_with("!=") => (Token::NotEquals, 2),
            '!' => (Token::Not, 1),
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            ',' => (Token::Comma, 1),
            '>' => (Token::Above, 1),
            '<' => (Token::Below, 1),
            _ => {
                let end = rest.find(|c| is_blank(c) || SYMBOLS.contains(c)).unwrap_or(rest.len());
                (Token::Word(&rest[..end]), end)
            }
        };
        tokens.push(token);
        rest = rest[length..].trim_start_matches(is_blank);
    }
    tokens
}
