//! `harn waitpoints`: what scripts wait for, completed or cancelled from outside.

use std::process::ExitCode;

use anyhow::Result;
use harn_client::Client;
use harn_core::errand::WaitpointStatus;
use harn_wire::agents::{CancelWaitpointRequest, CompleteWaitpointRequest, Waitpoint};
use serde::Serialize;
use serde_json::Value;

use super::answer::settle;
use super::show::word;
use super::task::workspace;
use super::{Need, attach, interruptible, listed_none, say, say_json, speak};
use crate::api::{self, Cursor};
use crate::args::{WaitpointArgs, WaitpointsCommand};
use crate::connect::{Connection, is_unused};
use crate::output::{Table, Tone, one_line, paint, plain, relative};
use crate::problem::Problem;

/// How much of a text one line shows.
const LINE: usize = 160;
const NONE: &str = "No waitpoints. A script makes one with `waitpoint_create` or `waitpoint_wait`.";

pub fn run(command: WaitpointsCommand) -> Result<ExitCode> {
    match command {
        // Where nothing was kept yet, there is nothing to open.
        WaitpointsCommand::List { shared, .. } if is_unused(&shared.target) => {
            Ok(listed_none(shared.json, NONE))
        }
        WaitpointsCommand::List { open, limit, shared } => {
            speak(&shared.target, Need::Existing, async |c| list(c, &shared, open, limit as usize).await)
        }
        WaitpointsCommand::Show { id, shared } => {
            speak(&shared.target, Need::Existing, async |c| show(c, &shared, &id).await)
        }
        WaitpointsCommand::Complete { id, value, text, shared } => {
            let value = given(value, text)?;
            let request = CompleteWaitpointRequest { value };
            // A run of this process may take long to come to its end.
            attach(&shared.target, Need::Existing, async |c| {
                interruptible(change(c, &shared, &id, "complete", &request)).await
            })
        }
        WaitpointsCommand::Cancel { id, reason, shared } => {
            let request = CancelWaitpointRequest { reason };
            attach(&shared.target, Need::Existing, async |c| {
                interruptible(change(c, &shared, &id, "cancel", &request)).await
            })
        }
    }
}

fn given(value: Option<String>, text: Option<String>) -> Result<Value> {
    let Some(json) = value else { return Ok(text.map_or(Value::Null, Value::from)) };
    let wrong = |cause: serde_json::Error| {
        Problem::usage("--value is not JSON").cause(cause.to_string()).hint("for plain words say --text TEXT")
    };
    Ok(serde_json::from_str(&json).map_err(wrong)?)
}

/// Where the waitpoints of a workspace are.
async fn path(client: &Client, args: &WaitpointArgs, more: &[&str]) -> Result<String> {
    let workspace = match &args.workspace {
        Some(id) => id.clone(),
        None => workspace(client).await?,
    };
    Ok(api::path(&[&["v1", "workspaces", &workspace, "waitpoints"], more].concat()))
}

async fn list(connection: &Connection, args: &WaitpointArgs, open: bool, limit: usize) -> Result<ExitCode> {
    let client = &connection.client;
    let keep = |waitpoint: &Value| !open || waitpoint["status"] == "open";
    let path = path(client, args, &[]).await?;
    let found = api::newest(client, &path, &[], Cursor::Page, limit, keep).await?;
    if args.json {
        say_json(&found.to_json());
        return Ok(ExitCode::SUCCESS);
    }
    let waitpoints: Vec<Waitpoint> = found.typed()?;
    if waitpoints.is_empty() {
        say(NONE);
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["WAITPOINT", "STATUS", "CREATED", "WAITING"]);
    for waitpoint in &waitpoints {
        table.row([
            (Tone::Strong, one_line(&waitpoint.id, LINE)),
            (tone(waitpoint.status), word(&waitpoint.status)),
            (Tone::Dim, relative(waitpoint.created_at)),
            (Tone::Plain, tasks(waitpoint)),
        ]);
    }
    table.say();
    if found.more {
        say(paint(Tone::Dim, "There are older ones; --limit N shows more."));
    }
    Ok(ExitCode::SUCCESS)
}

async fn show(connection: &Connection, args: &WaitpointArgs, id: &str) -> Result<ExitCode> {
    let client = &connection.client;
    let found = api::get(client, &path(client, args, &[id]).await?).await?;
    if args.json {
        say_json(&found);
        return Ok(ExitCode::SUCCESS);
    }
    let waitpoint: Waitpoint = api::typed(&found)?;
    say(paint(Tone::Strong, &plain(&waitpoint.id)));
    let mut facts = Table::facts();
    facts.row([(Tone::Dim, "status".into()), (tone(waitpoint.status), word(&waitpoint.status))]);
    facts.fact("created", relative(waitpoint.created_at));
    if let (Some(at), Some(by)) = (waitpoint.settled_at, &waitpoint.settled_by) {
        facts.fact("settled", format!("{} by {}", relative(at), plain(by)));
    }
    if let Some(reason) = &waitpoint.reason {
        facts.fact("reason", one_line(reason, LINE));
    }
    if waitpoint.status == WaitpointStatus::Completed {
        facts.fact("value", one_line(&waitpoint.value.to_string(), LINE));
    }
    if !waitpoint.metadata.is_empty() {
        facts.fact("metadata", one_line(&Value::Object(waitpoint.metadata.clone()).to_string(), LINE));
    }
    if !waitpoint.task_ids.is_empty() {
        facts.fact("waiting", tasks(&waitpoint));
    }
    facts.say();
    Ok(ExitCode::SUCCESS)
}

/// Settles a waitpoint. Runs of this process go on until they end or wait again.
async fn change(
    connection: &Connection,
    args: &WaitpointArgs,
    id: &str,
    verb: &str,
    request: &impl Serialize,
) -> Result<ExitCode> {
    let client = &connection.client;
    let changed = api::post(client, &path(client, args, &[id, verb]).await?, request).await?;
    let waitpoint: Waitpoint = api::typed(&changed)?;
    if connection.is_in_process() {
        for task in &waitpoint.task_ids {
            settle(client, task.as_str()).await?;
        }
    }
    if args.json {
        say_json(&changed);
        return Ok(ExitCode::SUCCESS);
    }
    say(format_args!(
        "{} is {}.",
        plain(&waitpoint.id),
        paint(tone(waitpoint.status), &word(&waitpoint.status))
    ));
    for task in &waitpoint.task_ids {
        super::tasks::say_status(client, task.as_str()).await?;
    }
    Ok(ExitCode::SUCCESS)
}

fn tasks(waitpoint: &Waitpoint) -> String {
    let ids: Vec<String> = waitpoint.task_ids.iter().map(|id| plain(id.as_str())).collect();
    ids.join(", ")
}

fn tone(status: WaitpointStatus) -> Tone {
    match status {
        WaitpointStatus::Open => Tone::Warn,
        WaitpointStatus::Completed => Tone::Good,
        WaitpointStatus::Cancelled => Tone::Bad,
    }
}
