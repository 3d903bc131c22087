//! What the API server says of a refused patch, without the values of the Secrets that led to it.
//!
//! Invariant: no value of these contents stands in what comes out: not as text, no line of it, not its base64. A value or line
//! of less than four characters is left, as it stands in ordinary words too.
//! Left out: values in other forms, and those of Secrets that did not change: a patch holds no value, so only an admission
//! webhook that reads Secrets itself could quote one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::content::Content;

/// The shortest text that is looked for, in bytes.
const SHORTEST: usize = 4;

/// A message without the values of these contents.
#[must_use]
pub fn without_values<'a>(message: &str, contents: impl IntoIterator<Item = &'a Content>) -> String {
    let mut values = Vec::new();
    for encoded in contents.into_iter().flat_map(Content::base64_values) {
        let decoded = STANDARD.decode(encoded).unwrap_or_default();
        let text = String::from_utf8_lossy(&decoded);
        values.extend(text.lines().map(|line| line.trim().to_owned()));
        values.extend([encoded.to_owned(), text.trim().to_owned()]);
    }
    values.retain(|value| value.len() >= SHORTEST && message.contains(value));
    // A value may stand in another.
    values.sort_by_key(|value| std::cmp::Reverse(value.len()));
    values.iter().fold(message.to_owned(), |message, value| message.replace(value, "[redacted]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret(values: &[&str]) -> Content {
        let data = values.iter().enumerate().map(|(n, value)| (n.to_string(), STANDARD.encode(value)));
        Content::new([].into(), data.collect())
    }

    #[test]
    fn values_are_taken_out_as_text_by_line_and_as_base64() {
        let secret = secret(&["hunter2-long", "hunter2", "first line\nsecond line\n", "abc"]);
        let rows = [
            ("no changes on Fridays", "no changes on Fridays"),
            ("p=hunter2-long q=hunter2", "p=[redacted] q=[redacted]"),
            ("it is aHVudGVyMg==", "it is [redacted]"),
            ("bad: first line\nsecond line", "bad: [redacted]"),
            (r#"bad: "first line\nsecond line\n""#, r#"bad: "[redacted]\n[redacted]\n""#),
            ("abc stays", "abc stays"),
        ];
        for (message, expected) in rows {
            assert_eq!(without_values(message, [&secret]), expected);
        }
    }
}
