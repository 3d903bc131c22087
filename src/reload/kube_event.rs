//! What became of a workload, as the Kubernetes Event that `kubectl describe` shows on it.
//!
//! Invariants: a report that is told again makes the same Event, by its name; it names sources and nothing of what is in
//! them.
//! Left out: creating it.

use serde_json::{Value, json};

use super::digest::hex;
use super::opt_in::Reason;
use super::refusal::FIELD_MANAGER;
use super::report::{Outcome, ReloadReport};
use super::tag::hash_of;

/// The longest note of an Event, in bytes.
const LONGEST_NOTE: usize = 1024;
/// The longest name of an object.
const LONGEST_NAME: usize = 253;
const TAG: usize = 16;

/// The Event (events.k8s.io/v1) of a report.
#[must_use]
pub fn kube_event(report: &ReloadReport) -> Value {
    let id = &report.workload.id;
    let (kind, reason, note) = match &report.outcome {
        Outcome::Reloaded => ("Normal", "Reloaded", reloaded(report)),
        Outcome::Failed { message } => ("Warning", "ReloadFailed", message.clone()),
    };
    let tag = &hex(&hash_of([id.kind.kind, reason, report.identity.as_str()]))[..TAG];
    let name: String = id.name.chars().take(LONGEST_NAME - TAG - 1).collect();
    let mut regarding = json!({
        "apiVersion": id.kind.api_version(), "kind": id.kind.kind, "namespace": id.namespace, "name": id.name,
    });
    if let Some(uid) = &report.workload.uid {
        regarding["uid"] = json!(uid);
    }
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "name": format!("{name}.{tag}"), "namespace": id.namespace },
        "eventTime": micro_time(report),
        "reportingController": FIELD_MANAGER,
        "reportingInstance": FIELD_MANAGER,
        "action": "Reload",
        "reason": reason,
        "type": kind,
        "regarding": regarding,
        "note": shortened(note),
    })
}

/// What changed, why that counts, how the workload was rolled out, and what else should be known.
fn reloaded(report: &ReloadReport) -> String {
    let home = &report.workload.id.namespace;
    let sources: Vec<String> = report.sources.iter().map(|source| source.source.seen_from(home)).collect();
    let why = report.sources.iter().find_map(|source| source.reason).map(Reason::as_str);
    let why = why.map_or_else(String::new, |why| format!(" ({why})"));
    let note = report.workload.note.map_or_else(String::new, |note| format!("; {note}"));
    format!("{} changed{why}: rolled out by {}{note}", sources.join(", "), report.workload.strategy)
}

/// As Kubernetes writes a `MicroTime`.
fn micro_time(report: &ReloadReport) -> String {
    report.at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}

fn shortened(note: String) -> String {
    if note.len() <= LONGEST_NOTE {
        return note;
    }
    let mut end = LONGEST_NOTE - "…".len();
    while !note.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &note[..end])
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::content::ChangedKeys;
    use super::super::report::{ReportedSource, ReportedWorkload, SourceChange};
    use super::super::testing::{config_map, deployment, workload};
    use super::*;

    fn report(outcome: Outcome, sources: usize) -> ReloadReport {
        let of = |n| ReportedSource {
            source: config_map(&format!("app-{n}")),
            reason: Some(Reason::ReferencedAndAuto),
            keys: ChangedKeys::default(),
            change: SourceChange::Updated,
        };
        ReloadReport {
            workload: ReportedWorkload::of(&workload(&deployment())),
            outcome,
            sources: (0..sources).map(of).collect(),
            at: Timestamp::from_millisecond(1_700_000_000_123).unwrap(),
            identity: "1".to_owned(),
        }
    }

    #[test]
    fn it_says_what_changed_why_that_counts_and_how_it_was_rolled_out() {
        let event = kube_event(&report(Outcome::Reloaded, 2));
        let expected = "ConfigMap/app-0, ConfigMap/app-1 changed (referenced_and_auto): rolled out by annotations";
        assert_eq!(
            (&event["reason"], &event["type"], &event["note"]),
            (&json!("Reloaded"), &json!("Normal"), &json!(expected))
        );
        assert_eq!(event["eventTime"], "2023-11-14T22:13:20.123000Z");
        assert_eq!((&event["regarding"]["name"], &event["regarding"]["uid"]), (&json!("api"), &json!("u1")));
    }

    #[test]
    fn a_failure_is_a_warning_with_its_reason_and_an_event_of_its_own() {
        let failed = kube_event(&report(Outcome::failed("not on Fridays"), 1));
        assert_eq!(
            (&failed["reason"], &failed["type"], &failed["note"]),
            (&json!("ReloadFailed"), &json!("Warning"), &json!("not on Fridays"))
        );
        let reloaded = kube_event(&report(Outcome::Reloaded, 1));
        assert_ne!(failed["metadata"]["name"], reloaded["metadata"]["name"]);
        assert_eq!(reloaded["metadata"]["name"], kube_event(&report(Outcome::Reloaded, 1))["metadata"]["name"]);
    }

    #[test]
    fn a_note_without_end_is_cut_where_the_api_server_would_refuse_it() {
        let event = kube_event(&report(Outcome::Reloaded, 200));
        let note = event["note"].as_str().unwrap();
        assert!(note.len() <= LONGEST_NOTE && note.ends_with('…'), "{}", note.len());
    }
}
