//! Secrets by name: a script gets a placeholder, never the secret.

use std::sync::Arc;

use harn_core::tool::{Class, SideEffect};

use super::args::word;
use super::simple::Simple;
use crate::secrets::{SecretError, placeholder};
use crate::tools::Tool;

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let about = "What stands for a secret until a request leaves.";
    let secret = Simple::new("secret", about, Class::Read, SideEffect::ReadOnly, |ctx, args| {
        let name = word(args, "name");
        match ctx.secrets.has(name)? {
            true => Ok(placeholder(name).into()),
            false => Err(SecretError::Unknown(name.to_owned()).into()),
        }
    });
    vec![secret.call()]
}
