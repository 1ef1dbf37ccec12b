//! What an earlier answer left open: a turn that the provider paused, tools that it still runs, the container that they
//! run in.

use harn_core::chat::{ChatMessage, ProviderToolUse, Thought};
use serde_json::{Map, Value};

/// The stop reason of an answer that goes on once it is sent back.
pub(super) const PAUSE: &str = "pause_turn";
/// Fields of a thought that holds no block: the turn is paused, the turn uses this container.
pub(super) const PAUSED: &str = "paused";
pub(super) const CONTAINER: &str = "container";

/// No turn has this many tools running; of those beyond it, the results are told by themselves.
pub(super) const MOST_RUNNING: usize = 256;

/// Where the next answer begins.
#[derive(Default)]
pub(super) struct Resumed {
    /// Bytes of text and count of calls that the turn has already.
    pub text: usize,
    pub calls: usize,
    /// Tools without a result, by the ids of their calls.
    pub running: Vec<(String, ProviderToolUse)>,
}

pub(super) fn resumed(messages: &[ChatMessage], provider: &str) -> Resumed {
    let mut found = Resumed::default();
    if let Some(ChatMessage::Assistant { text, tool_calls, .. }) = messages.last()
        && is_paused(messages, provider)
    {
        (found.text, found.calls) = (text.len(), tool_calls.len());
    }
    for block in latest(messages, provider).filter_map(|thought| thought.opaque.get("block")?.as_object()) {
        let word = |name: &str| block.get(name).and_then(Value::as_str).unwrap_or_default();
        if word("type").ends_with("_tool_use") && found.running.len() < MOST_RUNNING {
            found.running.push((word("id").to_owned(), used(block, None)));
        } else {
            let id = word("tool_use_id");
            found.running.retain(|(running, _)| running != id);
        }
    }
    found
}

/// A tool of the provider, from the block that calls it.
pub(super) fn used(block: &Map<String, Value>, output: Option<Value>) -> ProviderToolUse {
    let name = block.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    ProviderToolUse { name, input: block.get("input").cloned().unwrap_or_default(), output }
}

/// Whether the conversation ends with a turn that waits to be continued.
pub(super) fn is_paused(messages: &[ChatMessage], provider: &str) -> bool {
    let Some(ChatMessage::Assistant { text, .. }) = messages.last() else { return false };
    // The mark of a pause that is over stays in the message, but not at its end.
    let newest = latest(messages, provider).rfind(|thought| thought.opaque.get(CONTAINER).is_none());
    newest.is_some_and(|thought| {
        thought.opaque.get(PAUSED).is_some() && thought.opaque["after_text"] == text.len()
    })
}

/// The container of the turn that goes on: one of an earlier turn may be gone.
pub(super) fn container<'a>(messages: &'a [ChatMessage], provider: &str) -> Option<&'a str> {
    let is_going_on = match messages.last() {
        Some(ChatMessage::Tool { .. }) => true,
        _ => is_paused(messages, provider),
    };
    let mut named = latest(messages, provider).rev();
    named.find_map(|thought| thought.opaque.get(CONTAINER)?.as_str()).filter(|_| is_going_on)
}

/// The thoughts of the model's last message.
fn latest<'a>(messages: &'a [ChatMessage], provider: &str) -> impl DoubleEndedIterator<Item = &'a Thought> {
    let last = messages.iter().rev().find_map(|message| match message {
        ChatMessage::Assistant { thoughts, .. } => Some(thoughts.as_slice()),
        _ => None,
    });
    last.unwrap_or_default().iter().filter(move |thought| thought.provider == provider)
}
