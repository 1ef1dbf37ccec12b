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
    #[error("{file}:{line}: {why}; a line is one JSON object such as {{\"text\": \"Hello.\"}}")]
    Line { file: String, line: usize, why: String },
    #[error("{file} cannot be written: {source}; check that its folder exists and is yours to write")]
    Unwritable { file: String, source: std::io::Error },
}

/// A model that answers from a file, for `--llm-mock FILE`.
#[derive(Debug)]
pub struct MockFile {
    file: PathBuf,
    /// In the order of the file, without those that are used up.
    lines: Mutex<Vec<Option<Line>>>,
}

/// Whether a call that was begun is made once more, because nobody knows what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeAgain {
    Yes,
    No,
}

impl MockFile {
    pub const PROVIDER: &str = "mock";

    /// Reads the whole file, so that a mistake in it is told before anything runs.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, MockFileError> {
        Self::parse(&path, &Self::read(&path)?)
    }

    /// The text of such a file.
    pub fn read(path: impl AsRef<Path>) -> Result<String, MockFileError> {
        let path = path.as_ref();
        let file = path.display().to_string();
        let unreadable = |source| MockFileError::Unreadable { file: file.clone(), source };
        let bytes = std::fs::metadata(path).map_err(unreadable)?.len();
        if bytes > LARGEST {
            return Err(MockFileError::TooLarge { file, bytes });
        }
        std::fs::read_to_string(path).map_err(unreadable)
    }

    /// The same from a text; `path` is named in errors.
    pub fn parse(path: impl AsRef<Path>, text: &str) -> Result<Self, MockFileError> {
        let path = path.as_ref();
        let filled = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
        let read = |(line, text): (usize, &str)| {
            let file = || path.display().to_string();
            Line::parse(text).map(Some).map_err(|why| MockFileError::Line { file: file(), line, why })
        };
        let lines = filled.map(read).collect::<Result<Vec<Option<Line>>, _>>()?;
        Ok(Self { file: path.to_owned(), lines: Mutex::new(lines) })
    }

    /// Goes on where another process stopped: these calls were made, in this order, and all but those that are made again
    /// have had their answers.
    pub fn go_on_after<'a>(&self, calls: impl IntoIterator<Item = (&'a ModelRequest, MadeAgain)>) {
        let mut given_back = Vec::new();
        for (request, again) in calls {
            if let (Ok(taken), MadeAgain::Yes) = (self.take(request), again) {
                given_back.push(taken);
            }
        }
        let mut lines = self.lines.lock();
        given_back.into_iter().for_each(|(at, line)| lines[at] = Some(line));
    }

    /// The line that answers, and its place.
    fn take(&self, request: &ModelRequest) -> Result<(usize, Line), ModelError> {
        let mut lines = self.lines.lock();
        let said: Vec<&str> = request.messages.iter().map(text_of).chain([&*request.system]).collect();
        let first =
            |fits: &dyn Fn(&Line) -> bool| lines.iter().position(|line| line.as_ref().is_some_and(fits));
        let matched = first(&|line| line.answers(&said));
        let next = || first(&Line::is_for_anything);
        let Some(at) = matched.or_else(next) else {
            let message = format!(
                "no answer is left in {} that fits this call; add a line for it",
                self.file.display()
            );
            return Err(ModelError::InvalidRequest { message });
        };
        let line =
            if lines[at].as_ref().is_some_and(Line::is_kept) { lines[at].clone() } else { lines[at].take() };
        Ok((at, line.unwrap_or_default()))
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
            Ok((_, line)) => line.chunks(),
            Err(error) => vec![Err(error)],
        };
        stream::iter(chunks).boxed()
    }
}
