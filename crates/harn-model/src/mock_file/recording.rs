//! The recorder: answers pass unchanged, and each is written as a line that a mock file plays.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use futures::{FutureExt, StreamExt, stream};
use harn_core::chat::{ModelRef, ModelRequest};
use parking_lot::Mutex;
use serde_json::Value;

use super::MockFileError;
use super::line::Line;
use crate::{Chunk, Model, ModelCard, ModelError, ModelStream, Redact, collect};

/// A file that grows with every answer, for `--llm-mock-record FILE`. What was in it before is gone.
pub struct MockRecording {
    shown: String,
    file: Mutex<File>,
    redact: Redact,
}

impl MockRecording {
    /// Begins the file anew. `redact` takes secrets out of whatever is written.
    pub fn create(path: impl AsRef<Path>, redact: Redact) -> Result<Arc<Self>, MockFileError> {
        let shown = path.as_ref().display().to_string();
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        // What models say is nobody else's business.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        match options.open(path) {
            Ok(file) => Ok(Arc::new(Self { shown, file: Mutex::new(file), redact })),
            Err(source) => Err(MockFileError::Unwritable { file: shown, source }),
        }
    }

    /// A model whose answers are written down.
    pub fn of(recording: &Arc<Self>, model: Arc<dyn Model>) -> Arc<dyn Model> {
        Arc::new(Recorded { model, recording: Arc::clone(recording) })
    }

    /// One line per answer, at once: whoever stops the process keeps what was said before. A line that cannot be written
    /// is told, and the answer is none the worse for it.
    fn write(&self, line: Line, model: ModelRef) {
        let line = Line { model: Some(model.model), provider: Some(model.provider), ..line };
        let Ok(mut line) = serde_json::to_value(&line) else { return };
        self.redact_all(&mut line);
        let line = format!("{line}\n");
        if let Err(error) = self.file.lock().write_all(line.as_bytes()) {
            tracing::warn!(file = %self.shown, %error, "an answer could not be recorded");
        }
    }
}

impl MockRecording {
    /// In each text by itself, so that the line stays JSON.
    fn redact_all(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = (self.redact)(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact_all(item)),
            Value::Object(fields) => fields.values_mut().for_each(|field| self.redact_all(field)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

struct Recorded {
    model: Arc<dyn Model>,
    recording: Arc<MockRecording>,
}

impl Model for Recorded {
    fn reference(&self) -> ModelRef {
        self.model.reference()
    }

    fn card(&self) -> ModelCard {
        self.model.card()
    }

    fn is_recorded(&self) -> bool {
        self.model.is_recorded()
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let (recording, asked) = (Arc::clone(&self.recording), request.model.clone());
        let mut heard: Vec<Chunk> = Vec::new();
        let watched = self.model.stream(request).inspect(move |item| match item {
            Ok(chunk) => {
                heard.push(chunk.clone());
                if matches!(chunk, Chunk::Stop(_)) {
                    recording.write(assembled(std::mem::take(&mut heard)), asked.clone());
                }
            }
            Err(error) => recording.write(Line::of_error(error), asked.clone()),
        });
        watched.boxed()
    }
}

fn assembled(heard: Vec<Chunk>) -> Line {
    let chunks = stream::iter(heard.into_iter().map(Ok::<_, ModelError>));
    match collect(chunks).now_or_never() {
        Some(Ok(answer)) => Line::of_answer(&answer),
        _ => Line::default(),
    }
}
