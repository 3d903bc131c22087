//! An entry of an annotation that names sources: a name, or a regular expression.
//!
//! Invariant: means what it means to the peer, which compiles `^` + entry + `$` with Go. So `.` is any character, and
//! `a|b` is "starts with a, or ends with b": the entry is not grouped.
//! Left out: splitting an annotation into entries (opt_in.rs) and Go's grammar (go_regex.rs).

use regex::{Regex, RegexBuilder};

use super::go_regex::{SyntaxError, rewrite};

/// The most memory that one pattern may take when it is compiled, in bytes.
const SIZE_LIMIT: usize = 1 << 20;
/// The longest pattern, in bytes: a name has 253.
const LONGEST: usize = 4096;

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
        if entry.len() > LONGEST {
            return Err(error(Problem::TooLarge));
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use Answer::{Differs, Matches, Refused};

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Answer {
        Matches,
        Differs,
        Refused,
    }

    /// What Go 1.26 answers to `regexp.Compile("^" + entry + "$")` and its `MatchString`, printed by a Go program.
    #[test]
    #[expect(clippy::too_many_lines, reason = "a table")]
    fn odd_patterns_are_read_as_go_reads_them() {
        let rows = [
            ("app", "app", Matches),
            ("app", "app-1", Differs),
            ("app.", "app1", Matches),
            ("app.x", "app-x", Matches),
            ("app-.*", "app-1", Matches),
            ("app-.*", "my-app-1", Differs),
            (".*", "anything", Matches),
            ("a|b", "apple", Matches),
            ("a|b", "web", Matches),
            ("a|b", "xay", Differs),
            ("(a|b)", "apple", Differs),
            ("(?:a|b)", "b", Matches),
            ("x{2}", "xx", Matches),
            ("x{2}", "x", Differs),
            ("x{1", "x{1", Matches),
            ("a{", "a", Differs),
            ("{", "a", Differs),
            ("a{,2}", "aa", Differs),
            ("a{01}", "a", Differs),
            ("a{0}", "a", Differs),
            ("a{2,}", "aaa", Matches),
            ("a{2,1}", "aa", Refused),
            ("a{1000}", "a", Differs),
            ("a{1001}", "a", Refused),
            ("(a{100}){100}", "a", Refused),
            ("(a{30}){30}", "a", Differs),
            ("x**", "x", Refused),
            ("x*+", "x", Refused),
            ("x+?", "xx", Matches),
            ("x??", "x", Matches),
            ("x???", "x", Refused),
            ("a{2}{3}", "aaaaaa", Refused),
            ("(a*)*", "aaa", Matches),
            ("*a", "a", Matches),
            ("+", "a", Differs),
            ("a|*", "a", Refused),
            ("(*a)", "a", Refused),
            ("^*a", "a", Matches),
            ("a(?i)*", "aaa", Matches),
            ("a*(?i)*", "aaa", Matches),
            ("[a]", "a", Matches),
            ("[[a]", "a", Matches),
            ("[a[b]", "b", Matches),
            ("[]a]", "a", Matches),
            ("[]", "a", Refused),
            ("[^]a]", "b", Matches),
            ("[^a-c]", "d", Matches),
            ("[a-]", "-", Matches),
            ("[-a]", "-", Matches),
            ("[a-c-e]", "-", Matches),
            ("[z-a]", "z", Refused),
            ("[a&&b]", "a", Matches),
            ("[a--b]", "a", Refused),
            ("[a~~b]", "b", Matches),
            ("[a&&&b]", "b", Matches),
            (r"[\d-]", "-", Matches),
            (r"[a-\d]", "a", Refused),
            (r"[\b]", "b", Refused),
            (r"[\Qa]", "a", Refused),
            (r"[\]]", "a", Differs),
            (r"[\-a]", "-", Matches),
            ("[[:alpha:]]", "a", Matches),
            ("[[:^alpha:]]", "1", Matches),
            ("[[:word:]-]+", "a-b", Matches),
            ("[[:foo:]]", "f", Refused),
            ("[:alpha:]", "p", Matches),
            ("[[:alpha:", "a", Refused),
            (r"\d+", "12", Matches),
            (r"\D", "a", Matches),
            (r"\w+", "app", Matches),
            (r"\W", "-", Matches),
            (r"\s", "a", Differs),
            (r"\S+", "a-b", Matches),
            (r"\bapp\b.*", "app-1", Matches),
            (r"\b{start}", "a", Differs),
            (r"\Bpp", "pp", Differs),
            (r"\Aapp\z", "app", Matches),
            (r"app\Z", "app", Refused),
            (r"\<app\>", "app", Differs),
            (r"\Qa.b\E", "a.b", Matches),
            (r"\Qa.b\E", "axb", Differs),
            (r"\Qa.b", "a.b", Differs),
            (r"\Qa\E+", "aaa", Matches),
            (r"\E", "a", Refused),
            (r"\C", "a", Refused),
            (r"\07", "a", Differs),
            (r"\141", "a", Matches),
            (r"\0141", "a", Differs),
            (r"\1", "a", Refused),
            (r"\12", "a", Differs),
            (r"\8", "8", Refused),
            (r"\x61", "a", Matches),
            (r"\x{61}", "a", Matches),
            (r"\x{}", "a", Refused),
            (r"\x{110000}", "a", Refused),
            (r"\x6", "a", Refused),
            (r"\u0061", "a", Refused),
            (r"\a", "a", Differs),
            (r"\.", ".", Matches),
            (r"\-", "-", Matches),
            (r"\_", "a", Differs),
            (r"\ ", "a", Differs),
            (r"\é", "a", Refused),
            (r"\y", "y", Refused),
            (r"\", "a", Differs),
            (r"\pL", "a", Matches),
            (r"\pN", "1", Matches),
            (r"\PL", "1", Matches),
            (r"\p{Greek}", "a", Differs),
            (r"\p{^Greek}", "a", Matches),
            (r"\P{^L}", "a", Matches),
            (r"\p{foo}", "a", Refused),
            (r"\pé", "a", Refused),
            (r"\p", "a", Refused),
            ("(?i)APP", "app", Matches),
            ("(?i:A)b", "ab", Matches),
            ("(?i:A)B", "ab", Differs),
            ("A(?i)", "a", Differs),
            ("(?i)A(?-i)b", "ab", Matches),
            ("(?s).", "a", Matches),
            ("(?U)a+", "aa", Matches),
            ("(?m)a", "a", Matches),
            ("(?x)a b", "ab", Refused),
            ("(?R)a", "a", Refused),
            ("(?)a", "a", Matches),
            ("(?-)a", "a", Refused),
            ("(?i-)a", "a", Refused),
            ("(?i-i)A", "a", Differs),
            ("(?ii)A", "a", Matches),
            ("(?--i)a", "a", Refused),
            ("(?P<n>a)", "a", Matches),
            ("(?<n>a)", "a", Matches),
            ("(?P<n>a)(?P<n>b)", "ab", Matches),
            ("(?P<1>a)", "a", Matches),
            ("(?P<a-b>a)", "a", Refused),
            ("(?P<>a)", "a", Refused),
            ("(?P=n)", "a", Refused),
            ("(?=a)a", "a", Refused),
            ("(?!b)a", "a", Refused),
            ("(?<=a)b", "b", Refused),
            ("(?>a)", "a", Refused),
            ("(?#note)a", "a", Refused),
            ("(", "a", Refused),
            (")", "a", Refused),
            ("(a", "a", Refused),
            ("a)", "a", Refused),
            ("()", "a", Differs),
            ("a||b", "b", Matches),
            ("|", "a", Matches),
            ("a b", "ab", Differs),
            ("a#b", "a", Differs),
            ("é", "a", Differs),
            ("a$", "a", Matches),
            ("a$b", "ab", Differs),
            ("$", "a", Differs),
            ("^a", "a", Matches),
            ("a^b", "ab", Differs),
        ];
        for (entry, name, expected) in rows {
            let answer = match NamePattern::parse(entry) {
                Err(_) => Refused,
                Ok(pattern) if pattern.matches(name) => Matches,
                Ok(_) => Differs,
            };
            assert_eq!(answer, expected, "{entry:?} against {name:?}");
        }
    }

    #[test]
    fn what_is_written_like_a_name_is_a_literal() {
        assert_eq!(NamePattern::parse("kube-root-ca.crt").unwrap().literal(), Some("kube-root-ca.crt"));
        for pattern in ["app.*", "", "App", "a|b", "[a]"] {
            assert_eq!(NamePattern::parse(pattern).unwrap().literal(), None, "{pattern}");
        }
    }

    #[test]
    fn a_pattern_that_would_take_all_memory_is_refused_with_a_sentence() {
        let error = NamePattern::parse("((((a{10}){10}){10}[[:word:]]{1000}){10}").unwrap_err();
        assert!(error.to_string().contains("((((a{10}"), "{error}");
        assert!(NamePattern::parse(&"(".repeat(100_000)).is_err());
        assert!(NamePattern::parse(&format!("{}a{}", "(".repeat(10_000), ")".repeat(10_000))).is_err());
    }
}
