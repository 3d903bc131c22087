//! What the page promises, one row per thing that is shown. Left out: how it looks, which is judged by eye.

use serde_json::{Value, json};

use super::{html, html_of};
use crate::service::Service;
use crate::shown::ShownMessage;

fn shown(service: Service, payload: Value) -> ShownMessage {
    ShownMessage { service, channel: "ops".to_owned(), at: jiff::Timestamp::UNIX_EPOCH, payload }
}

/// The body of a page with one message.
fn page(service: Service, payload: Value) -> String {
    let page = html_of(service, &[shown(service, payload)]);
    page.split_once("<body>").unwrap().1.to_owned()
}

fn mrkdwn(text: &str) -> String {
    let text = json!({ "type": "mrkdwn", "verbatim": true, "text": text });
    page(Service::Slack, json!({ "text": "t", "blocks": [{ "type": "section", "text": text }] }))
}

fn chat_text(text: &str) -> String {
    page(Service::GoogleChat, json!({ "text": text }))
}

fn card_text(text: &str) -> String {
    let widget = json!({ "textParagraph": { "text": text } });
    page(Service::GoogleChat, json!({ "cardsV2": [{ "card": { "sections": [{ "widgets": [widget] }] } }] }))
}

fn adaptive(element: &Value) -> String {
    let content = json!({ "type": "AdaptiveCard", "version": "1.4", "body": [element] });
    let attachment = json!({ "contentType": "application/vnd.microsoft.card.adaptive", "content": content });
    page(Service::Teams, json!({ "type": "message", "attachments": [attachment] }))
}

fn markdown(text: &str) -> String {
    adaptive(&json!({ "type": "TextBlock", "wrap": true, "text": text }))
}

/// A payload with `text` wherever a string can stand.
fn filled(shape: &Value, text: &str) -> Value {
    match shape {
        Value::String(word) if word == "TEXT" => json!(text),
        Value::Array(items) => items.iter().map(|item| filled(item, text)).collect(),
        Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), filled(value, text))).collect(),
        other => other.clone(),
    }
}

/// Whether what follows a `<` is a tag that the page writes, with attributes that it writes.
fn is_ours(rest: &str) -> bool {
    let tags =
        "a article b blockquote body br code div h1 h2 h3 html i main mark p pre s section span table td time tr";
    let Some((tag, _)) = rest.split_once('>') else { return false };
    let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    let is_known = |attribute: &str| ["class=", "href=", "rel=", "style=", ""].contains(&attribute.trim());
    tags.split(' ').any(|known| known == name.trim_start_matches('/')) && attributes.split('"').step_by(2).all(is_known)
}

/// Payloads with `TEXT` in all places that are shown.
fn shapes() -> Vec<(Service, Value)> {
    let plain = json!({ "type": "plain_text", "text": "TEXT" });
    let marked = json!({ "type": "mrkdwn", "text": "TEXT" });
    let adaptive = |body: Value| {
        json!({ "attachments": [{ "contentType": "application/vnd.microsoft.card.adaptive", "content": {
            "body": body, "actions": [{ "type": "Action.OpenUrl", "title": "TEXT", "url": "TEXT" }, { "type": "TEXT" }]
        } }] })
    };
    let widgets = json!([
        { "decoratedText": { "topLabel": "TEXT", "text": "TEXT", "bottomLabel": "TEXT" } },
        { "textParagraph": { "text": "TEXT" } },
        { "buttonList": { "buttons": [{ "text": "TEXT", "onClick": { "openLink": { "url": "TEXT" } } }] } },
    ]);
    vec![
        (Service::Slack, json!({ "text": "TEXT" })),
        (Service::Slack, json!({ "blocks": [{ "type": "header", "text": plain }, { "type": "TEXT" }] })),
        (Service::Slack, json!({ "blocks": [{ "type": "section", "text": marked, "fields": [marked, plain] }] })),
        (Service::Slack, json!({ "blocks": [{ "type": "context", "elements": [marked, plain, { "type": "TEXT" }] }] })),
        (Service::GoogleChat, json!({ "text": "TEXT" })),
        (
            Service::GoogleChat,
            json!({ "cardsV2": [{ "card": { "header": { "title": "TEXT", "subtitle": "TEXT" },
                "sections": [{ "header": "TEXT", "widgets": widgets }] } }] }),
        ),
        (
            Service::Teams,
            adaptive(json!([{ "type": "TextBlock", "text": "TEXT", "color": "TEXT" }, { "type": "TEXT" }])),
        ),
        (Service::Teams, adaptive(json!([{ "type": "FactSet", "facts": [{ "title": "TEXT", "value": "TEXT" }] }]))),
        (Service::Teams, adaptive(json!([{ "type": "RichTextBlock", "inlines": ["TEXT", { "type": "TEXT" }] }]))),
        (Service::Teams, json!({ "attachments": [{ "contentType": "TEXT" }] })),
        (Service::Webhook, json!({ "TEXT": "TEXT", "data": ["TEXT"] })),
    ]
}

#[test]
fn nothing_of_a_payload_is_markup() {
    let evil = [
        "<script>",
        "`<script>`",
        "*<script>*",
        "<https://x\"><script>|<script>>",
        "<https://x|</a><script>",
        "[a](https://x\"><script>)",
        "<a href=\"https://x\"><script>\">x</a>",
        "<font color=\"#000000;\"><script>",
        "<!date^1^<script>|<script>>",
        "&lt;script&gt;",
        "https://x/<script>",
    ];
    for (service, shape) in shapes() {
        for text in evil {
            let mut message = shown(service, filled(&shape, text));
            message.channel = text.to_owned();
            let page = html(&[message]);
            let body = page.split_once("<body>").unwrap().1;
            let foreign: Vec<_> = body.split('<').skip(1).filter(|tag| !is_ours(tag)).collect();
            assert!(foreign.is_empty(), "{service} {shape} {text}: {foreign:?} in {body}");
        }
    }
}

/// What it is about, how a text gets on a page, the text, and what is then in the page.
type Row<'a> = (&'a str, fn(&str) -> String, &'a str, &'a str);

fn all_shown(rows: &[Row<'_>]) {
    for (what, page, text, expected) in rows {
        let page = page(text);
        assert!(page.contains(expected), "{what}: {text} gave {page}");
    }
}

#[test]
fn slack_text_is_shown_as_slack_would() {
    all_shown(&[
        ("bold", mrkdwn, "*a*", "<b>a</b>"),
        ("italic in bold", mrkdwn, "*_a_*", "<b><i>a</i></b>"),
        ("no bold in a word", mrkdwn, "a*b* *c*d", ">a*b* *c*d<"),
        ("no bold over lines", mrkdwn, "*a\nb*", ">*a\nb*<"),
        ("strike", mrkdwn, "~a~", "<s>a</s>"),
        ("code", mrkdwn, "`*a*`", "<code>*a*</code>"),
        ("code block", mrkdwn, "```\na\nb\n```", "<pre>a\nb</pre>"),
        ("quote", mrkdwn, "a\n&gt; b\nc", ">a\n<blockquote>b</blockquote>c<"),
        ("no quote in a quote", mrkdwn, ">>a", "<blockquote>&gt;a</blockquote>"),
        ("escapes", mrkdwn, "&lt;!here&gt; &amp;amp;", ">&lt;!here&gt; &amp;amp;<"),
        ("emoji", mrkdwn, ":rotating_light: :none:", "🚨</span> :none:<"),
        ("link", mrkdwn, "<https://a/?b=1&amp;c|d>", "href=\"https://a/?b=1&amp;c\" rel=\"noreferrer\">d</a>"),
        ("escapes in a link", mrkdwn, "<https://a/|&amp;lt;>", ">&amp;lt;</a>"),
        ("no bare link", mrkdwn, "https://a/", ">https://a/<"),
        ("date", mrkdwn, "<!date^1790000000^{date_short_pretty} {time_secs}|x>", ">Sep 21st, 2026 14:13:20<"),
        ("date that is none", mrkdwn, "<!date^soon^{date}|x>", ">x<"),
        ("date in unknown words", mrkdwn, "<!date^0^{year}|x>", ">x<"),
        ("group", mrkdwn, "<!subteam^S1>", "<mark>@S1</mark>"),
        ("group with a name", mrkdwn, "<!subteam^S1|@oncall>", "<mark>@oncall</mark>"),
        ("channel", mrkdwn, "a <!channel>", "<mark>@channel</mark>"),
        ("mention in code", mrkdwn, "`<!here>`", "<code><mark>@here</mark></code>"),
        ("person", mrkdwn, "<@U1>", "<mark>@U1</mark>"),
        ("unknown control", mrkdwn, "<!new>", "unknown control: !new<"),
    ]);
}

#[test]
fn google_chat_text_is_shown_as_chat_would() {
    all_shown(&[
        ("bold", chat_text, "*a*", "<b>a</b>"),
        ("everybody", chat_text, "<users/all> a", "<mark>@all</mark> a"),
        ("no mention", chat_text, "<b> &lt;", ">&lt;b&gt; &amp;lt;<"),
        ("link", chat_text, "https://a/.", "href=\"https://a/\" rel=\"noreferrer\">https://a/</a>.<"),
        ("tags", card_text, "<b>a<br><i>b</i></b>", "<b>a<br><i>b</i></b>"),
        ("tags out of order", card_text, "<b>a<i>b</b>", "unknown tag: /b</span></i></b>"),
        ("colour", card_text, "<font color=\"#5f6368\">a</font>", "<span style=\"color:#5f6368\">a</span>"),
        ("no such colour", card_text, "<font color=\"#red;x\">a</font>", "widget\">a<"),
        ("link in a card", card_text, "<a href=\"https://a/\">b</a>", "href=\"https://a/\" rel=\"noreferrer\">b</a>"),
        ("address that is none", card_text, "<a href=\"javascript:x\">b</a>", "unknown address: javascript:x</span>b"),
        ("unknown tag", card_text, "<img src=x>", "unknown tag: img src=x<"),
        ("entities", card_text, "&lt;b&gt; &amp;lt;", ">&lt;b&gt; &amp;lt;<"),
    ]);
}

#[test]
fn teams_markdown_is_shown_as_teams_would() {
    all_shown(&[
        ("bold", markdown, "**a**", "<b>a</b>"),
        ("escapes", markdown, "\\*a\\* \\_", ">*a* _<"),
        ("link", markdown, "[a](https://b/)", "href=\"https://b/\" rel=\"noreferrer\">a</a>"),
        ("mention", markdown, "<at>a</at>", "<mark>@a</mark>"),
    ]);
}

#[test]
fn what_is_not_known_is_shown_and_not_dropped() {
    let rows = [
        (Service::Slack, json!({ "blocks": [{ "type": "video" }] }), "unknown block: video"),
        (
            Service::Slack,
            json!({ "blocks": [{ "type": "context", "elements": [{ "type": "image" }] }] }),
            "element: image",
        ),
        (
            Service::Slack,
            json!({ "blocks": [{ "type": "section", "accessory": { "type": "button" } }] }),
            "element: button",
        ),
        (Service::Slack, json!({ "text": "t", "attachments": [] }), "unknown part: attachments"),
        (Service::Slack, json!({}), "unknown message"),
        (Service::GoogleChat, json!({ "text": "t", "cards": [] }), "unknown part: cards"),
        (
            Service::GoogleChat,
            json!({ "cardsV2": [{ "card": { "sections": [{ "widgets": [{ "image": {} }] }] } }] }),
            "unknown widget: image",
        ),
        (Service::Teams, json!({ "attachments": [{ "contentType": "text/html" }] }), "unknown attachment: text/html"),
    ];
    for (service, payload, expected) in rows {
        let page = page(service, payload.clone());
        assert!(page.contains("class=\"unknown\"") && page.contains(expected), "{payload} gave {page}");
    }
    let page = adaptive(&json!({ "type": "Image" }));
    assert!(page.contains("unknown element: Image"), "{page}");
}

#[test]
fn a_collapsed_section_says_how_much_it_hides() {
    let widgets: Vec<_> = (0..5).map(|n| json!({ "textParagraph": { "text": format!("row {n}") } })).collect();
    let section = json!({ "collapsible": true, "uncollapsibleWidgetsCount": 3, "widgets": widgets });
    let page = page(Service::GoogleChat, json!({ "cardsV2": [{ "card": { "sections": [section] } }] }));
    assert!(page.contains("row 2") && !page.contains("row 3") && page.contains("Show more (2)"), "{page}");
}

#[test]
fn chat_drops_what_comes_after_a_hundred_widgets() {
    let widgets: Vec<_> = (0..60).map(|n| json!({ "textParagraph": { "text": format!("row {n}.") } })).collect();
    let section = json!({ "widgets": widgets });
    let page = page(Service::GoogleChat, json!({ "cardsV2": [{ "card": { "sections": [section, section] } }] }));
    assert_eq!((page.matches("row 39.").count(), page.matches("row 40.").count()), (2, 1));
}

#[test]
fn pages_hold_the_messages_they_are_asked_for() {
    let all = [shown(Service::Teams, json!({})), shown(Service::Slack, json!({ "text": "hello" }))];
    let page = html(&all);
    let at = |word: &str| page.find(word).unwrap();
    assert!(page.contains("<title>Messages, as a chat would show them</title>"));
    assert!(at("<h2>Slack") < at("hello") && at("hello") < at("<h2>Microsoft Teams"), "{page}");
    assert!(page.contains("http-equiv=\"refresh\" content=\"5\""));
    let alone = html_of(Service::Slack, &all);
    assert!(alone.contains("hello") && !alone.contains("<h1>") && !alone.contains("refresh"), "{alone}");
    assert!(html_of(Service::Webhook, &all).contains("No messages yet.") && html(&[]).contains("No messages yet."));
}
