//! What to do after an attempt to post a message: once in plain words, once after a short wait, then no more.
//!
//! Invariant: at most three attempts a message. Left out: doing it (edge/chat_webhook.rs), and telling the sender.

use std::time::Duration;

use super::answer::Verdict;

/// The longest wait inside a request: Brokers do not heed `Retry-After`, so short ones are waited out here.
pub const LONGEST_WAIT: Duration = Duration::from_secs(5);
/// How long to wait where the service does not say.
pub const USUAL_WAIT: Duration = Duration::from_secs(2);

/// The longest pause that is kept: what a service asks for by mistake must not silence a channel for a day.
pub const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// How long to leave a destination alone after a verdict that is final.
#[must_use]
pub fn pause(verdict: Verdict) -> Option<Duration> {
    match verdict {
        Verdict::TooFast(_, hint) => Some(hint.unwrap_or(USUAL_WAIT).min(LONGEST_PAUSE)),
        _ => None,
    }
}

/// What has been tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Tried {
    /// Whether the plain form was sent, or there is none.
    pub plain: Once,
    /// Whether a wait was made.
    pub waited: Once,
}

/// Whether something that may be done once was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Once {
    /// It may still be done.
    #[default]
    Open,
    /// It was, or cannot be.
    Spent,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: this is what became of the message.
    Done,
    /// Send the plain form: the message matters more than its layout.
    Plain,
    /// Wait, and send the same again.
    Wait(Duration),
}

/// The step after a verdict.
#[must_use]
pub fn step(verdict: Verdict, tried: Tried) -> Step {
    match verdict {
        Verdict::PayloadRefused(_) if tried.plain == Once::Open => Step::Plain,
        Verdict::TooFast(_, hint) if tried.waited == Once::Open => {
            let wait = hint.unwrap_or(USUAL_WAIT);
            if wait <= LONGEST_WAIT { Step::Wait(wait) } else { Step::Done }
        }
        _ => Step::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::announce::answer_words::word_of_status;

    #[test]
    fn a_pause_is_kept_and_has_an_end() {
        let too_fast = |hint| Verdict::TooFast(word_of_status(429), hint);
        assert_eq!(pause(Verdict::Posted), None);
        assert_eq!(pause(too_fast(None)), Some(USUAL_WAIT));
        assert_eq!(pause(too_fast(Some(Duration::from_secs(30)))), Some(Duration::from_secs(30)));
        assert_eq!(pause(too_fast(Some(Duration::MAX))), Some(LONGEST_PAUSE));
    }

    #[test]
    fn each_remedy_is_tried_once() {
        let (refused, secs) = (Verdict::PayloadRefused(word_of_status(400)), Duration::from_secs);
        let too_fast = |hint| Verdict::TooFast(word_of_status(429), hint);
        let (fresh, spent) = (Tried::default(), Tried { plain: Once::Spent, waited: Once::Spent });
        let rows = [
            (Verdict::Posted, fresh, Step::Done),
            (refused, fresh, Step::Plain),
            (refused, spent, Step::Done),
            (too_fast(None), fresh, Step::Wait(secs(2))),
            (too_fast(Some(secs(5))), fresh, Step::Wait(secs(5))),
            (too_fast(Some(secs(6))), fresh, Step::Done),
            (too_fast(Some(secs(1))), spent, Step::Done),
            (Verdict::Unavailable(word_of_status(503)), fresh, Step::Done),
            (Verdict::DestinationRefused(word_of_status(404)), fresh, Step::Done),
        ];
        for (verdict, tried, next) in rows {
            assert_eq!(step(verdict, tried), next, "{verdict:?} {tried:?}");
        }
    }
}
