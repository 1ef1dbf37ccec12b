//! `harn runs`: scripts that ran, or still run, as tasks.

use std::process::ExitCode;

use anyhow::Result;
use harn_core::{Outcome, Task};
use serde_json::{Value, json};

use super::script::follow;
use super::tasks::status_tone;
use super::{Need, attach, listed_none, say, say_json, speak};
use crate::api::{self, Cursor};
use crate::args::RunsCommand;
use crate::connect::{Connection, is_unused};
use crate::output::{Table, Tone, one_line, paint, plain, relative};
use crate::problem::Problem;
use crate::terminal::Interrupt;

/// How much of a text one line shows.
const LINE: usize = 160;
const NONE: &str = "No runs. Start one with `harn run --durable FILE`.";

pub fn run(command: RunsCommand) -> Result<ExitCode> {
    match command {
        // Where nothing was kept yet, there is nothing to open.
        RunsCommand::List { json, target, .. } if is_unused(&target) => Ok(listed_none(json, NONE)),
        RunsCommand::List { json, limit, target } => {
            speak(&target, Need::Existing, async |connection: &Connection| {
                list(connection, limit, json).await
            })
        }
        RunsCommand::Show { id, json, target } => {
            speak(&target, Need::Existing, async |connection: &Connection| show(connection, &id, json).await)
        }
        RunsCommand::Resume { id, json, target } => {
            attach(&target, Need::Existing, async |connection: &Connection| {
                // Whoever has the data directory open runs what is in it: that is this process, or a server.
                task(connection, &id).await?;
                follow(&connection.client, &id, json, Interrupt::Leaves).await
            })
        }
    }
}

/// The task of this id, which runs a script.
async fn task(connection: &Connection, id: &str) -> Result<Task> {
    let task: Task = api::typed(&api::get(&connection.client, &api::path(&["v1", "tasks", id])).await?)?;
    if task.metadata.contains_key("script") {
        return Ok(task);
    }
    let hint = format!("to watch it: harn tasks watch {id}");
    Err(Problem::usage(format!("{id} is a task of the agent, not of a script")).hint(hint).into())
}

async fn list(connection: &Connection, limit: usize, json: bool) -> Result<ExitCode> {
    let is_script = |task: &Value| task["metadata"]["script"].is_object();
    let found = api::newest(&connection.client, "/v1/tasks", &[], Cursor::Page, limit, is_script).await?;
    if json {
        say_json(&found.to_json());
        return Ok(ExitCode::SUCCESS);
    }
    let tasks: Vec<Task> = found.typed()?;
    if tasks.is_empty() {
        say(NONE);
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["RUN", "STATUS", "CREATED", "SCRIPT"]);
    for task in &tasks {
        table.row([
            (Tone::Strong, plain(task.id.as_str())),
            (status_tone(task.status), task.status.as_str().to_owned()),
            (Tone::Dim, relative(task.created_at)),
            (Tone::Plain, one_line(&script(task), LINE)),
        ]);
    }
    table.say();
    if found.more {
        say(paint(Tone::Dim, "There are older ones; --limit N shows more."));
    }
    Ok(ExitCode::SUCCESS)
}

/// The file, what of it runs, and with which arguments.
fn script(task: &Task) -> String {
    let told = task.metadata.get("script").unwrap_or(&Value::Null);
    let mut text = told["path"].as_str().unwrap_or_default().to_owned();
    if let Some(function) = told["function"].as_str() {
        text.push_str(&format!("#{function}"));
    }
    for arg in told["args"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        text.push_str(&format!(" {arg}"));
    }
    text
}

/// What the run was started with and keeps to.
fn flags(task: &Task) -> String {
    let told = task.metadata.get("script").unwrap_or(&Value::Null);
    let words = |list: &Value| -> Vec<String> {
        list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let number =
        |name: &str, unit: u64| told["limits"][name].as_u64().map(|number| (number / unit).to_string());
    let said = [
        ("--allow", words(&told["narrowing"]["allow"])),
        ("--deny", words(&told["narrowing"]["deny"])),
        ("--llm-mock", told["llm_mock"].as_str().map(str::to_owned).into_iter().collect()),
        ("--max-steps", number("steps", 1).into_iter().collect()),
        ("--max-memory", number("memory", 1 << 20).into_iter().collect()),
        ("--max-output", number("output", 1 << 20).into_iter().collect()),
    ];
    let said = said.into_iter().filter(|(_, values)| !values.is_empty());
    said.map(|(flag, values)| format!("{flag} {}", values.join(","))).collect::<Vec<_>>().join(" ")
}

async fn show(connection: &Connection, id: &str, json: bool) -> Result<ExitCode> {
    let task = task(connection, id).await?;
    let client = &connection.client;
    let path = api::path(&["v1", "tasks", id, "events"]);
    let events = api::newest(client, &path, &[], Cursor::Event, usize::MAX, |_| true).await?;
    let outcome: Option<Outcome> = match &task.outcome_id {
        Some(id) => Some(api::typed(&api::get(client, &api::path(&["v1", "outcomes", id.as_str()])).await?)?),
        None => None,
    };
    let of = |kind: &'static str| events.items.iter().filter(move |event| event["event"] == kind);
    let printed: String =
        of("vendor.harn.script_output").filter_map(|event| event["payload"]["text"].as_str()).collect();
    let effects: Vec<Value> = effects(events.items.iter());
    if json {
        say_json(&json!({ "task": task, "outcome": outcome, "output": printed, "effects": effects }));
        return Ok(ExitCode::SUCCESS);
    }
    say(paint(Tone::Strong, &plain(task.id.as_str())));
    let mut facts = Table::facts();
    facts.row([(Tone::Dim, "status".into()), (status_tone(task.status), task.status.as_str().to_owned())]);
    facts.fact("script", one_line(&script(&task), LINE));
    facts.fact("started", relative(task.created_at));
    let flags = flags(&task);
    if !flags.is_empty() {
        facts.fact("with", one_line(&flags, LINE));
    }
    if let Some(outcome) = &outcome {
        match &outcome.failure {
            Some(failure) => facts.fact("failure", one_line(&failure.message, LINE)),
            None => facts.fact("result", one_line(&outcome.summary, LINE)),
        }
    }
    facts.say();
    if !effects.is_empty() {
        say("");
        let mut table = Table::new(&["EFFECT", "STATUS"]);
        for effect in &effects {
            let text = |name: &str| plain(effect[name].as_str().unwrap_or_default());
            let what = format!("{} {}", text("name"), effect["input"]);
            table.row([(Tone::Plain, one_line(&what, LINE)), (Tone::Dim, text("status"))]);
        }
        table.say();
    }
    if !printed.is_empty() {
        say("");
        printed.lines().for_each(|line| say(plain(line)));
    }
    Ok(ExitCode::SUCCESS)
}

/// Every call that was put before policy, and what came of it.
fn effects<'a>(events: impl Iterator<Item = &'a Value>) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    for event in events {
        let (payload, id) = (&event["payload"], &event["payload"]["tool_call_id"]);
        let status = match event["event"].as_str() {
            Some("tool.requested") => {
                found.push(json!({ "id": id, "name": payload["name"], "input": payload["input"], "status": "begun" }));
                continue;
            }
            Some("tool.denied") => json!("denied"),
            Some("tool.completed" | "tool.failed") => payload["status"].clone(),
            _ => continue,
        };
        if let Some(effect) = found.iter_mut().rfind(|effect| effect["id"] == *id) {
            effect["status"] = status;
        }
    }
    found
}
