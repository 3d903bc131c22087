//! What a workload asks for, and what a source says of itself.
//!
//! Invariants: the decision order is the peer's (stakater/Reloader v1, `ShouldReload`), so that objects annotated for it
//! mean the same here; annotations are read once and never looked at again.
//! Left out: how the keys are called (annotation_keys.rs), whether the content changed (decision.rs), and how a list is
//! read (name_list.rs).

use std::collections::{BTreeMap, BTreeSet};

use super::annotation_keys::{AnnotationKeys, KindKeys};
use super::name_list::{entries, patterns};
use super::name_pattern::NamePattern;
use super::references::Usage;
use super::scope::OutOfScope;
use super::source::SourceKind;

pub use super::name_list::OptInProblem;

/// Annotations by key.
pub type Annotations = BTreeMap<String, String>;

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
    scope: Result<(), OutOfScope>,
}

/// Whether an annotation is exactly `"true"`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Set,
    Unset,
}

impl SourceMarks {
    /// Reads a source's annotations; `scope` is what its labels say.
    #[must_use]
    pub fn of(annotations: &Annotations, keys: &AnnotationKeys, scope: Result<(), OutOfScope>) -> Self {
        Self { ignore: mark(annotations, &keys.ignore), matched: mark(annotations, &keys.matched), scope }
    }

    /// Whether the source is in scope by its labels.
    pub const fn scope(&self) -> Result<(), OutOfScope> {
        self.scope
    }

    /// The marks of a source that may be wanted by whoever could want one: for a source that was not read yet.
    #[must_use]
    pub const fn unread() -> Self {
        Self { ignore: Mark::Unset, matched: Mark::Set, scope: Ok(()) }
    }
}

/// What a workload asks for.
#[derive(Clone, Debug)]
pub struct OptIn {
    opted_out: Mark,
    unmarked: Unmarked,
    config_map: Asks,
    secret: Asks,
    secret_provider_class: Asks,
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
            secret_provider_class: asks(SourceKind::SecretProviderClass),
        }
    }

    /// Whether a source counts, by the peer's order of rules. `usage` is how the pod template uses it.
    #[must_use]
    pub fn asks_for(&self, kind: SourceKind, name: &str, marks: &SourceMarks, usage: Option<&Usage>) -> Answer {
        let asks = self.asks(kind);
        if let Some(reason) = self.veto(marks) {
            return Answer::Skips(reason);
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

    /// What beats every wish of a workload, whichever source it is for.
    #[must_use]
    pub fn veto(&self, marks: &SourceMarks) -> Option<SkipReason> {
        match (self.opted_out, marks.ignore) {
            (Mark::Set, _) => Some(SkipReason::WorkloadOptedOut),
            (_, Mark::Set) => Some(SkipReason::SourceIgnored),
            _ => None,
        }
    }

    /// The patterns by which sources of a kind are named.
    #[must_use]
    pub fn named(&self, kind: SourceKind) -> &[NamePattern] {
        &self.asks(kind).named
    }

    /// The entries that cannot be read.
    pub fn problems(&self) -> impl Iterator<Item = &OptInProblem> {
        SourceKind::ALL.into_iter().flat_map(|kind| &self.asks(kind).problems)
    }

    const fn asks(&self, kind: SourceKind) -> &Asks {
        match kind {
            SourceKind::ConfigMap => &self.config_map,
            SourceKind::Secret => &self.secret,
            SourceKind::SecretProviderClass => &self.secret_provider_class,
        }
    }
}

impl Asks {
    /// The four keys are taken from the workload if one of them stands there, whatever its value; else all four from
    /// the pod template. Exclusion is read from the workload alone, and is none of the four.
    fn of(workload: &Annotations, template: &Annotations, keys: &AnnotationKeys, of_kind: &KindKeys) -> Self {
        let four = [&of_kind.named, &keys.search, &keys.auto, &of_kind.auto];
        let from = if four.iter().any(|key| workload.contains_key(*key)) { workload } else { template };
        let (named, problems) = patterns(from.get(&of_kind.named), &of_kind.named);
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

#[cfg(test)]
mod tests {
    use super::super::references::Keys;
    use super::*;

    fn annotations(entries: &[(&str, &str)]) -> Annotations {
        entries.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn used() -> Usage {
        Usage { keys: Keys::Whole, carrier: "main".to_owned() }
    }

    /// The answer for a ConfigMap `app`, used by a workload with these annotations.
    fn answer(workload: &[(&str, &str)], source: &[(&str, &str)]) -> Answer {
        answer_to(workload, &[], source, Unmarked::LeftAlone, Some(&used()))
    }

    fn answer_to(
        workload: &[(&str, &str)],
        template: &[(&str, &str)],
        source: &[(&str, &str)],
        unmarked: Unmarked,
        usage: Option<&Usage>,
    ) -> Answer {
        let keys = AnnotationKeys::default();
        let opt_in = OptIn::of(&annotations(workload), &annotations(template), &keys, unmarked);
        opt_in.asks_for(SourceKind::ConfigMap, "app", &SourceMarks::of(&annotations(source), &keys, Ok(())), usage)
    }

    const AUTO: &str = "reloader.stakater.com/auto";
    const TYPED: &str = "configmap.reloader.stakater.com/auto";
    const OTHER_TYPED: &str = "secret.reloader.stakater.com/auto";
    const NAMED: &str = "configmap.reloader.stakater.com/reload";
    const OTHER_NAMED: &str = "secret.reloader.stakater.com/reload";
    const SEARCH: &str = "reloader.stakater.com/search";
    const MATCH: &str = "reloader.stakater.com/match";
    const IGNORE: &str = "reloader.stakater.com/ignore";
    const EXCLUDE: &str = "configmaps.exclude.reloader.stakater.com/reload";
    const OTHER_EXCLUDE: &str = "secrets.exclude.reloader.stakater.com/reload";
    const NEVER: &str = "reloader.stakater.com/reload";

    const BY_AUTO: Answer = Answer::Counts(Reason::ReferencedAndAuto);
    const BY_NAME: Answer = Answer::Counts(Reason::NamedInAnnotation);
    const BY_SEARCH: Answer = Answer::Counts(Reason::ReferencedAndSearched);
    const NOT_ASKED: Answer = Answer::Skips(SkipReason::NotOptedIn);

    #[test]
    fn auto_is_what_go_takes_for_true() {
        for yes in ["1", "t", "T", "true", "TRUE", "True"] {
            assert_eq!(answer(&[(AUTO, yes)], &[]), BY_AUTO, "{yes}");
            assert_eq!(answer(&[(TYPED, yes)], &[]), BY_AUTO, "{yes}");
        }
        for no in ["", "0", "false", "yes", "on", "tRUE", " true", "nonsense"] {
            assert_eq!(answer(&[(AUTO, no)], &[]), NOT_ASKED, "{no}");
        }
    }

    #[test]
    fn typed_auto_is_for_its_type_and_is_ored_with_auto() {
        assert_eq!(answer(&[(OTHER_TYPED, "true")], &[]), NOT_ASKED);
        assert_eq!(answer(&[(AUTO, "false"), (TYPED, "true")], &[]), BY_AUTO);
        assert_eq!(answer(&[(AUTO, "true"), (TYPED, "false")], &[]), BY_AUTO);
    }

    #[test]
    fn a_named_source_counts_even_unused_and_whatever_auto_says() {
        assert_eq!(answer_to(&[(NAMED, "other, app")], &[], &[], Unmarked::LeftAlone, None), BY_NAME);
        assert_eq!(answer(&[(NAMED, "app"), (AUTO, "false")], &[]), BY_NAME);
        assert_eq!(answer(&[(NAMED, "a.*")], &[]), BY_NAME);
        assert_eq!(answer(&[(OTHER_NAMED, "app")], &[]), NOT_ASKED);
        for no_match in ["", ",", " , ", "ap", "pp", "a{1,2}pp"] {
            assert_eq!(answer(&[(NAMED, no_match)], &[]), NOT_ASKED, "{no_match}");
        }
    }

    #[test]
    fn a_broken_entry_is_named_and_the_others_count() {
        let keys = AnnotationKeys::default();
        let broken = annotations(&[(NAMED, "(, app")]);
        let opt_in = OptIn::of(&broken, &annotations(&[]), &keys, Unmarked::LeftAlone);
        let problems: Vec<String> = opt_in.problems().map(ToString::to_string).collect();
        assert_eq!(problems.len(), 1);
        assert!(problems[0].contains(NAMED) && problems[0].contains("\"(\""), "{problems:?}");
        assert_eq!(answer(&[(NAMED, "(, app")], &[]), BY_NAME);
    }

    #[test]
    fn each_kind_of_source_has_its_own_lists_and_auto_covers_all() {
        let keys = AnnotationKeys::default();
        let all = annotations(&[
            (AUTO, "true"),
            (NAMED, "app"),
            ("secretproviderclass.reloader.stakater.com/reload", "app,("),
            ("secretproviderclasses.exclude.reloader.stakater.com/reload", "noise"),
        ]);
        let answers = |opt_in: &OptIn| {
            [
                ("app", SourceKind::ConfigMap),
                ("app", SourceKind::SecretProviderClass),
                ("noise", SourceKind::SecretProviderClass),
                ("used", SourceKind::SecretProviderClass),
            ]
            .map(|(name, kind)| opt_in.asks_for(kind, name, &SourceMarks::unread(), Some(&used())))
        };
        let opt_in = OptIn::of(&all, &annotations(&[]), &keys, Unmarked::LeftAlone);
        assert_eq!(answers(&opt_in), [BY_NAME, BY_NAME, Answer::Skips(SkipReason::Excluded), BY_AUTO]);
        assert_eq!(opt_in.problems().count(), 1);
    }

    #[test]
    fn search_and_match_must_both_be_exactly_true() {
        assert_eq!(answer(&[(SEARCH, "true")], &[(MATCH, "true")]), BY_SEARCH);
        for (search, matched) in [("true", "True"), ("1", "true"), ("true", ""), ("", "true")] {
            assert_eq!(answer(&[(SEARCH, search)], &[(MATCH, matched)]), NOT_ASKED, "{search} {matched}");
        }
        let unused = answer_to(&[(SEARCH, "true")], &[], &[(MATCH, "true")], Unmarked::LeftAlone, None);
        assert_eq!(unused, Answer::Skips(SkipReason::NotReferenced));
    }

    #[test]
    fn a_source_that_is_ignored_beats_everything_of_a_workload() {
        let everything = [(AUTO, "true"), (NAMED, "app"), (SEARCH, "true")];
        assert_eq!(answer(&everything, &[(IGNORE, "true"), (MATCH, "true")]), Answer::Skips(SkipReason::SourceIgnored));
        assert_eq!(answer(&everything, &[(IGNORE, "True")]), BY_NAME);
    }

    #[test]
    fn exclusion_beats_name_and_auto_by_plain_equality_and_for_its_kind() {
        let with = |key, list| answer(&[(AUTO, "true"), (NAMED, "app"), (key, list)], &[]);
        assert_eq!(with(EXCLUDE, "other , app"), Answer::Skips(SkipReason::Excluded));
        assert_eq!(with(EXCLUDE, "a.*"), BY_NAME);
        assert_eq!(with(OTHER_EXCLUDE, "app"), BY_NAME);
    }

    #[test]
    fn the_template_speaks_only_where_the_workload_is_silent_about_all_four_keys() {
        let from_template =
            |workload: &[(&str, &str)]| answer_to(workload, &[(AUTO, "true")], &[], Unmarked::LeftAlone, Some(&used()));
        assert_eq!(from_template(&[]), BY_AUTO);
        assert_eq!(from_template(&[("other", "x")]), BY_AUTO);
        for key in [AUTO, TYPED, NAMED, SEARCH] {
            assert_eq!(from_template(&[(key, "")]), NOT_ASKED, "{key}");
        }
        // The keys of another kind, and exclusion, are none of the four.
        for key in [OTHER_TYPED, OTHER_NAMED, OTHER_EXCLUDE] {
            assert_eq!(from_template(&[(key, "")]), BY_AUTO, "{key}");
        }
        // Exclusion is read from the workload alone.
        assert_eq!(from_template(&[(EXCLUDE, "app")]), Answer::Skips(SkipReason::Excluded));
        assert_eq!(
            answer_to(&[], &[(AUTO, "true"), (EXCLUDE, "app")], &[], Unmarked::LeftAlone, Some(&used())),
            BY_AUTO
        );
    }

    #[test]
    fn reload_false_on_a_workload_beats_everything() {
        let everything = [(AUTO, "true"), (NAMED, "app"), (NEVER, "false")];
        assert_eq!(answer(&everything, &[]), Answer::Skips(SkipReason::WorkloadOptedOut));
        assert_eq!(answer(&[(AUTO, "true"), (NEVER, "true")], &[]), BY_AUTO);
        assert_eq!(answer(&[(NEVER, "true")], &[]), NOT_ASKED);
    }

    #[test]
    fn by_default_means_both_auto_keys_are_silent() {
        let by_default = |workload: &[(&str, &str)]| answer_to(workload, &[], &[], Unmarked::Reloaded, Some(&used()));
        let counts = Answer::Counts(Reason::ReferencedByDefault);
        assert_eq!(by_default(&[]), counts);
        assert_eq!(by_default(&[(AUTO, "")]), counts);
        // A named list or a search alone says nothing about the default.
        assert_eq!(by_default(&[(NAMED, "other")]), counts);
        assert_eq!(by_default(&[(SEARCH, "true")]), counts);
        for no in ["false", "nonsense"] {
            assert_eq!(by_default(&[(AUTO, no)]), NOT_ASKED);
            assert_eq!(by_default(&[(TYPED, no)]), NOT_ASKED);
            assert_eq!(by_default(&[(OTHER_TYPED, no)]), counts);
        }
        assert_eq!(answer_to(&[], &[], &[], Unmarked::Reloaded, None), Answer::Skips(SkipReason::NotReferenced));
    }
}
