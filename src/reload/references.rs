//! Every source that a pod template uses, and which of its keys.
//!
//! Invariant: a reference never leaves the workload's namespace, so names are all there is. What could not be told
//! apart counts whole: rather one rollout too many than one missed.
//! Left out on purpose: `imagePullSecrets`, which are read when an image is pulled; new pods are not needed for that.

use std::collections::{BTreeMap, BTreeSet};

use super::pod_template::{Container, Item, PodSpec, PodTemplate, Volume, VolumeMount};
use super::source::SourceKind;

/// Which keys of a source count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// All of them, also those that are added later.
    Whole,
    /// These, whether they exist or not.
    Named(BTreeSet<String>),
}

impl Keys {
    /// One key.
    #[must_use]
    pub fn one(key: &str) -> Self {
        Self::Named([key.to_owned()].into())
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
    /// The container that the peer would name as the one that uses it (its `containerRefs`).
    pub carrier: String,
}

/// All sources that a pod template uses.
#[derive(Clone, Debug, Default)]
pub struct References {
    by_source: BTreeMap<(SourceKind, String), Usage>,
    default_carrier: Option<String>,
}

impl References {
    /// Finds them.
    #[must_use]
    pub fn of(template: &PodTemplate) -> Self {
        let spec = &template.spec;
        let default_carrier = spec.containers.first().map(|container| container.name.clone());
        let mut references = Self { by_source: BTreeMap::new(), default_carrier };
        // In the order in which the peer looks for the carrier: volumes, environment, init containers' environment.
        for volume in &spec.volumes {
            references.add_volume(spec, volume);
        }
        for container in &spec.containers {
            references.add_environment(container, &container.name);
        }
        let carrier = references.default_carrier.clone().unwrap_or_default();
        for container in spec.init_containers.iter().chain(&spec.ephemeral_containers) {
            references.add_environment(container, &carrier);
        }
        references
    }

    /// How a source is used, if it is.
    #[must_use]
    pub fn usage(&self, kind: SourceKind, name: &str) -> Option<&Usage> {
        self.by_source.get(&(kind, name.to_owned()))
    }

    /// All sources with their use, in order.
    pub fn iter(&self) -> impl Iterator<Item = (SourceKind, &str, &Usage)> {
        self.by_source.iter().map(|((kind, name), usage)| (*kind, name.as_str(), usage))
    }

    /// The container that the peer names where nothing refers to the source: the first.
    #[must_use]
    pub fn default_carrier(&self) -> Option<&str> {
        self.default_carrier.as_deref()
    }

    fn add(&mut self, kind: SourceKind, name: &str, keys: Keys, carrier: &str) {
        if name.is_empty() {
            return;
        }
        self.by_source
            .entry((kind, name.to_owned()))
            .and_modify(|usage| usage.keys.join(keys.clone()))
            .or_insert_with(|| Usage { keys, carrier: carrier.to_owned() });
    }

    fn add_environment(&mut self, container: &Container, carrier: &str) {
        for from in container.env.iter().filter_map(|variable| variable.value_from.as_ref()) {
            let refs = [(SourceKind::ConfigMap, &from.config_map_key_ref), (SourceKind::Secret, &from.secret_key_ref)];
            for (kind, key_ref) in refs {
                if let Some(key_ref) = key_ref {
                    self.add(kind, &key_ref.name, Keys::one(&key_ref.key), carrier);
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

    fn add_volume(&mut self, spec: &PodSpec, volume: &Volume) {
        let mounts = Mounts::of(spec, &volume.name);
        let carrier = mounts.carrier.or(self.default_carrier.clone()).unwrap_or_default();
        if let Some(source) = &volume.config_map {
            self.add(SourceKind::ConfigMap, &source.name, keys_of(&source.items, &mounts.of_volume), &carrier);
        }
        if let Some(source) = &volume.secret {
            self.add(SourceKind::Secret, &source.secret_name, keys_of(&source.items, &mounts.of_volume), &carrier);
        }
        for projection in volume.projected.iter().flat_map(|projected| &projected.sources) {
            let sources = [(SourceKind::ConfigMap, &projection.config_map), (SourceKind::Secret, &projection.secret)];
            for (kind, source) in sources {
                if let Some(source) = source {
                    self.add(kind, &source.name, keys_of(&source.items, &mounts.of_volume), &carrier);
                }
            }
        }
        for secret in secrets_of_drivers(volume) {
            self.add(SourceKind::Secret, secret, Keys::Whole, &carrier);
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

/// Who mounts a volume.
struct Mounts<'a> {
    of_volume: Vec<&'a VolumeMount>,
    carrier: Option<String>,
}

impl<'a> Mounts<'a> {
    fn of(spec: &'a PodSpec, volume: &str) -> Self {
        let of = |containers: &'a [Container]| {
            containers.iter().flat_map(|container| container.volume_mounts.iter().map(move |mount| (container, mount)))
        };
        let mounts = of(&spec.containers).filter(|(_, mount)| mount.name == volume);
        let carrier = mounts.clone().next().map(|(container, _)| container.name.clone());
        let others =
            of(&spec.init_containers).chain(of(&spec.ephemeral_containers)).filter(|(_, mount)| mount.name == volume);
        Self { of_volume: mounts.chain(others).map(|(_, mount)| mount).collect(), carrier }
    }
}

/// The keys that a volume's items and the mounts' sub-paths leave. An unmounted volume counts as it is declared: it
/// may be mounted by somebody that the template does not show, such as an injected container.
fn keys_of(items: &[Item], mounts: &[&VolumeMount]) -> Keys {
    let sub_path = |mount: &&VolumeMount| match (&mount.sub_path, &mount.sub_path_expr) {
        (Some(path), None) if !path.is_empty() => Some(path.clone()),
        _ => None,
    };
    let sub_paths: Option<Vec<String>> = mounts.iter().map(sub_path).collect();
    let sub_paths = sub_paths.filter(|paths| !paths.is_empty());
    match (items.is_empty(), sub_paths) {
        (true, None) => Keys::Whole,
        (false, None) => Keys::Named(items.iter().map(|item| item.key.clone()).collect()),
        // A file of a volume without items is called like its key, which holds no slash.
        (true, Some(paths)) => Keys::Named(
            paths
                .iter()
                .filter_map(|path| path.split('/').find(|part| !matches!(*part, "" | ".")))
                .map(str::to_owned)
                .collect(),
        ),
        (false, Some(paths)) => {
            let is_mounted = |item: &&Item| paths.iter().any(|path| is_at_or_under(&item.path, path));
            Keys::Named(items.iter().filter(is_mounted).map(|item| item.key.clone()).collect())
        }
    }
}

fn is_at_or_under(path: &str, folder: &str) -> bool {
    let folder = folder.trim_end_matches('/');
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn references(spec: &Value) -> References {
        References::of(&serde_json::from_value(json!({ "spec": spec })).unwrap())
    }

    fn named(keys: &[&str]) -> Keys {
        Keys::Named(keys.iter().map(|key| (*key).to_owned()).collect())
    }

    /// A pod whose container `main` mounts the volume `v` with these mounts.
    fn mounting(volume: &Value, mounts: &Value) -> References {
        let mut volume = volume.clone();
        volume["name"] = json!("v");
        references(&json!({ "containers": [{ "name": "main", "volumeMounts": mounts }], "volumes": [volume] }))
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
    fn a_volume_uses_its_items_or_all_and_a_sub_path_one_of_them() {
        let whole = json!({ "configMap": { "name": "app" } });
        let items = json!({ "configMap": { "name": "app", "items": [{ "key": "a", "path": "x/one" }, { "key": "b", "path": "y" }] } });
        let plain = json!([{ "name": "v" }]);
        let by_path = |path: &str| json!([{ "name": "v", "subPath": path }]);
        let rows = [
            (&whole, plain.clone(), Keys::Whole),
            (&whole, json!([]), Keys::Whole),
            (&whole, json!([{ "name": "other", "subPath": "a" }]), Keys::Whole),
            (&whole, by_path("a"), named(&["a"])),
            (&whole, by_path("./a"), named(&["a"])),
            (&whole, by_path(""), Keys::Whole),
            (&whole, json!([{ "name": "v", "subPath": "a" }, { "name": "v", "subPath": "b" }]), named(&["a", "b"])),
            (&whole, json!([{ "name": "v", "subPath": "a" }, { "name": "v" }]), Keys::Whole),
            (&whole, json!([{ "name": "v", "subPathExpr": "$(POD)" }]), Keys::Whole),
            (&items, plain, named(&["a", "b"])),
            (&items, json!([]), named(&["a", "b"])),
            (&items, by_path("x"), named(&["a"])),
            (&items, by_path("x/one"), named(&["a"])),
            (&items, by_path("y"), named(&["b"])),
        ];
        for (volume, mounts, expected) in rows {
            let found = mounting(volume, &mounts);
            assert_eq!(found.usage(SourceKind::ConfigMap, "app").unwrap().keys, expected, "{volume} {mounts}");
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
    fn empty_names_are_no_references() {
        let found = references(
            &json!({ "containers": [{ "name": "main", "envFrom": [{ "configMapRef": {} }, { "secretRef": { "name": "" } }] }],
            "volumes": [{ "name": "v", "configMap": {} }, { "name": "w", "projected": { "sources": [{ "secret": {} }] } }] }),
        );
        assert_eq!(found.iter().count(), 0);
    }

    #[test]
    fn the_carrier_is_the_container_that_the_peer_would_name() {
        let app = json!([{ "configMapRef": { "name": "app" } }]);
        let containers =
            json!([{ "name": "first" }, { "name": "second", "envFrom": app, "volumeMounts": [{ "name": "v" }] }]);
        let carrier = |spec: Value| references(&spec).usage(SourceKind::ConfigMap, "app").unwrap().carrier.clone();
        assert_eq!(carrier(json!({ "containers": containers })), "second");
        let volume = json!([{ "name": "v", "configMap": { "name": "app" } }]);
        assert_eq!(carrier(json!({ "containers": containers, "volumes": volume })), "second");
        let unmounted = json!([{ "name": "w", "configMap": { "name": "app" } }]);
        assert_eq!(carrier(json!({ "containers": [{ "name": "first" }], "volumes": unmounted })), "first");
        let init =
            json!({ "containers": [{ "name": "first" }], "initContainers": [{ "name": "init", "envFrom": app }] });
        assert_eq!(carrier(init), "first");
        assert_eq!(references(&json!({ "containers": containers })).default_carrier(), Some("first"));
    }
}
