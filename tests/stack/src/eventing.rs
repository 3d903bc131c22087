//! Knative's Broker: its real ingress, filter and in-memory channel dispatcher, without their controllers.
//!
//! Invariant: one dispatcher on a machine at a time, as its ports 8080 and 8443 cannot be changed: a second run
//! waits. Knative's servers listen on all interfaces and cannot be told otherwise.

use std::{
    io::ErrorKind,
    net::{Ipv6Addr, TcpListener},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Result, bail};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace};
use kube::Api;
use serde_json::json;
use tokio::time::sleep;

use crate::{
    access::User,
    broker::{Addresses, Broker, BrokerDelivery},
    control_plane::ControlPlane,
    install::{create, documents},
    lock::Lock,
    loopback::http,
    part::Part,
    parts::Parts,
    port::with_free_ports,
    run_folder::RunFolder,
};

const START: Duration = Duration::from_mins(1);
const GOING: Duration = Duration::from_secs(5);
pub(crate) const NAMESPACE: &str = "knative-eventing";
const DISPATCHER: &str = "http://127.0.0.1:8080";
const CRDS: [&str; 9] = [
    "apiserversource.yaml",
    "broker.yaml",
    "channel.yaml",
    "eventpolicy.yaml",
    "eventtype.yaml",
    "in-memory-channel.yaml",
    "pingsource.yaml",
    "subscription.yaml",
    "trigger.yaml",
];
const CONFIG_MAPS: [&str; 3] = ["features.yaml", "logging.yaml", "observability.yaml"];
/// Held while a program starts that takes port 8080, or is to be kept from it.
pub(crate) const PROBE_PORT_LOCK: &str = "probe-port";

/// Running Broker parts; they end with the value.
#[derive(Debug)]
pub struct Eventing {
    addresses: Addresses,
    ingress: Part,
    filter: Part,
    dispatcher: Part,
    _folder: Arc<RunFolder>,
    _alone: Lock,
}

impl Eventing {
    /// Installs what Knative Eventing needs in a control plane and starts the parts.
    pub async fn start(control_plane: &ControlPlane, parts: &Parts) -> Result<Self> {
        install(control_plane, parts).await?;
        let waiting = "Another run has the Broker's dispatcher, of which a machine can run one: waiting for its end.";
        let alone = Lock::taken(&parts.lock_file("dispatcher"), waiting).await?;
        let starter = Starter { control_plane, parts };
        let dispatcher = starter.dispatcher().await?;
        let (ingress, ingress_url) = starter.server("broker_ingress", ["INGRESS_PORT", "INGRESS_PORT_HTTPS"]).await?;
        let (filter, filter_url) = starter.server("broker_filter", ["FILTER_PORT", "FILTER_PORT_HTTPS"]).await?;
        let access = control_plane.access().clone();
        let addresses = Addresses { access, ingress: ingress_url, filter: filter_url, dispatcher: DISPATCHER };
        let folder = control_plane.folder().clone();
        Ok(Self { addresses, ingress, filter, dispatcher, _folder: folder, _alone: alone })
    }

    /// Makes a Broker, ready to take events.
    pub async fn broker(&self, namespace: &str, name: &str, delivery: BrokerDelivery) -> Result<Broker> {
        Broker::create(self.addresses.clone(), namespace, name, delivery).await
    }

    /// Kills the dispatcher, with whatever is in it, and starts it again.
    pub async fn restart_dispatcher(&mut self) -> Result<()> {
        self.dispatcher.start_again()?;
        until_it_answers(&self.dispatcher, DISPATCHER).await
    }

    /// The parts that run, to be killed or their logs to be read: ingress, filter, dispatcher.
    #[must_use]
    pub fn parts(&self) -> [&Part; 3] {
        [&self.ingress, &self.filter, &self.dispatcher]
    }
}

/// What every Go client is given: who it is, and no throttle of its own.
pub(crate) fn client_environment(control_plane: &ControlPlane, user: User) -> Vec<(&'static str, String)> {
    let kubeconfig = control_plane.kubeconfig_for(user).to_string_lossy().into_owned();
    vec![("KUBECONFIG", kubeconfig), ("KUBE_API_QPS", "1000".to_owned()), ("KUBE_API_BURST", "1000".to_owned())]
}

/// What each of Knative's own servers is given.
pub(crate) fn environment(control_plane: &ControlPlane, name: &str) -> Vec<(&'static str, String)> {
    let mut env = client_environment(control_plane, User::Eventing);
    env.extend([
        ("SYSTEM_NAMESPACE", NAMESPACE.to_owned()),
        ("CONFIG_LOGGING_NAME", "config-logging".to_owned()),
        ("CONFIG_OBSERVABILITY_NAME", "config-observability".to_owned()),
        ("POD_NAME", name.to_owned()),
        ("CONTAINER_NAME", name.to_owned()),
        // They ask for https://kubernetes.default.svc as they start, and go on without: no question leaves the machine.
        ("HTTPS_PROXY", "http://127.0.0.1:9".to_owned()),
    ]);
    env
}

struct Starter<'a> {
    control_plane: &'a ControlPlane,
    parts: &'a Parts,
}

impl Starter<'_> {
    async fn dispatcher(&self) -> Result<Part> {
        let starting = "An adapter starts: waiting for it.";
        let _lock = Lock::taken(&self.parts.lock_file(PROBE_PORT_LOCK), starting).await?;
        for port in [8080, 8443] {
            until_free(port).await?;
        }
        let mut env = environment(self.control_plane, "dispatcher");
        env.extend(["MAX_IDLE_CONNS", "MAX_IDLE_CONNS_PER_HOST"].map(|name| (name, "1000".to_owned())));
        let program = self.parts.program("channel_dispatcher")?;
        let folder = self.control_plane.folder().path();
        let dispatcher = Part::start("dispatcher", folder, &program, ["-disable-ha"], env)?;
        until_it_answers(&dispatcher, DISPATCHER).await?;
        Ok(dispatcher)
    }

    async fn server(&self, name: &str, port_names: [&'static str; 2]) -> Result<(Part, String)> {
        let program = self.parts.program(name)?;
        with_free_ports(async |ports: [u16; 2]| {
            let mut env = environment(self.control_plane, name);
            env.push(("NAMESPACE", NAMESPACE.to_owned()));
            env.extend(port_names.iter().zip(ports).map(|(name, port)| (*name, port.to_string())));
            let server = Part::start(name, self.control_plane.folder().path(), &program, [""; 0], env)?;
            let url = format!("http://127.0.0.1:{}", ports[0]);
            until_it_answers(&server, &url).await?;
            Ok((server, url))
        })
        .await
    }
}

/// A dispatcher whose owner has just died is about to go too: worth a moment.
async fn until_free(port: u16) -> Result<()> {
    let since = Instant::now();
    while is_taken(port) {
        if since.elapsed() > GOING {
            bail!(
                "Port {port} is taken by another program, and the Broker's dispatcher can use no other: \
                 end that program first."
            );
        }
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

/// Without IPv6 this does not tell, but the dispatcher itself will.
fn is_taken(port: u16) -> bool {
    TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).is_err_and(|error| error.kind() == ErrorKind::AddrInUse)
}

async fn until_it_answers(part: &Part, url: &str) -> Result<()> {
    let http = http()?;
    part.until("an answer on its port", START, async || http.get(url).send().await.ok()).await?;
    Ok(())
}

/// Makes what Knative Eventing needs in a control plane.
pub(crate) async fn install(control_plane: &ControlPlane, parts: &Parts) -> Result<()> {
    let client = control_plane.client().await?;
    let namespace = json!({"metadata": {"name": NAMESPACE}});
    create::<Namespace>(&Api::all(client.clone()), namespace).await?;
    for file in CONFIG_MAPS {
        for object in documents(&parts.manifest("eventing", file)?)? {
            create::<ConfigMap>(&Api::namespaced(client.clone(), NAMESPACE), object).await?;
        }
    }
    for file in CRDS {
        control_plane.install_crds(&parts.manifest("eventing", file)?).await?;
    }
    Ok(())
}
