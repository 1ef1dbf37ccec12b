//! One call as a stream: it is sent, its answer is read piece by piece, and it is sent again where that is right.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use harn_core::chat::{ModelRequest, Usage};
use reqwest::Response;
use tokio::time::{Instant, timeout};

use super::limiter::{Pass, guess};
use super::model::{Outgoing, Parts};
use super::refusal::{self, Failure};
use super::retry::AfterContent;
use super::transport::{chain, unreachable};
use super::turn::{Heard, Turn};
use crate::wire::{Frame, Parser};
use crate::{Chunk, Decoder, ModelError};

pub(super) struct Call {
    parts: Arc<Parts>,
    request: ModelRequest,
    turn: Turn,
    outgoing: Option<Outgoing>,
    phase: Phase,
    /// Chunks on their way out.
    ready: VecDeque<Chunk>,
    /// Chunks that show nothing yet. They wait for the first that does, and are dropped when the call is made anew.
    held: Vec<Chunk>,
    /// Something of this attempt was shown.
    shown: bool,
    attempts: u32,
    started: Instant,
}

/// How far chunks have brought the answer.
enum Progress {
    UnderWay,
    Paused,
    Whole,
}

enum Phase {
    Begin,
    Reading(Box<Reading>),
    Failed(ModelError),
    Over,
}

impl Call {
    pub fn new(parts: Arc<Parts>, request: ModelRequest) -> Self {
        Self {
            turn: Turn::new(request.clone(), parts.codec.pause()),
            parts,
            request,
            outgoing: None,
            phase: Phase::Begin,
            ready: VecDeque::new(),
            held: Vec::new(),
            shown: false,
            attempts: 0,
            started: Instant::now(),
        }
    }

    /// The next chunk, and the call that gives the one after it.
    pub async fn step(mut self) -> Option<(Result<Chunk, ModelError>, Self)> {
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                return Some((Ok(chunk), self));
            }
            match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Failed(error) => return Some((Err(self.parts.present(error)), self)),
                Phase::Begin => match self.begin().await {
                    Ok(reading) => self.phase = Phase::Reading(Box::new(reading)),
                    Err(failure) => self.fail_or_retry(failure).await,
                },
                Phase::Reading(mut reading) => {
                    let mut chunks = Vec::new();
                    let result = reading.read(&self.parts, &mut chunks).await;
                    match (self.take(chunks), result) {
                        (Progress::Whole, _) => reading.settle(),
                        (Progress::Paused, _) => {
                            reading.settle();
                            self.go_on();
                        }
                        (Progress::UnderWay, Ok(())) => self.phase = Phase::Reading(reading),
                        (Progress::UnderWay, Err(error)) => {
                            drop(reading);
                            self.fail_or_retry(error.into()).await;
                        }
                    }
                }
            }
        }
    }

    async fn begin(&mut self) -> Result<Reading, Failure> {
        let outgoing = match self.outgoing.take() {
            Some(outgoing) => outgoing,
            None => self.parts.outgoing(&self.request).map_err(final_failure)?,
        };
        let outgoing = self.outgoing.insert(outgoing);
        let pass = self.parts.limiter.admit(guess(outgoing.body.len(), &self.request)).await;
        if self.attempts == 0 {
            self.started = Instant::now();
        }
        self.attempts += 1;
        let begun = Instant::now();
        let sending = self
            .parts
            .transport
            .client
            .post(&outgoing.url)
            .headers(outgoing.headers.clone())
            .body(outgoing.body.clone())
            .send();
        let options = &self.parts.options;
        let base = self.parts.target.shown_url();
        let response = timeout(options.first_byte, sending)
            .await
            .map_err(|_| silent(&base, options.first_byte))?
            .map_err(|error| unreachable(error, &base))?;
        if !response.status().is_success() {
            return Err(refusal::refused(&self.parts, response).await);
        }
        let framing = refusal::framing(&self.parts, &response, outgoing.framing)?;
        Ok(Reading {
            response,
            parser: Parser::new(framing),
            decoder: self.parts.codec.decoder(&self.request, &self.parts.target),
            begun,
            received: 0,
            used: Usage::default(),
            ended: false,
            pass,
        })
    }

    /// Puts chunks in the queue.
    fn take(&mut self, chunks: Vec<Chunk>) -> Progress {
        for chunk in chunks {
            match self.turn.hear(chunk) {
                Heard::Kept => {}
                Heard::Show(chunk @ (Chunk::Usage(_) | Chunk::PartialCall(_))) if !self.shown => {
                    self.held.push(chunk);
                }
                Heard::Show(chunk) => {
                    self.shown = true;
                    self.ready.extend(self.held.drain(..));
                    self.ready.push_back(chunk);
                }
                Heard::Whole(last) => {
                    self.ready.extend(self.held.drain(..).chain(last));
                    return Progress::Whole;
                }
                Heard::Paused => {
                    self.ready.extend(self.held.drain(..));
                    return Progress::Paused;
                }
            }
        }
        Progress::UnderWay
    }

    /// Makes the call that goes on from a pause. It has attempts of its own, because what came before it stays.
    fn go_on(&mut self) {
        self.request = self.turn.go_on();
        self.outgoing = None;
        self.shown = false;
        self.attempts = 0;
        self.phase = Phase::Begin;
    }

    /// Waits for the next attempt, if there is to be one.
    async fn fail_or_retry(&mut self, failure: Failure) {
        let Failure { error, asked, is_final } = failure;
        let policy = self.parts.options.retry;
        let too_late = self.shown && policy.after_content == AfterContent::Fail;
        let wait = policy
            .wait(&error, self.attempts, self.started.elapsed(), asked, rand::random())
            .filter(|_| !is_final && !too_late);
        match wait {
            Some(wait) => {
                tracing::debug!(
                    code = error.code(),
                    attempt = self.attempts,
                    ?wait,
                    "a model call is made again"
                );
                tokio::time::sleep(wait).await;
                self.held.clear();
                if std::mem::take(&mut self.shown) {
                    self.ready.push_back(Chunk::Restart);
                    self.request = self.turn.begin_again();
                    self.outgoing = None;
                } else {
                    self.turn.forget_call();
                }
                self.phase = Phase::Begin;
            }
            None => {
                self.ready.extend(self.held.drain(..));
                self.phase = Phase::Failed(error);
            }
        }
    }
}

fn final_failure(error: ModelError) -> Failure {
    Failure { error, asked: None, is_final: true }
}

fn silent(base: &str, limit: Duration) -> ModelError {
    ModelError::Timeout {
        message: format!("{base} sent nothing for {limit:?}; try again, or allow more time"),
    }
}

/// An answer that is under way.
struct Reading {
    response: Response,
    parser: Parser,
    decoder: Box<dyn Decoder>,
    begun: Instant,
    received: u64,
    used: Usage,
    /// The decoder was told that no more comes.
    ended: bool,
    pass: Pass,
}

impl Reading {
    /// Reads the next bytes and appends what they mean.
    async fn read(&mut self, parts: &Parts, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let before = chunks.len();
        let result = self.read_bytes(parts, chunks).await;
        if result.is_err() && !self.ended {
            // Calls left open are worth knowing, whatever the cause was.
            let _ = self.end(chunks);
        }
        for chunk in &chunks[before..] {
            if let Chunk::Usage(usage) = chunk {
                self.used += *usage;
            }
        }
        result
    }

    async fn read_bytes(&mut self, parts: &Parts, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let options = &parts.options;
        let base = || parts.target.shown_url();
        let pause = match self.received {
            0 => options.first_byte.saturating_sub(self.begun.elapsed()),
            _ => options.stall,
        };
        let left = options.answer.saturating_sub(self.begun.elapsed());
        let next = timeout(pause.min(left), self.response.chunk()).await;
        let bytes = match next {
            Err(_) if left <= pause => {
                let message = format!("{} did not finish its answer within {:?}", base(), options.answer);
                return Err(ModelError::Timeout { message });
            }
            Err(_) if self.received == 0 => return Err(silent(&base(), options.first_byte)),
            Err(_) => return Err(silent(&base(), options.stall)),
            Ok(Err(error)) => {
                let message = format!("{}: {}", base(), chain(&error.without_url()));
                return Err(ModelError::CutStream { message });
            }
            Ok(Ok(None)) => return self.finish(chunks),
            Ok(Ok(Some(bytes))) => bytes,
        };
        self.received += bytes.len() as u64;
        if self.received > options.answer_limit {
            let message = format!("the answer is longer than {} bytes", options.answer_limit);
            return Err(ModelError::Malformed { message });
        }
        self.parser.feed(&bytes);
        while let Some(frame) = self.parser.next_frame()? {
            decode(self.decoder.as_mut(), frame, chunks)?;
        }
        Ok(())
    }

    fn finish(&mut self, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        if let Some(frame) = self.parser.finish() {
            decode(self.decoder.as_mut(), frame, chunks)?;
        }
        self.end(chunks)?;
        if is_whole(chunks) {
            return Ok(());
        }
        let message = "the connection was closed before the answer was whole".into();
        Err(ModelError::CutStream { message })
    }

    fn end(&mut self, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        self.ended = true;
        if is_whole(chunks) { Ok(()) } else { self.decoder.end(chunks) }
    }

    fn settle(&mut self) {
        self.pass.settle(self.used.input_tokens.saturating_add(self.used.output_tokens));
    }
}

/// Nothing that comes after the stop is looked at.
fn decode(decoder: &mut dyn Decoder, frame: Frame<'_>, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
    if is_whole(chunks) { Ok(()) } else { decoder.frame(frame, chunks) }
}

fn is_whole(chunks: &[Chunk]) -> bool {
    matches!(chunks.last(), Some(Chunk::Stop(_)))
}
