//! The stand-in as a client meets it.

mod answers;
mod faults;
mod google_chat;
mod network;

use std::time::Duration;

use serde_json::{Value, json};

use super::*;

/// More than anything here takes.
const SOON: Duration = Duration::from_secs(20);

/// A client that meets nothing but the stand-in, however the machine is set up.
fn client() -> reqwest::Client {
    builder().build().unwrap()
}

fn builder() -> reqwest::ClientBuilder {
    // Fails when another test was first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().redirect(reqwest::redirect::Policy::none()).timeout(SOON)
}

/// A payload that the service has nothing against.
fn good(service: Service) -> Value {
    match service {
        Service::Slack | Service::GoogleChat => json!({"text": "Reloaded"}),
        Service::Teams => json!({"type": "message", "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "content": {"type": "AdaptiveCard", "version": "1.4", "body": [{"type": "TextBlock", "text": "Reloaded"}]},
        }]}),
        Service::Webhook => json!({"specversion": "1.0", "id": "1", "source": "urn:a", "type": "a"}),
    }
}

fn content_type(service: Service) -> &'static str {
    match service {
        Service::Webhook => "application/cloudevents+json",
        Service::Slack | Service::GoogleChat | Service::Teams => "application/json; charset=UTF-8",
    }
}

/// Status and body of the answer.
async fn post_to(url: &str, service: Service, body: &Value) -> reqwest::Result<(u16, String)> {
    post_with(&client(), url, service, body).await
}

async fn post_with(
    client: &reqwest::Client,
    url: &str,
    service: Service,
    body: &Value,
) -> reqwest::Result<(u16, String)> {
    let request = client.post(url).header("content-type", content_type(service)).body(body.to_string());
    let answer = request.send().await?;
    Ok((answer.status().as_u16(), answer.text().await?))
}

async fn post(double: &ChatDouble, service: Service, channel: &str, body: &Value) -> reqwest::Result<(u16, String)> {
    post_to(&double.webhook_url(service, channel), service, body).await
}

/// The rules that the last request broke.
fn last_broken(double: &ChatDouble) -> Vec<&'static str> {
    double.requests().last().unwrap().violations.iter().map(|violation| violation.rule).collect()
}
