//! WebSockets, as a client.

use async_trait::async_trait;
use futures::{SinkExt, StreamExt};
use harn_core::tool::{Class, ToolSpec};
use serde_json::{Map, Value, json};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use super::client::{self, text};
use super::events::in_time;
use super::{going_on, reaching};
use crate::secrets::Filling;
use crate::tools::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput};

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

pub struct Open;

#[async_trait]
impl Tool for Open {
    fn spec(&self) -> ToolSpec {
        reaching("socket_open", "Opens a WebSocket.", Class::Read)
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
        let url = text(args, "url").unwrap_or_default();
        let mut request = url.into_client_request().map_err(|error| failed(&error))?;
        let host = request.uri().host().unwrap_or_default().to_owned();
        let mut filling = Filling::to(&ctx.secrets, &host);
        request.headers_mut().extend(client::headers(args.get("headers"), &mut filling)?);
        let opened = in_time(args, tokio_tungstenite::connect_async(request)).await;
        let late = || ToolFailure::categorised("timeout", "The WebSocket timed out while it was opened.");
        let (socket, response) = opened.ok_or_else(late)?.map_err(|error| failed(&error))?;
        let headers = client::shown_headers(response.headers());
        let id = ctx.open.put_new("websocket", Mutex::new(socket));
        Ok(json!({ "socket": id, "id": id, "status": response.status().as_u16(), "headers": headers }).into())
    }
}

pub struct Send;

#[async_trait]
impl Tool for Send {
    fn spec(&self) -> ToolSpec {
        going_on("socket_send", "Sends a message.", Class::Once)
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
        let socket = ctx.open.get::<Mutex<Socket>>(text(args, "socket").unwrap_or_default())?;
        let message = message_of(args.get("message").unwrap_or(&Value::Null))?;
        match socket.lock().await.send(message).await {
            Ok(()) => Ok(Value::Bool(true).into()),
            Err(Error::ConnectionClosed | Error::AlreadyClosed) => Ok(Value::Bool(false).into()),
            Err(error) => Err(failed(&error)),
        }
    }
}

/// `{type: "text"|"binary"|"ping"|"pong"|"close", data}`, or a text.
fn message_of(message: &Value) -> Result<Message, ToolFailure> {
    let data =
        if message.is_object() && message.get("$bytes").is_none() { &message["data"] } else { message };
    let bytes = || match data {
        Value::Null => Ok(Vec::new()),
        data => client::bytes_of(data),
    };
    let kind = match data {
        Value::String(_) | Value::Null => message["type"].as_str().unwrap_or("text"),
        _ => message["type"].as_str().unwrap_or("binary"),
    };
    Ok(match kind {
        "binary" => Message::Binary(bytes()?.into()),
        "ping" => Message::Ping(bytes()?.into()),
        "pong" => Message::Pong(bytes()?.into()),
        "close" => Message::Close(None),
        _ => Message::Text(String::from_utf8_lossy(&bytes()?).into_owned().into()),
    })
}

pub struct Next;

#[async_trait]
impl Tool for Next {
    fn spec(&self) -> ToolSpec {
        going_on("socket_next", "The next message of a socket.", Class::Local)
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
        let socket = ctx.open.get::<Mutex<Socket>>(text(args, "socket").unwrap_or_default())?;
        let mut socket = socket.lock().await;
        let next = in_time(args, socket.next()).await;
        let shown = match next {
            None => Value::Null,
            Some(None | Some(Err(Error::ConnectionClosed | Error::AlreadyClosed))) => {
                json!({ "type": "close", "code": null, "reason": "" })
            }
            Some(Some(Err(error))) => return Err(failed(&error)),
            Some(Some(Ok(message))) => shown(&message),
        };
        Ok(shown.into())
    }
}

fn shown(message: &Message) -> Value {
    match message {
        Message::Text(text) => json!({ "type": "text", "data": text.as_str() }),
        Message::Binary(bytes) => json!({ "type": "binary", "data": client::tagged(bytes) }),
        Message::Ping(bytes) => json!({ "type": "ping", "data": client::tagged(bytes) }),
        Message::Pong(bytes) => json!({ "type": "pong", "data": client::tagged(bytes) }),
        Message::Close(frame) => {
            let (code, reason) =
                frame.as_ref().map(|frame| (u16::from(frame.code), frame.reason.as_str())).unzip();
            json!({ "type": "close", "code": code, "reason": reason.unwrap_or_default() })
        }
        Message::Frame(_) => Value::Null,
    }
}

fn failed(error: &Error) -> ToolFailure {
    let category = match error {
        Error::Io(_) | Error::Tls(_) => "transient_network",
        Error::Url(_) | Error::HttpFormat(_) => "invalid_request",
        _ => "generic",
    };
    ToolFailure::categorised(category, format!("WebSocket: {error}"))
}
