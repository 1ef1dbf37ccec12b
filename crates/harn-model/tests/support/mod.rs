//! A server on a real socket that answers with exactly the bytes that a test gives it, and remembers what it was asked.

#![allow(dead_code, reason = "each test file uses its part")]

pub mod adapters;
pub mod chat;
pub mod chunks;
pub mod responses;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::TryStreamExt;
use harn_core::chat::{ChatMessage, ModelRef, ModelRequest};
use harn_model::wire::Parser;
use harn_model::{
    Chunk, Codec, Framing, HttpOptions, Model, ModelError, Proxy, RetryPolicy, Target, Transport,
    TransportOptions,
};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

/// What is done with one request.
#[derive(Clone)]
pub enum Step {
    Send(Vec<u8>),
    /// Nothing, until the client closes the connection; that is then told through `Server::closed`.
    Hold,
}

#[derive(Clone)]
pub struct Reply(pub Vec<Step>);

impl Reply {
    /// A whole answer of HTTP.
    pub fn new(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let body = body.as_ref();
        let mut bytes = head(status, headers);
        bytes.extend(format!("content-length: {}\r\n\r\n", body.len()).into_bytes());
        bytes.extend_from_slice(body);
        Self(vec![Step::Send(bytes)])
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Self::new(status, &[("content-type", "application/json")], body.to_string())
    }

    /// A stream of events whose end the connection's end marks.
    pub fn events(body: impl AsRef<[u8]>) -> Self {
        let mut bytes = head(200, &[("content-type", "text/event-stream; charset=utf-8")]);
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body.as_ref());
        Self(vec![Step::Send(bytes)])
    }

    pub fn then(mut self, step: Step) -> Self {
        self.0.push(step);
        self
    }
}

fn head(status: u16, headers: &[(&str, &str)]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} Status\r\nconnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.into_bytes()
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Seen {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl Seen {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }
}

pub struct Server {
    pub url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
    closed: mpsc::UnboundedReceiver<()>,
}

impl Server {
    /// Answers the requests in turn; the last reply serves all that follow.
    pub async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (told, closed) = mpsc::unbounded_channel();
        let replies = Arc::new(Mutex::new(VecDeque::from(replies)));
        let requests = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, Arc::clone(&replies), Arc::clone(&requests), told.clone()));
            }
        });
        Self { url, seen, closed }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Returns when a client has closed a connection that was on hold.
    pub async fn closed(&mut self) {
        self.closed.recv().await.unwrap();
    }
}

/// Answers the one request of a connection with the next reply.
pub async fn serve(
    mut socket: impl AsyncRead + AsyncWrite + Unpin,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    seen: Arc<Mutex<Vec<Seen>>>,
    told: mpsc::UnboundedSender<()>,
) {
    let Some(request) = read_request(&mut socket).await else { return };
    seen.lock().unwrap().push(request);
    let reply = {
        let mut replies = replies.lock().unwrap();
        if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() }
    };
    for step in reply.into_iter().flat_map(|reply| reply.0) {
        match step {
            Step::Send(bytes) => {
                if socket.write_all(&bytes).await.is_err() {
                    break;
                }
            }
            Step::Hold => {
                // Nothing more is sent by a client, so whatever ends this read is the end of the connection.
                let _ = socket.read(&mut [0; 16]).await;
                let _ = told.send(());
            }
        }
    }
}

async fn read_request(socket: &mut (impl AsyncRead + Unpin)) -> Option<Seen> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        let mut piece = [0; 4096];
        match socket.read(&mut piece).await {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let line = lines.next()?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let length = headers.iter().find(|(name, _)| name == "content-length")?.1.parse().ok()?;
    let mut body = bytes[end..].to_vec();
    let have = body.len();
    body.resize(length, 0);
    socket.read_exact(&mut body[have.min(length)..]).await.ok()?;
    Some(Seen { line, headers, body: serde_json::from_slice(&body).unwrap_or(Value::Null) })
}

pub fn transport() -> Transport {
    Transport::new(&TransportOptions { proxy: Proxy::None, ..TransportOptions::default() }).unwrap()
}

/// Options under which nothing is waited for longer than a test has to.
pub fn options(attempts: u32) -> HttpOptions {
    let retry = RetryPolicy {
        attempts,
        base: Duration::from_millis(1),
        cap: Duration::from_millis(2),
        ..RetryPolicy::default()
    };
    HttpOptions { retry, ..HttpOptions::default() }
}

pub fn request(messages: Vec<ChatMessage>) -> ModelRequest {
    ModelRequest {
        model: ModelRef { provider: "p".into(), model: "m".into() },
        system: "Be good.".into(),
        messages: messages.into(),
        tools: [].into(),
        max_output_tokens: 1000,
        thinking: Default::default(),
        output_schema: None,
        sampling: Default::default(),
    }
}

/// All chunks, and the error at the end if there is one.
pub async fn run(model: &impl Model, request: ModelRequest) -> (Vec<Chunk>, Option<ModelError>) {
    let mut chunks = Vec::new();
    let mut stream = model.stream(request);
    loop {
        match stream.try_next().await {
            Ok(Some(chunk)) => chunks.push(chunk),
            Ok(None) => return (chunks, None),
            Err(error) => return (chunks, Some(error)),
        }
    }
}

/// What a codec makes of these bytes, without any socket: all chunks, and the error if there is one.
pub fn decoded(
    codec: &dyn Codec,
    request: &ModelRequest,
    target: &Target,
    framing: Framing,
    bytes: &[u8],
) -> (Vec<Chunk>, Option<ModelError>) {
    let mut chunks = Vec::new();
    let mut decoder = codec.decoder(request, target);
    let mut parser = Parser::new(framing);
    parser.feed(bytes);
    let is_whole = |chunks: &[Chunk]| matches!(chunks.last(), Some(Chunk::Stop(_)));
    loop {
        let result = match parser.next_frame() {
            Ok(Some(frame)) => decoder.frame(frame, &mut chunks),
            Ok(None) => break,
            Err(error) => Err(error.into()),
        };
        if is_whole(&chunks) {
            return (chunks, None);
        }
        if let Err(error) = result {
            let _ = decoder.end(&mut chunks);
            return (chunks, Some(error));
        }
    }
    if let Some(Err(error)) = parser.finish().map(|frame| decoder.frame(frame, &mut chunks)) {
        return (chunks, Some(error));
    }
    let error = if is_whole(&chunks) { None } else { decoder.end(&mut chunks).err() };
    (chunks, error)
}

/// The bytes as gzip, stored without compression.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packed = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    let blocks: Vec<&[u8]> = bytes.chunks(60_000).collect();
    for (index, block) in blocks.iter().enumerate() {
        let length = u16::try_from(block.len()).unwrap();
        packed.push(u8::from(index + 1 == blocks.len()));
        packed.extend(length.to_le_bytes());
        packed.extend((!length).to_le_bytes());
        packed.extend_from_slice(block);
    }
    let crc = !bytes.iter().fold(!0_u32, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ (0xEDB8_8320 & (crc & 1).wrapping_neg()))
    });
    packed.extend(crc.to_le_bytes());
    packed.extend(u32::try_from(bytes.len()).unwrap().to_le_bytes());
    packed
}
