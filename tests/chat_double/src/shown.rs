//! What a reader of the channel would see. Invariant: only what the service accepted *and* displays gets here; a
//! refused or rate-limited request never does. How it looks is `page`'s affair.

use crate::service::Service;

/// One message as it stands in a channel.
#[derive(Clone, Debug)]
pub struct ShownMessage {
    /// Which service shows it.
    pub service: Service,
    /// The channel, as [`Service::webhook_path`] was given it.
    pub channel: String,
    /// When it arrived.
    pub at: jiff::Timestamp,
    /// The payload as it was sent.
    pub payload: serde_json::Value,
}
