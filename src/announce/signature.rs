//! Signs what a webhook is sent, as Standard Webhooks has it, so that the receiver can tell that it is from us.
//!
//! Invariant: the key is shown nowhere.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use sha2::Sha256;

/// The key that both sides know.
#[derive(Clone, PartialEq, Eq)]
pub struct SigningKey(Vec<u8>);

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl SigningKey {
    /// Reads a key as Standard Webhooks writes it: `whsec_` and the base64 of 24 to 64 bytes.
    pub fn parse(text: &[u8]) -> Result<Self, &'static str> {
        const WRITTEN: &str = "is not written as whsec_ and the base64 of 24 to 64 random bytes";
        let base64 = text.trim_ascii().strip_prefix(b"whsec_").ok_or(WRITTEN)?;
        let key = STANDARD.decode(base64).map_err(|_| WRITTEN)?;
        if (24..=64).contains(&key.len()) { Ok(Self(key)) } else { Err(WRITTEN) }
    }

    /// The headers that sign a body: who checks them wants the id, the time and the body as they were sent.
    #[must_use]
    pub fn headers(&self, id: &str, at: Timestamp, body: &[u8]) -> [(String, String); 3] {
        let at = at.as_second().to_string();
        let Ok(mut hmac) = Hmac::<Sha256>::new_from_slice(&self.0) else {
            unreachable!("HMAC takes keys of any length")
        };
        for part in [id.as_bytes(), b".", at.as_bytes(), b".", body] {
            hmac.update(part);
        }
        let signature = format!("v1,{}", STANDARD.encode(hmac.finalize().into_bytes()));
        [("webhook-id", id.to_owned()), ("webhook-timestamp", at), ("webhook-signature", signature)]
            .map(|(name, value)| (name.to_owned(), value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification (standard-webhooks, "Signature scheme").
    #[test]
    fn it_signs_as_the_specification_does() {
        let key = SigningKey::parse(b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n").unwrap();
        let at = Timestamp::from_second(1_614_265_330).unwrap();
        let headers = key.headers("msg_p5jXN8AQM9LWM0D4loKWxJek", at, br#"{"test": 2432232314}"#);
        assert_eq!(headers[2].1, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        assert_eq!(format!("{key:?}"), "[redacted]");
    }

    #[test]
    fn a_key_that_could_be_guessed_is_none() {
        for text in ["", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_!!", "whsec_c2hvcnQ="] {
            assert!(SigningKey::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
