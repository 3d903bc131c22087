//! Fuzzes what harness/record.rs states.
#![no_main]

#[path = "../harness/record.rs"]
mod record;

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    record::check(input);
});
