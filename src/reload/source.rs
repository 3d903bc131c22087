//! What a workload takes its configuration from: ConfigMaps, Secrets and SecretProviderClasses, by reference.
//!
//! Invariant: a [`SourceRef`] holds names that Kubernetes itself would accept, so that one can be put into a URL as
//! it is. It belongs to one namespace.
//! Left out: the content of a source (content.rs) and who uses it (references.rs).

use std::fmt;

use serde::{Deserialize, Serialize};

use super::qualified_name::{is_dns_label, is_subdomain};

/// The API group of the Secrets Store CSI driver.
pub const SECRETS_STORE: &str = "secrets-store.csi.x-k8s.io";
/// That group, with the version that is read.
pub const SECRETS_STORE_V1: &str = "secrets-store.csi.x-k8s.io/v1";

/// The kinds of object that Confroll watches for changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum SourceKind {
    /// A ConfigMap (core/v1).
    ConfigMap,
    /// A Secret (core/v1).
    Secret,
    /// A SecretProviderClass of the Secrets Store CSI driver, through the statuses of the pods that mount it
    /// (pod_status.rs).
    SecretProviderClass,
}

impl SourceKind {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [Self; 3] = [Self::ConfigMap, Self::Secret, Self::SecretProviderClass];

    /// The kind as Kubernetes spells it: `ConfigMap`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
            Self::SecretProviderClass => "SecretProviderClass",
        }
    }

    /// The name in a URL: `configmaps`.
    #[must_use]
    pub const fn plural(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Secret => "secrets",
            Self::SecretProviderClass => "secretproviderclasses",
        }
    }

    /// The kind in upper case, as the peer writes it in `last-reloaded-from`.
    #[must_use]
    pub const fn upper_case(self) -> &'static str {
        match self {
            Self::ConfigMap => "CONFIGMAP",
            Self::Secret => "SECRET",
            Self::SecretProviderClass => "SECRETPROVIDERCLASS",
        }
    }

    /// The API group; empty for the core group.
    #[must_use]
    pub const fn group(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::Secret => "",
            Self::SecretProviderClass => SECRETS_STORE,
        }
    }

    /// `v1` for the core group.
    #[must_use]
    pub const fn api_version(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::Secret => "v1",
            Self::SecretProviderClass => SECRETS_STORE_V1,
        }
    }

    /// The path of the API group and version.
    #[must_use]
    pub const fn root(self) -> &'static str {
        match self {
            Self::ConfigMap | Self::Secret => "/api/v1",
            Self::SecretProviderClass => "/apis/secrets-store.csi.x-k8s.io/v1",
        }
    }

    /// The kind that an `apiVersion` and `kind` name, if it is one of ours.
    #[must_use]
    pub fn from_api(api_version: &str, kind: &str) -> Option<Self> {
        Self::from_name(kind).filter(|known| known.api_version() == api_version)
    }

    fn from_name(kind: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == kind)
    }
}

impl fmt::Display for SourceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A name that is none of Kubernetes' own. It is not shown: what stands in its place may be anything, a value too.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} is no DNS name: lower-case letters, digits, '-'{dots}, at most {most} characters")]
pub struct NameError {
    what: &'static str,
    dots: &'static str,
    most: usize,
}

/// The name of a namespace: a DNS-1123 label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Namespace(String);

impl TryFrom<String> for Namespace {
    type Error = NameError;

    fn try_from(name: String) -> Result<Self, NameError> {
        Self::parse(&name)
    }
}

impl From<Namespace> for String {
    fn from(namespace: Namespace) -> Self {
        namespace.0
    }
}

impl Namespace {
    /// Reads a namespace's name: a DNS-1123 label of at most 63 characters.
    pub fn parse(name: &str) -> Result<Self, NameError> {
        if name.len() <= 63 && is_dns_label(name) {
            return Ok(Self(name.to_owned()));
        }
        Err(NameError { what: "the namespace", dots: "", most: 63 })
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A source by kind, namespace and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SourceRef {
    /// What it is.
    pub kind: SourceKind,
    /// Where it lives; a pod template only ever uses sources of its own namespace.
    pub namespace: Namespace,
    name: String,
}

impl SourceRef {
    /// Makes a reference; the name must be a DNS-1123 subdomain of at most 253 characters.
    pub fn new(kind: SourceKind, namespace: Namespace, name: &str) -> Result<Self, NameError> {
        check_source_name(name)?;
        Ok(Self { kind, namespace, name: name.to_owned() })
    }

    /// Reads what [`seen_from`](Self::seen_from) this namespace writes.
    #[must_use]
    pub fn from_display(namespace: &Namespace, text: &str) -> Option<Self> {
        let (kind, name) = text.split_once('/')?;
        let (namespace, name) = match name.split_once('/') {
            None => (namespace.clone(), name),
            Some((other, name)) => (Namespace::parse(other).ok().filter(|other| other != namespace)?, name),
        };
        Self::new(SourceKind::from_name(kind)?, namespace, name).ok()
    }

    /// What it is called in a namespace: `ConfigMap/app` in its own, `ConfigMap/bank/app` in another.
    #[must_use]
    pub fn seen_from(&self, namespace: &Namespace) -> String {
        if self.namespace == *namespace {
            return self.to_string();
        }
        format!("{}/{}/{}", self.kind, self.namespace, self.name)
    }

    /// The name as text.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// Checks that a source can be called so: a DNS-1123 subdomain of at most 253 characters.
pub fn check_source_name(name: &str) -> Result<(), NameError> {
    if is_subdomain(name) { Ok(()) } else { Err(NameError { what: "the name", dots: " and '.'", most: 253 }) }
}

/// `ConfigMap/app`: the namespace is left to the reader, who always has it.
impl fmt::Display for SourceRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.kind, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shop() -> Namespace {
        Namespace::parse("shop").unwrap()
    }

    #[test]
    fn names_that_could_leave_their_path_are_refused() {
        for name in ["../secrets/x", "", "a/b", "a%2Fb", "A", "-a", "a-", "a..b", ".a", "a b", "ä", &"a".repeat(254)] {
            assert!(SourceRef::new(SourceKind::Secret, shop(), name).is_err(), "{name}");
        }
        for name in ["..", "", "a.b", "a/b", "-", &"a".repeat(64)] {
            assert!(Namespace::parse(name).is_err(), "{name}");
        }
    }

    #[test]
    fn names_that_kubernetes_accepts_are_taken() {
        for name in ["a", "kube-root-ca.crt", "0", "a.b.c", &"a".repeat(253)] {
            let source = SourceRef::new(SourceKind::ConfigMap, shop(), name).unwrap();
            assert_eq!(source.to_string(), format!("ConfigMap/{name}"));
        }
    }

    #[test]
    fn a_source_of_another_namespace_is_called_by_it_and_read_back() {
        let bank = SourceRef::new(SourceKind::Secret, Namespace::parse("bank").unwrap(), "db").unwrap();
        assert_eq!(
            (bank.seen_from(&bank.namespace), bank.seen_from(&shop())),
            ("Secret/db".into(), "Secret/bank/db".into())
        );
        for home in [shop(), bank.namespace.clone()] {
            assert_eq!(SourceRef::from_display(&home, &bank.seen_from(&home)).as_ref(), Some(&bank));
        }
        for text in ["Secret/shop/db", "Secret/a/b/c", "Secret//db", "Secret/bank/", "Secret/..", "Secret", "/bank/db"]
        {
            assert_eq!(SourceRef::from_display(&shop(), text), None, "{text}");
        }
    }

    #[test]
    fn a_kind_is_ours_in_its_own_group_alone() {
        assert_eq!(SourceKind::from_api("v1", "Secret"), Some(SourceKind::Secret));
        assert_eq!(SourceKind::from_api("v2", "Secret"), None);
        assert_eq!(SourceKind::from_api("v1", "secret"), None);
        assert_eq!(SourceKind::from_api("", "Secret"), None);
        assert_eq!(SourceKind::from_api("api/v1", "Secret"), None);
        let class = SourceKind::SecretProviderClass;
        assert_eq!(SourceKind::from_api("secrets-store.csi.x-k8s.io/v1", class.as_str()), Some(class));
        for other in ["v1", "secrets-store.csi.x-k8s.io/v1alpha1", "x/v1", "csi.x-k8s.io/v1"] {
            assert_eq!(SourceKind::from_api(other, class.as_str()), None, "{other}");
        }
        let source = SourceRef::new(class, shop(), "vault").unwrap();
        assert_eq!(SourceRef::from_display(&shop(), &source.to_string()), Some(source));
    }
}
