//! When the next message is due: events wait for company, and messages keep their distance.
//!
//! Invariants: no more than one message a gap; a failure waits for the gap and for nothing else; nobody waits longer
//! than [`LONGEST_HOLD`] for a message to begin.
//! Left out: clocks and queues (edge/hold.rs): what is here is asked with durations.

use std::time::Duration;

use super::notice::Urgency;

/// The longest that an event waits before its message is sent: with the message itself this stays below the 20 s
/// after which our Triggers give up.
pub const LONGEST_HOLD: Duration = Duration::from_secs(10);

/// How fast a destination is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// From the answer to one message to the next message.
    pub gap: Duration,
    /// How long the first event of a batch waits for others.
    pub window: Duration,
    /// A batch of so many waits no longer.
    pub early: usize,
    /// The most events in one message.
    pub batch: usize,
    /// Messages on their way at once.
    pub in_flight: usize,
}

/// What waits for a destination.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// Events.
    pub events: usize,
    /// How long the first of them has waited.
    pub oldest: Duration,
    /// The most urgent of them.
    pub urgency: Urgency,
    /// How long ago the last message was answered.
    pub since_answer: Option<Duration>,
    /// Messages on their way.
    pub in_flight: usize,
    /// Whether more events may come.
    pub stage: Stage,
}

/// Whether the process goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// More events may come.
    Open,
    /// It is about to end: what waits is sent without waiting for company.
    Closing,
}

/// What to do next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Nothing waits.
    Nothing,
    /// Nothing is due before that, unless something else happens.
    After(Duration),
    /// Send a message about the first so many.
    Post(usize),
    /// The first has waited too long: give it back to its sender.
    GiveBack,
}

impl Pace {
    /// What to do about what waits.
    #[must_use]
    pub fn next(&self, waiting: Waiting) -> Next {
        if waiting.events == 0 {
            return Next::Nothing;
        }
        let patience = LONGEST_HOLD.saturating_sub(waiting.oldest);
        if patience.is_zero() {
            return Next::GiveBack;
        }
        if waiting.in_flight >= self.in_flight {
            return Next::After(patience);
        }
        let no_company =
            waiting.urgency == Urgency::AtOnce || waiting.stage == Stage::Closing || waiting.events >= self.early;
        let window = if no_company { Duration::ZERO } else { self.window.saturating_sub(waiting.oldest) };
        let gap = waiting.since_answer.map_or(Duration::ZERO, |since| self.gap.saturating_sub(since));
        match window.max(gap) {
            Duration::ZERO => Next::Post(waiting.events.min(self.batch)),
            wait => Next::After(wait.min(patience)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::announce::sink_kind::SinkKind;

    const SECOND: Duration = Duration::from_secs(1);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn one() -> Waiting {
        Waiting {
            events: 1,
            oldest: Duration::ZERO,
            urgency: Urgency::CanWait,
            since_answer: None,
            in_flight: 0,
            stage: Stage::Open,
        }
    }

    #[test]
    fn a_chat_is_told_when_window_and_gap_are_over() {
        let pace = SinkKind::Slack.pace(SECOND);
        let urgent = Waiting { urgency: Urgency::AtOnce, ..one() };
        let rows = [
            ("nobody waits", Waiting { events: 0, ..one() }, Next::Nothing),
            ("the first waits for company", one(), Next::After(SECOND)),
            ("the window is over", Waiting { oldest: SECOND, ..one() }, Next::Post(1)),
            ("the gap is not", Waiting { oldest: SECOND, since_answer: Some(ms(400)), ..one() }, Next::After(ms(600))),
            ("many are company enough", Waiting { events: 50, ..one() }, Next::Post(50)),
            ("a failure goes at once", urgent, Next::Post(1)),
            ("but not within the gap", Waiting { since_answer: Some(ms(900)), ..urgent }, Next::After(ms(100))),
            ("who ends does not wait", Waiting { stage: Stage::Closing, ..one() }, Next::Post(1)),
            ("one message at a time", Waiting { in_flight: 1, oldest: SECOND, ..one() }, Next::After(9 * SECOND)),
            ("ten seconds are enough", Waiting { in_flight: 1, oldest: 10 * SECOND, ..one() }, Next::GiveBack),
            ("a message has an end", Waiting { events: 5000, ..one() }, Next::Post(1000)),
        ];
        for (name, waiting, next) in rows {
            assert_eq!(pace.next(waiting), next, "{name}");
        }
    }

    #[test]
    fn a_webhook_is_told_at_once_and_by_32_at_a_time() {
        let pace = SinkKind::Webhook.pace(SECOND);
        assert_eq!(pace.next(Waiting { events: 7, since_answer: Some(ms(0)), in_flight: 31, ..one() }), Next::Post(1));
        assert!(matches!(pace.next(Waiting { in_flight: 32, ..one() }), Next::After(_)));
    }

    proptest! {
        #[test]
        fn a_message_never_comes_within_the_gap(events in 0usize..2000, oldest in 0u64..20_000, since in 0u64..3000, urgent: bool, closing: bool) {
            let waiting = Waiting {
                events,
                oldest: ms(oldest),
                urgency: if urgent { Urgency::AtOnce } else { Urgency::CanWait },
                since_answer: Some(ms(since)),
                in_flight: 0,
                stage: if closing { Stage::Closing } else { Stage::Open },
            };
            let next = SinkKind::GoogleChat.pace(SECOND).next(waiting);
            prop_assert!(since >= 1000 || !matches!(next, Next::Post(_)));
            prop_assert!(next != Next::After(Duration::ZERO));
        }
    }
}
