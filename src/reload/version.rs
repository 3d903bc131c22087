//! The version of an object, as the API server counts it.
//!
//! Invariant: a version that is held here is a positive whole number, so it always works as a precondition (the API
//! server takes "" and "0" for none at all, without a word) and can be compared. Kubernetes promises the order
//! within a kind since 1.35 (KEP-5504); across kinds it holds where they share one etcd, which reads of the past
//! rely on too.
//! Left out: the opaque versions that other API servers might use; an object that has one is refused at the door.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A resourceVersion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Version(u64);

impl Version {
    /// The version just before this one: the state that this one replaced. Nothing comes before the first.
    #[must_use]
    pub fn before(self) -> Option<Self> {
        self.back(1)
    }

    /// The version `steps` before this one.
    #[must_use]
    pub fn back(self, steps: u64) -> Option<Self> {
        self.0.checked_sub(steps).filter(|&number| number > 0).map(Self)
    }

    /// A version halfway between this one and a later one, if there is any between them.
    #[must_use]
    pub fn middle(self, later: Self) -> Option<Self> {
        Some(self.0.midpoint(later.0)).filter(|&number| self.0 < number && number < later.0).map(Self)
    }
}

/// When a version of a source can tell more than an earlier look at it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum News {
    /// Whenever it is another: there is one object, and what it holds is what there is.
    OfAnotherVersion,
    /// Only where it is later: there are many objects, and those that go away show what older ones still hold.
    OfLaterVersion,
    /// Never: it only says where pods started.
    Never,
}

impl News {
    /// Whether a version tells more than one that was seen.
    #[must_use]
    pub fn tells(self, version: Version, seen: Version) -> bool {
        match self {
            Self::OfAnotherVersion => version != seen,
            Self::OfLaterVersion => version > seen,
            Self::Never => false,
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl From<Version> for String {
    fn from(version: Version) -> Self {
        version.to_string()
    }
}

impl TryFrom<String> for Version {
    type Error = VersionError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse().ok().filter(|&number| number > 0).map(Self).ok_or(VersionError(text))
    }
}

/// A version that is no positive whole number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the resourceVersion {0:?} is no positive whole number")]
pub struct VersionError(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_that_would_be_no_precondition_is_refused() {
        for text in ["", "0", "-1", "x", "1.5"] {
            assert!(Version::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn versions_are_ordered_by_number_and_end_at_the_first() {
        let version = |text: &str| Version::try_from(text.to_owned()).unwrap();
        assert!(version("9") < version("10"));
        assert_eq!(version("10").before(), Some(version("9")));
        assert_eq!(version("1").before(), None);
        assert_eq!(version("5").back(9), None);
        assert_eq!(version("5").middle(version("9")), Some(version("7")));
        assert_eq!(version("5").middle(version("7")), Some(version("6")));
        assert_eq!(version("5").middle(version("6")), None);
        assert_eq!(version("9").middle(version("5")), None);
    }
}
