//! Plain requests to the API server, for objects of whatever kind.
//!
//! Left out: what is in them.

use anyhow::{Context, Result};
use http::Request;
use kube::Client;
use serde_json::Value;

/// The content type of an object.
pub const JSON: &str = "application/json";
/// The content type of a change, as `kubectl patch --type=merge` sends it.
pub const MERGE_PATCH: &str = "application/merge-patch+json";

/// Sends a body to a path of the API server, and gives back its answer.
pub async fn send(client: &Client, method: &str, path: &str, content_type: &str, body: &Value) -> Result<Value> {
    let request = Request::builder().method(method).uri(path).header("content-type", content_type);
    let request = request.body(body.to_string().into_bytes())?;
    client.request(request).await.with_context(|| format!("{method} {path}"))
}
