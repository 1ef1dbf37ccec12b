//! Recording: what a model answers passes unchanged, and is written to a file that the scripted model plays.
//!
//! The file is a whole script after every call: it is written beside itself and renamed. Writing happens on a thread
//! of its own, so that no answer waits for a disk, and an answer that cannot be written is told and not missed by
//! anyone else. One process at a time records into a file.

mod file;
mod heard;

use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::Once;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::task::{Context, Poll, ready};
use std::thread::JoinHandle;

use futures::Stream;
use harn_core::chat::{ModelRef, ModelRequest};

use crate::{Chunk, Model, ModelCard, ModelError, ModelStream, ScriptError};
use file::ScriptFile;
use heard::Heard;

/// Takes secrets out of a text.
pub type Redact = Arc<dyn Fn(&str) -> String + Send + Sync>;

/// Answers that may wait for the disk; more are not recorded.
const WAITING: usize = 64;

/// Why nothing can be recorded into a file.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    #[error("{file} is there already and is no script: {source}; give the name of a script or of a new file")]
    Foreign { file: String, source: ScriptError },
    #[error("{file} is not a regular file; give the name of a script or of a new file")]
    NotAFile { file: String },
    #[error("the script {file} has {bytes} bytes, and a recording at most {most}; begin a new file")]
    TooLarge { file: String, bytes: u64, most: u64 },
    #[error("{file} cannot be written: {source}; check that its folder exists and is yours to write")]
    Unwritable { file: String, source: std::io::Error },
    #[error("the thread that records cannot be started: {source}")]
    Thread { source: std::io::Error },
}

/// A script that grows with every answer of the models that it records.
pub struct Recording {
    path: PathBuf,
    jobs: Option<SyncSender<Job>>,
    writer: Option<JoinHandle<()>>,
    overrun: Once,
}

enum Job {
    Write(Box<Heard>),
    /// Answered when all jobs before it are done.
    Flush(SyncSender<()>),
}

impl Recording {
    /// Begins a new script, or goes on in one that is there. Anything else at this place is left alone and refused.
    pub fn open(path: &Path, redact: Redact) -> Result<Arc<Self>, RecordingError> {
        let file = ScriptFile::open(path)?;
        let path = file.path().to_owned();
        let (jobs, received) = sync_channel(WAITING);
        let writer = std::thread::Builder::new()
            .name("harn-recording".into())
            .spawn(move || write_all(file, &received, &redact))
            .map_err(|source| RecordingError::Thread { source })?;
        Ok(Arc::new(Self { path, jobs: Some(jobs), writer: Some(writer), overrun: Once::new() }))
    }

    /// Where the script is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns when everything that was heard so far has been written, or could not be. Blocks.
    pub fn flush(&self) {
        let (done, wait) = sync_channel(1);
        if let Some(jobs) = &self.jobs
            && jobs.send(Job::Flush(done)).is_ok()
        {
            // An error means that the writer is gone, and with it whatever there was to wait for.
            let _ = wait.recv();
        }
    }

    fn keep(&self, heard: Heard) {
        let Some(jobs) = &self.jobs else { return };
        if jobs.try_send(Job::Write(Box::new(heard))).is_err() {
            self.overrun.call_once(|| {
                let file = self.path.display();
                tracing::warn!(%file, "answers come faster than they can be recorded; some are missing in the recording");
            });
        }
    }
}

impl Drop for Recording {
    /// Everything that was heard is written before the recording is gone.
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

fn write_all(mut file: ScriptFile, jobs: &Receiver<Job>, redact: &Redact) {
    let mut told = false;
    for job in jobs {
        match job {
            Job::Write(heard) => {
                let written = file.add(heard.card, heard.entry(redact.as_ref()));
                if let Err(error) = written
                    && !std::mem::replace(&mut told, true)
                {
                    let file = file.path().display();
                    tracing::warn!(%file, "an answer could not be recorded, and others may not be either: {error}");
                }
            }
            Job::Flush(done) => {
                let _ = done.send(());
            }
        }
    }
}

/// A model whose answers are recorded as they pass.
pub struct RecordingModel {
    model: Arc<dyn Model>,
    recording: Arc<Recording>,
}

impl RecordingModel {
    pub fn new(model: Arc<dyn Model>, recording: Arc<Recording>) -> Self {
        Self { model, recording }
    }
}

impl Model for RecordingModel {
    fn reference(&self) -> ModelRef {
        self.model.reference()
    }

    fn card(&self) -> ModelCard {
        self.model.card()
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let heard = Heard::new(Arc::clone(&request.messages), self.model.card());
        let listening = Some((heard, Arc::clone(&self.recording)));
        Box::pin(Overheard { stream: self.model.stream(request), listening })
    }
}

/// A stream that somebody listens to until it ends. Dropped before its end, it leaves nothing.
struct Overheard {
    stream: ModelStream,
    listening: Option<(Heard, Arc<Recording>)>,
}

impl Stream for Overheard {
    type Item = Result<Chunk, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = ready!(self.stream.as_mut().poll_next(cx));
        if let Some((heard, _)) = &mut self.listening {
            let more = heard.hear(item.as_ref());
            // A reader need not ask again after the last chunk, so this is the time.
            if !more && let Some((heard, recording)) = self.listening.take() {
                recording.keep(heard);
            }
        }
        Poll::Ready(item)
    }
}
