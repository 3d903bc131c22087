//! Words reload events for people: chat messages, plain text, and what a chat service answered.
//!
//! ```text
//! CloudEvent ─ notice.rs ──▶ Notice           what one reload event says, cleaned and checked
//!   many     ─ announcement.rs ─▶ Announcement    title, facts, failures, rows: worded once, for every service
//!              slack.rs, google_chat.rs, teams.rs   the same words as that service's payload
//!              payload.rs                        less and less detail, until the service takes it
//! answer     ─ answer.rs ──▶ Verdict          posted, refused, too fast, not there: and what to do about it
//! waiting    ─ pace.rs ────▶ Next             when a message is due, and what goes into it
//! ```
//!
//! Invariants: pure: no IO, no clock, no environment. Whatever an event holds, its payload is one that the service
//! takes, and nothing of the event becomes markup or a mention. A digest counts exactly, and says what it leaves out.
//! Left out: sending, and everything that waits (edge).

pub mod announcement;
pub mod answer;
pub mod answer_words;
pub mod delivery;
pub mod destination;
pub mod digest;
pub mod google_chat;
pub mod identity;
pub mod notice;
pub mod pace;
pub mod payload;
pub mod sample;
pub mod signature;
pub mod sink_kind;
pub mod slack;
pub mod style;
pub mod teams;
pub mod text;
pub mod webhook;
