//! Text from events, made fit to be shown: cleaned once at the door, and marked up piece by piece.
//!
//! Invariant: cleaned text is one line and has no character that only steers (controls, bidi overrides, invisible
//! fillers), so that what is read is what is there.
//! Left out: what a service escapes (slack.rs, google_chat.rs, teams.rs).

/// The longest name that is shown, in characters: that of a Kubernetes object.
pub const LONGEST_NAME: usize = 253;

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Span {
    /// Our own words, or text of an event: shown as it is.
    Plain(String),
    /// Our own words, in bold.
    Strong(String),
    /// A name of something: shown as code.
    Name(String),
}

/// A line of text.
pub type Line = Vec<Span>;

/// Our own words.
pub fn plain(text: impl Into<String>) -> Span {
    Span::Plain(text.into())
}

/// A word of an event that reads best without marks: shown as a name where it holds more than letters, digits and
/// what stands in names, so that no service takes a part of it for markup.
#[must_use]
pub fn word(text: &str) -> Span {
    let is_tame = |c: char| c.is_alphanumeric() || matches!(c, '-' | '.' | ' ' | '/');
    if text.chars().all(is_tame) { Span::Plain(text.to_owned()) } else { Span::Name(text.to_owned()) }
}

/// A name of something.
pub fn name(text: impl Into<String>) -> Span {
    Span::Name(text.into())
}

/// The words of a line, without marks.
#[must_use]
pub fn words(line: &[Span]) -> String {
    line.iter()
        .map(|span| match span {
            Span::Plain(text) | Span::Strong(text) | Span::Name(text) => text.as_str(),
        })
        .collect()
}

/// A line marked up: `mark` says how each piece is written.
pub fn marked(line: &[Span], mark: impl Fn(&Span) -> String) -> String {
    line.iter().map(mark).collect()
}

/// Text in which nothing begins a tag or an entity.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Text of an event on one line, at most `longest` characters of it. `None` where nothing visible is left.
#[must_use]
pub fn clean(text: &str, longest: usize) -> Option<String> {
    let visible = text.chars().map(|c| if c.is_whitespace() { ' ' } else { c }).filter(|c| !steers(*c));
    let line: String = visible.collect();
    let line = line.trim();
    (!line.is_empty()).then(|| cut(line, longest))
}

/// The first line of a message, cleaned.
#[must_use]
pub fn clean_message(text: &str, longest: usize) -> Option<String> {
    text.lines().find_map(|line| clean(line, longest))
}

/// At most `longest` characters of a text, the last of them `…` where something is missing.
#[must_use]
pub fn cut(text: &str, longest: usize) -> String {
    if text.chars().count() <= longest {
        return text.to_owned();
    }
    let kept: String = text.chars().take(longest.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// How long services count a text to be: UTF-16 units are the most of what "character" can mean.
#[must_use]
pub fn units(text: &str) -> usize {
    text.encode_utf16().count()
}

/// Whether a character shows nothing and only steers what is around it.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e0fff}'
        )
        || (c as u32) & 0xfffe == 0xfffe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_one_line_of_what_can_be_seen() {
        let rows = [
            ("api", Some("api")),
            ("  a\tb\r\nc ", Some("a b  c")),
            ("\u{202e}txt.exe", Some("txt.exe")),
            ("a\u{200b}\u{0}\u{1b}[31mb", Some("a[31mb")),
            ("\u{2028}\u{feff} ", None),
            ("", None),
            ("\u{3164}", None),
        ];
        for (text, shown) in rows {
            assert_eq!(clean(text, 20).as_deref(), shown, "{text:?}");
        }
    }

    #[test]
    fn a_message_is_its_first_line_that_says_something() {
        assert_eq!(clean_message("\n \nfirst\nsecond", 10).as_deref(), Some("first"));
        assert_eq!(clean_message("\n\u{200b}", 10), None);
    }

    #[test]
    fn a_cut_is_shown() {
        assert_eq!(cut("abcdef", 6), "abcdef");
        assert_eq!(cut("abcdefg", 6), "abcde…");
        assert_eq!(cut("abcd fg", 6), "abcd…");
    }
}
