//! A request as it was recorded. Invariant: recorded before its answer is written, so whoever has the answer finds
//! it here.

use crate::rules::Violation;
use crate::service::Service;

/// What reached the stand-in, and what became of it. Its query and headers hold the secret; nothing here redacts.
#[derive(Clone, Debug)]
pub struct Request {
    /// The service whose webhook was called; none for a path of no service.
    pub service: Option<Service>,
    /// The channel; empty for a path of no service.
    pub channel: String,
    /// When its body was read.
    pub at: jiff::Timestamp,
    /// As sent.
    pub headers: http::HeaderMap,
    /// As sent, decoded.
    pub query: Vec<(String, String)>,
    /// As sent; empty when it was not read.
    pub body: Vec<u8>,
    /// What was answered; 0 for nothing.
    pub status: u16,
    /// Every rule that was broken, also where the service does not object.
    pub violations: Vec<Violation>,
    /// Whether a reader of the channel sees a new message.
    pub shown: bool,
    /// The thread of Google Chat in which the message stands.
    pub thread: Option<String>,
}
