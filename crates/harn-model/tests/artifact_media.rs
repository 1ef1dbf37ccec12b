//! A medium whose content nobody filled in never leaves the harness, whatever the wire format.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, dead_code)]

mod support;

use harn_core::chat::{ChatMessage, Media, MediaSource};
use harn_core::tool::{ToolCall, ToolOutcome};
use harn_model::providers::anthropic::AnthropicCodec;
use harn_model::providers::gemini::GeminiCodec;
use harn_model::providers::ollama::OllamaCodec;
use harn_model::providers::openai_chat::OpenAiChatCodec;
use harn_model::providers::openai_responses::OpenAiResponsesCodec;
use harn_model::{Auth, Codec, ModelError, Target};
use support::request;

fn conversations(source: &MediaSource) -> [Vec<ChatMessage>; 2] {
    let media = || vec![Media { mime_type: "image/png".into(), source: source.clone() }];
    let call = ToolCall { id: "c".into(), name: "look".into(), args: Default::default() };
    let result = ChatMessage::Tool {
        call_id: "c".into(),
        name: "look".into(),
        outcome: ToolOutcome::Ok,
        output: "see".into(),
        media: media(),
    };
    let asked = ChatMessage::assistant("", vec![call]);
    [
        vec![ChatMessage::User { text: "look".into(), media: media() }],
        vec![ChatMessage::user("look"), asked, result],
    ]
}

#[test]
fn every_codec_refuses_a_reference_and_takes_content() {
    let codecs: [(&str, &dyn Codec); 5] = [
        ("anthropic", &AnthropicCodec),
        ("gemini", &GeminiCodec),
        ("ollama", &OllamaCodec),
        ("openai_chat", &OpenAiChatCodec),
        ("openai_responses", &OpenAiResponsesCodec),
    ];
    let refusal = ModelError::InvalidRequest {
        message: "the content of artifact_1 was not filled in before the call".into(),
    };
    for (name, codec) in codecs {
        let target = Target::new("p", "m", "https://a.example", Auth::Bearer);
        for messages in conversations(&MediaSource::Artifact("artifact_1".into())) {
            assert_eq!(codec.call(&request(messages), &target), Err(refusal.clone()), "{name}");
        }
        for messages in conversations(&MediaSource::Data("AAAA".into())) {
            let body = codec.call(&request(messages), &target).unwrap().body.to_string();
            assert!(body.contains("AAAA"), "{name}: {body}");
        }
    }
}
