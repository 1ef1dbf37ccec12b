//! Secrets by name: a script gets a placeholder, never the secret.

use std::sync::Arc;

use harn_core::tool::{Class, SideEffect};
use serde_json::Value;

use super::simple::Simple;
use crate::secrets::{SecretError, placeholder};
use crate::tools::Tool;

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let about = "What stands for a secret until a request leaves.";
    let secret = Simple::new("secret", about, Class::Read, SideEffect::ReadOnly, |ctx, args| {
        let name = args.get("name").and_then(Value::as_str).unwrap_or_default();
        match ctx.secrets.has(name)? {
            true => Ok(placeholder(name).into()),
            false => Err(SecretError::Unknown(name.to_owned()).into()),
        }
    });
    vec![secret.call()]
}
