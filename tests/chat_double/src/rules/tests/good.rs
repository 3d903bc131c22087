//! A payload of each service with every part that a notification may use, and nothing wrong.

use super::*;

pub(super) fn good(service: Service) -> Value {
    match service {
        Service::Slack => slack(),
        Service::GoogleChat => google_chat(),
        Service::Teams => teams(),
        Service::Webhook => webhook(),
    }
}

fn slack() -> Value {
    let when = "<!date^1790000000^{date_short_pretty} {time_secs}|2026-09-21T14:13:20Z> \
                · <https://example.test/?a=1&amp;b=2|details>";
    json!({
        "text": "Reloaded Deployment shop/api: a &lt;b&gt; &amp; c",
        "unfurl_links": false,
        "unfurl_media": false,
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": "Reload <failed> & more", "emoji": true}},
            {
                "type": "section",
                "block_id": "one",
                "text": {"type": "mrkdwn", "verbatim": true, "text": "*Reloaded* `Deployment/api` in `shop`"},
                "fields": [{"type": "mrkdwn", "text": "*Cluster*\nprod-eu1"}],
            },
            {"type": "section", "text": {"type": "plain_text", "text": "denied: <!channel>"}},
            {"type": "divider", "block_id": "two"},
            {"type": "context", "elements": [{"type": "mrkdwn", "text": when}]},
            {"type": "rich_text", "elements": [
                {"type": "rich_text_section", "elements": [
                    {"type": "text", "text": "a", "style": {"bold": true}},
                    {"type": "text", "text": " "},
                ]},
            ]},
        ],
    })
}

fn google_chat() -> Value {
    json!({
        "text": "Reloaded Deployment shop/api",
        "fallbackText": "Reloaded Deployment shop/api",
        "thread": {"threadKey": "reload/prod"},
        "cardsV2": [{"cardId": "reload", "card": {
            "header": {"title": "2 reloads", "subtitle": "prod-eu1"},
            "sections": [{
                "header": "<b>ConfigMap</b> shop/api-config",
                "collapsible": true,
                "uncollapsibleWidgetsCount": 1,
                "widgets": [
                    {"decoratedText": {"topLabel": "Changed", "text": "a &lt;b&gt; &amp; <i>c</i>", "wrapText": true}},
                    {"textParagraph": {"text": "<font color=\"#ff0000\">no</font><br><a href=\"https://a.test\">b</a>"}},
                    {"buttonList": {"buttons": [
                        {"text": "Details", "onClick": {"openLink": {"url": "https://example.test/a?b=1&c=2"}}},
                    ]}},
                ],
            }],
        }}],
    })
}

fn teams() -> Value {
    json!({
        "type": "message",
        "attachments": [{
            "contentType": "application/vnd.microsoft.card.adaptive",
            "contentUrl": null,
            "content": {
                "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                "type": "AdaptiveCard",
                "version": "1.4",
                "msteams": {"width": "Full"},
                "body": [
                    {"type": "TextBlock", "text": "Reload failed", "color": "attention", "wrap": true},
                    {"type": "FactSet", "facts": [{"title": "Cluster", "value": "prod-eu1"}]},
                    {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": "[a](b)", "color": "good"}]},
                    {"type": "Container", "items": [{"type": "TextBlock", "text": "\\[a](b)"}]},
                    {"type": "ColumnSet", "columns": [
                        {"type": "Column", "width": "auto", "items": [{"type": "TextBlock", "text": "[a] (b)"}]},
                    ]},
                ],
                "actions": [{"type": "Action.OpenUrl", "title": "Details", "url": "https://example.test/"}],
            },
        }],
    })
}

fn webhook() -> Value {
    json!({
        "specversion": "1.0",
        "id": "a",
        "source": "urn:confroll",
        "type": "io.confroll.reloaded",
        "time": "2026-09-21T14:13:20Z",
        "datacontenttype": "application/json",
        "severity": "info",
        "data": {"outcome": "reloaded"},
    })
}
