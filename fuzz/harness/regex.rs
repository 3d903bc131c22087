//! Patterns as anybody may write them into an annotation.
//!
//! Invariant of the input: it is one entry of a list. The bounds are in bytes and not in time, as a fuzzer stops what
//! takes long. Left out: what Go itself says of them (tests/it/go_regexp.rs).

use ::regex::RegexBuilder;
use confroll::reload::go_regex::rewrite;
use confroll::reload::name_pattern::{Budget, NamePattern};

/// Names that tell patterns apart.
pub(crate) const NAMES: [&str; 20] = [
    "a",
    "b",
    "k",
    "s",
    "x",
    "1",
    "aa",
    "aaa",
    "ab",
    "app",
    "app-1",
    "my-app-1",
    "web",
    "a.b",
    "a-b",
    "x--x",
    "0",
    "z9",
    "kube-root-ca.crt",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];
/// The longest entry that is read at all.
const LONGEST: usize = 4096;
/// What the crate is given for a second look: as much as a list may have.
const MEMORY: usize = 8 << 20;

pub(crate) fn check(input: &[u8]) -> &'static str {
    let text = String::from_utf8_lossy(input);
    let entry = text.trim();
    let rewritten = rewrite(&format!("^{entry}$"));
    if let Ok(rewritten) = &rewritten {
        // The longest that a character becomes is a property: `\pP`.
        assert!(rewritten.len() <= 64 * (entry.len() + 2), "{} bytes became {}", entry.len(), rewritten.len());
    }
    match NamePattern::parse_within(entry, &mut Budget::of_one_list()) {
        Ok(pattern) => {
            agrees_with_itself(entry, &pattern);
            if entry.len() <= LONGEST && entry.bytes().all(means_the_same) {
                agrees_with_the_crate(entry, &pattern);
            }
            "a pattern"
        }
        Err(error) => {
            let said = error.to_string();
            assert!(said.chars().count() <= 1000 && !said.contains(char::is_control), "{said:?}");
            if let Ok(rewritten) = rewritten
                && entry.len() <= LONGEST
            {
                is_refused_for_its_size(&rewritten, &said);
                return "too large";
            }
            "no pattern"
        }
    }
}

/// What the rewriting lets through, the crate takes, unless it is too large or nested too deep.
fn is_refused_for_its_size(rewritten: &str, said: &str) {
    assert!(said.ends_with("it is too large"), "{said}");
    match RegexBuilder::new(rewritten).size_limit(1 << 20).build() {
        Err(::regex::Error::CompiledTooBig(_)) => {}
        Err(error) => assert!(error.to_string().contains("nest"), "{rewritten}: {error}"),
        Ok(_) => unreachable!("{rewritten} is not too large"),
    }
}

fn agrees_with_itself(entry: &str, pattern: &NamePattern) {
    let again = parse(entry);
    for name in names(entry) {
        assert_eq!(again.matches(&name), pattern.matches(&name), "{entry} against {name}");
        if let Some(literal) = pattern.literal() {
            let quoted = parse(&format!("(?:{literal})"));
            assert_eq!(quoted.matches(&name), pattern.matches(&name), "{entry} against {name}");
        }
    }
    // A group around the whole changes nothing; where a quotation has no end, it would be within it.
    let grouped = rewrite(&format!("(?:^{entry}$)")).ok().filter(|_| !entry.contains(r"\Q"));
    let grouped = grouped.and_then(|text| RegexBuilder::new(&text).size_limit(MEMORY).build().ok());
    if let Some(grouped) = grouped {
        for name in names(entry) {
            assert_eq!(grouped.is_match(&name), pattern.matches(&name), "{entry} in a group against {name}");
        }
    }
}

/// Characters that mean the same to both grammars, however they stand together, if both take them.
fn means_the_same(byte: u8) -> bool {
    byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.|()*+?^$".contains(&byte)
}

fn agrees_with_the_crate(entry: &str, pattern: &NamePattern) {
    let Ok(direct) = RegexBuilder::new(&format!("^{entry}$")).size_limit(MEMORY).build() else { return };
    for name in names(entry) {
        assert_eq!(direct.is_match(&name), pattern.matches(&name), "{entry} against {name}");
    }
}

fn parse(entry: &str) -> NamePattern {
    NamePattern::parse_within(entry, &mut Budget::of_one_list()).unwrap_or_else(|error| unreachable!("{error}"))
}

/// The usual names, and the one that the entry itself is written with.
pub(crate) fn names(entry: &str) -> Vec<String> {
    let is_name = |c: &char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.');
    let own: String = entry.chars().filter(is_name).take(253).collect();
    NAMES.iter().map(|name| (*name).to_owned()).chain([own]).collect()
}
