//! `harn tasks answer`: approve, deny or reply, by flags or by asking at the terminal.

use std::io::{BufRead, IsTerminal, Write};
use std::process::ExitCode;

use anyhow::Result;
use harn_client::{Client, Method};
use harn_core::{Clock, PermissionRequest, RequestStatus, SystemClock, Task, TaskStatus, Timestamp};
use harn_wire::agents::PermissionResponseRequest;
use serde_json::{Map, Value};

use super::{say, say_json, show, tasks};
use crate::api;
use crate::args::AnswerArgs;
use crate::connect::Connection;
use crate::output::plain;
use crate::problem::Problem;

/// What somebody decided.
enum Choice {
    Approve,
    Deny,
    Reply(String),
}

pub async fn run(connection: &Connection, args: &AnswerArgs) -> Result<ExitCode> {
    let given = match (&args.reply, args.approve, args.deny) {
        (Some(text), ..) => Some(Choice::Reply(text.clone())),
        (None, true, _) => Some(Choice::Approve),
        (None, false, true) => Some(Choice::Deny),
        (None, false, false) => None,
    };
    // Said before anything is asked of the server: a script must not hang on a prompt.
    let interactive = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if given.is_none() && !interactive {
        return Err(Problem::usage("there is no terminal to ask at, and no answer was given")
            .hint("say --approve or --deny; for a question --reply TEXT")
            .into());
    }
    let response = response(args)?;
    let request = find(&connection.client, &args.id).await?;
    let choice = match given {
        Some(choice) => choice,
        None => {
            show::request(&request);
            let Some(choice) = ask(&request)? else {
                say("Nothing was answered.");
                return Ok(ExitCode::SUCCESS);
            };
            choice
        }
    };
    let path = api::path(&["v1", "permission-requests", request.id.as_str()]) + "/respond";
    let answered = api::post(&connection.client, &path, &with_choice(response, choice)).await?;
    finish(connection, &answered, args.json).await
}

/// Everything of the answer but the choice.
fn response(args: &AnswerArgs) -> Result<PermissionResponseRequest> {
    let wrong = |cause: String| {
        Problem::usage("--args is not a JSON object")
            .cause(cause)
            .hint("such as --args '{\"path\": \"b.txt\"}'")
    };
    let rewritten = args.args.as_deref().map(serde_json::from_str::<Map<String, Value>>).transpose();
    Ok(PermissionResponseRequest {
        args: rewritten.map_err(|error| wrong(error.to_string()))?,
        reason: args.reason.clone(),
        remember: args.remember.map(|_| true),
        scope: args.remember.map(|scope| scope.as_str().to_owned()),
        expires_at: args.expires.as_deref().map(expiry).transpose()?,
        ..PermissionResponseRequest::default()
    })
}

fn with_choice(mut response: PermissionResponseRequest, choice: Choice) -> PermissionResponseRequest {
    match choice {
        Choice::Approve => response.approved = Some(true),
        Choice::Deny => response.approved = Some(false),
        Choice::Reply(text) => response.answer = Some(Value::from(text)),
    }
    response
}

/// `30m`, `8h`, `7d` or `90s` from now.
fn expiry(text: &str) -> Result<Timestamp> {
    let wrong = || {
        Problem::usage(format!("`{text}` is no time span"))
            .hint("write a whole number and s, m, h or d, such as 8h")
    };
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 86400,
        _ => return Err(wrong().into()),
    };
    let number: u64 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    let span = number.checked_mul(seconds).filter(|span| *span > 0 && *span <= 100 * 366 * 86400);
    Ok(SystemClock.now().plus_seconds(span.ok_or_else(wrong)?))
}

/// The request itself, or the only one that a task waits for.
async fn find(client: &Client, id: &str) -> Result<PermissionRequest> {
    if !id.starts_with("task_") {
        let path = api::path(&["v1", "permission-requests", id]);
        let answer = client.request(Method::GET, &path).send().await?;
        if answer.status == 404 {
            let hint = "`harn tasks list --status waiting` shows the tasks that wait, `harn tasks show ID` their requests";
            return Err(Problem::new(format!("no request `{id}` is visible to you")).hint(hint).into());
        }
        return api::typed(&answer.ok()?.value()?);
    }
    let mut waiting = tasks::pending(client, id).await?;
    match (waiting.pop(), waiting.as_slice()) {
        (Some(request), []) => Ok(request),
        (None, _) => Err(Problem::new(format!("task `{id}` waits for no answer"))
            .hint(format!("`harn tasks show {id}` tells how it stands"))
            .into()),
        (Some(last), others) => {
            let ids: Vec<&str> = others.iter().chain([&last]).map(|request| request.id.as_str()).collect();
            Err(Problem::new(format!("task `{id}` waits for {} answers", ids.len()))
                .hint(format!("give the id of one: {}", ids.join(", ")))
                .into())
        }
    }
}

fn ask(request: &PermissionRequest) -> Result<Option<Choice>> {
    let prompt = match (request.wants_reply(), request.action["kind"].as_str()) {
        (true, _) => "Your reply (nothing leaves it open): ",
        (false, Some("escalation")) => "Will you see to it? [y]es, [n]o, anything else leaves it open: ",
        (false, _) => "Let it happen? [y]es, [n]o, anything else leaves it open: ",
    };
    let mut out = std::io::stdout();
    write!(out, "{prompt}")?;
    out.flush()?;
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let line = line.trim();
    Ok(match (request.wants_reply(), line.to_ascii_lowercase().as_str()) {
        (_, "") => None,
        (true, _) => Some(Choice::Reply(line.to_owned())),
        (false, "y" | "yes") => Some(Choice::Approve),
        (false, "n" | "no") => Some(Choice::Deny),
        (false, _) => None,
    })
}

/// Says what became of it. A run of this process goes on until it ends or waits again.
async fn finish(connection: &Connection, answered: &Value, json: bool) -> Result<ExitCode> {
    let request: PermissionRequest = api::typed(answered)?;
    let task = request.task_id.as_ref().map(ToString::to_string);
    if let (Some(task), true) = (&task, connection.is_in_process()) {
        settle(&connection.client, task).await?;
    }
    if json {
        say_json(answered);
        return Ok(ExitCode::SUCCESS);
    }
    let id = plain(request.id.as_str());
    match (request.status, request.wants_reply()) {
        (RequestStatus::Pending, _) => say(format_args!("Your vote on {id} counts; others have to agree.")),
        (RequestStatus::Approved, false) => say(format_args!("Approved {id}.")),
        (RequestStatus::Approved, true) => say(format_args!("Replied to {id}.")),
        (RequestStatus::Denied, _) => say(format_args!("Denied {id}.")),
    }
    if let Some(rule) = request.response["remembered_rule_id"].as_str().filter(|rule| !rule.is_empty()) {
        say(format_args!("Remembered as {}; `harn policy forget` removes it.", plain(rule)));
    }
    if let Some(task) = task {
        tasks::say_status(&connection.client, &task).await?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Follows a task until it is over, or waits for people or at a waitpoint.
pub async fn settle(client: &Client, task: &str) -> Result<()> {
    let path = api::path(&["v1", "tasks", task]);
    let mut events = client.request(Method::GET, &format!("{path}/stream")).events().await?;
    loop {
        let task: Task = api::typed(&api::get(client, &path).await?)?;
        let waits = matches!(task.status, TaskStatus::InputRequired | TaskStatus::AuthRequired);
        if task.status.is_terminal() || waits || is_at_waitpoint(client, &task).await? {
            return Ok(());
        }
        if events.next().await?.is_none() {
            return Ok(());
        }
    }
}

async fn is_at_waitpoint(client: &Client, task: &Task) -> Result<bool> {
    let path = api::path(&["v1", "workspaces", task.workspace_id.as_str(), "waitpoints"]);
    let waits = |waitpoint: &Value| {
        waitpoint["task_ids"].as_array().is_some_and(|ids| ids.iter().any(|id| *id == *task.id.as_str()))
    };
    Ok(!api::newest(client, &path, &[], api::Cursor::Page, 1, waits).await?.items.is_empty())
}
