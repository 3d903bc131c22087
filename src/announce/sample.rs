//! A reload event to try a destination with.
//!
//! Invariant: it says in every field that it is a test.

use cloudevents::{Event, EventBuilder as _, EventBuilderV10};
use jiff::Timestamp;
use serde_json::json;

use crate::reload::report::RELOADED;

/// The event of a reload that never was. An error says which attribute the builder would not take.
pub fn sample_event(at: Timestamp) -> Result<Event, cloudevents::event::EventBuilderError> {
    EventBuilderV10::new()
        .id(format!("test-{}", at.as_millisecond()))
        .source("/clusters/test/namespaces/test")
        .ty(RELOADED)
        .subject("Deployment/this-is-a-test")
        .time(at.to_string())
        .data(
            "application/json",
            json!({
                "outcome": "reloaded",
                "cluster": "test",
                "namespace": "test",
                "workload": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "this-is-a-test" },
                "sources": [{
                    "kind": "ConfigMap",
                    "name": "this-is-a-test",
                    "change": "updated",
                    "keys": { "added": ["ADDED"], "changed": ["CHANGED"], "removed": ["REMOVED"] },
                }],
                "strategy": "annotations",
                "at": at.to_string(),
            }),
        )
        .build()
}
