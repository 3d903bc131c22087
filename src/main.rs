//! The binary: arguments to one command.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use confroll::command::serve;
use confroll::edge::config::SETTINGS_HELP;

/// Rolls out Kubernetes workloads when the ConfigMaps and Secrets that they use change.
#[derive(Parser)]
#[command(version, about, max_term_width = 80)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Receive changes as CloudEvents and roll out the workloads that they concern
    #[command(after_help = SETTINGS_HELP)]
    Serve,
}

#[tokio::main]
async fn main() -> ExitCode {
    let done = match Arguments::parse().command {
        Command::Serve => serve::run().await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("confroll: {error:#}");
            ExitCode::FAILURE
        }
    }
}
