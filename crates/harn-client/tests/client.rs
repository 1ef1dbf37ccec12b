//! The client against a real server over TCP, TLS, a unix socket and memory.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod server;

use std::sync::atomic::Ordering;
use std::time::Duration;

use harn_client::{Client, ClientError, Frame, Method};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

const KEY: &str = "k-123";

async fn to_tcp() -> Client {
    let (address, _) = server::tcp().await;
    Client::to_url(&format!("http://{address}"), Some(KEY)).unwrap()
}

async fn told(client: &Client) -> Value {
    client.request(Method::GET, "/tell").send().await.unwrap().ok().unwrap().value().unwrap()
}

fn all_that_is_printed(error: &ClientError) -> String {
    format!("{error} {error:?} {error:#?}")
}

#[tokio::test]
async fn a_request_carries_version_key_and_accept() {
    let (address, _) = server::tcp().await;
    let client = Client::to_url(&format!("http://{address}"), Some(KEY)).unwrap();
    let headers = json!({
        "host": address.to_string(),
        "accept": "application/json",
        "authorization": "Bearer k-123",
        "harn-agents-protocol-version": harn_core::PROTOCOL_VERSION,
    });
    assert_eq!(
        told(&client).await,
        json!({ "method": "GET", "target": "/tell", "headers": headers, "body": "" })
    );
}

#[tokio::test]
async fn every_part_of_a_request_can_be_set_replaced_or_left_out() {
    let request = to_tcp().await.request(Method::POST, "/tell?a=1");
    let request = request
        .query(&[("cursor", "a b&c=ü"), ("limit", "2")])
        .json(&json!({ "x": 1 }))
        .idempotency_key("once")
        .header("Authorization", "Basic other")
        .header("host", "there")
        .without_header("Harn-Agents-Protocol-Version")
        .without_header("accept");
    let expected = json!({
        "method": "POST",
        "target": "/tell?a=1&cursor=a%20b%26c%3D%C3%BC&limit=2",
        "headers": {
            "host": "there",
            "content-type": "application/json",
            "content-length": "7",
            "idempotency-key": "once",
            "authorization": "Basic other",
        },
        "body": "{\"x\":1}",
    });
    assert_eq!(request.send().await.unwrap().value().unwrap(), expected);
}

#[tokio::test]
async fn it_speaks_over_tls_socket_and_memory() {
    let (address, authority) = server::tls().await;
    let tls = Client::to_url(&format!("https://localhost:{}/", address.port()), Some(KEY)).unwrap();
    let socket = server::unix();
    let clients = [
        tls.with_ca(authority.as_bytes()).unwrap(),
        Client::to_socket(&socket),
        Client::over(server::in_process),
    ];
    for client in clients {
        assert_eq!(told(&client).await["method"], "GET", "{client:?}");
        assert_eq!(read_all(&client).await, stream_frames(), "{client:?}");
    }
    std::fs::remove_file(socket).unwrap();
}

#[tokio::test]
async fn an_unknown_authority_is_a_tls_error_that_says_what_to_do() {
    let (address, _) = server::tls().await;
    let client = Client::to_url(&format!("https://localhost:{}", address.port()), Some(KEY)).unwrap();
    let error = client.request(Method::GET, "/tell").send().await.unwrap_err();
    assert!(matches!(&error, ClientError::Tls { .. }), "{error:?}");
    assert!(error.to_string().contains("give the certificate authority"), "{error}");
}

#[tokio::test]
async fn a_prefix_in_the_address_stands_before_every_path() {
    let (address, _) = server::tcp().await;
    let client = Client::to_url(&format!("http://{address}/tell?"), None);
    assert!(matches!(client, Err(ClientError::Invalid(_))));
    let client = Client::to_url(&format!("http://{address}/tell/"), None).unwrap();
    assert_eq!(
        client.request(Method::GET, "?x=1").send().await.unwrap().value().unwrap()["target"],
        "/tell?x=1"
    );
}

#[tokio::test]
async fn requests_one_after_the_other_share_a_connection() {
    let (address, connections) = server::tcp().await;
    let client = Client::to_url(&format!("http://{address}"), None).unwrap();
    for _ in 0..3 {
        told(&client.clone()).await;
    }
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn an_idle_connection_that_died_is_replaced_for_what_may_be_repeated() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::to_url(&format!("http://{}", listener.local_addr().unwrap()), None).unwrap();
    let (requests, mut seen) = tokio::sync::mpsc::channel(8);
    tokio::spawn(async move {
        // Every connection answers its first request and is cut at the second.
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            for answers in [true, false] {
                let mut buffer = [0; 4096];
                let length = stream.read(&mut buffer).await.unwrap();
                let line = String::from_utf8_lossy(&buffer[..length]).lines().next().map(str::to_owned);
                requests.send(line).await.unwrap();
                if answers {
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}").await.unwrap();
                }
            }
        }
    });
    let get = || client.request(Method::GET, "/a").send();
    let post = || client.request(Method::POST, "/b");
    get().await.unwrap();
    get().await.unwrap();
    let error = post().send().await.unwrap_err();
    assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
    get().await.unwrap();
    post().idempotency_key("once").send().await.unwrap();
    drop(client);
    let mut lines = Vec::new();
    while let Ok(line) = seen.try_recv() {
        lines.push(line.unwrap());
    }
    let (get, post) = ("GET /a HTTP/1.1", "POST /b HTTP/1.1");
    assert_eq!(lines, [get, get, get, post, get, post, post]);
}

#[tokio::test]
async fn a_refusal_has_the_parts_of_the_envelope_and_never_the_key() {
    let client = to_tcp().await;
    let error = client.request(Method::GET, "/refuse").send().await.unwrap().ok().unwrap_err();
    let printed = all_that_is_printed(&error);
    let ClientError::Refused { status, code, message, details, param, request_id } = error else {
        panic!("{error:?}")
    };
    assert_eq!((status, code.as_str(), message.as_str()), (409, "conflict", "seen Bearer [key]"));
    assert_eq!((param.as_deref(), request_id.as_deref()), (Some("session_id"), Some("req_1")));
    assert_eq!(*details, json!({ "seen": ["Bearer [key]"] }));
    assert!(!printed.contains(KEY), "{printed}");
}

#[tokio::test]
async fn nothing_that_is_printed_shows_the_key() {
    let client = to_tcp().await;
    let plain = client.request(Method::GET, "/plain-refusal").send().await.unwrap();
    let answer = format!("{plain:?}");
    let error = plain.ok().unwrap_err();
    assert!(matches!(error, ClientError::Protocol(_)));
    let bad_key = Client::to_url("http://localhost", Some("k-123\n")).unwrap_err();
    let bad_header =
        client.request(Method::GET, "/tell").header("authorization", "k-123\n").send().await.unwrap_err();
    let in_url = Client::to_url("http://me:k-123@localhost", None).unwrap_err();
    for printed in [
        answer,
        all_that_is_printed(&error),
        all_that_is_printed(&bad_key),
        all_that_is_printed(&bad_header),
        all_that_is_printed(&in_url),
        format!("{client:?}"),
    ] {
        assert!(!printed.contains(KEY), "{printed}");
    }
}

#[tokio::test]
async fn what_goes_wrong_on_the_way_has_its_own_error() {
    let client = to_tcp().await;
    let short = Duration::from_millis(50);
    let error = client.request(Method::GET, "/silent").timeout(short).send().await.unwrap_err();
    assert!(matches!(error, ClientError::Timeout { after, .. } if after == short), "{error:?}");

    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    for client in [Client::to_url(&nobody, None).unwrap(), Client::to_socket("/nowhere/harn.sock")] {
        let error = client.request(Method::GET, "/").send().await.unwrap_err();
        assert!(matches!(error, ClientError::Unreachable { .. }), "{error:?}");
    }

    let small = |limit| client.request(Method::GET, "/bytes").body_limit(limit).send();
    assert_eq!(small(100).await.unwrap().body.len(), 100);
    let error = small(99).await.unwrap_err();
    assert!(matches!(&error, ClientError::Protocol(text) if text.contains("larger than 99")), "{error:?}");

    let error = client.request(Method::GET, "no slash").send().await.unwrap_err();
    assert!(matches!(error, ClientError::Invalid(_)), "{error:?}");
    let error = client.request(Method::GET, "/tell").send().await.unwrap().json::<u8>().unwrap_err();
    assert!(matches!(error, ClientError::Protocol(_)), "{error:?}");
}

#[tokio::test]
async fn addresses_and_authorities_that_cannot_be_used_are_refused_at_once() {
    for url in ["", "localhost", "localhost:80", "ftp://x", "http://", "http://h/?q=1", "http://a b"] {
        assert!(matches!(Client::to_url(url, None), Err(ClientError::Invalid(_))), "{url:?}");
    }
    let https = || Client::to_url("https://localhost", None).unwrap();
    for pem in ["", "no pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        assert!(matches!(https().with_ca(pem.as_bytes()), Err(ClientError::Invalid(_))), "{pem:?}");
    }
    let plain = Client::to_url("http://localhost", None).unwrap().with_ca(b"");
    assert!(plain.unwrap_err().to_string().contains("https://"));
}

fn stream_frames() -> Vec<Frame> {
    let comment = Frame { id: None, event: String::new(), data: "hello".into(), comment: true };
    let event =
        Frame { id: Some("1".into()), event: "task.submitted".into(), data: "{}".into(), comment: false };
    vec![comment, event]
}

async fn read_all(client: &Client) -> Vec<Frame> {
    let mut stream = client.request(Method::GET, "/stream").events().await.unwrap();
    let mut frames = Vec::new();
    while let Some(frame) = stream.next().await.unwrap() {
        frames.push(frame);
    }
    assert_eq!(stream.next().await.unwrap(), None);
    frames
}

#[tokio::test]
async fn a_stream_gives_its_frames_and_then_its_end() {
    assert_eq!(read_all(&to_tcp().await).await, stream_frames());
}

#[tokio::test]
async fn what_is_no_stream_is_an_error() {
    let client = to_tcp().await;
    let refused = client.request(Method::GET, "/refuse").events().await.err().unwrap();
    assert!(matches!(refused, ClientError::Refused { status: 409, .. }), "{refused:?}");
    let json = client.request(Method::GET, "/tell").events().await.err().unwrap();
    assert!(matches!(&json, ClientError::Protocol(text) if text.contains("text/event-stream")), "{json:?}");
}

#[tokio::test]
async fn a_stream_that_breaks_off_is_an_error_and_then_ended() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::to_url(&format!("http://{}", listener.local_addr().unwrap()), None).unwrap();
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut buffer = [0; 4096];
        assert!(stream.read(&mut buffer).await.unwrap() > 0);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(format!("{head}9\r\ndata: x\n\n\r\n").as_bytes()).await.unwrap();
    });
    let mut events = client.request(Method::GET, "/").events().await.unwrap();
    assert_eq!(events.next().await.unwrap().unwrap().data, "x");
    assert!(matches!(events.next().await, Err(ClientError::Protocol(_))));
    assert_eq!(events.next().await.unwrap(), None);
}
