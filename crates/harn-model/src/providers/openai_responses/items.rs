//! Items of an output: what each kind of them means.

use harn_core::chat::ProviderToolUse;
use serde_json::{Map, Value};

/// An item that is whole.
pub(super) enum Item<'a> {
    Message {
        text: String,
        refusal: String,
    },
    Reasoning {
        words: String,
        goes_back: bool,
    },
    Call {
        id: &'a str,
        name: &'a str,
        arguments: Option<String>,
        is_whole: bool,
    },
    /// A tool that the provider ran. `awaits` names what it expects us to do, where it did not run it.
    ProviderTool {
        used: ProviderToolUse,
        awaits: Option<&'a str>,
    },
    /// Something that has to go back, and shows nothing.
    Opaque,
    Unknown,
}

/// Calls that the provider does not run: an answer with one of them is not at its end.
const OURS_TO_RUN: [&str; 5] =
    ["custom_tool_call", "computer_call", "local_shell_call", "apply_patch_call", "mcp_approval_request"];
/// Parts of a tool's item that say what came of it; all others say what was asked.
const OUTPUT: [&str; 5] = ["results", "result", "outputs", "output", "tools"];

pub(super) fn read(item: &Value) -> Item<'_> {
    let text = |name: &str| item.get(name).and_then(Value::as_str).unwrap_or_default();
    match text("type") {
        "message" => {
            Item::Message { text: words(item, "content", "text"), refusal: words(item, "content", "refusal") }
        }
        "reasoning" => {
            let summary = words(item, "summary", "text");
            let words = if summary.is_empty() { words(item, "content", "text") } else { summary };
            // Without its encrypted content an item is a reference into a store that we do not use.
            Item::Reasoning { words, goes_back: !text("encrypted_content").is_empty() }
        }
        "function_call" => Item::Call {
            id: if text("call_id").is_empty() { text("id") } else { text("call_id") },
            name: text("name"),
            arguments: arguments(item.get("arguments")),
            is_whole: !matches!(text("status"), "incomplete" | "in_progress"),
        },
        "tool_search_output" | "mcp_list_tools" | "compaction" => Item::Opaque,
        // What came of a call that has an item of its own.
        kind if kind.ends_with("_call_output") => Item::Opaque,
        kind if kind.ends_with("_call") || OURS_TO_RUN.contains(&kind) => {
            let place = item.pointer("/environment/type").and_then(Value::as_str);
            let is_ours = match kind {
                "tool_search_call" => text("execution") == "client",
                "shell_call" => place == Some("local"),
                kind => OURS_TO_RUN.contains(&kind),
            };
            let awaits = is_ours.then_some(kind);
            Item::ProviderTool { used: provider_tool(kind, item), awaits }
        }
        _ => Item::Unknown,
    }
}

/// Arguments as text; some servers send the object itself.
pub(super) fn arguments(value: Option<&Value>) -> Option<String> {
    match value {
        None | Some(Value::Null) => None,
        Some(Value::String(text)) => Some(text.clone()),
        Some(other) => Some(other.to_string()),
    }
}

fn words(item: &Value, list: &str, field: &str) -> String {
    let parts = item.get(list).and_then(Value::as_array).into_iter().flatten();
    let words: Vec<&str> = parts.filter_map(|part| part.get(field)?.as_str()).collect();
    // Parts of a summary are paragraphs; parts of a message are one text.
    words.join(if list == "summary" { "\n\n" } else { "" })
}

fn provider_tool(kind: &str, item: &Value) -> ProviderToolUse {
    let mut input = Map::new();
    let mut output = Map::new();
    for (name, value) in item.as_object().into_iter().flatten() {
        match name.as_str() {
            "type" | "id" | "status" => {}
            _ if value.is_null() => {}
            name if OUTPUT.contains(&name) || name == "error" => {
                drop(output.insert(name.into(), value.clone()))
            }
            name => drop(input.insert(name.into(), value.clone())),
        }
    }
    ProviderToolUse {
        name: kind.strip_suffix("_call").unwrap_or(kind).to_owned(),
        input: input.into(),
        output: (!output.is_empty()).then(|| output.into()),
    }
}
