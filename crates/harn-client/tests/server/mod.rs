//! A small server that tells what it was asked, on every kind of stream.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::TlsAcceptor;

pub const STREAM: &str = ": hello\n\nid: 1\nevent: task.submitted\ndata: {}\n\n";

/// Answers with the request's method, target, headers and body.
async fn tell(request: Request) -> Response {
    let (head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
    let headers: serde_json::Map<_, _> =
        head.headers.iter().map(|(name, value)| (name.to_string(), json!(value.to_str().unwrap()))).collect();
    axum::Json(json!({
        "method": head.method.as_str(),
        "target": head.uri.to_string(),
        "headers": headers,
        "body": String::from_utf8_lossy(&body),
    }))
    .into_response()
}

async fn refuse(request: Request) -> Response {
    let key = request.headers().get("authorization").map(|value| value.to_str().unwrap().to_owned());
    let error = json!({
        "code": "conflict",
        "message": format!("seen {}", key.clone().unwrap_or_default()),
        "type": "conflict_error",
        "param": "session_id",
        "request_id": "req_1",
        "details": { "seen": [key] },
    });
    (axum::http::StatusCode::CONFLICT, axum::Json(json!({ "error": error }))).into_response()
}

async fn stream() -> Response {
    ([(CONTENT_TYPE, "text/event-stream")], Body::from(STREAM)).into_response()
}

fn routes() -> Router {
    Router::new()
        .route("/tell", any(tell))
        .route("/refuse", any(refuse))
        .route("/plain-refusal", get(|| async { (axum::http::StatusCode::BAD_GATEWAY, "Bearer k-123") }))
        .route("/bytes", get(|| async { Bytes::from_static(&[b'x'; 100]) }))
        .route("/silent", get(std::future::pending::<()>))
        .route("/stream", get(stream))
}

/// Gives the count of connections that were accepted.
pub async fn tcp() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let seen = count.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            seen.fetch_add(1, Ordering::SeqCst);
            serve(stream);
        }
    });
    (address, count)
}

/// Gives the address and the certificate that signs itself.
pub async fn tls() -> (SocketAddr, String) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(made.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(stream) = acceptor.accept(stream).await {
                serve(stream);
            }
        }
    });
    (address, made.cert.pem())
}

pub fn unix() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::SeqCst);
    let path = std::env::temp_dir().join(format!("harn-client-{}-{number}.sock", std::process::id()));
    let listener = UnixListener::bind(&path).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            serve(stream);
        }
    });
    path
}

pub fn in_process() -> tokio::io::DuplexStream {
    let (ours, theirs) = tokio::io::duplex(4096);
    serve(theirs);
    ours
}

fn serve(stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
    tokio::spawn(async move {
        let service = TowerToHyperService::new(routes());
        drop(auto::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), service).await);
    });
}
