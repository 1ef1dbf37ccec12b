//! `harn run` of a script that lasts: a task of the harness, followed from here to its end.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use harn_client::Client;
use harn_core::{Outcome, Session, Task, TaskStatus};
use harn_lang::bytecode::Program;
use serde_json::{Value, json};

use super::diagnostic::say_uncaught;
use crate::args::{RunArgs, TargetArgs};
use crate::commands::{Need, attach, task::workspace};
use crate::connect::Connection;
use crate::output::plain;
use crate::problem::Problem;
use crate::terminal::{Answers, Detail, Follow, Interrupt, Output, can_ask};
use crate::{api, commands};

use super::machine::{say_hint, say_stopped};

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

/// Who sleeps longer than this had better survive a restart.
const LONG_SLEEP_MS: i64 = 60_000;

/// Whether a program does anything that makes it a task of the harness.
pub fn is_lasting(program: &Program) -> bool {
    let mentions = program.mentions();
    // Where the clock is held still, a sleep takes no time.
    let sleeps_long = !mentions.contains("mock_time") && program.longest_sleep_ms() > LONG_SLEEP_MS;
    sleeps_long || LASTING.iter().any(|name| mentions.contains(name))
}

/// Runs a script as a task and ends as it ends.
pub fn run(args: &RunArgs) -> Result<ExitCode> {
    let Some(file) = args.file.as_deref().filter(|file| file.as_os_str() != "-") else {
        let message =
            "only a script in a file can run as a task: what goes on after a restart must have a name";
        return Err(Problem::usage(message).hint("put the code into a file").into());
    };
    if args.llm_mock_record.is_some() {
        let message =
            "--llm-mock-record is for a run that leaves nothing behind: a task may go on in another process";
        let hint = "`harn serve --record-model FILE` writes what the models of its tasks answer";
        return Err(Problem::usage(message).hint(hint).into());
    }
    let script = script(args, path_of(file, &args.target))?;
    attach(&args.target, Need::Any, async |connection: &Connection| {
        let task = submit(&connection.client, &args.args, &script).await?;
        follow(&connection.client, task.id.as_str(), args.json, Interrupt::Cancels).await
    })
}

/// As seen from the workspace, if it is in there.
fn path_of(file: &Path, target: &TargetArgs) -> String {
    let full = file.canonicalize().unwrap_or_else(|_| file.to_owned());
    let root = target.root().canonicalize().unwrap_or_default();
    full.strip_prefix(&root).unwrap_or(&full).display().to_string()
}

/// What the task keeps of the command line. It holds for as long as the run lasts, whoever goes on with it.
fn script(args: &RunArgs, path: String) -> Result<Value> {
    let llm_mock =
        args.llm_mock.as_ref().map(|file| std::path::absolute(file).unwrap_or_else(|_| file.clone()));
    Ok(json!({ "path": path, "args": args.args, "narrowing": args.narrowing(), "limits": args.limits(),
               "llm_mock": llm_mock, "skills": args.skills()? }))
}

async fn submit(client: &Client, args: &[String], script: &Value) -> Result<Task> {
    let body = json!({ "workspace_id": workspace(client).await? });
    let session: Session = api::typed(&api::post(client, "/v1/sessions", &body).await?)?;
    let part = json!({ "type": "text", "text": args.join(" "), "visibility": "public" });
    let body = json!({ "input": { "role": "user", "parts": [part] },
                       "metadata": { "script": script } });
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
                match say_uncaught(&failure.details) {
                    Some(()) => say_hint(failure),
                    None => say_stopped(failure),
                }
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
        let params = export.params.join(", ");
        commands::say(format_args!("{kind} {}({params})  {}", export.name, plain(doc)));
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
        for (text, is_long) in [
            ("sleep(1m)", false),
            ("sleep(61s)\n1", true),
            ("sleep(60000)", false),
            ("fn f() { return sleep_ms(60001) }\nif false { f() }", true),
            ("pipeline default(task) { parallel each [1, 2] { x -> sleep(2h) } }", true),
            // How long this takes is known when it runs.
            ("let pause = 2h\nsleep(pause)", false),
            ("retry 3 { sleep(1s) }", false),
            ("mock_time(0)\nsleep(2h)", false),
        ] {
            assert_eq!(lasts(text), is_long, "{text}");
        }
        assert!(LASTING.iter().all(|name| builtins::find(name).is_some()));
    }
}
