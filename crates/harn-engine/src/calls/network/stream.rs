//! Responses that are read in pieces.

use async_trait::async_trait;
use harn_core::tool::{Class, ToolSpec};
use reqwest::Response;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::client::{self, text};
use super::{going_on, reaching};
use crate::tools::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput};

/// At most so much is given at once.
const LARGEST_PIECE: usize = 1 << 20;

/// A response that is being read, and what was received and not yet given.
struct Reading {
    response: Response,
    rest: Vec<u8>,
}

pub struct Open {
    spec: ToolSpec,
}

impl Open {
    pub fn reading() -> Self {
        Self { spec: reaching("http_open_read", "A request whose response is read in pieces.", Class::Read) }
    }

    pub fn sending() -> Self {
        Self { spec: reaching("http_open_send", "A request that may change something.", Class::Once) }
    }
}

#[async_trait]
impl Tool for Open {
    fn spec(&self) -> ToolSpec {
        self.spec.clone()
    }

    async fn prepare(&self, ctx: &ToolContext, args: &Map<String, Value>) -> Result<Prepared, ToolFailure> {
        client::request(&ctx.secrets, args).map(|_| Prepared::Ready)
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        _: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let (request, _) = client::request(&ctx.secrets, args)?;
        let response = request.send().await.map_err(client::failed)?;
        let (status, headers) = (response.status().as_u16(), client::shown_headers(response.headers()));
        let id = ctx.open.put_new("http", Mutex::new(Reading { response, rest: Vec::new() }));
        Ok(json!({ "stream": id, "id": id, "status": status, "headers": headers }).into())
    }
}

pub struct Read;

#[async_trait]
impl Tool for Read {
    fn spec(&self) -> ToolSpec {
        going_on("http_read_piece", "The next piece of a response.", Class::Local)
    }

    async fn prepare(&self, _: &ToolContext, _: &Map<String, Value>) -> Result<Prepared, ToolFailure> {
        Ok(Prepared::Ready)
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        _: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let reading = ctx.open.get::<Mutex<Reading>>(text(args, "stream").unwrap_or_default())?;
        let mut reading = reading.lock().await;
        if reading.rest.is_empty() {
            match reading.response.chunk().await.map_err(client::failed)? {
                Some(chunk) => reading.rest = chunk.into(),
                None => return Ok(Value::Null.into()),
            }
        }
        let most = args.get("max_bytes").and_then(Value::as_u64).and_then(|most| usize::try_from(most).ok());
        let most = most.unwrap_or(LARGEST_PIECE).clamp(1, LARGEST_PIECE).min(reading.rest.len());
        let piece: Vec<u8> = reading.rest.drain(..most).collect();
        Ok(client::tagged(&piece).into())
    }
}

/// Whatever was opened is closed, under the name that it is closed by.
pub struct Close(pub &'static str);

#[async_trait]
impl Tool for Close {
    fn spec(&self) -> ToolSpec {
        going_on(self.0, "Closes what a script has opened.", Class::Read)
    }

    async fn prepare(&self, _: &ToolContext, _: &Map<String, Value>) -> Result<Prepared, ToolFailure> {
        Ok(Prepared::Ready)
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        _: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let id = text(args, "stream").or_else(|| text(args, "handle")).unwrap_or_default();
        Ok(Value::Bool(ctx.open.close(id)).into())
    }
}
