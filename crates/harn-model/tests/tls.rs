//! Certificates: those that are trusted, and what is said about those that are not.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::{Arc, Mutex};

use harn_core::chat::{ChatMessage, StopReason};
use harn_model::providers::anthropic::AnthropicCodec;
use harn_model::{
    Auth, Credential, HttpModel, Model, ModelError, Proxy, Target, Transport, TransportOptions, collect,
};
use rcgen::{CertificateParams, KeyPair, date_time_ymd};
use serde_json::json;
use support::{Reply, options, request, serve};
use tokio::sync::mpsc;
use tokio_rustls::{TlsAcceptor, rustls};

/// A server with a certificate that signs itself: its port, and the certificate in PEM.
async fn start(name: &str, last_year: i32) -> (u16, String) {
    let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(last_year, 1, 1);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![certificate.der().clone()],
            rustls::pki_types::PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
        )
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let message = json!({"content": [], "stop_reason": "end_turn"});
    let replies = Arc::new(Mutex::new([Reply::json(200, &message)].into()));
    let (told, _) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            if let Ok(socket) = acceptor.accept(socket).await {
                serve(socket, Arc::clone(&replies), Arc::default(), told.clone()).await;
            }
        }
    });
    (port, certificate.pem())
}

async fn ask(port: u16, transport: Transport) -> Result<StopReason, ModelError> {
    let url = format!("https://localhost:{port}");
    let target = Target::new("anthropic", "claude-x", url, Auth::Header("x-api-key".into()));
    let key = Credential::new("sk-secret", "ANTHROPIC_API_KEY");
    let model = HttpModel::new(Arc::new(AnthropicCodec), target, key, transport).with_options(options(1));
    collect(model.stream(request(vec![ChatMessage::user("hello")]))).await.map(|answer| answer.stop)
}

#[tokio::test]
async fn certificates_are_checked_and_a_file_of_them_is_trusted() {
    let folder = tempfile::tempdir().unwrap();
    let cases = [
        ("localhost", 2200, true, None),
        ("localhost", 2200, false, Some("name its certificates in the CA file")),
        ("localhost", 2021, true, Some("has expired")),
        ("other.example", 2200, true, Some("is for another host")),
    ];
    for (name, last_year, trusted, advice) in cases {
        let (port, pem) = start(name, last_year).await;
        let file = folder.path().join(format!("{port}.pem"));
        std::fs::write(&file, pem).unwrap();
        let options = TransportOptions {
            ca_file: trusted.then_some(file),
            proxy: Proxy::None,
            ..TransportOptions::default()
        };
        let outcome = ask(port, Transport::new(&options).unwrap()).await;
        match advice {
            None => assert_eq!(outcome, Ok(StopReason::EndTurn)),
            Some(advice) => {
                let error = outcome.unwrap_err();
                assert_eq!(error.code(), "network", "{error}");
                assert!(error.message().contains(advice), "{error}");
            }
        }
    }
}
