//! Objects that a control plane is given from manifests, CRDs above all.
//!
//! Invariant: a CRD is established when it is told to be installed. What is there already is left as it is.
//! Left out: taking anything away again.

use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::{Api, ResourceExt, api::PostParams, runtime::wait};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::timeout;

use crate::control_plane::ControlPlane;

const LIMIT: Duration = Duration::from_mins(1);

impl ControlPlane {
    /// Installs the CRDs of a manifest and waits until their objects can be made.
    pub async fn install_crds(&self, manifest: &str) -> Result<()> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client().await?);
        for mut object in documents(manifest)? {
            // No webhook runs that could convert.
            if let Some(spec) = object["spec"].as_object_mut() {
                spec.remove("conversion");
            }
            let name = create(&api, object).await?.name_any();
            let waiting = wait::await_condition(api.clone(), &name, wait::conditions::is_crd_established());
            timeout(LIMIT, waiting).await.with_context(|| format!("CRD {name} is not established"))??;
        }
        Ok(())
    }
}

pub(crate) async fn create<K>(api: &Api<K>, object: Value) -> Result<K>
where
    K: DeserializeOwned + serde::Serialize + Clone + std::fmt::Debug,
{
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let object = serde_json::from_value(object).with_context(|| format!("{name} is not what its type says"))?;
    match api.create(&PostParams::default(), &object).await {
        // Made before in the same control plane.
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(api.get(&name).await?),
        outcome => outcome.with_context(|| format!("{name} cannot be created")),
    }
}

pub(crate) fn documents(yaml: &str) -> Result<Vec<Value>> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(yaml).context("A manifest is no YAML")?;
    Ok(documents.into_iter().filter(Value::is_object).collect())
}
