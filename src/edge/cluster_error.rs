//! What can go wrong with a call to the API server, by who has to act.
//!
//! Invariant: an error holds what was tried and, of a patch, the server's own words on it, never an object.
//! Left out: the HTTP status that we answer with (failure.rs).

use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;

use crate::reload::source::Namespace;
use crate::reload::source_object::ShapeError;

/// A call, as it is named in errors.
#[derive(Clone, Debug)]
pub struct Call {
    verb: &'static str,
    resource: &'static str,
    /// `None`: all namespaces.
    namespace: Option<Namespace>,
    tense: Tense,
}

/// Whether a call reads what is or what was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tense {
    Present,
    Past,
}

impl Call {
    /// A call on what is there now.
    #[must_use]
    pub fn new(verb: &'static str, resource: &'static str, namespace: &Namespace) -> Self {
        Self { verb, resource, namespace: Some(namespace.clone()), tense: Tense::Present }
    }

    /// A call on what is there now, in all namespaces.
    #[must_use]
    pub fn everywhere(verb: &'static str, resource: &'static str) -> Self {
        Self { verb, resource, namespace: None, tense: Tense::Present }
    }

    fn scope(&self) -> String {
        self.namespace.as_ref().map_or("all namespaces".to_owned(), |namespace| format!("namespace {namespace}"))
    }

    /// A call on what was there at an earlier version.
    #[must_use]
    pub fn past(verb: &'static str, resource: &'static str, namespace: &Namespace) -> Self {
        Self { tense: Tense::Past, ..Self::new(verb, resource, namespace) }
    }
}

impl std::fmt::Display for Call {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} in {}", self.verb, self.resource, self.scope())
    }
}

/// Why a call to the API server failed.
#[derive(Debug, thiserror::Error)]
pub enum ClusterError {
    /// No answer came.
    #[error("the API server cannot be reached to {call}: {source}")]
    Unreachable {
        /// What was tried.
        call: String,
        /// What the connection said.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// No answer came in time.
    #[error("the API server did not answer within {0:?} to {1}")]
    Late(Duration, String),
    /// It is overloaded, or broken for the moment, or refuses a read.
    #[error("the API server answered {status} to {call}")]
    Unavailable {
        /// What was tried.
        call: String,
        /// What it answered.
        status: StatusCode,
    },
    /// A right is missing.
    #[error("a right is missing: allow the verb {verb:?} on {resource:?} in {scope} to Confroll's service account")]
    Forbidden {
        /// The verb of the missing rule.
        verb: &'static str,
        /// Its resource.
        resource: &'static str,
        /// Where it is missing.
        scope: String,
    },
    /// The object is not there.
    #[error("not found")]
    NotFound,
    /// The object changed since it was read.
    #[error("the object changed while it was handled")]
    Conflict,
    /// The version that was asked for is forgotten.
    #[error("that version is no longer known")]
    Expired,
    /// The server does not read the past.
    #[error("the API server does not read earlier versions")]
    PastRefused,
    /// The server refuses the change itself, and would again.
    #[error("the API server refuses the change")]
    Refused {
        /// Its own words, which an admission webhook may fill with values: shown to nobody before
        /// [`without_values`](crate::reload::redaction::without_values).
        message: String,
    },
    /// The answer is not as Kubernetes writes it.
    #[error(transparent)]
    Shape(#[from] ShapeError),
    /// The answer is no text at all.
    #[error("the API server's answer is no UTF-8 text")]
    NotText,
    /// A name made no path; names are checked, so this cannot be.
    #[error("a name makes no path")]
    BadPath,
    /// The process is stopping.
    #[error("the process is stopping")]
    Stopping,
}

/// What a `Status` says, as far as it is needed.
#[derive(Default, Deserialize)]
struct Status {
    message: Option<String>,
}

impl ClusterError {
    pub(super) fn unreachable(call: &Call, error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        Self::Unreachable { call: call.to_string(), source: error.into() }
    }

    pub(super) fn late(call: &Call, deadline: Duration) -> Self {
        Self::Late(deadline, call.to_string())
    }

    /// Reads a refusal. A 429 has a plain text, so the status code decides.
    pub(super) fn refused(call: &Call, status: StatusCode, body: &[u8]) -> Self {
        let message = serde_json::from_slice::<Status>(body).unwrap_or_default().message.unwrap_or_default();
        match status.as_u16() {
            401 => Self::Forbidden { verb: call.verb, resource: call.resource, scope: call.scope() },
            // RBAC and an admission webhook both answer 403; only RBAC speaks of a user.
            403 if message.contains("is forbidden: User ") => {
                Self::Forbidden { verb: call.verb, resource: call.resource, scope: call.scope() }
            }
            404 => Self::NotFound,
            409 => Self::Conflict,
            410 => Self::Expired,
            429 | 500..=599 => Self::Unavailable { call: call.to_string(), status },
            _ if call.tense == Tense::Past => Self::PastRefused,
            // A patch holds no value of a Secret; what is said of a read is about what was read.
            _ if !matches!(call.verb, "patch" | "create") => Self::Unavailable { call: call.to_string(), status },
            _ => Self::Refused { message },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Check = fn(&ClusterError) -> bool;

    fn refused(call: &Call, status: u16, message: &str) -> ClusterError {
        let body = serde_json::json!({ "kind": "Status", "message": message }).to_string();
        ClusterError::refused(call, StatusCode::from_u16(status).unwrap(), body.as_bytes())
    }

    #[test]
    fn a_missing_right_is_named_as_the_rule_that_is_missing() {
        let call = Call::new("patch", "deployments", &Namespace::parse("shop").unwrap());
        let rbac = r#"deployments.apps "api" is forbidden: User "confroll" cannot patch resource "deployments" in API group "apps""#;
        let text = refused(&call, 403, rbac).to_string();
        assert!(text.contains(r#""patch""#) && text.contains(r#""deployments""#) && text.contains("shop"), "{text}");
        let admission = r#"admission webhook "policy.example" denied the request: no changes on Fridays"#;
        assert!(matches!(refused(&call, 403, admission), ClusterError::Refused { .. }));
    }

    #[test]
    fn what_may_work_later_differs_from_what_never_will() {
        let call = Call::new("patch", "deployments", &Namespace::parse("shop").unwrap());
        let rows: [(u16, Check); 7] = [
            (404, |error| matches!(error, ClusterError::NotFound)),
            (409, |error| matches!(error, ClusterError::Conflict)),
            (410, |error| matches!(error, ClusterError::Expired)),
            (422, |error| matches!(error, ClusterError::Refused { .. })),
            (429, |error| matches!(error, ClusterError::Unavailable { .. })),
            (500, |error| matches!(error, ClusterError::Unavailable { .. })),
            (504, |error| matches!(error, ClusterError::Unavailable { .. })),
        ];
        for (status, expected) in rows {
            let error = refused(&call, status, "x");
            assert!(expected(&error), "{status}: {error:?}");
        }
        let plain = ClusterError::refused(&call, StatusCode::TOO_MANY_REQUESTS, b"Too many requests");
        assert!(matches!(plain, ClusterError::Unavailable { .. }));
    }

    #[test]
    fn a_server_that_refuses_the_past_is_told_from_one_that_refuses_a_change() {
        let call = Call::past("list", "secrets", &Namespace::parse("shop").unwrap());
        assert!(matches!(refused(&call, 400, "x"), ClusterError::PastRefused));
        assert!(matches!(refused(&call, 410, "x"), ClusterError::Expired));
    }
}
