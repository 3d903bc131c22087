//! Sources and workloads of the simulation: what they can hold, and how they are written as Kubernetes objects.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::random::Random;

/// By path: `configmaps/app`.
pub(super) type Key = &'static str;
/// Values by key, of one source.
pub(super) type Content = BTreeMap<&'static str, usize>;

pub(super) const SOURCES: [Key; 4] = ["configmaps/app", "configmaps/web", "secrets/db", "secrets/tls"];
pub(super) const WORKLOADS: [Key; 5] =
    ["deployments/api", "deployments/web", "statefulsets/db", "daemonsets/agent", "deployments/other"];
const KEYS: [&str; 3] = ["a", "b", "c"];

/// Which keys of a source count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    Whole,
    Named(BTreeSet<&'static str>),
}

impl Keys {
    /// What counts of a content.
    pub(super) fn of(&self, content: &Content) -> Content {
        let counts = |key: &&'static str| {
            matches!(self, Self::Whole) || matches!(self, Self::Named(names) if names.contains(key))
        };
        content.iter().filter(|(key, _)| counts(key)).map(|(key, value)| (*key, *value)).collect()
    }

    fn join(&mut self, other: Self) {
        match (&mut *self, other) {
            (Self::Whole, _) => {}
            (_, Self::Whole) => *self = Self::Whole,
            (Self::Named(names), Self::Named(more)) => names.extend(more),
        }
    }
}

/// What a workload asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OptIn {
    Auto,
    /// By one source, which counts whole, used or not.
    Names(Key),
    Nothing,
    Never,
}

/// One use of a source by a pod template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Variable(Key, &'static str),
    Environment(Key),
    Volume(Key),
    Item(Key, &'static str),
    SubPath(Key, &'static str),
}

/// What the owner of a workload writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Manifest {
    pub(super) opt_in: OptIn,
    pub(super) uses: Vec<Use>,
}

pub(super) fn any_content(random: &mut Random) -> Content {
    let keys = KEYS.iter().filter(|_| random.chance(80)).copied().collect::<Vec<_>>();
    keys.into_iter().map(|key| (key, random.below(3))).collect()
}

/// Another value of one key, a new key or one less.
pub(super) fn edit(content: &mut Content, random: &mut Random) {
    let key = random.pick(&KEYS);
    if random.chance(15) {
        content.remove(key);
    } else {
        content.insert(key, random.below(3));
    }
}

pub(super) fn any_opt_in(random: &mut Random) -> OptIn {
    match random.below(10) {
        0..6 => OptIn::Auto,
        6 | 7 => OptIn::Names(random.pick(&SOURCES)),
        8 => OptIn::Nothing,
        _ => OptIn::Never,
    }
}

pub(super) fn any_uses(random: &mut Random) -> Vec<Use> {
    let count = 1 + random.below(3);
    (0..count).map(|_| any_use(random)).collect()
}

fn any_use(random: &mut Random) -> Use {
    let (source, key) = (random.pick(&SOURCES), random.pick(&KEYS));
    match random.below(5) {
        0 => Use::Variable(source, key),
        1 => Use::Environment(source),
        2 => Use::Volume(source),
        3 => Use::Item(source, key),
        _ => Use::SubPath(source, key),
    }
}

impl Manifest {
    /// The sources that count, with the keys that do.
    pub(super) fn counted(&self) -> BTreeMap<Key, Keys> {
        let mut counted = BTreeMap::new();
        match self.opt_in {
            OptIn::Nothing | OptIn::Never => {}
            OptIn::Names(source) => {
                counted.insert(source, Keys::Whole);
            }
            OptIn::Auto => {
                for used in &self.uses {
                    let (source, keys) = used.keys();
                    counted.entry(source).or_insert_with(|| Keys::Named(BTreeSet::new())).join(keys);
                }
            }
        }
        counted
    }

    /// The object; `live` is what is there, of which everything is kept that is none of the owner's.
    pub(super) fn object(&self, live: Value) -> Value {
        let mut object = if live.is_object() { live } else { json!({ "metadata": {} }) };
        let annotations = &mut object["metadata"]["annotations"];
        if !annotations.is_object() {
            *annotations = json!({});
        }
        annotations.as_object_mut().unwrap().retain(|key, _| !key.contains("reloader.stakater.com"));
        match self.opt_in {
            OptIn::Auto => annotations["reloader.stakater.com/auto"] = json!("true"),
            OptIn::Names(source) => {
                let (kind, name) = kind_and_name(source);
                annotations[format!("{}.reloader.stakater.com/reload", kind.to_lowercase())] = json!(name);
            }
            OptIn::Nothing => {}
            OptIn::Never => {
                annotations["reloader.stakater.com/auto"] = json!("true");
                annotations["reloader.stakater.com/reload"] = json!("false");
            }
        }
        object["spec"]["template"]["spec"] = self.pod_spec();
        object
    }

    fn pod_spec(&self) -> Value {
        let (mut env, mut env_from, mut mounts, mut volumes) = (vec![], vec![], vec![], vec![]);
        for (index, used) in self.uses.iter().enumerate() {
            let (source, _) = used.keys();
            let (kind, name) = kind_and_name(source);
            let is_secret = kind == "Secret";
            let volume = format!("v{index}");
            let mut mount = |volume: Value, sub_path: Option<&str>| {
                mounts.push(json!({ "name": volume["name"], "mountPath": format!("/v{index}"), "subPath": sub_path }));
                volumes.push(volume);
            };
            let whole = if is_secret {
                json!({ "name": volume, "secret": { "secretName": name } })
            } else {
                json!({ "name": volume, "configMap": { "name": name } })
            };
            match *used {
                Use::Variable(_, key) => {
                    let from = if is_secret { "secretKeyRef" } else { "configMapKeyRef" };
                    env.push(
                        json!({ "name": format!("E{index}"), "valueFrom": { from: { "name": name, "key": key } } }),
                    );
                }
                Use::Environment(_) => {
                    env_from.push(json!({ if is_secret { "secretRef" } else { "configMapRef" }: { "name": name } }));
                }
                Use::Volume(_) => mount(whole, None),
                Use::Item(_, key) => {
                    let mut narrow = whole;
                    narrow[if is_secret { "secret" } else { "configMap" }]["items"] =
                        json!([{ "key": key, "path": key }]);
                    mount(narrow, None);
                }
                Use::SubPath(_, key) => mount(whole, Some(key)),
            }
        }
        json!({
            "containers": [{ "name": "main", "env": env, "envFrom": env_from, "volumeMounts": mounts }],
            "volumes": volumes,
        })
    }
}

impl Use {
    fn keys(self) -> (Key, Keys) {
        match self {
            Self::Environment(source) | Self::Volume(source) => (source, Keys::Whole),
            Self::Variable(source, key) | Self::Item(source, key) | Self::SubPath(source, key) => {
                (source, Keys::Named([key].into()))
            }
        }
    }
}

pub(super) fn kind_and_name(source: Key) -> (&'static str, &'static str) {
    let (plural, name) = source.split_once('/').unwrap();
    (if plural == "secrets" { "Secret" } else { "ConfigMap" }, name)
}

/// The server's own bookkeeping of a source, in whole seconds since the run began.
#[derive(Clone, Copy, Default)]
pub(super) struct Stamps {
    pub(super) created: u64,
    /// When its data was last written.
    pub(super) written: u64,
}

/// A source as an object. The values of a Secret are taken for base64, which nobody decodes. Data and labels have
/// managers of their own, so a label edit leaves the time of the data alone.
pub(super) fn source_object(content: &Content, label: &str, stamps: Stamps) -> Value {
    let data: BTreeMap<_, _> = content.iter().map(|(key, value)| (*key, format!("{value}"))).collect();
    let managed = json!([{ "manager": "editor", "time": timestamp(stamps.written), "fieldsV1": { "f:data": {} } }]);
    let created = timestamp(stamps.created);
    let metadata = json!({ "labels": { "note": label }, "creationTimestamp": created, "managedFields": managed });
    json!({ "metadata": metadata, "data": data })
}

/// A second of the run, as the server writes it.
pub(super) fn timestamp(second: u64) -> String {
    jiff::Timestamp::from_second(1_767_225_600 + i64::try_from(second).unwrap()).unwrap().to_string()
}
