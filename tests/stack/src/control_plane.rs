//! A Kubernetes control plane: etcd, kube-apiserver, kube-controller-manager.
//!
//! Invariant: it is ready when it is returned. There are no nodes: pods are made, but none runs.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::{Api, Client, api::PostParams};
use serde_json::{Value, json};

use crate::{
    access::{Access, Credentials, User},
    audit::{Audit, POLICY},
    loopback::http,
    object::{JSON, send},
    part::Part,
    parts::Parts,
    port::with_free_ports,
    run_folder::RunFolder,
};

const START: Duration = Duration::from_secs(90);

/// What a test may want otherwise.
#[derive(Debug, Clone)]
pub struct ControlPlaneOptions {
    /// Whether kube-controller-manager runs: it makes service accounts, and pods for Deployments.
    pub controllers: bool,
    /// How often the past is forgotten; Kubernetes' default is five minutes.
    pub compaction_interval: Duration,
    /// Further flags of kube-apiserver; they win over ours.
    pub apiserver_flags: Vec<String>,
}

impl Default for ControlPlaneOptions {
    fn default() -> Self {
        Self { controllers: true, compaction_interval: Duration::from_mins(5), apiserver_flags: Vec::new() }
    }
}

/// A running control plane.
#[derive(Debug)]
pub struct ControlPlane {
    // In the order in which they end.
    controller_manager: Option<Part>,
    apiserver: Part,
    etcd: Part,
    access: Access,
    namespaces: AtomicU32,
    folder: Arc<RunFolder>,
}

impl ControlPlane {
    /// Starts all and waits until they serve.
    pub async fn start(parts: &Parts, options: ControlPlaneOptions) -> Result<Self> {
        let folder = Arc::new(RunFolder::new()?);
        let credentials = Credentials::make(&folder)?;
        let (etcd, etcd_url) = start_etcd(parts, &folder).await?;
        let starter = ApiserverStarter { parts, folder: &folder, credentials: &credentials, options: &options };
        let (apiserver, access) = starter.start(&etcd_url).await?;
        let controller_manager = if options.controllers {
            Some(start_controller_manager(parts, &folder, &credentials, &access).await?)
        } else {
            None
        };
        Ok(Self { controller_manager, apiserver, etcd, access, namespaces: AtomicU32::new(1), folder })
    }

    /// Kills the API server and starts it again, at its address.
    pub async fn restart_apiserver(&mut self) -> Result<()> {
        self.apiserver.start_again()?;
        until_ready(&self.apiserver, &self.access).await
    }

    /// The API server's address.
    #[must_use]
    pub fn url(&self) -> &str {
        self.access.url()
    }

    /// A client as admin. Made for the calling runtime: do not share it with another.
    pub async fn client(&self) -> Result<Client> {
        self.access.client(User::Admin).await
    }

    /// A client as another user.
    pub async fn client_for(&self, user: User) -> Result<Client> {
        self.access.client(user).await
    }

    /// The kubeconfig file of a user.
    #[must_use]
    pub fn kubeconfig_for(&self, user: User) -> PathBuf {
        self.access.kubeconfig_path(user)
    }

    /// The bearer token of a user.
    #[must_use]
    pub fn token(&self, user: User) -> String {
        self.access.token(user)
    }

    /// The record of all requests.
    #[must_use]
    pub fn audit(&self) -> Audit {
        Audit::new(self.audit_log_path(), self.access.clone())
    }

    /// The file behind [`audit`](Self::audit).
    #[must_use]
    pub fn audit_log_path(&self) -> PathBuf {
        audit_log(&self.folder)
    }

    /// Makes a namespace that nobody else has.
    pub async fn create_namespace(&self, prefix: &str) -> Result<String> {
        let name = format!("{prefix}-{}", self.namespaces.fetch_add(1, Ordering::Relaxed));
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        let api: Api<Namespace> = Api::all(self.client().await?);
        api.create(&PostParams::default(), &namespace).await.with_context(|| format!("Namespace {name}"))?;
        Ok(name)
    }

    /// Gives a user rights in all namespaces, as the rules of a ClusterRole; once for each user.
    pub async fn allow(&self, user: User, rules: &Value) -> Result<()> {
        let (client, name) = (self.client().await?, user.name());
        let role = json!({"metadata": {"name": name}, "rules": rules});
        let binding = json!({
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": name}],
        });
        for (plural, object) in [("clusterroles", role), ("clusterrolebindings", binding)] {
            send(&client, "POST", &format!("/apis/rbac.authorization.k8s.io/v1/{plural}"), JSON, &object).await?;
        }
        Ok(())
    }

    /// To be killed by a test that has this control plane alone.
    #[must_use]
    pub fn apiserver(&self) -> &Part {
        &self.apiserver
    }

    /// To be killed by a test that has this control plane alone.
    #[must_use]
    pub fn etcd(&self) -> &Part {
        &self.etcd
    }

    /// To be killed by a test that has this control plane alone.
    #[must_use]
    pub fn controller_manager(&self) -> Option<&Part> {
        self.controller_manager.as_ref()
    }

    pub(crate) fn access(&self) -> &Access {
        &self.access
    }

    pub(crate) fn folder(&self) -> &Arc<RunFolder> {
        &self.folder
    }
}

fn audit_log(folder: &RunFolder) -> PathBuf {
    folder.path().join("audit.log")
}

fn flag(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

async fn start_etcd(parts: &Parts, folder: &RunFolder) -> Result<(Part, String)> {
    let program = parts.program("etcd")?;
    with_free_ports(async |[clients, peers]| {
        let (url, peer) = (format!("http://127.0.0.1:{clients}"), format!("http://127.0.0.1:{peers}"));
        let args = [
            flag("data-dir", &folder.path().join("etcd")),
            format!("--listen-client-urls={url}"),
            format!("--advertise-client-urls={url}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
            // What survives the machine is of no use here, and waiting for the disk is slow.
            "--unsafe-no-fsync".to_owned(),
        ];
        let etcd = Part::start("etcd", folder.path(), &program, args, [("ETCD_LOG_LEVEL", "warn")])?;
        let http = http()?;
        let health = format!("{url}/health");
        etcd.until("its health", START, async || http.get(&health).send().await.ok()?.error_for_status().ok()).await?;
        Ok((etcd, url))
    })
    .await
}

async fn until_ready(apiserver: &Part, access: &Access) -> Result<()> {
    let client = access.client(User::Admin).await?;
    let ready = || http::Request::get("/readyz").body(Vec::new()).ok();
    apiserver.until("readiness", START, async || client.request_text(ready()?).await.ok()).await?;
    Ok(())
}

struct ApiserverStarter<'a> {
    parts: &'a Parts,
    folder: &'a RunFolder,
    credentials: &'a Credentials,
    options: &'a ControlPlaneOptions,
}

impl ApiserverStarter<'_> {
    async fn start(&self, etcd_url: &str) -> Result<(Part, Access)> {
        let program = self.parts.program("kube-apiserver")?;
        let policy = self.folder.write("audit-policy.json", POLICY)?;
        with_free_ports(async |[port]| {
            let args = self.args(etcd_url, port, &policy);
            let server = Part::start("kube-apiserver", self.folder.path(), &program, args, NO_ENV)?;
            let access = Access::new(format!("https://127.0.0.1:{port}"), self.credentials, self.folder)?;
            until_ready(&server, &access).await?;
            Ok((server, access))
        })
        .await
    }

    fn args(&self, etcd_url: &str, port: u16, policy: &Path) -> Vec<String> {
        let credentials = self.credentials;
        let mut args = vec![
            format!("--etcd-servers={etcd_url}"),
            format!("--etcd-compaction-interval={}ms", self.options.compaction_interval.as_millis()),
            "--bind-address=127.0.0.1".to_owned(),
            "--advertise-address=127.0.0.1".to_owned(),
            // Nobody reaches the server through the Service `kubernetes`, whose endpoints may not be loopback.
            "--endpoint-reconciler-type=none".to_owned(),
            format!("--secure-port={port}"),
            flag("tls-cert-file", &credentials.certificate),
            flag("tls-private-key-file", &credentials.key),
            flag("token-auth-file", &credentials.tokens),
            "--authorization-mode=RBAC".to_owned(),
            flag("service-account-key-file", &credentials.signer_public),
            flag("service-account-signing-key-file", &credentials.signer),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            flag("audit-policy-file", policy),
            flag("audit-log-path", &audit_log(self.folder)),
            // One file: a mark is a place in it.
            "--audit-log-maxsize=1000000".to_owned(),
        ];
        args.extend(self.options.apiserver_flags.iter().cloned());
        args
    }
}

const NO_ENV: [(&str, &str); 0] = [];

async fn start_controller_manager(
    parts: &Parts,
    folder: &RunFolder,
    credentials: &Credentials,
    access: &Access,
) -> Result<Part> {
    let args = [
        flag("kubeconfig", &access.kubeconfig_path(User::ControllerManager)),
        flag("service-account-private-key-file", &credentials.signer),
        flag("root-ca-file", &credentials.authority),
        "--leader-elect=false".to_owned(),
        "--secure-port=0".to_owned(),
    ];
    let program = parts.program("kube-controller-manager")?;
    let manager = Part::start("kube-controller-manager", folder.path(), &program, args, NO_ENV)?;
    // It has no port to ask at; this is the first thing that a workload needs of it.
    let accounts: Api<ServiceAccount> = Api::namespaced(access.client(User::Admin).await?, "default");
    let what = "the default service account";
    manager.until(what, START, async || accounts.get_opt("default").await.ok().flatten()).await?;
    Ok(manager)
}
