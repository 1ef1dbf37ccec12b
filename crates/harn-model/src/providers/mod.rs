//! The wire formats of providers, one module each, and the few things that they have in common.

pub mod anthropic;
mod common;
pub mod gemini;
pub mod ollama;
pub mod openai_chat;
pub mod openai_responses;
mod think_tags;
mod tool_names;

pub use common::{error_text, finish_call, is_context_overflow, require_content};
pub use tool_names::{WireIds, WireNames};
