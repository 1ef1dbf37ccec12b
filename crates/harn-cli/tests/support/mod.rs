//! What the integration tests share: a harness in process, wired as the binary wires it.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod http;
pub mod server;

use std::path::Path;
use std::sync::Arc;

use harn_cli::wiring::{Running, Setup, start};
use harn_core::Actor;
use harn_engine::guard::GuardCommand;
use harn_harness::{Call, Harness};
use harn_log::sqlite::Options;
use harn_model::{Model, OfflineModel, ScriptedModel};

/// The real binary.
pub const HARN: &str = env!("CARGO_BIN_EXE_harn");

pub fn guard() -> GuardCommand {
    GuardCommand { program: HARN.into(), args: vec!["guard".into()] }
}

pub fn scripted(script: &serde_json::Value) -> Arc<dyn Model> {
    Arc::new(ScriptedModel::from_json(&script.to_string()).unwrap())
}

pub fn offline() -> Arc<dyn Model> {
    Arc::new(OfflineModel)
}

/// A harness over `<folder>/data` with its workspace in `<folder>/work`.
pub async fn open(folder: &Path, model: Arc<dyn Model>, log: Options) -> anyhow::Result<Running> {
    let root = folder.join("work");
    std::fs::create_dir_all(&root)?;
    let data = folder.join("data");
    let source = None;
    start(Setup { data, root, allowed_roots: Vec::new(), model, source, guard: guard(), log }).await
}

pub fn alice() -> Call {
    Call::new(Actor::owner("alice"))
}

/// A call that may be retried: the same key does the same thing once.
pub fn keyed(key: &str) -> Call {
    let body = harn_core::hash::Sha256Hash::of(key.as_bytes());
    let idempotency =
        harn_harness::Idempotency { key: key.into(), method: "POST".into(), target: format!("/{key}"), body };
    Call { idempotency: Some(idempotency), ..alice() }
}

/// Parses a wire request from JSON.
pub fn request<T: serde::de::DeserializeOwned>(value: serde_json::Value) -> T {
    serde_json::from_value(value).unwrap()
}

pub fn user(text: &str) -> serde_json::Value {
    serde_json::json!({ "role": "user", "parts": [{ "type": "text", "text": text, "visibility": "public" }] })
}

/// All messages of a session as `role: what it says`, ids left out.
pub async fn transcript(harness: &Harness, session: &harn_core::SessionId) -> Vec<String> {
    let wanted = harn_harness::PageQuery { limit: Some(200), cursor: None };
    let page = harness.session_messages(&alice().actor, session, wanted).await.unwrap();
    page.data
        .iter()
        .map(|message| {
            let parts: Vec<String> = message.parts.iter().map(shown).collect();
            format!("{}: {}", serde_json::json!(message.role).as_str().unwrap(), parts.join(" | "))
        })
        .collect()
}

fn shown(part: &harn_core::Part) -> String {
    match part {
        harn_core::Part::Text { text, .. } => text.clone(),
        harn_core::Part::ToolCall { name, input, .. } => {
            format!("{name}{}", serde_json::Value::Object(input.clone()))
        }
        harn_core::Part::ToolResult { output, status, .. } => format!("{status:?} {output}"),
        other => serde_json::to_string(other).unwrap(),
    }
}
