//! The dashboard and the alerts name what is counted, with labels that it has, and the docs explain each alert.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use confroll::announce::destination::DestinationName;
use confroll::edge::config::CountBy;
use confroll::edge::metrics::Metrics;
use confroll::edge::sink_metrics::SinkMetrics;
use confroll::reload::decision::Skip;
use confroll::reload::report::Outcome;
use confroll::reload::source::{Namespace, SourceKind};
use confroll::reload::workload::WorkloadId;
use confroll::reload::workload_kind::WORKLOAD_KINDS;
use serde_json::Value;

fn text(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// Everything that is counted, counted once.
fn counted() -> String {
    let metrics = Metrics::new(CountBy::Namespace);
    let namespace = Namespace::parse("shop").unwrap();
    let id = WorkloadId { kind: &WORKLOAD_KINDS[0], namespace, name: "api".to_owned() };
    metrics.event("acted_on");
    metrics.rollout(&id, &Outcome::Reloaded);
    metrics.skip(Skip::AlreadyCurrent);
    metrics.sweep("done");
    metrics.watch_began(SourceKind::ConfigMap);
    metrics.reload_event("sent");
    let sinks = SinkMetrics::new();
    sinks.notifications(Some(&DestinationName::default_one()), "posted", 1);
    sinks.message(1, Duration::ZERO);
    metrics.render("").1 + &sinks.render("").1
}

/// The expressions of the dashboard and of the alerts.
fn expressions() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&text("docs/monitoring/dashboard.json")).unwrap();
    let alerts: Value = serde_saphyr::from_str(&text("docs/monitoring/alerts.yaml")).unwrap();
    let targets = dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let rules = alerts["groups"][0]["rules"].as_array().unwrap().iter();
    targets.chain(rules).map(|it| it["expr"].as_str().unwrap().to_owned()).collect()
}

fn words(expression: &str) -> Vec<&str> {
    expression.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(|word| !word.is_empty()).collect()
}

#[test]
fn every_metric_and_label_of_the_dashboard_and_the_alerts_is_there() {
    let counted = counted();
    let lines: Vec<&str> = counted.lines().filter(|line| !line.starts_with('#')).collect();
    let known: BTreeSet<&str> = lines.iter().flat_map(|line| words(line.rsplit_once(' ').unwrap().0)).collect();
    let expressions = expressions();
    assert!(expressions.len() > 15);
    for expression in expressions {
        let named = words(&expression);
        let metrics = named.iter().filter(|word| word.starts_with("confroll_") || word.starts_with("reloader_"));
        assert!(metrics.clone().count() > 0, "{expression}");
        for metric in metrics {
            assert!(lines.iter().any(|line| line.split(['{', ' ']).next() == Some(*metric)), "{metric}");
        }
        let grouped = expression.split("by (").skip(1).flat_map(|rest| words(rest.split(')').next().unwrap()));
        for label in grouped {
            assert!(known.contains(label), "{label} in {expression}");
        }
    }
}

#[test]
fn every_alert_is_explained() {
    let (alerts, docs) = (text("docs/monitoring/alerts.yaml"), text("docs/operations.md"));
    let names: Vec<_> = alerts.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    assert!(names.len() > 5);
    for name in names {
        assert!(docs.contains(&format!("| `{name}` |")), "{name}");
    }
}
