//! The key of all digests in a Secret that the first process to find none makes.
//!
//! Invariants: all processes have one key, whoever makes it, as a name can be made once; the key is in no log and no error.
//! Left out: keys that the operator gives (rule_settings.rs).

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Error};
use tokio::time::timeout;

use crate::reload::refusal::FIELD_MANAGER;
use crate::reload::source::{Namespace, SourceKind, SourceRef};

/// The key of the Secret's data.
const DATA_KEY: &str = "digest-key";
/// As many bytes as the hash has: more add nothing.
const KEY_BYTES: usize = 32;

/// Where the key is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeySecret {
    /// `None`: the namespace of the process.
    namespace: Option<Namespace>,
    name: String,
}

/// Why there is no key: one sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// A right is missing.
    #[error(
        "the digest key cannot be read or made: allow the verb {verb:?} on the Secret {secret} to Confroll's service account"
    )]
    Forbidden {
        /// The verb of the missing rule.
        verb: &'static str,
        /// Which Secret.
        secret: String,
    },
    /// The Secret holds something else.
    #[error("the Secret {0} has no key {DATA_KEY:?}, or an empty one; name another in CONFROLL_DIGEST_KEY_SECRET")]
    NoKey(String),
    /// The API server does not answer as it should.
    #[error("the digest key cannot be read or made, as the API server does not {verb} the Secret {secret}: {source}")]
    Unavailable {
        /// What was tried.
        verb: &'static str,
        /// Which Secret.
        secret: String,
        /// What the connection, or the server, said.
        source: Box<Error>,
    },
    /// Nor in time.
    #[error("the API server did not answer within {0:?} when it was asked for the Secret with the digest key")]
    Late(Duration),
    /// The kernel has no randomness.
    #[error("the system has no random bytes for a digest key")]
    NoRandomness,
}

impl KeySecret {
    /// Reads `NAME` or `NAMESPACE/NAME`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        const HOW: &str = "is no name of a Secret; write NAME, or NAMESPACE/NAME";
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, text),
        };
        let namespace = namespace.map(Namespace::parse).transpose().map_err(|_| HOW)?;
        let anywhere = Namespace::parse("any").map_err(|_| HOW)?;
        // A name of a Secret is what a source can be called.
        SourceRef::new(SourceKind::Secret, namespace.clone().unwrap_or(anywhere), name).map_err(|_| HOW)?;
        Ok(Self { namespace, name: name.to_owned() })
    }

    /// The key, which is made where there is none.
    pub async fn key(&self, client: &Client, deadline: Duration) -> Result<Vec<u8>, KeyError> {
        timeout(deadline, self.read_or_make(client)).await.map_err(|_| KeyError::Late(deadline))?
    }

    async fn read_or_make(&self, client: &Client) -> Result<Vec<u8>, KeyError> {
        let namespace = self.namespace.as_ref().map_or(client.default_namespace(), Namespace::as_str);
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        let called = format!("{namespace}/{}", self.name);
        let get = async || {
            let found = secrets.get_opt(&self.name).await.map_err(|error| failed("get", &called, error))?;
            found.map(|secret| held(secret).ok_or_else(|| KeyError::NoKey(called.clone()))).transpose()
        };
        if let Some(key) = get().await? {
            return Ok(key);
        }
        let params = PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        match secrets.create(&params, &self.with(&random_key()?)).await {
            Ok(_) => tracing::info!(secret = called, "a digest key was made"),
            // Another process was faster.
            Err(Error::Api(status)) if status.code == 409 => {}
            Err(error) => return Err(failed("create", &called, error)),
        }
        // Read, whoever made it: what is there is what the next process finds.
        get().await?.ok_or(KeyError::NoKey(called))
    }

    fn with(&self, key: &[u8]) -> Secret {
        let labels = [("app.kubernetes.io/managed-by".to_owned(), FIELD_MANAGER.to_owned())];
        Secret {
            metadata: ObjectMeta {
                name: Some(self.name.clone()),
                labels: Some(labels.into()),
                ..ObjectMeta::default()
            },
            data: Some(BTreeMap::from([(DATA_KEY.to_owned(), ByteString(key.to_vec()))])),
            // Another key makes every record tell nothing.
            immutable: Some(true),
            ..Secret::default()
        }
    }
}

impl fmt::Display for KeySecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

fn held(secret: Secret) -> Option<Vec<u8>> {
    secret.data?.remove(DATA_KEY).map(|ByteString(key)| key).filter(|key| !key.is_empty())
}

fn random_key() -> Result<Vec<u8>, KeyError> {
    let mut key = vec![0; KEY_BYTES];
    let random = rustls::crypto::ring::default_provider().secure_random;
    random.fill(&mut key).map_err(|_| KeyError::NoRandomness)?;
    Ok(key)
}

fn failed(verb: &'static str, secret: &str, error: Error) -> KeyError {
    let secret = secret.to_owned();
    match error {
        Error::Api(status) if matches!(status.code, 401 | 403) => KeyError::Forbidden { verb, secret },
        source => KeyError::Unavailable { verb, secret, source: Box::new(source) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_named_alone_or_with_its_namespace() {
        let named = |text: &str| KeySecret::parse(text).map(|it| (it.namespace.map(|it| it.to_string()), it.name));
        assert_eq!(named("confroll-digest-key"), Ok((None, "confroll-digest-key".to_owned())));
        assert_eq!(named("ops/key"), Ok((Some("ops".to_owned()), "key".to_owned())));
        for text in ["Key", "a/b/c", "/key", "ops/", "ops/../key", "key "] {
            assert!(named(text).is_err(), "{text}");
        }
    }

    #[test]
    fn every_key_is_another() {
        let (one, other) = (random_key().unwrap(), random_key().unwrap());
        assert_eq!((one.len(), other.len()), (KEY_BYTES, KEY_BYTES));
        assert_ne!(one, other);
    }
}
