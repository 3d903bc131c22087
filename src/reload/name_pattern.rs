//! Stub until the real one is there.
/// A pattern.
#[derive(Clone, Debug)]
pub struct NamePattern { text: String, regex: Option<regex::Regex> }
/// An error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("bad pattern")]
pub struct PatternError;
impl NamePattern {
    /// Parses.
    pub fn parse(entry: &str) -> Result<Self, PatternError> {
        let plain = entry.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.');
        Ok(Self { text: entry.to_owned(), regex: if plain { None } else { Some(regex::Regex::new(&format!("^{entry}$")).map_err(|_| PatternError)?) } })
    }
    /// Literal.
    pub fn literal(&self) -> Option<&str> { self.regex.is_none().then_some(self.text.as_str()) }
    /// Matches.
    pub fn matches(&self, name: &str) -> bool {
        match &self.regex { Some(regex) => regex.is_match(name), None => self.text.len() == name.len() && self.text.bytes().zip(name.bytes()).all(|(p, c)| p == b'.' || p == c) }
    }
}
