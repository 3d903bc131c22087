//! The token with which a Broker lets us in, from the file where Knative keeps it fresh.
//!
//! Invariants: it is read anew for each event, as it lives for an hour; it is in no log and no error.
//! Left out: the tokens of those who call us (callers.rs).

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use http::HeaderValue;

/// Where a SinkBinding mounts it, where Knative checks tokens.
const OF_SINK_BINDING: &str = "/oidc/token";

/// Where the token is.
#[derive(Clone, Debug, Default)]
pub enum SinkToken {
    /// Where a SinkBinding puts it, if it does.
    #[default]
    OfSinkBinding,
    /// In this file, which has to be there.
    File(PathBuf),
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// The file cannot be read.
    #[error("the token for the sink cannot be read from {}: {kind}", .file.display())]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// Why.
        kind: ErrorKind,
    },
    /// It holds something else.
    #[error("{} holds no token", .0.display())]
    NoToken(PathBuf),
}

impl SinkToken {
    /// The header that shows it; none where nobody asks for one.
    pub(super) fn header(&self) -> Result<Option<HeaderValue>, TokenError> {
        let (file, has_to_be) = match self {
            Self::OfSinkBinding => (Path::new(OF_SINK_BINDING), false),
            Self::File(file) => (file.as_path(), true),
        };
        // The volume of a Secret is in memory, so this holds nothing up.
        let token = match std::fs::read_to_string(file) {
            Ok(token) => token,
            Err(error) if error.kind() == ErrorKind::NotFound && !has_to_be => return Ok(None),
            Err(error) => return Err(TokenError::Unreadable { file: file.to_owned(), kind: error.kind() }),
        };
        let value = HeaderValue::try_from(format!("Bearer {}", token.trim())).ok().filter(|_| !token.trim().is_empty());
        let mut value = value.ok_or_else(|| TokenError::NoToken(file.to_owned()))?;
        value.set_sensitive(true);
        Ok(Some(value))
    }
}
