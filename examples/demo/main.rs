//! `cargo demo`: a small shop of workloads on the real parts. A ConfigMap, a label and a Secret are edited, and a
//! timeline shows what each edit led to, in the cluster and in chats; then everything stays up for whoever wants to
//! explore it.

/// Prints a line; the demo ends without a word where nobody reads on (`cargo demo | head`).
macro_rules! say {
    ($($text:tt)*) => {{
        use std::io::Write as _;
        writeln!(std::io::stdout(), $($text)*)?;
    }};
}

mod chats;
mod messages;
mod sample_events;
mod shop;
mod timeline;

use std::io;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use clap::Parser;
use shop::Shop;
use timeline::Timeline;

#[derive(Parser)]
#[command(
    name = "cargo demo",
    about = "Shows Confroll at work on a real API server and real Knative parts",
    max_term_width = 80
)]
struct Arguments {
    /// End after the last edit; the exit code tells whether all happened
    #[arg(long)]
    exit: bool,
    /// Only show every kind of chat message on a local page; needs no Go
    #[arg(long)]
    messages: bool,
    /// With --messages: write a page for each message into this folder
    #[arg(long, value_name = "FOLDER", requires = "messages")]
    save: Option<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match demo(&Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error)
            if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) =>
        {
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("cargo demo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn demo(arguments: &Arguments) -> Result<()> {
    if arguments.messages { show_messages(arguments).await } else { show_shop(arguments).await }
}

async fn show_messages(arguments: &Arguments) -> Result<()> {
    let double = messages::show().await?;
    if let Some(folder) = &arguments.save {
        messages::save(&double, folder)?;
    }
    if arguments.exit {
        return Ok(());
    }
    say!("Every kind of message, as a chat would show it: {}\n\nCtrl-C ends it.", double.page_url());
    tokio::signal::ctrl_c().await?;
    Ok(())
}

async fn show_shop(arguments: &Arguments) -> Result<()> {
    let function = build_function()?;
    say!("Starting etcd, kube-apiserver, Knative's source and Broker, Confroll and its sinks …");
    let shop = Shop::open(&function).await?;
    say!("{}", shop::LAYOUT);
    let mut timeline = Timeline::of(&shop);
    timeline
        .edit("You edit the ConfigMap greeting.", shop.edit_config_map(), &["Deployment/web", "DaemonSet/agent"])
        .await?;
    timeline.edit("You add a label to the ConfigMap greeting.", shop.label_config_map(), &[]).await?;
    timeline
        .edit("You rotate the Secret db-password.", shop.rotate_secret(), &["Deployment/web", "StatefulSet/db"])
        .await?;
    say!("\nAll of it happened, and nothing else did.");
    if arguments.exit {
        return Ok(());
    }
    say!("{}", shop.ways_to_explore());
    tokio::signal::ctrl_c().await?;
    say!("\nEnding what was started.");
    Ok(())
}

/// Builds the program that the demo shows, and finds it beside the demo's own.
fn build_function() -> Result<PathBuf> {
    let cargo = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--bin", "confroll"])
        .status()
        .context("cargo cannot be run")?;
    ensure!(cargo.success(), "confroll did not build; the lines above say why");
    let demo = std::env::current_exe()?;
    let folder = demo.ancestors().nth(2).context("the demo is in no target folder")?;
    Ok(folder.join("confroll"))
}
