//! What is due on a workload when: the end of a pause after a rollout, the end of a delay before one.
//!
//! What was begun stands on the workload: a pause in the peer's annotation, a delay in the record. Both carry the label
//! [`DUE`], by which the API server finds the few that wait.
//!
//! Invariants: the workload and the time, which is an argument, tell all; so any process ends what another began, and
//! nobody ends what an owner paused.
//! Left out: what a workload asks for (timing.rs), waking up in time (edge/alarm.rs), and ending what is due (edge/due_run.rs).

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::digest::DigestKey;
use super::record::{Cause, Record};
use super::rollout::{Patch, seconds};
use super::rollout_way::{PodsReplaced, RolloutWay};
use super::source::SourceRef;
use super::tag::EventTag;
use super::timing::{Began, Labelled};
use super::workload::Workload;

/// The label, with the value `true`, of workloads for which something will be due.
pub const DUE: &str = "confroll.dev/due";

/// What people should know about a rollout of a Deployment that is paused by its annotation.
pub const PAUSED: &str = "it is paused by its pause-period: pods restart when that is over";

/// Changes that wait for the end of a delay, as the record keeps them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Delayed {
    until: Timestamp,
    /// The sources whose content had changed, as they are called in the record.
    sources: Vec<String>,
}

/// Whether a rollout is made now.
#[derive(Clone, Debug, PartialEq)]
pub enum PutOff {
    /// It is: no delay is asked for, or it is over.
    No,
    /// It is made later, which has to be noted by this record.
    Note(Box<Record>, Timestamp),
    /// It is made later, and that is noted.
    Noted(Timestamp),
}

impl Workload {
    /// When the next thing is due, be that over already.
    #[must_use]
    pub fn next_due(&self) -> Option<Timestamp> {
        [self.reload_at(), self.resume_at()].into_iter().flatten().min()
    }

    /// When there is something to do on it, though no list of those that wait shows it: the peer pauses without a label, and
    /// what was rolled out for `event` has to be told again where that comes again.
    #[must_use]
    pub fn due_without_label(&self, event: &EventTag) -> Option<Timestamp> {
        let was_rolled_out = self.record.as_ref().is_some_and(|record| record.cause.event == *event);
        match self.next_due() {
            Some(at) if self.timing.label != Labelled::Yes => Some(at),
            _ => was_rolled_out.then_some(Timestamp::UNIX_EPOCH),
        }
    }

    /// The sources for which a rollout was put off until now.
    #[must_use]
    pub fn reload_due(&self, now: Timestamp) -> Option<Vec<SourceRef>> {
        self.reload_at().filter(|at| *at <= now)?;
        let delayed = self.record.as_ref()?.delayed.as_ref()?;
        let sources = delayed.sources.iter();
        Some(sources.filter_map(|source| SourceRef::from_display(&self.id.namespace, source)).collect())
    }

    /// Whether a rollout was put off.
    #[must_use]
    pub fn has_put_off(&self) -> bool {
        self.reload_at().is_some()
    }

    /// The patch that ends a pause, where its time is over. What its owner paused is never ended.
    #[must_use]
    pub fn resume_due(&self, now: Timestamp) -> Option<Patch> {
        self.resume_at().filter(|at| *at <= now)?;
        let key = &self.timing.pause.as_ref()?.key;
        let mut patch = json!({
            "metadata": { "uid": self.uid, "resourceVersion": self.version, "annotations": { key: null } },
            "spec": { "paused": false },
        });
        if self.timing.label == Labelled::Yes && self.reload_at().is_none() {
            patch["metadata"]["labels"] = json!({ DUE: null });
        }
        Some(Patch::Merge(patch))
    }

    /// Whether a rollout for these sources, which `event` asks for, is put off. One that was refused at the end of its delay
    /// is not again; nor is one where the note of that finds no room: a restart too many is better than one too few.
    #[must_use]
    pub fn put_off(&self, changed: &[&SourceRef], event: &EventTag, now: Timestamp, key: &DigestKey) -> PutOff {
        let Some(delay) = self.timing.delay else { return PutOff::No };
        let mut record = match &self.record {
            Some(record) => record.clone(),
            None => Record::new(key, Cause::new(event.clone(), Vec::new())).of(&self.id.namespace),
        };
        let mut delayed = record
            .delayed
            .take()
            .unwrap_or_else(|| Delayed { until: now.saturating_add(delay).unwrap_or(now), sources: Vec::new() });
        let known = delayed.sources.len();
        for name in changed.iter().map(|source| record.name_of(source)) {
            if !delayed.sources.contains(&name) {
                delayed.sources.push(name);
            }
        }
        let (until, is_noted) = (delayed.until, known == delayed.sources.len());
        record.delayed = Some(delayed);
        let is_tried = changed.iter().all(|source| record.was_refused_for(source));
        if until <= now || is_tried || record.to_annotation().len() > self.room {
            PutOff::No
        } else if is_noted {
            PutOff::Noted(until)
        } else {
            PutOff::Note(Box::new(record), until)
        }
    }

    /// When a pause ends that a rollout at `at` begins; `None` where it begins none.
    #[must_use]
    pub fn pause_until(&self, at: Timestamp) -> Option<Timestamp> {
        self.pausing().map(|(_, period)| at.saturating_add(period).unwrap_or(at))
    }

    /// What people should know about a rollout; nothing where the pods are replaced at once.
    #[must_use]
    pub fn note(&self) -> Option<&'static str> {
        let is_paused_by_us = self.terms.pods == PodsReplaced::WhenResumed && self.resume_at().is_some();
        if is_paused_by_us || self.pausing().is_some() { Some(PAUSED) } else { self.terms.pods.note() }
    }

    /// What a rollout at `at` writes besides its template, as a merge patch: the beginning of a pause.
    pub(super) fn pause_patch(&self, at: Timestamp) -> Option<PausePatch<'_>> {
        self.pausing().map(|(key, _)| PausePatch { key, began: seconds(at) })
    }

    /// The labels that a patch changes which writes `record`, as a merge patch.
    pub(super) fn label_patch(&self, record: &Record, pause: Option<&PausePatch<'_>>) -> Option<Value> {
        let waits = record.delayed.is_some() || pause.is_some() || self.resume_at().is_some();
        match (waits, self.timing.label) {
            (true, Labelled::No | Labelled::NoLabels) => Some(json!({ DUE: "true" })),
            (false, Labelled::Yes) => Some(json!({ DUE: null })),
            _ => None,
        }
    }

    /// The same as operations.
    pub(super) fn label_operations(&self, record: &Record, pause: Option<&PausePatch<'_>>) -> Vec<Value> {
        let path = format!("/metadata/labels/{}", DUE.replace('/', "~1"));
        match (self.label_patch(record, pause), self.timing.label) {
            (None, _) => Vec::new(),
            (Some(labels), Labelled::NoLabels) => {
                vec![json!({ "op": "add", "path": "/metadata/labels", "value": labels })]
            }
            (Some(_), Labelled::No) => vec![json!({ "op": "add", "path": path, "value": "true" })],
            (Some(_), Labelled::Yes) => vec![json!({ "op": "remove", "path": path })],
        }
    }

    /// The key and the period of a pause that a rollout begins: none where it is paused already, by whomever.
    fn pausing(&self) -> Option<(&str, SignedDuration)> {
        let pause = self.timing.pause.as_ref()?;
        let is_by_template = matches!(self.way, RolloutWay::Template(_));
        let period = pause.period.filter(|_| is_by_template && self.terms.pods == PodsReplaced::AtOnce)?;
        Some((&pause.key, period))
    }

    /// A pause whose beginning or period nobody can tell any more is over.
    fn resume_at(&self) -> Option<Timestamp> {
        let pause = self.timing.pause.as_ref()?;
        Some(match (pause.began?, pause.period) {
            (Began::At(at), Some(period)) => at.saturating_add(period).unwrap_or(at),
            _ => Timestamp::UNIX_EPOCH,
        })
    }

    /// A delay that is not asked for any more is over.
    fn reload_at(&self) -> Option<Timestamp> {
        let delayed = self.record.as_ref()?.delayed.as_ref()?;
        Some(if self.timing.delay.is_some() { delayed.until } else { Timestamp::UNIX_EPOCH })
    }
}

/// What begins a pause.
pub(super) struct PausePatch<'a> {
    key: &'a str,
    began: String,
}

impl PausePatch<'_> {
    /// Adds it to a merge patch of the workload.
    pub(super) fn merge_into(&self, patch: &mut Value) {
        patch["metadata"]["annotations"][self.key] = json!(self.began);
        patch["spec"]["paused"] = json!(true);
    }

    /// The same as operations. There are annotations, as one of them asks for the pause.
    pub(super) fn operations(&self) -> [Value; 2] {
        let path = format!("/metadata/annotations/{}", self.key.replace('~', "~0").replace('/', "~1"));
        [
            json!({ "op": "add", "path": path, "value": self.began }),
            json!({ "op": "add", "path": "/spec/paused", "value": true }),
        ]
    }
}

impl Record {
    /// Whether a rollout for a source was put off.
    pub(super) fn delays(&self, source: &SourceRef) -> bool {
        let delayed = self.delayed.iter().flat_map(|delayed| &delayed.sources);
        delayed.into_iter().any(|name| *name == self.name_of(source))
    }
}

#[cfg(test)]
mod tests {
    use super::super::digest::Digest;
    use super::super::record::{Known, OBSERVED};
    use super::super::references::Keys;
    use super::super::rollout::{Rollout, record_patch};
    use super::super::testing::{app_at, config_map, deployment, rules, workload};
    use super::*;

    const PAUSE: &str = "deployment.reloader.stakater.com/pause-period";
    const PAUSED_AT: &str = "deployment.reloader.stakater.com/paused-at";
    const DELAY: &str = "reloader.stakater.com/reload-delay";

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    fn annotated(pairs: &[(&str, &str)]) -> Value {
        let mut json = deployment();
        pairs.iter().for_each(|(key, value)| json["metadata"]["annotations"][key] = json!(value));
        json
    }

    fn record() -> (Record, Vec<(SourceRef, Digest)>) {
        let (source, rules) = (app_at(60, "new"), rules());
        let digest = source.digest(&Keys::Whole, &rules.digest_key);
        let mut record = Record::new(&rules.digest_key, Cause::new(EventTag::of("s", "1"), Vec::new()));
        record.note(&source.source, &Keys::Whole, source.version, digest);
        (record, vec![(source.source, digest)])
    }

    /// The patch of a rollout in the second 100, by a merge patch and by operations, each applied.
    fn rolled_out(json: &Value) -> [Value; 2] {
        ["annotations", "env-vars"].map(|strategy| {
            let mut json = json.clone();
            json["metadata"]["annotations"]["reloader.stakater.com/rollout-strategy"] = json!(strategy);
            let ((record, changed), workload) = (record(), workload(&json));
            let rollout = Rollout { workload: &workload, changed: &changed, record: &record, at: at(100) };
            apply(&rollout.patch(), &json)
        })
    }

    fn apply(patch: &Patch, json: &Value) -> Value {
        let mut json = json.clone();
        match patch {
            Patch::Merge(patch) => json_patch::merge(&mut json, patch),
            Patch::Operations(operations) => {
                let patch: json_patch::Patch = serde_json::from_value(json!(operations)).unwrap();
                json_patch::patch(&mut json, &patch).unwrap();
            }
        }
        json
    }

    /// What is noted where a rollout is put off in the second 100.
    fn put_off(json: &Value, source: &SourceRef, seconds: i64) -> PutOff {
        workload(json).put_off(&[source], &EventTag::of("s", "1"), at(seconds), &rules().digest_key)
    }

    fn noted(json: &Value, seconds: i64) -> Value {
        let PutOff::Note(record, _) = put_off(json, &config_map("app"), seconds) else { panic!("{json}") };
        apply(&Patch::Merge(record_patch(&workload(json), &record)), json)
    }

    #[test]
    fn a_rollout_begins_the_pause_in_the_same_patch_whatever_the_way() {
        for json in [annotated(&[(PAUSE, "5m")]), {
            let mut json = annotated(&[(PAUSE, "5m")]);
            json["metadata"]["labels"] = json!({ "team": "shop" });
            json
        }] {
            assert_eq!(workload(&json).pause_until(at(100)), Some(at(400)));
            assert_eq!((workload(&json).note(), workload(&json).next_due()), (Some(PAUSED), None));
            for after in rolled_out(&json) {
                assert_ne!(after["spec"]["template"], json["spec"]["template"]);
                assert_eq!(after["spec"]["paused"], true);
                assert_eq!(after["metadata"]["annotations"][PAUSED_AT], "1970-01-01T00:01:40Z");
                assert_eq!(after["metadata"]["labels"][DUE], "true");
                assert_eq!(after["metadata"]["labels"]["team"], json["metadata"]["labels"]["team"]);
                let after = workload(&after);
                assert_eq!((after.next_due(), after.note()), (Some(at(400)), Some(PAUSED)));
                assert_eq!(after.pause_until(at(200)), None, "a pause is not extended");
                assert_eq!((after.resume_due(at(399)), after.resume_due(at(400)).is_some()), (None, true));
            }
        }
    }

    #[test]
    fn a_further_rollout_leaves_the_pause_as_it_is_and_its_end_leaves_the_template() {
        let [paused, _] = rolled_out(&annotated(&[(PAUSE, "5m")]));
        for again in rolled_out(&paused) {
            assert_eq!((&again["spec"]["paused"], &again["metadata"]["labels"][DUE]), (&json!(true), &json!("true")));
            assert_eq!(again["metadata"]["annotations"][PAUSED_AT], "1970-01-01T00:01:40Z");
            let patch = workload(&again).resume_due(at(400)).unwrap();
            let Patch::Merge(body) = &patch else { panic!() };
            assert_eq!((&body["metadata"]["uid"], &body["metadata"]["resourceVersion"]), (&json!("u1"), &json!("50")));
            let resumed = apply(&patch, &again);
            assert_eq!(resumed["spec"]["template"], again["spec"]["template"]);
            assert_eq!(resumed["spec"]["paused"], false);
            assert!(
                resumed["metadata"]["annotations"][PAUSED_AT].is_null() && resumed["metadata"]["labels"][DUE].is_null()
            );
            assert_eq!(workload(&resumed).next_due(), None);
        }
    }

    #[test]
    fn what_its_owner_paused_stays_so_and_gets_the_template() {
        let mut json = annotated(&[(PAUSE, "5m")]);
        json["spec"]["paused"] = json!(true);
        for after in rolled_out(&json) {
            assert_ne!(after["spec"]["template"], json["spec"]["template"]);
            assert!(after["metadata"]["annotations"][PAUSED_AT].is_null() && after["metadata"]["labels"].is_null());
            assert_eq!(workload(&after).resume_due(at(1_000_000)), None);
        }
        assert_eq!(workload(&json).note(), Some("it is paused: pods restart when it is resumed"));
    }

    #[test]
    fn a_pause_of_the_peer_ends_and_one_of_which_nobody_can_tell_the_end_is_over() {
        for (period, began, end) in [
            (Some("5m"), "1970-01-01T00:01:40Z", at(400)),
            (None, "1970-01-01T00:01:40Z", at(0)),
            (Some("soon"), "1970-01-01T00:01:40Z", at(0)),
            (Some("5m"), "yesterday", at(0)),
        ] {
            let mut json = annotated(&[(PAUSED_AT, began)]);
            json["metadata"]["annotations"]["reloader.stakater.com/auto"] = json!("false");
            period.into_iter().for_each(|period| json["metadata"]["annotations"][PAUSE] = json!(period));
            json["spec"]["paused"] = json!(true);
            assert_eq!(workload(&json).due_without_label(&EventTag::of("s", "1")), Some(end), "{period:?} {began}");
        }
    }

    #[test]
    fn without_a_period_that_lasts_nothing_is_paused() {
        for period in ["0s", "-5m", "soon"] {
            let json = annotated(&[(PAUSE, period)]);
            for after in rolled_out(&json) {
                assert!(after["spec"]["paused"].is_null() && after["metadata"]["labels"].is_null(), "{period}");
            }
        }
    }

    #[test]
    fn a_delay_is_noted_once_for_each_source_and_ends_when_its_first_change_said() {
        let json = annotated(&[(DELAY, "30")]);
        assert_eq!(put_off(&deployment(), &config_map("app"), 100), PutOff::No);
        let first = noted(&json, 100);
        assert_eq!(first["spec"], json["spec"]);
        assert_eq!(first["metadata"]["labels"][DUE], "true");
        assert_eq!(put_off(&first, &config_map("app"), 129), PutOff::Noted(at(130)));
        let PutOff::Note(record, until) = put_off(&first, &config_map("db"), 120) else { panic!() };
        assert_eq!(until, at(130));
        let both = apply(&Patch::Merge(record_patch(&workload(&first), &record)), &first);
        let both = workload(&both);
        assert_eq!(both.reload_due(at(129)), None);
        assert_eq!(both.reload_due(at(130)), Some(vec![config_map("app"), config_map("db")]));
        assert_eq!(put_off(&first, &config_map("app"), 130), PutOff::No);
    }

    #[test]
    fn a_rollout_takes_the_delay_with_it_and_so_does_a_record_without_one() {
        let waiting = noted(&annotated(&[(DELAY, "30")]), 100);
        for after in rolled_out(&waiting) {
            assert!(after["metadata"]["labels"][DUE].is_null(), "{after}");
            assert_eq!(workload(&after).next_due(), None);
        }
        let waiting_workload = workload(&waiting);
        let noted = apply(&Patch::Merge(record_patch(&waiting_workload, &record().0)), &waiting);
        assert!(noted["metadata"]["labels"][DUE].is_null());
    }

    #[test]
    fn a_delay_that_is_not_asked_for_any_more_is_over() {
        let mut waiting = noted(&annotated(&[(DELAY, "30")]), 100);
        waiting["metadata"]["annotations"].as_object_mut().unwrap().remove(DELAY);
        assert_eq!(workload(&waiting).reload_due(at(101)), Some(vec![config_map("app")]));
        assert_eq!(put_off(&waiting, &config_map("app"), 101), PutOff::No);
    }

    #[test]
    fn a_label_stays_as_long_as_something_waits() {
        let [paused, _] = rolled_out(&annotated(&[(PAUSE, "5m"), (DELAY, "30")]));
        let both = noted(&paused, 390);
        let resumed = apply(&workload(&both).resume_due(at(400)).unwrap(), &both);
        assert_eq!(
            (&resumed["metadata"]["labels"][DUE], workload(&resumed).next_due()),
            (&json!("true"), Some(at(420)))
        );
        for rolled_out in rolled_out(&both) {
            assert_eq!(rolled_out["metadata"]["labels"][DUE], "true", "the pause waits for its end");
        }
    }

    #[test]
    fn what_was_put_off_is_owed_though_other_keys_count_by_now() {
        let keys = Keys::Named(["a".to_owned()].into());
        let (source, key) = (config_map("app"), rules().digest_key);
        let mut json = annotated(&[(DELAY, "30")]);
        let mut record = Record::new(&key, Cause::new(EventTag::of("s", "1"), Vec::new()));
        record.note(&source, &keys, app_at(60, "1").version, app_at(60, "1").digest(&keys, &key));
        json["metadata"]["annotations"][OBSERVED] = json!(record.to_annotation());
        let waiting = workload(&noted(&json, 100)).record.unwrap();
        assert!(matches!(record.knows(&source, &Keys::Whole, &key), Known::Version(_)));
        assert_eq!(waiting.knows(&source, &Keys::Whole, &key), Known::Owed);
        assert!(matches!(waiting.knows(&source, &keys, &key), Known::Content(..)), "what it runs on is still known");
    }

    #[test]
    fn what_finds_no_room_is_not_put_off() {
        let full = annotated(&[(DELAY, "30"), ("note", &"x".repeat(262_000 - 100))]);
        assert_eq!(put_off(&full, &config_map("app"), 100), PutOff::No);
    }

    #[test]
    fn a_refusal_ends_a_delay_and_owes_the_rollout() {
        let waiting = workload(&noted(&annotated(&[(DELAY, "30")]), 100));
        let older = waiting.record.as_ref().unwrap();
        assert!(waiting.has_put_off() && older.owes(&config_map("app")));
        let mut wanted = record().0;
        wanted.cause.changed = vec!["ConfigMap/app".to_owned()];
        let refused = wanted.as_refused(Some(older), EventTag::of("s", "2"), &rules().digest_key);
        assert!(refused.delayed.is_none() && refused.owes(&config_map("app")));
    }
}
