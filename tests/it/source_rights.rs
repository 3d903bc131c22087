//! The rights of the source's ServiceAccount: what Knative's controller asks the API server for before it starts a source, and
//! nothing beyond.

use confroll_stack::object::{JSON, send};
use confroll_stack::{ControlPlane, ControlPlaneOptions, Parts};
use serde_json::{Value, json};

use crate::manifests::{Overlay, Run, apply, named};

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/// What the controller asks for, of each resource in each namespace.
const NEEDED: [&str; 3] = ["get", "list", "watch"];
const NOT_NEEDED: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];

struct Asker {
    client: kube::Client,
    user: String,
}

impl Asker {
    async fn may(&self, verb: &str, group: &str, resource: &str, namespace: &str) -> bool {
        let attributes = json!({ "namespace": namespace, "verb": verb, "group": group, "resource": resource });
        let review = json!({
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "spec": { "resourceAttributes": attributes, "user": self.user },
        });
        let answer = send(&self.client, "POST", REVIEWS, JSON, &review).await.unwrap();
        answer["status"]["allowed"] == true
    }
}

/// Group and plural of what a source tells of, as the controller guesses them.
fn resources(source: &Value) -> Vec<(String, String)> {
    let guessed = |resource: &Value| {
        let group = resource["apiVersion"].as_str().unwrap().split_once('/').map_or("", |(group, _)| group);
        let kind = resource["kind"].as_str().unwrap().to_lowercase();
        let end = if kind.ends_with('s') { "es" } else { "s" };
        (group.to_owned(), kind + end)
    };
    source["spec"]["resources"].as_array().unwrap().iter().map(guessed).collect()
}

/// Installs the rights of a variant, and compares them with its source, which sees `shop`, and other namespaces or not.
async fn check(components: &[&str], sees_others: bool) {
    let parts = Parts::build().unwrap();
    let options = ControlPlaneOptions { controllers: false, ..ControlPlaneOptions::default() };
    let control_plane = ControlPlane::start(&parts, options).await.unwrap();
    let client = control_plane.client().await.unwrap();
    for name in ["confroll", "shop", "bank"] {
        send(&client, "POST", "/api/v1/namespaces", JSON, &json!({ "metadata": { "name": name } })).await.unwrap();
    }
    let objects = Overlay::new(&format!("source-{}", components.join("-")), "eventing", components).build();
    let are_rights = |object: &&Value| object["apiVersion"] == "rbac.authorization.k8s.io/v1";
    let rights: Vec<Value> = objects.iter().filter(are_rights).cloned().collect();
    apply(&client, &rights, Run::Real).await;
    let source = named(&objects, "ApiServerSource", "confroll");
    let account = source["spec"]["serviceAccountName"].as_str().unwrap();
    let namespace = named(&objects, "ServiceAccount", account)["metadata"]["namespace"].as_str().unwrap();
    let asker = Asker { client, user: format!("system:serviceaccount:{namespace}:{account}") };
    let resources = resources(source);
    assert!(resources.len() > 1);
    for (group, resource) in &resources {
        for verb in NEEDED {
            assert!(asker.may(verb, group, resource, "shop").await, "{components:?}: {verb} {resource}");
            assert_eq!(
                asker.may(verb, group, resource, "bank").await,
                sees_others,
                "{components:?}: {verb} {resource}"
            );
        }
        for verb in NOT_NEEDED {
            assert!(!asker.may(verb, group, resource, "shop").await, "{components:?}: {verb} {resource}");
        }
    }
    assert!(!asker.may("get", "apps", "deployments", "shop").await);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_source_may_do_what_knative_checks_and_nothing_else() {
    tokio::join!(check(&[], true), check(&["csi"], true), check(&["namespaced"], false));
}
