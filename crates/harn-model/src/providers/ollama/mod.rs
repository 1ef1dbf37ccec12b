//! Ollama's own API, `/api/chat`, one JSON value per line.
//!
//! Settings in `Target::options`:
//! - `num_ctx`: the context window to load the model with; without it the one that the model is known to have. Ollama's
//!   own default is small, and it drops the beginning of a conversation that does not fit without a word.
//! - `keep_alive`: how long the model stays loaded, such as `"10m"` or `-1`.
//! - `options`: put into the request's `options`, such as `temperature`.

mod error;
mod messages;
mod output;
mod request;
mod stream;
mod think;

use harn_core::chat::ModelRequest;

use super::require_content;
use crate::{Codec, Decoder, Headers, HttpCall, ModelError, Target};

/// Use it with `Auth::None`, or with `Auth::Bearer` for Ollama's cloud.
pub struct OllamaCodec;

impl Codec for OllamaCodec {
    fn call(&self, request: &ModelRequest, target: &Target) -> Result<HttpCall, ModelError> {
        require_content(request)?;
        Ok(request::call(request, target))
    }

    fn decoder(&self, request: &ModelRequest, target: &Target) -> Box<dyn Decoder> {
        Box::new(stream::OllamaDecoder::new(request, target))
    }

    fn refusal(&self, status: u16, _: &Headers, body: &[u8]) -> ModelError {
        error::refusal(status, body)
    }
}
