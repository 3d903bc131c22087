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
    input: Peekable<Chars<'a>>,
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
                '*' | '+' | '?' => self.repeat(c.encode_utf8(&mut [0; 4]), 1)?,
                '{' => self.brace()?,
                '[' => self.class()?,
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
        if self.input.next_if_eq(&'?').is_some() {
            if let Some(case) = self.special_group(scope.case)? {
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
                let class = self.class_escape(c)?;
                self.atom(&among_ascii(&class));
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

    /// An escape that may stand in a class too, as the crate writes it.
    fn class_escape(&mut self, c: char) -> Result<String, SyntaxError> {
        match c {
            'd' | 'D' | 's' | 'S' | 'w' | 'W' => Ok(format!("\\{c}")),
            'p' | 'P' => self.unicode_class(c),
            _ => self.escaped_char(c).map(|c| format!("\\x{{{:X}}}", c as u32)),
        }
    }

    /// The one character that an escape stands for.
    fn escaped_char(&mut self, c: char) -> Result<char, SyntaxError> {
        match c {
            'a' => Ok('\x07'),
            'f' => Ok('\x0c'),
            'n' => Ok('\n'),
            'r' => Ok('\r'),
            't' => Ok('\t'),
            'v' => Ok('\x0b'),
            'x' => self.hex(),
            // A single digit would be a reference to a group, which there is none of.
            '1'..='7' if !matches!(self.input.peek(), Some('0'..='7')) => Err(SyntaxError::Escape),
            '0'..='7' => self.octal(c),
            c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok(c),
            _ => Err(SyntaxError::Escape),
        }
    }

    fn octal(&mut self, first: char) -> Result<char, SyntaxError> {
        let mut number = first.to_digit(8).ok_or(SyntaxError::Escape)?;
        for _ in 0..2 {
            let Some(digit) = self.input.next_if(|c| c.is_digit(8)) else { break };
            number = number * 8 + digit.to_digit(8).ok_or(SyntaxError::Escape)?;
        }
        char::from_u32(number).ok_or(SyntaxError::Escape)
    }

    fn hex(&mut self) -> Result<char, SyntaxError> {
        let digits: String = if self.input.next_if_eq(&'{').is_some() {
            let digits = self.input.by_ref().take_while(|&c| c != '}').collect();
            digits
        } else {
            self.input.by_ref().take(2).collect::<String>()
        };
        let all_hex = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit());
        let number = u32::from_str_radix(&digits, 16).ok().filter(|_| all_hex);
        number.and_then(char::from_u32).ok_or(SyntaxError::Escape)
    }

    /// `\pL`, `\p{Greek}`, `\P{^Greek}`.
    fn unicode_class(&mut self, p: char) -> Result<String, SyntaxError> {
        let mut name: String = match self.input.next().ok_or(SyntaxError::Class)? {
            '{' => self.input.by_ref().take_while(|&c| c != '}').collect(),
            c => c.to_string(),
        };
        let mut p = p;
        if let Some(rest) = name.strip_prefix('^') {
            p = if p == 'p' { 'P' } else { 'p' };
            name = rest.to_owned();
        }
        let class = format!("\\{p}{{{name}}}");
        let exists = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && regex::Regex::new(&class).is_ok();
        if exists { Ok(class) } else { Err(SyntaxError::Class) }
    }

    /// A class in brackets, up to its end.
    fn class(&mut self) -> Result<(), SyntaxError> {
        let mut class = String::from("[");
        if self.input.next_if_eq(&'^').is_some() {
            class.push('^');
        }
        let mut first = true;
        loop {
            match self.input.next().ok_or(SyntaxError::Unbalanced)? {
                ']' if !first => break,
                '[' if self.input.peek() == Some(&':') => self.posix_class(&mut class)?,
                '\\' if matches!(self.input.peek(), Some('d' | 'D' | 's' | 'S' | 'w' | 'W' | 'p' | 'P')) => {
                    let c = self.input.next().ok_or(SyntaxError::Escape)?;
                    class.push_str(&self.class_escape(c)?);
                }
                c => self.range(c, &mut class)?,
            }
            first = false;
        }
        class.push(']');
        self.atom(&among_ascii(&class));
        Ok(())
    }

    /// `[:alpha:]`; without its end, the bracket stands for itself.
    fn posix_class(&mut self, class: &mut String) -> Result<(), SyntaxError> {
        const NAMES: [&str; 14] = [
            "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
            "word", "xdigit",
        ];
        let rest: String = self.input.clone().collect();
        let Some(end) = rest.find(":]").filter(|&end| end > 0) else { return self.range('[', class) };
        let name = &rest[1..end];
        if !NAMES.contains(&name.strip_prefix('^').unwrap_or(name)) {
            return Err(SyntaxError::Class);
        }
        class.push_str(&format!("[:{name}:]"));
        for _ in 0..name.len() + 3 {
            self.input.next();
        }
        Ok(())
    }

    /// One character of a class, or a range of them.
    fn range(&mut self, first: char, class: &mut String) -> Result<(), SyntaxError> {
        let low = self.class_char(first)?;
        let mut ahead = self.input.clone();
        let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']');
        if !is_range {
            class.push_str(&format!("\\x{{{:X}}}", low as u32));
            return Ok(());
        }
        self.input.next();
        let next = self.input.next().ok_or(SyntaxError::Class)?;
        let high = self.class_char(next)?;
        if high < low {
            return Err(SyntaxError::Class);
        }
        class.push_str(&format!("\\x{{{:X}}}-\\x{{{:X}}}", low as u32, high as u32));
        Ok(())
    }

    fn class_char(&mut self, c: char) -> Result<char, SyntaxError> {
        if c != '\\' {
            return Ok(c);
        }
        let c = self.input.next().ok_or(SyntaxError::Escape)?;
        self.escaped_char(c)
    }
}

/// A class, cut to the characters that names are made of: the whole of Unicode, 500 times over, would pass any limit.
fn among_ascii(class: &str) -> String {
    format!("[{class}&&[:ascii:]]")
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
