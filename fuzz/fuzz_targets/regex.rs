//! Fuzzes what harness/regex.rs states.
#![no_main]

#[path = "../harness/regex.rs"]
mod regex;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    regex::check(input);
});
