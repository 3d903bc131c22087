//! Fuzzes what harness/annotations.rs states.
#![no_main]

#[path = "../harness/annotations.rs"]
mod annotations;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    annotations::check(input);
});
