//! Messages as a chat service would show them: one HTML page to judge by eye.
//!
//! Invariant: nothing of a payload becomes markup but through [`Html`], which escapes it; the page needs no script and
//! nothing from elsewhere. What is not known is shown in red, never dropped.
//! Left out: what a service refuses (such a message is not shown at all), a reader's time zone (all times are UTC),
//! and names behind ids (a mention is shown with its id).

mod adaptive_card;
mod card_html;
mod chat_card;
mod inline;
mod markdown;
mod markup;
mod mrkdwn;
mod slack_blocks;
mod slack_date;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::service::Service;
use crate::shown::ShownMessage;
use markup::Html;

const STYLE: &str = include_str!("page/style.css");
const HEADING: &str = "Messages, as a chat would show them";
/// No script can run and nothing is loaded, even if something got past the escaping.
const POLICY: &str =
    r#"<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"#;
const REFRESH: &str = r#"<meta http-equiv="refresh" content="5">"#;

/// All messages, by service and channel, on a page that loads itself again.
#[must_use]
pub fn html(messages: &[ShownMessage]) -> String {
    let services: Html = Service::ALL
        .into_iter()
        .filter(|service| messages.iter().any(|message| message.service == *service))
        .map(|service| Html::element("h2", "", Html::text(title(service))).and(channels(service, messages)))
        .collect();
    let body = Html::element("h1", "", Html::text(HEADING)).and(or_nothing(services));
    document(REFRESH, &Html::element("main", "all", body))
}

/// The messages of one service alone, without a heading, to be made a picture of.
#[must_use]
pub fn html_of(service: Service, messages: &[ShownMessage]) -> String {
    document("", &Html::element("main", "one", or_nothing(channels(service, messages))))
}

fn document(refresh: &str, body: &Html) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">{POLICY}{refresh}\
         <title>{HEADING}</title><style>\n{STYLE}</style></head>\n<body>{body}</body></html>\n"
    )
}

fn or_nothing(html: Html) -> Html {
    if html.is_empty() { Html::element("p", "none", Html::text("No messages yet.")) } else { html }
}

/// A column for each channel of a service, by name.
fn channels(service: Service, messages: &[ShownMessage]) -> Html {
    let mut channels: BTreeMap<&str, Vec<&ShownMessage>> = BTreeMap::new();
    for message in messages.iter().filter(|message| message.service == service) {
        channels.entry(&message.channel).or_default().push(message);
    }
    let column = |(name, messages): (&str, Vec<&ShownMessage>)| {
        let sign = if service == Service::Slack { "# " } else { "" };
        let name = Html::element("h3", "", Html::text(&format!("{sign}{name}")));
        Html::element("section", service.as_str(), name.and(messages.into_iter().map(message).collect()))
    };
    let columns: Html = channels.into_iter().map(column).collect();
    if columns.is_empty() { columns } else { Html::element("div", "channels", columns) }
}

/// A message with its sender and time beside it.
fn message(message: &ShownMessage) -> Html {
    let chip = match message.service {
        Service::Slack => Html::element("span", "chip", Html::text("APP")),
        Service::GoogleChat => Html::element("span", "chip", Html::text("App")),
        Service::Teams | Service::Webhook => Html::default(),
    };
    let time = message.at.strftime("%-I:%M %p").to_string();
    let head =
        Html::element("b", "", Html::text("Confroll")).and(chip).and(Html::element("time", "", Html::text(&time)));
    let said = Html::element("div", "head", head).and(content(message.service, &message.payload));
    let avatar = Html::element("span", "avatar", Html::text("C"));
    Html::element("article", "", avatar.and(Html::element("div", "said", said)))
}

fn content(service: Service, payload: &Value) -> Html {
    let shown = match service {
        Service::Slack => slack_blocks::message(payload),
        Service::GoogleChat => chat_card::message(payload),
        Service::Teams => adaptive_card::message(payload),
        Service::Webhook => Html::element("pre", "json", Html::text(&format!("{payload:#}"))),
    };
    if shown.is_empty() { Html::unknown("message", "nothing in it is shown") } else { shown }
}

fn title(service: Service) -> &'static str {
    match service {
        Service::Slack => "Slack",
        Service::GoogleChat => "Google Chat",
        Service::Teams => "Microsoft Teams",
        Service::Webhook => "Webhook",
    }
}
