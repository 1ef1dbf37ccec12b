//! One request and its whole response.

use async_trait::async_trait;
use harn_core::tool::{Class, ToolSpec};
use serde_json::{Map, Value, json};

use super::client::{self, MOST_BYTES};
use super::reaching;
use crate::tools::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput};

pub struct Exchange {
    spec: ToolSpec,
}

impl Exchange {
    pub fn reading() -> Self {
        Self { spec: reaching("http_read", "A request that only asks for something.", Class::Read) }
    }

    pub fn sending() -> Self {
        Self { spec: reaching("http_send", "A request that may change something.", Class::Once) }
    }
}

#[async_trait]
impl Tool for Exchange {
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
        let most = args.get("max_bytes").and_then(Value::as_u64).unwrap_or(MOST_BYTES);
        let (request, filling) = client::request(&ctx.secrets, args)?;
        let mut response = request.send().await.map_err(client::failed)?;
        let (status, headers) = (response.status().as_u16(), client::shown_headers(response.headers()));
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(client::failed)? {
            if body.len() as u64 + chunk.len() as u64 > most {
                let message = format!("The response has more than {most} bytes; `max_bytes` allows more.");
                return Err(ToolFailure::new(message));
            }
            body.extend_from_slice(&chunk);
        }
        let as_bytes = args.get("as_bytes").is_some_and(|wanted| wanted == true);
        let body = match String::from_utf8(body) {
            Ok(text) if !as_bytes => Value::String(text),
            Ok(text) => client::tagged(text.as_bytes()),
            Err(binary) => client::tagged(binary.as_bytes()),
        };
        let mut shown = json!({ "status": status, "headers": headers, "body": body });
        filling.scrub(&mut shown);
        Ok(shown.into())
    }
}
