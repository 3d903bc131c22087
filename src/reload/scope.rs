//! Which namespaces and sources Confroll looks at, as its operator set it.
//!
//! Invariants: what is out of scope counts nowhere: not as an event, not in a batch, not in a sweep, not in a record; a
//! question that names alone can answer needs no read.
//! Left out: what a workload asks for (opt_in.rs), and how the settings are written (edge/scope_settings.rs).

use std::collections::BTreeSet;

use super::label_selector::{LabelSelector, Labels};
use super::source::{Namespace, SourceKind, SourceRef};

/// What Confroll looks at. The default is everything.
#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// Only these namespaces; `None`: all.
    pub namespaces: Option<BTreeSet<Namespace>>,
    /// Never these.
    pub ignored_namespaces: BTreeSet<Namespace>,
    /// Only namespaces with such labels.
    pub namespace_selector: Option<LabelSelector>,
    /// Only sources with such labels.
    pub source_selector: Option<LabelSelector>,
    /// ConfigMaps that are never looked at.
    pub ignored_config_maps: IgnoredSources,
    /// Secrets that are never looked at.
    pub ignored_secrets: IgnoredSources,
    /// SecretProviderClasses that are never looked at.
    pub ignored_secret_provider_classes: IgnoredSources,
}

/// Sources of one kind that are never looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IgnoredSources {
    /// All of them.
    All,
    /// Those of these names, in every namespace.
    Named(BTreeSet<String>),
}

impl Default for IgnoredSources {
    fn default() -> Self {
        Self::Named(BTreeSet::new())
    }
}

/// Why something is out of scope. The same words stand in logs and metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OutOfScope {
    /// Only other namespaces are looked at.
    NamespaceNotListed,
    /// The namespace is never looked at.
    NamespaceIgnored,
    /// The namespace has other labels than are asked for.
    NamespaceNotSelected,
    /// Sources of this kind are never looked at.
    SourceKindIgnored,
    /// Sources of this name are never looked at.
    SourceNameIgnored,
    /// The source has other labels than are asked for.
    SourceNotSelected,
}

impl OutOfScope {
    /// The word for logs and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NamespaceNotListed => "namespace_not_listed",
            Self::NamespaceIgnored => "namespace_ignored",
            Self::NamespaceNotSelected => "namespace_not_selected",
            Self::SourceKindIgnored => "source_kind_ignored",
            Self::SourceNameIgnored => "source_name_ignored",
            Self::SourceNotSelected => "source_not_selected",
        }
    }
}

impl Scope {
    /// Whether a namespace is in scope, as far as its name tells.
    pub fn namespace(&self, namespace: &Namespace) -> Result<(), OutOfScope> {
        if self.namespaces.as_ref().is_some_and(|listed| !listed.contains(namespace)) {
            Err(OutOfScope::NamespaceNotListed)
        } else if self.ignored_namespaces.contains(namespace) {
            Err(OutOfScope::NamespaceIgnored)
        } else {
            Ok(())
        }
    }

    /// Whether a namespace of these labels is in scope.
    pub fn namespace_labels(&self, labels: &Labels) -> Result<(), OutOfScope> {
        selected(self.namespace_selector.as_ref(), labels, OutOfScope::NamespaceNotSelected)
    }

    /// The namespaces that are in scope by name, where they are listed; `None`: all but the ignored ones may be.
    #[must_use]
    pub fn listed_namespaces(&self) -> Option<Vec<&Namespace>> {
        let listed = self.namespaces.as_ref()?.iter();
        Some(listed.filter(|namespace| self.namespace(namespace).is_ok()).collect())
    }

    /// Whether sources of a kind are looked at at all.
    pub fn source_kind(&self, kind: SourceKind) -> Result<(), OutOfScope> {
        if *self.ignored(kind) == IgnoredSources::All { Err(OutOfScope::SourceKindIgnored) } else { Ok(()) }
    }

    /// Whether a source is in scope wherever it lives, as far as its kind and name tell.
    pub fn source_name(&self, kind: SourceKind, name: &str) -> Result<(), OutOfScope> {
        match self.ignored(kind) {
            IgnoredSources::All => Err(OutOfScope::SourceKindIgnored),
            IgnoredSources::Named(names) if names.contains(name) => Err(OutOfScope::SourceNameIgnored),
            IgnoredSources::Named(_) => Ok(()),
        }
    }

    /// Whether a source of these labels is in scope.
    pub fn source_labels(&self, labels: &Labels) -> Result<(), OutOfScope> {
        selected(self.source_selector.as_ref(), labels, OutOfScope::SourceNotSelected)
    }

    /// Whether a source is in scope, as far as names tell.
    pub fn source(&self, source: &SourceRef) -> Result<(), OutOfScope> {
        self.namespace(&source.namespace)?;
        self.source_name(source.kind, source.name())
    }

    const fn ignored(&self, kind: SourceKind) -> &IgnoredSources {
        match kind {
            SourceKind::ConfigMap => &self.ignored_config_maps,
            SourceKind::Secret => &self.ignored_secrets,
            SourceKind::SecretProviderClass => &self.ignored_secret_provider_classes,
        }
    }
}

fn selected(selector: Option<&LabelSelector>, labels: &Labels, otherwise: OutOfScope) -> Result<(), OutOfScope> {
    if selector.is_none_or(|selector| selector.matches(labels)) { Ok(()) } else { Err(otherwise) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn namespace(name: &str) -> Namespace {
        Namespace::parse(name).unwrap()
    }

    fn source(name: &str) -> SourceRef {
        SourceRef::new(SourceKind::ConfigMap, namespace("shop"), name).unwrap()
    }

    #[test]
    fn where_nothing_is_set_everything_is_in_scope() {
        let everything = Scope::default();
        assert_eq!(everything.source(&source("app")), Ok(()));
        assert_eq!(everything.namespace_labels(&Labels::new()), Ok(()));
        assert_eq!(everything.source_labels(&Labels::new()), Ok(()));
        assert_eq!(everything.listed_namespaces(), None);
    }

    #[test]
    fn what_is_out_of_scope_is_so_for_a_reason() {
        let mut scope = Scope { namespaces: Some([namespace("bank")].into()), ..Scope::default() };
        assert_eq!(scope.source(&source("app")), Err(OutOfScope::NamespaceNotListed));
        scope.namespaces = Some([namespace("bank"), namespace("shop")].into());
        scope.ignored_config_maps = IgnoredSources::Named(["noise".to_owned()].into());
        assert_eq!(scope.source(&source("app")), Ok(()));
        assert_eq!(scope.source(&source("noise")), Err(OutOfScope::SourceNameIgnored));
        assert_eq!(scope.source_kind(SourceKind::ConfigMap), Ok(()));
        scope.ignored_config_maps = IgnoredSources::All;
        assert_eq!(scope.source(&source("app")), Err(OutOfScope::SourceKindIgnored));
        scope.ignored_namespaces = [namespace("shop")].into();
        assert_eq!(scope.source(&source("app")), Err(OutOfScope::NamespaceIgnored));
        assert_eq!(scope.listed_namespaces(), Some(vec![&namespace("bank")]));
        let web = || LabelSelector::parse("tier=web").unwrap();
        scope.namespace_selector = Some(web());
        assert_eq!(scope.namespace_labels(&Labels::new()), Err(OutOfScope::NamespaceNotSelected));
        scope.source_selector = Some(web());
        assert_eq!(scope.source_labels(&Labels::new()), Err(OutOfScope::SourceNotSelected));
        assert_eq!(scope.source_labels(&[("tier".to_owned(), "web".to_owned())].into()), Ok(()));
    }
}
