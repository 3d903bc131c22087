//! An entry of an annotation that names sources: a name, or a regular expression.
//!
//! Invariant: means what it means to the peer, which compiles `^` + entry + `$` with Go. So `.` is any character, and
//! `a|b` is "starts with a, or ends with b": the entry is not grouped.
//! Left out: splitting an annotation into entries (opt_in.rs) and Go's grammar (go_regex.rs).

use regex::{Regex, RegexBuilder};

use super::go_regex::{SyntaxError, rewrite};

/// The most memory that one pattern may take when it is compiled, in bytes.
const SIZE_LIMIT: usize = 1 << 20;

/// A name, or a regular expression for names.
#[derive(Clone, Debug)]
pub struct NamePattern(Form);

#[derive(Clone, Debug)]
enum Form {
    /// Nothing but characters of names, of which `.` matches any: most entries, and cheap.
    Literal(String),
    Regex(Box<Regex>),
}

/// An entry that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{entry:?}: {problem}")]
pub struct PatternError {
    entry: String,
    problem: Problem,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
enum Problem {
    #[error("{0}")]
    Syntax(#[from] SyntaxError),
    #[error("it is too large")]
    TooLarge,
}

impl NamePattern {
    /// Reads an entry, without blanks around it.
    pub fn parse(entry: &str) -> Result<Self, PatternError> {
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
        if !entry.is_empty() && entry.bytes().all(is_name) {
            return Ok(Self(Form::Literal(entry.to_owned())));
        }
        let error = |problem| PatternError { entry: entry.chars().take(80).collect(), problem };
        let rewritten = rewrite(&format!("^{entry}$")).map_err(|syntax| error(syntax.into()))?;
        let compiled = RegexBuilder::new(&rewritten).size_limit(SIZE_LIMIT).build();
        Ok(Self(Form::Regex(Box::new(compiled.map_err(|_| error(Problem::TooLarge))?))))
    }

    /// The one name that this surely means, where it is written like a name.
    #[must_use]
    pub fn literal(&self) -> Option<&str> {
        match &self.0 {
            Form::Literal(name) => Some(name),
            Form::Regex(_) => None,
        }
    }

    /// Whether a source of this name is meant.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        match &self.0 {
            Form::Literal(literal) => {
                let is_same = |(one, other): (u8, u8)| one == b'.' || one == other;
                literal.len() == name.len() && literal.bytes().zip(name.bytes()).all(is_same)
            }
            Form::Regex(regex) => regex.is_match(name),
        }
    }
}
