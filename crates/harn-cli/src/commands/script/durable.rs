//! `harn run` of a script that lasts: a task of the harness, followed from here to its end.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use harn_client::Client;
use harn_core::{Outcome, Session, Task, TaskStatus};
use harn_lang::bytecode::Program;
use serde_json::{Value, json};

use crate::args::{RunArgs, TargetArgs};
use crate::commands::{Need, attach, task::workspace};
use crate::connect::Connection;
use crate::output::{plain, warn_line};
use crate::problem::Problem;
use crate::terminal::{Answers, Detail, Follow, Interrupt, Output, can_ask};
use crate::{api, commands};

/// What takes longer than a process lives: other people, and other agents.
const LASTING: &[&str] = &[
    "ask_user",
    "request_approval",
    "dual_control",
    "escalate_to",
    "waitpoint_wait",
    "spawn_agent",
    "sub_agent_run",
    "send_input",
    "wait_agent",
    "worker_trigger",
    "trigger_fire",
];

/// Whether a program does anything that makes it a task of the harness.
pub fn is_lasting(program: &Program) -> bool {
    let mentions = program.mentions();
    LASTING.iter().any(|name| mentions.contains(name))
}

/// Runs a script as a task and ends as it ends.
pub fn run(args: &RunArgs) -> Result<ExitCode> {
    let Some(file) = args.file.as_deref().filter(|file| file.as_os_str() != "-") else {
        let message =
            "only a script in a file can run as a task: what goes on after a restart must have a name";
        return Err(Problem::usage(message).hint("put the code into a file").into());
    };
    let path = path_of(file, &args.target);
    attach(&args.target, Need::Any, async |connection: &Connection| {
        let task = submit(&connection.client, &path, &args.args).await?;
        follow(&connection.client, task.id.as_str(), args.json, Interrupt::Cancels).await
    })
}

/// As seen from the workspace, if it is in there.
fn path_of(file: &Path, target: &TargetArgs) -> String {
    let full = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let root = target.root().canonicalize().unwrap_or_default();
    full.strip_prefix(&root).unwrap_or(&full).display().to_string()
}

async fn submit(client: &Client, path: &str, args: &[String]) -> Result<Task> {
    let body = json!({ "workspace_id": workspace(client).await? });
    let session: Session = api::typed(&api::post(client, "/v1/sessions", &body).await?)?;
    let part = json!({ "type": "text", "text": args.join(" "), "visibility": "public" });
    let body = json!({ "input": { "role": "user", "parts": [part] },
                       "metadata": { "script": { "path": path, "args": args } } });
    let tasks = api::path(&["v1", "sessions", session.id.as_str(), "tasks"]);
    api::typed(&api::post(client, &tasks, &body).await?)
}

/// Shows what a script prints and asks, until it has ended; then ends as it did.
pub async fn follow(client: &Client, id: &str, json: bool, interrupt: Interrupt) -> Result<ExitCode> {
    let output = if json { Output::Json } else { Output::Lines(Detail::Script) };
    let answers = if can_ask() && !json { Answers::Person } else { Answers::Nobody };
    let left = Follow::task(client, id, output, answers, interrupt)?.run().await?;
    let task: Task = api::typed(&api::get(client, &api::path(&["v1", "tasks", id])).await?)?;
    let Some(outcome) = task.outcome_id.filter(|_| task.status != TaskStatus::Canceled) else {
        return Ok(left);
    };
    let path = api::path(&["v1", "outcomes", outcome.as_str()]);
    let outcome: Outcome = api::typed(&api::get(client, &path).await?)?;
    Ok(ended(&outcome, json))
}

/// What a script gives back is how it ends.
fn ended(outcome: &Outcome, json: bool) -> ExitCode {
    let code = outcome.metadata.get("value").and_then(Value::as_i64);
    let code = code.map(|code| u8::try_from(code & 0xff).unwrap_or(1));
    match &outcome.failure {
        None => code.map_or(ExitCode::SUCCESS, ExitCode::from),
        Some(failure) if failure.code == "script_exit" => code.map_or(ExitCode::FAILURE, ExitCode::from),
        Some(failure) => {
            if !json {
                warn_line(format_args!("error: {}", plain(&failure.message)));
                warn_line(format_args!("  hint: harn explain {}", plain(&failure.code)));
            }
            ExitCode::FAILURE
        }
    }
}

/// `harn exports`: what a script offers to others.
pub fn exports(file: &Path, json: bool) -> Result<ExitCode> {
    let choice = harn_core::ports::ScriptChoice {
        path: file.display().to_string(),
        reach: harn_core::ports::Reach::Machine,
        ..Default::default()
    };
    let here = std::env::current_dir()?;
    let listed = harn_engine::script::image::list(Some(&here.to_string_lossy()), &choice);
    let listed = listed.map_err(|why| Problem::new(why).hint("`harn check FILE` shows the places"))?;
    if json {
        commands::say_json(&json!(listed));
        return Ok(ExitCode::SUCCESS);
    }
    for export in &listed {
        let kind = commands::show::word(&export.kind);
        let doc = export.description.lines().next().unwrap_or_default();
        let params = export.input_schema["properties"].as_object().into_iter().flat_map(|all| all.keys());
        let params: Vec<&str> = params.map(String::as_str).collect();
        commands::say(format_args!("{kind} {}({})  {}", export.name, params.join(", "), plain(doc)));
    }
    if listed.is_empty() {
        commands::say("It exports nothing: no `pub fn` and no `pub pipeline`.");
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use harn_lang::builtins;
    use harn_lang::bytecode::Source;
    use harn_lang::compile::{NoModules, Settings, compile};

    use super::*;

    #[test]
    fn a_program_that_asks_people_lasts_and_one_that_only_speaks_of_it_does_not() {
        let lasts = |text: &str| {
            let source = Source { name: "a".into(), text: text.into() };
            is_lasting(&compile(source, &NoModules, &Settings::default()).unwrap())
        };
        assert!(lasts("println(ask_user(\"sure?\"))"));
        assert!(lasts("fn later() { request_approval(\"x\") }\n1"));
        assert!(lasts("let f = wait_agent\nf(1)"));
        assert!(!lasts("// ask_user\nprintln(\"ask_user\")\nsleep(1)"));
        assert!(LASTING.iter().all(|name| builtins::find(name).is_some()));
    }
}
