//! `confroll sink … --test NAME`: posts one sample, and says in words what the service answered and what to do.
//!
//! Invariant: the message takes the same way as every other: same settings, same payload, same client.

use std::io::Write as _;
use std::sync::Arc;

use anyhow::{Context as _, bail};

use super::sink::{list, settings};
use crate::announce::destination::DestinationName;
use crate::announce::notice::Notice;
use crate::announce::sample::sample_event;
use crate::announce::sink_kind::SinkKind;
use crate::edge::announcer::Announcing;
use crate::edge::chat_webhook::{Delivery, Form};
use crate::edge::destinations::Destinations;
use crate::edge::hold::Telling;
use crate::edge::reporter::now;
use crate::edge::sink_metrics::SinkMetrics;

/// Posts a sample to the destination of that name.
pub async fn run(kind: SinkKind, name: &str) -> anyhow::Result<()> {
    let settings = settings(kind)?;
    let Some(name) = DestinationName::parse(name) else {
        bail!("a destination's name may only hold a-z, 0-9 and '-', 1 to 63 of them");
    };
    let destination = name.of_kind(kind);
    let url = match settings.destinations.find(&name) {
        Ok(url) => url,
        Err(error) => bail!("{destination} {error}{}", others(&settings.destinations)?),
    };
    if let Some(doubt) = url.doubt(kind) {
        say(&format!("{destination} looks wrong: {doubt}. It is tried all the same."))?;
    }
    let event = sample_event(now())?;
    let notice = Notice::from_event(&event)?.context("the sample is no reload event")?;
    let announcing = Announcing::by_sink(&settings, Arc::new(SinkMetrics::new()))?;
    match announcing.deliver(&name, vec![Telling { notice, event: Some(event) }]).await {
        Ok(delivery) => tell(kind, &destination, &delivery),
        Err(error) => bail!("{destination} {error}"),
    }
}

fn tell(kind: SinkKind, destination: &str, delivery: &Delivery) -> anyhow::Result<()> {
    let answered = delivery.status.map_or("it gave no answer".to_owned(), |status| format!("it answered {status}"));
    if let Some(word) = delivery.verdict.word() {
        bail!("{destination} did not take the sample: {answered}, {}\nWhat to do: {}", word.word, word.advice);
    }
    say(&format!("{destination} took the sample: {answered}. {}", look(kind)))?;
    if delivery.form == Form::Plain {
        say("It took it as text alone: it refused the layout, which is a fault of Confroll. Please report it.")?;
    }
    Ok(())
}

fn look(kind: SinkKind) -> &'static str {
    match kind {
        SinkKind::Slack | SinkKind::GoogleChat => "Look into the channel: it should be there.",
        SinkKind::Teams => {
            "That only says that the workflow was started: look into the channel.\n\
             If nothing is there, the run history of the workflow in Power Automate says why."
        }
        SinkKind::Webhook | SinkKind::PlainText => "The receiver has a reload event about Deployment/this-is-a-test.",
    }
}

/// The names that would have worked.
fn others(destinations: &Destinations) -> anyhow::Result<String> {
    let listed = list(destinations)?;
    let names: Vec<_> = listed
        .iter()
        .filter(|listed| listed.url.is_ok())
        .filter_map(|listed| listed.name.as_ref())
        .map(DestinationName::as_str)
        .collect();
    Ok(if names.is_empty() { String::new() } else { format!("; there is {}", names.join(", ")) })
}

fn say(line: &str) -> std::io::Result<()> {
    writeln!(std::io::stdout(), "{line}")
}
