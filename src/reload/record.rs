//! The record: what a workload was last seen to run on, kept on the workload itself.
//!
//! Invariants: it holds digests and versions, never content; it lives on the workload's own metadata, so that writing
//! it causes no rollout; a record of another recipe or key says which versions were seen and nothing more.
//! Left out: when it is written (with a rollout, in the same patch: rollout.rs), and what it leaves out where a
//! workload has no room for all of it (record_room.rs).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::digest::{Digest, DigestKey, KeyId, RECIPE};
use super::due::Delayed;
use super::references::Keys;
use super::refusal::{Refused, Replaced};
use super::source::{Namespace, SourceRef};
use super::tag::{EventTag, tag};
use super::telling::Untold;
use super::version::{News, Version};

/// Where the record is kept.
pub const OBSERVED: &str = "confroll.dev/observed";

/// What a workload was last seen to run on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    recipe: u32,
    key: KeyId,
    /// By `ConfigMap/name`, or `ConfigMap/namespace/name` where it is another than the workload's.
    pub(super) sources: BTreeMap<String, Entry>,
    /// The workload's namespace; without one, every source is taken to be of it.
    #[serde(skip)]
    home: Option<Namespace>,
    /// Where sources were left out: a version that was there before the rollout, so the pods run on it or a later one.
    #[serde(rename = "upTo", default, skip_serializing_if = "Option::is_none")]
    pub(super) up_to: Option<Version>,
    /// What led to the rollout that wrote this record.
    pub cause: Cause,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) replaced: Option<Replaced>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) refused: Option<Refused>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) untold: Option<Untold>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) delayed: Option<Delayed>,
}

/// One source as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) version: Version,
    /// Which keys counted, as a tag: a digest of other keys cannot be compared.
    keys: String,
    digest: Digest,
    /// The workload runs without it: the digest is of what it held before, or of nothing.
    #[serde(default, skip_serializing_if = "is_not")]
    gone: bool,
}

/// What led to a rollout.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The event that was acted on.
    pub event: EventTag,
    /// The sources whose content had changed, as they are called in the record.
    pub changed: Vec<String>,
    /// The tag of the record that the rollout wrote, where a later sweep has noted more since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
}

impl Cause {
    /// What led to a rollout that is about to be made.
    #[must_use]
    pub fn new(event: EventTag, changed: Vec<String>) -> Self {
        Self { event, changed, tag: None }
    }
}

/// What the record knows of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Nothing: it was never seen, or there is no record.
    Nothing,
    /// The version that was seen, but its digest says nothing today: other keys, another recipe, another key.
    Version(Version),
    /// The version and the digest of what counts.
    Content(Version, Digest),
    /// Nothing, but that a rollout for it was refused or put off.
    Owed,
    /// That the workload runs without it; and the digest of what it held before, or of nothing.
    Gone(Version, Digest),
    /// Nothing of its own, but the workload runs on all that was there at this version.
    UpTo(Version),
}

impl Known {
    /// The version that was seen.
    #[must_use]
    pub const fn version(self) -> Option<Version> {
        match self {
            Self::Version(version) | Self::Content(version, _) | Self::UpTo(version) | Self::Gone(version, _) => {
                Some(version)
            }
            Self::Nothing | Self::Owed => None,
        }
    }
}

impl Record {
    /// A record of nothing yet.
    #[must_use]
    pub fn new(key: &DigestKey, cause: Cause) -> Self {
        let (recipe, key) = (RECIPE, key.id().clone());
        let sources = BTreeMap::new();
        Self {
            recipe,
            key,
            sources,
            home: None,
            up_to: None,
            cause,
            replaced: None,
            refused: None,
            untold: None,
            delayed: None,
        }
    }

    /// Reads a record from its annotation. `None` where it is no record: somebody edited it, or a later Confroll
    /// wrote another shape. Then the workload is one without a record, which is always safe.
    #[must_use]
    pub fn read(annotation: &str) -> Option<Self> {
        serde_json::from_str(annotation).ok()
    }

    /// The same, of a workload in this namespace.
    #[must_use]
    pub fn of(self, home: &Namespace) -> Self {
        Self { home: Some(home.clone()), ..self }
    }

    /// What a source is called here.
    #[must_use]
    pub fn name_of(&self, source: &SourceRef) -> String {
        self.home.as_ref().map_or_else(|| source.to_string(), |home| source.seen_from(home))
    }

    /// The record as its annotation's text.
    #[must_use]
    pub fn to_annotation(&self) -> String {
        serde_json::json!(self).to_string()
    }

    /// What this record knows of a source of which `keys` count.
    #[must_use]
    pub fn knows(&self, source: &SourceRef, keys: &Keys, key: &DigestKey) -> Known {
        match self.sources.get(&self.name_of(source)) {
            None if self.owes(source) => Known::Owed,
            None => self.up_to.map_or(Known::Nothing, Known::UpTo),
            Some(entry) if entry.gone => Known::Gone(entry.version, entry.digest),
            Some(entry) if self.speaks_of(key) && entry.keys == keys_tag(keys) => {
                Known::Content(entry.version, entry.digest)
            }
            Some(_) if self.delays(source) => Known::Owed,
            Some(entry) => Known::Version(entry.version),
        }
    }

    /// The version of a source that was seen, if the digest beside it can be compared at all.
    #[must_use]
    pub fn seen(&self, source: &SourceRef, key: &DigestKey) -> Option<Version> {
        self.sources.get(&self.name_of(source)).filter(|_| self.speaks_of(key)).map(|entry| entry.version)
    }

    /// The digest of what counts of a source, as it was last seen.
    #[must_use]
    pub fn digest(&self, source: &SourceRef) -> Option<Digest> {
        self.sources.get(&self.name_of(source)).map(|entry| entry.digest)
    }

    /// Whether the workload was seen to run on a source at this version, or one that leaves nothing to be told, by a
    /// digest that can be compared, or because the record had no room for it and stands for all that was there then.
    #[must_use]
    pub fn has_seen(&self, source: &SourceRef, (version, news): (Version, News), key: &DigestKey) -> bool {
        match self.sources.get(&self.name_of(source)) {
            Some(entry) => self.speaks_of(key) && !news.tells(version, entry.version),
            None => !self.owes(source) && self.up_to.is_some_and(|up_to| version <= up_to),
        }
    }

    /// The sources that this record, of a workload in `namespace`, knows.
    pub fn sources<'a>(&'a self, namespace: &'a Namespace) -> impl Iterator<Item = SourceRef> + 'a {
        self.sources.keys().filter_map(|source| SourceRef::from_display(namespace, source))
    }

    /// Whether both know the same of the same sources, whatever led to them.
    #[must_use]
    pub fn knows_as_much_as(&self, other: &Self) -> bool {
        (self.recipe, &self.key, self.up_to, &self.sources) == (other.recipe, &other.key, other.up_to, &other.sources)
    }

    /// Notes that the workload runs on `version` of a source from now on.
    pub fn note(&mut self, source: &SourceRef, keys: &Keys, version: Version, digest: Digest) {
        self.sources.insert(self.name_of(source), Entry { version, keys: keys_tag(keys), digest, gone: false });
    }

    /// Notes that the workload runs without a source from now on. What it held before, by `older`, stays known; else
    /// `absent` stands for nothing.
    pub fn note_gone(&mut self, source: &SourceRef, older: Option<&Self>, version: Version, absent: Digest) {
        let before = older.and_then(|older| older.sources.get(&older.name_of(source))).cloned();
        let nothing = Entry { version, keys: keys_tag(&Keys::Whole), digest: absent, gone: true };
        self.sources.insert(self.name_of(source), Entry { gone: true, ..before.unwrap_or(nothing) });
    }

    /// Whether the workload runs without a source.
    #[must_use]
    pub fn is_gone(&self, source: &SourceRef) -> bool {
        self.sources.get(&self.name_of(source)).is_some_and(|entry| entry.gone)
    }

    /// Whether it is known what of a source the workload runs on, or that it runs without it.
    #[must_use]
    pub fn names(&self, source: &SourceRef) -> bool {
        self.sources.contains_key(&self.name_of(source))
    }

    /// Takes over what `older` knows of a source, for a source that is not there now: if it comes back with other
    /// content, that is a change.
    pub fn carry_over(&mut self, source: &SourceRef, older: &Self) {
        if let (true, Some(entry)) =
            (older.recipe == self.recipe && older.key == self.key, older.sources.get(&older.name_of(source)))
        {
            self.sources.insert(self.name_of(source), entry.clone());
        }
    }

    /// Goes on with what is known of the last rollout, which this record does not change: its event must still find
    /// itself here when it comes again, and tell the same.
    pub fn keep_rollout(&mut self, older: &Self) {
        self.cause = Cause { tag: Some(older.tag()), ..older.cause.clone() };
        (self.replaced, self.refused) = (older.replaced.clone(), older.refused.clone());
        self.untold.clone_from(&older.untold);
    }

    /// A short name of the last rollout, other for every one: what reload events take their ids from.
    #[must_use]
    pub fn tag(&self) -> String {
        if let Some(tag) = &self.cause.tag {
            return tag.clone();
        }
        let mut parts = vec![self.key.to_string()];
        parts.extend(self.up_to.map(|version| version.to_string()));
        for (source, entry) in &self.sources {
            parts.extend([source.clone(), entry.version.to_string(), entry.digest.to_string()]);
        }
        tag(&parts.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn speaks_of(&self, key: &DigestKey) -> bool {
        self.recipe == RECIPE && self.key == *key.id()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives it so")]
fn is_not(flag: &bool) -> bool {
    !*flag
}

/// `*` for all keys, else a digest of their names.
fn keys_tag(keys: &Keys) -> String {
    match keys {
        Keys::Whole => "*".to_owned(),
        Keys::Named(names) => tag(&names.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::content::Content;
    use super::super::source::{Namespace, SourceKind};
    use super::*;

    fn source(name: &str) -> SourceRef {
        SourceRef::new(SourceKind::Secret, Namespace::parse("shop").unwrap(), name).unwrap()
    }

    fn version(number: &str) -> Version {
        Version::try_from(number.to_owned()).unwrap()
    }

    fn named(keys: &[&str]) -> Keys {
        Keys::Named(keys.iter().map(|key| (*key).to_owned()).collect())
    }

    fn record(key: &DigestKey) -> (Record, Digest) {
        let digest = Content::new(BTreeMap::new(), BTreeMap::new()).digest(&source("db"), &Keys::Whole, key);
        let mut record = Record::new(key, Cause::new(EventTag::of("s", "1"), vec!["Secret/db".to_owned()]));
        record.note(&source("db"), &Keys::Whole, version("7"), digest);
        (record, digest)
    }

    #[test]
    fn what_was_written_is_read_back() {
        let key = DigestKey::new(b"one");
        let (record, digest) = record(&key);
        let read = Record::read(&record.to_annotation()).unwrap();
        assert_eq!(read, record);
        assert_eq!(read.knows(&source("db"), &Keys::Whole, &key), Known::Content(version("7"), digest));
        assert_eq!(read.knows(&source("other"), &Keys::Whole, &key), Known::Nothing);
    }

    #[test]
    fn a_record_of_another_key_or_of_other_keys_knows_the_version_alone() {
        let (record, _) = record(&DigestKey::new(b"one"));
        assert_eq!(record.knows(&source("db"), &Keys::Whole, &DigestKey::new(b"two")), Known::Version(version("7")));
        assert_eq!(record.knows(&source("db"), &named(&["a"]), &DigestKey::new(b"one")), Known::Version(version("7")));
        let other_recipe = record.to_annotation().replace("\"recipe\":1", "\"recipe\":2");
        let other_recipe = Record::read(&other_recipe).unwrap();
        assert_eq!(
            other_recipe.knows(&source("db"), &Keys::Whole, &DigestKey::new(b"one")),
            Known::Version(version("7"))
        );
    }

    #[test]
    fn what_is_no_record_is_none() {
        for text in ["", "null", "{}", "[]", "{\"recipe\":1}", "nonsense"] {
            assert_eq!(Record::read(text), None, "{text}");
        }
        let (record, _) = record(&DigestKey::new(b"one"));
        assert_eq!(Record::read(&record.to_annotation().replace("\"7\"", "\"0\"")), None);
    }

    #[test]
    fn a_source_that_is_gone_keeps_what_was_known_of_it() {
        let key = DigestKey::new(b"one");
        let (older, digest) = record(&key);
        let mut newer = Record::new(&key, older.cause.clone());
        newer.carry_over(&source("db"), &older);
        assert_eq!(newer.knows(&source("db"), &Keys::Whole, &key), Known::Content(version("7"), digest));
    }

    #[test]
    fn every_rollout_has_a_tag_of_its_own() {
        let key = DigestKey::new(b"one");
        let (first, digest) = record(&key);
        let mut back_again = first.clone();
        back_again.note(&source("db"), &Keys::Whole, version("9"), digest);
        assert_ne!(first.tag(), back_again.tag());
        assert_eq!(first.tag(), record(&key).0.tag());
    }

    #[test]
    fn what_is_noted_later_leaves_the_tag_of_the_rollout() {
        let key = DigestKey::new(b"one");
        let (first, digest) = record(&key);
        let mut noted = first.clone();
        noted.note(&source("db"), &Keys::Whole, version("9"), digest);
        noted.keep_rollout(&first);
        let mut noted_again = noted.clone();
        noted_again.note(&source("db"), &Keys::Whole, version("11"), digest);
        noted_again.keep_rollout(&noted);
        assert_eq!([first.tag(), noted.tag()], [noted_again.tag(), noted_again.tag()]);
        assert_eq!(Record::read(&noted.to_annotation()), Some(noted));
    }

    #[test]
    fn events_are_the_same_where_source_and_id_are() {
        assert_eq!(EventTag::of("a", "b"), EventTag::of("a", "b"));
        assert_ne!(EventTag::of("ab", ""), EventTag::of("a", "b"));
    }

    #[test]
    fn tags_of_keys_tell_selections_apart() {
        let tags =
            [Keys::Whole, named(&[]), named(&["a"]), named(&["a", "b"]), named(&["ab"])].map(|keys| keys_tag(&keys));
        let distinct: std::collections::BTreeSet<_> = tags.iter().collect();
        assert_eq!(distinct.len(), tags.len());
    }
}
