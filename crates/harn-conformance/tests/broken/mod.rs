//! A small, honest server of the protocol in memory, with flaws that can be switched on one at a time.

mod extras;
pub mod flaw;
mod routes;
mod stream;
mod world;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use harn_core::PROTOCOL_VERSION;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, watch};

use flaw::Flaw;
use routes::{Call, Reply, fault, not_found};
use world::World;

pub const KEY: &str = "key-of-the-test-server-0123456789";

pub struct Server {
    world: Mutex<World>,
    flaw: Option<Flaw>,
    /// Says how many events there are.
    changed: watch::Sender<usize>,
}

/// Gives the address; the server lives as long as the test's runtime.
pub async fn start(flaw: Option<Flaw>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let server =
        Arc::new(Server { world: Mutex::new(World::new(flaw)), flaw, changed: watch::Sender::new(0) });
    let router = Router::new().fallback(handle).with_state(server);
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn reply((status, body): Reply) -> Response {
    (StatusCode::from_u16(status).unwrap(), axum::Json(body)).into_response()
}

async fn handle(State(server): State<Arc<Server>>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let bytes = to_bytes(body, 1 << 20).await.unwrap();
    let path: Vec<&str> = head.uri.path().trim_matches('/').split('/').skip(1).collect();
    let public = matches!(path.as_slice(), [] | ["agent-card"]) && !server.has(Flaw::DiscoveryNeedsAKey);
    if !public && let Some(refusal) = server.gate(&head, &path, &bytes).await {
        return refusal;
    }
    match path.as_slice() {
        [] => return reply((200, server.discovery())),
        ["agent-card"] => return reply((200, server.card())),
        ["tasks" | "sessions", id, .., "stream"] => {
            return stream::open(server.clone(), id, &head.headers).await;
        }
        _ => {}
    }
    let answer = server.answer(&head, &path, &bytes).await;
    server.changed.send_replace(server.world.lock().await.events.len());
    server.spoiled(answer, &head.headers)
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).map(|value| value.to_str().unwrap())
}

impl Server {
    fn has(&self, flaw: Flaw) -> bool {
        self.flaw == Some(flaw)
    }

    fn discovery(&self) -> Value {
        let family = if self.has(Flaw::DiscoveryOfAnotherFamily) { "other" } else { "harn_agents_protocol" };
        let more = !self.has(Flaw::OnlyCore);
        json!({
            "object": "protocol_discovery", "protocol_family": family,
            "current_version": PROTOCOL_VERSION, "supported_versions": [PROTOCOL_VERSION],
            "capabilities": { "rest": true, "sse": true, "websocket": false, "receipts": more, "replay": more },
        })
    }

    fn card(&self) -> Value {
        let a2a_card = if self.has(Flaw::CardWithoutA2a) { json!(null) } else { json!({}) };
        json!({
            "id": "card", "object": "harn_agent_card", "name": "test", "description": "test",
            "protocol_version": PROTOCOL_VERSION, "a2a_card": a2a_card, "skills": [],
        })
    }

    /// Authentication and the version; `None` lets the request in.
    async fn gate(&self, head: &Parts, path: &[&str], bytes: &[u8]) -> Option<Response> {
        let key = text(&head.headers, "authorization").unwrap_or_default();
        let known = match key.split_once(' ') {
            Some((scheme, key)) => {
                let scheme = scheme == "Bearer" || self.has(Flaw::AnyScheme);
                scheme && (key == KEY || self.has(Flaw::KeyPrefixCompared) && key.starts_with(KEY))
            }
            None if key.is_empty() => self.has(Flaw::NoKeyNeeded),
            None => self.has(Flaw::BareKeyAccepted) && key == KEY,
        };
        let open = self.has(Flaw::StreamsOpenToAll) && path.last() == Some(&"stream");
        if !known && !open {
            if self.has(Flaw::WritesBeforeTheKeyIsChecked) && head.method == "POST" {
                self.answer(head, path, bytes).await;
            }
            if self.has(Flaw::TellsWhatExists) && matches!(path, ["tasks", _]) {
                let told = self.answer(head, path, bytes).await;
                if told.0 == 404 {
                    return Some(reply(told));
                }
            }
            return Some(self.stranger(key));
        }
        let right = match text(&head.headers, "harn-agents-protocol-version") {
            Some(version) => version == PROTOCOL_VERSION || self.has(Flaw::AnyVersionAccepted),
            None => false,
        };
        if right || self.has(Flaw::NoVersionCheck) {
            return None;
        }
        let mut refusal =
            fault(426, "unsupported_protocol_version", "request_error", "Another version, please.");
        if !self.has(Flaw::VersionsNotListed) {
            refusal.1["error"]["details"]["supported_versions"] = json!([PROTOCOL_VERSION]);
        }
        Some(reply(refusal))
    }

    fn stranger(&self, key: &str) -> Response {
        if self.has(Flaw::RefusalWithoutEnvelope) {
            return (StatusCode::UNAUTHORIZED, "who are you?").into_response();
        }
        let message = match self.has(Flaw::RefusalEchoesTheKey) {
            true => format!("{key} is nobody's."),
            false => "Send a key.".into(),
        };
        reply(fault(401, "unauthenticated", "auth_error", &message))
    }

    /// Looks for a remembered answer, else runs the command and remembers.
    async fn answer(&self, head: &Parts, path: &[&str], bytes: &[u8]) -> Reply {
        let body: Value = match bytes.is_empty() {
            true => json!({}),
            false => match serde_json::from_slice(bytes) {
                Ok(body @ Value::Object(_)) => body,
                _ => return fault(400, "invalid_request", "request_error", "The body is no JSON object."),
            },
        };
        let query = head.uri.query().unwrap_or_default().split('&');
        let query: Vec<_> = query.filter_map(|pair| pair.split_once('=')).collect();
        let call = Call { method: head.method.as_str(), path, query: &query, body: &body };
        let Some(key) = text(&head.headers, "idempotency-key") else {
            return routes::answer(&mut *self.world.lock().await, &call);
        };
        if key.len() > 255 {
            return fault(400, "invalid_request", "request_error", "The key is too long.");
        }
        let scope = match self.has(Flaw::KeyWithoutTarget) {
            true => key.to_owned(),
            false => format!("{} {path:?} {key}", call.method),
        };
        let ignored = match path.last() {
            Some(&"tasks") => self.has(Flaw::TaskKeyIgnored),
            Some(&"messages") => self.has(Flaw::MessageKeyIgnored),
            Some(&"sessions") => self.has(Flaw::SessionKeyIgnored),
            Some(&"artifacts") => self.has(Flaw::ArtifactKeyIgnored),
            _ => false,
        };
        let mut world = self.world.lock().await;
        if let Some((raw, known, status, first)) = world.remembered.get(&scope).filter(|_| !ignored) {
            let same = if self.has(Flaw::BytesCompared) { raw == bytes } else { *known == body };
            if !same && !self.has(Flaw::OtherBodyAccepted) {
                return fault(409, "idempotency_key_reused", "conflict_error", "That key is taken.");
            }
            return match self.has(Flaw::RetryAnswersShort) {
                true => (*status, json!({ "id": first["id"], "object": first["object"] })),
                false => (*status, first.clone()),
            };
        }
        if self.has(Flaw::DuplicatesRace) {
            drop(world);
            tokio::time::sleep(Duration::from_millis(100)).await;
            world = self.world.lock().await;
        }
        let (status, answer) = routes::answer(&mut world, &call);
        if status < 300 {
            world.remembered.insert(scope, (bytes.to_vec(), body, status, answer.clone()));
        }
        (status, answer)
    }

    /// The flaws of error answers.
    fn spoiled(&self, (status, mut body): Reply, headers: &HeaderMap) -> Response {
        if status == 404 && self.has(Flaw::PlainTextErrors) {
            return (StatusCode::NOT_FOUND, "not found").into_response();
        }
        if status == 404 && self.has(Flaw::CodeDisagreesWithStatus) {
            body = fault(404, "invalid_request", "request_error", "Not here.").1;
        }
        if status == 400 && self.has(Flaw::ErrorsEchoTheKey) {
            body["error"]["details"]["authorization"] = json!(text(headers, "authorization"));
        }
        reply((status, body))
    }
}
