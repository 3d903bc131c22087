//! An entry of an annotation that names sources: a name, or a regular expression.
//!
//! Invariant: means what it means to the peer, which compiles `^` + entry + `$` with Go. So `.` is any character, and
//! `a|b` is "starts with a, or ends with b": the entry is not grouped.
//! Left out: splitting an annotation into entries (name_list.rs) and Go's grammar (go_regex.rs).

use regex::{Regex, RegexBuilder};

use super::go_regex::{SyntaxError, rewrite};

/// The memory that a compiled pattern is given, tried in this order. Measured: the first holds what people write, such
/// as `app-[a-z0-9]+-.*`; the second one with `{1,253}`; the third an alternation of 690 words, the most that fit.
const SIZES: [usize; 4] = [4 << 10, 32 << 10, 256 << 10, 1 << 20];
/// The longest pattern, in bytes: a name has 253.
const LONGEST: usize = 4096;

/// What the regular expressions of one list may cost together. Names written in full cost nothing of it.
#[derive(Debug)]
pub struct Budget {
    memory: usize,
    text: usize,
}

impl Budget {
    /// Enough for 2 000 patterns as people write them, or for 8 of the largest.
    #[must_use]
    pub const fn of_one_list() -> Self {
        Self { memory: 8 << 20, text: 64 << 10 }
    }

    /// Before anything is done for a pattern: once the budget is spent, the rest of a list costs nothing.
    fn take_text(&mut self, bytes: usize) -> Result<(), Problem> {
        self.text = self.text.checked_sub(bytes).filter(|_| self.memory >= SIZES[0]).ok_or(Problem::OverBudget)?;
        Ok(())
    }

    /// Compiles with the least memory that does. A pattern that is too large has cost the time all the same.
    fn compile(&mut self, rewritten: &str) -> Result<Regex, Problem> {
        for size in SIZES {
            let rest = self.memory.checked_sub(size).ok_or(Problem::OverBudget)?;
            match RegexBuilder::new(rewritten).size_limit(size).build() {
                Err(regex::Error::CompiledTooBig(_)) => {}
                compiled => {
                    self.memory = rest;
                    return compiled.map_err(|_| Problem::TooLarge); // nested too deep: the syntax is checked already
                }
            }
        }
        self.memory = self.memory.saturating_sub(SIZES[3]);
        Err(Problem::TooLarge)
    }
}

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
    #[error("the patterns before it leave no room for it")]
    OverBudget,
}

impl NamePattern {
    /// Reads an entry, without blanks around it, that stands alone: only a test has such.
    #[cfg(test)]
    fn parse(entry: &str) -> Result<Self, PatternError> {
        Self::parse_within(entry, &mut Budget::of_one_list())
    }

    /// Reads an entry of a list, at the cost of the list's budget.
    pub fn parse_within(entry: &str, budget: &mut Budget) -> Result<Self, PatternError> {
        let is_name = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'.');
        if !entry.is_empty() && entry.bytes().all(is_name) {
            return Ok(Self(Form::Literal(entry.to_owned())));
        }
        let error = |problem| PatternError { entry: entry.chars().take(80).collect(), problem };
        let regex = Self::regex(entry, budget).map_err(error)?;
        Ok(Self(Form::Regex(Box::new(regex))))
    }

    fn regex(entry: &str, budget: &mut Budget) -> Result<Regex, Problem> {
        if entry.len() > LONGEST {
            return Err(Problem::TooLarge);
        }
        budget.take_text(entry.len())?;
        budget.compile(&rewrite(&format!("^{entry}$"))?)
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
            // From here on: what random patterns brought up.
            ("(?i)K", "k", Matches),
            ("(?i)[^a]", "a", Differs),
            ("(?i)[^b-z]", "a", Matches),
            (r"(?i)\p{Lu}", "a", Matches),
            (r"(?i)\P{Lu}", "a", Differs),
            (r"[^\P{Lu}]", "a", Differs),
            (r"[\p{Greek}]", "a", Differs),
            (r"[\P{Greek}]", "a", Matches),
            ("(?:(?i:(?i:[^a]){100}){1,3}){1,3}", "a", Differs),
            ("a+(?i)?b", "b", Matches),
            ("{30}(?m)?", "a", Matches),
            (r"+(?i)??\PL", "-", Matches),
            ("[[:]1[:^alpha:]", "a", Refused),
            ("[[:]", ":", Matches),
            (r"\p{L-u}", "a", Differs),
            (r"\p{lowercase letter}", "a", Matches),
            (r"\p{Alphabetic}", "a", Refused),
            (r"\p{Latn}", "a", Refused),
            (r"\p{Old_Italic}", "a", Refused),
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

    /// How many of these entries one list's budget holds, and what is said of the first that it does not hold.
    fn held(entry: &str) -> (usize, Problem) {
        let mut budget = Budget::of_one_list();
        let mut refused = (0..).map(|held| (held, NamePattern::parse_within(entry, &mut budget)));
        refused.find_map(|(held, answer)| answer.err().map(|error| (held, error.problem))).unwrap()
    }

    #[test]
    fn a_list_holds_patterns_as_people_write_them_or_a_few_large_ones() {
        assert_eq!(held("app-.*"), (2048, Problem::OverBudget));
        assert_eq!(held("[a-z0-9-]{1,253}"), (256, Problem::OverBudget));
        assert_eq!(held(&format!("a?{}", " ".repeat(4000))), (16, Problem::OverBudget), "text counts too");
    }

    const HUGE: &str = "(.?.?.?.?.?.?.?.?.?.?){1000}[[:word:]]{1000}";

    #[test]
    fn what_cannot_be_read_costs_its_text_and_what_is_too_large_its_time() {
        let mut budget = Budget::of_one_list();
        let broken = format!("({}", "a".repeat(4095));
        for _ in 0..16 {
            let error = NamePattern::parse_within(&broken, &mut budget).unwrap_err();
            assert_eq!(error.problem, Problem::Syntax(SyntaxError::Unbalanced));
        }
        assert_eq!(NamePattern::parse_within("a+", &mut budget).unwrap_err().problem, Problem::OverBudget);
        let mut budget = Budget::of_one_list();
        for _ in 0..8 {
            let error = NamePattern::parse_within(HUGE, &mut budget);
            assert_eq!(error.map(|_| ()).map_err(|error| error.problem), Err(Problem::TooLarge));
        }
        assert_eq!(NamePattern::parse_within("a+", &mut budget).unwrap_err().problem, Problem::OverBudget);
        assert_eq!(
            NamePattern::parse_within("(", &mut budget).unwrap_err().problem,
            Problem::OverBudget,
            "not even read"
        );
        assert!(NamePattern::parse_within("app.x", &mut budget).is_ok(), "a name costs nothing");
    }

    #[test]
    fn a_pattern_that_would_take_all_memory_is_refused_with_a_sentence() {
        let error = NamePattern::parse("((((a{10}){10}){10}[[:word:]]{1000}){10}").unwrap_err();
        assert!(error.to_string().contains("((((a{10}"), "{error}");
        assert!(NamePattern::parse(HUGE).is_err());
        assert!(NamePattern::parse(&"[a]".repeat(1366)).is_err(), "longer than 4096");
        assert!(NamePattern::parse(&"[a]".repeat(1365)).is_ok());
        assert!(NamePattern::parse(&"(".repeat(100_000)).is_err());
        assert!(NamePattern::parse(&format!("{}a{}", "(".repeat(10_000), ")".repeat(10_000))).is_err());
    }
}
