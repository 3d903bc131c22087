//! The rules of Google Chat, each broken by one change.

use super::*;

const SECTION: &str = "/cardsV2/0/card/sections/0";
const WIDGETS: &str = "/cardsV2/0/card/sections/0/widgets";

#[test]
fn each_rule_of_google_chat_is_broken_alone() {
    each_case_breaks_its_rule_alone(Service::GoogleChat, CASES);
}

const CASES: &[Case] = &[
    ("unknown_field", |body| put(body, "/username", json!("confroll"))),
    ("unknown_field", |body| put(body, &widget(0, "decoratedText/colour"), json!("red"))),
    ("missing_field", |body| remove(body, "/cardsV2/0/card/header/title")),
    ("missing_field", |body| remove(body, &widget(0, "decoratedText/text"))),
    ("missing_field", |body| put(body, &format!("{WIDGETS}/-"), json!({}))),
    ("missing_field", |body| put(body, &widget(0, "divider"), json!({}))),
    ("wrong_type", |body| put(body, "/text", json!(7))),
    ("wrong_type", |body| put(body, &widget(0, "decoratedText/wrapText"), json!("yes"))),
    ("no_content", |body| {
        remove(body, "/text");
        remove(body, "/cardsV2");
    }),
    ("too_large", |body| put(body, "/text", json!("x".repeat(32_000)))),
    ("deprecated_cards", |body| put(body, "/cards", json!([]))),
    ("card_id", |body| remove(body, "/cardsV2/0/cardId")),
    ("card_id", |body| {
        let card = body["cardsV2"][0].clone();
        put(body, "/cardsV2/-", card);
    }),
    ("widgets_dropped", |body| {
        put(body, WIDGETS, json!(vec![json!({"textParagraph": {"text": "a"}}); 101]));
    }),
    ("empty_section", |body| put(body, WIDGETS, json!([]))),
    ("uncollapsible_widgets", |body| remove(body, &format!("{SECTION}/collapsible"))),
    ("empty_text", |body| put(body, &widget(1, "textParagraph/text"), json!(" "))),
    ("empty_text", |body| put(body, "/text", json!(""))),
    ("empty_text", |body| put(body, &widget(0, "decoratedText/topLabel"), json!(""))),
    ("relative_link", |body| put(body, &widget(2, LINK), json!("/details"))),
    ("relative_link", |body| put(body, &widget(2, LINK), json!("http://example.test"))),
    ("relative_link", |body| paragraph(body, "<a href=\"javascript:x\">a</a>")),
    ("card_markup", |body| paragraph(body, "<users/all>")),
    ("card_markup", |body| paragraph(body, "<b>a")),
    ("card_markup", |body| paragraph(body, "<b><i>a</b></i>")),
    ("card_markup", |body| paragraph(body, "a < b")),
    ("card_markup", |body| paragraph(body, "a > b")),
    ("card_markup", |body| paragraph(body, "<font color=\"red\">a</font>")),
    ("card_markup", |body| paragraph(body, "<b onclick=\"x\">a</b>")),
    ("card_markup", |body| put(body, &format!("{SECTION}/header"), json!("<h1>a</h1>"))),
    ("card_entity", |body| paragraph(body, "a & b")),
    ("card_entity", |body| put(body, &widget(0, "decoratedText/text"), json!("&nbsp;"))),
    ("text_control", |body| put(body, "/text", json!("<users/all> look"))),
    ("text_control", |body| put(body, "/text", json!("a > b"))),
    ("thread_key_length", |body| put(body, "/thread/threadKey", json!("x".repeat(4001)))),
];

const LINK: &str = "buttonList/buttons/0/onClick/openLink/url";

fn widget(index: usize, field: &str) -> String {
    format!("{WIDGETS}/{index}/{field}")
}

fn paragraph(body: &mut Value, text: &str) {
    put(body, &widget(1, "textParagraph/text"), json!(text));
}
