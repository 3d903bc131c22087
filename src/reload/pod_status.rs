//! What pods have mounted of SecretProviderClasses, by the status that the Secrets Store CSI driver keeps of each pod.
//!
//! A class has no version of its own: each pod's status says which versions of the class's objects that pod has, and the
//! driver rotates them pod by pod, at different moments. A rotation is a status that was written again: then what counts
//! is, for each object, the version that was written last by any rotation, so the second pod that rotates to it is no
//! change, and neither is a pod that goes away and leaves one behind that has not rotated yet ([`News`]). Statuses that were
//! never written again only say where pods started. That is what a rotation is compared with, and no change in itself:
//! a provider may give each pod a version of its own (dynamic credentials), and the pods that a rollout starts must not
//! lead to the next one. Where pods started with different versions, a rotation to any of them is a change to some.
//! Invariant: ids and versions are held like content, and shown as little.
//! Left out: how statuses are read (edge/classes.rs).

use std::collections::{BTreeMap, BTreeSet};

use cloudevents::{AttributesReader as _, Event};
use jiff::Timestamp;
use serde::Deserialize;

use super::change::{Change, ChangeError, Occasion, Reference, told_at};
use super::content::Content;
use super::source::{NameError, Namespace, SECRETS_STORE_V1, SourceKind, SourceRef};
use super::source_object::{ManagedFields, ShapeError, last_write};
use super::tag::EventTag;
use super::version::{News, Version};

/// The kind of the statuses.
const KIND: &str = "SecretProviderClassPodStatus";
/// Their name in a URL.
pub const POD_STATUSES: &str = "secretproviderclasspodstatuses";

/// A status that an event names. Which class that is of, the status itself says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodStatusRef {
    /// Where the pod is.
    pub namespace: Namespace,
    /// The name of the status.
    pub name: String,
    event: EventTag,
    at: Option<Timestamp>,
}

impl PodStatusRef {
    /// Reads the status that an event tells of; `None` where it is about something else.
    pub fn from_event(event: &Event) -> Result<Option<Self>, ChangeError> {
        let reference = Reference::of(event)?.filter(|reference| reference.is_a(SECRETS_STORE_V1, KIND));
        let Some((namespace, name)) = reference.map(Reference::names).transpose()? else { return Ok(None) };
        // The name goes into a path like that of a class.
        let status = SourceRef::new(SourceKind::SecretProviderClass, namespace, &name)?;
        let (tag, at) = (EventTag::of(event.source(), event.id()), told_at(event));
        Ok(Some(Self { name: status.name().to_owned(), namespace: status.namespace, event: tag, at }))
    }

    /// The change that it is of a class.
    pub fn change_of(self, class: &str) -> Result<Change, NameError> {
        let source = SourceRef::new(SourceKind::SecretProviderClass, self.namespace, class)?;
        Ok(Change { source, event: self.event, occasion: Occasion::Event, at: self.at })
    }

    /// The class that a status is of, by its JSON.
    pub fn class(&self, json: &str) -> Result<Option<String>, ShapeError> {
        let status: Shape<'_> = serde_json::from_str(json)
            .map_err(|error| ShapeError::new(format!("{KIND}/{} of {}", self.name, self.namespace), &error))?;
        Ok(status.status.unwrap_or_default().class)
    }
}

#[derive(Deserialize)]
struct Page<'a> {
    metadata: PageMetadata,
    #[serde(borrow)]
    items: Option<Vec<Shape<'a>>>,
}

#[derive(Deserialize)]
struct PageMetadata {
    #[serde(rename = "continue")]
    next: Option<String>,
}

#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(borrow)]
    metadata: Metadata<'a>,
    status: Option<Status>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    namespace: Namespace,
    resource_version: Version,
    generation: Option<u64>,
    #[serde(borrow)]
    managed_fields: Option<Vec<ManagedFields<'a>>>,
}

#[derive(Default, Deserialize)]
struct Status {
    #[serde(rename = "secretProviderClassName")]
    class: Option<String>,
    objects: Option<Vec<Object>>,
}

#[derive(Deserialize)]
struct Object {
    id: Option<String>,
    version: Option<String>,
}

/// What pods have mounted, by the class's namespace and name.
#[derive(Default)]
pub struct Mounted(BTreeMap<(Namespace, String), MountedClass>);

impl Mounted {
    /// Takes in a page of a LIST of statuses; gives back how to ask for the next.
    pub fn add_page(&mut self, json: &str) -> Result<Option<String>, ShapeError> {
        let page: Page<'_> = serde_json::from_str(json)
            .map_err(|error| ShapeError::new(format!("the list of {POD_STATUSES}"), &error))?;
        for Shape { metadata, status } in page.items.unwrap_or_default() {
            let status = status.unwrap_or_default();
            let Some(class) = status.class else { continue };
            let class = self.0.entry((metadata.namespace.clone(), class)).or_default();
            class.add(&metadata, status.objects.unwrap_or_default());
        }
        Ok(page.metadata.next)
    }

    /// Whether nothing is mounted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What is mounted of the class of a name.
    #[must_use]
    pub fn get(&self, namespace: &Namespace, name: &str) -> Option<&MountedClass> {
        self.0.get(&(namespace.clone(), name.to_owned()))
    }

    /// What is mounted of one class.
    #[must_use]
    pub fn take(mut self, class: &SourceRef) -> Option<MountedClass> {
        self.0.remove(&(class.namespace.clone(), class.name().to_owned()))
    }

    /// Everything that is mounted.
    pub fn into_classes(self) -> impl Iterator<Item = ((Namespace, String), MountedClass)> {
        self.0.into_iter()
    }
}

/// What pods have mounted of one class.
#[derive(Default)]
pub struct MountedClass {
    /// By objects of statuses that were written again.
    rotated: Objects,
    /// By objects of the others: all versions that pods started with.
    started: BTreeMap<String, BTreeSet<String>>,
    /// The last version of those others.
    started_at: Option<Version>,
}

/// Objects by id: when each was last written, and the version that was.
type Objects = BTreeMap<String, (Written, String)>;

/// When a status was written: by the server's bookkeeping in whole seconds, then by its version. The version alone would
/// not do, as it moves with a label, too.
type Written = (Option<Timestamp>, Version);

impl MountedClass {
    /// The driver's statuses have no subresource, so that their generation counts what is written besides metadata.
    fn add(&mut self, metadata: &Metadata<'_>, objects: Vec<Object>) {
        let written_at = last_write(metadata.managed_fields.as_deref().unwrap_or_default(), &["f:status"]);
        let written = (written_at, metadata.resource_version);
        let is_rotated = metadata.generation.is_some_and(|generation| generation > 1);
        for Object { id, version } in objects {
            let (id, version) = (id.unwrap_or_default(), version.unwrap_or_default());
            if !is_rotated {
                self.started.entry(id).or_default().insert(version);
                self.started_at = self.started_at.max(Some(metadata.resource_version));
                continue;
            }
            let entry = self.rotated.entry(id).or_insert_with(|| (written, version.clone()));
            if entry.0 < written {
                *entry = (written, version);
            }
        }
    }

    /// The latest version of the statuses that count; `None` where no object is mounted.
    #[must_use]
    pub fn version(&self) -> Option<Version> {
        self.rotated.values().map(|((_, version), _)| *version).max().or(self.started_at)
    }

    /// What that version can tell.
    #[must_use]
    pub fn news(&self) -> News {
        if self.rotated.is_empty() { News::Never } else { News::OfLaterVersion }
    }

    /// Both; `None` where no object is mounted.
    #[must_use]
    pub fn seen(&self) -> Option<(Version, News)> {
        Some((self.version()?, self.news()))
    }

    /// When something was last rotated.
    #[must_use]
    pub fn rotated_at(&self) -> Option<Timestamp> {
        self.rotated.values().filter_map(|((at, _), _)| *at).max()
    }

    /// The versions of the objects, by id.
    #[must_use]
    pub fn content(&self) -> Content {
        let rotated = self.rotated.iter().map(|(id, (_, version))| (id.clone(), version.clone()));
        // Several versions are like none of them.
        let all = |versions: &BTreeSet<String>| versions.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
        let started = self.started.iter().map(|(id, versions)| (id.clone(), all(versions)));
        let counted = if self.rotated.is_empty() { started.collect() } else { rotated.collect() };
        Content::new(counted, BTreeMap::new())
    }
}

#[cfg(test)]
mod tests {
    use cloudevents::{EventBuilder as _, EventBuilderV10};
    use serde_json::{Value, json};

    use super::super::references::Keys;
    use super::super::source_object::SourceObject;
    use super::super::testing::{rules, shop, version};
    use super::*;

    fn vault() -> SourceRef {
        SourceRef::new(SourceKind::SecretProviderClass, shop(), "vault").unwrap()
    }

    /// A status at a version, written at a second of the first minute of a day, for the so-many-th time.
    fn status(at_version: u64, second: u64, generation: u64, objects: &[(&str, &str)]) -> Value {
        let objects: Vec<Value> = objects.iter().map(|(id, version)| json!({ "id": id, "version": version })).collect();
        json!({
            "metadata": { "name": "x", "namespace": "shop", "resourceVersion": at_version.to_string(),
                "generation": generation, "managedFields": [
                    { "time": format!("2026-01-01T00:00:{second:02}Z"), "fieldsV1": { "f:status": {} } },
                    { "time": "2026-01-01T00:00:59Z", "fieldsV1": { "f:metadata": {} } }] },
            "status": { "secretProviderClassName": "vault", "objects": objects },
        })
    }

    fn mounted(statuses: &[Value]) -> Option<MountedClass> {
        let mut mounted = Mounted::default();
        mounted.add_page(&json!({ "metadata": {}, "items": statuses }).to_string()).unwrap();
        mounted.take(&vault())
    }

    fn digest(statuses: &[Value]) -> (Version, News, String) {
        let object = SourceObject::of_class(&vault(), None, &mounted(statuses).unwrap()).unwrap();
        (object.version, object.news, object.digest(&Keys::Whole, &rules().digest_key).to_string())
    }

    #[test]
    fn pods_that_rotate_one_after_the_other_are_one_change_in_every_order() {
        let old = |at| status(at, 1, 1, &[("a", "1")]);
        let rotated = |at, second| status(at, second, 2, &[("a", "2")]);
        let (before, after) = (digest(&[old(10), old(11), old(12)]), digest(&[old(10), rotated(20, 5), old(12)]));
        assert_eq!((before.0, before.1), (version(12), News::Never));
        assert_eq!((after.0, after.1), (version(20), News::OfLaterVersion));
        assert_ne!(before.2, after.2);
        for statuses in [
            vec![old(10), rotated(20, 5), rotated(30, 9)],
            vec![rotated(30, 9), rotated(20, 5), rotated(40, 9)],
            // Pods that a rollout started, beside old ones that have not rotated.
            vec![old(10), rotated(20, 5), status(50, 10, 1, &[("a", "2")])],
            // A label of one that has not, and of one that has.
            vec![old(60), rotated(20, 5)],
            vec![old(10), rotated(60, 5)],
        ] {
            assert_eq!(digest(&statuses).2, after.2, "{statuses:?}");
        }
    }

    #[test]
    fn a_version_that_comes_back_is_a_change_again() {
        let first = status(20, 5, 2, &[("a", "2")]);
        let second = status(30, 9, 3, &[("a", "1")]);
        let both = digest(&[first.clone(), second]);
        assert_eq!(both.0, version(30));
        assert_ne!(both.2, digest(&[first]).2);
    }

    #[test]
    fn what_pods_start_with_is_no_news_and_where_they_differ_it_is_like_no_version_alone() {
        let one = status(20, 5, 1, &[("a", "of one pod")]);
        let another = status(30, 9, 1, &[("a", "of another")]);
        let both = digest(&[another.clone(), one.clone()]);
        assert_eq!((both.0, both.1), (version(30), News::Never));
        assert!(both.2 != digest(std::slice::from_ref(&another)).2 && both.2 != digest(std::slice::from_ref(&one)).2);
        // Pods that started alike are like one that is written again with the same.
        let alike = digest(&[one.clone(), status(25, 7, 1, &[("a", "of one pod")])]);
        assert_eq!(alike.2, digest(&[one, status(40, 11, 2, &[("a", "of one pod")])]).2);
    }

    #[test]
    fn objects_that_rotate_in_different_pods_count_each_by_its_last_writer() {
        let a = status(20, 5, 2, &[("a", "2"), ("b", "1")]);
        let b = status(30, 9, 2, &[("a", "2"), ("b", "2")]);
        let both = digest(&[b.clone(), a]);
        assert_eq!(both, digest(&[b]));
    }

    #[test]
    fn a_class_without_objects_is_absent() {
        assert!(mounted(&[]).is_none());
        let empty = mounted(&[status(20, 5, 2, &[])]).unwrap();
        assert!(SourceObject::of_class(&vault(), None, &empty).is_none());
        let of_none = json!({ "metadata": { "namespace": "shop", "resourceVersion": "1" } });
        assert!(mounted(&[of_none]).is_none());
    }

    #[test]
    fn an_event_names_a_status_and_the_status_its_class() {
        let event = |api_version: &str, name: &str| {
            let data = json!({ "apiVersion": api_version, "kind": KIND, "namespace": "shop", "name": name });
            let event = EventBuilderV10::new().id("1").source("https://10.96.0.1:443");
            event.ty("dev.knative.apiserver.ref.update").data("application/json", data).build().unwrap()
        };
        let status_ref = PodStatusRef::from_event(&event(SECRETS_STORE_V1, "api-1-shop-vault")).unwrap().unwrap();
        assert_eq!(Change::from_event(&event(SECRETS_STORE_V1, "x")).unwrap(), None);
        assert_eq!(PodStatusRef::from_event(&event("v1", "x")).unwrap(), None);
        assert!(PodStatusRef::from_event(&event(SECRETS_STORE_V1, "../../secrets/x")).is_err());
        let class = status_ref.class(&status(1, 1, 1, &[]).to_string()).unwrap();
        assert_eq!(status_ref.clone().change_of(&class.unwrap()).unwrap().source, vault());
        assert!(status_ref.change_of("../x").is_err());
    }

    #[test]
    fn a_status_that_cannot_be_read_is_not_quoted() {
        let odd = json!({ "metadata": {}, "items": [{ "metadata": { "namespace": "shop", "resourceVersion": "1" },
            "status": { "objects": [{ "id": ["hunter2"] }] } }] });
        let error = Mounted::default().add_page(&odd.to_string()).unwrap_err();
        assert!(!format!("{error:?} {error}").contains("hunter2"));
    }
}
