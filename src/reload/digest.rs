//! Keyed digests of texts, from which nobody can guess what the texts were.
//!
//! Invariants: a digest depends on nothing but the key and the texts, and no two lists of texts share an encoding.
//! Left out: which texts make up a content (content.rs) and where a digest is kept (record.rs).

use std::fmt;

use hmac::{Hmac, KeyInit, Mac};
use serde::{Deserialize, Serialize};
use sha2::Sha256;

/// The recipe of all digests. A change to an encoding is another number, so that old records are known
/// for what they are and adopted, not compared.
pub const RECIPE: u32 = 1;

/// What makes a digest worthless to whoever wants to guess a short password from it.
#[derive(Clone)]
pub struct DigestKey {
    mac: Hmac<Sha256>,
    id: KeyId,
}

impl fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DigestKey({})", self.id.0)
    }
}

impl DigestKey {
    /// The key that is used where none was given. Everybody knows it, so a digest made with it can be guessed.
    pub const FIXED: &'static [u8] = b"confroll without CONFROLL_DIGEST_KEY";

    /// Makes a key of any bytes; 32 random ones are best.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        // HMAC takes keys of every length (RFC 2104), hashing the long ones, so this default is never taken.
        let mac = Hmac::<Sha256>::new_from_slice(bytes)
            .unwrap_or_else(|_| Hmac::new(&hmac::digest::Key::<Hmac<Sha256>>::default()));
        let mut id = mac.clone();
        id.update(b"confroll key id");
        Self { mac, id: KeyId(hex(&truncated(id)[..4])) }
    }

    /// A short name of this key, from which the key cannot be found.
    #[must_use]
    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// The digest of some texts, each with its length: HMAC-SHA256, cut to 128 bits. The first says what they are.
    #[must_use]
    pub(super) fn digest<'a>(&self, texts: impl IntoIterator<Item = &'a str>) -> Digest {
        let mut mac = self.mac.clone();
        for text in texts {
            mac.update(&(text.len() as u64).to_be_bytes());
            mac.update(text.as_bytes());
        }
        Digest(truncated(mac))
    }
}

/// The short name of a digest key: 8 hex digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct KeyId(String);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A keyed digest: 32 hex digits as text.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Digest([u8; 16]);

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

impl TryFrom<String> for Digest {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        u128::from_str_radix(&text, 16)
            .ok()
            .filter(|_| text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()))
            .map(|number| Self(number.to_be_bytes()))
            .ok_or("a digest is 32 hex digits")
    }
}

/// Two lower-case hex digits a byte.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

fn truncated(mac: Hmac<Sha256>) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&mac.finalize().into_bytes()[..16]);
    short
}
