//! What a call may say about how the model is to answer, beyond the conversation. Nothing of it has to be said.

use std::sync::Arc;

/// Each adapter says of this what its provider and the model understand, and leaves out the rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sampling {
    pub temperature: Option<f64>,
    pub top_p: Option<f64>,
    /// The answer ends before the first of these.
    pub stop: Arc<[String]>,
    pub seed: Option<i64>,
    pub tool_choice: Option<ToolChoice>,
    /// For the whole answer.
    pub timeout_ms: Option<u64>,
    pub tool_search: Option<ToolSearch>,
    /// Nothing is marked for the provider's cache.
    pub no_cache: bool,
    /// The program reads the text while it comes, under this name.
    pub stream: Option<Arc<str>>,
}

/// Whether the model calls tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolChoice {
    Auto,
    Never,
    /// Some tool, whichever it likes.
    Required,
    /// This one.
    Tool(String),
}

impl ToolChoice {
    /// The model has to call something.
    pub fn is_forced(&self) -> bool {
        matches!(self, Self::Required | Self::Tool(_))
    }
}

/// The provider shows the model some tools only after it has searched for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolSearch {
    pub variant: SearchVariant,
    /// The names of the tools that have to be searched for.
    pub deferred: Arc<[String]>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SearchVariant {
    /// By words.
    #[default]
    Bm25,
    Regex,
}

impl SearchVariant {
    pub const ALL: [Self; 2] = [Self::Bm25, Self::Regex];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bm25 => "bm25",
            Self::Regex => "regex",
        }
    }
}
