//! The content of a source, its keyed digest, and which keys differ between two contents.
//!
//! Invariants: a digest depends on nothing but the key, the source's name and the content of the keys that count,
//! in no order; no two contents share an encoding. Nothing here shows a value: not `Debug`, not an error.
//! Left out: the source's metadata (source_object.rs) and where a digest is kept (record.rs).

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use super::digest::{Digest, DigestKey};
use super::references::Keys;
use super::source::SourceRef;

/// Text and binary data have separate names in a ConfigMap, so a key that moves from one to the other is a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Form {
    Text,
    Base64,
}

/// Everything that a source holds: values by key. Values stay as the API server writes them (base64 is canonical
/// there), since they are only ever compared and digested.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Content {
    values: BTreeMap<(String, Form), String>,
}

/// Key names only: a value must never reach a log.
impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.values.keys().map(|(key, _)| key)).finish()
    }
}

impl Content {
    /// Takes the data of an object: `text` is a ConfigMap's `data`; `base64` its `binaryData`, or a Secret's `data`.
    #[must_use]
    pub fn new(text: BTreeMap<String, String>, base64: BTreeMap<String, String>) -> Self {
        let text = text.into_iter().map(|(key, value)| ((key, Form::Text), value));
        let base64 = base64.into_iter().map(|(key, value)| ((key, Form::Base64), value));
        Self { values: text.chain(base64).collect() }
    }

    /// The digest of what counts of this content: HMAC-SHA256 under `key`, cut to 128 bits.
    ///
    /// The source's own name goes in too, so that two Secrets with one password do not show the same digest.
    #[must_use]
    pub fn digest(&self, source: &SourceRef, keys: &Keys, key: &DigestKey) -> Digest {
        let names = [source.kind.as_str(), source.namespace.as_str(), source.name()];
        let counted = self.counted(keys).flat_map(|((name, form), value)| {
            let form = match form {
                Form::Text => "text",
                Form::Base64 => "base64",
            };
            [form, name, value]
        });
        key.digest(["confroll content"].into_iter().chain(names).chain(counted))
    }

    /// The names of the keys that differ from `older`, among those that count.
    #[must_use]
    pub fn changed_keys(&self, older: &Self, keys: &Keys) -> ChangedKeys {
        let now: BTreeMap<_, _> = self.counted(keys).collect();
        let then: BTreeMap<_, _> = older.counted(keys).collect();
        let names = |values: &BTreeMap<&(String, Form), &String>| -> BTreeSet<String> {
            values.keys().map(|(name, _)| name.clone()).collect()
        };
        let (now_names, then_names) = (names(&now), names(&then));
        let differing = now.iter().filter(|(key, value)| then.get(*key) != Some(value)).map(|((name, _), _)| name);
        ChangedKeys {
            added: now_names.difference(&then_names).cloned().collect(),
            changed: differing.filter(|name| then_names.contains(*name)).cloned().collect(),
            removed: then_names.difference(&now_names).cloned().collect(),
        }
    }

    /// The values of a Secret, as they stand in it.
    pub(super) fn base64_values(&self) -> impl Iterator<Item = &str> {
        self.values.iter().filter(|((_, form), _)| *form == Form::Base64).map(|(_, value)| value.as_str())
    }

    fn counted<'a>(&'a self, keys: &'a Keys) -> impl Iterator<Item = (&'a (String, Form), &'a String)> {
        self.values.iter().filter(move |((name, _), _)| match keys {
            Keys::Whole => true,
            Keys::Named(names) => names.contains(name),
        })
    }
}

/// Names of keys, never their values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ChangedKeys {
    /// Keys that were not there before.
    pub added: BTreeSet<String>,
    /// Keys whose value is another.
    pub changed: BTreeSet<String>,
    /// Keys that are gone.
    pub removed: BTreeSet<String>,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::source::{Namespace, SourceKind};
    use super::*;

    fn source(name: &str) -> SourceRef {
        SourceRef::new(SourceKind::ConfigMap, Namespace::parse("shop").unwrap(), name).unwrap()
    }

    fn map(entries: &[(&str, &str)]) -> BTreeMap<String, String> {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn text(entries: &[(&str, &str)]) -> Content {
        Content::new(map(entries), BTreeMap::new())
    }

    fn key() -> DigestKey {
        DigestKey::new(b"test")
    }

    fn whole(content: &Content) -> Digest {
        content.digest(&source("app"), &Keys::Whole, &key())
    }

    /// Computed apart from this code, with Python's hmac and hashlib over the encoding that `digest` documents.
    #[test]
    fn the_digest_is_hmac_sha256_over_length_prefixed_parts() {
        assert_eq!(whole(&text(&[("a", "1"), ("b", "2")])).to_string(), "10ef7329b6df6efdfc33b18ba0ffd0d7");
        assert_eq!(key().id().to_string(), "016a4094");
    }

    #[test]
    fn contents_that_join_to_the_same_text_have_other_digests() {
        let contents = [
            text(&[("a", "1;b=2")]),
            text(&[("a", "1"), ("b", "2")]),
            text(&[("a", ""), ("1", "")]),
            text(&[("a1", "")]),
            text(&[]),
            Content::new(map(&[]), map(&[("a", "MQ==")])),
            text(&[("a", "MQ==")]),
        ];
        for (i, one) in contents.iter().enumerate() {
            for (j, other) in contents.iter().enumerate() {
                assert_eq!(whole(one) == whole(other), i == j, "{i} and {j}");
            }
        }
    }

    #[test]
    fn a_key_that_does_not_count_changes_nothing() {
        let keys = Keys::Named(["a".to_owned()].into());
        let digest = |content: &Content| content.digest(&source("app"), &keys, &key());
        assert_eq!(digest(&text(&[("a", "1"), ("b", "2")])), digest(&text(&[("a", "1"), ("b", "3")])));
        assert_ne!(digest(&text(&[("a", "1")])), digest(&text(&[("a", "2")])));
        assert_ne!(digest(&text(&[("a", "")])), digest(&text(&[])));
    }

    #[test]
    fn the_key_and_the_name_of_the_source_are_part_of_the_digest() {
        let content = text(&[("a", "1")]);
        assert_ne!(whole(&content), content.digest(&source("other"), &Keys::Whole, &key()));
        assert_ne!(whole(&content), content.digest(&source("app"), &Keys::Whole, &DigestKey::new(b"another")));
    }

    #[test]
    fn no_value_is_shown() {
        let content = text(&[("password", "hunter2")]);
        assert_eq!(format!("{content:?}"), r#"["password"]"#);
        assert!(!format!("{:?}", DigestKey::new(b"hunter2")).contains("hunter2"));
    }

    #[test]
    fn changed_keys_are_named_by_what_happened_to_them() {
        let older = Content::new(map(&[("same", "1"), ("other", "1"), ("gone", "1"), ("moved", "1")]), map(&[]));
        let newer = Content::new(map(&[("same", "1"), ("other", "2"), ("new", "1")]), map(&[("moved", "1")]));
        let changed = newer.changed_keys(&older, &Keys::Whole);
        assert_eq!(changed.added, ["new".to_owned()].into());
        assert_eq!(changed.changed, ["moved".to_owned(), "other".to_owned()].into());
        assert_eq!(changed.removed, ["gone".to_owned()].into());
        let only = newer.changed_keys(&older, &Keys::Named(["same".to_owned()].into()));
        assert_eq!(only, ChangedKeys::default());
    }

    #[test]
    fn a_digest_is_read_back_from_its_text() {
        let digest = whole(&text(&[("a", "1")]));
        assert_eq!(Digest::try_from(digest.to_string()), Ok(digest));
        for bad in ["", "00", &"g".repeat(32), &"0".repeat(33), &format!("+{}", "0".repeat(31))] {
            assert!(Digest::try_from(bad.to_owned()).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn equal_digests_mean_equal_contents(
            one in prop::collection::btree_map("[ab]{0,2}", "[ab;=]{0,3}", 0..3),
            other in prop::collection::btree_map("[ab]{0,2}", "[ab;=]{0,3}", 0..3),
        ) {
            let (one, other) = (Content::new(one, BTreeMap::new()), Content::new(other, BTreeMap::new()));
            prop_assert_eq!(whole(&one) == whole(&other), one == other);
            prop_assert_eq!(one.changed_keys(&other, &Keys::Whole) == ChangedKeys::default(), one == other);
        }
    }
}
