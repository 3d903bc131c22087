//! Whatever stands in an event: every service takes the message, and nothing of the event becomes markup.

use cloudevents::Event;
use confroll::announce::announcement::{Announcement, Detail};
use confroll::announce::notice::Notice;
use confroll::announce::payload::chat_message;
use confroll::announce::style::{ShownKeys, Style, ThreadBy};
use confroll::announce::text::{Line, words};
use confroll_chat_double::{Service, check};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::sample_events::event;
use crate::sink::kind_of;

const CHATS: [Service; 3] = [Service::Slack, Service::GoogleChat, Service::Teams];

/// What people and machines write to break a chat message.
const NASTY: &[&str] = &[
    "<!channel>",
    "<users/all>",
    "<at>all</at>",
    "<https://evil.example|click>",
    "[click](https://evil.example)",
    "```",
    "`",
    "*_~",
    "&amp;&lt;",
    "a|b>c<d&e",
    "\u{202e}gnp.exe",
    "\u{0}\u{1b}[31m",
    "\u{200b}",
    "👩‍👩‍👧‍👦",
    "<b>",
    "{{DATE(2026-01-01)}}",
    "\n\n",
    " ",
    "",
];

fn nasty() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(NASTY).prop_map(str::to_owned),
        any::<String>(),
        "[a-z0-9-]{1,20}",
        Just("x".repeat(10_000)),
        Just("&".repeat(253)),
        Just("😀".repeat(253)),
    ]
}

prop_compose! {
    fn keys()(names in prop_oneof![proptest::collection::vec(nasty(), 0..4), Just((0..200).map(|n| format!("KEY_{n}")).collect())]) -> Vec<String> {
        names
    }
}

prop_compose! {
    fn source()(kind in prop_oneof![Just("ConfigMap".to_owned()), Just("Secret".to_owned()), nasty()], name in nasty(), added in keys(), changed in keys(), removed in keys()) -> Value {
        json!({ "kind": kind, "name": name, "change": "updated", "keys": { "added": added, "changed": changed, "removed": removed } })
    }
}

prop_compose! {
    fn any_event()(
        id in nasty(), cluster in nasty(), namespace in nasty(), kind in nasty(), name in nasty(), reason in nasty(),
        message in proptest::option::of(nasty()),
        link in proptest::option::of(prop_oneof![Just("https://a.example/?q=<b>|c&d=`e`".to_owned()), nasty()]),
        sources in proptest::collection::vec(source(), 0..4),
    ) -> Event {
        let mut more = json!({ "cluster": cluster, "reason": reason });
        if let Some(message) = message {
            more["message"] = json!(message);
        }
        if let Some(link) = link {
            more["link"] = json!(link);
        }
        let mut event = event(&namespace, &kind, &name, json!(sources), &more);
        cloudevents::AttributesWriter::set_id(&mut event, id);
        event
    }
}

fn styles() -> impl Strategy<Value = (ShownKeys, ThreadBy)> {
    let keys = prop_oneof![Just(ShownKeys::None), Just(ShownKeys::ConfigMap), Just(ShownKeys::All)];
    let threads = prop_oneof![Just(ThreadBy::None), Just(ThreadBy::Workload), Just(ThreadBy::Source)];
    (keys, threads)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn every_service_takes_whatever_an_event_says(events in proptest::collection::vec(any_event(), 1..30), (keys, thread_by) in styles()) {
        let notices: Vec<_> = events.iter().filter_map(|event| Notice::from_event(event).ok().flatten()).collect();
        prop_assume!(!notices.is_empty());
        let style = Style { prefix: Some("[staging]".to_owned()), mention_on_failure: None, keys, thread_by };
        for batch in [&notices[..1], &notices] {
            for service in CHATS {
                let message = chat_message(kind_of(service), batch, &style).unwrap();
                for post in [Some(message.full), message.plain].into_iter().flatten() {
                    let payload: Value = serde_json::from_slice(&post.body).unwrap();
                    let violations = check(service, &payload);
                    prop_assert!(violations.is_empty(), "{service:?} {violations:?}\n{payload}");
                }
            }
        }
    }

    #[test]
    fn a_digest_counts_exactly(done in 0usize..600, failed in 0usize..40, sources in 1usize..40) {
        prop_assume!(done + failed > 1);
        let of = |n: usize, more: Value| {
            let source = json!([{ "kind": "ConfigMap", "name": format!("c{}", n % sources) }]);
            event("shop", "Deployment", &format!("w{n}"), source, &more)
        };
        let failures = (0..failed).map(|n| of(1000 + n, json!({ "message": "no" })));
        let events = (0..done).map(|n| of(n, json!({}))).chain(failures);
        let notices: Vec<_> = events.map(|event| Notice::from_event(&event).unwrap().unwrap()).collect();
        let detail = Detail { keys: 0, names: 3, rows: 5, failures: 5 };
        let said = Announcement::of(&notices, &Style::default(), detail).unwrap();
        let headline = match (done, failed) {
            (_, 0) => format!("{done} reloads in prod-eu1"),
            (0, _) => format!("{failed} reloads failed in prod-eu1"),
            _ => format!("{failed} of {} reloads failed in prod-eu1", done + failed),
        };
        prop_assert_eq!(&said.headline, &headline);
        prop_assert_eq!(said.rows.iter().map(reloads_in).sum::<usize>(), done);
        let failures = said.failures.iter().map(|failure| left_out(&words(&failure.title)).unwrap_or(1));
        prop_assert_eq!(failures.sum::<usize>(), failed);
    }
}

/// What is shown in a row, and what it says to be left out.
fn reloads_in(row: &Line) -> usize {
    let row = words(row);
    // `+3 more changes (17 reloads)`
    if let Some((_, count)) = row.strip_prefix('+').and_then(|row| row.rsplit_once('(')) {
        return count.split(' ').next().unwrap().parse().unwrap();
    }
    let names = row.split(" → ").nth(1).unwrap().split(", ");
    names.map(|name| left_out(name).unwrap_or(1)).sum()
}

/// `+7 more`
fn left_out(text: &str) -> Option<usize> {
    text.strip_prefix('+')?.split(' ').next()?.parse().ok()
}
