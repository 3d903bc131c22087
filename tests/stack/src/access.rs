//! Who may talk to the API server, and how: users, tokens, certificates, kubeconfigs.
//!
//! Invariant: tokens and keys are made for one run and are in its folder only. Each program has a user of its
//! own, so that the audit log tells them apart.

use std::path::PathBuf;

use anyhow::{Context, Result};
use kube::{
    Client, Config,
    config::{KubeConfigOptions, Kubeconfig},
};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::json;

use crate::{digest::digest, loopback::provide_tls, run_folder::RunFolder};

/// A user of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum User {
    /// May do all: the tests themselves.
    Admin,
    /// May do nothing until a test binds a role to the user `confroll`: the function.
    Confroll,
    /// May do nothing until a test binds a role to the user `confroll-watch`: the same without Knative.
    Watcher,
    /// May do nothing until a test binds a role to the user `peer`: a program to compare with.
    Peer,
    /// May do all: the ApiServerSource adapter.
    Adapter,
    /// May do all: kube-controller-manager.
    ControllerManager,
    /// May do all: Knative's Broker.
    Eventing,
}

impl User {
    const ALL: [Self; 7] = [
        Self::Admin,
        Self::Confroll,
        Self::Watcher,
        Self::Peer,
        Self::Adapter,
        Self::ControllerManager,
        Self::Eventing,
    ];

    /// The name that RBAC and the audit log know.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::Confroll => "confroll",
            Self::Watcher => "confroll-watch",
            Self::Peer => "peer",
            Self::Adapter => "adapter",
            Self::ControllerManager => "controller-manager",
            Self::Eventing => "eventing",
        }
    }

    fn groups(self) -> &'static str {
        match self {
            Self::Confroll | Self::Watcher | Self::Peer => "",
            Self::Admin | Self::Adapter | Self::ControllerManager | Self::Eventing => "system:masters",
        }
    }
}

/// The files that a control plane and its clients are given.
#[derive(Debug)]
pub(crate) struct Credentials {
    pub(crate) authority: PathBuf,
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
    pub(crate) signer: PathBuf,
    pub(crate) signer_public: PathBuf,
    pub(crate) tokens: PathBuf,
    seed: String,
}

impl Credentials {
    pub(crate) fn make(folder: &RunFolder) -> Result<Self> {
        let mut issuer = CertificateParams::new([])?;
        issuer.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(issuer, KeyPair::generate()?)?;
        let (key, signer) = (KeyPair::generate()?, KeyPair::generate()?);
        let signer_public = folder.write("service-account.pub", &signer.public_key_pem())?;
        let signer = signer.serialize_pem();
        let names = ["127.0.0.1", "localhost", "kubernetes.default.svc"].map(str::to_owned);
        let certificate = CertificateParams::new(names)?.signed_by(&key, &issuer)?;
        let seed = digest(&[&signer]);
        let row = |user: User| {
            let (token, name, groups) = (token(&seed, user), user.name(), user.groups());
            format!("{token},{name},{name},\"{groups}\"")
        };
        let tokens = User::ALL.map(row).join("\n");
        Ok(Self {
            authority: folder.write("ca.crt", &issuer.pem())?,
            certificate: folder.write("apiserver.crt", &certificate.pem())?,
            key: folder.write("apiserver.key", &key.serialize_pem())?,
            signer_public,
            signer: folder.write("service-account.key", &signer)?,
            tokens: folder.write("tokens.csv", &tokens)?,
            seed,
        })
    }
}

/// Ways in for each user, once the server's address is known.
#[derive(Debug, Clone)]
pub struct Access {
    url: String,
    seed: String,
    folder: PathBuf,
    kubeconfig: serde_json::Value,
}

impl Access {
    pub(crate) fn new(url: String, credentials: &Credentials, folder: &RunFolder) -> Result<Self> {
        let kubeconfig = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "stack",
            "clusters": [{"name": "stack", "cluster": {"server": url, "certificate-authority": credentials.authority}}],
            "contexts": [{"name": "stack", "context": {"cluster": "stack", "user": "stack"}}],
        });
        let access = Self { url, seed: credentials.seed.clone(), folder: folder.path().to_owned(), kubeconfig };
        for user in User::ALL {
            // JSON is YAML.
            folder.write(&file_name(user), &access.kubeconfig(user).to_string())?;
        }
        Ok(access)
    }

    /// Where the API server listens.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The user's bearer token.
    #[must_use]
    pub fn token(&self, user: User) -> String {
        token(&self.seed, user)
    }

    /// The user's kubeconfig file.
    #[must_use]
    pub fn kubeconfig_path(&self, user: User) -> PathBuf {
        self.folder.join(file_name(user))
    }

    /// A client of its own for the caller's runtime.
    pub async fn client(&self, user: User) -> Result<Client> {
        provide_tls();
        let kubeconfig: Kubeconfig = serde_json::from_value(self.kubeconfig(user))?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default())
            .await
            .context("The kubeconfig that was written for this run cannot be read")?;
        // All traffic stays on the machine, whatever proxy its user has.
        config.proxy_url = None;
        Ok(Client::try_from(config)?)
    }

    fn kubeconfig(&self, user: User) -> serde_json::Value {
        let mut kubeconfig = self.kubeconfig.clone();
        kubeconfig["users"] = json!([{"name": "stack", "user": {"token": self.token(user)}}]);
        kubeconfig
    }
}

fn file_name(user: User) -> String {
    format!("{}.kubeconfig", user.name())
}

fn token(seed: &str, user: User) -> String {
    digest(&[seed, user.name()])
}
