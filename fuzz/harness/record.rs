//! Records as anybody may have edited them.
//!
//! Invariant of the input: it is the annotation's text.

use confroll::reload::digest::DigestKey;
use confroll::reload::record::Record;
use confroll::reload::references::Keys;
use confroll::reload::source::Namespace;

pub(crate) fn check(input: &[u8]) -> &'static str {
    let text = String::from_utf8_lossy(input);
    let Some(record) = Record::read(&text) else { return "no record" };
    let written = record.to_annotation();
    let again = Record::read(&written);
    assert_eq!(again.as_ref(), Some(&record), "what was written is read back");
    assert_eq!(again.map(|again| again.to_annotation()), Some(written), "and written the same");
    knows_its_sources(&record);
    "a record"
}

/// What a record lists is what it knows, and carrying all of it over gives the same knowledge.
fn knows_its_sources(read: &Record) {
    let namespace = Namespace::parse("shop").unwrap_or_else(|error| unreachable!("{error}"));
    let key = DigestKey::new(b"for testing");
    let record = &read.clone().of(&namespace);
    let mut newer = Record::new(&key, record.cause.clone()).of(&namespace);
    for source in record.sources(&namespace) {
        assert_ne!(record.knows(&source, &Keys::Whole, &key), confroll::reload::record::Known::Nothing, "{source}");
        let seen = record.seen(&source, &key);
        newer.carry_over(&source, record);
        // A record of another recipe or key gives nothing to a new one.
        assert_eq!(newer.seen(&source, &key), seen, "{source}");
    }
    assert_eq!(record.tag(), record.clone().tag());
}
