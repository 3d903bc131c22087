//! What is asked of workloads: lists, reads, reads of the past, patches, and Jobs made and deleted.
//!
//! Invariants: a kind that the server does not have has no workloads; every write holds its own precondition, or makes a
//! name that can be made once.
//! Left out: what is written, and why.

use axum::body::Bytes;
use http::{Request, header};
use kube::client::Body;
use serde_json::{Value, json};

use super::cluster::{Cluster, JSON, METADATA, text};
use super::cluster_error::{Call, ClusterError};
use crate::reload::due::DUE;
use crate::reload::refusal::FIELD_MANAGER;
use crate::reload::rollout::Patch;
use crate::reload::source::Namespace;
use crate::reload::source_object::ShapeError;
use crate::reload::version::Version;
use crate::reload::workload::{Workload, WorkloadId};
use crate::reload::workload_kind::{Presence, WORKLOAD_KINDS, WorkloadKind};

impl Cluster {
    /// All workloads of a kind in a namespace. One that cannot be read is logged and left out.
    ///
    /// Whole objects, not metadata: an opt-in may stand on the pod template alone. The list is of a time after the call
    /// began: kube-apiserver takes it from its cache, which asks etcd at most every 100 ms how far it must be; so it
    /// takes 2 ms where no other list was asked for just before, and up to 100 ms otherwise.
    pub async fn workloads(
        &self,
        kind: &'static WorkloadKind,
        namespace: &Namespace,
    ) -> Result<Vec<Workload>, ClusterError> {
        let mut workloads = Vec::new();
        self.each_workload(kind, Some(namespace), |workload| workloads.push(workload)).await?;
        Ok(workloads)
    }

    /// All workloads of a kind, of one namespace or, without one, of all, page by page; each is given to `take`.
    pub async fn each_workload(
        &self,
        kind: &'static WorkloadKind,
        namespace: Option<&Namespace>,
        take: impl FnMut(Workload),
    ) -> Result<(), ClusterError> {
        self.list(kind, namespace, "", take).await
    }

    /// The same of those for which something will be due: of few, so it costs next to nothing.
    pub async fn each_waiting_workload(
        &self,
        kind: &'static WorkloadKind,
        namespace: Option<&Namespace>,
        take: impl FnMut(Workload),
    ) -> Result<(), ClusterError> {
        self.list(kind, namespace, &format!("?labelSelector={DUE}%3Dtrue"), take).await
    }

    async fn list(
        &self,
        kind: &'static WorkloadKind,
        namespace: Option<&Namespace>,
        query: &str,
        mut take: impl FnMut(Workload),
    ) -> Result<(), ClusterError> {
        let (call, collection) = match namespace {
            Some(namespace) => (Call::new("list", kind.plural, namespace), kind.collection_path(namespace.as_str())),
            None => (Call::everywhere("list", kind.plural), kind.cluster_path()),
        };
        if !self.is_served(kind).await? {
            return Ok(());
        }
        let mut by_reference = Vec::new();
        let take_page = |json: &str| {
            let page = Workload::read_page(kind, namespace, json, &self.rules)?;
            for error in page.unreadable {
                tracing::error!(%error, "a workload is left out");
            }
            for workload in page.workloads {
                if workload.terms.template_of.is_some() { by_reference.push(workload) } else { take(workload) }
            }
            Ok(page.next)
        };
        match self.pages(&call, &(collection + query), JSON, take_page).await {
            // Its CRD went away.
            Err(ClusterError::NotFound) if kind.presence == Presence::WhereInstalled => {
                self.served.forget(&kind.into());
            }
            done => done?,
        }
        for mut workload in by_reference {
            match self.take_template(&mut workload, None).await {
                Ok(()) => take(workload),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A workload as it is now; `None` if there is none.
    pub async fn workload(&self, id: &WorkloadId) -> Result<Option<Workload>, ClusterError> {
        let call = Call::new("get", id.kind.plural, &id.namespace);
        let json = self.one(&call, &workload_path(id), JSON).await?;
        let Some(json) = json else { return Ok(None) };
        let mut workload = Workload::read(id.kind, &id.namespace, text(&json)?, &self.rules)?;
        self.take_template(&mut workload, None).await?;
        Ok(Some(workload))
    }

    /// A workload as it was at a version of the cluster; `None` if there was none.
    pub async fn workload_at(&self, id: &WorkloadId, version: Version) -> Result<Option<Workload>, ClusterError> {
        let call = Call::past("list", id.kind.plural, &id.namespace);
        let collection = id.kind.collection_path(id.namespace.as_str());
        let json = self.one_at(&call, &collection, &id.name, version).await?;
        let Some(json) = json else { return Ok(None) };
        let mut workload = Workload::read(id.kind, &id.namespace, &json, &self.rules)?;
        self.take_template(&mut workload, Some(version)).await?;
        Ok(Some(workload))
    }

    /// Completes a workload whose pod template is another's (an Argo Rollout's `workloadRef`).
    async fn take_template(&self, workload: &mut Workload, at: Option<Version>) -> Result<(), ClusterError> {
        let Some(name) = workload.terms.template_of.clone() else { return Ok(()) };
        let kind = &WORKLOAD_KINDS[0];
        let collection = kind.collection_path(workload.id.namespace.as_str());
        let json = match at {
            None => {
                let call = Call::new("get", kind.plural, &workload.id.namespace);
                let json = self.one(&call, &format!("{collection}/{name}"), JSON).await?;
                json.map(|json| Ok::<_, ClusterError>(text(&json)?.to_owned())).transpose()?
            }
            Some(version) => {
                let call = Call::past("list", kind.plural, &workload.id.namespace);
                self.one_at(&call, &collection, &name, version).await?
            }
        };
        json.map_or(Ok(()), |json| Ok(workload.take_template(kind, &json)?))
    }

    /// Sends a patch. It must hold its own precondition.
    pub async fn patch(&self, id: &WorkloadId, patch: &Patch) -> Result<(), ClusterError> {
        let (content_type, body) = match patch {
            Patch::Merge(patch) => ("application/merge-patch+json", patch.to_string()),
            Patch::Operations(operations) => ("application/json-patch+json", json!(operations).to_string()),
        };
        let call = Call::new("patch", id.kind.plural, &id.namespace);
        self.write(&call, http::Method::PATCH, &workload_path(id), content_type, body).await
    }

    /// A workload with everything that is in it, as it is now; `None` if there is none.
    pub async fn whole_workload(&self, id: &WorkloadId) -> Result<Option<Value>, ClusterError> {
        let call = Call::new("get", id.kind.plural, &id.namespace);
        let json = self.one(&call, &workload_path(id), JSON).await?;
        let read = |json: Bytes| {
            serde_json::from_slice(&json).map_err(|error| ClusterError::from(ShapeError::new(id.to_string(), &error)))
        };
        json.map(read).transpose()
    }

    /// Creates an object. [`ClusterError::Conflict`] where there is one of its name.
    pub async fn create(
        &self,
        kind: &'static WorkloadKind,
        namespace: &Namespace,
        object: &Value,
    ) -> Result<(), ClusterError> {
        let call = Call::new("create", kind.plural, namespace);
        let path = kind.collection_path(namespace.as_str());
        self.write(&call, http::Method::POST, &path, JSON, object.to_string()).await
    }

    /// Creates an Event. One of its name is the same, told before.
    pub async fn create_event(&self, namespace: &Namespace, event: &Value) -> Result<(), ClusterError> {
        let call = Call::new("create", "events.events.k8s.io", namespace);
        let path = format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events");
        match self.write(&call, http::Method::POST, &path, JSON, event.to_string()).await {
            Ok(()) | Err(ClusterError::Conflict) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Deletes the workload of this uid and, where one is given, version, and what it owns. [`ClusterError::Conflict`]
    /// where it is another by then.
    pub async fn delete(&self, id: &WorkloadId, uid: &str, version: Option<Version>) -> Result<(), ClusterError> {
        let call = Call::new("delete", id.kind.plural, &id.namespace);
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background",
            "preconditions": { "uid": uid, "resourceVersion": version },
        });
        self.write(&call, http::Method::DELETE, &workload_path(id), JSON, options.to_string()).await
    }

    async fn write(
        &self,
        call: &Call,
        method: http::Method,
        path: &str,
        content_type: &str,
        body: String,
    ) -> Result<(), ClusterError> {
        let _slot = self.patches.acquire().await.map_err(|_| ClusterError::Stopping)?;
        let request = Request::builder()
            .method(method)
            .uri(format!("{path}?fieldManager={FIELD_MANAGER}"))
            .header(header::CONTENT_TYPE, content_type)
            .header(header::ACCEPT, METADATA)
            .body(Body::from(body.into_bytes()));
        self.send(call, request.map_err(|_| ClusterError::BadPath)?).await.map(|_| ())
    }
}

fn workload_path(id: &WorkloadId) -> String {
    format!("{}/{}", id.kind.collection_path(id.namespace.as_str()), id.name)
}
