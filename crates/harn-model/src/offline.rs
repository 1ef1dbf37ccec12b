//! The offline model: follows a few plainly worded requests, deterministically and without a network.

mod command;
mod summary;

use futures::{StreamExt, stream};
use harn_core::chat::{ChatMessage, ModelAnswer, ModelRef, ModelRequest, StopReason, Usage};
use harn_core::price::Prices;
use harn_core::tool::ToolCall;

use crate::pieces::pieces;
use crate::{Chunk, Model, ModelCard, ModelStream};
use command::Command;

const INTRODUCTION: &str = "\
I am Harn's offline model: no provider is configured. I do not understand free text, only these requests, \
one per line:
  list files
  list files in DIR
  read FILE
  write FILE: CONTENT
  replace OLD with NEW in FILE
  run COMMAND
  ask QUESTION
Configure a model provider to talk freely.";

const NOTHING_NEW: &str = "There is no new request and no new tool result to answer.";

/// Enough that a client sees a stream, and few enough to read in a log.
const TEXT_PIECES: usize = 3;

/// Answers when no provider is configured. The same request always gives the same answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct OfflineModel;

impl Model for OfflineModel {
    fn reference(&self) -> ModelRef {
        ModelRef { provider: "offline".into(), model: "offline-1".into() }
    }

    fn card(&self) -> ModelCard {
        ModelCard { prices: Some(Prices::free()), ..ModelCard::default() }
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        stream::iter(chunks(answer(&request)).into_iter().map(Ok)).boxed()
    }
}

fn chunks(answer: ModelAnswer) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = pieces(&answer.text, TEXT_PIECES).into_iter().map(Chunk::Text).collect();
    chunks.extend(answer.tool_calls.into_iter().map(|ToolCall { id, name, args }| Chunk::ToolCall {
        id,
        name,
        args,
    }));
    chunks.extend([Chunk::Usage(answer.usage), Chunk::Stop(answer.stop)]);
    chunks
}

fn answer(request: &ModelRequest) -> ModelAnswer {
    // A system message among the others is a note about the conversation, not a turn in it.
    let newest = request.messages.iter().rev().find(|message| !matches!(message, ChatMessage::System { .. }));
    let (text, tool_calls) = match newest {
        Some(ChatMessage::User { text, .. }) => obey(text, request),
        Some(ChatMessage::Tool { .. }) => (summary::of_turn(&request.messages), Vec::new()),
        // Obeying an old request once more would repeat its effects.
        Some(ChatMessage::Assistant { .. }) => (NOTHING_NEW.to_owned(), Vec::new()),
        Some(ChatMessage::System { .. }) | None => (INTRODUCTION.to_owned(), Vec::new()),
    };
    let stop = if tool_calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    let usage = Usage::new(
        tokens(letters(&request.system) + request.messages.iter().map(size).sum::<usize>()),
        tokens(letters(&text) + tool_calls.iter().map(call_size).sum::<usize>()),
    );
    ModelAnswer { text, tool_calls, usage, ..ModelAnswer::stopped(stop) }
}

fn obey(text: &str, request: &ModelRequest) -> (String, Vec<ToolCall>) {
    let commands = command::parse(text);
    if commands.is_empty() {
        return (INTRODUCTION.to_owned(), Vec::new());
    }
    let (offered, missing): (Vec<Command>, Vec<Command>) =
        commands.into_iter().partition(|command| request.tools.iter().any(|tool| tool.name == command.tool));
    let refusals: Vec<String> = missing.iter().map(refusal).collect();
    let earlier = calls_so_far(&request.messages);
    let calls = offered
        .into_iter()
        .enumerate()
        .map(|(i, command)| ToolCall {
            id: format!("call_{}", earlier + i + 1),
            name: command.tool.to_owned(),
            args: command.args,
        })
        .collect();
    (refusals.join("\n"), calls)
}

fn refusal(command: &Command) -> String {
    format!("I may not use {}: it is not among the tools of this session.", command.tool)
}

fn calls_so_far(messages: &[ChatMessage]) -> usize {
    let calls = |message: &ChatMessage| match message {
        ChatMessage::Assistant { tool_calls, .. } => tool_calls.len(),
        ChatMessage::System { .. } | ChatMessage::User { .. } | ChatMessage::Tool { .. } => 0,
    };
    messages.iter().map(calls).sum()
}

/// Four letters to a token is near enough for a model that costs nothing.
fn tokens(letters: usize) -> u64 {
    (letters as u64 / 4).max(1)
}

fn letters(text: &str) -> usize {
    text.chars().count()
}

fn size(message: &ChatMessage) -> usize {
    match message {
        ChatMessage::System { text } | ChatMessage::User { text, .. } => letters(text),
        ChatMessage::Assistant { text, tool_calls, .. } => {
            letters(text) + tool_calls.iter().map(call_size).sum::<usize>()
        }
        ChatMessage::Tool { output, .. } => letters(output),
    }
}

fn call_size(call: &ToolCall) -> usize {
    letters(&call.name) + serde_json::to_string(&call.args).map_or(0, |args| letters(&args))
}

#[cfg(test)]
mod tests;
