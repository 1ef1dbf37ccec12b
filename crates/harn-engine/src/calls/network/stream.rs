//! Responses that are read in pieces.

use reqwest::Response;
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::client;
use crate::calls::args::{self, Args, word};
use crate::calls::simple::Answer;
use crate::secrets::Filling;
use crate::tools::{ToolContext, ToolFailure};

/// At most so much is given at once.
const LARGEST_PIECE: usize = 1 << 20;

/// A response that is being read, and what was received and not yet given.
struct Reading {
    response: Response,
    filling: Filling,
    /// What may be given.
    clean: Vec<u8>,
    /// What may be half a secret.
    held: Vec<u8>,
}

impl Reading {
    /// Receives until something may be given; nothing at the end.
    async fn receive(&mut self) -> Result<(), ToolFailure> {
        while self.clean.is_empty() {
            let chunk = self.response.chunk().await.map_err(client::failed)?;
            let mut received = std::mem::take(&mut self.held);
            let is_over = chunk.is_none();
            received.extend_from_slice(&chunk.unwrap_or_default());
            received = self.filling.scrubbed(received);
            if !is_over {
                self.held = received.split_off(received.len() - self.filling.held(&received));
            }
            self.clean = received;
            if is_over {
                break;
            }
        }
        Ok(())
    }
}

pub async fn open(ctx: ToolContext, args: Args) -> Answer {
    let (request, filling) = client::request(&ctx.secrets, &args)?;
    let response = request.send().await.map_err(client::failed)?;
    let status = response.status().as_u16();
    let mut headers = client::shown_headers(response.headers());
    filling.scrub(&mut headers);
    let reading = Reading { response, filling, clean: Vec::new(), held: Vec::new() };
    let id = ctx.open.put_new("http", Mutex::new(reading));
    Ok(json!({ "stream": id, "id": id, "status": status, "headers": headers }))
}

pub async fn read(ctx: ToolContext, args: Args) -> Answer {
    let id = word(&args, "stream");
    let reading = ctx.open.get::<Mutex<Reading>>(id)?;
    let mut reading = reading.lock().await;
    ctx.open.while_open(id, reading.receive()).await.transpose()?;
    if reading.clean.is_empty() {
        return Ok(Value::Null);
    }
    let most = args.get("max_bytes").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
    let most = most.unwrap_or(LARGEST_PIECE).clamp(1, LARGEST_PIECE).min(reading.clean.len());
    let piece: Vec<u8> = reading.clean.drain(..most).collect();
    Ok(args::bytes(&piece))
}

pub async fn close(ctx: ToolContext, args: Args) -> Answer {
    Ok(ctx.open.close(word(&args, "stream")).into())
}
