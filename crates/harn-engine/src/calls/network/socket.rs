//! WebSockets, as a client.

use std::time::Duration;

use futures::stream::{SplitSink, SplitStream};
use futures::{SinkExt, StreamExt};
use reqwest::{RequestBuilder, Upgraded};
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::handshake::client::generate_key;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::client::{self, MOST_BYTES};
use super::in_time;
use crate::calls::args::{self, Args, word};
use crate::calls::simple::Answer;
use crate::secrets::Filling;
use crate::tools::{ToolContext, ToolFailure};

/// How long a goodbye may take to be sent.
const GOODBYE: Duration = Duration::from_secs(1);

type Stream = WebSocketStream<Upgraded>;

/// A socket; who waits for a message does not hold up who sends one.
struct Socket {
    sink: Mutex<SplitSink<Stream, Message>>,
    stream: Mutex<SplitStream<Stream>>,
    /// What has been sent.
    filling: parking_lot::Mutex<Filling>,
}

pub async fn open(ctx: ToolContext, args: Args) -> Answer {
    let (request, mut filling) = client::endless(&ctx.secrets, &args)?;
    let request = match protocols(&args) {
        Some(protocols) => request.header("sec-websocket-protocol", filling.fill(&protocols)?),
        None => request,
    };
    let late = || ToolFailure::categorised("timeout", "The WebSocket timed out while it was opened.");
    let (upgraded, mut headers) = in_time(&args, upgraded(request)).await.ok_or_else(late)??;
    filling.scrub(&mut headers);
    let most = args.get("max_bytes").and_then(Value::as_u64).unwrap_or(MOST_BYTES);
    let most = usize::try_from(most).ok();
    let config = WebSocketConfig::default().max_message_size(most).max_frame_size(most);
    let (sink, stream) = Stream::from_raw_socket(upgraded, Role::Client, Some(config)).await.split();
    let (sink, stream, filling) = (Mutex::new(sink), Mutex::new(stream), filling.into());
    let id = ctx.open.put_new("websocket", Socket { sink, stream, filling });
    Ok(json!({ "socket": id, "id": id, "status": 101, "headers": headers }))
}

fn protocols(args: &Args) -> Option<String> {
    let names: Vec<&str> = args.get("protocols")?.as_array()?.iter().filter_map(Value::as_str).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The connection, once the other side has agreed to go on with messages, and the headers of its answer.
async fn upgraded(request: RequestBuilder) -> Result<(Upgraded, Value), ToolFailure> {
    let key = generate_key();
    let asks = [("connection", "Upgrade"), ("upgrade", "websocket"), ("sec-websocket-version", "13")];
    let request = asks.into_iter().fold(request, |request, (name, value)| request.header(name, value));
    let response = request.header("sec-websocket-key", &key).send().await.map_err(client::failed)?;
    let status = response.status().as_u16();
    let agreed = response.headers().get("sec-websocket-accept").map(|value| value.as_bytes());
    if status != 101 || agreed != Some(derive_accept_key(key.as_bytes()).as_bytes()) {
        let message = format!("WebSocket: the server did not agree to it, but answered with HTTP {status}.");
        return Err(ToolFailure::new(message));
    }
    let headers = client::shown_headers(response.headers());
    Ok((response.upgrade().await.map_err(client::failed)?, headers))
}

pub async fn send(ctx: ToolContext, args: Args) -> Answer {
    let socket = ctx.open.get::<Socket>(word(&args, "socket"))?;
    let message = message_of(args.get("message").unwrap_or(&Value::Null), &mut socket.filling.lock())?;
    match socket.sink.lock().await.send(message).await {
        Ok(()) => Ok(true.into()),
        Err(error) if is_closed(&error) => Ok(false.into()),
        Err(error) => Err(failed(&error)),
    }
}

/// `{type: "text"|"binary"|"ping"|"pong"|"close", data}`, or a text.
fn message_of(message: &Value, filling: &mut Filling) -> Result<Message, ToolFailure> {
    let data =
        if message.is_object() && message.get("$bytes").is_none() { &message["data"] } else { message };
    let bytes = match data {
        Value::Null => Vec::new(),
        data => client::body(data, filling)?,
    };
    let kind = match data {
        Value::String(_) | Value::Null => message["type"].as_str().unwrap_or("text"),
        _ => message["type"].as_str().unwrap_or("binary"),
    };
    Ok(match kind {
        "binary" => Message::Binary(bytes.into()),
        "ping" => Message::Ping(bytes.into()),
        "pong" => Message::Pong(bytes.into()),
        "close" => Message::Close(None),
        _ => Message::Text(String::from_utf8_lossy(&bytes).into_owned().into()),
    })
}

pub async fn next(ctx: ToolContext, args: Args) -> Answer {
    let id = word(&args, "socket");
    let socket = ctx.open.get::<Socket>(id)?;
    let next = ctx.open.while_open(id, async { socket.stream.lock().await.next().await });
    let mut shown = match in_time(&args, next).await {
        None => return Ok(Value::Null),
        Some(Some(Some(Ok(message)))) => shown(&message),
        Some(Some(Some(Err(error)))) if !is_closed(&error) => return Err(failed(&error)),
        // Closed by the other side before, or by this one just now.
        Some(_) => json!({ "type": "close", "code": null, "reason": "" }),
    };
    socket.filling.lock().scrub(&mut shown);
    Ok(shown)
}

fn shown(message: &Message) -> Value {
    match message {
        Message::Text(text) => json!({ "type": "text", "data": text.as_str() }),
        Message::Binary(bytes) => json!({ "type": "binary", "data": args::bytes(bytes) }),
        Message::Ping(bytes) => json!({ "type": "ping", "data": args::bytes(bytes) }),
        Message::Pong(bytes) => json!({ "type": "pong", "data": args::bytes(bytes) }),
        Message::Close(frame) => {
            let (code, reason) =
                frame.as_ref().map(|frame| (u16::from(frame.code), frame.reason.as_str())).unzip();
            json!({ "type": "close", "code": code, "reason": reason.unwrap_or_default() })
        }
        Message::Frame(_) => Value::Null,
    }
}

/// Closes whatever was opened; a socket with a word to the other side.
pub async fn close(ctx: ToolContext, args: Args) -> Answer {
    let id = word(&args, "handle");
    if let Ok(socket) = ctx.open.get::<Socket>(id) {
        // Who does not take it may do without.
        let _ = tokio::time::timeout(GOODBYE, async { socket.sink.lock().await.close().await }).await;
    }
    Ok(ctx.open.close(id).into())
}

fn is_closed(error: &Error) -> bool {
    let is_late = matches!(error, Error::Protocol(ProtocolError::SendAfterClosing));
    is_late || matches!(error, Error::ConnectionClosed | Error::AlreadyClosed)
}

fn failed(error: &Error) -> ToolFailure {
    let category = match error {
        Error::Io(_) | Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => "transient_network",
        _ => "generic",
    };
    let hint = if matches!(error, Error::Capacity(_)) { "; `max_bytes` allows more" } else { "" };
    ToolFailure::categorised(category, format!("WebSocket: {error}{hint}"))
}
