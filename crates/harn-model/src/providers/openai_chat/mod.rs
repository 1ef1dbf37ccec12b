//! Chat Completions of OpenAI, and of the many servers that speak it in dialects of their own.
//!
//! Settings in `Target::options`, all optional:
//!
//! | name | values | default |
//! |---|---|---|
//! | `dialect` | `openai`, `azure`, `vllm`, `llama.cpp`, `lmstudio`, `openrouter`, `deepseek`, `groq`, `mistral`, `generic` | `generic` |
//! | `path` | the path of the call | `/v1/chat/completions`; for Azure by `api_version` |
//! | `api_version` | Azure: the dated version, as in `2024-10-21` | none, which is the `/openai/v1` of today |
//! | `deployment` | Azure with `api_version`: the deployment's name | the model's name |
//! | `max_tokens_field` | `max_tokens`, `max_completion_tokens` | by dialect |
//! | `stream_usage` | whether to ask for the usage of a stream | by dialect |
//! | `think_tags` | whether a `<think>` block at the beginning of an answer is its reasoning | by dialect |
//! | `strict_schema` | whether the schema of an answer is brought into the form that strict decoding needs | by dialect |
//! | `reasoning_back` | `never`, `tool_turns`, `always`: which turns take their reasoning back to the server | by dialect |
//!
//! The credential of Azure goes in `Auth::Header("api-key")`.

mod calls;
mod choice;
mod dialect;
pub(super) mod error;
mod executed;
mod family;
mod messages;
mod request;
pub(super) mod schema;
pub(super) mod shape;
mod stream;
mod thinking;
mod usage;
mod wait;

use std::time::Duration;

use harn_core::chat::ModelRequest;

use super::require_content;
use crate::{Codec, Decoder, Headers, HttpCall, ModelError, Target};

pub(super) use dialect::{azure_path, flag, word};
pub(super) use messages::{data_url, file_name, left_out};
pub(super) use request::{choice_word, parameters};
pub(super) use thinking::effort_word;
pub(super) use usage::{bounded, count};
pub(super) use wait::exhausted;

pub struct OpenAiChatCodec;

impl Codec for OpenAiChatCodec {
    fn call(&self, request: &ModelRequest, target: &Target) -> Result<HttpCall, ModelError> {
        require_content(request)?;
        request::call(request, target)
    }

    fn decoder(&self, request: &ModelRequest, target: &Target) -> Box<dyn Decoder> {
        Box::new(stream::ChatDecoder::new(request, target))
    }

    fn refusal(&self, status: u16, _headers: &Headers, body: &[u8]) -> ModelError {
        error::refusal(status, body)
    }

    fn wait(&self, headers: &Headers) -> Option<Duration> {
        wait::exhausted(headers)
    }
}
