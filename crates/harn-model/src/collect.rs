//! Assembles a whole answer from its stream.

use std::collections::{HashMap, HashSet};
use std::pin::pin;

use futures::{Stream, TryStreamExt};
use harn_core::chat::{ModelAnswer, PartialCall, ProviderToolUse, StopReason, Thought, Usage};
use harn_core::tool::ToolCall;

use crate::{Chunk, ModelError};

/// Of broken arguments, this much is quoted in an error.
const QUOTED: usize = 200;

/// Reads up to `Stop` and returns the answer. To watch the chunks as they pass, put `inspect_ok` on the
/// stream. Whether the stop reason fits the answer is for the caller to judge.
pub async fn collect(
    stream: impl Stream<Item = Result<Chunk, ModelError>>,
) -> Result<ModelAnswer, ModelError> {
    let mut stream = pin!(stream);
    let mut assembly = Assembly::default();
    loop {
        match stream.try_next().await {
            Ok(Some(Chunk::Stop(stop))) => return Ok(assembly.finish(stop)),
            Ok(Some(chunk)) => assembly.add(chunk),
            Ok(None) => {
                let message = "the stream ended without a stop reason".into();
                return Err(assembly.explain(ModelError::CutStream { message }));
            }
            Err(error) => return Err(assembly.explain(error)),
        }
    }
}

#[derive(Default)]
struct Assembly {
    text: String,
    thinking: String,
    thoughts: Vec<Thought>,
    tool_calls: Vec<ToolCall>,
    provider_tools: Vec<ProviderToolUse>,
    partial_calls: Vec<PartialCall>,
    ids: HashSet<String>,
    /// The next number to try for an id that came before.
    numbers: HashMap<String, u32>,
    usage: Usage,
}

impl Assembly {
    fn add(&mut self, chunk: Chunk) {
        match chunk {
            Chunk::Text(piece) => self.text.push_str(&piece),
            Chunk::Thinking(piece) => self.thinking.push_str(&piece),
            Chunk::Thought(thought) => self.thoughts.push(thought),
            Chunk::ToolCall { id, name, args } => {
                let id = self.unique(id);
                self.tool_calls.push(ToolCall { id, name, args });
            }
            Chunk::PartialCall(call) => self.partial_calls.push(call),
            Chunk::ProviderTool(used) => self.provider_tools.push(used),
            Chunk::Restart => *self = Self::default(),
            Chunk::Usage(usage) => self.usage += usage,
            Chunk::Stop(_) => {}
        }
    }

    /// The id as it came, or with the lowest free number: results are matched to calls by id alone, and some
    /// servers give none at all.
    fn unique(&mut self, id: String) -> String {
        let id = if id.is_empty() { "call".to_owned() } else { id };
        let mut candidate = id.clone();
        while !self.ids.insert(candidate.clone()) {
            // Counting on from the last one keeps a flood of equal ids cheap.
            let number = self.numbers.entry(id.clone()).or_insert(2);
            candidate = format!("{id}_{number}");
            *number += 1;
        }
        candidate
    }

    /// Says which calls broke off, where that may be the cause.
    fn explain(&self, error: ModelError) -> ModelError {
        let broken = matches!(error, ModelError::CutStream { .. } | ModelError::Malformed { .. });
        let mut message = error.message().to_owned();
        for PartialCall { name, raw, .. } in self.partial_calls.iter().filter(|_| broken) {
            let shown: String = raw.chars().take(QUOTED).collect();
            let more = if shown.len() < raw.len() { "…" } else { "" };
            message.push_str(&format!("; the call of `{name}` got as far as `{shown}{more}`"));
        }
        error.with_message(message)
    }

    fn finish(self, stop: StopReason) -> ModelAnswer {
        let Self { text, thinking, thoughts, tool_calls, provider_tools, partial_calls, usage, .. } = self;
        ModelAnswer {
            text,
            thinking,
            thoughts,
            tool_calls,
            provider_tools,
            partial_calls,
            usage,
            ..ModelAnswer::stopped(stop)
        }
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use serde_json::{Map, json};

    use super::*;

    fn call(id: &str) -> Chunk {
        Chunk::ToolCall { id: id.into(), name: "read_file".into(), args: Map::new() }
    }

    async fn collected(chunks: Vec<Result<Chunk, ModelError>>) -> Result<ModelAnswer, ModelError> {
        collect(stream::iter(chunks)).await
    }

    #[tokio::test]
    async fn chunks_become_one_answer_in_their_order() {
        let args = json!({"path": "a.txt"}).as_object().unwrap().clone();
        let answer = collected(vec![
            Ok(Chunk::Thinking("let ".into())),
            Ok(Chunk::Text("I ".into())),
            Ok(Chunk::Usage(Usage::new(7, 0))),
            Ok(Chunk::Thinking("me".into())),
            Ok(Chunk::Text("read".into())),
            Ok(Chunk::ToolCall { id: "c1".into(), name: "read_file".into(), args: args.clone() }),
            Ok(Chunk::Usage(Usage::new(0, 3))),
            Ok(Chunk::Stop(StopReason::ToolUse)),
        ])
        .await;
        let expected = ModelAnswer {
            text: "I read".into(),
            thinking: "let me".into(),
            tool_calls: vec![ToolCall { id: "c1".into(), name: "read_file".into(), args }],
            usage: Usage::new(7, 3),
            ..ModelAnswer::stopped(StopReason::ToolUse)
        };
        assert_eq!(answer, Ok(expected));
    }

    #[tokio::test]
    async fn repeated_call_ids_become_unique_in_the_same_way_each_time() {
        let cases: [(&[&str], &[&str]); 6] = [
            (&["a", "b"], &["a", "b"]),
            (&["a", "a"], &["a", "a_2"]),
            (&["a", "a", "a"], &["a", "a_2", "a_3"]),
            (&["a", "a_2", "a"], &["a", "a_2", "a_3"]),
            (&["a", "a", "a_2"], &["a", "a_2", "a_2_2"]),
            (&["", "", "call"], &["call", "call_2", "call_3"]),
        ];
        for (given, expected) in cases {
            let mut chunks: Vec<_> = given.iter().map(|id| Ok(call(id))).collect();
            chunks.push(Ok(Chunk::Stop(StopReason::ToolUse)));
            let answer = collected(chunks).await.unwrap();
            let ids: Vec<_> = answer.tool_calls.iter().map(|call| call.id.as_str()).collect();
            assert_eq!(ids, expected, "{given:?}");
        }
    }

    #[tokio::test]
    async fn a_flood_of_equal_ids_is_numbered_in_no_time() {
        let calls = (0..100_000).map(|_| Ok(call("a"))).chain([Ok(Chunk::Stop(StopReason::ToolUse))]);
        let answer = collected(calls.collect()).await.unwrap();
        assert_eq!(answer.tool_calls.last().map(|call| call.id.as_str()), Some("a_100000"));
    }

    #[tokio::test]
    async fn a_stream_without_a_stop_is_cut_and_an_error_is_passed_on() {
        let text = || Ok(Chunk::Text("half".into()));
        let refused = ModelError::Overloaded { message: "later".into() };
        let cases = [
            (vec![], "cut_stream"),
            (vec![text()], "cut_stream"),
            (vec![Ok(call("a"))], "cut_stream"),
            (vec![text(), Err(refused.clone()), Ok(Chunk::Stop(StopReason::EndTurn))], "overloaded"),
        ];
        for (chunks, code) in cases {
            let error = collected(chunks.clone()).await.unwrap_err();
            assert_eq!(error.code(), code, "{chunks:?}");
        }
    }

    #[tokio::test]
    async fn a_call_that_broke_off_is_told_in_the_error_and_kept_in_an_answer() {
        let partial = |raw: String| PartialCall { id: "c".into(), name: "write_file".into(), raw };
        let cut = vec![Ok(Chunk::PartialCall(partial("{\"path\": \"a".into())))];
        let message =
            "the stream ended without a stop reason; the call of `write_file` got as far as `{\"path\": \"a`";
        assert_eq!(collected(cut).await, Err(ModelError::CutStream { message: message.into() }));

        let limited = ModelError::RateLimited { message: "later".into(), retry_after_ms: None };
        let unrelated = vec![Ok(Chunk::PartialCall(partial("{".into()))), Err(limited.clone())];
        assert_eq!(collected(unrelated).await, Err(limited));

        let long = vec![Ok(Chunk::PartialCall(partial("ä".repeat(10_000))))];
        assert!(collected(long).await.unwrap_err().message().len() < 600);

        let stopped =
            vec![Ok(Chunk::PartialCall(partial("{".into()))), Ok(Chunk::Stop(StopReason::MaxTokens))];
        let expected = ModelAnswer {
            partial_calls: vec![partial("{".into())],
            ..ModelAnswer::stopped(StopReason::MaxTokens)
        };
        assert_eq!(collected(stopped).await, Ok(expected));
    }

    #[tokio::test]
    async fn thoughts_and_provider_tools_are_kept_and_a_restart_voids_everything() {
        let thought = Thought { provider: "p".into(), text: "hm".into(), opaque: json!({"signature": "s"}) };
        let used = ProviderToolUse { name: "web_search".into(), input: json!({"q": 1}), output: None };
        let chunks = vec![
            Ok(Chunk::Text("void".into())),
            Ok(call("a")),
            Ok(Chunk::Usage(Usage::new(1, 1))),
            Ok(Chunk::Restart),
            Ok(Chunk::Thought(thought.clone())),
            Ok(Chunk::ProviderTool(used.clone())),
            Ok(call("a")),
            Ok(Chunk::Stop(StopReason::ToolUse)),
        ];
        let expected = ModelAnswer {
            thoughts: vec![thought],
            provider_tools: vec![used],
            tool_calls: vec![ToolCall { id: "a".into(), name: "read_file".into(), args: Map::new() }],
            ..ModelAnswer::stopped(StopReason::ToolUse)
        };
        assert_eq!(collected(chunks).await, Ok(expected));
    }

    #[tokio::test]
    async fn stop_reasons_are_passed_through_as_they_are() {
        let reasons = [
            StopReason::EndTurn,
            StopReason::ToolUse,
            StopReason::MaxTokens,
            StopReason::Refusal,
            StopReason::Other("paused".into()),
        ];
        for stop in reasons {
            let answer = collected(vec![Ok(Chunk::Stop(stop.clone()))]).await.unwrap();
            assert_eq!(answer.stop, stop);
        }
    }

    #[tokio::test]
    async fn nothing_is_awaited_after_the_stop() {
        let chunks = stream::iter([Ok(Chunk::Stop(StopReason::EndTurn))]);
        let lingering = futures::StreamExt::chain(chunks, stream::pending());
        assert!(collect(lingering).await.is_ok());
    }
}
