//! The Responses API of OpenAI, without state on its side: the whole conversation goes along each time.
//!
//! Settings in `Target::options`, all optional:
//!
//! | name | values | default |
//! |---|---|---|
//! | `dialect` | `openai`, `azure` | `openai` |
//! | `path` | the path of the call | `/v1/responses`; for Azure by `api_version` |
//! | `api_version` | Azure: the dated version, as in `2025-04-01-preview` | none, which is the `/openai/v1` of today |
//! | `summary` | `auto`, `concise`, `detailed`, `none`: in which words thinking is told | `auto` |
//! | `encrypted_reasoning` | whether to ask for reasoning that can go back | where the model is known to think |
//! | `strict_schema` | whether the schema of an answer is brought into the form that strict decoding needs | true |
//! | `tools` | tools that the provider runs, as it writes them: `[{"type": "web_search"}]` | none |
//!
//! Reasoning, and what the provider's own tools did, go back as the items that they came as.

mod input;
mod items;
mod open;
mod request;
mod stream;

use std::time::Duration;

use harn_core::chat::ModelRequest;

use super::openai_chat::{error, exhausted};
use super::require_content;
use crate::{Codec, Decoder, Headers, HttpCall, ModelError, Target};

pub struct OpenAiResponsesCodec;

impl Codec for OpenAiResponsesCodec {
    fn call(&self, request: &ModelRequest, target: &Target) -> Result<HttpCall, ModelError> {
        require_content(request)?;
        request::call(request, target)
    }

    fn decoder(&self, request: &ModelRequest, target: &Target) -> Box<dyn Decoder> {
        Box::new(stream::ResponsesDecoder::new(request, target))
    }

    fn refusal(&self, status: u16, _headers: &Headers, body: &[u8]) -> ModelError {
        error::refusal(status, body)
    }

    fn wait(&self, headers: &Headers) -> Option<Duration> {
        exhausted(headers)
    }
}
