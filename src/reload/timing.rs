//! What a workload asks of the clock, and what of that was begun: a pause after a rollout, a delay before one.
//!
//! Invariants: read from a workload's own metadata, once; what cannot be read costs the pause or the delay, never the
//! rollout, and is told.
//! Left out: what is due when (due.rs).

use jiff::{SignedDuration, Timestamp};

use super::annotation_keys::AnnotationKeys;
use super::due::DUE;
use super::go_duration::{DurationError, parse_lasting};
use super::label_selector::Labels;
use super::opt_in::Annotations;
use super::workload_kind::{Controller, WorkloadKind};

/// What a workload asks of the clock, and what was begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    pub(super) pause: Option<Pause>,
    pub(super) delay: Option<SignedDuration>,
    pub(super) label: Labelled,
}

/// What there is about pauses of a Deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pause {
    /// For how long it asks.
    pub(super) period: Option<SignedDuration>,
    /// Where the beginning is written.
    pub(super) key: String,
    pub(super) began: Option<Began>,
}

/// When a pause began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Began {
    At(Timestamp),
    /// Somebody wrote something else.
    Unreadable,
}

/// Whether a workload has the label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Labelled {
    Yes,
    No,
    /// It has no label at all: a JSON patch has to make room for the first.
    NoLabels,
}

impl Timing {
    /// Reads it from a workload's own metadata.
    #[must_use]
    pub fn of(kind: &WorkloadKind, annotations: &Annotations, labels: Option<&Labels>, keys: &AnnotationKeys) -> Self {
        let lasting =
            |key: &str, read: fn(&str) -> Asked| annotations.get(key).and_then(|text| read(text).ok().flatten());
        let began = annotations.get(&keys.paused_at).map(|text| text.parse().map_or(Began::Unreadable, Began::At));
        let period = lasting(&keys.pause_period, pause_period);
        let is_paused = kind.controller == Controller::Pausable && (began.is_some() || period.is_some());
        let label = match labels {
            None => Labelled::NoLabels,
            Some(labels) if labels.get(DUE).is_some_and(|value| value == "true") => Labelled::Yes,
            Some(_) => Labelled::No,
        };
        Self {
            pause: is_paused.then(|| Pause { period, key: keys.paused_at.clone(), began }),
            delay: lasting(&keys.reload_delay, reload_delay),
            label,
        }
    }

    /// How many bytes of annotations the beginning of a pause may take.
    pub(super) fn room(&self) -> usize {
        self.pause
            .as_ref()
            .filter(|pause| pause.began.is_none())
            .map_or(0, |pause| pause.key.len() + "2026-01-01T00:00:00Z".len())
    }
}

/// A time to last, none, or what is no duration.
type Asked = Result<Option<SignedDuration>, DurationError>;

fn pause_period(text: &str) -> Asked {
    // It holds no more than SignedDuration does.
    Ok(parse_lasting(text)?.and_then(|period| SignedDuration::try_from(period).ok()))
}

/// A number without a unit is of seconds.
fn reload_delay(text: &str) -> Asked {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { pause_period(&format!("{text}s")) } else { pause_period(text) }
}

/// What to say of annotations that ask for something that is not to be had.
#[must_use]
pub fn problems(kind: &WorkloadKind, annotations: &Annotations, keys: &AnnotationKeys) -> Vec<String> {
    let (pause, delay) = (&keys.pause_period, &keys.reload_delay);
    let mut problems = Vec::new();
    match annotations.get(pause).map(|text| pause_period(text)) {
        Some(_) if kind.controller != Controller::Pausable => {
            problems
                .push(format!("the annotation {pause} has no effect on a {}; only a Deployment is paused", kind.kind));
        }
        Some(Err(error)) => problems.push(format!("the annotation {pause} {error}; rollouts go on without a pause")),
        _ => {}
    }
    if annotations.get(delay).is_some_and(|text| reload_delay(text).is_err()) {
        let better = "is no duration; write seconds, or it like 250ms, 10s or 1m30s";
        problems.push(format!("the annotation {delay} {better}; rollouts go on without a delay"));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::super::workload_kind::WORKLOAD_KINDS;
    use super::*;

    const PAUSE: &str = "deployment.reloader.stakater.com/pause-period";
    const PAUSED_AT: &str = "deployment.reloader.stakater.com/paused-at";
    const DELAY: &str = "reloader.stakater.com/reload-delay";

    fn annotations(pairs: &[(&str, &str)]) -> Annotations {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn timing(kind: &WorkloadKind, pairs: &[(&str, &str)]) -> Timing {
        Timing::of(kind, &annotations(pairs), None, &AnnotationKeys::default())
    }

    fn problems_of(kind: &WorkloadKind, pairs: &[(&str, &str)]) -> Vec<String> {
        problems(kind, &annotations(pairs), &AnnotationKeys::default())
    }

    #[test]
    fn durations_that_last_are_asked_for_and_those_that_cannot_be_read_are_told_in_one_sentence() {
        let deployment = &WORKLOAD_KINDS[0];
        let seconds = |seconds| Some(SignedDuration::from_secs(seconds));
        let rows = [
            ("5m", seconds(300), seconds(300), 0, 0),
            ("0s", None, None, 0, 0),
            ("-5m", None, None, 0, 0),
            ("30", None, seconds(30), 1, 0),
            ("+30", None, seconds(30), 1, 0),
            ("-30", None, None, 1, 0),
            ("0", None, None, 0, 0),
            ("5 minutes", None, None, 1, 1),
            ("", None, None, 1, 1),
            ("99999999999999999999", None, None, 1, 1),
        ];
        for (text, pause, delay, pause_problems, delay_problems) in rows {
            let of = |key| (timing(deployment, &[(key, text)]), problems_of(deployment, &[(key, text)]));
            let ((paused, told), (delayed, told_too)) = (of(PAUSE), of(DELAY));
            assert_eq!((paused.pause.and_then(|pause| pause.period), told.len()), (pause, pause_problems), "{text}");
            assert_eq!((delayed.delay, told_too.len()), (delay, delay_problems), "{text}");
        }
        let told = problems_of(deployment, &[(PAUSE, "soon"), (DELAY, "soon")]);
        let expected = [
            format!(
                "the annotation {PAUSE} is no duration; write it like 250ms, 10s or 1m30s; rollouts go on without a pause"
            ),
            format!(
                "the annotation {DELAY} is no duration; write seconds, or it like 250ms, 10s or 1m30s; rollouts go on \
                 without a delay"
            ),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn other_kinds_are_delayed_and_never_paused_which_is_told() {
        for kind in &WORKLOAD_KINDS[1..] {
            let asked = [(PAUSE, "5m"), (PAUSED_AT, "2026-01-01T00:00:00Z"), (DELAY, "30")];
            let timing = timing(kind, &asked);
            assert_eq!((timing.pause, timing.delay), (None, Some(SignedDuration::from_secs(30))), "{kind}");
            let told = problems_of(kind, &asked);
            assert!(told.len() == 1 && told[0].contains(&format!("no effect on a {kind}")), "{told:?}");
        }
    }
}
