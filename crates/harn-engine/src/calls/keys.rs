//! New pairs of keys. Their randomness is the system's: that of a script could be repeated.

use std::sync::Arc;

use harn_core::tool::{Class, SideEffect};
use harn_lang::builtins::{ed25519_public, x25519_public};
use serde_json::json;

use super::simple::{Answer, Simple};
use crate::tools::Tool;

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let makes =
        |name, work| Simple::new(name, "A new pair of keys.", Class::Read, SideEffect::None, work).call();
    vec![
        makes("ed25519_keypair", |_, _| pair(ed25519_public)),
        makes("x25519_keypair", |_, _| pair(x25519_public)),
    ]
}

fn pair(public: fn(&[u8; 32]) -> [u8; 32]) -> Answer {
    let secret: [u8; 32] = rand::random();
    Ok(json!({ "private": digits(&secret), "public": digits(&public(&secret)) }))
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
