//! `harn keys`: make, list and revoke API keys.

use std::process::ExitCode;

use anyhow::Result;
use harn_wire::agents::{ApiKey, CreateKeyRequest};
use serde_json::Value;

use super::{Need, say, say_json, speak};
use crate::api::{self, Cursor};
use crate::args::KeysCommand;
use crate::connect::Connection;
use crate::output::{Table, Tone, plain, relative, warn_line};

pub fn run(command: KeysCommand) -> Result<ExitCode> {
    match command {
        KeysCommand::Create { actor, scope, workspace, json, target } => {
            let request = CreateKeyRequest { actor, scopes: scope, workspace_ids: workspace };
            speak(&target, Need::Any, async |c| create(c, &request, json).await)
        }
        KeysCommand::List { json, target } => speak(&target, Need::Existing, async |c| list(c, json).await),
        KeysCommand::Revoke { id, target } => speak(&target, Need::Existing, async |c| revoke(c, &id).await),
    }
}

/// The secret stands alone on standard output, so that a script can take it.
async fn create(connection: &Connection, request: &CreateKeyRequest, json: bool) -> Result<ExitCode> {
    let value = api::post(&connection.client, "/v1/keys", request).await?;
    let key: ApiKey = api::typed(&value)?;
    if json {
        say_json(&value);
    } else {
        say(plain(key.secret.as_deref().unwrap_or_default()));
    }
    warn_line(format_args!(
        "Made {} for {}. The secret is shown only now: Harn keeps its hash.",
        plain(&key.id),
        plain(&key.actor)
    ));
    Ok(ExitCode::SUCCESS)
}

async fn list(connection: &Connection, json: bool) -> Result<ExitCode> {
    let client = &connection.client;
    let found = api::newest(client, "/v1/keys", &[], Cursor::Page, usize::MAX, |_: &Value| true).await?;
    if json {
        say_json(&found.to_json());
        return Ok(ExitCode::SUCCESS);
    }
    let keys: Vec<ApiKey> = found.typed()?;
    if keys.is_empty() {
        say("No keys. `harn keys create NAME` makes one; on this machine none is needed.");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["KEY", "ACTOR", "CREATED", "STATE", "SCOPES", "WORKSPACES"]);
    for key in keys {
        let (tone, state) = match key.revoked_at {
            Some(at) => (Tone::Dim, format!("revoked {}", relative(at))),
            None => (Tone::Good, "valid".to_owned()),
        };
        table.row([
            (Tone::Strong, plain(&key.id)),
            (Tone::Plain, plain(&key.actor)),
            (Tone::Dim, relative(key.created_at)),
            (tone, state),
            (Tone::Plain, plain(&key.scopes.join(", "))),
            (Tone::Plain, key.workspace_ids.map_or_else(|| "all".into(), |ids| plain(&ids.join(", ")))),
        ]);
    }
    table.say();
    Ok(ExitCode::SUCCESS)
}

async fn revoke(connection: &Connection, id: &str) -> Result<ExitCode> {
    api::delete(&connection.client, &api::path(&["v1", "keys", id])).await?;
    say(format_args!("Revoked {}.", plain(id)));
    Ok(ExitCode::SUCCESS)
}
