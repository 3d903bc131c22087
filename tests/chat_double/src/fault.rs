//! What can go wrong between a sender and a service, as a closed list. Invariant: every fault says whether the
//! message is shown, since that is what a retry must not get wrong.

use std::time::Duration;

/// What the next request to a channel meets. A body that is read is checked by the rules under every fault.
#[derive(Clone, Debug)]
pub enum Fault {
    /// This answer instead of the service's own.
    Answer {
        /// The status code.
        status: u16,
        /// Headers, by name.
        headers: Vec<(String, String)>,
        /// The body; its content type is one of the headers.
        body: String,
        /// Whether the message is shown all the same.
        shown: bool,
    },
    /// The request is read and never answered. Shows nothing.
    Hang,
    /// The connection is closed once the path is known, before the body is read. Shows nothing.
    CloseBeforeReading,
    /// The connection is closed instead of an answer.
    CloseAfterReading {
        /// Whether the message is shown all the same.
        shown: bool,
    },
    /// The service does its work, and the connection breaks in the body of its answer.
    HalfAnswer,
    /// Status 200 and a web page, as a proxy with a login sends it. Shows nothing.
    HtmlOk,
    /// Status 302 to another place. Shows nothing.
    Redirect {
        /// The `Location`.
        to: String,
    },
    /// The service does its work at once, and answers later.
    SlowAnswer {
        /// How much later.
        after: Duration,
    },
}
