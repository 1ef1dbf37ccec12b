//! When a conversation grows too long for its model: which part gives way, how it is summarised, and what its summary
//! must not lose. No I/O.

use std::collections::BTreeSet;
use std::sync::Arc;

use harn_core::chat::{ChatMessage, Media};
use harn_core::run::{Compaction, CompactionStrategy, Limits};

use crate::large::middle_cut;
use crate::media::word;
use crate::tokens;

/// Of a tool's output, a summariser needs no more than its beginning and end.
const SHOWN_OUTPUT: usize = 2000;
/// References listed in a summary; more would be a transcript again.
const MAX_REFERENCES: usize = 100;

pub const SUMMARISER: &str = "You summarise the earlier part of a conversation between a person and an agent that \
    works with tools, so that the agent can go on without it. Keep: what the person wants and every constraint they \
    gave, decisions and their reasons, what was done and with which result, files and commands that matter, what is \
    still open. Leave out what no longer matters. Plain text, at most 800 words.";

/// From this many tokens on, the conversation is compacted before the next call.
pub fn threshold(limits: &Limits) -> u64 {
    let room = limits.context_window.saturating_sub(limits.max_output_tokens.into());
    room / 10 * 8
}

/// How many of the oldest messages give way: as many as leave about a quarter of the window in use. A cut never
/// parts a call from its result, and always leaves something on both sides; none if there is no such place.
pub fn split(messages: &[ChatMessage], limits: &Limits) -> Option<usize> {
    let wanted = threshold(limits) / 3;
    let mut kept = 0;
    let mut best = None;
    for (index, message) in messages.iter().enumerate().rev() {
        kept += tokens::estimate(std::slice::from_ref(message));
        let whole = !matches!(message, ChatMessage::Tool { .. });
        if whole && index > 0 && (kept <= wanted || best.is_none()) {
            best = Some(index);
        }
        if kept > wanted && best.is_some() {
            break;
        }
    }
    best
}

/// The older part as one text for a summariser, cut where a single output is long.
pub fn as_text(dropped: &[ChatMessage], limits: &Limits) -> String {
    let mut text = String::from("Summarise this conversation:\n");
    for message in dropped {
        let (who, said) = match message {
            ChatMessage::System { text } => ("system".to_owned(), text.clone()),
            ChatMessage::User { text, .. } => ("person".to_owned(), text.clone()),
            ChatMessage::Assistant { text, tool_calls, .. } => {
                let calls = tool_calls.iter().map(|call| {
                    let args = serde_json::Value::Object(call.args.clone()).to_string();
                    format!("\n[calls {} with {}]", call.name, shortened(&args))
                });
                ("agent".to_owned(), format!("{text}{}", calls.collect::<String>()))
            }
            ChatMessage::Tool { name, output, media, .. } => {
                (format!("result of {name}"), format!("{}{}", shortened(output), named(media)))
            }
        };
        text.push_str(&format!("\n{who}: {said}\n"));
    }
    // A summariser has the same window: what does not fit is cut from the middle.
    let room = usize::try_from(threshold(limits).saturating_mul(3)).unwrap_or(usize::MAX);
    middle_cut(&text, room / 2, room / 2)
}

/// A summariser is not shown what the tools showed, only that they did. What people showed is named in their words.
fn named(media: &[Media]) -> String {
    media.iter().map(|medium| format!("\n[{}]", word(&medium.mime_type))).collect()
}

fn shortened(text: &str) -> String {
    middle_cut(text, SHOWN_OUTPUT / 2, SHOWN_OUTPUT / 2)
}

/// The compaction itself. References are listed by us, whatever the model wrote.
pub fn compaction(messages: &[ChatMessage], split: usize, summary: Option<&str>, fixed: u64) -> Compaction {
    let (dropped, kept) = messages.split_at(split);
    let (strategy, told) = match summary.map(str::trim).filter(|summary| !summary.is_empty()) {
        Some(summary) => (CompactionStrategy::Summary, summary.to_owned()),
        None => (
            CompactionStrategy::Truncate,
            "The earlier part of this conversation had to be left out and could not be summarised."
                .to_owned(),
        ),
    };
    let mut text = format!("[Summary of the earlier conversation, {} messages]\n{told}", dropped.len());
    let references = references(dropped);
    if !references.is_empty() {
        text.push_str("\n\nReferred to so far:\n");
        text.push_str(&references.into_iter().collect::<Vec<_>>().join("\n"));
    }
    let summary: Arc<str> = text.into();
    let after = [std::slice::from_ref(&stand_in(&summary)), kept].concat();
    Compaction {
        strategy,
        dropped: dropped.into(),
        kept: kept.len(),
        tokens_before: tokens::estimate(messages) + fixed,
        tokens_after: tokens::estimate(&after) + fixed,
        summary,
    }
}

/// What stands in the place of the dropped messages.
pub fn stand_in(summary: &str) -> ChatMessage {
    ChatMessage::user(summary)
}

/// Artifacts and files that the dropped part names, so that nothing becomes unfindable.
fn references(dropped: &[ChatMessage]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for message in dropped {
        match message {
            ChatMessage::Assistant { text, tool_calls, .. } => {
                artifacts(text, &mut found);
                let paths = tool_calls.iter().filter_map(|call| call.args.get("path")?.as_str());
                found.extend(paths.map(|path| format!("file {path}")));
            }
            ChatMessage::System { text } | ChatMessage::User { text, .. } => artifacts(text, &mut found),
            ChatMessage::Tool { output, .. } => artifacts(output, &mut found),
        }
    }
    found.into_iter().take(MAX_REFERENCES).collect()
}

fn artifacts(text: &str, found: &mut BTreeSet<String>) {
    for (at, _) in text.match_indices("artifact_") {
        let rest = &text[at..];
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        if end > "artifact_".len() + 8 {
            found.insert(rest[..end].to_owned());
        }
    }
}
