//! Providers that a script adds to its own run. The completion holds the whole row, so that a restart finds it again.
//!
//! A key is named by its variable and never part of the row. That of another provider goes nowhere else, and a script
//! that others may have written names none: it would choose who gets it.

use std::sync::Arc;

use harn_core::run::{Completion, Trust};
use harn_core::tool::{Class, SideEffect, ToolKind, ToolOutcome};
use harn_model::catalog::{
    Auth, AuthHeader, AuthKind, Dialect, Location, Provider, RateLimits, Wire, is_loopback,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::calls::args::Args;
use crate::calls::simple::{Answer, Simple};
use crate::tools::{Tool, ToolContext, ToolFailure};

const NAME: &str = "provider_register";

/// The provider that a completion has added, if it has.
pub(crate) fn added_provider(completion: &Completion) -> Option<Provider> {
    let Completion::Tool { result } = completion else { return None };
    let is_added = result.name == NAME && result.outcome == ToolOutcome::Ok;
    is_added.then(|| serde_json::from_value(result.output.clone()).ok())?
}

pub fn call() -> Arc<dyn Tool> {
    // What is called later is judged as a call of a model; where that goes is judged here.
    let call = Simple::new(NAME, "Adds a provider to the run.", Class::Read, SideEffect::Network, register);
    call.kind(ToolKind::Fetch).url("base_url").call()
}

fn register(ctx: &ToolContext, args: &Args) -> Answer {
    let row = row(ctx, args)?;
    ctx.models.with_provider(row.clone()).map_err(refused)?;
    Ok(json!(row))
}

fn refused(why: impl std::fmt::Display) -> ToolFailure {
    ToolFailure::categorised("invalid_request", format!("{NAME}: {why}"))
}

fn row(ctx: &ToolContext, args: &Args) -> Result<Provider, ToolFailure> {
    let text = |name: &str| match args.get(name).unwrap_or(&Value::Null) {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        other => Err(refused(format!("`{name}` has to be a text, not {other}"))),
    };
    let base_url = text("base_url")?.unwrap_or_default();
    let is_here = is_loopback(&base_url);
    if base_url.starts_with("http://") && !is_here {
        let advice = "an address without https:// is one of this machine; others go into providers.toml";
        return Err(refused(format!("`base_url`: {advice}")));
    }
    let wire = word(args, "wire")?.unwrap_or(Wire::OpenaiChat);
    let (id, key) = (text("name")?.unwrap_or_default(), text("key_env")?);
    if let Some(key) = &key {
        check_key(ctx, &id, key)?;
    }
    let usual = match wire {
        Wire::AnthropicMessages => AuthHeader::XApiKey,
        Wire::Gemini => AuthHeader::XGoogApiKey,
        Wire::OpenaiResponses | Wire::OpenaiChat | Wire::Ollama => AuthHeader::Bearer,
    };
    Ok(Provider {
        name: id.clone(),
        id,
        aliases: Vec::new(),
        wire,
        dialect: word(args, "dialect")?.unwrap_or(Dialect::Standard),
        // What is elsewhere costs money, whatever a script says of it.
        location: if is_here { Location::Local } else { Location::Cloud },
        base_url: Some(base_url),
        base_url_env: Vec::new(),
        auth: Auth {
            kind: if key.is_some() { AuthKind::ApiKey } else { AuthKind::None },
            env: key.into_iter().collect(),
            header: word(args, "auth_header")?.unwrap_or(usual),
        },
        rate_limits: RateLimits::default(),
        preference: None,
        default_model: text("default_model")?,
        docs: None,
    })
}

fn check_key(ctx: &ToolContext, id: &str, key: &str) -> Result<(), ToolFailure> {
    if ctx.trust != Trust::Own {
        let message = format!(
            "{NAME}: only a script that its owner runs may name a key; put this provider into providers.toml"
        );
        return Err(ToolFailure::categorised("permission_denied", message));
    }
    let has_it = |row: &&Provider| row.id != id && row.auth.env.iter().any(|name| name == key);
    let view = ctx.models.catalog();
    match view.and_then(|view| view.catalog.providers().find(has_it)) {
        Some(owner) => {
            let owner = &owner.id;
            let message =
                format!("{NAME}: {key} is the key of `{owner}` and goes nowhere else; use another variable");
            Err(ToolFailure::categorised("permission_denied", message))
        }
        None => Ok(()),
    }
}

/// One of the words that the catalog has for something.
fn word<T: DeserializeOwned>(args: &Args, name: &str) -> Result<Option<T>, ToolFailure> {
    let given = args.get(name).cloned().unwrap_or_default();
    serde_json::from_value(given).map_err(|error| refused(format!("`{name}`: {error}")))
}
