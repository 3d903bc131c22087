//! What Kubernetes takes for the key of a label or an annotation, and for the value of a label.
//!
//! Invariant: what passes here, an API server accepts, and the other way round.
//! Left out: what a key means (label_selector.rs, opt_in.rs).

const MOST: usize = 63;
const MOST_OF_PREFIX: usize = 253;

/// Whether a label can have this key: `app`, `app.kubernetes.io/name`.
#[must_use]
pub fn is_label_key(text: &str) -> bool {
    match text.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(text),
    }
}

/// Whether an annotation can have this key: as that of a label, with capitals in the prefix too.
#[must_use]
pub fn is_annotation_key(text: &str) -> bool {
    is_label_key(&text.to_ascii_lowercase())
}

/// Whether a label can have this value, which may be empty.
#[must_use]
pub fn is_label_value(text: &str) -> bool {
    text.is_empty() || is_name(text)
}

fn is_name(text: &str) -> bool {
    let is_edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    text.len() <= MOST
        && is_edge(text.chars().next())
        && is_edge(text.chars().next_back())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
}

/// Whether this is a DNS-1123 subdomain.
pub(super) fn is_subdomain(text: &str) -> bool {
    text.len() <= MOST_OF_PREFIX && text.split('.').all(is_dns_label)
}

/// Whether this is a DNS-1123 label, but for its length.
pub(super) fn is_dns_label(text: &str) -> bool {
    let edge = |c: Option<u8>| c.is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    let bytes = text.as_bytes();
    edge(bytes.first().copied())
        && edge(bytes.last().copied())
        && bytes.iter().all(|&c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_those_that_kubernetes_takes() {
        let longest = "a".repeat(63);
        for key in ["a", "A", "1", "a-b", "a_b", "a.b", "x.io/a", "x.io/A_b.c-d", "1.2/3", &longest] {
            assert!(is_label_key(key) && is_annotation_key(key), "{key}");
        }
        for key in ["", "/", "a/", "/a", "a/b/c", "-a", "a-", "a b", "a:b", "ä", "x_y/a", ".x/a", "x../a", "a64"] {
            let key = if key == "a64" { "a".repeat(64) } else { key.to_owned() };
            assert!(!is_label_key(&key) && !is_annotation_key(&key), "{key}");
        }
        assert!(is_annotation_key("Example.COM/Key") && !is_label_key("Example.COM/Key"));
        let prefix = format!("{}/a", vec!["a".repeat(50); 5].join("."));
        assert!(!is_label_key(&prefix) && is_label_key(&prefix[2..]));
        for value in ["", "a", "A.b_c-d", "1", &longest] {
            assert!(is_label_value(value), "{value}");
        }
        for value in ["-", "a-", "_a", "a/b", "a b", "*"] {
            assert!(!is_label_value(value), "{value}");
        }
    }
}
