//! What Google Chat remembers between two messages: threads by key, and messages by request id. Invariant: keys
//! are private to the webhook that used them, as Chat has it. The other services remember nothing.

use std::collections::HashMap;

use crate::address::parameter;
use crate::rules::request::THREAD_OR_NEW;

/// Whether a known request id gives the first message again. Documented for the method, seen by nobody for webhooks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RequestIds {
    #[default]
    Ignored,
    Replayed,
}

/// A message in a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placed {
    pub(crate) message: String,
    pub(crate) thread: String,
    pub(crate) is_new: bool,
}

#[derive(Debug, Default)]
pub(crate) struct ChatMemory {
    messages: usize,
    threads: HashMap<(String, String), String>,
    by_request: HashMap<(String, String), Placed>,
}

impl ChatMemory {
    /// Where a message of this channel goes.
    pub(crate) fn place(
        &mut self,
        channel: &str,
        query: &[(String, String)],
        body: &serde_json::Value,
        ids: RequestIds,
    ) -> Placed {
        let request = parameter(query, "requestId").map(|id| (channel.to_owned(), id.to_owned()));
        if let (RequestIds::Replayed, Some(first)) = (ids, request.as_ref().and_then(|id| self.by_request.get(id))) {
            return Placed { is_new: false, ..first.clone() };
        }
        self.messages += 1;
        let space = channel.split('~').next().unwrap_or(channel);
        let new_thread = format!("spaces/{space}/threads/{}", self.messages);
        // Without the option a key is not looked at.
        let threaded = parameter(query, "messageReplyOption") == Some(THREAD_OR_NEW);
        let key = body.pointer("/thread/threadKey").and_then(serde_json::Value::as_str).filter(|_| threaded);
        let thread = match key {
            Some(key) => self.threads.entry((channel.to_owned(), key.to_owned())).or_insert(new_thread).clone(),
            None => new_thread,
        };
        let placed = Placed { message: format!("spaces/{space}/messages/{}", self.messages), thread, is_new: true };
        if let Some(id) = request {
            self.by_request.entry(id).or_insert_with(|| placed.clone());
        }
        placed
    }
}
