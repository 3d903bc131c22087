//! Workloads as the API server lists them.
//!
//! Invariant: one that cannot be read keeps no other of its page from being read.
//! Left out: asking for pages (edge/cluster_workloads.rs).

use serde::Deserialize;
use serde_json::value::RawValue;

use super::rules::Rules;
use super::source::Namespace;
use super::source_object::ShapeError;
use super::workload::{Workload, at_path};
use super::workload_kind::WorkloadKind;

/// One page of a LIST.
#[derive(Debug)]
pub struct WorkloadPage {
    /// What could be read.
    pub workloads: Vec<Workload>,
    /// What could not.
    pub unreadable: Vec<ShapeError>,
    /// How to ask for the next page; none or empty on the last.
    pub next: Option<String>,
}

#[derive(Deserialize)]
struct List<'a> {
    metadata: ListMetadata,
    #[serde(borrow)]
    items: Option<Vec<&'a RawValue>>,
}

#[derive(Deserialize)]
struct ListMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
}

impl Workload {
    /// Reads one page of a LIST, of one namespace or, without one, of all.
    pub fn read_page(
        kind: &'static WorkloadKind,
        namespace: Option<&Namespace>,
        json: &str,
        rules: &Rules,
    ) -> Result<WorkloadPage, ShapeError> {
        let list: List<'_> = serde_json::from_str(json)
            .map_err(|error| ShapeError::new(format!("a list of {}", kind.plural), &error))?;
        let mut page = WorkloadPage { workloads: Vec::new(), unreadable: Vec::new(), next: list.metadata.next };
        for item in list.items.unwrap_or_default() {
            let read = match namespace {
                Some(namespace) => Self::read(kind, namespace, item.get(), rules),
                None => {
                    namespace_of(kind, item.get()).and_then(|namespace| Self::read(kind, &namespace, item.get(), rules))
                }
            };
            match read {
                Ok(workload) => page.workloads.push(workload),
                Err(error) => page.unreadable.push(error),
            }
        }
        Ok(page)
    }
}

/// The namespace that an object says it lives in.
fn namespace_of(kind: &WorkloadKind, json: &str) -> Result<Namespace, ShapeError> {
    #[derive(Deserialize)]
    struct Home {
        namespace: Namespace,
    }
    let home: Result<Home, _> = at_path(json, &["metadata"]);
    home.map(|home| home.namespace).map_err(|error| ShapeError::new(format!("a {}", kind.kind), &error))
}
