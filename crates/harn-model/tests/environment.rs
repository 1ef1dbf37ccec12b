//! What the environment says about proxies and certificates, each case in a process of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::process::Command;
use std::sync::Arc;

use harn_core::chat::{ChatMessage, StopReason};
use harn_model::providers::anthropic::AnthropicCodec;
use harn_model::{Auth, Credential, HttpModel, Model, Target, Transport, TransportOptions, collect};
use serde_json::json;
use support::{Reply, Server, options, request};

const ADDRESS: &str = "HARN_TEST_ADDRESS";

/// Runs in a child process, with the environment that a test gives it.
#[tokio::test]
#[ignore = "started by the tests of this file with an environment"]
async fn ask_in_this_environment() {
    let url = std::env::var(ADDRESS).unwrap();
    let target = Target::new("anthropic", "claude-x", url, Auth::None);
    let transport = Transport::new(&TransportOptions::default()).unwrap();
    let key = Credential::missing("ANTHROPIC_API_KEY");
    let model = HttpModel::new(Arc::new(AnthropicCodec), target, key, transport).with_options(options(1));
    let answer = collect(model.stream(request(vec![ChatMessage::user("hello")]))).await;
    assert_eq!(answer.map(|answer| answer.stop), Ok(StopReason::EndTurn));
}

async fn server() -> Server {
    Server::start(vec![Reply::json(200, &json!({"content": [], "stop_reason": "end_turn"}))]).await
}

async fn ask(url: &str, environment: &[(&'static str, &str)]) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "ask_in_this_environment", "--ignored"]).env(ADDRESS, url);
    for name in ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "NO_PROXY", "no_proxy"] {
        child.env_remove(name);
    }
    child.envs(environment.iter().copied());
    let output = tokio::task::spawn_blocking(move || child.output().unwrap()).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[tokio::test]
async fn the_proxy_of_the_environment_is_used_but_for_the_hosts_it_excepts() {
    for (except, via_proxy) in [("", 1), ("127.0.0.1", 0)] {
        let (direct, proxy) = (server().await, server().await);
        ask(&direct.url, &[("http_proxy", &proxy.url), ("NO_PROXY", except)]).await;
        assert_eq!((proxy.seen().len(), direct.seen().len()), (via_proxy, 1 - via_proxy));
    }
}

#[tokio::test]
async fn a_machine_without_certificates_can_still_reach_servers_that_need_none() {
    let local = server().await;
    let nowhere = [("SSL_CERT_FILE", "/nonexistent/file.pem"), ("SSL_CERT_DIR", "/nonexistent")];
    ask(&local.url, &nowhere).await;
    assert_eq!(local.seen().len(), 1);
}
