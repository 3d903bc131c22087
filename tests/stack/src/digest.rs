//! Digests as text, for names and tokens.
//!
//! Invariant: other texts, or the same divided otherwise, give another digest.

use axum::body::Bytes;
use sha2::{Digest, Sha256};

/// SHA-256 in hexadecimal.
pub(crate) fn digest(texts: &[&str]) -> String {
    let mut sha256 = Sha256::new();
    for text in texts {
        sha256.update(text.len().to_le_bytes());
        sha256.update(text);
    }
    format!("{:x}", Bytes::copy_from_slice(&sha256.finalize()))
}
