//! Regular expressions in Go's syntax (RE2), as the peer reads them, rewritten for the `regex` crate.
//!
//! Both are of one family, but not of one grammar: what one takes for an operator the other takes for a character
//! (`[[a]`, `a{,2}`, `[a&&b]`, `\<`) or refuses (`\Q`, `x**`). So a pattern is read here by Go's grammar and written
//! anew, with every character that stands for itself escaped. Source: the rules of Go's `regexp/syntax` parser.
//!
//! Invariant: matches what Go matches on names of Kubernetes objects (lower-case ASCII letters, digits, `-`, `.`). What
//! only other texts could tell apart is dropped: greediness, captures, lines.
//! Left out: matching (name_pattern.rs).

use std::iter::Peekable;
use std::str::Chars;

use super::go_class;

/// What is left of a pattern.
pub(super) type Input<'a> = Peekable<Chars<'a>>;

/// The largest number of repetitions, nested ones multiplied.
const MOST_REPEATS: u32 = 1000;

/// Why a pattern is none in Go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SyntaxError {
    /// A bracket or parenthesis is not closed, or closes nothing.
    #[error("a bracket or parenthesis stands alone")]
    Unbalanced,
    /// A repetition repeats nothing, or another repetition.
    #[error("*, +, ? or {{n}} has nothing to repeat")]
    NothingToRepeat,
    /// Too many repetitions, or a range of them that is upside down.
    #[error("a repetition is larger than 1000 or upside down")]
    RepeatSize,
    /// A backslash before a character that it gives no meaning.
    #[error("a backslash stands before a character that it gives no meaning")]
    Escape,
    /// A character class that is none.
    #[error("a character class in [ ] cannot be read")]
    Class,
    /// A group that Go does not know, such as a lookahead.
    #[error("a group in (? ) is of a kind that does not exist here")]
    Group,
}

/// Rewrites a pattern of Go's for the `regex` crate.
pub fn rewrite(pattern: &str) -> Result<String, SyntaxError> {
    let mut writer = Writer { input: pattern.chars().peekable(), ..Writer::default() };
    writer.scopes.push(Scope::default());
    writer.pattern()?;
    Ok(writer.output)
}

struct Writer<'a> {
    input: Input<'a>,
    output: String,
    /// The groups that are open, the whole pattern first.
    scopes: Vec<Scope>,
    last: Last,
}

impl Default for Writer<'_> {
    fn default() -> Self {
        Self { input: "".chars().peekable(), output: String::new(), scopes: Vec::new(), last: Last::Nothing }
    }
}

/// What a repetition would repeat.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    /// Something that holds so many repetitions already.
    Atom(u32),
    Repeated(u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Case {
    #[default]
    Counts,
    Ignored,
}

#[derive(Clone, Copy, Default)]
struct Scope {
    case: Case,
    /// What has been written into the output: flags are written only where something follows.
    written: Case,
    /// The most repetitions of anything in it.
    repeats: u32,
}

impl Writer<'_> {
    fn pattern(&mut self) -> Result<(), SyntaxError> {
        while let Some(c) = self.input.next() {
            match c {
                '|' => {
                    self.output.push('|');
                    self.last = Last::Nothing;
                }
                '(' => self.open()?,
                ')' => self.close()?,
                '*' | '+' => self.repeat(c.encode_utf8(&mut [0; 4]), 1)?,
                // Not as `?`: behind another repetition (`a+(?i)?`) that would only make it lazy.
                '?' => self.repeat("{0,1}", 1)?,
                '{' => self.brace()?,
                '[' => {
                    let class = go_class::bracketed(&mut self.input)?;
                    self.atom(&class);
                }
                '\\' => self.escape()?,
                '.' => self.atom("[[:ascii:]]"),
                '^' | '$' => self.atom(c.encode_utf8(&mut [0; 4])),
                _ => self.literal(c),
            }
        }
        if self.scopes.len() == 1 { Ok(()) } else { Err(SyntaxError::Unbalanced) }
    }

    fn scope(&mut self) -> &mut Scope {
        let last = self.scopes.len() - 1; // the whole pattern is never closed
        &mut self.scopes[last]
    }

    fn atom(&mut self, text: &str) {
        let scope = self.scope();
        let flag = match (scope.written, scope.case) {
            (Case::Counts, Case::Ignored) => "(?i)",
            (Case::Ignored, Case::Counts) => "(?-i)",
            _ => "",
        };
        scope.written = scope.case;
        self.output.push_str(flag);
        self.output.push_str(text);
        self.last = Last::Atom(1);
    }

    fn literal(&mut self, c: char) {
        self.atom(&regex::escape(c.encode_utf8(&mut [0; 4])));
    }

    fn repeat(&mut self, operator: &str, times: u32) -> Result<(), SyntaxError> {
        let Last::Atom(inner) = self.last else { return Err(SyntaxError::NothingToRepeat) };
        let total = inner.saturating_mul(times.max(1));
        if total > MOST_REPEATS {
            return Err(SyntaxError::RepeatSize);
        }
        self.input.next_if_eq(&'?'); // lazy: which match is found first does not matter
        self.output.push_str(operator);
        self.last = Last::Repeated(total);
        let scope = self.scope();
        scope.repeats = scope.repeats.max(total);
        Ok(())
    }

    /// `{n}`, `{n,}` and `{n,m}` are repetitions; any other brace stands for itself.
    fn brace(&mut self) -> Result<(), SyntaxError> {
        let rest: String = self.input.clone().take(12).collect();
        let Some((min, max, length)) = repetition(&rest) else {
            self.literal('{');
            return Ok(());
        };
        for _ in 0..length {
            self.input.next();
        }
        let most = max.unwrap_or(min);
        if min > MOST_REPEATS || most > MOST_REPEATS || most < min {
            return Err(SyntaxError::RepeatSize);
        }
        let operator = rest.get(..length).map(|inside| format!("{{{inside}")).unwrap_or_default();
        self.repeat(&operator, most)
    }

    fn open(&mut self) -> Result<(), SyntaxError> {
        let mut scope = *self.scope();
        if self.input.next_if_eq(&'?').is_some()
            && let Some(case) = self.special_group(scope.case)?
        {
            match self.input.next() {
                // Flags for the rest of the group that is open: what a repetition repeats stays what it was.
                Some(')') => {
                    self.scope().case = case;
                    if let Last::Repeated(times) = self.last {
                        self.last = Last::Atom(times); // Go forgets here that it was one
                    }
                    return Ok(());
                }
                _ => scope.case = case,
            }
        }
        self.atom("(?:"); // captures are not needed
        scope.written = self.scope().written;
        scope.repeats = 1;
        self.scopes.push(scope);
        self.last = Last::Nothing;
        Ok(())
    }

    /// After `(?`: a named group is read to its end, flags up to the `:` or `)`, whose case is given back.
    fn special_group(&mut self, case: Case) -> Result<Option<Case>, SyntaxError> {
        let named = match self.input.peek() {
            Some('P') => {
                self.input.next();
                true
            }
            Some('<') => true,
            _ => false,
        };
        if !named {
            return self.flags(case).map(Some);
        }
        self.input.next_if_eq(&'<').ok_or(SyntaxError::Group)?;
        let mut length = 0;
        loop {
            match self.input.next() {
                Some('>') if length > 0 => return Ok(None),
                Some(c) if c.is_ascii_alphanumeric() || c == '_' => length += 1,
                _ => return Err(SyntaxError::Group),
            }
        }
    }

    fn flags(&mut self, mut case: Case) -> Result<Case, SyntaxError> {
        let (mut set, mut seen) = (Case::Ignored, false);
        let mut negated = false;
        loop {
            match self.input.peek() {
                Some('i') => (case, seen) = (set, true),
                Some('m' | 's' | 'U') => seen = true,
                Some('-') if !negated => (set, seen, negated) = (Case::Counts, false, true),
                Some(':' | ')') if seen || !negated => return Ok(case),
                _ => return Err(SyntaxError::Group),
            }
            self.input.next();
        }
    }

    fn close(&mut self) -> Result<(), SyntaxError> {
        if self.scopes.len() == 1 {
            return Err(SyntaxError::Unbalanced);
        }
        let repeats = self.scopes.pop().map_or(1, |scope| scope.repeats);
        self.output.push(')');
        self.last = Last::Atom(repeats.max(1));
        let scope = self.scope();
        scope.repeats = scope.repeats.max(repeats);
        Ok(())
    }

    fn escape(&mut self) -> Result<(), SyntaxError> {
        match self.input.next().ok_or(SyntaxError::Escape)? {
            'Q' => {
                self.quoted();
                Ok(())
            }
            c @ ('A' | 'z' | 'b' | 'B') => {
                // In brackets, as the crate takes a brace behind \b for more of it.
                self.atom(&format!("(?:\\{c})"));
                Ok(())
            }
            c => {
                let class = go_class::escaped(&mut self.input, c)?;
                self.atom(&class);
                Ok(())
            }
        }
    }

    /// `\Q…\E`: what is between stands for itself; `\E` may be missing.
    fn quoted(&mut self) {
        while let Some(c) = self.input.next() {
            if c == '\\' && self.input.next_if_eq(&'E').is_some() {
                return;
            }
            self.literal(c);
        }
    }
}

/// What stands behind a `{`, if it is a repetition: least, most (`None`: no end) and the length up to the `}`.
fn repetition(rest: &str) -> Option<(u32, Option<u32>, usize)> {
    let inside = &rest[..rest.find('}')?];
    let number = |text: &str| {
        let is_number = !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_digit())
            && !(text.len() > 1 && text.starts_with('0'));
        // A number that no type holds is still one: it is refused for its size.
        is_number.then(|| text.parse().unwrap_or(u32::MAX))
    };
    let (min, max) = match inside.split_once(',') {
        None => {
            let times = number(inside)?;
            (times, Some(times))
        }
        Some((min, "")) => (number(min)?, None),
        Some((min, max)) => (number(min)?, Some(number(max)?)),
    };
    Some((min, max, inside.len() + 1))
}
