//! `harn undo`: puts back what a finished task did to files, and says what could not be put back.

use std::process::ExitCode;

use anyhow::Result;
use harn_core::ports::Restored;
use harn_wire::agents::UndoResult;
use serde_json::json;

use super::{Need, say, say_json, speak};
use crate::api;
use crate::args::UndoArgs;
use crate::connect::Connection;
use crate::output::{Table, Tone, plain};

pub fn run(args: &UndoArgs) -> Result<ExitCode> {
    speak(&args.target, Need::Existing, async |c| undo(c, &args.task, args.json).await)
}

async fn undo(connection: &Connection, task: &str, json: bool) -> Result<ExitCode> {
    let path = api::path(&["v1", "tasks", task]) + "/undo";
    let value = api::post(&connection.client, &path, &json!({})).await?;
    let result: UndoResult = api::typed(&value)?;
    if json {
        say_json(&value);
    } else {
        say_result(&result);
    }
    let whole = result.paths.iter().all(|path| !matches!(path.result, Restored::Refused(_)));
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn say_result(result: &UndoResult) {
    if result.paths.is_empty() {
        say("The task changed no files.");
    }
    let mut table = Table::facts();
    for path in &result.paths {
        let (tone, state) = match &path.result {
            Restored::Done => (Tone::Good, "put back".to_owned()),
            Restored::Unchanged => (Tone::Dim, "already as before".to_owned()),
            Restored::Refused(why) => (Tone::Bad, format!("not put back: {}", plain(why))),
        };
        table.row([(Tone::Plain, plain(&path.path)), (tone, state)]);
    }
    table.say();
    for note in &result.notes {
        say(format_args!("note: {}", plain(note)));
    }
}
