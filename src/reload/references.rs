//! Every source that a pod template uses, and which of its keys.
//!
//! Invariant: a reference never leaves the workload's namespace, so names are all there is. What could not be told
//! apart counts whole: rather one rollout too many than one missed.
//! Left out on purpose: `imagePullSecrets`, which are read when an image is pulled; new pods are not needed for that.
//! Left out also: what the mounts of a volume leave of it (mounts.rs).

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use super::mounts::Mounts;
use super::pod_template::{Container, PodSpec, PodTemplate, Volume};
use super::source::SourceKind;

/// The CSI driver whose volumes mount SecretProviderClasses.
const SECRETS_STORE_DRIVER: &str = "secrets-store.csi.k8s.io";

/// Which keys of a source count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// All of them, also those that are added later.
    Whole,
    /// These, whether they exist or not.
    Named(BTreeSet<String>),
}

impl Keys {
    /// These keys.
    #[must_use]
    pub fn named<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        Self::Named(keys.into_iter().map(str::to_owned).collect())
    }

    fn join(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Whole, _) => {}
            (_, Self::Whole) => *self = Self::Whole,
            (Self::Named(names), Self::Named(more)) => names.extend(more),
        }
    }
}

/// How a pod template uses a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Which of its keys.
    pub keys: Keys,
    /// The container that the peer would name as the one that uses it (its `containerRefs`). Empty in a pod without
    /// containers, for which the peer does nothing.
    pub carrier: String,
}

/// All sources that a pod template uses.
#[derive(Clone, Debug, Default)]
pub struct References {
    by_kind: BTreeMap<SourceKind, BTreeMap<String, Usage>>,
    default_carrier: Option<String>,
}

impl References {
    /// Finds them.
    #[must_use]
    pub fn of(template: &PodTemplate) -> Self {
        let spec = &template.spec;
        let default_carrier = spec.containers.first().map(|container| container.name.as_str());
        // In the order in which the peer looks for the carrier, then what it does not know.
        let mut found = Found::default();
        for volume in &spec.volumes {
            found.add_volume(spec, volume);
        }
        for container in &spec.containers {
            found.add_environment(container, Some(&container.name));
        }
        for container in spec.init_containers.iter().chain(&spec.ephemeral_containers) {
            found.add_environment(container, default_carrier);
        }
        for secret in spec.volumes.iter().flat_map(secrets_of_drivers) {
            found.add(SourceKind::Secret, secret, Keys::Whole, default_carrier);
        }
        let mut references = Self { by_kind: BTreeMap::new(), default_carrier: default_carrier.map(str::to_owned) };
        for ((kind, name), (keys, carrier)) in found.0 {
            let carrier = carrier.or(default_carrier).unwrap_or_default().to_owned();
            references.by_kind.entry(kind).or_default().insert(name.to_owned(), Usage { keys, carrier });
        }
        references
    }

    /// How a source is used, if it is.
    #[must_use]
    pub fn usage(&self, kind: SourceKind, name: &str) -> Option<&Usage> {
        self.by_kind.get(&kind)?.get(name)
    }

    /// All sources with their use, in order.
    pub fn iter(&self) -> impl Iterator<Item = (SourceKind, &str, &Usage)> {
        self.by_kind
            .iter()
            .flat_map(|(&kind, by_name)| by_name.iter().map(move |(name, usage)| (kind, name.as_str(), usage)))
    }

    /// The container that the peer names where nothing refers to the source: the first.
    #[must_use]
    pub fn default_carrier(&self) -> Option<&str> {
        self.default_carrier.as_deref()
    }
}

/// The sources found so far: their keys, and the carrier where one is known.
#[derive(Default)]
struct Found<'a>(BTreeMap<(SourceKind, &'a str), (Keys, Option<&'a str>)>);

impl<'a> Found<'a> {
    /// Adds keys of a source. Who is found first is the carrier.
    fn add(&mut self, kind: SourceKind, name: &'a str, keys: Keys, carrier: Option<&'a str>) {
        if name.is_empty() {
            return;
        }
        match self.0.entry((kind, name)) {
            Entry::Vacant(entry) => {
                entry.insert((keys, carrier));
            }
            Entry::Occupied(entry) => {
                let (known_keys, known_carrier) = entry.into_mut();
                known_keys.join(keys);
                *known_carrier = known_carrier.or(carrier);
            }
        }
    }

    fn add_environment(&mut self, container: &'a Container, carrier: Option<&'a str>) {
        for from in container.env.iter().filter_map(|variable| variable.value_from.as_ref()) {
            let refs = [(SourceKind::ConfigMap, &from.config_map_key_ref), (SourceKind::Secret, &from.secret_key_ref)];
            for (kind, key_ref) in refs {
                if let Some(key_ref) = key_ref {
                    self.add(kind, &key_ref.name, Keys::named([key_ref.key.as_str()]), carrier);
                }
            }
        }
        for from in &container.env_from {
            let refs = [(SourceKind::ConfigMap, &from.config_map_ref), (SourceKind::Secret, &from.secret_ref)];
            for (kind, name_ref) in refs {
                if let Some(name_ref) = name_ref {
                    self.add(kind, &name_ref.name, Keys::Whole, carrier);
                }
            }
        }
    }

    fn add_volume(&mut self, spec: &'a PodSpec, volume: &'a Volume) {
        let mounts = Mounts::of(spec, &volume.name);
        let config_map = volume.config_map.iter().map(|source| (SourceKind::ConfigMap, &source.name, &source.items));
        let secret = volume.secret.iter().map(|source| (SourceKind::Secret, &source.secret_name, &source.items));
        let store = volume.csi.iter().filter(|csi| csi.driver == SECRETS_STORE_DRIVER);
        let attributes = store.filter_map(|csi| csi.volume_attributes.as_ref());
        // Which file an object becomes its provider knows alone, so the class counts whole whatever is mounted of it.
        let class = attributes.map(|of| (SourceKind::SecretProviderClass, &of.secret_provider_class));
        for (kind, name) in class {
            let is_known = self.0.contains_key(&(kind, name.as_str()));
            self.add(kind, name, Keys::Whole, if is_known { None } else { mounts.carrier() });
        }
        let projected = volume.projected.iter().flat_map(|projected| &projected.sources).flat_map(|projection| {
            let sources = [(SourceKind::ConfigMap, &projection.config_map), (SourceKind::Secret, &projection.secret)];
            sources.into_iter().filter_map(|(kind, source)| source.as_ref().map(|of| (kind, &of.name, &of.items)))
        });
        for (kind, name, items) in config_map.chain(secret).chain(projected) {
            // The peer looks at the first volume of a source alone.
            let is_known = self.0.contains_key(&(kind, name.as_str()));
            let carrier = if is_known { None } else { mounts.carrier() };
            self.add(kind, name, mounts.keys(items), carrier);
        }
    }
}

/// Secrets with which a volume's driver mounts it: a new one takes effect with new pods.
fn secrets_of_drivers(volume: &Volume) -> impl Iterator<Item = &str> {
    let by_secret_ref = [&volume.cephfs, &volume.flex, &volume.iscsi, &volume.rbd, &volume.scale_io, &volume.storageos];
    let by_secret_ref = by_secret_ref.into_iter().flatten().filter_map(|volume| volume.secret_ref.as_ref());
    let csi = volume.csi.iter().filter_map(|csi| csi.node_publish_secret_ref.as_ref());
    let azure = volume.azure_file.iter().map(|azure| azure.secret_name.as_str());
    by_secret_ref.chain(csi).map(|secret| secret.name.as_str()).chain(azure)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn references(spec: &Value) -> References {
        References::of(&serde_json::from_value(json!({ "spec": spec })).unwrap())
    }

    fn named(keys: &[&str]) -> Keys {
        Keys::named(keys.iter().copied())
    }

    #[test]
    fn an_environment_uses_one_key_or_all() {
        let env = json!([{ "valueFrom": { "configMapKeyRef": { "name": "app", "key": "a" } } },
            { "valueFrom": { "configMapKeyRef": { "name": "app", "key": "b", "optional": true } } },
            { "valueFrom": { "secretKeyRef": { "name": "app", "key": "c" } } }, { "value": "x" }]);
        for kind in ["containers", "initContainers", "ephemeralContainers"] {
            let found = references(&json!({ kind: [{ "name": "main", "env": env }] }));
            assert_eq!(found.usage(SourceKind::ConfigMap, "app").unwrap().keys, named(&["a", "b"]), "{kind}");
            assert_eq!(found.usage(SourceKind::Secret, "app").unwrap().keys, named(&["c"]), "{kind}");
            let from = json!([{ "prefix": "X_", "configMapRef": { "name": "app", "optional": true } }, { "secretRef": { "name": "db" } }]);
            let found = references(&json!({ kind: [{ "name": "main", "env": env, "envFrom": from }] }));
            assert_eq!(found.usage(SourceKind::ConfigMap, "app").unwrap().keys, Keys::Whole, "{kind}");
            assert_eq!(found.usage(SourceKind::Secret, "db").unwrap().keys, Keys::Whole, "{kind}");
            assert_eq!(found.iter().count(), 3);
        }
    }

    #[test]
    fn secrets_projections_and_second_volumes_count_the_same() {
        let items = json!([{ "key": "a", "path": "a" }]);
        let found = references(
            &json!({ "containers": [{ "name": "main", "volumeMounts": [{ "name": "two" }] }], "volumes": [
            { "name": "one", "secret": { "secretName": "db", "items": items } },
            { "name": "two", "secret": { "secretName": "db", "items": [{ "key": "b", "path": "b" }] } },
            { "name": "three", "projected": { "sources": [
                { "configMap": { "name": "app", "items": items } }, { "secret": { "name": "tls" } }, { "serviceAccountToken": {} } ] } },
        ] }),
        );
        assert_eq!(found.usage(SourceKind::Secret, "db").unwrap().keys, named(&["a", "b"]));
        assert_eq!(found.usage(SourceKind::ConfigMap, "app").unwrap().keys, named(&["a"]));
        assert_eq!(found.usage(SourceKind::Secret, "tls").unwrap().keys, Keys::Whole);
    }

    #[test]
    fn secrets_with_which_a_driver_mounts_count_and_pull_secrets_do_not() {
        let mut volumes: Vec<Value> = ["cephfs", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"]
            .iter()
            .map(|kind| json!({ "name": kind, (*kind): { "secretRef": { "name": kind.to_lowercase() } } }))
            .collect();
        volumes.push(json!({ "name": "csi", "csi": { "nodePublishSecretRef": { "name": "csi" } } }));
        volumes.push(json!({ "name": "azure", "azureFile": { "secretName": "azure" } }));
        let found = references(&json!({ "volumes": volumes, "imagePullSecrets": [{ "name": "pull" }] }));
        let names: Vec<_> = found.iter().map(|(_, name, _)| name).collect();
        assert_eq!(names, ["azure", "cephfs", "csi", "flexvolume", "iscsi", "rbd", "scaleio", "storageos"]);
    }

    #[test]
    fn a_volume_of_the_secrets_store_uses_its_class_whole_and_the_carrier_mounts_it() {
        let attributes = json!({ "secretProviderClass": "vault", "usePodIdentity": "false" });
        let volume =
            json!({ "name": "v", "csi": { "driver": "secrets-store.csi.k8s.io", "volumeAttributes": attributes } });
        let mounts = |name: &str| json!({ "name": name, "volumeMounts": [{ "name": "v", "subPath": "a/b" }] });
        let plain = json!({ "name": "first" });
        for (containers, init, carrier) in [
            (json!([plain, mounts("second")]), json!([]), "second"),
            (json!([plain, { "name": "second" }]), json!([mounts("init")]), "first"),
            (json!([plain]), json!([]), "first"),
        ] {
            let spec = json!({ "containers": containers, "initContainers": init, "volumes": [volume] });
            let found = references(&spec);
            let expected = Usage { keys: Keys::Whole, carrier: carrier.to_owned() };
            assert_eq!(found.usage(SourceKind::SecretProviderClass, "vault"), Some(&expected));
            assert_eq!(found.iter().count(), 1);
        }
        for odd in
            [json!(null), json!({}), json!({ "secretProviderClass": null }), json!({ "secretProviderClass": "" })]
        {
            let csi = json!({ "driver": "secrets-store.csi.k8s.io", "volumeAttributes": odd });
            assert_eq!(references(&json!({ "volumes": [{ "name": "v", "csi": csi }] })).iter().count(), 0);
        }
        for driver in [json!("other.csi.k8s.io"), json!(null)] {
            let csi = json!({ "driver": driver, "volumeAttributes": attributes });
            assert_eq!(references(&json!({ "volumes": [{ "name": "v", "csi": csi }] })).iter().count(), 0);
        }
    }

    #[test]
    fn empty_names_are_no_references() {
        let found = references(
            &json!({ "containers": [{ "name": "main", "envFrom": [{ "configMapRef": {} }, { "secretRef": { "name": "" } }] }],
            "volumes": [{ "name": "v", "configMap": {} }, { "name": "w", "projected": { "sources": [{ "secret": {} }] } }] }),
        );
        assert_eq!(found.iter().count(), 0);
    }

    /// The rows are the peer's `getContainerUsingResource`, line by line.
    #[test]
    fn the_carrier_is_the_container_that_the_peer_would_name() {
        let app = json!([{ "configMapRef": { "name": "app" } }]);
        let (plain, by_env) = (json!({ "name": "first" }), json!({ "name": "second", "envFrom": app }));
        let mounts = |name: &str, volume: &str| json!({ "name": name, "volumeMounts": [{ "name": volume }] });
        let volume = |name: &str| json!({ "name": name, "configMap": { "name": "app" } });
        let rows = [
            ("by environment", json!({ "containers": [plain, by_env] }), "second"),
            ("by mount", json!({ "containers": [plain, mounts("second", "v")], "volumes": [volume("v")] }), "second"),
            (
                "a mount goes before an environment",
                json!({ "containers": [by_env, mounts("third", "v")], "volumes": [volume("v")] }),
                "third",
            ),
            (
                "a volume that nobody mounts leaves it to the environment",
                json!({ "containers": [plain, by_env], "volumes": [volume("v")] }),
                "second",
            ),
            (
                "only the first volume of the source is looked at",
                json!({ "containers": [plain, mounts("second", "w")], "volumes": [volume("v"), volume("w")] }),
                "first",
            ),
            (
                "a mount of an init container goes before an environment, and falls to the first container",
                json!({ "containers": [plain, by_env], "initContainers": [mounts("init", "v")], "volumes": [volume("v")] }),
                "first",
            ),
            (
                "an environment of an init container falls to the first container",
                json!({ "containers": [plain], "initContainers": [{ "name": "init", "envFrom": app }] }),
                "first",
            ),
            (
                "ephemeral containers are unknown to the peer",
                json!({ "containers": [plain, by_env], "ephemeralContainers": [mounts("debug", "v")], "volumes": [volume("v")] }),
                "second",
            ),
        ];
        for (case, spec, expected) in rows {
            assert_eq!(references(&spec).usage(SourceKind::ConfigMap, "app").unwrap().carrier, expected, "{case}");
        }
    }

    #[test]
    fn a_secret_of_a_driver_leaves_the_carrier_to_who_else_uses_it() {
        let found = references(&json!({
            "containers": [{ "name": "first" }, { "name": "second", "envFrom": [{ "secretRef": { "name": "db" } }] }],
            "volumes": [{ "name": "v", "csi": { "nodePublishSecretRef": { "name": "db" } } }] }));
        assert_eq!(found.usage(SourceKind::Secret, "db").unwrap().carrier, "second");
        assert_eq!(found.default_carrier(), Some("first"));
    }
}
