//! Words for tests of the core: objects as the API server would write them, read through the same door.

use serde_json::{Value, json};

use super::annotation_keys::AnnotationKeys;
use super::digest::DigestKey;
use super::extra_sources::CrossNamespace;
use super::opt_in::Unmarked;
use super::rollout_way::{RevisionNames, Strategy};
use super::rules::{Absence, OnAbsence, Rules};
use super::scope::Scope;
use super::source::{Namespace, SourceKind, SourceRef};
use super::source_object::SourceObject;
use super::version::Version;
use super::workload::Workload;
use super::workload_kind::WORKLOAD_KINDS;

pub(crate) fn rules() -> Rules {
    Rules {
        annotations: AnnotationKeys::default(),
        unmarked: Unmarked::LeftAlone,
        kinds: WORKLOAD_KINDS.iter().collect(),
        strategy: Strategy::Annotations,
        revision_names: RevisionNames::Kept,
        absence: Absence { on_create: OnAbsence::Nothing, on_delete: OnAbsence::Nothing },
        cross_namespace: CrossNamespace::Off,
        digest_key: DigestKey::new(b"test"),
        scope: Scope::default(),
    }
}

pub(crate) fn shop() -> Namespace {
    Namespace::parse("shop").unwrap()
}

pub(crate) fn version(number: u64) -> Version {
    Version::try_from(number.to_string()).unwrap()
}

pub(crate) fn config_map(name: &str) -> SourceRef {
    SourceRef::new(SourceKind::ConfigMap, shop(), name).unwrap()
}

/// The ConfigMap `app` at a version, with one key `a`.
pub(crate) fn app_at(number: u64, value: &str) -> SourceObject {
    source_from(&json!({ "metadata": { "resourceVersion": number.to_string() }, "data": { "a": value } }))
}

pub(crate) fn source_from(json: &Value) -> SourceObject {
    SourceObject::read(&config_map("app"), &json.to_string(), &rules()).unwrap()
}

/// A Deployment `api` at version 50 that asks for everything it uses, and uses the ConfigMap `app` whole.
pub(crate) fn deployment() -> Value {
    json!({
        "metadata": {
            "name": "api", "uid": "u1", "resourceVersion": "50", "creationTimestamp": "2026-01-01T00:00:00Z",
            "annotations": { "reloader.stakater.com/auto": "true" },
        },
        "spec": { "template": { "spec": { "containers": [
            { "name": "main", "envFrom": [{ "configMapRef": { "name": "app" } }] },
        ] } } },
    })
}

pub(crate) fn workload(json: &Value) -> Workload {
    Workload::read(&WORKLOAD_KINDS[0], &shop(), &json.to_string(), &rules()).unwrap()
}

/// The same Deployment with a record that knows `source`.
pub(crate) fn workload_that_runs_on(source: &SourceObject) -> Workload {
    use super::record::{Cause, OBSERVED, Record};
    use super::references::Keys;
    use super::tag::EventTag;
    let rules = rules();
    let mut record = Record::new(&rules.digest_key, Cause::new(EventTag::of("s", "1"), Vec::new()));
    let digest = source.digest(&Keys::Whole, &rules.digest_key);
    record.note(&source.source, &Keys::Whole, source.version, digest);
    let mut json = deployment();
    json["metadata"]["annotations"][OBSERVED] = json!(record.to_annotation());
    workload(&json)
}
