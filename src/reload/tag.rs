//! Short names that stand for texts: of events, records and reports.
//!
//! Invariant: what is hashed here is no content, and no two lists of texts are hashed alike.
//! Left out: digests of content, which take a key (digest.rs).

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::digest::hex;

/// An event by a digest of its source and id: both are of any length and from anybody, so neither is stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventTag(String);

impl EventTag {
    /// The tag of an event; CloudEvents are one and the same where `source` and `id` are.
    #[must_use]
    pub fn of(source: &str, id: &str) -> Self {
        Self(tag(&[source, id]))
    }

    /// What a sweep is called in rollouts that were put off until it came: it tells those by themselves.
    #[must_use]
    pub fn for_what_is_due(&self) -> Self {
        Self(tag(&["due", &self.0]))
    }
}

/// 16 hex digits that stand for some texts. The parts are names and digests, so a plain hash gives nothing away.
pub(super) fn tag(parts: &[&str]) -> String {
    hex(&hash_of(parts.iter().copied())[..8])
}

/// A plain hash of some texts, each with its length, so that no two lists of texts have the same.
pub(crate) fn hash_of<'a>(parts: impl IntoIterator<Item = &'a str>) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().into()
}
