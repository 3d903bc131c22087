//! The binary: arguments to one command.

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand};
use confroll::command::serve;
use confroll::edge::config::SETTINGS_HELP;
use confroll::edge::variables::{Place, place};

/// Rolls out Kubernetes workloads when the ConfigMaps and Secrets that they use change.
#[derive(Parser)]
#[command(version, about, max_term_width = 80)]
struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Receive changes as CloudEvents and roll out the workloads that they concern
    #[command(after_help = SETTINGS_HELP)]
    Serve,
}

#[tokio::main]
async fn main() -> ExitCode {
    let command = match (Arguments::parse().command, place()) {
        (Some(command), _) => command,
        // A function's image is started without arguments.
        (None, Place::Knative) => Command::Serve,
        (None, Place::Elsewhere) => {
            Arguments::command().error(ErrorKind::MissingSubcommand, "say what to do; --help tells").exit()
        }
    };
    let done = match command {
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
