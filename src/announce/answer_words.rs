//! The words that the services answer with, what each means, and what to do about it.
//!
//! Invariant: only words of this file are logged or passed on: an answer may quote the request, and so the webhook.
//! Left out: answers without a known word (answer.rs).
//!
//! Sources: docs.slack.dev "Sending messages using incoming webhooks" and the changelog of 2016-05-17 (Slack);
//! google.rpc.Code (Google Chat); answers of Power Automate as their users report them (Teams).

use super::sink_kind::SinkKind;

/// What an answer means for a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// The service does not take this payload.
    Payload,
    /// The destination takes nothing any more, or not from us.
    Destination,
    /// Too many messages.
    TooFast,
    /// It may work later.
    Later,
    /// The service has the message already.
    Posted,
}

/// A word and what is known about it.
#[derive(Debug, PartialEq, Eq)]
pub struct Word {
    /// The word, as it is logged.
    pub word: &'static str,
    /// What it means.
    pub meaning: Meaning,
    /// What to do about it, for whoever reads `--test`.
    pub advice: &'static str,
}

const fn word(word: &'static str, meaning: Meaning, advice: &'static str) -> Word {
    Word { word, meaning, advice }
}

/// A word for what may work later.
pub(super) const fn later(word: &'static str, advice: &'static str) -> Word {
    self::word(word, Meaning::Later, advice)
}

const OUR_PAYLOAD: &str = "this is a fault of Confroll; please report it with the version and this word";
const WAIT: &str = "nothing is wrong with the webhook; wait a moment and try again";
const NEW_SLACK: &str = "make a new incoming webhook in the settings of the Slack app and put its URL in place";
const ASK_SLACK: &str = "an administrator of the Slack workspace has to allow it";
const NEW_CHAT: &str = "copy the webhook's URL again, from the space's menu: Apps & integrations, Webhooks";
const NEW_FLOW: &str = "open the workflow in Power Automate: it must exist, be on, and have an owner";

/// Slack's answers are bare words.
static SLACK: &[Word] = &[
    word("invalid_payload", Meaning::Payload, OUR_PAYLOAD),
    word("invalid_blocks", Meaning::Payload, OUR_PAYLOAD),
    word("invalid_attachments", Meaning::Payload, OUR_PAYLOAD),
    word("no_text", Meaning::Payload, OUR_PAYLOAD),
    word("too_many_attachments", Meaning::Payload, OUR_PAYLOAD),
    word("msg_blocks_too_long", Meaning::Payload, OUR_PAYLOAD),
    word("user_not_found", Meaning::Payload, "CONFROLL_MENTION_ON_FAILURE names a user that is not there"),
    word("action_prohibited", Meaning::Destination, ASK_SLACK),
    word("posting_to_general_channel_denied", Meaning::Destination, ASK_SLACK),
    word("team_disabled", Meaning::Destination, ASK_SLACK),
    word("invalid_token", Meaning::Destination, NEW_SLACK),
    word("no_service", Meaning::Destination, NEW_SLACK),
    word("no_service_id", Meaning::Destination, NEW_SLACK),
    word("no_active_hooks", Meaning::Destination, NEW_SLACK),
    word("no_team", Meaning::Destination, NEW_SLACK),
    word("channel_not_found", Meaning::Destination, NEW_SLACK),
    word(
        "channel_is_archived",
        Meaning::Destination,
        "take the channel out of the archive, or make a webhook for another",
    ),
    word("rate_limited", Meaning::TooFast, WAIT),
    word("rollup_error", Meaning::Later, WAIT),
];

/// Google Chat's are those of every Google API.
static GOOGLE_CHAT: &[Word] = &[
    word("INVALID_ARGUMENT", Meaning::Payload, "the key in the URL may be wrong: copy the URL again; else report it"),
    word("OUT_OF_RANGE", Meaning::Payload, OUR_PAYLOAD),
    word("PERMISSION_DENIED", Meaning::Destination, NEW_CHAT),
    word("UNAUTHENTICATED", Meaning::Destination, NEW_CHAT),
    word("NOT_FOUND", Meaning::Destination, NEW_CHAT),
    word("FAILED_PRECONDITION", Meaning::Destination, "an administrator of the Workspace has to allow webhooks"),
    word("RESOURCE_EXHAUSTED", Meaning::TooFast, WAIT),
    word("UNAVAILABLE", Meaning::Later, WAIT),
    word("INTERNAL", Meaning::Later, WAIT),
    word("ABORTED", Meaning::Later, WAIT),
    word("CANCELLED", Meaning::Later, WAIT),
    word("ALREADY_EXISTS", Meaning::Posted, "nothing: the message is there already"),
    word("DEADLINE_EXCEEDED", Meaning::Later, WAIT),
];

/// Those of Power Automate and of the connectors before it.
static TEAMS: &[Word] = &[
    word(
        "TriggerInputSchemaMismatch",
        Meaning::Payload,
        "the workflow wants another input; use the template \"When a Teams webhook request is received\"",
    ),
    word("InvalidRequestContent", Meaning::Payload, OUR_PAYLOAD),
    word("RequestEntityTooLarge", Meaning::Payload, OUR_PAYLOAD),
    word("WorkflowTriggerIsNotEnabled", Meaning::Destination, NEW_FLOW),
    word("WorkflowNotFound", Meaning::Destination, NEW_FLOW),
    word("WorkflowDisabled", Meaning::Destination, NEW_FLOW),
    word("DirectApiAuthorizationRequired", Meaning::Destination, "set the workflow's trigger to be called by anyone"),
    word("AuthorizationFailed", Meaning::Destination, "copy the workflow's URL again, its sig= included"),
    word("TooManyRequests", Meaning::TooFast, WAIT),
    word("OperationRequestsThrottled", Meaning::TooFast, WAIT),
];

/// A kind's words.
#[must_use]
pub fn words_of(kind: SinkKind) -> &'static [Word] {
    match kind {
        SinkKind::Slack => SLACK,
        SinkKind::GoogleChat => GOOGLE_CHAT,
        SinkKind::Teams => TEAMS,
        SinkKind::Webhook | SinkKind::PlainText => &[],
    }
}

/// What a status means where no word is known.
#[must_use]
pub fn word_of_status(status: u16) -> &'static Word {
    const RECEIVER: &str =
        "the receiver refuses what it is sent: its log says why; of a chat service, please report it";
    const CHECK_URL: &str = "check the URL: copy it again from where the webhook was made";
    static BAD_REQUEST: Word = word("bad-request", Meaning::Payload, RECEIVER);
    static TOO_LARGE: Word = word("too-large", Meaning::Payload, RECEIVER);
    static REDIRECT: Word =
        word("redirect", Meaning::Destination, "the URL leads elsewhere, which is not followed: use the final URL");
    static UNAUTHORIZED: Word = word("unauthorized", Meaning::Destination, CHECK_URL);
    static FORBIDDEN: Word = word("forbidden", Meaning::Destination, CHECK_URL);
    static NOT_FOUND: Word = word("not-found", Meaning::Destination, CHECK_URL);
    static GONE: Word = word("gone", Meaning::Destination, "the webhook was deleted: make a new one");
    static REFUSED: Word = word("refused", Meaning::Destination, CHECK_URL);
    static TOO_MANY: Word = word("too-many-requests", Meaning::TooFast, WAIT);
    static PROXY: Word = word("proxy-wants-a-login", Meaning::Later, "put the proxy's user and password into its URL");
    static TIMEOUT: Word = word("request-timeout", Meaning::Later, WAIT);
    static SERVER: Word = word("server-error", Meaning::Later, WAIT);
    static ODD: Word = word("odd-status", Meaning::Later, CHECK_URL);
    match status {
        300..=399 => &REDIRECT,
        400 | 422 => &BAD_REQUEST,
        401 => &UNAUTHORIZED,
        403 => &FORBIDDEN,
        404 => &NOT_FOUND,
        407 => &PROXY,
        408 | 425 | 499 => &TIMEOUT,
        410 => &GONE,
        413 => &TOO_LARGE,
        429 => &TOO_MANY,
        402..=499 => &REFUSED,
        500..=599 => &SERVER,
        _ => &ODD,
    }
}

/// The answer is a success whose body the service never gives.
pub static WRONG_BODY: Word =
    later("wrong-body", "something between here and the service answers in its place, such as a proxy's login page");
