//! What must hold for whatever bytes are read: one file for each thing that reads them.
//!
//! Invariants: a file stands alone, as each fuzz target includes its own; a check looks at nothing but its input, so
//! that a finding can be kept as a seed; it gives back how far the input got, so that a test sees whether any gets far. The targets (fuzz_targets) and a plain test (tests/it/fuzzed.rs) call the same.
//! Left out: where inputs come from.

pub(crate) mod annotations;
pub(crate) mod doors;
pub(crate) mod events;
pub(crate) mod record;
pub(crate) mod regex;
