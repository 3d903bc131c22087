//! Annotations as anybody may write them, and the answer that follows from them.
//!
//! Invariant of the input: a line is `w KEY=VALUE` for the workload, `t` for its pod template and `s` for the source,
//! with keys as in [`keys`]; `n NAME` asks for a source; `d` turns reloading by default on, `x` says that the source is
//! not used. Other lines say nothing.

use std::collections::BTreeSet;

use confroll::reload::annotation_keys::{AnnotationKeys, KindKeys};
use confroll::reload::opt_in::{Annotations, Answer, OptIn, Reason, SkipReason, SourceMarks, Unmarked};
use confroll::reload::references::{Keys, Usage};
use confroll::reload::source::{Namespace, SourceKind, SourceRef};

/// The longest problem that may reach a log: two annotations, each with eight entries and how many more there are.
const MOST_PROBLEMS: usize = 18;

struct Asked {
    workload: Annotations,
    template: Annotations,
    source: Annotations,
    names: Vec<String>,
    unmarked: Unmarked,
    usage: Option<Usage>,
}

pub(crate) fn check(input: &[u8]) -> &'static str {
    let asked = Asked::read(&String::from_utf8_lossy(input));
    let keys = keys();
    let opt_in = OptIn::of(&asked.workload, &asked.template, &keys, asked.unmarked);
    let problems: Vec<String> = opt_in.problems().map(ToString::to_string).collect();
    assert!(problems.len() <= MOST_PROBLEMS, "{} problems", problems.len());
    for problem in problems {
        assert!(problem.chars().count() <= 1000 && !problem.contains(char::is_control), "{problem:?}");
    }
    let mut said = "nothing counts";
    let marks = SourceMarks::of(&asked.source, &keys, Ok(()));
    for kind in SourceKind::ALL {
        every_name_counts(&asked, &opt_in, kind);
        for name in asked.names() {
            let answer = opt_in.asks_for(kind, &name, &marks, asked.usage.as_ref());
            let named = opt_in.named(kind).iter().any(|pattern| pattern.matches(&name));
            assert_eq!(answer, asked.expected(kind, &name, named), "{kind}/{name}");
            if let Answer::Counts(reason) = answer {
                said = reason.as_str();
            }
        }
    }
    said
}

/// The keys of the annotations: short, so that an input is mostly values.
fn keys() -> AnnotationKeys {
    let of_kind = |kind: &str| KindKeys {
        auto: format!("{kind}.auto"),
        named: format!("{kind}.named"),
        exclude: format!("{kind}.exclude"),
    };
    let key = str::to_owned;
    AnnotationKeys {
        reload: key("reload"),
        auto: key("auto"),
        search: key("search"),
        matched: key("match"),
        ignore: key("ignore"),
        rollout_strategy: key("rollout-strategy"),
        pause_period: key("pause-period"),
        paused_at: key("paused-at"),
        reload_delay: key("reload-delay"),
        config_map: of_kind("c"),
        secret: of_kind("s"),
        secret_provider_class: of_kind("p"),
    }
}

/// A name that is written in full is among the patterns, whatever stands beside it.
fn every_name_counts(asked: &Asked, opt_in: &OptIn, kind: SourceKind) {
    let literals: BTreeSet<&str> = opt_in.named(kind).iter().filter_map(|pattern| pattern.literal()).collect();
    let key = Asked::key(kind, "named");
    for name in entries(asked.four_from(kind).get(&key)).filter(|entry| is_name(entry)) {
        assert!(literals.contains(name), "{name}");
    }
}

fn entries(list: Option<&String>) -> impl Iterator<Item = &str> {
    list.into_iter().flat_map(|list| list.split(',')).map(str::trim)
}

fn is_name(text: &str) -> bool {
    let shop = Namespace::parse("shop").unwrap_or_else(|error| unreachable!("{error}"));
    SourceRef::new(SourceKind::Secret, shop, text).is_ok()
}

impl Asked {
    fn read(text: &str) -> Self {
        let usage = Usage { keys: Keys::Whole, carrier: "main".to_owned() };
        let mut asked = Self {
            workload: Annotations::new(),
            template: Annotations::new(),
            source: Annotations::new(),
            names: vec!["app".to_owned()],
            unmarked: Unmarked::LeftAlone,
            usage: Some(usage),
        };
        for line in text.split('\n') {
            let (what, rest) = line.split_once(' ').unwrap_or((line, ""));
            let annotations = match what {
                "w" => &mut asked.workload,
                "t" => &mut asked.template,
                "s" => &mut asked.source,
                "n" => {
                    asked.names.push(rest.to_owned());
                    continue;
                }
                "d" => {
                    asked.unmarked = Unmarked::Reloaded;
                    continue;
                }
                "x" => {
                    asked.usage = None;
                    continue;
                }
                _ => continue,
            };
            if let Some((key, value)) = rest.split_once('=') {
                annotations.insert(key.to_owned(), value.to_owned());
            }
        }
        asked
    }

    /// The names that are asked for, and those that the lists hold.
    fn names(&self) -> Vec<String> {
        let lists = self.workload.values().chain(self.template.values());
        let listed = lists.flat_map(|list| entries(Some(list)).take(20).map(str::to_owned).collect::<Vec<_>>());
        self.names.iter().cloned().chain(listed).collect()
    }

    fn key(kind: SourceKind, of: &str) -> String {
        let kind = match kind {
            SourceKind::ConfigMap => "c",
            SourceKind::Secret => "s",
            SourceKind::SecretProviderClass => "p",
        };
        format!("{kind}.{of}")
    }

    fn four_from(&self, kind: SourceKind) -> &Annotations {
        let four = [Self::key(kind, "named"), "search".to_owned(), "auto".to_owned(), Self::key(kind, "auto")];
        if four.iter().any(|key| self.workload.contains_key(key)) { &self.workload } else { &self.template }
    }

    /// The peer's order of rules, once more and in its own words.
    fn expected(&self, kind: SourceKind, name: &str, named: bool) -> Answer {
        let from = self.four_from(kind);
        let value = |annotations: &Annotations, key: &str| annotations.get(key).cloned().unwrap_or_default();
        let autos = [value(from, "auto"), value(from, &Self::key(kind, "auto"))];
        let yes = |value: &String| ["1", "t", "T", "true", "TRUE", "True"].contains(&value.as_str());
        if value(&self.workload, "reload") == "false" {
            return Answer::Skips(SkipReason::WorkloadOptedOut);
        }
        if value(&self.source, "ignore") == "true" {
            return Answer::Skips(SkipReason::SourceIgnored);
        }
        if !name.is_empty() && entries(self.workload.get(&Self::key(kind, "exclude"))).any(|entry| entry == name) {
            return Answer::Skips(SkipReason::Excluded);
        }
        if named {
            return Answer::Counts(Reason::NamedInAnnotation);
        }
        let by_search = value(from, "search") == "true" && value(&self.source, "match") == "true";
        let by_default = self.unmarked == Unmarked::Reloaded && autos.iter().all(String::is_empty);
        let reasons = [
            (by_search, Reason::ReferencedAndSearched),
            (autos.iter().any(yes), Reason::ReferencedAndAuto),
            (by_default, Reason::ReferencedByDefault),
        ];
        match (reasons.into_iter().find(|(applies, _)| *applies), &self.usage) {
            (None, _) => Answer::Skips(SkipReason::NotOptedIn),
            (Some(_), None) => Answer::Skips(SkipReason::NotReferenced),
            (Some((_, reason)), Some(_)) => Answer::Counts(reason),
        }
    }
}
