//! The fields of a message for a Teams flow, and of the Adaptive Card elements that a notification uses.
//! Invariant: nothing that needs an answer of the reader; an input or a submit action is an unknown type here.

use super::shape::{Kind, Shape};

const NONE: &[(&str, Kind)] = &[];

/// A message; its `type` and `attachments` have rules of their own.
pub(super) static MESSAGE: Kind = Kind::Object(&Shape {
    required: NONE,
    optional: &[("type", Kind::Any), ("attachments", Kind::List(&ATTACHMENT)), ("summary", Kind::Text)],
    one_of: NONE,
});

static ATTACHMENT: Kind = Kind::Object(&Shape {
    required: &[("content", Kind::Tagged(&[("AdaptiveCard", &CARD)]))],
    optional: &[("contentType", Kind::Any), ("contentUrl", Kind::Any), ("name", Kind::Text)],
    one_of: NONE,
});

static CARD: Shape = Shape {
    required: NONE,
    optional: &[
        ("$schema", Kind::Text),
        ("version", Kind::Any),
        ("body", Kind::List(&ELEMENT)),
        ("actions", Kind::List(&ACTION)),
        ("msteams", Kind::Object(&Shape { required: NONE, optional: &[("width", Kind::Text)], one_of: NONE })),
        ("fallbackText", Kind::Text),
        ("speak", Kind::Text),
        ("lang", Kind::Text),
    ],
    one_of: NONE,
};

const ID: (&str, Kind) = ("id", Kind::Text);
const SPACING: (&str, Kind) = ("spacing", Kind::Text);
const SEPARATOR: (&str, Kind) = ("separator", Kind::Flag);
const VISIBLE: (&str, Kind) = ("isVisible", Kind::Flag);
const STYLE: (&str, Kind) = ("style", Kind::Text);
const SIZE: (&str, Kind) = ("size", Kind::Text);
const WEIGHT: (&str, Kind) = ("weight", Kind::Text);
const COLOR: (&str, Kind) = ("color", Kind::Text);
const SUBTLE: (&str, Kind) = ("isSubtle", Kind::Flag);
const FONT: (&str, Kind) = ("fontType", Kind::Text);
const ALIGN: (&str, Kind) = ("horizontalAlignment", Kind::Text);

static ELEMENT: Kind = Kind::Tagged(&[
    (
        "TextBlock",
        &Shape {
            required: &[("text", Kind::Text)],
            optional: &[
                ("wrap", Kind::Flag),
                ("maxLines", Kind::Number),
                ID,
                SPACING,
                SEPARATOR,
                VISIBLE,
                STYLE,
                SIZE,
                WEIGHT,
                COLOR,
                SUBTLE,
                FONT,
                ALIGN,
            ],
            one_of: NONE,
        },
    ),
    (
        "FactSet",
        &Shape {
            required: &[("facts", Kind::List(&FACT))],
            optional: &[ID, SPACING, SEPARATOR, VISIBLE],
            one_of: NONE,
        },
    ),
    (
        "RichTextBlock",
        &Shape {
            required: &[("inlines", Kind::List(&RUN))],
            optional: &[ID, SPACING, SEPARATOR, VISIBLE, ALIGN],
            one_of: NONE,
        },
    ),
    (
        "Container",
        &Shape {
            required: &[("items", Kind::List(&ELEMENT))],
            optional: &[ID, SPACING, SEPARATOR, VISIBLE, STYLE, ("bleed", Kind::Flag)],
            one_of: NONE,
        },
    ),
    (
        "ColumnSet",
        &Shape {
            required: &[("columns", Kind::List(&COLUMN))],
            optional: &[ID, SPACING, SEPARATOR, VISIBLE, STYLE],
            one_of: NONE,
        },
    ),
    (
        "ActionSet",
        &Shape {
            required: &[("actions", Kind::List(&ACTION))],
            optional: &[ID, SPACING, SEPARATOR, VISIBLE],
            one_of: NONE,
        },
    ),
]);

static COLUMN: Kind = Kind::Tagged(&[(
    "Column",
    &Shape {
        required: &[("items", Kind::List(&ELEMENT))],
        optional: &[("width", Kind::Any), ID, SPACING, SEPARATOR, VISIBLE, STYLE],
        one_of: NONE,
    },
)]);

static FACT: Kind =
    Kind::Object(&Shape { required: &[("title", Kind::Text), ("value", Kind::Text)], optional: NONE, one_of: NONE });

static RUN: Kind = Kind::Tagged(&[(
    "TextRun",
    &Shape {
        required: &[("text", Kind::Text)],
        optional: &[
            SIZE,
            WEIGHT,
            COLOR,
            SUBTLE,
            FONT,
            ("italic", Kind::Flag),
            ("strikethrough", Kind::Flag),
            ("underline", Kind::Flag),
            ("highlight", Kind::Flag),
        ],
        one_of: NONE,
    },
)]);

static ACTION: Kind = Kind::Tagged(&[(
    "Action.OpenUrl",
    &Shape {
        required: &[("url", Kind::Text), ("title", Kind::Text)],
        optional: &[ID, STYLE, ("tooltip", Kind::Text)],
        one_of: NONE,
    },
)]);
