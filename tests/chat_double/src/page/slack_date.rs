//! Slack's dates, `<!date^seconds^format|fallback>`, which each reader sees in words and in their own time zone.
//!
//! Invariant: a date that Slack could not show is none, so that its fallback is shown.
//! Left out: the reader's zone (UTC here), "today" and "yesterday".

use jiff::{Timestamp, Zoned, tz::TimeZone};

/// What a format's words stand for, in strftime's terms; `{day}` is ours, for what strftime cannot do.
const WORDS: [(&str, &str); 9] = [
    ("{date_num}", "%Y-%m-%d"),
    ("{date}", "%B {day}, %Y"),
    ("{date_pretty}", "%B {day}, %Y"),
    ("{date_short}", "%b {day}, %Y"),
    ("{date_short_pretty}", "%b {day}, %Y"),
    ("{date_long}", "%A, %B {day}, %Y"),
    ("{date_long_pretty}", "%A, %B {day}, %Y"),
    ("{time_secs}", "%H:%M:%S"),
    ("{time}", "%H:%M"),
];

/// A date as it is shown, read from what stands behind `!date^`.
pub(super) fn shown(date: &str) -> Option<String> {
    let mut parts = date.split('^');
    let at = Timestamp::from_second(parts.next()?.parse().ok()?).ok()?.to_zoned(TimeZone::UTC);
    let format = parts.next().filter(|format| !format.is_empty())?;
    let shown = WORDS.into_iter().fold(format.to_owned(), |text, (word, meant)| {
        if text.contains(word) { text.replace(word, &in_words(&at, meant)) } else { text }
    });
    (!shown.contains(['{', '}'])).then_some(shown)
}

fn in_words(at: &Zoned, meant: &str) -> String {
    at.strftime(&meant.replace("{day}", &day(at.day()))).to_string()
}

/// A day of a month as it is said: 1st, 22nd, 13th.
fn day(day: i8) -> String {
    let ending = match (day, day % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    format!("{day}{ending}")
}
