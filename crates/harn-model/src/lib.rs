//! Models behind one streaming interface: what a model is, what it streams, and where to find one.

pub mod catalog;
mod codec;
mod collect;
mod connect;
pub mod discover;
mod error;
mod http;
pub mod mock_file;
mod offline;
mod one_json;
mod pieces;
pub mod providers;
pub mod record;
mod registry;
pub mod scripted;
mod source;
mod thinking;
pub mod wire;

use std::pin::Pin;

use futures::Stream;
use harn_core::chat::{ModelRef, ModelRequest, PartialCall, ProviderToolUse, StopReason, Thought, Usage};
use harn_core::price::Prices;
use serde_json::{Map, Value};

pub use codec::{
    Auth, Capabilities, Codec, Credential, Decoder, Delivery, Framing, Headers, HttpCall, StructuredOutput,
    Target, ThinkingKind,
};
pub use collect::collect;
pub use connect::{ConnectError, connect};
pub use error::ModelError;
pub use http::{
    AfterContent, HttpModel, HttpOptions, Limiter, Proxy, RateLimits, RetryPolicy, Transport, TransportError,
    TransportOptions, Versions,
};
pub use mock_file::{MadeAgain, MockFile, MockFileError, MockRecording};
pub use offline::OfflineModel;
pub use record::{Recording, RecordingError, RecordingModel, Redact};
pub use registry::{CatalogView, ModelSource, Models};
pub use scripted::{ScriptError, ScriptedModel};
pub use source::{CatalogSource, Variables};
pub use thinking::nearest;

/// Something that answers a conversation.
pub trait Model: Send + Sync {
    fn reference(&self) -> ModelRef;

    /// What is known about it.
    fn card(&self) -> ModelCard {
        ModelCard::default()
    }

    /// Whether its answers come from a file, so that nobody is called.
    fn is_recorded(&self) -> bool {
        false
    }

    /// Begins a call. Nothing happens before the first poll, and dropping the stream cancels the call.
    fn stream(&self, request: ModelRequest) -> ModelStream;
}

/// What a run has to know about its model beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ModelCard {
    /// Tokens that it takes in.
    pub context_window: u64,
    /// Tokens of one answer; none where that is not known.
    pub max_output: Option<u64>,
    /// None where they are not known; a model that costs nothing has prices of zero.
    pub prices: Option<Prices>,
}

impl Default for ModelCard {
    fn default() -> Self {
        Self { context_window: 128_000, max_output: None, prices: None }
    }
}

/// An answer as it arrives. A whole answer ends with `Chunk::Stop`; an error is the last item.
pub type ModelStream = Pin<Box<dyn Stream<Item = Result<Chunk, ModelError>> + Send>>;

/// One piece of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Chunk {
    Text(String),
    /// Reasoning in words, for those who may see it. `Thought` is what goes back to the provider.
    Thinking(String),
    /// A whole block of reasoning.
    Thought(Thought),
    /// A whole call: a model holds it back until its arguments are complete.
    ToolCall {
        id: String,
        name: String,
        args: Map<String, Value>,
    },
    /// A call whose arguments broke off, or never were JSON. An error or a stop other than success follows.
    PartialCall(PartialCall),
    /// A tool that the provider ran by itself.
    ProviderTool(ProviderToolUse),
    /// The call is made anew: all that came before is void. Only where the caller allowed it.
    Restart,
    /// What was used since the previous `Usage` of this stream; they add up.
    Usage(Usage),
    /// Always the last chunk, so that a reader need not wait for the connection to close.
    Stop(StopReason),
}
