//! What an edit led to, in the order in which it happened.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use cloudevents::AttributesReader as _;
use confroll_stack::Received;
use jiff::Timestamp;
use serde_json::Value;

use crate::chats::headline;
use crate::shop::Shop;

/// How long a step may take before it counts as not happened.
const LIMIT: Duration = Duration::from_secs(30);
/// Every workload of the shop.
const WORKLOADS: [&str; 4] = ["Deployment/web", "DaemonSet/agent", "StatefulSet/db", "Deployment/frozen"];

/// Edits so far, and the rollouts that they should have led to.
pub(crate) struct Timeline<'a> {
    shop: &'a Shop,
    rolled_out: BTreeMap<&'static str, usize>,
    changes: usize,
    reloads: usize,
    messages: usize,
}

impl<'a> Timeline<'a> {
    pub(crate) fn of(shop: &'a Shop) -> Self {
        Self { shop, rolled_out: BTreeMap::new(), changes: 0, reloads: 0, messages: 0 }
    }

    /// Makes an edit, waits for all that should come of it, prints it, and sees that nothing else came.
    pub(crate) async fn edit(
        &mut self,
        what: &str,
        edit: impl Future<Output = Result<()>>,
        expected: &[&'static str],
    ) -> Result<()> {
        say!("\n{what}");
        let finished = self.shop.events_finished().await?;
        let began = Instant::now();
        edit.await?;
        let mut lines: Vec<(Instant, String)> = Vec::new();

        self.changes += 1;
        // Controllers write ConfigMaps of their own: only ours are of interest.
        let ours = |received: &[Received]| received.iter().filter(|change| is_ours(change)).count();
        let changes = self.shop.changes.wait_for(|received| ours(received) >= self.changes, LIMIT).await?;
        let change =
            changes.iter().filter(|change| is_ours(change)).nth(self.changes - 1).context("no source event came")?;
        lines.push((change.at, format!("source event   {}", change.event.ty())));

        for workload in expected {
            let times = self.rolled_out.entry(workload).or_default();
            *times += 1;
            let (kind, name) = split(workload);
            let rollouts = self.shop.watch.wait_for(kind, name, *times, LIMIT).await?;
            lines.push((rollouts[*times - 1].at, format!("rollout        {workload}")));
        }

        self.reloads += expected.len();
        let reloads = self.shop.reloads.wait_for(|received| received.len() >= self.reloads, LIMIT).await?;
        let new = &reloads[self.reloads - expected.len()..];
        lines.extend(new.iter().map(|received| (received.at, format!("reload event   {}", told(received)))));

        let messages = self.shop.chats.told(self.reloads).await?;
        for message in &messages[self.messages..] {
            let line = format!("{:<14} {}", message.service.as_str(), headline(&message.payload));
            lines.push((instant_of(message.at), line));
        }
        self.messages = messages.len();

        self.until_more_finished_than(finished).await?;
        lines.sort();
        for (at, line) in &lines {
            say!("  {:>5} ms  {line}", at.saturating_duration_since(began).as_millis());
        }
        if expected.is_empty() {
            say!("            nothing rolls out: the content is the same");
        }
        self.check_nothing_else()
    }

    /// Waits until the function has answered the edit's event: then everything that it led to is done.
    async fn until_more_finished_than(&self, before: u64) -> Result<()> {
        let began = Instant::now();
        while self.shop.events_finished().await? <= before {
            ensure!(
                began.elapsed() < LIMIT,
                "the function did not finish the event; its log:\n{}",
                self.shop.function.log()
            );
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    }

    fn check_nothing_else(&self) -> Result<()> {
        for workload in WORKLOADS {
            let (kind, name) = split(workload);
            let times = self.shop.watch.rollouts(kind, name).len();
            let expected = self.rolled_out.get(workload).copied().unwrap_or_default();
            ensure!(times == expected, "{workload} rolled out {times} times, not {expected}");
        }
        let told = self.shop.reloads.events().len();
        ensure!(told == self.reloads, "{told} reload events came, not {}", self.reloads);
        Ok(())
    }
}

/// The chats' clock, as the other lines tell the time.
#[expect(clippy::disallowed_methods, reason = "two clocks are compared")]
fn instant_of(at: Timestamp) -> Instant {
    let ago = Timestamp::now().duration_since(at).unsigned_abs();
    Instant::now().checked_sub(ago).unwrap_or_else(Instant::now)
}

fn is_ours(change: &Received) -> bool {
    change.event.extension("name").is_some_and(|name| ["greeting", "db-password"].contains(&name.to_string().as_str()))
}

fn split(workload: &'static str) -> (&'static str, &'static str) {
    workload.split_once('/').unwrap_or((workload, ""))
}

/// `Deployment/web: ConfigMap greeting, key TEXT`.
fn told(received: &Received) -> String {
    let data: Value = match received.event.data() {
        Some(cloudevents::Data::Binary(bytes)) => serde_json::from_slice(bytes).unwrap_or_default(),
        _ => Value::Null,
    };
    let source = &data["sources"][0];
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let keys: Vec<String> = source["keys"]["changed"].as_array().into_iter().flatten().map(text).collect();
    format!(
        "{}: {} {}, key {}",
        received.event.subject().unwrap_or("?"),
        text(&source["kind"]),
        text(&source["name"]),
        keys.join(", ")
    )
}
