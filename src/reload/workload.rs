//! A workload as the core sees it: who it is, what it asks for, what it uses and what it was last seen to run on.
//!
//! Invariant: annotations and pod template are read here, once; later code sees only what they mean. An object that
//! cannot be read is an error of its own and keeps no other from being read.
//! Left out: lists of them (workload_page.rs), its status and everything else of its spec.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::digest::Digest;
use super::env_vars::Environments;
use super::extra_sources::ExtraSources;
use super::label_selector::Labels;
use super::opt_in::OptIn;
use super::pod_template::PodTemplate;
use super::record::{OBSERVED, Record};
use super::record_room::room_beside;
use super::references::{References, Usage};
use super::refusal::{ManagedFields, Reverted, Writer, last_writer};
use super::rollout_way::{self, RevisionName, RolloutWay, Terms};
use super::rules::Rules;
use super::source::{Namespace, SourceKind, SourceRef};
use super::source_object::ShapeError;
use super::timing::{self, Timing};
use super::version::Version;
use super::workload_kind::{Controller, WorkloadKind};

/// A workload by kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkloadId {
    /// Its row of the table of kinds.
    pub kind: &'static WorkloadKind,
    /// Where it lives.
    pub namespace: Namespace,
    /// Its name, as the API server gave it.
    pub name: String,
}

/// `Deployment/api`: the namespace is left to the reader, who always has it.
impl fmt::Display for WorkloadId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind.kind, self.name)
    }
}

/// A workload at one version.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Which workload.
    pub id: WorkloadId,
    /// Tells it from a later one of the same name.
    pub uid: String,
    /// The version that was read.
    pub version: Version,
    /// When it was created.
    pub created: Option<Timestamp>,
    /// What it asks for.
    pub opt_in: OptIn,
    /// What it asks for beside that, of any namespace.
    pub extra: ExtraSources,
    /// What its pod template uses.
    pub references: References,
    /// What it was last seen to run on.
    pub record: Option<Record>,
    /// How many bytes its annotations have left for a record.
    pub room: usize,
    /// How it is rolled out.
    pub way: RolloutWay,
    /// What its spec means for that.
    pub terms: Terms,
    /// What it has to do with the clock.
    pub timing: Timing,
    /// What is wrong with what it asks for, of that and of other namespaces.
    pub problems: Vec<String>,
    /// The containers of its pod template.
    pub environments: Environments,
    /// Whether it has any annotation.
    pub annotations: HasAnnotations,
    /// Its pod template as it was read.
    pub template: Digest,
    /// What became of its last rollouts, where they were reverted.
    pub reverted: Option<Reverted>,
}

/// Whether an object has annotations: a JSON patch has to make room for the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HasAnnotations {
    /// It has.
    Yes,
    /// It has none.
    No,
}

/// Who has the say over a workload's pod template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Its users.
    Users,
    /// A Knative Revision, which would take any change back at once.
    KnativeRevision,
    /// A CronJob, whose template the next one is made of.
    CronJob,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    uid: String,
    #[serde(rename = "resourceVersion")]
    version: Version,
    #[serde(rename = "creationTimestamp")]
    created: Option<Timestamp>,
    annotations: Option<BTreeMap<String, String>>,
    labels: Option<Labels>,
    #[serde(rename = "ownerReferences")]
    owners: Option<Vec<OwnerReference>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OwnerReference {
    api_version: String,
    kind: String,
    controller: Option<bool>,
}

impl Workload {
    /// Reads a workload from the JSON of the API server.
    pub fn read(
        kind: &'static WorkloadKind,
        namespace: &Namespace,
        json: &str,
        rules: &Rules,
    ) -> Result<Self, ShapeError> {
        let shape_error = |error: &serde_json::Error| ShapeError::new(format!("a {} of {namespace}", kind.kind), error);
        let metadata: Metadata = at_path(json, &["metadata"]).map_err(|error| shape_error(&error))?;
        let id = WorkloadId { kind, namespace: namespace.clone(), name: metadata.name };
        let raw = raw_at_path(json, kind.template_path)
            .map_err(|error| ShapeError::new(format!("{id} of {namespace}"), &error))?;
        // Where it is another's, there is none.
        let template: Option<PodTemplate> =
            serde_json::from_str(raw).map_err(|error| ShapeError::new(format!("{id} of {namespace}"), &error))?;
        let template = template.unwrap_or_default();
        let terms = terms(kind, json, &template).map_err(|error| shape_error(&error))?;
        let owner = owner(metadata.owners.as_deref().unwrap_or_default());
        let annotations = metadata.annotations.unwrap_or_default();
        let record = annotations.get(OBSERVED).and_then(|text| Record::read(text)).map(|record| record.of(namespace));
        let timing = Timing::of(kind, &annotations, metadata.labels.as_ref(), &rules.annotations);
        let labels = metadata.labels.unwrap_or_default();
        let extra = ExtraSources::of(namespace, &annotations, &labels, rules.cross_namespace);
        let digest = rules.digest_key.digest(["confroll pod template", raw]);
        let reverts = record.as_ref().and_then(|record| record.reverts(digest));
        Ok(Self {
            uid: metadata.uid,
            version: metadata.version,
            created: metadata.created,
            opt_in: OptIn::of(&annotations, template.annotations(), &rules.annotations, rules.unmarked),
            references: References::of(&template),
            record,
            room: room_beside(&annotations).saturating_sub(timing.room()),
            way: RolloutWay::of(kind, owner, &annotations, &terms, rules),
            problems: rollout_way::problems(&annotations, rules)
                .chain(extra.problems().map(ToString::to_string))
                .chain(timing::problems(kind, &annotations, &rules.annotations))
                .collect(),
            extra,
            environments: Environments::of(&template),
            annotations: if annotations.is_empty() { HasAnnotations::No } else { HasAnnotations::Yes },
            terms,
            timing,
            template: digest,
            reverted: reverts.map(|times| Reverted { times, by: template_writer(kind, json) }),
            id,
        })
    }

    /// Takes over the pod template of another workload.
    pub fn take_template(&mut self, kind: &'static WorkloadKind, json: &str) -> Result<(), ShapeError> {
        let template: Option<PodTemplate> = at_path(json, kind.template_path)
            .map_err(|error| ShapeError::new(format!("the template of {}", self.id), &error))?;
        let template = template.unwrap_or_default();
        (self.references, self.environments) = (References::of(&template), Environments::of(&template));
        Ok(())
    }

    /// How the pod template uses a source, if it does.
    #[must_use]
    pub fn usage(&self, source: &SourceRef) -> Option<&Usage> {
        let is_near = source.namespace == self.id.namespace;
        self.references.usage(source.kind, source.name()).filter(|_| is_near)
    }

    /// The container that the peer would name as the one that uses a source: the first where none does.
    #[must_use]
    pub fn carrier(&self, source: &SourceRef) -> Option<&str> {
        let user = self.usage(source).map(|usage| usage.carrier.as_str()).filter(|name| !name.is_empty());
        user.or_else(|| self.references.default_carrier())
    }

    /// The name of the next Revision, where the present one has a name; other for every record.
    #[must_use]
    pub fn next_revision(&self, record: &Record) -> Option<String> {
        const LONGEST: usize = 63;
        let tag: String = record.tag().chars().take(8).collect();
        let name: String = self.id.name.chars().take(LONGEST - 1 - tag.len()).collect();
        let is_named =
            self.terms.revision_name == RevisionName::Given && self.id.kind.controller == Controller::KnativeServing;
        is_named.then(|| format!("{name}-{tag}"))
    }

    /// The sources, known by name, that may count for this workload: those its template uses, those that an annotation
    /// names in full, and those in its record. Whether one does count only its own annotations tell. Those of other
    /// namespaces are none where nothing names them any more: then they may not even be readable.
    #[must_use]
    pub fn candidates(&self) -> BTreeSet<SourceRef> {
        let referenced = self.references.iter().map(|(kind, name, _)| (kind, name));
        let named = SourceKind::ALL.into_iter().flat_map(|kind| {
            self.opt_in.named(kind).iter().filter_map(move |pattern| pattern.literal().map(|name| (kind, name)))
        });
        let by_name = referenced
            .chain(named)
            .filter_map(|(kind, name)| SourceRef::new(kind, self.id.namespace.clone(), name).ok());
        let recorded = self.record.iter().flat_map(|record| record.sources(&self.id.namespace));
        let recorded = recorded.filter(|source| source.namespace == self.id.namespace);
        by_name.chain(recorded).chain(self.extra.iter().cloned()).collect()
    }
}

/// Parses what stands at a path of an object and skips everything else.
pub(super) fn at_path<'a, T: Deserialize<'a>>(json: &'a str, path: &[&str]) -> Result<T, serde_json::Error> {
    serde_json::from_str(raw_at_path(json, path)?)
}

/// What stands at a path of an object, `null` where there is nothing.
fn raw_at_path<'a>(json: &'a str, path: &[&str]) -> Result<&'a str, serde_json::Error> {
    let mut json = json;
    for step in path {
        let mut fields: BTreeMap<&str, &RawValue> = serde_json::from_str(json)?;
        json = fields.remove(step).map_or("null", RawValue::get);
    }
    Ok(json)
}

fn terms(kind: &WorkloadKind, json: &str, template: &PodTemplate) -> Result<Terms, serde_json::Error> {
    let spec: Option<rollout_way::Spec> = at_path(json, &["spec"])?;
    let status: Option<rollout_way::Status> = at_path(json, &["status"])?;
    Ok(Terms::of(kind, spec.unwrap_or_default(), status.unwrap_or_default(), template.name()))
}

/// Who wrote the pod template last, us apart; read only where somebody asks, as the bookkeeping is long.
fn template_writer(kind: &WorkloadKind, json: &str) -> Option<Writer> {
    let managed: Vec<ManagedFields<'_>> = at_path(json, &["metadata", "managedFields"]).ok()?;
    last_writer(&managed, kind.template_path)
}

fn owner(owners: &[OwnerReference]) -> Owner {
    let controller = owners.iter().find(|owner| owner.controller == Some(true));
    match controller {
        Some(owner) if owner.api_version.starts_with("serving.knative.dev/") => Owner::KnativeRevision,
        Some(owner) if owner.api_version.starts_with("batch/") && owner.kind == "CronJob" => Owner::CronJob,
        _ => Owner::Users,
    }
}
