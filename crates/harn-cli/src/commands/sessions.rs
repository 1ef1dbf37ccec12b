//! `harn sessions`: list, show, close, fork.

use std::process::ExitCode;

use anyhow::Result;
use harn_core::{Message, Session, SessionState, Task};
use serde_json::{Value, json};

use super::{Need, attach, say, say_json, show, speak, tasks};
use crate::api::{self, Cursor};
use crate::args::SessionsCommand;
use crate::connect::Connection;
use crate::output::{Table, Tone, one_line, paint, plain, relative};

/// Tasks and messages that `show` ends with.
const LAST: usize = 10;

pub fn run(command: SessionsCommand) -> Result<ExitCode> {
    match command {
        SessionsCommand::List { workspace, limit, json, target } => {
            speak(&target, Need::Existing, async |c| list(c, workspace.as_deref(), limit, json).await)
        }
        SessionsCommand::Show { id, json, target } => {
            speak(&target, Need::Existing, async |c| show_session(c, &id, json).await)
        }
        SessionsCommand::Close { id, json, target } => {
            speak(&target, Need::Existing, async |c| close(c, &id, json).await)
        }
        SessionsCommand::Fork { id, at, json, target } => {
            speak(&target, Need::Existing, async |c| fork(c, &id, at.as_deref(), json).await)
        }
        SessionsCommand::Watch { id, json, target } => {
            attach(&target, Need::Existing, async |c| super::watch::watch_session(c, &id, json).await)
        }
    }
}

async fn list(connection: &Connection, workspace: Option<&str>, limit: u32, json: bool) -> Result<ExitCode> {
    let filters = [("workspace_id", workspace)];
    let client = &connection.client;
    let found = api::newest(client, "/v1/sessions", &filters, Cursor::Page, limit as usize, |_| true).await?;
    if json {
        say_json(&found.to_json());
        return Ok(ExitCode::SUCCESS);
    }
    let sessions: Vec<Session> = found.typed()?;
    if sessions.is_empty() {
        say("No sessions. Every `harn task` makes one.");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["SESSION", "STATE", "CREATED", "USED", "SUMMARY"]);
    for session in &sessions {
        table.row([
            (Tone::Strong, plain(session.id.as_str())),
            (state_tone(session.state), show::word(&session.state)),
            (Tone::Dim, relative(session.created_at)),
            (Tone::Dim, relative(session.updated_at)),
            (Tone::Plain, one_line(session.summary.as_deref().unwrap_or_default(), 60)),
        ]);
    }
    table.say();
    if found.more {
        say(paint(Tone::Dim, "There are older ones; --limit N shows more."));
    }
    Ok(ExitCode::SUCCESS)
}

fn state_tone(state: SessionState) -> Tone {
    match state {
        SessionState::Active => Tone::Good,
        SessionState::Failed => Tone::Bad,
        SessionState::Closed => Tone::Dim,
        SessionState::Idle | SessionState::Paused => Tone::Plain,
    }
}

async fn show_session(connection: &Connection, id: &str, json: bool) -> Result<ExitCode> {
    let client = &connection.client;
    let path = api::path(&["v1", "sessions", id]);
    let value = api::get(client, &path).await?;
    if json {
        say_json(&value);
        return Ok(ExitCode::SUCCESS);
    }
    say_session(&api::typed(&value)?);
    let newest = async |what: &str| {
        api::newest(client, &format!("{path}/{what}"), &[], Cursor::Page, LAST, |_: &Value| true).await
    };
    let found: Vec<Task> = newest("tasks").await?.typed()?;
    if !found.is_empty() {
        say("");
        tasks::say_tasks(&found);
    }
    let messages: Vec<Message> = newest("messages").await?.typed()?;
    if !messages.is_empty() {
        say("");
        show::messages(&messages);
    }
    Ok(ExitCode::SUCCESS)
}

fn say_session(session: &Session) {
    say(paint(Tone::Strong, &plain(session.id.as_str())));
    let mut facts = Table::facts();
    facts.row([(Tone::Dim, "state".into()), (state_tone(session.state), show::word(&session.state))]);
    facts.fact("created", relative(session.created_at));
    facts.fact("workspace", plain(session.workspace_id.as_str()));
    if let Some(parent) = &session.parent_session_id {
        facts.fact("forked from", plain(parent.as_str()));
    }
    if let Some(expiry) = session.expires_at {
        facts.fact("closes", relative(expiry));
    }
    if let Some(summary) = &session.summary {
        facts.fact("summary", one_line(summary, 240));
    }
    facts.say();
}

async fn close(connection: &Connection, id: &str, json: bool) -> Result<ExitCode> {
    let path = api::path(&["v1", "sessions", id]) + "/close";
    let value = api::post(&connection.client, &path, &json!({})).await?;
    if json {
        say_json(&value);
        return Ok(ExitCode::SUCCESS);
    }
    let session: Session = api::typed(&value)?;
    say(format_args!("{} is {}.", plain(session.id.as_str()), show::word(&session.state)));
    Ok(ExitCode::SUCCESS)
}

async fn fork(connection: &Connection, id: &str, at: Option<&str>, json: bool) -> Result<ExitCode> {
    let path = api::path(&["v1", "sessions", id]) + "/fork";
    let body = at.map_or_else(|| json!({}), |event| json!({ "at_event_id": event }));
    let value = api::post(&connection.client, &path, &body).await?;
    if json {
        say_json(&value);
        return Ok(ExitCode::SUCCESS);
    }
    let session: Session = api::typed(&value)?;
    say(format_args!("{} is a fork of {}.", plain(session.id.as_str()), plain(id)));
    Ok(ExitCode::SUCCESS)
}
