//! Decides what should roll out, and why. Placeholder.

pub mod name_pattern;
pub mod opt_in;
pub mod pod_template;
pub mod references;
pub mod source;
