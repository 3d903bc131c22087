//! What the mounts of a volume leave of it: which keys of its source, and for whom.
//!
//! Invariant: where a sub-path cannot be told to be one file or folder, the mount counts as the whole volume: rather
//! one rollout too many than one missed.
//! Left out: what a volume is made of (references.rs), and mounts that a template does not show, such as those of an
//! injected container; for their sake a volume that nobody mounts counts as it is declared.

use super::pod_template::{Container, Item, PodSpec, VolumeMount};
use super::references::Keys;

/// Who mounts a volume, and how much of it.
pub(super) struct Mounts<'a> {
    parts: Vec<Part<'a>>,
    carrier: Option<&'a str>,
}

/// How much of a volume a mount shows.
enum Part<'a> {
    All,
    /// What stands at this path or under it; never empty.
    Under(Vec<&'a str>),
}

impl<'a> Mounts<'a> {
    /// Finds the mounts of a volume in all containers of a pod.
    pub(super) fn of(spec: &'a PodSpec, volume: &str) -> Self {
        let of = |containers: &'a [Container]| {
            let mounts = |container: &'a Container| container.volume_mounts.iter().map(move |mount| (container, mount));
            containers.iter().flat_map(mounts).filter(|(_, mount)| mount.name == volume)
        };
        let first = spec.containers.first();
        let by_container = of(&spec.containers).map(|(container, _)| container).next();
        let by_init_container = of(&spec.init_containers).next().and(first);
        let carrier = by_container.or(by_init_container).map(|container| container.name.as_str());
        let all = of(&spec.containers).chain(of(&spec.init_containers)).chain(of(&spec.ephemeral_containers));
        Self { parts: all.map(|(_, mount)| Part::of(mount)).collect(), carrier }
    }

    /// The container that the peer names: the first that mounts the volume; the pod's first for an init container's
    /// mount; ephemeral containers are unknown to it. (`getContainerUsingResource` in its handler/upgrade.go.)
    pub(super) const fn carrier(&self) -> Option<&'a str> {
        self.carrier
    }

    /// The keys that are mounted of a source that the volume holds with these items.
    pub(super) fn keys(&self, items: &[Item]) -> Keys {
        let declared = || match items {
            [] => Keys::Whole,
            _ => Keys::named(items.iter().map(|item| item.key.as_str())),
        };
        let narrow: Option<Vec<&[&str]>> = self.parts.iter().map(Part::path).collect();
        match narrow {
            Some(paths) if !paths.is_empty() => {
                if items.is_empty() {
                    // A file is called like its key, which holds no slash.
                    return Keys::named(paths.iter().filter_map(|path| path.first().copied()));
                }
                let is_mounted = |item: &&Item| paths.iter().any(|path| segments(&item.path).starts_with(path));
                Keys::named(items.iter().filter(is_mounted).map(|item| item.key.as_str()))
            }
            _ => declared(),
        }
    }
}

impl<'a> Part<'a> {
    fn of(mount: &'a VolumeMount) -> Self {
        let is_set = |path: &Option<String>| path.as_ref().is_some_and(|path| !path.is_empty());
        if is_set(&mount.sub_path_expr) {
            return Self::All; // only the running pod knows
        }
        match segments(mount.sub_path.as_deref().unwrap_or_default()) {
            path if path.is_empty() => Self::All,
            // `..data` is the kubelet's link to all files: neither a key nor an item's path may begin with "..".
            path if path[0].starts_with("..") => Self::All,
            path => Self::Under(path),
        }
    }

    fn path(&self) -> Option<&[&'a str]> {
        match self {
            Self::All => None,
            Self::Under(path) => Some(path),
        }
    }
}

/// A path as the kubelet cleans it.
fn segments(path: &str) -> Vec<&str> {
    path.split('/').filter(|segment| !matches!(*segment, "" | ".")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::pod_template::PodTemplate;
    use super::*;

    fn named(keys: &[&str]) -> Keys {
        Keys::named(keys.iter().copied())
    }

    /// The keys that a pod leaves of its volume `v`.
    fn keys(spec: &Value, items: &Value) -> Keys {
        let template: PodTemplate = serde_json::from_value(json!({ "spec": spec })).unwrap();
        let items: Vec<Item> = serde_json::from_value(items.clone()).unwrap();
        Mounts::of(&template.spec, "v").keys(&items)
    }

    #[test]
    fn a_volume_uses_its_items_or_all_and_a_sub_path_one_of_them() {
        let whole = json!([]);
        let items = json!([{ "key": "a", "path": "x/one" }, { "key": "b", "path": "y" }]);
        let plain = json!([{ "name": "v" }]);
        let by_path = |path: &str| json!([{ "name": "v", "subPath": path }]);
        let rows = [
            (&whole, plain.clone(), Keys::Whole),
            (&whole, json!([]), Keys::Whole),
            (&whole, json!([{ "name": "other", "subPath": "a" }]), Keys::Whole),
            (&whole, by_path("a"), named(&["a"])),
            (&whole, by_path("a/b"), named(&["a"])),
            (&whole, by_path("./a"), named(&["a"])),
            (&whole, by_path(".a"), named(&[".a"])),
            (&whole, by_path(""), Keys::Whole),
            (&whole, json!([{ "name": "v", "subPath": "a" }, { "name": "v", "subPath": "b" }]), named(&["a", "b"])),
            (&whole, json!([{ "name": "v", "subPath": "a" }, { "name": "v" }]), Keys::Whole),
            (&whole, json!([{ "name": "v", "subPathExpr": "$(POD)" }]), Keys::Whole),
            (&whole, json!([{ "name": "v", "subPath": "a", "subPathExpr": "$(POD)" }]), Keys::Whole),
            (&whole, json!([{ "name": "v", "subPath": "a", "subPathExpr": "" }]), named(&["a"])),
            (&whole, by_path("."), Keys::Whole),
            (&whole, by_path("..data/a"), Keys::Whole),
            (&whole, json!([{ "name": "v", "subPath": "a" }, { "name": "v", "subPath": "./" }]), Keys::Whole),
            (&items, plain, named(&["a", "b"])),
            (&items, json!([]), named(&["a", "b"])),
            (&items, by_path("x"), named(&["a"])),
            (&items, by_path("x/one"), named(&["a"])),
            (&items, by_path("./x//one/"), named(&["a"])),
            (&items, by_path("y"), named(&["b"])),
            (&items, by_path("."), named(&["a", "b"])),
            (&items, by_path("..data/y"), named(&["a", "b"])),
            (&items, by_path("xx"), named(&[])),
        ];
        for (items, mounts, expected) in rows {
            let spec = json!({ "containers": [{ "name": "main", "volumeMounts": mounts }] });
            assert_eq!(keys(&spec, items), expected, "{items} {mounts}");
        }
    }

    #[test]
    fn a_sub_path_of_one_container_does_not_narrow_what_another_mounts() {
        let narrow = json!([{ "name": "main", "volumeMounts": [{ "name": "v", "subPath": "a" }] }]);
        for others in ["initContainers", "ephemeralContainers"] {
            let with = |mount: Value| {
                let other = json!([{ "name": "other", "volumeMounts": [mount] }]);
                keys(&json!({ "containers": narrow, others: other }), &json!([]))
            };
            assert_eq!(with(json!({ "name": "v" })), Keys::Whole, "{others}");
            assert_eq!(with(json!({ "name": "v", "subPath": "b" })), named(&["a", "b"]), "{others}");
        }
    }
}
