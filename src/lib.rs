//! Confroll. Placeholder.

pub mod reload;
