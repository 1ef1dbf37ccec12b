//! `harn workspaces`: list, show, create.

use std::process::ExitCode;

use anyhow::{Context, Result};
use harn_core::Workspace;
use serde_json::{Value, json};

use super::{Need, say, say_json, speak};
use crate::api::{self, Cursor};
use crate::args::{TargetArgs, WorkspacesCommand};
use crate::connect::Connection;
use crate::output::{Table, Tone, paint, plain, relative};

pub fn run(command: WorkspacesCommand) -> Result<ExitCode> {
    match command {
        WorkspacesCommand::List { json, target } => {
            speak(&target, Need::Existing, async |c| list(c, json).await)
        }
        WorkspacesCommand::Show { id, json, target } => {
            speak(&target, Need::Existing, async |c| show(c, &id, json).await)
        }
        WorkspacesCommand::Create { name, folder, json, target } => {
            let root = root(&folder, &target)?;
            speak(&target, Need::Any, async |c| create(c, &name, &root, json).await)
        }
    }
}

/// A folder is meant as seen from here, unless the server is elsewhere.
fn root(folder: &str, target: &TargetArgs) -> Result<String> {
    if target.url.is_some() || folder.contains("://") {
        return Ok(folder.to_owned());
    }
    let path = std::path::absolute(folder).with_context(|| format!("`{folder}` is no folder"))?;
    let path = path.canonicalize().unwrap_or(path);
    Ok(path.to_string_lossy().into_owned())
}

async fn list(connection: &Connection, json: bool) -> Result<ExitCode> {
    let client = &connection.client;
    let found =
        api::newest(client, "/v1/workspaces", &[], Cursor::Page, usize::MAX, |_: &Value| true).await?;
    if json {
        say_json(&found.to_json());
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["WORKSPACE", "NAME", "CREATED", "ROOT"]);
    for workspace in found.typed::<Workspace>()? {
        table.row([
            (Tone::Strong, plain(workspace.id.as_str())),
            (Tone::Plain, plain(&workspace.name)),
            (Tone::Dim, relative(workspace.created_at)),
            (Tone::Plain, plain(&workspace.root)),
        ]);
    }
    table.say();
    Ok(ExitCode::SUCCESS)
}

async fn show(connection: &Connection, id: &str, json: bool) -> Result<ExitCode> {
    let value = api::get(&connection.client, &api::path(&["v1", "workspaces", id])).await?;
    say_workspace(&value, json)
}

async fn create(connection: &Connection, name: &str, root: &str, json: bool) -> Result<ExitCode> {
    let body = json!({ "name": name, "root": root });
    let value = api::post(&connection.client, "/v1/workspaces", &body).await?;
    say_workspace(&value, json)
}

fn say_workspace(value: &Value, json: bool) -> Result<ExitCode> {
    if json {
        say_json(value);
        return Ok(ExitCode::SUCCESS);
    }
    let workspace: Workspace = api::typed(value)?;
    say(paint(Tone::Strong, &plain(workspace.id.as_str())));
    let mut facts = Table::facts();
    facts.fact("name", plain(&workspace.name));
    facts.fact("root", plain(&workspace.root));
    facts.fact("created", relative(workspace.created_at));
    facts.say();
    Ok(ExitCode::SUCCESS)
}
