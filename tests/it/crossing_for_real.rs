//! Workloads that name sources of other namespaces, on a real API server: what finds them, and the rights that it needs.

use confroll_stack::{User, rights};
use serde_json::{Value, json};

use crate::scoping_for_real::{Cluster, told, updated};
use crate::shop::workload;
use crate::support::ChangeEvent;

const ALLOWED: (&str, &str) = ("CONFROLL_CROSS_NAMESPACE", "true");

impl Cluster {
    /// A Deployment of the shop that uses nothing and names a ConfigMap of the bank.
    async fn create_naming(&self, name: &str, entry: &str, label: Option<&str>) {
        let mut object = workload(name, &json!({}));
        object["metadata"] = json!({ "name": name, "annotations": { "confroll.dev/extra-configmaps": entry } });
        if let Some(value) = label {
            object["metadata"]["labels"] = json!({ "confroll.dev/cross-namespace": value });
        }
        self.create("/apis/apps/v1/namespaces/shop/deployments", object).await;
    }

    /// What was rolled out of the Deployments that name one, as their templates say.
    async fn rolled_out(&self) -> [Option<String>; 3] {
        let mut rolled_out = [None, None, None];
        for (name, hash) in ["found", "unlabelled", "of-another"].into_iter().zip(&mut rolled_out) {
            let object = self.deployment("shop", name).await;
            let annotations = &object["spec"]["template"]["metadata"]["annotations"];
            let from = annotations["reloader.stakater.com/last-reloaded-from"].as_str().unwrap_or("{}");
            let from: Value = serde_json::from_str(from).unwrap();
            *hash = from["hash"].as_str().map(|hash| format!("{hash} {}", from["observedAt"]));
        }
        rolled_out
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_label_finds_who_names_a_source_of_another_namespace_with_rights_in_all_of_them() {
    let cluster = Cluster::start().await;
    cluster.create_naming("found", "bank/app, broken", Some("true")).await;
    cluster.create_naming("of-another", "bank/other", Some("true")).await;
    for namespace in ["shop", "bank"] {
        cluster.allow_in(namespace, rights()).await;
    }
    let function = cluster.function(&[ALLOWED, ("CONFROLL_LOG_LEVEL", "debug")]).await;
    let [shop, bank] = cluster.generations().await;
    cluster.edit("bank", "2").await;
    assert_eq!(told(&function, &updated("bank")).await, 503);
    let log = function.log();
    assert!(log.contains(r#"allow the verb "list" on "deployments" in all namespaces"#), "{log}");
    assert_eq!(cluster.generations().await, [shop, bank + 1], "its own namespace does not need them");
    cluster.create_naming("unlabelled", "bank/app", None).await;
    assert_eq!(cluster.rolled_out().await, [None, None, None]);

    cluster.control_plane.allow(User::Confroll, &rights()).await.unwrap();
    let mark = cluster.control_plane.audit().mark().await.unwrap();
    assert_eq!(told(&function, &updated("bank")).await, 202, "{}", function.log());
    // The other one was made after the edit.
    assert!(matches!(cluster.rolled_out().await, [Some(_), None, None]));
    assert_eq!(cluster.generations().await, [shop, bank + 1]);
    let requests = cluster.control_plane.audit().requests_since(mark, User::Confroll).await.unwrap();
    let looks = requests.iter().filter(|request| request.uri.contains("labelSelector")).count();
    assert_eq!(looks, 5, "one for each kind that is there: {requests:?}");
    let log = function.log();
    for problem in [r#""broken" is not written as namespace/name"#, "has no label confroll.dev/cross-namespace"] {
        assert!(log.contains(problem) || log.contains(&problem.replace('"', "\\\"")), "{problem}: {log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_acts_for_workloads_without_the_label_and_says_which_is_missing() {
    let cluster = Cluster::start().await;
    cluster.control_plane.allow(User::Confroll, &rights()).await.unwrap();
    for name in ["found", "unlabelled"] {
        cluster.create_naming(name, "bank/app", None).await;
    }
    cluster.create_naming("of-another", "bank/other", Some("true")).await;
    let off = cluster.function(&[]).await;
    let on = cluster.function(&[ALLOWED]).await;
    assert_eq!(told(&on, &ChangeEvent::ping("1")).await, 202, "{}", on.log());
    assert_eq!(cluster.rolled_out().await, [None, None, None]);
    cluster.edit("bank", "2").await;
    assert_eq!(told(&off, &ChangeEvent::ping("2")).await, 202, "{}", off.log());
    assert_eq!(cluster.rolled_out().await, [None, None, None]);
    assert_eq!(told(&on, &ChangeEvent::ping("3")).await, 202, "{}", on.log());
    let once = cluster.rolled_out().await;
    assert!(matches!(once, [Some(_), Some(_), None]), "{once:?}");
    assert_eq!(told(&on, &ChangeEvent::ping("4")).await, 202, "{}", on.log());
    assert_eq!(cluster.rolled_out().await, once);
    assert!(off.log().contains("confroll.dev/extra-configmaps has no effect, as CONFROLL_CROSS_NAMESPACE is not true"));
    assert!(on.log().contains("has no label confroll.dev/cross-namespace"), "{}", on.log());
}
