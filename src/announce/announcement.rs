//! One or many notices in words, the same for every service.
//!
//! Invariants: a digest shows each notice in exactly one place, or counts it in a line that says what was left out;
//! failures come first. The words depend on the notices, the style and the detail alone.
//! Left out: markup and limits (slack.rs, google_chat.rs, teams.rs), and how much detail fits (payload.rs).

use std::slice;

use jiff::Timestamp;
use url::Url;

use super::digest::digest;
use super::identity::{short_id, thread};
use super::notice::{Notice, NoticedOutcome, NoticedSource};
use super::style::{Mention, ShownKeys, Style};
use super::text::{Line, Span, cut, name, plain, word, words};

/// How much is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// Keys that are named.
    pub keys: usize,
    /// Names in one list: workloads of a row, sources of a workload.
    pub names: usize,
    /// Rows of a digest.
    pub rows: usize,
    /// Failures of a digest.
    pub failures: usize,
}

/// Whether something failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Everything was rolled out.
    Done,
    /// Something was not.
    Failed,
}

/// A message in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// Whether something failed.
    pub tone: Tone,
    /// Everything in one line without marks: for notifications, screen readers, and where nothing else is taken.
    pub headline: String,
    /// The title, with its names marked.
    pub title: Line,
    /// What there is to know about a single reload.
    pub facts: Vec<Fact>,
    /// Why a single reload failed.
    pub message: Option<String>,
    /// The failures of a digest.
    pub failures: Vec<Failure>,
    /// The reloads of a digest, a row for each set of sources; the last says what was left out.
    pub rows: Vec<Line>,
    /// Who is called.
    pub mention: Option<Mention>,
    /// When it happened; of a digest, the last of it.
    pub at: Option<Timestamp>,
    /// Tells messages apart, so that somebody who sees one twice knows that it is the same.
    pub short_id: String,
    /// A page about the workload.
    pub link: Option<Url>,
    /// What the message's thread is about.
    pub thread: Option<String>,
}

/// One thing to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub label: &'static str,
    /// What it is.
    pub value: Line,
}

/// A failure in a digest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Which workload; or how many more were left out.
    pub title: Line,
    /// Why.
    pub message: Option<String>,
}

impl Announcement {
    /// The notices in words. Without any there is nothing to say.
    #[must_use]
    pub fn of(notices: &[Notice], style: &Style, detail: Detail) -> Option<Self> {
        let mut said = match notices {
            [] => return None,
            [notice] => one(notice, style, detail),
            _ => digest(notices, detail),
        };
        if let Some(prefix) = &style.prefix {
            said.title.insert(0, plain(format!("{prefix} ")));
            said.headline = format!("{prefix} {}", said.headline);
        }
        if said.tone == Tone::Failed {
            said.mention.clone_from(&style.mention_on_failure);
        }
        said.thread = thread(notices, style.thread_by);
        Some(said)
    }

    /// The least that has to be said, without marks: what happened, what failed, and why.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let failures = self.failures.iter().map(|failure| match &failure.message {
            Some(message) => format!("{}: {message}", words(&failure.title)),
            None => words(&failure.title),
        });
        let rows = self.rows.iter().map(|row| words(row));
        [self.headline.clone()].into_iter().chain(self.message.clone()).chain(failures).chain(rows).collect()
    }

    /// When, and which message, for services that do not know the reader's time zone.
    #[must_use]
    pub fn footer(&self) -> String {
        let at = self.at.map(|at| at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string());
        at.into_iter().chain([self.short_id.clone()]).collect::<Vec<_>>().join(" · ")
    }
}

fn one(notice: &Notice, style: &Style, detail: Detail) -> Announcement {
    let (tone, verb, message) = match &notice.outcome {
        NoticedOutcome::Reloaded => (Tone::Done, "Reloaded", notice.note.clone()),
        NoticedOutcome::Failed { message } => (Tone::Failed, "Reload failed:", message.clone()),
    };
    let mut title = vec![Span::Strong(verb.to_owned()), plain(" "), name(workload(notice))];
    if let Some(namespace) = &notice.namespace {
        title.extend([plain(" in "), name(namespace)]);
    }
    Announcement {
        tone,
        headline: headline(notice, verb),
        title,
        facts: facts(notice, style, detail),
        message,
        failures: Vec::new(),
        rows: Vec::new(),
        mention: None,
        at: notice.at,
        short_id: short_id(slice::from_ref(notice)),
        link: notice.link.clone(),
        thread: None,
    }
}

/// `Reloaded Deployment shop/api in prod-eu1 (ConfigMap api-config changed)`
fn headline(notice: &Notice, verb: &str) -> String {
    let kind = notice.kind.as_deref().map(|kind| format!("{kind} ")).unwrap_or_default();
    let namespace = notice.namespace.as_deref().map(|namespace| format!("{namespace}/")).unwrap_or_default();
    let cluster = notice.cluster.as_deref().map(|cluster| format!(" in {cluster}")).unwrap_or_default();
    let changed = match notice.sources.as_slice() {
        [] => String::new(),
        [source] => format!(" ({} {} changed)", source.kind, source.name),
        [source, more @ ..] => format!(" ({} {} and {} more changed)", source.kind, source.name, more.len()),
    };
    cut(&format!("{verb} {kind}{namespace}{}{cluster}{changed}", notice.name), 1000)
}

/// `Deployment/api`
pub(super) fn workload(notice: &Notice) -> String {
    notice.kind.as_ref().map_or_else(|| notice.name.clone(), |kind| format!("{kind}/{}", notice.name))
}

fn facts(notice: &Notice, style: &Style, detail: Detail) -> Vec<Fact> {
    let sources = notice.sources.iter().map(|source| vec![word(&source.kind), plain(" "), name(&source.name)]);
    let facts = [
        ("Cluster", notice.cluster.iter().map(|cluster| word(cluster)).collect()),
        ("Changed", list(sources.collect(), detail.names)),
        ("Keys", keys(notice, style.keys, detail)),
        // Beside a failure it would read as the reason of that.
        (
            "Why",
            notice
                .reason
                .iter()
                .filter(|_| notice.outcome == NoticedOutcome::Reloaded)
                .map(|reason| word(&why(reason)))
                .collect(),
        ),
    ];
    facts.into_iter().filter(|(_, value)| !value.is_empty()).map(|(label, value)| Fact { label, value }).collect()
}

/// `` `LOG_LEVEL`, `+FEATURE_X`, `-OLD` ``: changed, added, removed.
fn keys(notice: &Notice, shown: ShownKeys, detail: Detail) -> Line {
    let may_show = |source: &&NoticedSource| match shown {
        ShownKeys::None => false,
        ShownKeys::ConfigMap => source.kind == "ConfigMap",
        ShownKeys::All => true,
    };
    let of = |mark: &'static str, keys: fn(&NoticedSource) -> &Vec<String>| {
        let sources = notice.sources.iter().filter(may_show);
        sources.flat_map(keys).map(move |key| vec![name(format!("{mark}{key}"))])
    };
    let all: Vec<Line> = of("", |source| &source.changed)
        .chain(of("+", |source| &source.added))
        .chain(of("-", |source| &source.removed))
        .collect();
    match (all.len(), detail.keys) {
        (0, _) => Vec::new(),
        (count, 0) => vec![plain(counted(count, "key"))],
        (_, most) => list(all, most),
    }
}

fn why(reason: &str) -> String {
    match reason {
        "named_in_annotation" => "an annotation names it".to_owned(),
        "referenced_and_searched" => "the pod template uses it, and the workload searches".to_owned(),
        "referenced_and_auto" => "the pod template uses it".to_owned(),
        "referenced_by_default" => "the pod template uses it, and everything reloads".to_owned(),
        later => later.replace('_', " "),
    }
}

/// Items with commas, at most so many; then how many more there are.
pub(super) fn list(items: Vec<Line>, most: usize) -> Line {
    let most = most.max(1);
    let more = items.len().saturating_sub(most);
    let mut line = Line::new();
    for item in items.into_iter().take(most) {
        if !line.is_empty() {
            line.push(plain(", "));
        }
        line.extend(item);
    }
    if more > 0 {
        line.push(plain(format!(", +{more} more")));
    }
    line
}

/// `1 reload`, `2 reloads`
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
