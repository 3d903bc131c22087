//! The settings of what is looked at: namespaces, sources, kinds of workload.
//!
//! Invariant: a value that would leave nothing to look at is refused, as one that cannot be read is.
//! Left out: what is in scope (reload/scope.rs).

use std::collections::BTreeSet;

use super::serve_variables::Ours;
use super::setting_text::one_of;
use super::variables::{SettingsError, read, unreadable, written};
use crate::reload::label_selector::LabelSelector;
use crate::reload::scope::{IgnoredSources, Scope};
use crate::reload::source::{Namespace, SourceKind, check_source_name};
use crate::reload::workload_kind::{WORKLOAD_KINDS, WorkloadKind};

/// Reads what is looked at.
pub(super) fn scope(ours: &Ours) -> Result<Scope, SettingsError> {
    const SECRETS: &str = "CONFROLL_IGNORE_SECRETS";
    const CSI: &str = "CONFROLL_ENABLE_CSI_INTEGRATION";
    let listed = set("CONFROLL_NAMESPACES", ours.namespaces.as_deref(), namespaces)?;
    let ignored = set("CONFROLL_IGNORE_NAMESPACES", ours.ignore_namespaces.as_deref(), namespaces)?;
    let config_maps = set("CONFROLL_IGNORE_CONFIGMAPS", ours.ignore_configmaps.as_deref(), sources)?;
    let secrets = set(SECRETS, ours.ignore_secrets.as_deref(), sources)?;
    let scope = Scope {
        namespaces: listed,
        ignored_namespaces: ignored.unwrap_or_default(),
        namespace_selector: set("CONFROLL_NAMESPACE_SELECTOR", ours.namespace_selector.as_deref(), selector)?,
        source_selector: set("CONFROLL_RESOURCE_LABEL_SELECTOR", ours.resource_label_selector.as_deref(), selector)?,
        ignored_config_maps: config_maps.unwrap_or_default(),
        ignored_secrets: secrets.unwrap_or_default(),
        ignored_secret_provider_classes: read(CSI, ours.enable_csi_integration.as_deref(), "false", csi)?,
    };
    if SourceKind::ALL.into_iter().all(|kind| scope.source_kind(kind).is_err()) {
        return Err(unreadable(SECRETS, "is true, as is CONFROLL_IGNORE_CONFIGMAPS; then nothing is left to look at"));
    }
    if scope.listed_namespaces().is_some_and(|listed| listed.is_empty()) {
        let problem = "names every namespace of CONFROLL_NAMESPACES; then nothing is left to look at";
        return Err(unreadable("CONFROLL_IGNORE_NAMESPACES", problem));
    }
    Ok(scope)
}

/// Reads which kinds of workload are looked at: those of the table and further ones, but those that are ignored.
pub(super) fn kinds(ours: &Ours) -> Result<Vec<&'static WorkloadKind>, SettingsError> {
    const IGNORED: &str = "CONFROLL_IGNORED_WORKLOAD_TYPES";
    let further = set("CONFROLL_KINDS", ours.kinds.as_deref(), rows)?.unwrap_or_default();
    let table: Vec<_> = WORKLOAD_KINDS.iter().chain(further).collect();
    let ignored = set(IGNORED, ours.ignored_workload_types.as_deref(), |text| named(text, &table))?.unwrap_or_default();
    let kinds: Vec<_> = table.into_iter().filter(|kind| !ignored.contains(kind)).collect();
    if kinds.is_empty() {
        return Err(unreadable(IGNORED, "names every kind that there is; then nothing is left to roll out"));
    }
    Ok(kinds)
}

fn rows(text: &str) -> Result<Vec<&'static WorkloadKind>, String> {
    entries(text)?.into_iter().map(|row| WorkloadKind::read(row).map_err(|error| error.to_string())).collect()
}

/// Reads a variable where it is set.
fn set<T>(
    variable: &str,
    value: Option<&str>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, SettingsError> {
    written(value).map(parse).transpose().map_err(|problem| unreadable(variable, problem))
}

/// The entries of a list: one at least.
fn entries(text: &str) -> Result<Vec<&str>, String> {
    let entries: Vec<_> = text.split(',').map(str::trim).filter(|entry| !entry.is_empty()).collect();
    if entries.is_empty() {
        Err("is a list without an entry; leave it out, or write names".to_owned())
    } else {
        Ok(entries)
    }
}

fn namespaces(text: &str) -> Result<BTreeSet<Namespace>, String> {
    let read = |name| {
        Namespace::parse(name).map_err(|_| {
            "lists what no namespace is called; write names with commas, such as shop,bank (labels are for \
             CONFROLL_NAMESPACE_SELECTOR)"
                .to_owned()
        })
    };
    entries(text)?.into_iter().map(read).collect()
}

fn sources(text: &str) -> Result<IgnoredSources, String> {
    if text.eq_ignore_ascii_case("true") {
        return Ok(IgnoredSources::All);
    }
    if text.eq_ignore_ascii_case("false") {
        return Ok(IgnoredSources::default());
    }
    let read =
        |name: &str| {
            let is_word = ["true", "false"].contains(&name);
            check_source_name(name).ok().filter(|()| !is_word).map(|()| name.to_owned()).ok_or_else(|| {
                "is neither true nor false nor a list of names such as kube-root-ca.crt,noise".to_owned()
            })
        };
    Ok(IgnoredSources::Named(entries(text)?.into_iter().map(read).collect::<Result<_, _>>()?))
}

/// Which SecretProviderClasses are never looked at, by whether the integration is on.
fn csi(text: &str) -> Result<IgnoredSources, String> {
    one_of(text, &[("true", IgnoredSources::default()), ("false", IgnoredSources::All)])
}

fn selector(text: &str) -> Result<LabelSelector, String> {
    LabelSelector::parse(text).map_err(|error| format!("is no label selector: {error}"))
}

/// Kinds by their name or plural, in any case: `jobs`, `CronJob`. A name may stand for several.
fn named(text: &str, table: &[&'static WorkloadKind]) -> Result<BTreeSet<&'static WorkloadKind>, String> {
    let mut named = BTreeSet::new();
    for entry in entries(text)? {
        let is_named =
            |kind: &&&WorkloadKind| entry.eq_ignore_ascii_case(kind.kind) || entry.eq_ignore_ascii_case(kind.plural);
        let before = named.len();
        named.extend(table.iter().filter(is_named).copied());
        if named.len() == before && !named.iter().any(|kind| is_named(&kind)) {
            let plurals: BTreeSet<_> = table.iter().map(|kind| kind.plural).collect();
            let plurals: Vec<_> = plurals.into_iter().collect();
            return Err(format!("lists what is no kind of workload; there are {}", plurals.join(", ")));
        }
    }
    Ok(named)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(change: impl FnOnce(&mut Ours)) -> Result<Scope, SettingsError> {
        let mut ours = Ours::default();
        change(&mut ours);
        scope(&ours)
    }

    #[test]
    fn kinds_are_named_in_any_case_and_number() {
        for text in ["deployments", "Deployment", " DEPLOYMENTS ,", "jobs,deployment,CronJobs"] {
            let ours = Ours { ignored_workload_types: Some(text.to_owned()), ..Ours::default() };
            let kinds = kinds(&ours).unwrap();
            assert!(kinds.iter().all(|kind| kind.kind != "Deployment"), "{text}");
            assert!(kinds.iter().any(|kind| kind.kind == "StatefulSet"), "{text}");
        }
        let ours = Ours { ignored_workload_types: Some("jobs,pods".to_owned()), ..Ours::default() };
        let refused = kinds(&ours).unwrap_err();
        for known in ["jobs", "cronjobs", "deployments", "statefulsets", "daemonsets"] {
            assert!(refused.to_string().contains(known), "{refused}");
        }
    }

    #[test]
    fn all_sources_of_a_kind_are_ignored_or_those_of_a_name() {
        let scope = read(|ours| ours.ignore_secrets = Some("TRUE".to_owned())).unwrap();
        assert!(scope.source_name(SourceKind::Secret, "db").is_err());
        assert!(scope.source_name(SourceKind::ConfigMap, "db").is_ok());
        let scope = read(|ours| ours.ignore_configmaps = Some("kube-root-ca.crt, noise".to_owned())).unwrap();
        assert!(scope.source_name(SourceKind::ConfigMap, "noise").is_err());
        assert!(scope.source_name(SourceKind::ConfigMap, "app").is_ok());
        assert!(scope.source_name(SourceKind::Secret, "noise").is_ok());
        let scope = read(|ours| ours.ignore_configmaps = Some("false".to_owned())).unwrap();
        assert!(scope.source_name(SourceKind::ConfigMap, "false").is_ok());
    }
}
