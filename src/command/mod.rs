//! The front door: one file per subcommand, each of which builds what the edge needs and starts it.

pub mod serve;
