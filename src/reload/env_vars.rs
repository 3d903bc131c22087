//! The variables that the peer writes with its strategy `env-vars`, and so do we: one a source, in the container that
//! uses it.
//!
//! Invariants: nothing but variables of these names is touched; where an index is used, what stands there is tested in
//! the same patch. Sources whose names come to the same variable share it: its value stands for all of them.
//! Left out: which sources changed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::digest::hex;
use super::pod_template::PodTemplate;
use super::record::Record;
use super::source::{SourceKind, SourceRef};
use super::tag::hash_of;
use super::workload::Workload;

const PREFIX: &str = "STAKATER_";
/// The value of a variable for a source that is gone, where there was none before that could go.
const GONE: &str = "gone";

/// The containers of a pod template with the names of their variables, in order.
#[derive(Clone, Debug, Default)]
pub struct Environments(Vec<Environment>);

#[derive(Clone, Debug)]
struct Environment {
    container: String,
    variables: Vec<String>,
}

impl Environments {
    /// Reads them.
    #[must_use]
    pub fn of(template: &PodTemplate) -> Self {
        let of = |container: &super::pod_template::Container| Environment {
            container: container.name.clone(),
            variables: container.env.iter().map(|variable| variable.name.clone()).collect(),
        };
        Self(template.spec.containers.iter().map(of).collect())
    }

    /// The operations of a JSON patch of the pod template that give each changed source its variable, and take away those
    /// of sources that the workload uses no more. The values are digests out of `record`.
    #[must_use]
    pub fn operations(&self, workload: &Workload, changed: &[&SourceRef], record: &Record) -> Vec<Value> {
        let values = values(workload, record);
        let mut set: BTreeMap<&str, BTreeMap<String, &str>> = BTreeMap::new();
        for source in changed {
            let name = name(source.kind, source.name());
            // Where nothing shows that there was a source, something has to show that there is none.
            let is_shown = self.0.iter().any(|environment| environment.variables.contains(&name));
            let gone = record.is_gone(source) && !is_shown;
            let value = values.get(&name).and_then(Option::as_deref).or(gone.then_some(GONE));
            if let (Some(carrier), Some(value)) = (workload.carrier(source), value) {
                set.entry(carrier).or_default().insert(name, value);
            }
        }
        let moved: BTreeSet<String> = set.values().flat_map(BTreeMap::keys).cloned().collect();
        let nothing = BTreeMap::new();
        let of_container = |(index, environment): (usize, &Environment)| {
            let set = set.get(environment.container.as_str()).unwrap_or(&nothing);
            let is_gone = |variable: &str| !values.contains_key(variable) || moved.contains(variable);
            environment.operations(index, set, is_gone)
        };
        self.0.iter().enumerate().flat_map(of_container).collect()
    }
}

impl Environment {
    fn operations(&self, index: usize, set: &BTreeMap<String, &str>, is_gone: impl Fn(&str) -> bool) -> Vec<Value> {
        let container = format!("/spec/containers/{index}");
        let path = |at: usize| format!("{container}/env/{at}");
        let named =
            |at: usize, name: &str| json!({ "op": "test", "path": format!("{}/name", path(at)), "value": name });
        let mut operations = Vec::new();
        for (at, variable) in self.variables.iter().enumerate() {
            if let Some(value) = set.get(variable) {
                operations.push(named(at, variable));
                operations.push(json!({ "op": "add", "path": format!("{}/value", path(at)), "value": value }));
            }
        }
        // From the last to the first, so that no removal shifts another.
        for (at, variable) in self.variables.iter().enumerate().rev() {
            if is_ours(variable) && !set.contains_key(variable) && is_gone(variable) {
                operations.push(named(at, variable));
                operations.push(json!({ "op": "remove", "path": path(at) }));
            }
        }
        let new: Vec<Value> = set
            .iter()
            .filter(|(variable, _)| !self.variables.contains(variable))
            .map(|(name, value)| json!({ "name": name, "value": value }))
            .collect();
        if self.variables.is_empty() && !new.is_empty() {
            operations.push(json!({ "op": "add", "path": format!("{container}/env"), "value": new }));
        } else {
            operations.extend(
                new.into_iter().map(|new| json!({ "op": "add", "path": format!("{container}/env/-"), "value": new })),
            );
        }
        if !operations.is_empty() {
            let path = format!("{container}/name");
            operations.insert(0, json!({ "op": "test", "path": path, "value": self.container }));
        }
        operations
    }
}

/// The variables of all sources that may count for a workload, with the value of each where the record knows one.
fn values(workload: &Workload, record: &Record) -> BTreeMap<String, Option<String>> {
    let mut digests: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for source in
        workload.candidates().into_iter().chain(record.sources(&workload.id.namespace)).collect::<BTreeSet<_>>()
    {
        if record.is_gone(&source) {
            continue;
        }
        let known = digests.entry(name(source.kind, source.name())).or_default();
        known.extend(record.digest(&source).map(|digest| digest.to_string()));
    }
    let value = |known: Vec<String>| match known.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(hex(&hash_of(several.iter().map(String::as_str))[..16])),
    };
    digests.into_iter().map(|(name, known)| (name, value(known))).collect()
}

/// The peer's name of the variable of a source.
fn name(kind: SourceKind, source: &str) -> String {
    let mut name = PREFIX.to_owned();
    let start = name.len();
    for c in source.chars().map(|c| c.to_ascii_uppercase()) {
        if c.is_ascii_alphanumeric() {
            name.push(c);
        } else if name.len() > start && !name.ends_with('_') {
            name.push('_');
        }
    }
    format!("{name}_{}", kind.upper_case())
}

/// Whether a variable is one that this strategy writes.
fn is_ours(variable: &str) -> bool {
    let ends = ["_CONFIGMAP", "_SECRET", "_SECRETPROVIDERCLASS"];
    variable.starts_with(PREFIX) && ends.iter().any(|end| variable.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::super::extra_sources::CrossNamespace;
    use super::super::record::Cause;
    use super::super::references::Keys;
    use super::super::rules::Rules;
    use super::super::source::Namespace;
    use super::super::tag::EventTag;
    use super::super::testing::{app_at, config_map, deployment, rules, shop, version, workload};
    use super::super::workload_kind::WORKLOAD_KINDS;
    use super::*;

    #[test]
    fn names_are_the_peers() {
        // The rows are what the peer's ConvertToEnvVarName gives.
        let rows = [("app", "APP"), ("my-app.v1", "MY_APP_V1"), ("my--app", "MY_APP"), ("0a", "0A"), ("a.-b", "A_B")];
        for (source, expected) in rows {
            assert_eq!(name(SourceKind::ConfigMap, source), format!("STAKATER_{expected}_CONFIGMAP"));
        }
        assert_eq!(name(SourceKind::Secret, "db"), "STAKATER_DB_SECRET");
    }

    fn record_of(names: &[&str]) -> Record {
        let mut record = Record::new(&rules().digest_key, Cause::new(EventTag::of("s", "1"), Vec::new()));
        for name in names {
            let digest = app_at(1, name).digest(&Keys::Whole, &rules().digest_key);
            record.note(&config_map(name), &Keys::Whole, version(1), digest);
        }
        record
    }

    fn patched(containers: &Value, changed: &[&str], record: &Record) -> Value {
        let mut json = deployment();
        json["spec"]["template"]["spec"]["containers"] = containers.clone();
        let workload = workload(&json);
        let changed: Vec<_> = changed.iter().map(|name| config_map(name)).collect();
        let operations = workload.environments.operations(&workload, &changed.iter().collect::<Vec<_>>(), record);
        let mut template = json["spec"]["template"].clone();
        json_patch::patch(&mut template, &serde_json::from_value::<json_patch::Patch>(json!(operations)).unwrap())
            .unwrap();
        template["spec"]["containers"].clone()
    }

    #[test]
    fn sources_of_one_name_in_two_namespaces_share_a_variable_that_stands_for_both() {
        let bank = SourceRef::new(SourceKind::ConfigMap, Namespace::parse("bank").unwrap(), "app").unwrap();
        let mut json = deployment();
        json["metadata"]["annotations"]["confroll.dev/extra-configmaps"] = json!("bank/app");
        let rules = Rules { cross_namespace: CrossNamespace::Allowed, ..rules() };
        let workload = Workload::read(&WORKLOAD_KINDS[0], &shop(), &json.to_string(), &rules).unwrap();
        assert!(workload.usage(&config_map("app")).is_some() && workload.usage(&bank).is_none());
        let value = |near: &str, far: &str, changed: &SourceRef| {
            let mut record = record_of(&[]).of(&shop());
            for (source, value) in [(&config_map("app"), near), (&bank, far)] {
                let digest = app_at(1, value).digest(&Keys::Whole, &rules.digest_key);
                record.note(source, &Keys::Whole, version(1), digest);
            }
            let operations = workload.environments.operations(&workload, &[changed], &record);
            operations.last().unwrap()["value"].to_string()
        };
        let before = value("1", "1", &bank);
        assert!(before.contains("STAKATER_APP_CONFIGMAP"), "{before}");
        let after = [value("1", "2", &bank), value("2", "1", &config_map("app")), value("2", "2", &bank)];
        assert!(after.iter().all(|value| *value != before) && after[0] != after[1], "{after:?}");
    }

    fn digest(record: &Record, name: &str) -> String {
        record.digest(&config_map(name)).unwrap().to_string()
    }

    #[test]
    fn a_source_gets_its_variable_where_it_is_used_and_keeps_it_there() {
        let record = record_of(&["app"]);
        let before =
            json!([{ "name": "first" }, { "name": "second", "envFrom": [{ "configMapRef": { "name": "app" } }] }]);
        let after = patched(&before, &["app"], &record);
        assert_eq!(after[0], before[0]);
        assert_eq!(after[1]["env"], json!([{ "name": "STAKATER_APP_CONFIGMAP", "value": digest(&record, "app") }]));
        let mut of_the_peer = after.clone();
        of_the_peer[1]["env"] =
            json!([{ "name": "A", "value": "1" }, { "name": "STAKATER_APP_CONFIGMAP", "value": "sha1" }]);
        let after = patched(&of_the_peer, &["app"], &record);
        assert_eq!(after[1]["env"][0], of_the_peer[1]["env"][0]);
        assert_eq!(after[1]["env"][1]["value"], digest(&record, "app"));
        assert_eq!(after[1]["env"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn variables_of_sources_that_are_used_no_more_go_and_no_others() {
        let record = record_of(&["app", "same"]);
        let env = |name: &str| json!({ "name": name, "value": "x" });
        let names =
            ["STAKATER_OLD_CONFIGMAP", "MINE", "STAKATER_SAME_CONFIGMAP", "STAKATER_OLD_SECRET", "STAKATER_MINE"];
        let before = json!([{ "name": "main", "env": names.map(env),
            "envFrom": [{ "configMapRef": { "name": "app" } }, { "configMapRef": { "name": "same" } }] }]);
        let after = patched(&before, &["app"], &record);
        let left: Vec<_> = after[0]["env"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
        assert_eq!(left, ["MINE", "STAKATER_SAME_CONFIGMAP", "STAKATER_MINE", "STAKATER_APP_CONFIGMAP"]);
        assert_eq!(after[0]["env"][1]["value"], "x", "what did not change keeps its value");
    }

    #[test]
    fn a_variable_moves_with_its_source_to_another_container() {
        let record = record_of(&["app"]);
        let before = json!([{ "name": "first", "env": [{ "name": "STAKATER_APP_CONFIGMAP", "value": "x" }] },
            { "name": "second", "envFrom": [{ "configMapRef": { "name": "app" } }] }]);
        let after = patched(&before, &["app"], &record);
        assert_eq!(
            (after[0]["env"].clone(), after[1]["env"][0]["value"].clone()),
            (json!([]), json!(digest(&record, "app")))
        );
    }

    #[test]
    fn sources_whose_names_collide_share_a_variable_that_stands_for_both() {
        let before = json!([{ "name": "main", "envFrom": [
            { "configMapRef": { "name": "my-app" } }, { "configMapRef": { "name": "my.app" } }] }]);
        let both = record_of(&["my-app", "my.app"]);
        let value = |record: &Record, changed: &str| patched(&before, &[changed], record)[0]["env"].clone();
        let first = value(&both, "my-app");
        assert_eq!(first.as_array().unwrap().len(), 1);
        let mut later = both.clone();
        later.note(
            &config_map("my.app"),
            &Keys::Whole,
            version(2),
            app_at(2, "2").digest(&Keys::Whole, &rules().digest_key),
        );
        assert_ne!(value(&later, "my.app"), first);
        assert_eq!(value(&both, "my.app"), first);
    }

    #[test]
    fn a_template_that_is_another_by_then_is_not_touched() {
        let record = record_of(&["app"]);
        let workload = workload(&deployment());
        let operations = workload.environments.operations(&workload, &[&config_map("app")], &record);
        let mut other = json!({ "spec": { "containers": [{ "name": "sidecar" }] } });
        let patch: json_patch::Patch = serde_json::from_value(json!(operations)).unwrap();
        assert!(json_patch::patch(&mut other, &patch).is_err());
    }
}
