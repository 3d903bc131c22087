//! Every kind of message in every chat, without a cluster: to be looked at, and to be kept as pictures.

use std::path::Path;

use anyhow::{Context, Result, bail};
use confroll::announce::destination::WebhookUrl;
use confroll::announce::notice::Notice;
use confroll::announce::payload::chat_message;
use confroll::announce::sink_kind::SinkKind;
use confroll::announce::style::Style;
use confroll::edge::chat_webhook::ChatWebhook;
use confroll::edge::sink_settings::Network;
use confroll_chat_double::{ChatDouble, Service, page};

use crate::chats::CHATS;
use crate::sample_events::kinds_of_messages;

/// Posts every kind of message to the stand-in for every chat.
pub(crate) async fn show() -> Result<ChatDouble> {
    let double = ChatDouble::start().await?;
    // An error means that it is there already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    for service in CHATS {
        let kind = kind_of(service)?;
        let webhook = ChatWebhook::new(kind, &Network::default())?;
        for (channel, events) in kinds_of_messages() {
            let notices: Vec<_> = events.iter().filter_map(|event| Notice::from_event(event).ok().flatten()).collect();
            let message = chat_message(kind, &notices, &Style::default()).context("there is nothing to say")?;
            let url = WebhookUrl::parse(kind, &double.webhook_url(service, channel))?;
            let delivery = webhook.deliver(&url, &message).await;
            if let Some(word) = delivery.verdict.word() {
                bail!("{service} did not take the {channel}: {}", word.word);
            }
        }
    }
    Ok(double)
}

/// Writes a page for each message into a folder: `slack-reload.html` and so on.
pub(crate) fn save(double: &ChatDouble, folder: &Path) -> Result<()> {
    for message in double.all_messages() {
        let file = folder.join(format!("{}-{}.html", message.service, message.channel));
        let page = page::html_of(message.service, std::slice::from_ref(&message));
        std::fs::write(&file, page).with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(())
}

fn kind_of(service: Service) -> Result<SinkKind> {
    let kind = SinkKind::OFFERED.into_iter().find(|kind| kind.as_str() == service.as_str());
    kind.with_context(|| format!("no sink speaks {service}"))
}
