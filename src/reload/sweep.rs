//! What a sweep has to look at: the sources that are at another version than a workload was last seen to run on.
//!
//! Invariants: told from names, versions and annotations alone, so that a sweep that finds nothing reads no content;
//! what counts is decided by the same rules as for an event.
//! Left out: what changed, and whether that is a reason to roll out (decision.rs, past.rs).

use std::collections::{BTreeMap, BTreeSet};

use cloudevents::{AttributesReader as _, Event};

use super::change::{ChangeError, check_attributes};
use super::decision::{asks_for, candidates};
use super::opt_in::SourceMarks;
use super::rules::{OnAbsence, Rules};
use super::source::{Namespace, SourceKind, SourceRef};
use super::tag::EventTag;
use super::telling::{Owed, Report};
use super::version::{News, Version};
use super::workload::Workload;

/// What a PingSource sends.
pub const PING: &str = "dev.knative.sources.ping";

/// The event that asks for a sweep; `None` where it asks for something else.
pub fn asked_by(event: &Event) -> Result<Option<EventTag>, ChangeError> {
    if event.ty() != PING {
        return Ok(None);
    }
    check_attributes(event)?;
    Ok(Some(EventTag::of(event.source(), event.id())))
}

/// A source as a list of metadata shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenSource {
    /// Its version.
    pub version: Version,
    /// What that can tell.
    pub news: News,
    /// What it says of itself.
    pub marks: SourceMarks,
}

/// The sources of many namespaces.
#[derive(Debug, Default)]
pub struct SeenSources(BTreeMap<(Namespace, SourceKind), BTreeMap<String, SeenSource>>);

impl SeenSources {
    /// Adds a source.
    pub fn add(&mut self, namespace: Namespace, kind: SourceKind, name: String, seen: SeenSource) {
        self.0.entry((namespace, kind)).or_default().insert(name, seen);
    }

    /// The sources that count for a workload and that it was not seen to run on at their present version; and those
    /// that it was last rolled out for, where that has to be told: by this very sweep, asked for again as it could not tell
    /// everything; as the rollout was reverted; or as it is `owed` by nobody else.
    #[must_use]
    pub fn to_look_at(
        &self,
        workload: &Workload,
        sweep: &EventTag,
        owed: impl Fn(Report) -> Option<Owed>,
        rules: &Rules,
    ) -> BTreeSet<SourceRef> {
        let record = workload.record.as_ref();
        let is_known = |source: &SourceRef| {
            let seen = self.get(source).zip(record);
            seen.is_some_and(|(seen, record)| record.has_seen(source, (seen.version, seen.news), &rules.digest_key))
        };
        let mut sources = self.asked_for(workload, rules);
        sources.retain(|source| !is_known(source));
        sources.extend(self.vanished(workload, rules));
        let to_tell = workload.has_reverts_to_tell([sweep].into_iter(), owed(Report::Refusal))
            || matches!(owed(Report::Rollout), Some(Owed::Ours | Owed::Abandoned));
        if let Some(record) = record.filter(|record| to_tell || record.cause.event == *sweep) {
            let told = record.cause.changed.iter();
            let told = told.filter_map(|source| SourceRef::from_display(&workload.id.namespace, source));
            let may_name =
                |source: &SourceRef| source.namespace == workload.id.namespace || workload.extra.contain(source);
            sources.extend(told.filter(|source| may_name(source) && rules.scope.source(source).is_ok()));
        }
        sources
    }

    /// The sources that are not there, where that is of interest and the record does not know it.
    fn vanished(&self, workload: &Workload, rules: &Rules) -> Vec<SourceRef> {
        if !rules.absence.is_watched() {
            return Vec::new();
        }
        let is_known = |source: &SourceRef| match (&workload.record, rules.absence.on_delete) {
            (None, _) => false,
            (Some(record), OnAbsence::Reload) => record.is_gone(source),
            (Some(record), OnAbsence::Nothing) => record.names(source),
        };
        let may_count = |source: &SourceRef| asks_for(workload, source, SourceMarks::unread()).is_ok();
        let gone = candidates(workload, rules).into_iter().filter(|source| self.get(source).is_none());
        let gone = gone.filter(|source| rules.absence.of(source.kind).is_watched());
        gone.filter(|source| may_count(source) && !is_known(source)).collect()
    }

    /// The sources that are there and count for a workload.
    #[must_use]
    pub fn asked_for(&self, workload: &Workload, rules: &Rules) -> BTreeSet<SourceRef> {
        let counts =
            |source: &SourceRef| self.get(source).is_some_and(|seen| asks_for(workload, source, seen.marks).is_ok());
        candidates(workload, rules).into_iter().chain(self.named_by_pattern(workload)).filter(counts).collect()
    }

    fn get(&self, source: &SourceRef) -> Option<&SeenSource> {
        self.0.get(&(source.namespace.clone(), source.kind))?.get(source.name())
    }

    /// Sources that only a regular expression names: found among all that there are.
    fn named_by_pattern(&self, workload: &Workload) -> Vec<SourceRef> {
        let namespace = &workload.id.namespace;
        let of_kind = |kind: SourceKind| {
            let patterns = workload.opt_in.named(kind).iter().filter(|pattern| pattern.literal().is_none());
            let patterns: Vec<_> = patterns.collect();
            let all = self.0.get(&(namespace.clone(), kind)).filter(|_| !patterns.is_empty());
            let names = all.into_iter().flat_map(BTreeMap::keys);
            let named = names.filter(|name| patterns.iter().any(|pattern| pattern.matches(name)));
            named.filter_map(|name| SourceRef::new(kind, namespace.clone(), name).ok()).collect::<Vec<_>>()
        };
        SourceKind::ALL.into_iter().flat_map(of_kind).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::record::{Cause, OBSERVED, Record};
    use super::super::scope::IgnoredSources;
    use super::super::testing::{config_map, deployment, rules, workload};
    use super::*;

    #[test]
    fn what_has_to_be_told_is_looked_at_unless_it_is_out_of_scope() {
        let sweep = EventTag::of("s", "sweep");
        let cause = Cause::new(sweep.clone(), vec!["ConfigMap/app".to_owned()]);
        let record = Record::new(&rules().digest_key, cause);
        let mut json = deployment();
        json["metadata"]["annotations"][OBSERVED] = json!(record.to_annotation());
        let to_look_at = |rules: &Rules| SeenSources::default().to_look_at(&workload(&json), &sweep, |_| None, rules);
        assert_eq!(to_look_at(&rules()), [config_map("app")].into());
        let mut quiet = rules();
        quiet.scope.ignored_config_maps = IgnoredSources::All;
        assert_eq!(to_look_at(&quiet), BTreeSet::new());
    }
}
