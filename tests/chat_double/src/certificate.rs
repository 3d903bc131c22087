//! A certificate authority of one server's life. Invariant: nobody trusts it unless told to, so a client without
//! [`Identity::ca_pem`] meets a bad certificate.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair, KeyUsagePurpose};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio_rustls::TlsAcceptor;

/// The two names of loopback.
const NAMES: [&str; 2] = ["localhost", "127.0.0.1"];

/// What a TLS server shows, and who vouches for it.
pub(crate) struct Identity {
    pub(crate) acceptor: TlsAcceptor,
    pub(crate) ca_pem: String,
}

impl Identity {
    /// A new authority and a server certificate of it.
    pub(crate) fn new(more_names: &[&str]) -> anyhow::Result<Self> {
        let mut ca = CertificateParams::new(Vec::new())?;
        ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        ca.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let ca = CertifiedIssuer::self_signed(ca, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let names = NAMES.iter().chain(more_names).map(|name| (*name).to_owned());
        let server = CertificateParams::new(names.collect::<Vec<_>>())?.signed_by(&key, &ca)?;
        let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_no_client_auth()
            .with_single_cert(vec![server.der().clone()], key)?;
        Ok(Self { acceptor: TlsAcceptor::from(Arc::new(config)), ca_pem: ca.pem() })
    }
}
