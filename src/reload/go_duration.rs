//! Durations as Go writes them (`250ms`, `1h30m`, `1.5s`): what users of Kubernetes and of the peer know.
//!
//! Invariant: reads what Go's `time.ParseDuration` reads and nothing else. A negative duration is none that anything here
//! could last. No crate reads exactly these (jiff takes "5 minutes", humantime takes days and months).

use std::time::Duration;

/// A text that is no duration.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is no duration; write it like 250ms, 10s or 1m30s")]
pub struct DurationError;

/// Reads a duration that something may last: `None` for zero and less.
pub fn parse_lasting(text: &str) -> Result<Option<Duration>, DurationError> {
    match text.strip_prefix('-') {
        Some(negative) => parse_unsigned(negative).map(|_| None),
        None => parse(text).map(|duration| (!duration.is_zero()).then_some(duration)),
    }
}

/// Reads a duration; a negative one is an error.
pub fn parse(text: &str) -> Result<Duration, DurationError> {
    parse_unsigned(text.strip_prefix('+').unwrap_or(text))
}

fn parse_unsigned(text: &str) -> Result<Duration, DurationError> {
    let mut rest = text;
    if rest == "0" {
        return Ok(Duration::ZERO);
    }
    if rest.is_empty() {
        return Err(DurationError);
    }
    let mut total = Duration::ZERO;
    while !rest.is_empty() {
        let (number, after) = split_at_first(rest, |c| !c.is_ascii_digit() && c != '.');
        let (unit, after) = split_at_first(after, |c| c.is_ascii_digit() || c == '.');
        total = total.checked_add(part(number, unit)?).ok_or(DurationError)?;
        rest = after;
    }
    // Go counts nanoseconds in 63 bits: some 292 years.
    if total.as_nanos() > i64::MAX as u128 { Err(DurationError) } else { Ok(total) }
}

fn split_at_first(text: &str, matches: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(matches).unwrap_or(text.len()))
}

fn part(number: &str, unit: &str) -> Result<Duration, DurationError> {
    let nanos_per_unit: u128 = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return Err(DurationError),
    };
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() {
        return Err(DurationError);
    }
    // More digits than a nanosecond has are cut; Go rounds them, a nanosecond apart at most.
    let fraction: String = fraction.chars().take(18).collect();
    let digits = |text: &str| if text.is_empty() { Ok(0) } else { text.parse::<u128>().map_err(|_| DurationError) };
    let scale = 10_u128.pow(u32::try_from(fraction.len()).map_err(|_| DurationError)?);
    let whole = digits(whole)?.checked_mul(nanos_per_unit).ok_or(DurationError)?;
    let nanos = whole.checked_add(digits(&fraction)? * nanos_per_unit / scale).ok_or(DurationError)?;
    Ok(Duration::from_nanos(u64::try_from(nanos).map_err(|_| DurationError)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Go 1.26 answers, in nanoseconds.
    #[test]
    fn durations_are_read_as_go_reads_them() {
        let rows: [(&str, Option<u64>); 29] = [
            ("0", Some(0)),
            ("+0", Some(0)),
            ("5s", Some(5_000_000_000)),
            ("30s", Some(30_000_000_000)),
            ("1478s", Some(1_478_000_000_000)),
            ("+5s", Some(5_000_000_000)),
            ("5.0s", Some(5_000_000_000)),
            ("5.6s", Some(5_600_000_000)),
            ("5.s", Some(5_000_000_000)),
            (".5s", Some(500_000_000)),
            ("1.004s", Some(1_004_000_000)),
            ("1.0040s", Some(1_004_000_000)),
            ("10ns", Some(10)),
            ("11us", Some(11_000)),
            ("12µs", Some(12_000)),
            ("12μs", Some(12_000)),
            ("13ms", Some(13_000_000)),
            ("15m", Some(900_000_000_000)),
            ("3h30m", Some(12_600_000_000_000)),
            ("30m1h", Some(5_400_000_000_000)),
            ("9223372036854775807ns", Some(9_223_372_036_854_775_807)),
            ("9223372036854775808ns", None),
            ("", None),
            ("3", None),
            ("s", None),
            (".s", None),
            ("1d", None),
            ("1h 30m", None),
            ("5 minutes", None),
        ];
        for (text, nanos) in rows {
            assert_eq!(parse(text).ok(), nanos.map(Duration::from_nanos), "{text}");
        }
        assert_eq!(parse("-1s"), Err(DurationError));
        assert_eq!(parse("99999999999999999999999999999999999999999h"), Err(DurationError));
    }

    #[test]
    fn what_is_to_last_no_time_is_told_from_what_is_no_duration() {
        let second = Some(Duration::from_secs(1));
        let rows = [
            ("1s", Ok(second)),
            ("+1s", Ok(second)),
            ("0", Ok(None)),
            ("0s", Ok(None)),
            ("-0", Ok(None)),
            ("-1m30s", Ok(None)),
            ("-", Err(DurationError)),
            ("-+1s", Err(DurationError)),
            ("--1s", Err(DurationError)),
            ("-1", Err(DurationError)),
            ("1s-1s", Err(DurationError)),
        ];
        for (text, expected) in rows {
            assert_eq!(parse_lasting(text), expected, "{text}");
        }
    }
}
