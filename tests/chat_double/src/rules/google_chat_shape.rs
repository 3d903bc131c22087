//! The fields of a Google Chat message with cards of version 2. Invariant: only what a one-way webhook can use.
//! Limits and texts are in `google_chat`.

use super::shape::{Kind, Shape};

const NONE: &[(&str, Kind)] = &[];

pub(super) static MESSAGE: Kind = Kind::Object(&Shape {
    required: NONE,
    optional: &[
        ("text", Kind::Text),
        ("fallbackText", Kind::Text),
        ("cardsV2", Kind::List(&CARD_WITH_ID)),
        // Deprecated, and then only that is said.
        ("cards", Kind::Any),
        ("thread", Kind::Object(&THREAD)),
    ],
    one_of: NONE,
});

static THREAD: Shape =
    Shape { required: NONE, optional: NONE, one_of: &[("threadKey", Kind::Text), ("name", Kind::Text)] };

static CARD_WITH_ID: Kind = Kind::Object(&Shape {
    required: &[("card", Kind::Object(&CARD))],
    // Its absence is a rule of its own.
    optional: &[("cardId", Kind::Text)],
    one_of: NONE,
});

static CARD: Shape = Shape {
    required: NONE,
    optional: &[
        ("header", Kind::Object(&HEADER)),
        ("sections", Kind::List(&SECTION)),
        ("sectionDividerStyle", Kind::Text),
        ("name", Kind::Text),
    ],
    one_of: NONE,
};

static HEADER: Shape = Shape {
    required: &[("title", Kind::Text)],
    optional: &[
        ("subtitle", Kind::Text),
        ("imageUrl", Kind::Text),
        ("imageType", Kind::Text),
        ("imageAltText", Kind::Text),
    ],
    one_of: NONE,
};

static SECTION: Kind = Kind::Object(&Shape {
    required: NONE,
    optional: &[
        ("header", Kind::Text),
        ("widgets", Kind::List(&WIDGET)),
        ("collapsible", Kind::Flag),
        ("uncollapsibleWidgetsCount", Kind::Number),
    ],
    one_of: NONE,
});

static WIDGET: Kind = Kind::Object(&Shape {
    required: NONE,
    optional: &[("horizontalAlignment", Kind::Text)],
    one_of: &[
        ("textParagraph", Kind::Object(&PARAGRAPH)),
        ("decoratedText", Kind::Object(&DECORATED)),
        ("buttonList", Kind::Object(&BUTTONS)),
        ("divider", Kind::Object(&DIVIDER)),
    ],
});

static DIVIDER: Shape = Shape { required: NONE, optional: NONE, one_of: NONE };

static PARAGRAPH: Shape =
    Shape { required: &[("text", Kind::Text)], optional: &[("maxLines", Kind::Number)], one_of: NONE };

static DECORATED: Shape = Shape {
    required: &[("text", Kind::Text)],
    optional: &[
        ("topLabel", Kind::Text),
        ("bottomLabel", Kind::Text),
        ("wrapText", Kind::Flag),
        ("startIcon", Kind::Object(&ICON)),
        ("endIcon", Kind::Object(&ICON)),
        ("onClick", Kind::Object(&ON_CLICK)),
        ("button", Kind::Object(&BUTTON)),
    ],
    one_of: NONE,
};

static ICON: Shape = Shape {
    required: NONE,
    optional: &[("altText", Kind::Text), ("imageType", Kind::Text)],
    one_of: &[
        ("knownIcon", Kind::Text),
        ("iconUrl", Kind::Text),
        ("materialIcon", Kind::Object(&Shape { required: &[("name", Kind::Text)], optional: NONE, one_of: NONE })),
    ],
};

static BUTTONS: Shape =
    Shape { required: &[("buttons", Kind::List(&Kind::Object(&BUTTON)))], optional: NONE, one_of: NONE };

static BUTTON: Shape = Shape {
    required: &[("onClick", Kind::Object(&ON_CLICK))],
    optional: &[
        ("text", Kind::Text),
        ("icon", Kind::Object(&ICON)),
        ("altText", Kind::Text),
        ("type", Kind::Text),
        ("disabled", Kind::Flag),
    ],
    one_of: NONE,
};

// A webhook gets no events back, so nothing but a link can come of a click.
static ON_CLICK: Shape = Shape { required: &[("openLink", Kind::Object(&OPEN_LINK))], optional: NONE, one_of: NONE };

static OPEN_LINK: Shape = Shape { required: &[("url", Kind::Text)], optional: NONE, one_of: NONE };
