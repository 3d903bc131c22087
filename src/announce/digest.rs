//! Many notices in one message.
//!
//! Invariant: each notice is in exactly one place: a failure, a row, or the count of a line that says what was left out.
//! Left out: everything that a single reload has too (announcement.rs).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use super::announcement::{Announcement, Detail, Failure, Tone, counted, list};
use super::identity::short_id;
use super::notice::{Notice, NoticedOutcome};
use super::text::{Line, Span, name, plain, word, words};

/// Where it happened, and the kinds and names of the sources.
type GroupKey<'a> = (String, Vec<(&'a str, &'a str)>);

/// The reloads of one set of sources.
#[derive(Default)]
struct Group<'a> {
    sources: Vec<Line>,
    workloads: Vec<&'a Notice>,
}

/// Two or more notices in words.
pub(super) fn digest(notices: &[Notice], detail: Detail) -> Announcement {
    let clusters: BTreeSet<_> = notices.iter().filter_map(|notice| notice.cluster.as_deref()).collect();
    let naming = Naming { several: clusters.len() > 1 };
    let (mut failed, done): (Vec<&Notice>, Vec<&Notice>) =
        notices.iter().partition(|notice| matches!(notice.outcome, NoticedOutcome::Failed { .. }));
    failed.sort_by_key(|notice| (&notice.cluster, &notice.namespace, &notice.kind, &notice.name));
    let title = title(&clusters, failed.len(), notices.len());
    Announcement {
        tone: if failed.is_empty() { Tone::Done } else { Tone::Failed },
        headline: words(&title),
        title,
        facts: Vec::new(),
        message: None,
        failures: failures(&failed, naming, detail),
        rows: rows(&done, naming, detail),
        mention: None,
        at: notices.iter().filter_map(|notice| notice.at).max(),
        short_id: short_id(notices),
        link: None,
        thread: None,
    }
}

/// `12 reloads in prod-eu1`, or `2 of 12 reloads failed in prod-eu1`
fn title(clusters: &BTreeSet<&str>, failed: usize, all: usize) -> Line {
    let what = match failed {
        0 => counted(all, "reload"),
        _ if failed == all => format!("{} failed", counted(all, "reload")),
        _ => format!("{failed} of {} failed", counted(all, "reload")),
    };
    let mut title = vec![Span::Strong(what)];
    match clusters.iter().next() {
        None => {}
        Some(cluster) if clusters.len() == 1 => title.extend([plain(" in "), word(cluster)]),
        Some(_) => title.push(plain(format!(" in {} clusters", clusters.len()))),
    }
    title
}

/// Whether a name needs its cluster to be told apart.
#[derive(Clone, Copy)]
struct Naming {
    several: bool,
}

impl Naming {
    fn prefix(self, notice: &Notice) -> String {
        let cluster = notice.cluster.as_deref().filter(|_| self.several);
        [cluster, notice.namespace.as_deref()].into_iter().flatten().flat_map(|part| [part, "/"]).collect()
    }
}

fn failures(failed: &[&Notice], naming: Naming, detail: Detail) -> Vec<Failure> {
    let (shown, more) = failed.split_at(failed.len().min(detail.failures));
    let shown = shown.iter().map(|notice| {
        let message = match &notice.outcome {
            NoticedOutcome::Failed { message } => message.clone(),
            NoticedOutcome::Reloaded => None,
        };
        let mut title: Line = notice.kind.iter().flat_map(|kind| [word(kind), plain(" ")]).collect();
        title.push(name(format!("{}{}", naming.prefix(notice), notice.name)));
        Failure { title, message }
    });
    let more = (!more.is_empty())
        .then(|| Failure { title: vec![plain(format!("+{} more failed", more.len()))], message: None });
    shown.chain(more).collect()
}

fn rows(done: &[&Notice], naming: Naming, detail: Detail) -> Vec<Line> {
    let mut groups: BTreeMap<GroupKey<'_>, Group<'_>> = BTreeMap::new();
    for notice in done {
        let mut sources: Vec<_> = notice.sources.iter().map(|s| (s.kind.as_str(), s.name.as_str())).collect();
        sources.sort_unstable();
        sources.dedup();
        let group = groups.entry((naming.prefix(notice), sources.clone())).or_default();
        if group.workloads.is_empty() {
            let named = |(kind, source): &(&str, &str)| {
                vec![word(kind), plain(" "), name(format!("{}{source}", naming.prefix(notice)))]
            };
            group.sources = sources.iter().map(named).collect();
        }
        group.workloads.push(notice);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort_by_key(|group| Reverse(group.workloads.len()));
    let more = groups.split_off(groups.len().min(detail.rows));
    let mut rows: Vec<Line> = groups.into_iter().map(|group| group.row(detail)).collect();
    if !more.is_empty() {
        let reloads: usize = more.iter().map(|group| group.workloads.len()).sum();
        let others = if more.len() == 1 { "1 more change".to_owned() } else { format!("{} more changes", more.len()) };
        rows.push(vec![plain(format!("+{others} ({})", counted(reloads, "reload")))]);
    }
    rows
}

impl Group<'_> {
    /// ``ConfigMap `shop/api-config` → `api`, `worker`, +7 more``
    fn row(mut self, detail: Detail) -> Line {
        self.workloads.sort_by_key(|notice| &notice.name);
        let mut row = list(self.sources, detail.names);
        if row.is_empty() {
            row.push(plain("something"));
        }
        row.push(plain(" → "));
        row.extend(list(self.workloads.iter().map(|notice| vec![name(&notice.name)]).collect(), detail.names));
        row
    }
}
