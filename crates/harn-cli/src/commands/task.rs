//! `harn task "…"`: submits a task, shows the agent at work, and ends with what came of it.

use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use harn_client::Client;
use harn_core::{Session, SessionState, Task, TaskStatus, Workspace};
use serde_json::{Map, Value, json};

use crate::api;
use crate::args::{TargetArgs, TaskArgs};
use crate::connect::{Connection, connect};
use crate::problem::Problem;
use crate::terminal::{
    Answers, Detail, Follow, Interrupt, NEEDS_ANSWER, Output, Screen, Tone, all_pages, can_ask,
};

/// A longer prompt belongs into a file of the workspace.
const MAX_PROMPT: u64 = 1 << 20;

pub fn run(args: &TaskArgs) -> Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let code = runtime.block_on(task(args));
    // Whatever is still running has been left as begun.
    runtime.shutdown_timeout(Duration::from_secs(1));
    code
}

async fn task(args: &TaskArgs) -> Result<ExitCode> {
    let prompt = prompt(&args.prompt)?;
    let target = TargetArgs { record_model: args.record_model.clone(), ..args.target.clone() };
    let connection = connect(&target).await?;
    let result = match (&args.record_model, connection.is_in_process()) {
        (Some(file), false) => Err(recorded_elsewhere(file)),
        _ => submit_and_follow(&connection, args, &prompt).await,
    };
    connection.close().await;
    result
}

/// The model is called by the server, and only there its answers pass.
fn recorded_elsewhere(file: &Path) -> anyhow::Error {
    let message = format!("nothing can be recorded into {} here: a server does this work", file.display());
    Problem::usage(message)
        .hint("start the server with `harn serve --record-model FILE`, or leave out --record-model and HARN_RECORD_MODEL")
        .into()
}

async fn submit_and_follow(connection: &Connection, args: &TaskArgs, prompt: &str) -> Result<ExitCode> {
    let client = &connection.client;
    let session = session(client, args).await?;
    let task = submit(client, &session, args, prompt).await?;
    if args.yes {
        let warning = "--yes: everything that asks for approval is approved without asking you. What policy \
                       denies stays denied.";
        Screen::of_stdout().notice(Tone::Attention, warning);
    }
    let output = match (args.json, args.quiet) {
        (true, _) => Output::Json,
        (false, true) => Output::Lines(Detail::Quiet),
        (false, false) => Output::Lines(Detail::Full),
    };
    let person = can_ask() && !args.json;
    let answers = match (args.yes, args.no_input) {
        (true, _) => Answers::Yes { person },
        (false, false) if person => Answers::Person,
        (false, _) => Answers::Nobody,
    };
    if task.status == TaskStatus::Submitted {
        let blocked = told_of_queue(client, &task).await?;
        // Nobody here can give the answer that the tasks before this one wait for.
        if blocked && answers == Answers::Nobody {
            return Ok(ExitCode::from(NEEDS_ANSWER));
        }
    }
    Follow::task(client, task.id.as_str(), output, answers, Interrupt::Cancels)?.run().await
}

/// The prompt of the command line, or of standard input.
fn prompt(given: &str) -> Result<String> {
    let mut text = given.to_owned();
    if given == "-" {
        text.clear();
        let mut input = std::io::stdin().lock().take(MAX_PROMPT + 1);
        input.read_to_string(&mut text).context("the prompt cannot be read from standard input")?;
    }
    if text.len() as u64 > MAX_PROMPT {
        bail!("the prompt is longer than {MAX_PROMPT} bytes; put the text into a file and ask to read it");
    }
    if text.trim().is_empty() {
        bail!("the prompt is empty; say what is to be done, as in: harn task \"list files\"");
    }
    Ok(text.trim_end().to_owned())
}

/// The session that was named, the last one, or a new one.
async fn session(client: &Client, args: &TaskArgs) -> Result<String> {
    let pins = pins(args);
    let existing = match &args.session {
        Some(id) => Some(id.clone()),
        None if args.continue_last => Some(last_session(client, args.workspace.as_deref()).await?),
        None => None,
    };
    if let Some(id) = existing {
        if !pins.is_empty() {
            let change = json!({ "metadata": { "harn": pins } });
            api::patch(client, &api::path(&["v1", "sessions", &id]), &change).await?;
        }
        return Ok(id);
    }
    let workspace = match &args.workspace {
        Some(id) => id.clone(),
        None => workspace(client).await?,
    };
    let mut body = json!({ "workspace_id": workspace });
    if let Some(persona) = &args.persona {
        body["persona_id"] = json!(persona);
    }
    if !pins.is_empty() {
        body["metadata"] = json!({ "harn": pins });
    }
    let made: Session = api::typed(&api::post(client, "/v1/sessions", &body).await?)?;
    Ok(made.id.to_string())
}

/// What the session is to remember about its model.
fn pins(args: &TaskArgs) -> Map<String, Value> {
    let wanted = [("model", &args.model), ("thought_level", &args.thinking)];
    wanted.into_iter().filter_map(|(key, value)| Some((key.to_owned(), json!(value.as_ref()?)))).collect()
}

async fn last_session(client: &Client, workspace: Option<&str>) -> Result<String> {
    let filter: Vec<(&str, &str)> = workspace.map(|id| ("workspace_id", id)).into_iter().collect();
    let sessions: Vec<Session> = all_pages(client, "/v1/sessions", &filter).await?;
    let open = sessions.into_iter().filter(|session| session.state != SessionState::Closed);
    let last = open.max_by_key(|session| (session.updated_at, session.created_at));
    let last = last.context("there is no session to go on with; leave out --continue to begin one")?;
    Ok(last.id.to_string())
}

/// The workspace of this folder; elsewhere the only one that there is.
pub async fn workspace(client: &Client) -> Result<String> {
    let all: Vec<Workspace> = all_pages(client, "/v1/workspaces", &[]).await?;
    let here = std::env::current_dir().and_then(|folder| folder.canonicalize()).unwrap_or_default();
    let around = all.iter().filter(|workspace| here.starts_with(Path::new(&workspace.root)));
    match (around.max_by_key(|workspace| workspace.root.len()), all.as_slice()) {
        (Some(found), _) | (None, [found]) => Ok(found.id.to_string()),
        (None, []) => bail!("the server has no workspace; create one first"),
        (None, several) => {
            let named: Vec<String> =
                several.iter().map(|workspace| format!("{} ({})", workspace.id, workspace.root)).collect();
            bail!("this folder belongs to no workspace; choose one with --workspace: {}", named.join(", "))
        }
    }
}

async fn submit(client: &Client, session: &str, args: &TaskArgs, prompt: &str) -> Result<Task> {
    let part = json!({ "type": "text", "text": prompt, "visibility": "public" });
    let mut body = json!({ "input": { "role": "user", "parts": [part] } });
    if let Some(persona) = &args.persona {
        body["persona_id"] = json!(persona);
    }
    let budget = budget(args);
    if !budget.is_empty() {
        body["metadata"] = json!({ "budget": budget });
    }
    let path = api::path(&["v1", "sessions", session, "tasks"]);
    api::typed(&api::post(client, &path, &body).await?)
}

fn budget(args: &TaskArgs) -> Map<String, Value> {
    let mut budget = Map::new();
    if let Some(dollars) = args.budget_usd {
        budget.insert("usd".into(), json!(dollars));
    }
    if let Some(tokens) = args.budget_tokens {
        budget.insert("tokens".into(), json!(tokens));
    }
    budget
}

/// Says which task of the session goes first. Whether it waits for a person.
async fn told_of_queue(client: &Client, task: &Task) -> Result<bool> {
    let path = api::path(&["v1", "sessions", task.session_id.as_str(), "tasks"]);
    let tasks: Vec<Task> = all_pages(client, &path, &[]).await?;
    let Some(first) = tasks.iter().find(|other| !other.status.is_terminal() && other.id != task.id) else {
        return Ok(false);
    };
    let waits = matches!(first.status, TaskStatus::AuthRequired | TaskStatus::InputRequired);
    let why = if waits { "which waits for an answer" } else { "which is at work" };
    let text = format!(
        "Task {} of this session goes first, {why}; {} starts after it. To see it: harn tasks watch {}",
        first.id, task.id, first.id
    );
    Screen::of_stdout().notice(Tone::Attention, &text);
    Ok(waits)
}
