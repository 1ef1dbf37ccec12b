//! Google's Gemini API, `generateContent` and `streamGenerateContent` of `v1beta`.
//!
//! Settings in `Target::options`:
//! - `schema`: `json` (the default) declares tools and answers in JSON Schema; `openapi` translates them to the older
//!   subset of OpenAPI, for gateways that know nothing else.
//! - `tools`: a list of tools that Google runs, such as `{"googleSearch": {}}`, as the API takes them.
//! - `generation_config`: put into `generationConfig`, such as `temperature`.
//! - `include_thoughts`: `false` to get no summaries of thoughts.

mod contents;
mod error;
mod family;
mod layout;
mod output;
mod request;
mod schema;
mod server_tools;
mod stream;

use harn_core::chat::ModelRequest;

use super::require_content;
use crate::{Codec, Decoder, Headers, HttpCall, ModelError, Target};

/// Use it with `Auth::Header("x-goog-api-key")`.
pub struct GeminiCodec;

impl Codec for GeminiCodec {
    fn call(&self, request: &ModelRequest, target: &Target) -> Result<HttpCall, ModelError> {
        require_content(request)?;
        request::call(request, target)
    }

    fn decoder(&self, request: &ModelRequest, target: &Target) -> Box<dyn Decoder> {
        Box::new(stream::GeminiDecoder::new(request, target))
    }

    fn refusal(&self, status: u16, _: &Headers, body: &[u8]) -> ModelError {
        error::refusal(status, body)
    }
}
