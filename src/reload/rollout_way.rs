//! How one workload is rolled out: by its kind, what its annotations ask for, and what its spec allows.
//!
//! Invariant: decided once, where the workload is read; a workload that has no way says why.
//! Left out: the patches and objects that a way needs (rollout.rs, env_vars.rs, job.rs).

use serde::Deserialize;

use super::decision::Skip;
use super::job::STANDS_IN_FOR;
use super::opt_in::Annotations;
use super::rules::Rules;
use super::workload::Owner;
use super::workload_kind::{Controller, WorkloadKind};

/// On a CronJob: `run` (the default) or `template`.
pub const CRON_JOB: &str = "confroll.dev/cronjob";
/// On a Job: `recreate` (the default), `unfinished` or `never`.
pub const JOB: &str = "confroll.dev/job";

/// What is changed in a pod template so that new pods are made of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// The peer's annotation `reloader.stakater.com/last-reloaded-from`.
    Annotations,
    /// The peer's variables `STAKATER_…` in the container that uses the source.
    EnvVars,
    /// The annotation of `kubectl rollout restart`.
    Restart,
}

impl Strategy {
    /// All of them, with their words in settings and annotations.
    pub const ALL: [(&'static str, Self); 3] =
        [("annotations", Self::Annotations), ("env-vars", Self::EnvVars), ("restart", Self::Restart)];

    /// The word for settings, annotations and events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Annotations => "annotations",
            Self::EnvVars => "env-vars",
            Self::Restart => "restart",
        }
    }
}

/// How a workload is rolled out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RolloutWay {
    /// Its pod template is changed.
    Template(Strategy),
    /// Argo Rollouts is asked to restart its pods.
    RestartAt,
    /// A Job of a CronJob's template is run at once.
    RunJob(Strategy),
    /// A Job is deleted and made again.
    JobAgain(Strategy),
    /// Its Revisions have a name of their own, so that a new one needs another: what its owner has to mend.
    Blocked(Strategy, &'static str),
    /// Not at all.
    LeftAlone(Skip),
}

impl RolloutWay {
    /// The word for events.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::RunJob(_) => "run",
            Self::JobAgain(_) => "recreate",
            way => way.strategy().as_str(),
        }
    }

    /// What it changes in a pod template.
    pub(super) const fn strategy(&self) -> Strategy {
        match self {
            Self::Template(strategy)
            | Self::RunJob(strategy)
            | Self::JobAgain(strategy)
            | Self::Blocked(strategy, _) => *strategy,
            Self::RestartAt | Self::LeftAlone(_) => Strategy::Restart,
        }
    }

    /// The way of a workload.
    #[must_use]
    pub fn of(kind: &WorkloadKind, owner: Owner, annotations: &Annotations, terms: &Terms, rules: &Rules) -> Self {
        let asked = annotations.get(&rules.annotations.rollout_strategy).map(String::as_str);
        let strategy = asked.and_then(strategy_of).unwrap_or(rules.strategy);
        match (owner, kind.controller) {
            (Owner::KnativeRevision, _) => Self::LeftAlone(Skip::OwnedByKnativeRevision),
            (Owner::CronJob, _) => Self::LeftAlone(Skip::OwnedByCronJob),
            // Where the template is another object's, this is all that one patch of this one can do.
            (Owner::Users, Controller::ArgoRollouts)
                if strategy == Strategy::Restart || terms.template_of.is_some() =>
            {
                Self::RestartAt
            }
            (Owner::Users, Controller::ByTemplate | Controller::Pausable | Controller::ArgoRollouts) => {
                Self::Template(strategy)
            }
            (Owner::Users, Controller::KnativeServing) => match (terms.revision_name, rules.revision_names) {
                (RevisionName::Given, RevisionNames::Kept) => Self::Blocked(strategy, NAMED_REVISION),
                _ => Self::Template(strategy),
            },
            (Owner::Users, Controller::CronJob) => match annotations.get(CRON_JOB).map(String::as_str) {
                Some("template") => Self::Template(strategy),
                _ if terms.activity == Activity::Suspended => Self::LeftAlone(Skip::Suspended),
                _ => Self::RunJob(strategy),
            },
            (Owner::Users, Controller::Job) if annotations.contains_key(STANDS_IN_FOR) => {
                Self::LeftAlone(Skip::StandIn)
            }
            (Owner::Users, Controller::Job) => match annotations.get(JOB).map(String::as_str) {
                Some("never") => Self::LeftAlone(Skip::JobLeftAlone),
                Some("unfinished") if terms.activity == Activity::Finished => Self::LeftAlone(Skip::JobFinished),
                _ => Self::JobAgain(strategy),
            },
        }
    }
}

const NAMED_REVISION: &str = "spec.template.metadata.name is set, so a new Revision needs a new name: remove it, or \
                              let Confroll name Revisions (CONFROLL_REVISION_NAMES=generated)";

fn strategy_of(word: &str) -> Option<Strategy> {
    Strategy::ALL.into_iter().find(|(name, _)| *name == word).map(|(_, strategy)| strategy)
}

/// What to say of annotations that ask for a way that is none.
pub fn problems<'a>(annotations: &'a Annotations, rules: &'a Rules) -> impl Iterator<Item = String> + 'a {
    let known: [(&str, &[&str]); 3] = [
        (&rules.annotations.rollout_strategy, &["annotations", "env-vars", "restart", "rollout"]),
        (CRON_JOB, &["run", "template"]),
        (JOB, &["recreate", "unfinished", "never"]),
    ];
    let unknown = move |(key, words): (&str, &[&str])| {
        let value = annotations.get(key)?;
        let is_known = words.contains(&value.as_str());
        (!is_known).then(|| format!("the annotation {key} is none of {}; it is as good as absent", words.join(", ")))
    };
    known.into_iter().filter_map(unknown).collect::<Vec<_>>().into_iter()
}

/// What Confroll does about Revisions of Knative Services that have a name of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionNames {
    /// They are their owner's.
    Kept,
    /// The next one gets a new name.
    Generated,
}

/// What the spec and status of a workload mean for a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// When a new template reaches pods.
    pub pods: PodsReplaced,
    /// Whether it does anything at all.
    pub activity: Activity,
    /// Whether the next Revision has a name.
    pub revision_name: RevisionName,
    /// The Deployment whose template it uses (an Argo Rollout's `workloadRef`).
    pub template_of: Option<String>,
}

/// When pods are made of a new template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PodsReplaced {
    /// The controller replaces them.
    AtOnce,
    /// Somebody has to delete the old ones (`OnDelete`).
    WhenDeleted,
    /// The workload is paused by its owner.
    WhenResumed,
}

impl PodsReplaced {
    /// What people should know about a rollout; nothing where the pods are replaced.
    #[must_use]
    pub const fn note(self) -> Option<&'static str> {
        match self {
            Self::AtOnce => None,
            Self::WhenDeleted => Some("its update strategy is OnDelete: pods restart only when they are deleted"),
            Self::WhenResumed => Some("it is paused: pods restart when it is resumed"),
        }
    }
}

/// Whether a workload does anything at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activity {
    /// It does.
    Active,
    /// Its owner suspended it.
    Suspended,
    /// It has done what it was made for.
    Finished,
}

/// Whether a pod template has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionName {
    /// It has none, so a new one is made up.
    MadeUp,
    /// It has one.
    Given,
}

/// The fields that a kind may have or not.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Spec {
    update_strategy: Option<UpdateStrategy>,
    suspend: Option<bool>,
    paused: Option<bool>,
    workload_ref: Option<WorkloadRef>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct UpdateStrategy {
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WorkloadRef {
    kind: Option<String>,
    name: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Status {
    conditions: Option<Vec<Condition>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Condition {
    #[serde(rename = "type")]
    kind: Option<String>,
    status: Option<String>,
}

impl Terms {
    /// Reads them. `template_name` is the name in the pod template's metadata.
    pub(super) fn of(kind: &WorkloadKind, spec: Spec, status: Status, template_name: Option<&str>) -> Self {
        let is_on_delete = spec.update_strategy.and_then(|strategy| strategy.kind).is_some_and(|it| it == "OnDelete");
        let ends = |condition: &Condition| {
            matches!(condition.kind.as_deref(), Some("Complete" | "Failed"))
                && condition.status.as_deref() == Some("True")
        };
        let is_finished = kind.controller == Controller::Job && status.conditions.unwrap_or_default().iter().any(ends);
        let refers = spec.workload_ref.filter(|of| of.kind.as_deref().is_none_or(|kind| kind == "Deployment"));
        Self {
            pods: match (is_on_delete, spec.paused) {
                (true, _) => PodsReplaced::WhenDeleted,
                (_, Some(true)) => PodsReplaced::WhenResumed,
                _ => PodsReplaced::AtOnce,
            },
            activity: match (is_finished, spec.suspend) {
                (true, _) => Activity::Finished,
                (_, Some(true)) => Activity::Suspended,
                _ => Activity::Active,
            },
            revision_name: match template_name {
                Some(name) if !name.is_empty() => RevisionName::Given,
                _ => RevisionName::MadeUp,
            },
            template_of: refers.and_then(|of| of.name).filter(|_| kind.controller == Controller::ArgoRollouts),
        }
    }
}
