//! Who may send events, where that is asked for: callers with a token of the cluster, made out for us, of somebody on a
//! list. What Knative calls OIDC.
//!
//! Invariants: the API server judges each token (TokenReview: signature, issuer, end, audience), so there are no keys
//! to fetch and none to grow old here; a token is kept as a digest only, and shown nowhere; off unless it is set.
//! Left out: what a caller may ask for: an event is a hint, whoever sends it.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::{HeaderMap, Request, header};
use kube::client::Body;
use lru::LruCache;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::cluster::{Cluster, JSON};
use super::cluster_error::{Call, ClusterError};
use crate::reload::source_object::ShapeError;

/// How many callers are remembered.
const REMEMBERED: NonZeroUsize = NonZeroUsize::new(256).unwrap();
/// For how long: a burst of one caller is one review, and a revoked token is good for this long at most.
const REMEMBERED_FOR: Duration = Duration::from_mins(1);

/// Who may send events, as it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerRules {
    /// What a token must be made out for.
    pub audience: String,
    /// Who may hold it, such as `system:serviceaccount:knative-eventing:mt-broker-filter`.
    pub subjects: BTreeSet<String>,
}

/// Why a caller is not let in.
#[derive(Debug, thiserror::Error)]
pub enum CallerError {
    /// There is no token.
    #[error("a bearer token is missing")]
    NoToken,
    /// The API server does not know it, or it is for somebody else.
    #[error("the bearer token is not valid here")]
    BadToken,
    /// It is of somebody who is not on the list.
    #[error("the caller {0} is not on the list CONFROLL_CALLERS")]
    NotListed(String),
    /// The API server could not be asked.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
}

/// Checks callers.
#[derive(Clone)]
pub struct Callers {
    cluster: Cluster,
    rules: Arc<CallerRules>,
    known: Arc<Mutex<Known>>,
}

/// By a digest of the token: who holds it, and when that was found.
type Known = LruCache<[u8; 32], (String, Instant)>;

#[derive(Deserialize)]
struct Review {
    #[serde(default)]
    status: Status,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    authenticated: bool,
    audiences: Vec<String>,
    user: User,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct User {
    username: String,
}

impl Callers {
    /// Checks by these rules.
    #[must_use]
    pub fn new(cluster: Cluster, rules: CallerRules) -> Self {
        Self { cluster, rules: Arc::new(rules), known: Arc::new(Mutex::new(LruCache::new(REMEMBERED))) }
    }

    /// Lets a caller in, or says why not.
    pub async fn check(&self, headers: &HeaderMap) -> Result<(), CallerError> {
        let token = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = token.and_then(|value| value.strip_prefix("Bearer ")).ok_or(CallerError::NoToken)?.trim();
        let subject = self.subject(token).await?;
        if self.rules.subjects.contains(&subject) { Ok(()) } else { Err(CallerError::NotListed(subject)) }
    }

    async fn subject(&self, token: &str) -> Result<String, CallerError> {
        let digest: [u8; 32] = Sha256::digest(token).into();
        if let Some((subject, at)) = self.known().get(&digest)
            && at.elapsed() < REMEMBERED_FOR
        {
            return Ok(subject.clone());
        }
        let status = self.cluster.review(token, &self.rules.audience).await?;
        // A server that does not know of audiences leaves them out: then nobody has said for whom the token is.
        if !status.authenticated || !status.audiences.contains(&self.rules.audience) {
            return Err(CallerError::BadToken);
        }
        self.known().put(digest, (status.user.username.clone(), Instant::now()));
        Ok(status.user.username)
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cluster {
    /// What the API server says of a token.
    async fn review(&self, token: &str, audience: &str) -> Result<Status, ClusterError> {
        let call = Call::everywhere("create", "tokenreviews");
        let review = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenReview",
            "spec": { "token": token, "audiences": [audience] },
        });
        let request = Request::post("/apis/authentication.k8s.io/v1/tokenreviews")
            .header(header::CONTENT_TYPE, JSON)
            .header(header::ACCEPT, JSON)
            .body(Body::from(review.to_string().into_bytes()));
        let json = self.send(&call, request.map_err(|_| ClusterError::BadPath)?).await?;
        let review: Review = serde_json::from_slice(&json).map_err(|error| ShapeError::new("a TokenReview", &error))?;
        Ok(review.status)
    }
}
