//! Secrets with values that are known anywhere, and the search for them: as they are, encoded, and as plain digests by
//! which they could be guessed.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use sha2::Digest as _;

pub(crate) const SHORT: &str = "Zq7~";
pub(crate) const LONG: &str = "canary-Zq7xR9-hunter2-Vt4kLw8m-canary";

/// The values of a Secret, each different in every round.
pub(crate) fn values(round: &str) -> Vec<(&'static str, Vec<u8>)> {
    let text = |value: String| value.into_bytes();
    vec![
        ("password", text(format!("{LONG}{round}"))),
        ("pin", text(format!("{SHORT}{round}"))),
        ("lines", text(format!("{LONG}-first{round}\n{LONG}-second{round}\n"))),
        ("long", text(format!("{LONG}{round}").repeat(300))),
        ("binary", [&[0, 159, 146, 150], LONG.as_bytes(), round.as_bytes(), &[255]].concat()),
    ]
}

pub(crate) fn secret(round: &str) -> Value {
    let data: serde_json::Map<_, _> =
        values(round).into_iter().map(|(key, value)| (key.to_owned(), json!(STANDARD.encode(value)))).collect();
    json!({ "metadata": {}, "data": data })
}

/// The middle of the base64 of a longer text that holds `value` after `before` bytes: what does not depend on the rest.
fn inner_base64(value: &[u8], before: usize) -> String {
    let encoded = STANDARD_NO_PAD.encode([&vec![0; before], value].concat());
    encoded[(before * 8).div_ceil(6)..(before + value.len()) * 8 / 6].to_owned()
}

/// What must not be seen anywhere: a value, its encodings, and the plain digests by which it could be guessed.
fn forms(key: &str, value: &[u8]) -> Vec<String> {
    let encoded = STANDARD.encode(value);
    let pair = |middle: &str, value: &[u8]| [key.as_bytes(), middle.as_bytes(), value].concat();
    let digested = [
        value.to_vec(),
        encoded.clone().into_bytes(),
        pair("=", value),
        pair(": ", value),
        pair("=", encoded.as_bytes()),
        pair("", value),
        json!({ key: encoded }).to_string().into_bytes(),
    ];
    let mut forms = vec![encoded, hex(value), format!("{value:?}").trim_matches(['[', ']']).to_owned()];
    forms.extend((0..3).filter(|_| value.len() > 8).map(|before| inner_base64(value, before)));
    forms.extend(std::str::from_utf8(value).iter().flat_map(|text| text.lines()).map(str::to_owned));
    for text in digested {
        let digests = [
            md5::Md5::digest(&text).to_vec(),
            sha1::Sha1::digest(&text).to_vec(),
            sha2::Sha256::digest(&text).to_vec(),
        ];
        for digest in digests {
            // The first half is enough to guess by.
            let half = &digest[..digest.len() / 2];
            forms.extend([hex(half), hex(half).to_uppercase()]);
            forms.extend([STANDARD_NO_PAD.encode(&half[..6]), URL_SAFE_NO_PAD.encode(&half[..6])]);
        }
    }
    forms
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

pub(crate) fn assert_silent(rounds: &[&str], shown: &str) {
    for (key, value) in rounds.iter().flat_map(|round| values(round)) {
        for form in forms(key, &value) {
            assert!(!shown.contains(&form), "{form}, of {key}, is in\n{shown}");
        }
    }
    for (part, before) in [LONG, SHORT].into_iter().flat_map(|part| (0..3).map(move |before| (part, before))) {
        assert!(!shown.contains(part), "{part} is in\n{shown}");
        let inner = inner_base64(part.as_bytes(), before);
        // Five letters may stand anywhere by chance.
        assert!(inner.len() < 8 || !shown.contains(&inner), "{inner}, of {part}, is in\n{shown}");
    }
}

#[test]
fn the_search_finds_what_it_looks_for() {
    let json = secret("1").to_string();
    for text in [
        json.clone(),
        format!("x{json}"),
        STANDARD.encode(format!("..{LONG}")),
        hex(&sha1::Sha1::digest(format!("pin={SHORT}1"))),
        STANDARD.encode(md5::Md5::digest(format!("{LONG}1"))),
    ] {
        assert!(std::panic::catch_unwind(|| assert_silent(&["1"], &text)).is_err(), "{text}");
    }
    assert_silent(&["1"], "an ordinary log");
}
