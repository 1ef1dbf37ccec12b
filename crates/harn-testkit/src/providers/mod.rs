//! Servers that speak the wire formats of model providers: they answer from a script, streamed or whole as they are
//! asked, and refuse what the originals refuse. `cargo xtask interop models` proves them against the official SDKs.

pub mod anthropic;
pub mod gemini;
pub mod ollama;
mod openai;
pub mod openai_chat;
pub mod openai_responses;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::Response;
use futures::StreamExt;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;

/// What is done with one request that the provider accepts.
#[derive(Clone, Debug)]
pub enum Turn<S> {
    Answer(S),
    /// After so many frames of the answer, the rest waits for a sign.
    Held(S, usize, Arc<Notify>),
    /// A status and the body that comes with it.
    Refuse(u16, Value),
}

/// A request that had the right key and path.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// With the query.
    pub path: String,
    pub body: Value,
}

/// The form of one provider.
pub trait Provider: Default + Send + 'static {
    /// What a script says for one answer.
    type Said: Send + 'static;
    /// What belongs to the base URL besides the host.
    const BASE: &'static str = "";

    /// Whether there is such a path.
    fn serves(path: &str) -> bool;

    /// A refusal of those who have no key.
    fn admit(headers: &HeaderMap) -> Result<(), Refusal>;

    /// The rules that the original enforces and a client can break.
    fn check(&self, asked: &Asked) -> Result<(), Refusal>;

    fn answer(&mut self, said: Self::Said, asked: &Asked) -> Response;

    /// A refusal with the status that the original gives it.
    fn refusal(status: u16, message: &str) -> Refusal;
}

/// A status and a body.
pub type Refusal = (u16, Value);

/// A server, as long as the runtime runs.
pub struct Fake<P: Provider> {
    /// The base URL.
    pub url: String,
    script: Arc<Mutex<Script<P>>>,
}

/// Says what is done with a request.
type Rule<S> = Box<dyn FnMut(&Asked) -> Option<Turn<S>> + Send>;

struct Script<P: Provider> {
    provider: P,
    rule: Rule<P::Said>,
    asked: Vec<Asked>,
}

impl<P: Provider> Fake<P> {
    /// Takes one turn for each request that passes its checks.
    pub async fn start(turns: Vec<Turn<P::Said>>) -> Self {
        let mut turns = VecDeque::from(turns);
        Self::by_rule(move |_| turns.pop_front()).await
    }

    /// Asks a rule about each request that passes its checks, for clients whose requests come in any order.
    pub async fn by_rule(rule: impl FnMut(&Asked) -> Option<Turn<P::Said>> + Send + 'static) -> Self {
        let script = Script { provider: P::default(), rule: Box::new(rule), asked: Vec::new() };
        let script = Arc::new(Mutex::new(script));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}{}", listener.local_addr().unwrap(), P::BASE);
        let app = Router::new().fallback(serve::<P>).with_state(Arc::clone(&script));
        tokio::spawn(async move { axum::serve(listener, app).await });
        Self { url, script }
    }

    /// All requests so far, those that were refused by a rule included.
    pub fn asked(&self) -> Vec<Asked> {
        self.script.lock().asked.clone()
    }
}

async fn serve<P: Provider>(
    State(script): State<Arc<Mutex<Script<P>>>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    respond(&mut script.lock(), &method, &uri, &headers, &body)
        .unwrap_or_else(|(status, body)| json_reply(status, &body))
}

fn respond<P: Provider>(
    script: &mut Script<P>,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Response, Refusal> {
    P::admit(headers)?;
    if *method != Method::POST || !P::serves(uri.path()) {
        return Err(P::refusal(404, &format!("there is no {method} {uri}")));
    }
    let body = serde_json::from_slice(body).map_err(|_| P::refusal(400, "the body is not valid JSON"))?;
    let asked = Asked { path: uri.to_string(), body };
    script.asked.push(asked.clone());
    script.provider.check(&asked)?;
    match (script.rule)(&asked) {
        Some(Turn::Answer(said)) => Ok(script.provider.answer(said, &asked)),
        Some(Turn::Held(said, first, sign)) => Ok(held(script.provider.answer(said, &asked), first, sign)),
        Some(Turn::Refuse(status, body)) => Err((status, body)),
        None => Err(P::refusal(400, "the script is over")),
    }
}

fn held(response: Response, first: usize, sign: Arc<Notify>) -> Response {
    let wait = move |(n, frame)| {
        let sign = (n == first).then(|| Arc::clone(&sign));
        async move {
            if let Some(sign) = sign {
                sign.notified().await;
            }
            frame
        }
    };
    response.map(|body| Body::from_stream(body.into_data_stream().enumerate().then(wait)))
}

fn json_reply(status: u16, body: &Value) -> Response {
    reply(status, "application/json", Body::from(body.to_string()))
}

/// The frames go out one by one, so that a client meets them in any packing.
fn stream_reply(content_type: &str, frames: Vec<String>) -> Response {
    let frames = futures::stream::iter(frames.into_iter().map(Ok::<_, Infallible>));
    reply(200, content_type, Body::from_stream(frames))
}

fn reply(status: u16, content_type: &str, body: Body) -> Response {
    Response::builder().status(status).header("content-type", content_type).body(body).unwrap()
}

/// The value of a header, if it is text.
fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// The text in pieces of some letters, as a stream brings it.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(7).map(|piece| piece.iter().collect()).collect()
}
