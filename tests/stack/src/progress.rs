//! What a person sees of a build that takes minutes: a bar on a terminal, plain lines elsewhere.
//!
//! Invariant: each part's time and the total are told in both.

use std::{
    io::{IsTerminal, stderr},
    time::{Duration, Instant},
};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};

use crate::say;

pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    since: Instant,
}

impl Progress {
    pub(crate) fn start(count: usize) -> Self {
        let progress = Self { bar: stderr().is_terminal().then(|| bar(count)), since: Instant::now() };
        progress.say(&format!("Building {count} real Kubernetes and Knative parts: this takes minutes, once."));
        progress
    }

    pub(crate) fn step(&self, name: &str, build: impl FnOnce() -> Result<()>) -> Result<()> {
        let since = Instant::now();
        match &self.bar {
            Some(bar) => bar.set_message(name.to_owned()),
            None => say(&format!("  building {name}")),
        }
        build()?;
        self.say(&format!("  built {name} in {}", seconds(since.elapsed())));
        if let Some(bar) = &self.bar {
            bar.inc(1);
        }
        Ok(())
    }

    pub(crate) fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        say(&format!("All parts built in {}.", seconds(self.since.elapsed())));
    }

    fn say(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => say(text),
        }
    }
}

fn bar(count: usize) -> ProgressBar {
    let bar = ProgressBar::new(count as u64);
    if let Ok(style) = ProgressStyle::with_template("{spinner} [{bar:20}] {pos}/{len} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(100));
    bar
}

fn seconds(time: Duration) -> String {
    format!("{:.1} s", time.as_secs_f64())
}
