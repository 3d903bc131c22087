//! What makes two messages the same one, and what makes them one thread.
//!
//! Invariant: derived from the events alone, whatever their order, so that a message sent again is recognised.

use std::collections::BTreeSet;

use super::announcement::workload;
use super::notice::{EventKey, Notice};
use super::style::ThreadBy;
use super::text::cut;
use crate::reload::digest::hex;
use crate::reload::tag::hash_of;

/// What makes two messages the same one: derived from the events in it, whatever their order.
fn message_id(notices: &[Notice]) -> [u8; 16] {
    let keys: BTreeSet<&EventKey> = notices.iter().map(|notice| &notice.key).collect();
    let hash = hash_of(keys.into_iter().flat_map(|key| [key.source.as_str(), key.id.as_str()]));
    let mut id = [0; 16];
    id.copy_from_slice(&hash[..16]);
    id
}

/// The message's id as far as people compare it: the beginning of its event's, which is in the logs, where it is one of
/// ours.
pub(super) fn short_id(notices: &[Notice]) -> String {
    match notices {
        [notice] if is_ours(&notice.key.id) => notice.key.id[..8].to_owned(),
        _ => hex(&message_id(notices)[..4]),
    }
}

/// Whether an id is one of our own reload events: sixteen hex digits.
fn is_ours(id: &str) -> bool {
    id.len() == 16 && id.bytes().all(|c| c.is_ascii_hexdigit())
}

/// The message's id as a UUID, for services that take one to tell repeats by.
#[must_use]
pub fn message_uuid(notices: &[Notice]) -> String {
    let mut id = message_id(notices);
    // RFC 9562: version 8 is for ids made as one likes, variant 1.
    id[6] = id[6] & 0x0f | 0x80;
    id[8] = id[8] & 0x3f | 0x80;
    let hex = hex(&id);
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The thread of a message: only where all of it is about the same thing.
pub(super) fn thread(notices: &[Notice], by: ThreadBy) -> Option<String> {
    let key = |notice: &Notice| {
        let cluster = notice.cluster.as_deref().unwrap_or_default();
        let namespace = notice.namespace.as_deref().unwrap_or_default();
        match by {
            ThreadBy::None => None,
            ThreadBy::Workload => Some(format!("reload/{cluster}/{namespace}/{}", workload(notice))),
            ThreadBy::Source => {
                let mut sources: Vec<_> = notice.sources.iter().map(|s| format!("{}/{}", s.kind, s.name)).collect();
                sources.sort_unstable();
                (!sources.is_empty()).then(|| format!("source/{cluster}/{namespace}/{}", sources.join(",")))
            }
        }
    };
    let first = key(notices.first()?)?;
    let shared = notices.iter().all(|notice| key(notice).as_ref() == Some(&first));
    // Google Chat takes 4000 characters.
    shared.then(|| cut(&first, 2000))
}
