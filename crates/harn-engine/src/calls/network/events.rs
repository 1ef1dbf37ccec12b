//! Streams of server-sent events.

use std::time::Duration;

use async_trait::async_trait;
use harn_core::tool::{Class, ToolSpec};
use reqwest::Response;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use super::client::{self, text};
use super::{going_on, reaching};
use crate::tools::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput};

/// A line that is longer than this is no event.
const LONGEST: usize = 16 << 20;

/// A stream under way: what was received and is not yet a whole line, and the event that the lines make.
struct Events {
    response: Response,
    rest: Vec<u8>,
    event: Option<String>,
    data: Vec<String>,
    id: Option<String>,
    retry: Option<u64>,
}

impl Events {
    /// The next event; none at the end.
    async fn next(&mut self) -> Result<Option<Value>, ToolFailure> {
        loop {
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.rest.drain(..=end).collect();
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                if let Some(event) = self.take(&String::from_utf8_lossy(&line)) {
                    return Ok(Some(event));
                }
            }
            if self.rest.len() > LONGEST {
                return Err(ToolFailure::new("An event of the stream is too long."));
            }
            match self.response.chunk().await.map_err(client::failed)? {
                Some(chunk) => self.rest.extend_from_slice(&chunk),
                None => return Ok(None),
            }
        }
    }

    /// One line; an empty one ends an event that has data.
    fn take(&mut self, line: &str) -> Option<Value> {
        if line.is_empty() {
            let event = self.event.take();
            if self.data.is_empty() {
                return None;
            }
            let data = std::mem::take(&mut self.data).join("\n");
            let event = event.unwrap_or_else(|| "message".to_owned());
            return Some(
                json!({ "type": "event", "event": event, "data": data, "id": self.id, "retry": self.retry }),
            );
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.event = Some(value.to_owned()),
            "data" => self.data.push(value.to_owned()),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" => self.retry = value.parse().ok(),
            _ => {}
        }
        None
    }
}

pub struct Open;

#[async_trait]
impl Tool for Open {
    fn spec(&self) -> ToolSpec {
        reaching("sse_open", "Opens a stream of events.", Class::Read)
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
        // A stream has no end that could be waited for, so there is no time limit on the whole of it.
        let mut args = args.clone();
        args.remove("timeout_ms");
        let (request, _) = client::request(&ctx.secrets, &args)?;
        let request = request.header("accept", "text/event-stream");
        let response = request.send().await.map_err(client::failed)?;
        let status = response.status().as_u16();
        let headers = client::shown_headers(response.headers());
        let (rest, data) = (Vec::new(), Vec::new());
        let events = Events { response, rest, event: None, data, id: None, retry: None };
        let id = ctx.open.put_new("sse", Mutex::new(events));
        Ok(json!({ "stream": id, "id": id, "status": status, "headers": headers }).into())
    }
}

pub struct Next;

#[async_trait]
impl Tool for Next {
    fn spec(&self) -> ToolSpec {
        going_on("sse_next", "The next event of a stream.", Class::Local)
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
        let events = ctx.open.get::<Mutex<Events>>(text(args, "stream").unwrap_or_default())?;
        let mut events = events.lock().await;
        let next = in_time(args, events.next()).await;
        Ok(next.transpose()?.flatten().unwrap_or_default().into())
    }
}

/// What comes within `timeout_ms`, or whenever it comes if that is not said. What was half received stays.
pub async fn in_time<T>(args: &Map<String, Value>, next: impl Future<Output = T>) -> Option<T> {
    match args.get("timeout_ms").and_then(Value::as_u64) {
        Some(ms) => tokio::time::timeout(Duration::from_millis(ms), next).await.ok(),
        None => Some(next.await),
    }
}
