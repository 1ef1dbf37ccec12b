//! Assembles a whole answer from its stream.

use std::collections::HashSet;
use std::pin::pin;

use futures::{Stream, TryStreamExt};
use harn_core::chat::{ModelAnswer, StopReason, Usage};
use harn_core::tool::ToolCall;

use crate::{Chunk, ModelError};

/// Reads up to `Stop` and returns the answer. To watch the chunks as they pass, put `inspect_ok` on the
/// stream. Whether the stop reason fits the answer is for the caller to judge.
pub async fn collect(
    stream: impl Stream<Item = Result<Chunk, ModelError>>,
) -> Result<ModelAnswer, ModelError> {
    let mut stream = pin!(stream);
    let mut assembly = Assembly::default();
    while let Some(chunk) = stream.try_next().await? {
        match chunk {
            Chunk::Text(piece) => assembly.text.push_str(&piece),
            Chunk::Thinking(piece) => assembly.thinking.push_str(&piece),
            Chunk::ToolCall { id, name, args } => {
                let id = assembly.unique(id);
                assembly.tool_calls.push(ToolCall { id, name, args });
            }
            Chunk::Usage(usage) => assembly.usage += usage,
            Chunk::Stop(stop) => return Ok(assembly.finish(stop)),
        }
    }
    Err(ModelError::CutStream { message: "the stream ended without a stop reason".into() })
}

#[derive(Default)]
struct Assembly {
    text: String,
    thinking: String,
    tool_calls: Vec<ToolCall>,
    ids: HashSet<String>,
    usage: Usage,
}

impl Assembly {
    /// The id as it came, or with the lowest free number: results are matched to calls by id alone.
    fn unique(&mut self, id: String) -> String {
        let mut candidate = id.clone();
        let mut number = 2_u32;
        while !self.ids.insert(candidate.clone()) {
            candidate = format!("{id}_{number}");
            number += 1;
        }
        candidate
    }

    fn finish(self, stop: StopReason) -> ModelAnswer {
        let Self { text, thinking, tool_calls, usage, .. } = self;
        ModelAnswer { text, thinking, tool_calls, stop, usage }
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
            Ok(Chunk::Usage(Usage { input_tokens: 7, output_tokens: 0 })),
            Ok(Chunk::Thinking("me".into())),
            Ok(Chunk::Text("read".into())),
            Ok(Chunk::ToolCall { id: "c1".into(), name: "read_file".into(), args: args.clone() }),
            Ok(Chunk::Usage(Usage { input_tokens: 0, output_tokens: 3 })),
            Ok(Chunk::Stop(StopReason::ToolUse)),
        ])
        .await;
        let expected = ModelAnswer {
            text: "I read".into(),
            thinking: "let me".into(),
            tool_calls: vec![ToolCall { id: "c1".into(), name: "read_file".into(), args }],
            stop: StopReason::ToolUse,
            usage: Usage { input_tokens: 7, output_tokens: 3 },
        };
        assert_eq!(answer, Ok(expected));
    }

    #[tokio::test]
    async fn repeated_call_ids_become_unique_in_the_same_way_each_time() {
        let cases: [(&[&str], &[&str]); 5] = [
            (&["a", "b"], &["a", "b"]),
            (&["a", "a"], &["a", "a_2"]),
            (&["a", "a", "a"], &["a", "a_2", "a_3"]),
            (&["a", "a_2", "a"], &["a", "a_2", "a_3"]),
            (&["a", "a", "a_2"], &["a", "a_2", "a_2_2"]),
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
