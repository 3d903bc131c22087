//! Sources that a workload names beside those that it uses, of any namespace: `confroll.dev/extra-configmaps` and
//! `confroll.dev/extra-secrets`.
//!
//! An event names a source, and who asks for it may live anywhere. So that an event need not look at every workload of
//! the cluster, one with such sources carries the label [`CROSS_NAMESPACE`], by which the API server finds the few.
//!
//! Invariants: names are written in full, so what is asked for is known without a list of what there is; an entry that
//! cannot be read costs that entry alone. Where `CONFROLL_CROSS_NAMESPACE` is not set, no workload has any.
//! Left out: what overrules a workload's wish (opt_in.rs), and finding the few (edge/elsewhere.rs).

use std::collections::BTreeSet;

use super::label_selector::Labels;
use super::name_list::entries;
use super::opt_in::Annotations;
use super::source::{Namespace, SourceKind, SourceRef};

/// The annotations with the kind of source that each names.
const KEYS: [(SourceKind, &str); 2] =
    [(SourceKind::ConfigMap, "confroll.dev/extra-configmaps"), (SourceKind::Secret, "confroll.dev/extra-secrets")];
/// The label, with the value `true`, of workloads that name sources of other namespaces.
pub const CROSS_NAMESPACE: &str = "confroll.dev/cross-namespace";

/// The most entries of an annotation that are complained about one by one.
const MOST_NAMED: usize = 8;
/// How much of an entry is shown, in characters.
const LONGEST_SHOWN: usize = 80;

/// Whether workloads may name sources of other namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossNamespace {
    /// They may.
    Allowed,
    /// What they name so has no effect.
    Off,
}

/// What a workload names so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtraSources {
    sources: BTreeSet<SourceRef>,
    problems: Vec<ExtraProblem>,
}

/// What is wrong with it. Everything else counts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExtraProblem {
    /// The setting is off.
    #[error("the annotation {0} has no effect, as CONFROLL_CROSS_NAMESPACE is not true")]
    Off(&'static str),
    /// An entry that names no source.
    #[error("the annotation {key} has an entry that is left out: {entry:?} is not written as namespace/name")]
    Entry {
        /// The annotation.
        key: &'static str,
        /// The entry, or the start of it.
        entry: String,
    },
    /// Further ones, after the first few.
    #[error("the annotation {key} has {count} more entries that are left out")]
    More {
        /// The annotation.
        key: &'static str,
        /// How many.
        count: usize,
    },
    /// The label is missing.
    #[error(
        "the workload names sources of other namespaces and has no label {CROSS_NAMESPACE}: \"true\", so their events do not \
         find it, only sweeps do; give it the label"
    )]
    NoLabel,
}

impl ExtraSources {
    /// Reads what a workload of a namespace names.
    #[must_use]
    pub fn of(namespace: &Namespace, annotations: &Annotations, labels: &Labels, allowed: CrossNamespace) -> Self {
        let written = KEYS.into_iter().filter_map(|(kind, key)| Some((kind, key, annotations.get(key)?)));
        if allowed == CrossNamespace::Off {
            let problems = written.map(|(_, key, _)| ExtraProblem::Off(key)).collect();
            return Self { sources: BTreeSet::new(), problems };
        }
        let mut extra = Self::default();
        written.for_each(|(kind, key, list)| extra.take(kind, key, list));
        let is_labelled = labels.get(CROSS_NAMESPACE).is_some_and(|value| value == "true");
        if !is_labelled && extra.sources.iter().any(|source| source.namespace != *namespace) {
            extra.problems.push(ExtraProblem::NoLabel);
        }
        extra
    }

    fn take(&mut self, kind: SourceKind, key: &'static str, list: &String) {
        let (mut named, mut count) = (0, 0);
        for entry in entries(Some(list)) {
            let source = entry
                .split_once('/')
                .and_then(|(namespace, name)| SourceRef::new(kind, Namespace::parse(namespace).ok()?, name).ok());
            match source {
                Some(source) => _ = self.sources.insert(source),
                None if named < MOST_NAMED => {
                    named += 1;
                    let entry = entry.chars().take(LONGEST_SHOWN).collect();
                    self.problems.push(ExtraProblem::Entry { key, entry });
                }
                None => count += 1,
            }
        }
        if count > 0 {
            self.problems.push(ExtraProblem::More { key, count });
        }
    }

    /// Whether a source is one of them.
    #[must_use]
    pub fn contain(&self, source: &SourceRef) -> bool {
        self.sources.contains(source)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &SourceRef> {
        self.sources.iter()
    }

    /// What is wrong.
    pub fn problems(&self) -> impl Iterator<Item = &ExtraProblem> {
        self.problems.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{config_map, shop};
    use super::*;

    const CONFIG_MAPS: &str = KEYS[0].1;

    fn read(annotations: &[(&str, &str)], label: &str, allowed: CrossNamespace) -> ExtraSources {
        let annotations = annotations.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let labels = [(CROSS_NAMESPACE.to_owned(), label.to_owned())].into();
        ExtraSources::of(&shop(), &annotations, &labels, allowed)
    }

    fn named(annotations: &[(&str, &str)]) -> Vec<String> {
        let extra = read(annotations, "true", CrossNamespace::Allowed);
        extra.iter().map(|source| source.seen_from(&shop())).collect()
    }

    fn problems(extra: &ExtraSources) -> Vec<String> {
        extra.problems().map(ToString::to_string).collect()
    }

    #[test]
    fn sources_are_told_apart_by_kind_and_namespace() {
        let both = [(CONFIG_MAPS, "bank/app, post/app,,shop/app , bank/app"), (KEYS[1].1, "bank/app")];
        assert_eq!(named(&both), ["ConfigMap/bank/app", "ConfigMap/post/app", "ConfigMap/app", "Secret/bank/app"]);
        let extra = read(&both, "true", CrossNamespace::Allowed);
        assert!(extra.contain(&config_map("app")) && !extra.contain(&config_map("other")));
        assert_eq!(problems(&extra), Vec::<String>::new());
    }

    #[test]
    fn an_entry_that_is_no_name_is_told_and_costs_itself_alone() {
        for broken in ["app", "bank/", "/app", "bank/app/x", "bank/a.*", "Bank/app", "bank /app", "*/app", "bank/../x"]
        {
            let extra = read(&[(CONFIG_MAPS, &format!("{broken},bank/app"))], "true", CrossNamespace::Allowed);
            assert_eq!(extra.iter().count(), 1, "{broken}");
            let problems = problems(&extra);
            assert!(problems[0].contains(CONFIG_MAPS) && problems[0].contains(&format!("{broken:?}")), "{problems:?}");
        }
        let long = format!("{},{},bank/app", "x".repeat(999), vec!["x"; 99].join(","));
        let extra = read(&[(CONFIG_MAPS, &long)], "true", CrossNamespace::Allowed);
        assert_eq!((extra.iter().count(), extra.problems().count()), (1, 9));
        assert!(problems(&extra)[8].contains("92 more"));
        assert!(problems(&extra).iter().all(|problem| problem.len() < 250));
    }

    #[test]
    fn where_the_setting_is_off_the_annotation_is_told_and_names_nothing() {
        let extra = read(&[(CONFIG_MAPS, "bank/app,shop/app")], "true", CrossNamespace::Off);
        assert_eq!(extra.iter().count(), 0);
        assert_eq!(extra.problems, [ExtraProblem::Off(CONFIG_MAPS)]);
        assert_eq!(read(&[], "true", CrossNamespace::Off), ExtraSources::default());
    }

    #[test]
    fn the_label_is_asked_for_where_an_event_could_not_find_the_workload() {
        for (list, label, expected) in [
            ("bank/app", "true", vec![]),
            ("bank/app", "True", vec![ExtraProblem::NoLabel]),
            ("shop/app,bank/app", "", vec![ExtraProblem::NoLabel]),
            ("shop/app", "", vec![]),
        ] {
            let extra = read(&[(CONFIG_MAPS, list)], label, CrossNamespace::Allowed);
            assert_eq!(extra.problems, expected, "{list} {label}");
        }
        assert!(ExtraProblem::NoLabel.to_string().contains("confroll.dev/cross-namespace: \"true\""));
    }
}
