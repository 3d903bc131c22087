//! The real Kubernetes and Knative parts that Confroll's tests, benchmarks and demo run on. No mock stands
//! where a user would have the real thing.
//!
//! In reading order:
//!
//! - [`parts`]: which programs there are, built once by the user's Go ([`go`]) and kept in the user's cache
//! - [`part`]: a program that runs, and ends with the process that started it
//! - [`control_plane`]: etcd, kube-apiserver and kube-controller-manager; its users ([`access`]) and its
//!   record of every request ([`audit`])
//! - [`source`]: Knative's ApiServerSource adapter, and [`ping`]: its PingSource's
//! - [`eventing`] and [`broker`]: Knative's Broker with its Triggers
//! - [`sink`]: a receiver that records what reaches it
//! - [`function`]: Confroll itself
//! - [`object`]: plain requests, for objects of whatever kind
//! - [`template_watch`]: sees every rollout at the moment the cluster tells of it
//!
//! Invariants:
//!
//! - Nothing that was started here outlives the process that started it, and nothing else is ever ended.
//! - Whatever says it is ready is ready: no caller needs to sleep.
//! - Servers listen on loopback; Knative's, which cannot, on all interfaces.
//! - Values may be shared by tests that each have a tokio runtime of their own: no client is kept inside.
//!
//! Left out: kubelets and Knative's controllers. What they would write into a status is written by hand.

pub mod access;
pub mod audit;
pub mod broker;
pub mod control_plane;
mod digest;
pub mod environment;
pub mod eventing;
pub mod function;
mod go;
mod install;
mod lock;
mod loopback;
pub mod object;
pub mod part;
pub mod parts;
pub mod ping;
mod port;
mod progress;
mod run_folder;
pub mod sink;
pub mod source;
pub mod template_watch;

pub use access::User;
pub use audit::{Audit, AuditMark, AuditRequest};
pub use broker::{Acknowledge, Broker, BrokerDelivery};
pub use control_plane::{ControlPlane, ControlPlaneOptions};
pub use environment::Places;
pub use eventing::Eventing;
pub use function::{Function, FunctionOptions, rights, rights_to_watch};
pub use part::Part;
pub use parts::Parts;
pub use ping::PingSource;
pub use run_folder::RunFolder;
pub use sink::{Received, RecordingSink};
pub use source::{ApiServerSource, SourceOptions};
pub use template_watch::{Rollout, TemplateWatch};

/// Tells the person who waits; also from within a test, whose prints the harness would hold back.
pub(crate) fn say(text: &str) {
    use std::io::Write;
    // Nobody is left to tell when this fails.
    let _ = writeln!(std::io::stderr(), "{text}");
}
