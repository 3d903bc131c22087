//! Knative's ApiServerSource: its real receive adapter, told what a source's spec would tell it.
//!
//! Invariant: when it is returned, its watches are in place: it misses no change that comes after.

use std::{
    net::{Ipv4Addr, TcpListener},
    os::unix::fs::symlink,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

use crate::{
    access::User,
    control_plane::ControlPlane,
    eventing::{PROBE_PORT_LOCK, client_environment},
    lock::Lock,
    part::Part,
    parts::Parts,
    run_folder::RunFolder,
};

const START: Duration = Duration::from_mins(1);
const RESOURCES: [&str; 2] = ["configmaps", "secrets"];
const PROBE_PORT: u16 = 8080;

/// As an ApiServerSource's spec, for ConfigMaps and Secrets in mode Reference.
#[derive(Debug, Clone)]
pub struct SourceOptions {
    /// Where events go.
    pub sink: String,
    /// The namespaces to watch; none means all.
    pub namespaces: Option<Vec<String>>,
    /// Extensions that each event carries in addition.
    pub ce_overrides: Map<String, Value>,
}

impl SourceOptions {
    /// All namespaces, nothing added.
    #[must_use]
    pub fn new(sink: &str) -> Self {
        Self { sink: sink.to_owned(), namespaces: None, ce_overrides: Map::new() }
    }

    /// This namespace only.
    #[must_use]
    pub fn in_namespace(self, namespace: &str) -> Self {
        Self { namespaces: Some(vec![namespace.to_owned()]), ..self }
    }

    /// The adapter's own words for it.
    fn source_config(&self) -> Value {
        let resource = |name| json!({"gvr": {"Group": "", "Version": "v1", "Resource": name}});
        json!({
            "namespaces": self.namespaces.clone().unwrap_or_else(|| vec![String::new()]),
            "allNamespaces": self.namespaces.is_none(),
            "resources": RESOURCES.map(resource),
            "mode": "Reference",
        })
    }

    fn expected_watches(&self) -> usize {
        RESOURCES.len() * self.namespaces.as_ref().map_or(1, Vec::len)
    }
}

/// A running adapter; it ends with its value.
#[derive(Debug)]
pub struct ApiServerSource {
    adapter: Part,
    _folder: Arc<RunFolder>,
}

impl ApiServerSource {
    /// Starts an adapter and waits until it watches.
    pub async fn start(control_plane: &ControlPlane, parts: &Parts, options: &SourceOptions) -> Result<Self> {
        static STARTED: AtomicU32 = AtomicU32::new(1);
        let name = format!("adapter-{}", STARTED.fetch_add(1, Ordering::Relaxed));
        let folder = control_plane.folder().clone();
        // The program's name is its user agent: with one of its own, its watches are told from another's.
        let program = folder.path().join(&name);
        symlink(parts.program("apiserver_receive_adapter")?, &program).context("The adapter gets no name")?;
        let audit = control_plane.audit();
        let before = audit.end_of_last_line()?;
        let _occupied = ProbePort::occupy(parts).await?;
        let adapter = start_adapter(&name, folder.path(), &program, control_plane, options)?;
        let watching = async || {
            let mut watches = audit.watches_since(before, &format!("{name}/")).ok()?;
            watches.sort_unstable();
            watches.dedup();
            // The port must be occupied until the adapter has tried to take it.
            let tried = adapter.log().contains("Probes server listening");
            (tried && watches.len() == options.expected_watches()).then_some(())
        };
        adapter.until("the start of its watches", START, watching).await?;
        Ok(Self { adapter, _folder: folder })
    }

    /// Kills the adapter and starts it again; it does not wait until it watches.
    pub fn restart(&mut self) -> Result<()> {
        self.adapter.start_again()
    }

    /// To be killed, or its log to be read.
    #[must_use]
    pub fn adapter(&self) -> &Part {
        &self.adapter
    }
}

fn start_adapter(
    name: &str,
    folder: &Path,
    program: &Path,
    control_plane: &ControlPlane,
    options: &SourceOptions,
) -> Result<Part> {
    let mut env = client_environment(control_plane, User::Adapter);
    env.extend([
        ("NAME", name.to_owned()),
        ("NAMESPACE", "default".to_owned()),
        ("K_SINK", options.sink.clone()),
        ("K_SOURCE_CONFIG", options.source_config().to_string()),
        ("K_CE_OVERRIDES", json!({"extensions": options.ce_overrides}).to_string()),
    ]);
    Part::start(name, folder, program, [""; 0], env)
}

/// Keeps the adapter off the port of its health probes. It does without when the port is taken; but the Broker's
/// dispatcher, which has the same port, does not.
pub(crate) struct ProbePort {
    _listener: Option<TcpListener>,
    _lock: Lock,
}

impl ProbePort {
    pub(crate) async fn occupy(parts: &Parts) -> Result<Self> {
        let lock = Lock::taken(&parts.lock_file(PROBE_PORT_LOCK), "Another adapter starts: waiting for it.").await?;
        Ok(Self { _listener: TcpListener::bind((Ipv4Addr::LOCALHOST, PROBE_PORT)).ok(), _lock: lock })
    }
}
