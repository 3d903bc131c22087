//! A change as a CloudEvent tells it: which source to look at, and nothing else.
//!
//! Invariants: an event is a hint. Nothing of its data but kind, namespace and name is used, so a forged, late or
//! repeated event can do no harm; its names are checked before they reach a URL.
//! Left out: the HTTP side of receiving one (edge/inbox.rs).

use cloudevents::{AttributesReader, Data, Event};
use jiff::Timestamp;
use serde::Deserialize;

use super::source::{NameError, Namespace, SourceKind, SourceRef};
use super::tag::EventTag;

/// What an `ApiServerSource` sends: `dev.knative.apiserver.ref.update`, `….resource.add` and so on.
const TYPE_PREFIX: &str = "dev.knative.apiserver.";

/// A source that may have changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The source to look at.
    pub source: SourceRef,
    /// The event that said so.
    pub event: EventTag,
    /// What kind of event that was.
    pub occasion: Occasion,
    /// When it says that the change was told.
    pub at: Option<Timestamp>,
}

/// Why a source is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// An event named it.
    Event,
    /// A sweep found it at another version than a workload was last seen to run on: what is seen is recorded, even
    /// where nothing has to be rolled out, so that the next sweep need not look again.
    Sweep,
}

/// An event that claims to be ours and cannot be: what its sender has to mend.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// An attribute that CloudEvents requires is empty.
    #[error("the event's attribute {0:?} is empty")]
    EmptyAttribute(&'static str),
    /// The data is no JSON object that names an object.
    #[error("the event's data is no JSON object with apiVersion, kind, namespace and name")]
    NoReference,
    /// The data names something that no object can be called.
    #[error("the event's data names no object: {0}")]
    Name(#[from] NameError),
}

/// The data of both modes: a reference has the names at the top, a resource in its metadata.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Reference {
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: Option<String>,
    metadata: Option<Names>,
}

#[derive(Deserialize)]
struct Names {
    namespace: Option<String>,
    name: Option<String>,
}

impl Change {
    /// Reads the change that an event tells; `None` where the event is not for us.
    pub fn from_event(event: &Event) -> Result<Option<Self>, ChangeError> {
        let Some(reference) = Reference::of(event)? else { return Ok(None) };
        let Some(kind) = SourceKind::from_api(&reference.api_version, &reference.kind) else {
            return Ok(None);
        };
        let (namespace, name) = reference.names()?;
        Ok(Some(Self {
            source: SourceRef::new(kind, namespace, &name)?,
            event: EventTag::of(event.source(), event.id()),
            occasion: Occasion::Event,
            at: told_at(event),
        }))
    }
}

impl Reference {
    /// What an event is about; `None` where it is no change of an object.
    pub(super) fn of(event: &Event) -> Result<Option<Self>, ChangeError> {
        check_attributes(event)?;
        if is_change(event.ty()) { reference(event.data()).map(Some) } else { Ok(None) }
    }

    pub(super) fn is_a(&self, api_version: &str, kind: &str) -> bool {
        (self.api_version.as_str(), self.kind.as_str()) == (api_version, kind)
    }

    /// The object's namespace and, not checked yet, its name.
    pub(super) fn names(self) -> Result<(Namespace, String), ChangeError> {
        let names = self.metadata.unwrap_or(Names { namespace: None, name: None });
        let namespace = self.namespace.or(names.namespace).ok_or(ChangeError::NoReference)?;
        let name = self.name.or(names.name).ok_or(ChangeError::NoReference)?;
        Ok((Namespace::parse(&namespace)?, name))
    }
}

/// When an event says that it was told.
pub(super) fn told_at(event: &Event) -> Option<Timestamp> {
    event.time().and_then(|time| Timestamp::from_millisecond(time.timestamp_millis()).ok())
}

/// Refuses an event whose required attributes are empty.
pub(super) fn check_attributes(event: &Event) -> Result<(), ChangeError> {
    for (name, value) in [("id", event.id()), ("type", event.ty()), ("source", event.source().as_str())] {
        if value.is_empty() {
            return Err(ChangeError::EmptyAttribute(name));
        }
    }
    Ok(())
}

fn is_change(event_type: &str) -> bool {
    let rest = event_type.strip_prefix(TYPE_PREFIX);
    rest.and_then(|rest| rest.split_once('.'))
        .is_some_and(|(mode, verb)| matches!(mode, "ref" | "resource") && matches!(verb, "add" | "update" | "delete"))
}

fn reference(data: Option<&Data>) -> Result<Reference, ChangeError> {
    // An error of the parser may quote the data, which is a whole Secret in resource mode: it goes no further.
    let parsed = match data {
        Some(Data::Json(value)) => Reference::deserialize(value),
        Some(Data::Binary(bytes)) => serde_json::from_slice(bytes),
        Some(Data::String(text)) => serde_json::from_str(text),
        None => return Err(ChangeError::NoReference),
    };
    parsed.map_err(|_| ChangeError::NoReference)
}

#[cfg(test)]
mod tests {
    use cloudevents::{EventBuilder, EventBuilderV10};
    use serde_json::{Value, json};

    use super::*;

    fn event(event_type: &str, data: Value) -> Event {
        EventBuilderV10::new()
            .id("1")
            .source("https://10.96.0.1:443")
            .ty(event_type)
            .data("application/json", data)
            .build()
            .unwrap()
    }

    fn reference(kind: &str, namespace: &str, name: &str) -> Value {
        json!({ "apiVersion": "v1", "kind": kind, "namespace": namespace, "name": name })
    }

    #[test]
    fn both_modes_and_all_verbs_name_the_source() {
        let resource = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "namespace": "shop", "name": "db" }, "data": { "p": "eA==" } });
        for verb in ["add", "update", "delete"] {
            for (mode, data) in [("ref", reference("Secret", "shop", "db")), ("resource", resource.clone())] {
                let change =
                    Change::from_event(&event(&format!("dev.knative.apiserver.{mode}.{verb}"), data)).unwrap().unwrap();
                assert_eq!(change.source.to_string(), "Secret/db");
                assert_eq!(change.source.namespace.as_str(), "shop");
            }
        }
    }

    #[test]
    fn an_event_of_another_type_or_kind_is_not_for_us() {
        for other in [
            "boson.fn",
            "dev.knative.apiserver.ref.patch",
            "dev.knative.apiserver.ref.update.x",
            "dev.knative.sources.ping",
        ] {
            assert_eq!(Change::from_event(&event(other, json!("anything"))).unwrap(), None, "{other}");
        }
        let pod = event("dev.knative.apiserver.ref.update", reference("Pod", "shop", "db"));
        assert_eq!(Change::from_event(&pod).unwrap(), None);
    }

    #[test]
    fn a_name_that_is_no_dns_name_is_the_senders_mistake() {
        for (namespace, name) in [("shop", "../secrets/x"), ("../x", "db"), ("shop", ""), ("", "db"), ("shop", "Db")] {
            let error =
                Change::from_event(&event("dev.knative.apiserver.ref.update", reference("Secret", namespace, name)));
            assert!(matches!(error, Err(ChangeError::Name(_))), "{namespace}/{name}: {error:?}");
        }
    }

    #[test]
    fn data_that_names_nothing_is_the_senders_mistake() {
        let secret = json!({ "apiVersion": "v1", "kind": "Secret", "name": { "hunter2": 1 } });
        for data in
            [json!(null), json!([]), json!("x"), json!({}), json!({ "apiVersion": "v1", "kind": "Secret" }), secret]
        {
            let error = Change::from_event(&event("dev.knative.apiserver.ref.update", data)).unwrap_err();
            assert!(matches!(error, ChangeError::NoReference), "{error}");
            assert!(!error.to_string().contains("hunter2"));
        }
    }
}
