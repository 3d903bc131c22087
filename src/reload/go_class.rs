//! What may stand for one character in Go's syntax: classes in brackets and escapes, rewritten for the `regex` crate.
//!
//! Invariant: every character is written as its number, so none means anything to the crate; every class is cut to
//! ASCII, of which names are made: the whole of Unicode, 500 times over, would pass any limit.
//! Left out: groups and repetitions (go_regex.rs).

use super::go_property;
use super::go_regex::{Input, SyntaxError};

/// Reads a class up to its closing bracket; the opening one is read already.
pub(super) fn bracketed(input: &mut Input<'_>) -> Result<String, SyntaxError> {
    let mut class = String::from("[");
    if input.next_if_eq(&'^').is_some() {
        class.push('^');
    }
    let mut first = true;
    loop {
        match input.next().ok_or(SyntaxError::Unbalanced)? {
            ']' if !first => break,
            '[' if input.peek() == Some(&':') => posix_class(input, &mut class)?,
            '\\' if matches!(input.peek(), Some('d' | 'D' | 's' | 'S' | 'w' | 'W' | 'p' | 'P')) => {
                let c = input.next().ok_or(SyntaxError::Escape)?;
                class.push_str(&class_escape(input, c)?);
            }
            c => range(input, c, &mut class)?,
        }
        first = false;
    }
    class.push(']');
    Ok(among_ascii(&class))
}

/// Reads an escape that stands for one of several characters; its backslash and its first character are read already.
pub(super) fn escaped(input: &mut Input<'_>, c: char) -> Result<String, SyntaxError> {
    class_escape(input, c).map(|class| among_ascii(&class))
}

/// An escape that may stand in a class too, as the crate writes it.
fn class_escape(input: &mut Input<'_>, c: char) -> Result<String, SyntaxError> {
    match c {
        'd' | 'D' | 's' | 'S' | 'w' | 'W' => Ok(format!("\\{c}")),
        'p' | 'P' => unicode_class(input, c),
        _ => escaped_char(input, c).map(by_number),
    }
}

/// The one character that an escape stands for.
fn escaped_char(input: &mut Input<'_>, c: char) -> Result<char, SyntaxError> {
    match c {
        'a' => Ok('\x07'),
        'f' => Ok('\x0c'),
        'n' => Ok('\n'),
        'r' => Ok('\r'),
        't' => Ok('\t'),
        'v' => Ok('\x0b'),
        'x' => hex(input),
        // A single digit would be a reference to a group, which there is none of.
        '1'..='7' if !matches!(input.peek(), Some('0'..='7')) => Err(SyntaxError::Escape),
        '0'..='7' => octal(input, c),
        c if c.is_ascii() && !c.is_ascii_alphanumeric() => Ok(c),
        _ => Err(SyntaxError::Escape),
    }
}

fn octal(input: &mut Input<'_>, first: char) -> Result<char, SyntaxError> {
    let mut number = first.to_digit(8).ok_or(SyntaxError::Escape)?;
    for _ in 0..2 {
        let Some(digit) = input.next_if(|c| c.is_digit(8)) else { break };
        number = number * 8 + digit.to_digit(8).ok_or(SyntaxError::Escape)?;
    }
    char::from_u32(number).ok_or(SyntaxError::Escape)
}

fn hex(input: &mut Input<'_>) -> Result<char, SyntaxError> {
    let digits: String = match input.next_if_eq(&'{') {
        Some(_) => input.by_ref().take_while(|&c| c != '}').collect(),
        None => input.by_ref().take(2).collect(),
    };
    let all_hex = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_hexdigit());
    let number = u32::from_str_radix(&digits, 16).ok().filter(|_| all_hex);
    number.and_then(char::from_u32).ok_or(SyntaxError::Escape)
}

/// `\pL`, `\p{Greek}`, `\P{^Greek}`: written as the ASCII characters of it, since compiling the whole of a property
/// takes half a millisecond, a thousand times in one long pattern.
fn unicode_class(input: &mut Input<'_>, p: char) -> Result<String, SyntaxError> {
    let name: String = match input.next().ok_or(SyntaxError::Class)? {
        '{' => input.by_ref().take_while(|&c| c != '}').collect(),
        c => c.to_string(),
    };
    let (name, is_turned) = name.strip_prefix('^').map_or((name.as_str(), false), |rest| (rest, true));
    let class = go_property::ascii_of(name).ok_or(SyntaxError::Class)?;
    Ok(match (class, (p == 'P') != is_turned) {
        ("", false) => "[a&&b]".to_owned(),
        ("", true) => "[:ascii:]".to_owned(),
        (class, false) => format!("[{class}]"),
        (class, true) => format!("[^{class}]"),
    })
}

/// `[:alpha:]`; without its end, the bracket stands for itself.
fn posix_class(input: &mut Input<'_>, class: &mut String) -> Result<(), SyntaxError> {
    const NAMES: [&str; 14] = [
        "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper",
        "word", "xdigit",
    ];
    let rest: String = input.clone().collect();
    // Go looks for the end behind the colon, so that of `[:]` it is not.
    let end = rest.get(1..).and_then(|rest| rest.find(":]")).map(|end| end + 1);
    let Some(end) = end else { return range(input, '[', class) };
    let name = &rest[1..end];
    if !NAMES.contains(&name.strip_prefix('^').unwrap_or(name)) {
        return Err(SyntaxError::Class);
    }
    class.extend(["[:", name, ":]"]);
    for _ in 0..name.len() + 3 {
        input.next();
    }
    Ok(())
}

/// One character of a class, or a range of them.
fn range(input: &mut Input<'_>, first: char, class: &mut String) -> Result<(), SyntaxError> {
    let low = class_char(input, first)?;
    let mut ahead = input.clone();
    let is_range = ahead.next() == Some('-') && ahead.next().is_some_and(|c| c != ']');
    if !is_range {
        class.push_str(&by_number(low));
        return Ok(());
    }
    input.next();
    let next = input.next().ok_or(SyntaxError::Class)?;
    let high = class_char(input, next)?;
    if high < low {
        return Err(SyntaxError::Class);
    }
    class.extend([by_number(low), "-".to_owned(), by_number(high)]);
    Ok(())
}

/// A character in a way that gives it no other meaning.
fn by_number(c: char) -> String {
    format!("\\x{{{:X}}}", u32::from(c))
}

fn class_char(input: &mut Input<'_>, c: char) -> Result<char, SyntaxError> {
    if c != '\\' {
        return Ok(c);
    }
    let c = input.next().ok_or(SyntaxError::Escape)?;
    escaped_char(input, c)
}

fn among_ascii(class: &str) -> String {
    format!("[{class}&&[:ascii:]]")
}
