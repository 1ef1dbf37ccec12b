//! An answer of a model while it is under way: the call puts in what comes, the program takes it out. What it takes is
//! journaled like everything else that it sees; the call itself is one effect, with one completion.

use std::sync::Arc;

use harn_core::tool::{Class, SideEffect};
use harn_model::{Chunk, ModelError};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::args::Args;
use super::simple::{Answer, Simple};
use crate::tools::{Tool, ToolContext};

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let about = "What an answer that is under way has said since the last time.";
    vec![Simple::waiting("llm_next", about, Class::Read, SideEffect::None, next).call()]
}

/// What has come and was not yet taken: never more than the answer itself, which the call collects anyway.
#[derive(Default)]
pub struct Pieces {
    heard: Mutex<Heard>,
    changed: Notify,
}

#[derive(Default)]
struct Heard {
    text: String,
    is_taken: bool,
    is_over: bool,
}

impl Pieces {
    /// An answer that is begun anew fails if something of the first one was taken.
    pub fn hear(&self, chunk: &Chunk) -> Result<(), ModelError> {
        let mut heard = self.heard.lock();
        match chunk {
            Chunk::Text(piece) => heard.text.push_str(piece),
            Chunk::Restart if heard.is_taken => {
                let message = "a part of it was read already, so it was not begun anew".into();
                return Err(ModelError::CutStream { message });
            }
            Chunk::Restart => heard.text.clear(),
            _ => return Ok(()),
        }
        self.changed.notify_one();
        Ok(())
    }

    pub fn end(&self) {
        self.heard.lock().is_over = true;
        self.changed.notify_one();
    }

    /// All that has come since the last time; none at the end.
    async fn next(&self) -> Option<String> {
        loop {
            {
                let mut heard = self.heard.lock();
                if !heard.text.is_empty() {
                    heard.is_taken = true;
                    return Some(std::mem::take(&mut heard.text));
                }
                if heard.is_over {
                    return None;
                }
            }
            self.changed.notified().await;
        }
    }
}

async fn next(ctx: ToolContext, args: Args) -> Answer {
    let stream = args.get("stream").and_then(Value::as_str).unwrap_or_default();
    let pieces = ctx.open.get::<Pieces>(stream)?;
    let next = pieces.next().await;
    if next.is_none() {
        ctx.open.close(stream);
    }
    Ok(json!(next))
}
