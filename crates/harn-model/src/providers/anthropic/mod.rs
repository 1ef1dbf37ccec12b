//! Anthropic's Messages API, and the many servers that speak it too.
//!
//! Options of a target that this format understands:
//!
//! | option | value |
//! |---|---|
//! | `betas` | names for the header `anthropic-beta` |
//! | `server_tools` | tools that the provider runs itself, as it describes them |
//! | `version` | the header `anthropic-version`; without it the one that every server of this format knows |

mod error;
mod request;
mod resume;
mod stream;
mod thinking;

use std::time::Duration;

use harn_core::chat::{ModelRequest, OutputSchema};

use super::require_content;
use crate::{Codec, Decoder, Delivery, Framing, Headers, HttpCall, ModelError, StructuredOutput, Target};

/// Requests of ours meet the rules of later versions too.
const VERSION: &str = "2023-06-01";

/// The wire format of `POST /v1/messages`.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnthropicCodec;

impl Codec for AnthropicCodec {
    fn call(&self, request: &ModelRequest, target: &Target) -> Result<HttpCall, ModelError> {
        require_content(request)?;
        let version = target.options.get("version").and_then(|version| version.as_str()).unwrap_or(VERSION);
        let mut headers = vec![("anthropic-version".to_owned(), version.to_owned())];
        let betas = target.options.get("betas").and_then(|betas| betas.as_array());
        let betas: Vec<&str> = betas.into_iter().flatten().filter_map(|beta| beta.as_str()).collect();
        if !betas.is_empty() {
            headers.push(("anthropic-beta".to_owned(), betas.join(",")));
        }
        let framing = match target.delivery {
            Delivery::Streamed => Framing::Events,
            Delivery::Whole => Framing::Whole,
        };
        let body = request::body(request, target)?;
        Ok(HttpCall { path: "/v1/messages".to_owned(), headers, body, framing })
    }

    fn decoder(&self, request: &ModelRequest, target: &Target) -> Box<dyn Decoder> {
        Box::new(stream::MessageDecoder::new(request, target))
    }

    fn refusal(&self, status: u16, _headers: &Headers, body: &[u8]) -> ModelError {
        error::from_body(status, body)
    }

    fn wait(&self, headers: &Headers) -> Option<Duration> {
        error::wait(headers)
    }

    fn pause(&self) -> Option<&'static str> {
        Some(resume::PAUSE)
    }
}

/// The tool through which an answer takes its shape, where the provider has no other way.
fn answer_tool<'a>(request: &'a ModelRequest, target: &Target) -> Option<&'a OutputSchema> {
    let by_tool = target.capabilities.structured_output != StructuredOutput::Native;
    request.output_schema.as_ref().filter(|_| by_tool)
}
