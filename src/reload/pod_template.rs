//! The parts of a pod template that say what it uses.
//!
//! Invariant: reads what the API server may write and keeps nothing else. It drops nulls from the kinds that it knows
//! itself, but not from a custom kind whose schema preserves unknown fields, so a null may stand anywhere.
//! Left out: what the parts mean (references.rs).

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

/// A pod template.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub struct PodTemplate {
    #[serde(deserialize_with = "or_default")]
    metadata: Metadata,
    #[serde(deserialize_with = "or_default")]
    pub(super) spec: PodSpec,
}

impl PodTemplate {
    /// The name of the template, which only a Revision's has.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.metadata.name.as_deref()
    }

    /// The annotations of the pods.
    #[must_use]
    pub fn annotations(&self) -> &BTreeMap<String, String> {
        &self.metadata.annotations
    }
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: Option<String>,
    #[serde(deserialize_with = "nulls_as_empty")]
    annotations: BTreeMap<String, String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PodSpec {
    #[serde(deserialize_with = "without_nulls")]
    pub(super) containers: Vec<Container>,
    #[serde(deserialize_with = "without_nulls")]
    pub(super) init_containers: Vec<Container>,
    #[serde(deserialize_with = "without_nulls")]
    pub(super) ephemeral_containers: Vec<Container>,
    #[serde(deserialize_with = "without_nulls")]
    pub(super) volumes: Vec<Volume>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Container {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "without_nulls")]
    pub(super) env: Vec<EnvVar>,
    #[serde(deserialize_with = "without_nulls")]
    pub(super) env_from: Vec<EnvFrom>,
    #[serde(deserialize_with = "without_nulls")]
    pub(super) volume_mounts: Vec<VolumeMount>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct EnvVar {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    pub(super) value_from: Option<ValueFrom>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct ValueFrom {
    pub(super) config_map_key_ref: Option<KeyRef>,
    pub(super) secret_key_ref: Option<KeyRef>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct KeyRef {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) key: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct EnvFrom {
    pub(super) config_map_ref: Option<NameRef>,
    pub(super) secret_ref: Option<NameRef>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NameRef {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct VolumeMount {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    pub(super) sub_path: Option<String>,
    pub(super) sub_path_expr: Option<String>,
}

/// A volume: the sources with items, and whatever else refers to a Secret by name.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Volume {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    pub(super) config_map: Option<ItemsOf>,
    pub(super) secret: Option<SecretVolume>,
    pub(super) projected: Option<Projected>,
    pub(super) csi: Option<CsiVolume>,
    pub(super) azure_file: Option<SecretVolume>,
    pub(super) cephfs: Option<SecretRefVolume>,
    #[serde(rename = "flexVolume")]
    pub(super) flex: Option<SecretRefVolume>,
    pub(super) iscsi: Option<SecretRefVolume>,
    pub(super) rbd: Option<SecretRefVolume>,
    #[serde(rename = "scaleIO")]
    pub(super) scale_io: Option<SecretRefVolume>,
    pub(super) storageos: Option<SecretRefVolume>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct ItemsOf {
    #[serde(deserialize_with = "or_default")]
    pub(super) name: String,
    #[serde(deserialize_with = "without_nulls")]
    pub(super) items: Vec<Item>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SecretVolume {
    #[serde(deserialize_with = "or_default")]
    pub(super) secret_name: String,
    #[serde(deserialize_with = "without_nulls")]
    pub(super) items: Vec<Item>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Item {
    #[serde(deserialize_with = "or_default")]
    pub(super) key: String,
    #[serde(deserialize_with = "or_default")]
    pub(super) path: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Projected {
    #[serde(deserialize_with = "without_nulls")]
    pub(super) sources: Vec<Projection>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Projection {
    pub(super) config_map: Option<ItemsOf>,
    pub(super) secret: Option<ItemsOf>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct CsiVolume {
    #[serde(deserialize_with = "or_default")]
    pub(super) driver: String,
    pub(super) node_publish_secret_ref: Option<NameRef>,
    pub(super) volume_attributes: Option<VolumeAttributes>,
}

/// What a CSI volume tells its driver: this key is that of the Secrets Store.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct VolumeAttributes {
    #[serde(deserialize_with = "or_default")]
    pub(super) secret_provider_class: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SecretRefVolume {
    pub(super) secret_ref: Option<NameRef>,
}

/// `null` is as good as absent.
fn or_default<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(deserializer: D) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// A list, which may be `null` and hold `null`.
fn without_nulls<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let list: Option<Vec<Option<T>>> = Option::deserialize(deserializer)?;
    Ok(list.into_iter().flatten().flatten().collect())
}

/// Texts by key. A key that is `null` is there: Go reads it as the empty text.
fn nulls_as_empty<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    let texts: Option<BTreeMap<String, Option<String>>> = Option::deserialize(deserializer)?;
    Ok(texts.into_iter().flatten().map(|(key, text)| (key, text.unwrap_or_default())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nulls_and_unknown_fields_are_as_good_as_absent() {
        let text = r#"{"metadata":{"annotations":null,"labels":{"a":"b"}},"spec":{"volumes":null,"containers":[
            {"name":"main","env":null,"envFrom":[{"configMapRef":null}],"image":"x","volumeMounts":[{"name":"v","subPath":null}]}]}}"#;
        let template: PodTemplate = serde_json::from_str(text).unwrap();
        assert_eq!(template.annotations().len(), 0);
        assert_eq!(template.spec.containers[0].name, "main");
        for empty in ["null", "{}", r#"{"metadata":null,"spec":null}"#] {
            let template: Option<PodTemplate> = serde_json::from_str(empty).unwrap();
            assert_eq!(template.unwrap_or_default().spec.containers.len(), 0, "{empty}");
        }
    }

    #[test]
    fn a_null_inside_a_list_or_map_breaks_nothing_that_stands_beside_it() {
        let text = r#"{"metadata":{"annotations":{"a":null,"b":"c"}},"spec":{"containers":[null,{"name":"main",
            "env":[null,{"name":"A","valueFrom":null}],"envFrom":[null],"volumeMounts":[null]}],
            "volumes":[null,{"name":"v","configMap":{"name":"app","items":[null,{"key":"a","path":null}]}},
            {"name":"w","projected":{"sources":[null,{"secret":{"name":null}}]},"emptyDir":{}}]}}"#;
        let template: PodTemplate = serde_json::from_str(text).unwrap();
        let annotations: Vec<_> = template.annotations().iter().map(|(key, value)| (&**key, &**value)).collect();
        assert_eq!(annotations, [("a", ""), ("b", "c")], "a key that is null is there, as it is for Go");
        let main = template.spec.containers.last().unwrap();
        assert_eq!((main.name.as_str(), main.env.len(), main.env_from.len()), ("main", 1, 0));
        let volume = template.spec.volumes.first().unwrap();
        assert_eq!(volume.config_map.as_ref().unwrap().items[0].key, "a");
    }

    #[test]
    fn a_template_of_another_shape_is_an_error() {
        for text in [r#"{"spec":{"containers":"x"}}"#, r#"{"metadata":{"annotations":{"a":1}}}"#, "[]x", "{"] {
            assert!(serde_json::from_str::<PodTemplate>(text).is_err(), "{text}");
        }
    }
}
