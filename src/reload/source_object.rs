//! A source as it is at one version.
//!
//! Invariant: what cannot be read of an object is an error that names the object and shows nothing of its content.
//! Left out: how it was fetched (edge/cluster.rs).

use std::collections::BTreeMap;
use std::sync::OnceLock;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::content::Content;
use super::digest::{Digest, DigestKey, KeyId};
use super::opt_in::SourceMarks;
use super::pod_status::MountedClass;
use super::references::Keys;
use super::rules::Rules;
use super::source::{SourceKind, SourceRef};
use super::version::{News, Version};

/// A source as the API server had it at [`SourceObject::version`].
#[derive(Clone, Debug)]
pub struct SourceObject {
    /// Which source.
    pub source: SourceRef,
    /// The version that was read.
    pub version: Version,
    /// When this object was created.
    pub created: Option<Timestamp>,
    /// When its data was last written, by the server's own bookkeeping (`managedFields`; whole seconds).
    pub data_written: Option<Timestamp>,
    /// What its annotations and labels say: ignored, matched, in scope.
    pub marks: SourceMarks,
    /// What its version can tell.
    pub news: News,
    /// Its data.
    pub content: Content,
    /// Whether it is there at all.
    pub presence: Presence,
    /// The digest of all keys: hundreds of workloads may ask for it, and a source may hold a megabyte.
    whole: OnceLock<(KeyId, Digest)>,
}

/// Whether a source is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    There,
    /// It is not, and nothing is in it.
    Gone,
}

/// An object that is not as Kubernetes writes it. Says where the parser stood, never what it saw there.
#[derive(Debug, thiserror::Error)]
#[error("{what} cannot be read: the API server's answer has another shape (line {line}, column {column})")]
pub struct ShapeError {
    /// What was being read: `Secret/db`, `the Deployments of shop`.
    pub what: String,
    line: usize,
    column: usize,
}

impl ShapeError {
    /// Keeps the place of a parser's error and drops its text, which may quote content.
    #[must_use]
    pub fn new(what: impl Into<String>, error: &serde_json::Error) -> Self {
        Self { what: what.into(), line: error.line(), column: error.column() }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Shape<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
    data: Option<BTreeMap<String, Option<String>>>,
    binary_data: Option<BTreeMap<String, Option<String>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    resource_version: Version,
    creation_timestamp: Option<Timestamp>,
    annotations: Option<BTreeMap<String, String>>,
    labels: Option<BTreeMap<String, String>>,
    #[serde(borrow)]
    managed_fields: Option<Vec<ManagedFields<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ManagedFields<'a> {
    time: Option<Timestamp>,
    #[serde(borrow)]
    fields_v1: Option<&'a RawValue>,
}

impl SourceObject {
    /// Reads an object from the JSON of the API server.
    pub fn read(source: &SourceRef, json: &str, rules: &Rules) -> Result<Self, ShapeError> {
        let shape: Shape<'_> =
            serde_json::from_str(json).map_err(|error| ShapeError::new(source.to_string(), &error))?;
        let data = without_nulls(shape.data);
        let content = match source.kind {
            SourceKind::ConfigMap => Content::new(data, without_nulls(shape.binary_data)),
            SourceKind::Secret => Content::new(BTreeMap::new(), data),
            // What a class holds its pods' statuses say.
            SourceKind::SecretProviderClass => Content::default(),
        };
        let scope = rules.scope.source_labels(&shape.metadata.labels.unwrap_or_default());
        let marks = SourceMarks::of(&shape.metadata.annotations.unwrap_or_default(), &rules.annotations, scope);
        Ok(Self {
            source: source.clone(),
            version: shape.metadata.resource_version,
            created: shape.metadata.creation_timestamp,
            data_written: last_write(
                shape.metadata.managed_fields.as_deref().unwrap_or_default(),
                &["f:data", "f:binaryData"],
            ),
            marks,
            news: News::OfAnotherVersion,
            content,
            presence: Presence::There,
            whole: OnceLock::new(),
        })
    }

    /// A SecretProviderClass by what pods have mounted of it; `None` where that is nothing. The past of a class is read
    /// without the class itself, whose marks today are what counts.
    #[must_use]
    pub fn of_class(source: &SourceRef, class: Option<&Self>, mounted: &MountedClass) -> Option<Self> {
        Some(Self {
            source: source.clone(),
            version: mounted.version()?,
            created: class.and_then(|class| class.created),
            data_written: mounted.rotated_at(),
            marks: class.map_or(SourceMarks::unread(), |class| class.marks),
            news: mounted.news(),
            content: mounted.content(),
            presence: Presence::There,
            whole: OnceLock::new(),
        })
    }

    /// A source that is not there at a version of the cluster. `marks` are those that it had, as far as they are known.
    #[must_use]
    pub fn gone(source: SourceRef, version: Version, marks: SourceMarks) -> Self {
        Self {
            source,
            version,
            created: None,
            data_written: None,
            marks,
            news: News::OfAnotherVersion,
            content: Content::default(),
            presence: Presence::Gone,
            whole: OnceLock::new(),
        }
    }

    /// The digest of those of its keys that count. That of all keys is made once.
    #[must_use]
    pub fn digest(&self, keys: &Keys, key: &DigestKey) -> Digest {
        if self.presence == Presence::Gone {
            return absent_digest(&self.source, key);
        }
        let make = || self.content.digest(&self.source, keys, key);
        if *keys != Keys::Whole {
            return make();
        }
        let (made_with, digest) = self.whole.get_or_init(|| (key.id().clone(), make()));
        if made_with == key.id() { *digest } else { make() }
    }
}

/// The digest of a source that is not there, which no content has.
#[must_use]
pub fn absent_digest(source: &SourceRef, key: &DigestKey) -> Digest {
    key.digest(["confroll absent", source.kind.as_str(), source.namespace.as_str(), source.name()])
}

/// A key with a null value is a key with an empty one, as the API server reads it.
fn without_nulls(data: Option<BTreeMap<String, Option<String>>>) -> BTreeMap<String, String> {
    data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect()
}

/// The latest time at which somebody wrote one of these fields.
pub(super) fn last_write(managed: &[ManagedFields<'_>], fields: &[&str]) -> Option<Timestamp> {
    let has_one = |written: &RawValue| {
        serde_json::from_str::<BTreeMap<String, &RawValue>>(written.get())
            .is_ok_and(|written| fields.iter().any(|field| written.contains_key(*field)))
    };
    managed.iter().filter(|entry| entry.fields_v1.is_some_and(has_one)).filter_map(|entry| entry.time).max()
}

#[cfg(test)]
mod tests {
    use super::super::source::Namespace;
    use super::super::testing::rules;
    use super::*;

    fn read(kind: SourceKind, json: &str) -> Result<SourceObject, ShapeError> {
        let source = SourceRef::new(kind, Namespace::parse("shop").unwrap(), "app").unwrap();
        SourceObject::read(&source, json, &rules())
    }

    #[test]
    fn the_time_of_the_data_is_that_of_the_last_manager_that_wrote_data() {
        let json = r#"{"metadata":{"resourceVersion":"7","creationTimestamp":"2026-01-01T00:00:00Z","managedFields":[
            {"time":"2026-01-02T00:00:00Z","fieldsV1":{"f:data":{"f:a":{}}}},
            {"time":"2026-01-03T00:00:00Z","fieldsV1":{"f:metadata":{"f:labels":{}}}},
            {"time":"2026-01-01T00:00:00Z","fieldsV1":{"f:data":{".":{}}}}]},"data":{"a":"1"}}"#;
        let object = read(SourceKind::ConfigMap, json).unwrap();
        assert_eq!(object.data_written, Some("2026-01-02T00:00:00Z".parse().unwrap()));
        assert_eq!(object.version.to_string(), "7");
    }

    #[test]
    fn nulls_and_absent_maps_are_empty() {
        let with_null =
            read(SourceKind::Secret, r#"{"metadata":{"resourceVersion":"7","annotations":null},"data":{"a":null}}"#);
        let with_empty = read(SourceKind::Secret, r#"{"metadata":{"resourceVersion":"7"},"data":{"a":""}}"#);
        assert_eq!(with_null.unwrap().content, with_empty.unwrap().content);
        let none = read(SourceKind::Secret, r#"{"metadata":{"resourceVersion":"7"},"data":null}"#).unwrap();
        assert_eq!(none.content, Content::default());
    }

    #[test]
    fn a_secret_that_cannot_be_read_is_not_quoted() {
        let error = read(SourceKind::Secret, r#"{"metadata":{"resourceVersion":"7"},"data":{"a":["hunter2"]}}"#);
        let text = format!("{error:?} {}", error.as_ref().unwrap_err());
        assert!(!text.contains("hunter2") && text.contains("Secret/app"), "{text}");
        let version = read(SourceKind::Secret, r#"{"metadata":{"resourceVersion":"hunter2"}}"#).unwrap_err();
        assert!(!version.to_string().contains("hunter2"));
    }

    #[test]
    fn a_digest_that_is_kept_is_that_of_the_keys_and_the_key_that_were_asked_for() {
        let object =
            read(SourceKind::Secret, r#"{"metadata":{"resourceVersion":"7"},"data":{"a":"MQ==","b":"Mg=="}}"#).unwrap();
        let (one, two) = (DigestKey::new(b"one"), DigestKey::new(b"two"));
        for _ in 0..2 {
            for (keys, key) in
                [(Keys::Whole, &one), (Keys::Whole, &two), (Keys::named(["a"]), &one), (Keys::named(["b"]), &one)]
            {
                assert_eq!(object.digest(&keys, key), object.content.digest(&object.source, &keys, key));
            }
        }
    }

    #[test]
    fn a_configmap_keeps_text_and_binary_apart() {
        let text = read(SourceKind::ConfigMap, r#"{"metadata":{"resourceVersion":"7"},"data":{"a":"MQ=="}}"#).unwrap();
        let binary =
            read(SourceKind::ConfigMap, r#"{"metadata":{"resourceVersion":"7"},"binaryData":{"a":"MQ=="}}"#).unwrap();
        assert_ne!(text.content, binary.content);
        assert_eq!(text.content.changed_keys(&binary.content, &Keys::Whole).changed, ["a".to_owned()].into());
    }
}
