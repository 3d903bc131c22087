//! The binary: arguments to one command.

use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use clap::error::ErrorKind;
use clap::{CommandFactory as _, Parser, Subcommand};
use confroll::announce::sink_kind::SinkKind;
use confroll::command::{serve, sink, sink_test, watch};
use confroll::edge::serve_variables::{serve_settings_help, watch_settings_help};
use confroll::edge::sink_settings::SINK_SETTINGS_HELP;
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
    #[command(after_help = serve_settings_help())]
    Serve,
    /// Watch for changes, without Knative, and roll out the workloads that they
    /// concern
    #[command(after_help = watch_settings_help())]
    Watch,
    /// Receive reload events and tell a chat service of them
    #[command(after_help = SINK_SETTINGS_HELP)]
    Sink {
        /// What it speaks
        #[arg(value_parser = sink_kind())]
        kind: SinkKind,
        /// Post a sample to a destination, say what came of it, end
        #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "default")]
        test: Option<String>,
    },
}

fn sink_kind() -> impl clap::builder::TypedValueParser<Value = SinkKind> {
    PossibleValuesParser::new(SinkKind::OFFERED.map(SinkKind::as_str))
        .try_map(|name| SinkKind::OFFERED.into_iter().find(|kind| kind.as_str() == name).ok_or("is no kind of sink"))
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        // It would be quoted, and end up in a log.
        Err(_) if std::env::args_os().any(|argument| argument.to_string_lossy().contains("://")) => {
            eprintln!("confroll: an argument is a URL; a webhook's belongs into CONFROLL_WEBHOOK_URL or a file");
            return ExitCode::from(2);
        }
        Err(error) => error.exit(),
    };
    let command = match (arguments.command, place()) {
        (Some(command), _) => command,
        // A function's image is started without arguments.
        (None, Place::Knative) => Command::Serve,
        (None, Place::Elsewhere) => {
            Arguments::command().error(ErrorKind::MissingSubcommand, "say what to do; --help tells").exit()
        }
    };
    let done = match command {
        Command::Serve => serve::run().await,
        Command::Watch => watch::run().await,
        Command::Sink { kind, test: None } => sink::run(kind).await,
        Command::Sink { kind, test: Some(name) } => sink_test::run(kind, &name).await,
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("confroll: {error:#}");
            ExitCode::FAILURE
        }
    }
}
