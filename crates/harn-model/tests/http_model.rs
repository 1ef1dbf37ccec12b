//! What every model over HTTP does, whatever its wire format: shown with a format of one line and real sockets.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;
use std::time::Duration;

use futures::{FutureExt, StreamExt};
use harn_core::chat::{ChatMessage, ModelRequest, PartialCall, StopReason, Usage};
use harn_model::wire::{FRAME_LIMIT, Frame};
use harn_model::{
    AfterContent, Auth, Chunk, Codec, Credential, Decoder, Framing, Headers, HttpCall, HttpModel,
    HttpOptions, Model, ModelError, Proxy, Target, Transport, TransportOptions,
};
use serde_json::json;
use support::{Reply, Server, Step, gzip, options, request, run, transport};
use tokio::io::AsyncWriteExt;

/// `t TEXT`, `u COUNT`, `p RAW` (a call that broke off), `x` (an unknown answer), `.` (the end).
struct Plain;

struct PlainDecoder;

impl Codec for Plain {
    fn call(&self, request: &ModelRequest, target: &Target) -> Result<HttpCall, ModelError> {
        let body = json!({ "model": target.model, "system": &*request.system });
        let headers = vec![("x-plain".into(), "1".into())];
        Ok(HttpCall { path: "/v1/plain".into(), headers, body, framing: Framing::Events })
    }

    fn decoder(&self, _: &ModelRequest, _: &Target) -> Box<dyn Decoder> {
        Box::new(PlainDecoder)
    }

    fn refusal(&self, status: u16, _: &Headers, body: &[u8]) -> ModelError {
        ModelError::from_status(status, String::from_utf8_lossy(body).into_owned())
    }

    fn wait(&self, headers: &Headers) -> Option<Duration> {
        headers.get("x-plain-wait").map(|_| Duration::from_secs(7))
    }
}

impl Decoder for PlainDecoder {
    fn frame(&mut self, frame: Frame<'_>, chunks: &mut Vec<Chunk>) -> Result<(), ModelError> {
        let text = match frame {
            Frame::Event { data, .. } | Frame::Line(data) => data,
            Frame::Whole(body) => str::from_utf8(body).unwrap(),
        };
        match text.split_once(' ').unwrap_or((text, "")) {
            ("t", text) => chunks.push(Chunk::Text(text.into())),
            ("u", count) => chunks.push(Chunk::Usage(Usage::new(count.parse().unwrap(), 0))),
            ("p", raw) => {
                chunks.push(partial(raw));
                return Err(ModelError::Malformed { message: "arguments".into() });
            }
            (".", _) => chunks.push(Chunk::Stop(StopReason::EndTurn)),
            _ => return Err(ModelError::Malformed { message: format!("`{text}`") }),
        }
        Ok(())
    }

    fn end(&mut self, _: &mut Vec<Chunk>) -> Result<(), ModelError> {
        Err(ModelError::CutStream { message: "no end".into() })
    }
}

fn partial(raw: &str) -> Chunk {
    Chunk::PartialCall(PartialCall { id: "c".into(), name: "n".into(), raw: raw.into() })
}

fn text(text: &str) -> Chunk {
    Chunk::Text(text.into())
}

fn stop() -> Chunk {
    Chunk::Stop(StopReason::EndTurn)
}

const KEY: &str = "sk-very-secret";

fn target(url: &str) -> Target {
    Target::new("plain", "plain-1", url, Auth::Header("x-key".into()))
}

fn model(url: &str, options: HttpOptions) -> HttpModel {
    HttpModel::new(Arc::new(Plain), target(url), Credential::new(KEY, "PLAIN_KEY"), transport())
        .with_options(options)
}

fn hello() -> ModelRequest {
    request(vec![ChatMessage::user("hello")])
}

fn good() -> Reply {
    Reply::events("data: t hi\n\ndata: u 3\n\ndata: .\n\n")
}

fn refused(status: u16) -> Reply {
    Reply::new(status, &[("content-type", "application/json")], "why")
}

#[tokio::test]
async fn a_request_carries_everything_and_its_answer_streams() {
    let server = Server::start(vec![good()]).await;
    let mut target = target(&format!("{}/v1/", server.url));
    target.headers = vec![("x-plain".into(), "2".into()), ("x-team".into(), "blue".into())];
    target.extra_body = json!({"top_k": 5}).as_object().unwrap().clone();
    let model = HttpModel::new(Arc::new(Plain), target, Credential::new(KEY, "PLAIN_KEY"), transport());
    assert_eq!(run(&model, hello()).await, (vec![text("hi"), Chunk::Usage(Usage::new(3, 0)), stop()], None));
    let seen = server.seen().remove(0);
    assert_eq!(seen.line, "POST /v1/plain HTTP/1.1");
    assert_eq!(seen.body, json!({"model": "plain-1", "system": "Be good.", "top_k": 5}));
    let headers = [
        ("x-key", KEY),
        ("x-plain", "2"),
        ("x-team", "blue"),
        ("content-type", "application/json"),
        ("accept", "text/event-stream, application/json"),
    ];
    for (name, value) in headers {
        assert_eq!(seen.header(name), Some(value), "{name}");
    }
    assert!(seen.header("accept-encoding").unwrap().contains("gzip"));
}

#[tokio::test]
async fn nothing_happens_before_the_first_poll() {
    let server = Server::start(vec![good()]).await;
    let model = model(&server.url, options(1));
    drop(model.stream(hello()));
    run(&model, hello()).await;
    assert_eq!(server.seen().len(), 1);
}

/// The chunks, the code of the error and the number of requests.
async fn outcome(replies: Vec<Reply>, options: HttpOptions) -> (Vec<Chunk>, Option<&'static str>, usize) {
    let server = Server::start(replies).await;
    let (chunks, error) = run(&model(&server.url, options), hello()).await;
    (chunks, error.map(|error| error.code()), server.seen().len())
}

#[tokio::test]
async fn a_call_is_made_again_only_where_that_can_help_and_nothing_was_shown() {
    let half = || Reply::events("data: t half\n\n");
    let only_usage = || Reply::events("data: u 9\n\n");
    let answer = || vec![text("hi"), Chunk::Usage(Usage::new(3, 0)), stop()];
    let final_refusal =
        || Reply::new(503, &[("x-should-retry", "false"), ("content-type", "application/json")], "");
    let far = || Reply::new(429, &[("retry-after", "100000")], "");
    let cases = [
        (vec![refused(503), refused(429), good()], 3, answer(), None, 3),
        (vec![refused(529), refused(500), good()], 2, vec![], Some("overloaded"), 2),
        (vec![refused(400), good()], 3, vec![], Some("invalid_request"), 1),
        (vec![refused(401), good()], 3, vec![], Some("auth"), 1),
        (vec![final_refusal(), good()], 3, vec![], Some("overloaded"), 1),
        (vec![far(), good()], 3, vec![], Some("rate_limited"), 1),
        (vec![half(), good()], 3, vec![text("half")], Some("cut_stream"), 1),
        (vec![Reply(vec![]), Reply::events(""), good()], 3, answer(), None, 3),
        // What a failed attempt used is not counted to the answer of the next one.
        (vec![only_usage(), good()], 3, answer(), None, 2),
        (vec![only_usage()], 2, vec![Chunk::Usage(Usage::new(9, 0))], Some("cut_stream"), 2),
        (vec![Reply::events("data: x\n\n"), good()], 3, vec![], Some("malformed"), 1),
        (vec![Reply::events("data: p {\n\n"), good()], 3, vec![partial("{")], Some("malformed"), 1),
    ];
    for (index, (replies, attempts, chunks, error, requests)) in cases.into_iter().enumerate() {
        assert_eq!(outcome(replies, options(attempts)).await, (chunks, error, requests), "case {index}");
    }
}

#[tokio::test]
async fn an_answer_that_broke_off_begins_anew_where_the_caller_allows_it() {
    let mut options = options(3);
    options.retry.after_content = AfterContent::Restart;
    let replies = vec![Reply::events("data: t half\n\n"), good()];
    let chunks = vec![text("half"), Chunk::Restart, text("hi"), Chunk::Usage(Usage::new(3, 0)), stop()];
    assert_eq!(outcome(replies, options).await, (chunks, None, 2));
}

#[tokio::test]
async fn the_wait_that_a_provider_asks_for_is_told_to_the_caller() {
    let cases = [
        (vec![("retry-after", "2")], Some(2000)),
        (vec![("retry-after-ms", "30")], Some(30)),
        (vec![("x-plain-wait", "")], Some(7000)),
        (vec![], None),
    ];
    for (headers, expected) in cases {
        let server = Server::start(vec![Reply::new(429, &headers, "slow down")]).await;
        let (_, error) = run(&model(&server.url, options(1)), hello()).await;
        let wanted = ModelError::RateLimited { message: "slow down".into(), retry_after_ms: expected };
        assert_eq!(error, Some(wanted));
    }
}

#[tokio::test]
async fn a_refusal_that_never_ends_is_still_a_refusal() {
    let mut bytes = b"HTTP/1.1 401 Status\r\ncontent-length: 1000\r\n\r\n".to_vec();
    bytes.extend_from_slice(b"no key");
    let options = HttpOptions { stall: Duration::from_millis(60), ..options(1) };
    let error = failure(Reply(vec![Step::Send(bytes), Step::Hold]), options).await;
    assert_eq!(error, ModelError::Auth { message: "no key; check the key in PLAIN_KEY".into() });
}

/// The error of a single attempt.
async fn failure(reply: Reply, options: HttpOptions) -> ModelError {
    let server = Server::start(vec![reply]).await;
    run(&model(&server.url, options), hello()).await.1.expect("an error")
}

#[tokio::test]
async fn wrong_answers_say_what_to_check() {
    let html = "<!DOCTYPE html><title>Welcome</title>";
    let page = [("content-type", "text/html; charset=utf-8")];
    let cases = [
        (Reply::new(200, &page, html), "malformed", "web page"),
        (Reply::new(404, &page, html), "not_found", "is the base URL right?"),
        (Reply::new(502, &[], html), "overloaded", "web page"),
        (Reply::new(200, &[("content-type", "image/png")], "x"), "malformed", "`image/png`"),
        (Reply::new(200, &[("content-type", "text/plain")], "x"), "malformed", "is the base URL that of"),
        (
            Reply::new(307, &[("location", "https://b.example/")], ""),
            "not_found",
            "redirects to https://b.example/",
        ),
        (refused(404), "not_found", "check the model `plain-1` and the base URL http://127.0.0.1"),
        (refused(401), "auth", "check the key in PLAIN_KEY"),
        (Reply::new(401, &[], format!("bad key {KEY}!")), "auth", "bad key [key]!"),
        (Reply::new(400, &[], "x".repeat(200_000)), "invalid_request", "xxx"),
    ];
    for (reply, code, words) in cases {
        let error = failure(reply, options(1)).await;
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(!error.to_string().contains(KEY), "{error}");
        assert!(error.to_string().len() < 70_000);
    }
}

#[tokio::test]
async fn an_answer_is_read_by_its_content_type_or_as_expected_without_one() {
    let answer = vec![text("hi"), stop()];
    let events = "data: t hi\n\ndata: .\n\n";
    let lines = "t hi\n.\n";
    let typed = |kind: &str, body: &str| Reply::new(200, &[("content-type", kind)], body);
    let packed = [("content-type", "text/event-stream"), ("content-encoding", "gzip")];
    let cases = [
        (typed("text/event-stream", events), answer.clone()),
        (typed("Text/Event-Stream; charset=utf-8", events), answer.clone()),
        (typed("application/x-ndjson", lines), answer.clone()),
        (typed("application/json", "."), vec![stop()]),
        (Reply::new(200, &[], events), answer.clone()),
        (Reply::new(200, &packed, gzip(events.as_bytes())), answer),
    ];
    for (index, (reply, expected)) in cases.into_iter().enumerate() {
        assert_eq!(outcome(vec![reply], options(1)).await, (expected, None, 1), "case {index}");
    }
}

#[tokio::test]
async fn silence_slow_bytes_and_floods_end() {
    let short = Duration::from_millis(60);
    let silent = HttpOptions { first_byte: short, ..options(1) };
    let stalled = HttpOptions { stall: short, ..options(1) };
    let slow = HttpOptions { answer: short, ..options(1) };
    let small = HttpOptions { answer_limit: 100, ..options(1) };
    let bomb = [("content-type", "text/event-stream"), ("content-encoding", "gzip")];
    let flood = vec![b'x'; FRAME_LIMIT + 1];
    let cases = [
        (Reply(vec![Step::Hold]), silent, "timeout"),
        (Reply::events("").then(Step::Hold), silent, "timeout"),
        (Reply::events("data: t a\n\n").then(Step::Hold), stalled, "timeout"),
        (Reply::events("data: t a\n\n").then(Step::Hold), slow, "timeout"),
        (Reply::events("data: t a\n\n".repeat(20)), small, "malformed"),
        (Reply::new(200, &bomb, gzip("data: t a\n\n".repeat(100).as_bytes())), small, "malformed"),
        (Reply::events(flood), options(1), "malformed"),
    ];
    for (index, (reply, options, code)) in cases.into_iter().enumerate() {
        assert_eq!(failure(reply, options).await.code(), code, "case {index}");
    }
}

#[tokio::test]
async fn dropping_the_stream_closes_the_connection_at_any_stage() {
    let before_headers = Reply(vec![Step::Hold]);
    let before_content = Reply::events("").then(Step::Hold);
    for reply in [before_headers, before_content] {
        let mut server = Server::start(vec![reply]).await;
        let model = model(&server.url, options(1));
        let mut stream = model.stream(hello());
        while server.seen().is_empty() {
            assert!(stream.next().now_or_never().is_none());
            tokio::task::yield_now().await;
        }
        drop(stream);
        server.closed().await;
    }
    let mut server = Server::start(vec![Reply::events("data: t a\n\n").then(Step::Hold)]).await;
    let model = model(&server.url, options(1));
    let mut stream = model.stream(hello());
    assert_eq!(stream.next().await, Some(Ok(text("a"))));
    drop(stream);
    server.closed().await;
}

#[tokio::test]
async fn after_the_stop_nothing_is_waited_for() {
    let server = Server::start(vec![Reply::events("data: .\n\ndata: x\n\n").then(Step::Hold)]).await;
    assert_eq!(run(&model(&server.url, options(1)), hello()).await, (vec![stop()], None));
}

#[tokio::test]
async fn a_key_that_cannot_be_sent_is_an_error_that_names_its_variable() {
    let server = Server::start(vec![good()]).await;
    let cases = [
        (Credential::missing("PLAIN_KEY"), "there is no key for plain; set PLAIN_KEY"),
        (Credential::new("", "PLAIN_KEY"), "there is no key for plain; set PLAIN_KEY"),
        (
            Credential::new("sk\nsecret", "PLAIN_KEY"),
            "the key in PLAIN_KEY holds a character that no key has; copy it again",
        ),
    ];
    for (credential, expected) in cases {
        let model = HttpModel::new(Arc::new(Plain), target(&server.url), credential, transport());
        let (chunks, error) = run(&model, hello()).await;
        assert_eq!((chunks, error), (vec![], Some(ModelError::Auth { message: expected.into() })));
    }
    let mut open = target(&server.url);
    open.auth = Auth::None;
    let model = HttpModel::new(Arc::new(Plain), open, Credential::missing("PLAIN_KEY"), transport());
    assert_eq!(run(&model, hello()).await.1, None);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn hosts_that_cannot_be_reached_give_advice() {
    let unused = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let refusing = format!("http://user:pass@{}", unused.local_addr().unwrap());
    drop(unused);
    let plain_text = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let not_tls = format!("https://{}", plain_text.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut socket, _) = plain_text.accept().await.unwrap();
        socket.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    });
    let cases = [
        (refusing, "network", "nothing listens there"),
        ("not a url".into(), "network", "the base URL is not valid"),
        ("http://host.invalid".into(), "network", "the host name is not known"),
        (not_tls, "network", "it does not speak TLS"),
    ];
    for (url, code, words) in cases {
        let (_, error) = run(&model(&url, options(1)), hello()).await;
        let error = error.expect(&url);
        assert_eq!(error.code(), code, "{error}");
        assert!(error.to_string().contains(words) && !error.to_string().contains("pass"), "{error}");
    }
}

#[tokio::test]
async fn a_proxy_is_used_but_for_the_hosts_it_excepts() {
    let (proxy, direct) = (Server::start(vec![good()]).await, Server::start(vec![good()]).await);
    for (except, via_proxy) in [("", 1), ("127.0.0.1", 1)] {
        let options = TransportOptions {
            proxy: Proxy::Url { url: proxy.url.clone(), except: except.into() },
            ..TransportOptions::default()
        };
        let transport = Transport::new(&options).unwrap();
        let credential = Credential::new(KEY, "PLAIN_KEY");
        let model = HttpModel::new(Arc::new(Plain), target(&direct.url), credential, transport);
        assert_eq!(run(&model, hello()).await.1, None);
        assert_eq!(proxy.seen().len(), via_proxy, "except {except:?}");
    }
    assert_eq!(proxy.seen()[0].line, format!("POST {}/v1/plain HTTP/1.1", direct.url));
    assert_eq!(direct.seen().len(), 1);
}

#[test]
fn a_transport_says_what_is_wrong_with_its_options() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.pem");
    std::fs::write(&empty, "no certificate").unwrap();
    let with_ca = |file| TransportOptions { ca_file: Some(file), ..TransportOptions::default() };
    let proxy = Proxy::Url { url: "http://[".into(), except: String::new() };
    let cases = [
        (with_ca(folder.path().join("missing.pem")), "missing.pem cannot be read"),
        (with_ca(empty), "empty.pem holds no certificate"),
        (TransportOptions { proxy, ..TransportOptions::default() }, "the proxy address is not valid"),
    ];
    for (options, words) in cases {
        let error = Transport::new(&options).err().expect(words).to_string();
        assert!(error.contains(words), "{error}");
    }
}
