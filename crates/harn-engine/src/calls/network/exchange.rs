//! One request and its whole response.

use serde_json::{Value, json};

use super::client::{self, MOST_BYTES};
use crate::calls::args::{self, Args};
use crate::calls::simple::Answer;
use crate::tools::{ToolContext, ToolFailure};

pub async fn exchange(ctx: ToolContext, args: Args) -> Answer {
    let most = args.get("max_bytes").and_then(Value::as_u64).unwrap_or(MOST_BYTES);
    let (request, filling) = client::request(&ctx.secrets, &args)?;
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
        Ok(text) => args::bytes(text.as_bytes()),
        Err(binary) => args::bytes(binary.as_bytes()),
    };
    let mut shown = json!({ "status": status, "headers": headers, "body": body });
    filling.scrub(&mut shown);
    Ok(shown)
}
