//! Fuzzes what harness/events.rs states.
#![no_main]

#[path = "../harness/doors.rs"]
mod doors;
#[path = "../harness/events.rs"]
mod events;

thread_local! {
    static DOORS: doors::Doors = doors::Doors::open();
}

libfuzzer_sys::fuzz_target!(|input: &[u8]| {
    DOORS.with(|doors| events::check(doors, input));
});
