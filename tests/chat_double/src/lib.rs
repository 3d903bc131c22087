//! A strict stand-in for the chat services, which no test can reach: Slack, Google Chat, Teams and a plain webhook
//! on loopback.
//!
//! In reading order:
//!
//! - [`service`]: the services, where their webhooks live, and the secret that all of them share
//! - [`chat_double`]: the stand-in as tests hold it; [`request`] is what it records, [`fault`] what can be scripted
//! - `serve` on `http1`: connections, which may break where a test wants it
//! - `address`, `state`: where a request goes and how it is taken; `rate`, `chat_memory`, `answer`: what the
//!   services limit, remember and say
//! - [`rules`]: every rule of the services as a named row
//! - [`shown`] and [`page`]: what stands in a channel, and how it looks
//! - [`connect_proxy`], [`silent_tls`]: what can be in the way; `certificate`: an authority that nobody knows
//!
//! Invariants:
//!
//! - A service's answer is what it would give; what it would let pass is a violation in the record only.
//! - Every rule is a row with a name, and has a test that breaks it alone.
//! - Nothing leaves loopback, and nothing outlives the value that started it.
//!
//! Left out: Slack's Workflow Builder and token API, HTTP/2, and everything that reads messages.

mod address;
mod answer;
mod certificate;
pub mod chat_double;
mod chat_memory;
pub mod connect_proxy;
pub mod fault;
mod http1;
pub mod page;
mod rate;
pub mod request;
pub mod rules;
mod serve;
pub mod service;
pub mod shown;
pub mod silent_tls;
mod state;

pub use chat_double::ChatDouble;
pub use connect_proxy::ConnectProxy;
pub use fault::Fault;
pub use request::Request;
pub use rules::{Violation, check};
pub use service::{CANARY, Service};
pub use shown::ShownMessage;
pub use silent_tls::SilentTls;

#[cfg(test)]
mod tests;
