//! HTTP to servers on this machine.
//!
//! Invariant: no proxy is asked, whatever the user's environment says, and the TLS of the whole tree is ring's.

use std::sync::Once;

use anyhow::Result;

/// A client of its own for the calling runtime.
pub(crate) fn http() -> Result<reqwest::Client> {
    provide_tls();
    Ok(reqwest::Client::builder().no_proxy().build()?)
}

/// To be called before the first client is made.
pub(crate) fn provide_tls() {
    static PROVIDED: Once = Once::new();
    PROVIDED.call_once(|| {
        // Fails when the program itself has installed one: as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
}
