//! Answers from a file with one JSON object per line, and the recorder that writes such files.
//!
//! ```text
//! {"text": "Hello.", "input_tokens": 3, "output_tokens": 2}
//! {"match": "*weather*", "tool_calls": [{"name": "look", "arguments": {"city": "Ulm"}}]}
//! {"error": {"category": "rate_limit", "message": "later"}}
//! ```
//!
//! - A line with `match` answers every call in which some message fits it: `*` stands for anything, and words without a
//!   `*` have to occur in the message. With `"consume_match": true` it answers once. Of several the first one answers.
//! - A line without `match` answers one call, in the order of the file, if no line with `match` does.
//! - When nothing is left that fits, the call fails and says so.
//!
//! The other fields are `thinking`, `stop_reason`, `cache_read_tokens` and `cache_write_tokens`. `model` and `provider`
//! are for readers: the answer counts as one of the model that was asked. What else stands in a line is ignored.

mod line;
mod recording;

use std::path::{Path, PathBuf};

use futures::{StreamExt, stream};
use harn_core::chat::{ChatMessage, ModelRef, ModelRequest};
use harn_core::price::Prices;
use parking_lot::Mutex;

use crate::{Model, ModelCard, ModelError, ModelStream};
use line::Line;
pub use recording::MockRecording;

/// More than anybody writes by hand or records for a test.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Why a file cannot be played or written.
#[derive(Debug, thiserror::Error)]
pub enum MockFileError {
    #[error("{file} cannot be read: {source}")]
    Unreadable { file: String, source: std::io::Error },
    #[error("{file} has {bytes} bytes, and a file of answers at most {LARGEST}")]
    TooLarge { file: String, bytes: u64 },
    #[error("{file}:{line}: {source}; a line is one JSON object such as {{\"text\": \"Hello.\"}}")]
    Line { file: String, line: usize, source: serde_json::Error },
    #[error("{file} cannot be written: {source}; check that its folder exists and is yours to write")]
    Unwritable { file: String, source: std::io::Error },
}

/// A model that answers from a file, for `--llm-mock FILE`.
#[derive(Debug)]
pub struct MockFile {
    file: PathBuf,
    /// What is left, in the order of the file.
    lines: Mutex<Vec<Line>>,
}

impl MockFile {
    pub const PROVIDER: &str = "mock";

    /// Reads the whole file, so that a mistake in it is told before anything runs.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, MockFileError> {
        let path = path.as_ref();
        let file = path.display().to_string();
        let unreadable = |source| MockFileError::Unreadable { file: file.clone(), source };
        let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
        if bytes > LARGEST {
            return Err(MockFileError::TooLarge { file, bytes });
        }
        Self::parse(path, &std::fs::read_to_string(path).map_err(unreadable)?)
    }

    /// The same from a text; `path` is named in errors.
    pub fn parse(path: impl AsRef<Path>, text: &str) -> Result<Self, MockFileError> {
        let path = path.as_ref();
        let filled = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let read = |(line, text): (usize, &str)| {
            let file = || path.display().to_string();
            serde_json::from_str(text).map_err(|source| MockFileError::Line { file: file(), line, source })
        };
        let lines = filled.map(read).collect::<Result<Vec<Line>, _>>()?;
        Ok(Self { file: path.to_owned(), lines: Mutex::new(lines) })
    }

    fn take(&self, request: &ModelRequest) -> Result<Line, ModelError> {
        let mut lines = self.lines.lock();
        let said: Vec<&str> = request.messages.iter().map(text_of).chain([&*request.system]).collect();
        let matched = lines.iter().position(|line| line.answers(&said));
        let next = || lines.iter().position(Line::is_for_anything);
        let Some(at) = matched.or_else(next) else {
            let message = format!(
                "no answer is left in {} that fits this call; add a line for it",
                self.file.display()
            );
            return Err(ModelError::InvalidRequest { message });
        };
        Ok(match lines[at].is_kept() {
            true => lines[at].clone(),
            false => lines.remove(at),
        })
    }
}

fn text_of(message: &ChatMessage) -> &str {
    match message {
        ChatMessage::System { text } | ChatMessage::User { text, .. } => text,
        ChatMessage::Assistant { text, .. } => text,
        ChatMessage::Tool { output, .. } => output,
    }
}

impl Model for MockFile {
    fn reference(&self) -> ModelRef {
        ModelRef { provider: Self::PROVIDER.into(), model: Self::PROVIDER.into() }
    }

    fn card(&self) -> ModelCard {
        ModelCard { prices: Some(Prices::free()), ..ModelCard::default() }
    }

    fn is_recorded(&self) -> bool {
        true
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let chunks = match self.take(&request) {
            Ok(line) => line.chunks(),
            Err(error) => vec![Err(error)],
        };
        stream::iter(chunks).boxed()
    }
}
