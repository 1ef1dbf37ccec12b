//! `harn … watch`: the live view of a task or a session that is there already, from its beginning.

use std::process::ExitCode;

use anyhow::Result;

use crate::connect::Connection;
use crate::terminal::{Answers, Detail, Follow, Interrupt, Output, can_ask};

/// Until the task has ended; the code says how. Ctrl-C stops watching, and the task goes on.
pub async fn watch_task(connection: &Connection, id: &str, json: bool) -> Result<ExitCode> {
    Follow::task(&connection.client, id, output(json), answers(json), Interrupt::Leaves)?.run().await
}

/// Until the session is closed or somebody has seen enough.
pub async fn watch_session(connection: &Connection, id: &str, json: bool) -> Result<ExitCode> {
    Follow::session(&connection.client, id, output(json), answers(json))?.run().await
}

fn output(json: bool) -> Output {
    if json { Output::Json } else { Output::Lines(Detail::Full) }
}

fn answers(json: bool) -> Answers {
    if can_ask() && !json { Answers::Person } else { Answers::Elsewhere }
}
