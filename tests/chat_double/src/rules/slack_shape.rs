//! The fields of a Slack webhook message and of its blocks. Invariant: only what a one-way webhook can use; an
//! input block or a menu is an unknown type here. Block Kit's limits are in `slack`.

use super::shape::{Kind, Shape};

const NONE: &[(&str, Kind)] = &[];
const BLOCK_ID: (&str, Kind) = ("block_id", Kind::Text);

/// A message, its blocks not looked into.
pub(super) static MESSAGE: Kind = Kind::Object(&Shape {
    required: NONE,
    optional: &[
        ("text", Kind::Text),
        ("blocks", Kind::List(&Kind::Any)),
        ("attachments", Kind::List(&Kind::Any)),
        ("thread_ts", Kind::Text),
        ("mrkdwn", Kind::Flag),
        ("unfurl_links", Kind::Flag),
        ("unfurl_media", Kind::Flag),
    ],
    one_of: NONE,
});

const PLAIN: Shape = Shape { required: &[("text", Kind::Text)], optional: &[("emoji", Kind::Flag)], one_of: NONE };
const MRKDWN: Shape = Shape { required: &[("text", Kind::Text)], optional: &[("verbatim", Kind::Flag)], one_of: NONE };
const TEXT_OBJECT: Kind = Kind::Tagged(&[("plain_text", &PLAIN), ("mrkdwn", &MRKDWN)]);
static ANY_TEXT_OBJECT: Kind = TEXT_OBJECT;

static BUTTON: Kind = Kind::Tagged(&[(
    "button",
    &Shape {
        required: &[("text", TEXT_OBJECT)],
        optional: &[
            ("action_id", Kind::Text),
            ("url", Kind::Text),
            ("value", Kind::Text),
            ("style", Kind::Text),
            ("accessibility_label", Kind::Text),
        ],
        one_of: NONE,
    },
)]);

const STYLED: (&str, Kind) = ("style", Kind::Any);

static RICH_PIECE: Kind = Kind::Tagged(&[
    ("text", &Shape { required: &[("text", Kind::Text)], optional: &[STYLED], one_of: NONE }),
    ("link", &Shape { required: &[("url", Kind::Text)], optional: &[("text", Kind::Text), STYLED], one_of: NONE }),
    ("emoji", &Shape { required: &[("name", Kind::Text)], optional: NONE, one_of: NONE }),
    (
        "date",
        &Shape {
            required: &[("timestamp", Kind::Number), ("format", Kind::Text)],
            optional: &[("url", Kind::Text), ("fallback", Kind::Text)],
            one_of: NONE,
        },
    ),
]);

const RICH_PIECES: Shape =
    Shape { required: &[("elements", Kind::List(&RICH_PIECE))], optional: &[("border", Kind::Number)], one_of: NONE };

static RICH_PART: Kind = Kind::Tagged(&[
    ("rich_text_section", &RICH_PIECES),
    ("rich_text_preformatted", &RICH_PIECES),
    ("rich_text_quote", &RICH_PIECES),
    (
        "rich_text_list",
        &Shape {
            required: &[("elements", Kind::List(&RICH_PART)), ("style", Kind::Text)],
            optional: &[("indent", Kind::Number), ("border", Kind::Number), ("offset", Kind::Number)],
            one_of: NONE,
        },
    ),
]);

/// One block.
pub(super) static BLOCK: Kind = Kind::Tagged(&[
    ("header", &Shape { required: &[("text", TEXT_OBJECT)], optional: &[BLOCK_ID], one_of: NONE }),
    (
        "section",
        &Shape {
            required: NONE,
            optional: &[
                ("text", TEXT_OBJECT),
                ("fields", Kind::List(&ANY_TEXT_OBJECT)),
                ("expand", Kind::Flag),
                BLOCK_ID,
            ],
            one_of: NONE,
        },
    ),
    (
        "context",
        &Shape { required: &[("elements", Kind::List(&ANY_TEXT_OBJECT))], optional: &[BLOCK_ID], one_of: NONE },
    ),
    ("divider", &Shape { required: NONE, optional: &[BLOCK_ID], one_of: NONE }),
    ("actions", &Shape { required: &[("elements", Kind::List(&BUTTON))], optional: &[BLOCK_ID], one_of: NONE }),
    ("rich_text", &Shape { required: &[("elements", Kind::List(&RICH_PART))], optional: &[BLOCK_ID], one_of: NONE }),
]);
