//! What a workload asks for, and what a source says of itself: the only place where annotation keys are spelled.
//!
//! Invariants: the decision order is the peer's (stakater/Reloader v1, `ShouldReload`), so that objects annotated for it
//! mean the same here; annotations are read once and never looked at again.
//! Left out: whether the content changed (decision.rs).

use std::collections::{BTreeMap, BTreeSet};

use super::name_pattern::{NamePattern, PatternError};
use super::references::Usage;
use super::source::SourceKind;

/// Annotations by key.
pub type Annotations = BTreeMap<String, String>;

/// How the annotations are called. The defaults are the peer's; its users may have renamed them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotationKeys {
    /// On a workload: `"false"` leaves it alone whatever else it says.
    pub reload: String,
    /// On a workload: reload by every source that the template uses.
    pub auto: String,
    /// On a workload: reload by used sources that carry [`Self::matched`].
    pub search: String,
    /// On a source: reload workloads that search.
    pub matched: String,
    /// On a source: never reload anything.
    pub ignore: String,
    /// The keys for ConfigMaps.
    pub config_map: KindKeys,
    /// The keys for Secrets.
    pub secret: KindKeys,
}

/// The keys of one kind of source, all on workloads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindKeys {
    /// As `auto`, for this kind alone.
    pub auto: String,
    /// Names, as patterns, that reload the workload whether it uses them or not.
    pub named: String,
    /// Names that never reload it.
    pub exclude: String,
}

impl Default for AnnotationKeys {
    fn default() -> Self {
        let key = |name: &str| format!("reloader.stakater.com/{name}");
        let of_kind = |kind: &str| KindKeys {
            auto: format!("{kind}.reloader.stakater.com/auto"),
            named: format!("{kind}.reloader.stakater.com/reload"),
            exclude: format!("{kind}s.exclude.reloader.stakater.com/reload"),
        };
        Self {
            reload: key("reload"),
            auto: key("auto"),
            search: key("search"),
            matched: key("match"),
            ignore: key("ignore"),
            config_map: of_kind("configmap"),
            secret: of_kind("secret"),
        }
    }
}

impl AnnotationKeys {
    const fn of_kind(&self, kind: SourceKind) -> &KindKeys {
        match kind {
            SourceKind::ConfigMap => &self.config_map,
            SourceKind::Secret => &self.secret,
        }
    }
}

/// What happens to a workload that says neither yes nor no (the peer's `auto-reload-all`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unmarked {
    /// Nothing.
    LeftAlone,
    /// It is reloaded by every source that it uses.
    Reloaded,
}

/// Why a source counts for a workload. The same words stand in logs, metrics and reload events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// An annotation names it.
    NamedInAnnotation,
    /// The workload uses it and searches, and the source matches.
    ReferencedAndSearched,
    /// The workload uses it and asks for everything it uses.
    ReferencedAndAuto,
    /// The workload uses it, and all are reloaded that do not say no.
    ReferencedByDefault,
}

impl Reason {
    /// The word for logs, metrics and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NamedInAnnotation => "named_in_annotation",
            Self::ReferencedAndSearched => "referenced_and_searched",
            Self::ReferencedAndAuto => "referenced_and_auto",
            Self::ReferencedByDefault => "referenced_by_default",
        }
    }
}

/// Why a source does not count for a workload. The same words stand in logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SkipReason {
    /// The workload says never.
    WorkloadOptedOut,
    /// It asks for no reload by this kind of source.
    NotOptedIn,
    /// The source says never.
    SourceIgnored,
    /// The workload excludes it by name.
    Excluded,
    /// The workload asks for what it uses, and does not use it.
    NotReferenced,
}

impl SkipReason {
    /// The word for logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::WorkloadOptedOut => "workload_opted_out",
            Self::NotOptedIn => "not_opted_in",
            Self::SourceIgnored => "source_ignored",
            Self::Excluded => "excluded",
            Self::NotReferenced => "not_referenced",
        }
    }
}

/// Whether a source counts for a workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It does.
    Counts(Reason),
    /// It does not.
    Skips(SkipReason),
}

/// What a source says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SourceMarks {
    ignore: Mark,
    matched: Mark,
}

/// Whether an annotation is exactly `"true"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Set,
    Unset,
}

impl SourceMarks {
    /// Reads a source's annotations.
    #[must_use]
    pub fn of(annotations: &Annotations, keys: &AnnotationKeys) -> Self {
        Self { ignore: mark(annotations, &keys.ignore), matched: mark(annotations, &keys.matched) }
    }

    /// The marks of a source that may be wanted by whoever could want one: for a source that was not read yet.
    #[must_use]
    pub const fn unread() -> Self {
        Self { ignore: Mark::Unset, matched: Mark::Set }
    }
}

/// What a workload asks for.
#[derive(Clone, Debug)]
pub struct OptIn {
    opted_out: Mark,
    unmarked: Unmarked,
    config_map: Asks,
    secret: Asks,
}

/// What a workload asks for of one kind of source.
#[derive(Clone, Debug)]
struct Asks {
    named: Vec<NamePattern>,
    search: Mark,
    auto: Auto,
    exclude: BTreeSet<String>,
    problems: Vec<OptInProblem>,
}

/// What the two auto keys say together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Auto {
    Yes,
    /// Something else than yes, which is a no to reloading by default.
    No,
    Silent,
}

/// An entry of an annotation that cannot be read. The others count.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the annotation {key} has an entry that is left out: {problem}")]
pub struct OptInProblem {
    /// The annotation.
    pub key: String,
    /// What is wrong with the entry.
    pub problem: PatternError,
}

impl OptIn {
    /// Reads the annotations of a workload and of its pod template.
    #[must_use]
    pub fn of(workload: &Annotations, template: &Annotations, keys: &AnnotationKeys, unmarked: Unmarked) -> Self {
        let says_never = workload.get(&keys.reload).is_some_and(|value| value == "false");
        let asks = |kind| Asks::of(workload, template, keys, keys.of_kind(kind));
        Self {
            opted_out: if says_never { Mark::Set } else { Mark::Unset },
            unmarked,
            config_map: asks(SourceKind::ConfigMap),
            secret: asks(SourceKind::Secret),
        }
    }

    /// Whether a source counts, by the peer's order of rules. `usage` is how the pod template uses it.
    #[must_use]
    pub fn asks_for(&self, kind: SourceKind, name: &str, marks: &SourceMarks, usage: Option<&Usage>) -> Answer {
        let asks = self.asks(kind);
        if self.opted_out == Mark::Set {
            return Answer::Skips(SkipReason::WorkloadOptedOut);
        }
        if marks.ignore == Mark::Set {
            return Answer::Skips(SkipReason::SourceIgnored);
        }
        if asks.exclude.contains(name) {
            return Answer::Skips(SkipReason::Excluded);
        }
        if asks.named.iter().any(|pattern| pattern.matches(name)) {
            return Answer::Counts(Reason::NamedInAnnotation);
        }
        let reason = match (asks.search, marks.matched, asks.auto, self.unmarked) {
            (Mark::Set, Mark::Set, ..) => Reason::ReferencedAndSearched,
            (.., Auto::Yes, _) => Reason::ReferencedAndAuto,
            (.., Auto::Silent, Unmarked::Reloaded) => Reason::ReferencedByDefault,
            _ => return Answer::Skips(SkipReason::NotOptedIn),
        };
        if usage.is_some() { Answer::Counts(reason) } else { Answer::Skips(SkipReason::NotReferenced) }
    }

    /// The patterns by which sources of a kind are named.
    #[must_use]
    pub fn named(&self, kind: SourceKind) -> &[NamePattern] {
        &self.asks(kind).named
    }

    /// The entries that cannot be read.
    pub fn problems(&self) -> impl Iterator<Item = &OptInProblem> {
        self.config_map.problems.iter().chain(&self.secret.problems)
    }

    const fn asks(&self, kind: SourceKind) -> &Asks {
        match kind {
            SourceKind::ConfigMap => &self.config_map,
            SourceKind::Secret => &self.secret,
        }
    }
}

impl Asks {
    /// The four keys are taken from the workload if one of them stands there, whatever its value; else all four from
    /// the pod template. Exclusion is read from the workload alone, and is none of the four.
    fn of(workload: &Annotations, template: &Annotations, keys: &AnnotationKeys, of_kind: &KindKeys) -> Self {
        let four = [&of_kind.named, &keys.search, &keys.auto, &of_kind.auto];
        let from = if four.iter().any(|key| workload.contains_key(*key)) { workload } else { template };
        let (named, problems) = patterns(from, &of_kind.named);
        Self {
            named,
            search: mark(from, &keys.search),
            auto: auto(from.get(&keys.auto), from.get(&of_kind.auto)),
            exclude: entries(workload.get(&of_kind.exclude)).map(str::to_owned).collect(),
            problems,
        }
    }
}

fn auto(general: Option<&String>, of_kind: Option<&String>) -> Auto {
    let values = [general, of_kind].map(|value| value.map_or("", String::as_str));
    if values.iter().any(|value| is_true(value)) {
        Auto::Yes
    } else if values.iter().all(|value| value.is_empty()) {
        Auto::Silent
    } else {
        Auto::No
    }
}

/// What Go's `strconv.ParseBool` takes for true.
fn is_true(value: &str) -> bool {
    matches!(value, "1" | "t" | "T" | "true" | "TRUE" | "True")
}

fn mark(annotations: &Annotations, key: &str) -> Mark {
    if annotations.get(key).is_some_and(|value| value == "true") { Mark::Set } else { Mark::Unset }
}

fn patterns(annotations: &Annotations, key: &str) -> (Vec<NamePattern>, Vec<OptInProblem>) {
    let (mut named, mut problems) = (Vec::new(), Vec::new());
    for entry in entries(annotations.get(key)) {
        match NamePattern::parse(entry) {
            Ok(pattern) => named.push(pattern),
            Err(problem) => problems.push(OptInProblem { key: key.to_owned(), problem }),
        }
    }
    (named, problems)
}

/// The entries of a list: split at every comma, trimmed; an empty one matches nothing.
fn entries(list: Option<&String>) -> impl Iterator<Item = &str> {
    list.into_iter().flat_map(|list| list.split(',')).map(str::trim).filter(|entry| !entry.is_empty())
}
