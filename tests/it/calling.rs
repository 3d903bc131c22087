//! Who may send events, with tokens that a real API server makes out and judges.

use std::path::Path;

use confroll_stack::object::{JSON, send};
use confroll_stack::{ControlPlane, ControlPlaneOptions, Function, FunctionOptions, Parts, User, rights};
use serde_json::json;

use crate::sink::http;
use crate::support::ChangeEvent;

const AUDIENCE: &str = "confroll";

/// A token of a service account of the namespace `default`.
async fn token(control_plane: &ControlPlane, account: &str, audience: &str) -> String {
    let client = control_plane.client().await.unwrap();
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    let _ = send(&client, "POST", accounts, JSON, &json!({ "metadata": { "name": account } })).await;
    let request = json!({
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenRequest",
        "spec": { "audiences": [audience], "expirationSeconds": 600 },
    });
    let made = send(&client, "POST", &format!("{accounts}/{account}/token"), JSON, &request).await.unwrap();
    made["status"]["token"].as_str().unwrap().to_owned()
}

/// Sends an event that is nothing to us, and gives back the answer.
async fn told(function: &Function, authorization: Option<&str>) -> (u16, String) {
    let event = ChangeEvent { event_type: "boson.fn".to_owned(), ..ChangeEvent::update("ConfigMap", "app") };
    let mut request = event.request(&http(), function.url());
    if let Some(authorization) = authorization {
        request = request.header("authorization", authorization);
    }
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_listed_caller_with_a_token_for_us_is_let_in_where_that_is_set() {
    let parts = Parts::build().unwrap();
    let options = ControlPlaneOptions { controllers: false, ..ControlPlaneOptions::default() };
    let control_plane = ControlPlane::start(&parts, options).await.unwrap();
    let mut rules = rights();
    let review = json!({ "apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"] });
    rules.as_array_mut().unwrap().push(review);
    control_plane.allow(User::Confroll, &rules).await.unwrap();
    let env = vec![
        ("CONFROLL_AUDIENCE", AUDIENCE.to_owned()),
        ("CONFROLL_CALLERS", "system:serviceaccount:default:broker, system:serviceaccount:default:source".to_owned()),
        ("CONFROLL_LOG_LEVEL", "trace".to_owned()),
    ];
    let kubeconfig = control_plane.kubeconfig_for(User::Confroll);
    let options = FunctionOptions { kubeconfig, sink: None, env };
    let function = Function::start(Path::new(env!("CARGO_BIN_EXE_confroll")), options).await.unwrap();

    let listed = token(&control_plane, "source", AUDIENCE).await;
    let unlisted = token(&control_plane, "stranger", AUDIENCE).await;
    let for_others = token(&control_plane, "source", "somebody-else").await;
    let rows = [
        (None, 401, "missing"),
        (Some("Basic hunter2".to_owned()), 401, "missing"),
        (Some("Bearer hunter2".to_owned()), 401, "not valid here"),
        (Some(format!("Bearer {for_others}")), 401, "not valid here"),
        (Some(format!("Bearer {unlisted}")), 403, "default:stranger is not on the list"),
        (Some(format!("Bearer {listed}")), 204, ""),
    ];
    for (authorization, status, says) in rows {
        let (answered, text) = told(&function, authorization.as_deref()).await;
        assert_eq!(answered, status, "{authorization:?}: {text}");
        assert!(text.contains(says), "{text}");
    }
    // What was judged once is not asked for again.
    let mark = control_plane.audit().mark().await.unwrap();
    assert_eq!(told(&function, Some(&format!("Bearer {listed}"))).await.0, 204);
    assert!(control_plane.audit().requests_since(mark, User::Confroll).await.unwrap().is_empty());
    let log = function.log();
    assert!(!log.contains("hunter2") && [&listed, &unlisted, &for_others].iter().all(|token| !log.contains(*token)));
}
