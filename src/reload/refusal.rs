//! What a record keeps of rollouts that came to nothing: refused by the API server, or reverted by somebody else.
//!
//! A refusal is told once. Each sweep tries again, as whoever refuses may think better of it and the restart is still
//! owed. A rollout is reverted where the pod template is, to the letter, what it was before: a release brings another
//! template and restarts the pods, and is none. After [`MOST_REVERTS`] in a row nothing is rolled out any more, but told,
//! until the template is another one.
//!
//! Invariants: what is noted here is no part of what a workload runs on; a refused change is owed until it is rolled out
//! or taken back.
//! Left out: why the API server refused (the message goes out and is not kept).

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::digest::{Digest, DigestKey};
use super::record::{Cause, Record};
use super::source::SourceRef;
use super::tag::EventTag;
use super::telling::Owed;
use super::workload::Workload;

/// Who we are in `managedFields`.
pub const FIELD_MANAGER: &str = "confroll";
/// How many rollouts in a row are reverted before no other is made.
pub const MOST_REVERTS: u32 = 2;
/// The longest name of a manager that a message shows, in characters: two of them fit into one.
const LONGEST_MANAGER: usize = 30;

/// The last rollout that was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Refused {
    /// The tag of the record that it would have written.
    rollout: String,
    /// The event that asked for it.
    event: EventTag,
    /// The sources whose content had changed, as they are called in the record.
    sources: Vec<String>,
}

/// What the last rollout replaced.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Replaced {
    /// The pod template as it was before.
    template: Digest,
    /// How many rollouts before this one, one after the other, had been reverted.
    #[serde(default, skip_serializing_if = "is_zero")]
    reverts: u32,
}

/// What became of the last rollouts of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reverted {
    /// How many in a row were reverted.
    pub times: u32,
    /// Who wrote the pod template last, us apart.
    pub by: Option<Writer>,
}

/// Somebody who wrote a pod template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Writer {
    manager: String,
    at: Option<Timestamp>,
}

impl Reverted {
    /// Why no other rollout is made and what to do, where the last ones came to nothing; `None` where it is worth a try.
    #[must_use]
    pub fn objection(&self) -> Option<String> {
        if self.times < MOST_REVERTS {
            return None;
        }
        let (who, whom) = match &self.by {
            None => ("by somebody".to_owned(), "whoever does that"),
            Some(Writer { manager, at }) => {
                let at = at.map_or_else(String::new, |at| format!(" ({at})"));
                (format!("most likely by {manager}, its last writer{at}"), manager.as_str())
            }
        };
        Some(format!(
            "the pod template was set back after each of the last {} rollouts, {who}, so no other is made: let {whom} keep \
             the annotations of the pod template, then run kubectl rollout restart",
            self.times
        ))
    }
}

impl Record {
    /// What to note on a workload with the record `older` where the rollout that would have written `self`, for which
    /// `event` asked, was refused.
    #[must_use]
    pub fn as_refused(&self, older: Option<&Self>, event: EventTag, key: &DigestKey) -> Self {
        let nothing = || Self::new(key, Cause::new(event.clone(), Vec::new()));
        let mut noted = older.map_or_else(nothing, Self::clone);
        // What was put off was tried now, and is owed from now on.
        noted.delayed = None;
        noted.refused = Some(Refused { rollout: self.tag(), event, sources: self.cause.changed.clone() });
        noted
    }

    /// Whether a refusal of the rollout that would have written `rollout` was told. By `owed`, whose it is to tell that,
    /// where processes leave notes. Else by whether one of these events is the one that it was told for: one that comes
    /// again does so because its first telling failed.
    pub fn has_told<'a>(
        &self,
        rollout: &Self,
        mut events: impl Iterator<Item = &'a EventTag>,
        owed: Option<Owed>,
    ) -> bool {
        let told = self.refused.as_ref().filter(|refused| refused.rollout == rollout.tag());
        told.is_some_and(|refused| match owed {
            None => !events.any(|event| *event == refused.event),
            Some(Owed::Nothing | Owed::Others) => true,
            Some(Owed::Ours | Owed::Abandoned) => false,
        })
    }

    /// Whether a rollout for a source that this record does not know otherwise was refused or put off.
    pub(super) fn owes(&self, source: &SourceRef) -> bool {
        self.was_refused_for(source) || self.delays(source)
    }

    /// Whether the last rollout that was refused was for a source.
    pub(super) fn was_refused_for(&self, source: &SourceRef) -> bool {
        let refused = self.refused.iter().flat_map(|refused| &refused.sources);
        refused.into_iter().any(|name| *name == self.name_of(source))
    }

    /// Notes what the rollout that writes this record replaces.
    pub fn replaces(&mut self, workload: &Workload) {
        let reverts = workload.reverted.as_ref().map_or(0, |reverted| reverted.times);
        self.replaced = Some(Replaced { template: workload.template, reverts });
    }

    /// How many rollouts in a row were reverted, the last among them, by a workload's pod template as it is now.
    pub(super) fn reverts(&self, template: Digest) -> Option<u32> {
        self.replaced.as_ref().filter(|replaced| replaced.template == template).map(|replaced| replaced.reverts + 1)
    }
}

impl Workload {
    /// Whether its last rollouts were reverted so often that it has to be told, and that was not told yet, as
    /// [`Record::has_told`] tells.
    pub fn has_reverts_to_tell<'a>(&self, events: impl Iterator<Item = &'a EventTag>, owed: Option<Owed>) -> bool {
        let untold = self.record.as_ref().is_some_and(|record| !record.has_told(record, events, owed));
        untold && self.reverted.as_ref().is_some_and(|reverted| reverted.objection().is_some())
    }
}

/// Who wrote the template at `path` last, us apart, by the server's own bookkeeping (`managedFields`). It does not tell who
/// took a field away; but who sets a template back is mostly who wrote it.
pub(super) fn last_writer(managed: &[ManagedFields<'_>], path: &[&str]) -> Option<Writer> {
    let others = managed.iter().filter(|entry| entry.manager != FIELD_MANAGER && entry.owns(path));
    let last = others.max_by_key(|entry| entry.time)?;
    Some(Writer { manager: last.manager.chars().take(LONGEST_MANAGER).collect(), at: last.time })
}

/// An entry of an object's `managedFields`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ManagedFields<'a> {
    #[serde(default)]
    manager: String,
    time: Option<Timestamp>,
    #[serde(borrow)]
    fields_v1: Option<&'a RawValue>,
}

impl fmt::Debug for ManagedFields<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.manager)
    }
}

impl ManagedFields<'_> {
    fn owns(&self, path: &[&str]) -> bool {
        let mut fields = self.fields_v1;
        for step in path {
            let inner =
                fields.and_then(|fields| serde_json::from_str::<BTreeMap<String, &RawValue>>(fields.get()).ok());
            fields = inner.and_then(|mut inner| inner.remove(&format!("f:{step}")));
        }
        fields.is_some()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::comparison::{Comparison, ReadOrder, compare};
    use super::super::decision::counts;
    use super::super::record::OBSERVED;
    use super::super::rollout::{Patch, Rollout};
    use super::super::testing::{app_at, config_map, deployment, rules, workload, workload_that_runs_on};
    use super::*;

    /// Rolls out for a content of `app` and gives the workload back as it is then.
    fn rolled_out(json: &Value, number: u64, value: &str) -> Value {
        let (workload, source, rules) = (workload(json), app_at(number, value), rules());
        let counted = counts(&workload, &source, &rules).unwrap();
        let mut record = Record::new(&rules.digest_key, Cause::new(EventTag::of("s", value), Vec::new()));
        record.note(&source.source, &counted.keys, source.version, counted.digest);
        record.replaces(&workload);
        let changed = [(source.source, counted.digest)];
        let rollout = Rollout { workload: &workload, changed: &changed, record: &record, at: Timestamp::UNIX_EPOCH };
        let Patch::Merge(patch) = rollout.patch() else { panic!() };
        let mut json = json.clone();
        json["metadata"]["annotations"][OBSERVED] = patch["metadata"]["annotations"][OBSERVED].clone();
        json["spec"]["template"]["metadata"] = patch["spec"]["template"]["metadata"].clone();
        json
    }

    fn reverts(json: &Value) -> u32 {
        workload(json).reverted.map_or(0, |reverted| reverted.times)
    }

    fn template_back(json: &Value) -> Value {
        let mut json = json.clone();
        json["spec"] = deployment()["spec"].clone();
        json
    }

    #[test]
    fn reverts_in_a_row_are_counted_and_a_rollout_that_stands_ends_the_row() {
        let first = rolled_out(&deployment(), 60, "1");
        assert_eq!(reverts(&first), 0);
        let once = template_back(&first);
        assert_eq!(reverts(&once), 1);
        assert_eq!(workload(&once).reverted.unwrap().objection(), None);
        let second = rolled_out(&once, 70, "2");
        assert_eq!((reverts(&second), reverts(&template_back(&second))), (0, 2));
        let third = rolled_out(&second, 80, "3");
        assert_eq!(reverts(&third), 0);
        // It stood, so the next is the first again; and what is reverted to is what the second one wrote.
        let mut back = third.clone();
        back["spec"] = second["spec"].clone();
        assert_eq!(reverts(&back), 1);
    }

    #[test]
    fn a_release_reverts_nothing() {
        let mut json = template_back(&rolled_out(&deployment(), 60, "1"));
        json["spec"]["template"]["spec"]["containers"][0]["image"] = json!("api:2");
        assert_eq!(reverts(&json), 0);
    }

    #[test]
    fn the_objection_names_who_wrote_the_template_last_and_what_to_do() {
        let mut json = template_back(&rolled_out(&deployment(), 60, "1"));
        json = template_back(&rolled_out(&json, 70, "2"));
        let entry = |manager: &str, time: &str, fields: Value| json!({ "manager": manager, "operation": "Update", "time": time, "fieldsV1": fields });
        let of_template = json!({ "f:spec": { "f:template": { "f:spec": { "k:{\"name\":\"main\"}": {} } } } });
        json["metadata"]["managedFields"] = json!([
            entry("kubectl", "2026-01-01T00:00:00Z", of_template.clone()),
            entry("web-operator", "2026-01-02T00:00:00Z", of_template.clone()),
            entry("confroll", "2026-01-03T00:00:00Z", of_template),
            entry("kube-controller-manager", "2026-01-04T00:00:00Z", json!({ "f:status": {} })),
            entry("kubectl-scale", "2026-01-05T00:00:00Z", json!({ "f:spec": { "f:replicas": {} } })),
        ]);
        let objection = workload(&json).reverted.unwrap().objection().unwrap();
        assert_eq!(
            objection,
            "the pod template was set back after each of the last 2 rollouts, most likely by web-operator, its last writer \
             (2026-01-02T00:00:00Z), so no other is made: let web-operator keep the annotations of the pod template, then \
             run kubectl rollout restart"
        );
        json["metadata"]["managedFields"] = Value::Null;
        let objection = workload(&json).reverted.unwrap().objection().unwrap();
        assert!(objection.contains("by somebody, so no other is made: let whoever does that keep"), "{objection}");
    }

    #[test]
    fn the_longest_objection_is_told_whole() {
        let by = Writer { manager: "m".repeat(LONGEST_MANAGER), at: Some("2026-01-02T00:00:00Z".parse().unwrap()) };
        let objection = Reverted { times: u32::MAX, by: Some(by) }.objection().unwrap();
        assert!(objection.chars().count() <= super::super::report::LONGEST_MESSAGE, "{}", objection.len());
    }

    #[test]
    fn a_refused_change_is_owed_and_told_once() {
        let (source, rules) = (app_at(60, "new"), rules());
        let mut wanted = Record::new(&rules.digest_key, Cause::new(EventTag::of("s", "1"), Vec::new()));
        wanted.cause.changed = vec![config_map("app").to_string()];
        let noted = wanted.as_refused(None, EventTag::of("s", "1"), &rules.digest_key);
        let (told, other) = (EventTag::of("s", "1"), EventTag::of("s", "2"));
        assert!(noted.has_told(&wanted, [&other].into_iter(), None));
        assert!(!noted.has_told(&wanted, [&other, &told].into_iter(), None), "its telling failed");
        let mut later = wanted.clone();
        later.note(
            &source.source,
            &super::super::references::Keys::Whole,
            source.version,
            workload(&deployment()).template,
        );
        assert!(!noted.has_told(&later, [&other].into_iter(), None));
        let mut json = deployment();
        json["metadata"]["annotations"][OBSERVED] = json!(noted.to_annotation());
        let workload = workload(&json);
        let counted = counts(&workload, &source, &rules).unwrap();
        assert_eq!(compare(&workload, &source, &counted, ReadOrder::SourceLast, &rules), Comparison::Changed);
        assert!(!noted.has_seen(&source.source, (source.version, source.news), &rules.digest_key));
    }

    #[test]
    fn a_record_that_knows_better_owes_nothing() {
        let (source, rules) = (app_at(60, "1"), rules());
        let older = workload_that_runs_on(&source).record.unwrap();
        let mut wanted = Record::new(&rules.digest_key, Cause::new(EventTag::of("s", "2"), Vec::new()));
        wanted.cause.changed = vec![config_map("app").to_string()];
        let noted = wanted.as_refused(Some(&older), EventTag::of("s", "2"), &rules.digest_key);
        assert!(noted.knows_as_much_as(&older) && noted.tag() == older.tag());
        let mut json = deployment();
        json["metadata"]["annotations"][OBSERVED] = json!(noted.to_annotation());
        let workload = workload(&json);
        // The change was taken back.
        let counted = counts(&workload, &source, &rules).unwrap();
        assert_eq!(compare(&workload, &source, &counted, ReadOrder::SourceLast, &rules), Comparison::Same);
    }
}
