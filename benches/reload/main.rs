//! How fast Confroll is, and what it costs the API server: on the real parts, each scenario beside the *raw limit*
//! measured in the same run (as many plain concurrent PATCHes, by the same client). One JSON line a scenario.
//!
//! Workloads have no replicas and no controller runs, so that only the reloader is measured. Requests are counted from
//! the API server's audit log. Times are from the write of a source to the moment at which a watch shows the pod
//! template changed.

mod bed;
mod figures;
mod memory;
mod scenarios;
mod start;
mod sweep;

use bed::{Bed, Reloader, Via};
use clap::{Parser, ValueEnum};

#[derive(Parser)]
#[command(about = "Measures reloading, beside the raw limit of the same run", max_term_width = 80)]
struct Arguments {
    /// Which scenarios [default: all]
    scenarios: Vec<Scenario>,
    /// Another reloader to run through the same scenarios: a shell command that reads KUBECONFIG
    #[arg(long, value_name = "CMD")]
    peer: Option<String>,
    /// What cargo says to every benchmark.
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Scenario {
    /// One ConfigMap, one Deployment, 50 times; through the source alone and through the Broker
    Single,
    /// One ConfigMap, 500 Deployments
    Fanout,
    /// 200 ConfigMaps written at once, each with a Deployment
    Burst,
    /// 10,000 workloads and sources: nothing moved, and 1 %
    Sweep,
    /// From the start of a process to its first rollout
    Start,
    /// What a process holds at rest, and with 20,000 Secrets of 6 kB
    Memory,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let arguments = Arguments::parse();
    let wanted = |scenario| arguments.scenarios.is_empty() || arguments.scenarios.contains(&scenario);
    let bed = Bed::start().await?;
    let mut runs = vec![
        (Scenario::Single, Reloader::Confroll(Via::Source)),
        (Scenario::Single, Reloader::Confroll(Via::Broker)),
        (Scenario::Fanout, Reloader::Confroll(Via::Source)),
        (Scenario::Burst, Reloader::Confroll(Via::Broker)),
        (Scenario::Single, Reloader::Confroll(Via::Watch)),
        (Scenario::Single, Reloader::Confroll(Via::WatchAndTell)),
        (Scenario::Fanout, Reloader::Confroll(Via::WatchAndTell)),
        (Scenario::Burst, Reloader::Confroll(Via::WatchAndTell)),
        (Scenario::Sweep, Reloader::Confroll(Via::Source)),
        (Scenario::Start, Reloader::Confroll(Via::Source)),
        (Scenario::Memory, Reloader::Confroll(Via::Watch)),
    ];
    if let Some(command) = arguments.peer {
        let peer = || Reloader::Peer(command.clone());
        runs.extend([(Scenario::Single, peer()), (Scenario::Fanout, peer()), (Scenario::Burst, peer())]);
    }
    for (scenario, reloader) in runs.into_iter().filter(|(scenario, _)| wanted(*scenario)) {
        let figures = match scenario {
            Scenario::Single => scenarios::single(&bed, &reloader).await?,
            Scenario::Fanout => scenarios::fanout(&bed, &reloader).await?,
            Scenario::Burst => scenarios::burst(&bed, &reloader).await?,
            Scenario::Sweep | Scenario::Start | Scenario::Memory => {
                let lines = match scenario {
                    Scenario::Sweep => sweep::sweep(&bed).await?,
                    Scenario::Start => start::start(&bed).await?,
                    _ => memory::memory(&bed).await?,
                };
                lines.iter().for_each(|line| println!("{line}"));
                continue;
            }
        };
        println!("{}", figures.to_json());
    }
    Ok(())
}
