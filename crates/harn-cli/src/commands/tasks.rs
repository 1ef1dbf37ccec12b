//! `harn tasks`: list, show, cancel; answering and watching have files of their own.

use std::process::ExitCode;

use anyhow::Result;
use harn_client::Client;
use harn_core::budget::dollars;
use harn_core::message::joined_text;
use harn_core::{Message, MessageInput, Outcome, PermissionRequest, RequestStatus, Task, TaskStatus};
use serde_json::{Value, json};

use super::{Need, attach, interruptible, say, say_json, show, speak};
use crate::api::{self, Cursor};
use crate::args::{TaskList, TasksCommand};
use crate::connect::Connection;
use crate::output::{Table, Tone, counted, one_line, paint, plain, relative};

/// How much of a text a line of a list shows.
const SHORT: usize = 60;
/// Messages that `show` ends with.
const LAST_MESSAGES: usize = 5;

pub fn run(command: TasksCommand) -> Result<ExitCode> {
    match command {
        TasksCommand::List(args) => speak(&args.target, Need::Existing, async |c| list(c, &args).await),
        TasksCommand::Show { id, json, target } => {
            speak(&target, Need::Existing, async |c| show_task(c, &id, json).await)
        }
        TasksCommand::Cancel { id, reason, json, target } => {
            speak(&target, Need::Existing, async |c| cancel(c, &id, reason.as_deref(), json).await)
        }
        TasksCommand::Answer(args) => {
            // A run of this process may take long to come to its end.
            attach(&args.target, Need::Existing, async |c| interruptible(super::answer::run(c, &args)).await)
        }
        TasksCommand::Watch { id, json, target } => {
            attach(&target, Need::Existing, async |c| super::watch::watch_task(c, &id, json).await)
        }
    }
}

async fn list(connection: &Connection, args: &TaskList) -> Result<ExitCode> {
    let filters = [("session_id", args.session.as_deref()), ("workspace_id", args.workspace.as_deref())];
    let keep = |task: &Value| match args.status {
        None => true,
        Some(wanted) => {
            serde_json::from_value(task["status"].clone()).is_ok_and(|status| wanted.admits(status))
        }
    };
    let limit = args.limit as usize;
    let found = api::newest(&connection.client, "/v1/tasks", &filters, Cursor::Page, limit, keep).await?;
    if args.json {
        say_json(&found.to_json());
        return Ok(ExitCode::SUCCESS);
    }
    let tasks: Vec<Task> = found.typed()?;
    if tasks.is_empty() {
        say("No tasks. Start one with `harn task \"list files\"`.");
        return Ok(ExitCode::SUCCESS);
    }
    say_tasks(&tasks);
    if found.more {
        say(paint(Tone::Dim, "There are older ones; --limit N shows more."));
    }
    Ok(ExitCode::SUCCESS)
}

pub fn say_tasks(tasks: &[Task]) {
    let mut table = Table::new(&["TASK", "STATUS", "CREATED", "INPUT"]);
    for task in tasks {
        table.row([
            (Tone::Strong, plain(task.id.as_str())),
            (status_tone(task.status), task.status.as_str().to_owned()),
            (Tone::Dim, relative(task.created_at)),
            (Tone::Plain, one_line(&input_text(&task.input), SHORT)),
        ]);
    }
    table.say();
}

pub fn status_tone(status: TaskStatus) -> Tone {
    match status {
        TaskStatus::Completed => Tone::Good,
        TaskStatus::Failed => Tone::Bad,
        TaskStatus::InputRequired | TaskStatus::AuthRequired => Tone::Warn,
        TaskStatus::Canceled => Tone::Dim,
        TaskStatus::Submitted | TaskStatus::Working => Tone::Plain,
    }
}

/// What was asked, in words: the text of a message, or the payload itself.
fn input_text(input: &Value) -> String {
    match serde_json::from_value::<MessageInput>(input.clone()) {
        Ok(message) => joined_text(&message.parts),
        Err(_) => input.to_string(),
    }
}

async fn show_task(connection: &Connection, id: &str, json: bool) -> Result<ExitCode> {
    let client = &connection.client;
    let value = api::get(client, &api::path(&["v1", "tasks", id])).await?;
    if json {
        say_json(&value);
        return Ok(ExitCode::SUCCESS);
    }
    let task: Task = api::typed(&value)?;
    say(paint(Tone::Strong, &plain(task.id.as_str())));
    let mut facts = task_facts(&task);
    if let Some(outcome) = &task.outcome_id {
        let outcome = api::get(client, &api::path(&["v1", "outcomes", outcome.as_str()])).await?;
        outcome_facts(&api::typed(&outcome)?, &mut facts);
    }
    facts.say();
    for request in pending(client, id).await? {
        say("");
        show::request(&request);
    }
    say_messages(client, &task).await?;
    Ok(ExitCode::SUCCESS)
}

fn task_facts(task: &Task) -> Table {
    let mut facts = Table::facts();
    facts.row([(Tone::Dim, "status".into()), (status_tone(task.status), task.status.as_str().to_owned())]);
    facts.fact("asked", format!("{} by {}", relative(task.created_at), plain(&task.created_by)));
    facts.fact("session", plain(task.session_id.as_str()));
    facts.fact("workspace", plain(task.workspace_id.as_str()));
    facts.fact("input", one_line(&input_text(&task.input), 4 * SHORT));
    facts
}

fn outcome_facts(outcome: &Outcome, facts: &mut Table) {
    facts.fact("ended", relative(outcome.created_at));
    match &outcome.failure {
        Some(failure) => {
            facts.row([(Tone::Dim, "failure".into()), (Tone::Bad, one_line(&failure.message, 4 * SHORT))]);
            let code = plain(&failure.code);
            facts.fact("code", format!("{code} (`harn explain {code}` says more)"));
        }
        None => facts.fact("outcome", one_line(&outcome.summary, 4 * SHORT)),
    }
    let count = |name: &str| outcome.metrics.get(name).and_then(Value::as_u64).unwrap_or(0);
    facts.fact(
        "cost",
        format!(
            "{}, {} tokens in, {} out, {}, {}",
            cost(outcome),
            count("input_tokens"),
            count("output_tokens"),
            counted(count("model_calls"), "model call"),
            counted(count("tool_calls"), "tool call"),
        ),
    );
}

/// The total as it was counted: in millionths of a dollar.
fn cost(outcome: &Outcome) -> String {
    let total = outcome.cost.get("total").and_then(Value::as_f64);
    total.map_or("cost unknown".into(), |total| dollars((total * 1e6).round() as u64))
}

/// How a task stands, in one line.
pub async fn say_status(client: &Client, id: &str) -> Result<()> {
    let task: Task = api::typed(&api::get(client, &api::path(&["v1", "tasks", id])).await?)?;
    let status = paint(status_tone(task.status), task.status.as_str());
    say(format_args!("{} is {status}.", plain(task.id.as_str())));
    Ok(())
}

/// What a task waits for.
pub async fn pending(client: &Client, task: &str) -> Result<Vec<PermissionRequest>> {
    let path = api::path(&["v1", "tasks", task]) + "/permission-requests";
    let waits = |request: &Value| request["status"] == "pending";
    let found = api::newest(client, &path, &[], Cursor::Page, usize::MAX, waits).await?;
    let requests: Vec<PermissionRequest> = found.typed()?;
    Ok(requests.into_iter().filter(|request| request.status == RequestStatus::Pending).collect())
}

async fn say_messages(client: &Client, task: &Task) -> Result<()> {
    let path = api::path(&["v1", "sessions", task.session_id.as_str()]) + "/messages";
    let of_task = |message: &Value| message["task_id"] == task.id.as_str();
    let found = api::newest(client, &path, &[], Cursor::Page, LAST_MESSAGES, of_task).await?;
    let messages: Vec<Message> = found.typed()?;
    if !messages.is_empty() {
        say("");
        show::messages(&messages);
    }
    Ok(())
}

async fn cancel(connection: &Connection, id: &str, reason: Option<&str>, json: bool) -> Result<ExitCode> {
    let path = api::path(&["v1", "tasks", id]) + "/cancel";
    let value = api::post(&connection.client, &path, &json!({ "reason": reason })).await?;
    if json {
        say_json(&value);
        return Ok(ExitCode::SUCCESS);
    }
    let task: Task = api::typed(&value)?;
    say(format_args!("{} is {}.", plain(task.id.as_str()), task.status.as_str()));
    Ok(ExitCode::SUCCESS)
}
