//! Files and folders for scripts. Relative paths start at the root, whatever the folder of the process is.

mod change;
mod find;
pub mod reach;
mod write;

use std::io;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use harn_core::decision::Access;
use harn_core::tool::{Class, SideEffect, ToolKind};
use serde_json::{Value, json};

use super::args::{self, Args};
use super::simple::{Answer, Simple, Work, reads};
use crate::tools::{Tool, ToolContext, ToolFailure};
pub use find::{Found, Seen, below};
use reach::Target;
pub use write::{Flush, write_whole};

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let mut calls = vec![
        looks("file_exists", "Whether there is something at a path.", exists),
        looks("read_file", "The text of a file.", |ctx, args| read_text(ctx, args, "read_file")),
        looks("read_file_bytes", "The bytes of a file.", read_bytes),
        looks("read_file_result", "The text of a file as a result.", read_result),
        looks("read_lines", "The lines of a file.", read_lines),
        looks("stat", "What the system says about a file.", stat),
        reads("temp_dir", "A folder for files that need not stay.", |_, _| {
            Ok(std::env::temp_dir().display().to_string().into())
        }),
    ];
    calls.extend(find::calls());
    calls.extend(write::calls());
    calls.extend(change::calls());
    calls
}

/// A call that looks at what is at its argument `path`.
fn looks(name: &str, description: &str, work: Work) -> Arc<dyn Tool> {
    Simple::new(name, description, Class::Read, SideEffect::ReadOnly, work)
        .path("path", Access::Read)
        .kind(ToolKind::Read)
        .call()
}

/// An error that names what was tried and with which path.
fn failed(what: &str, path: &str) -> impl FnOnce(io::Error) -> ToolFailure {
    let begin = format!("Failed to {what} {path}");
    move |error| ToolFailure::new(format!("{begin}: {error}"))
}

fn exists(ctx: &ToolContext, args: &Args) -> Answer {
    let path = args::path("file_exists", args, "path")?;
    Ok(Target::of(ctx, path).and_then(|target| target.facts()).is_ok().into())
}

fn text_of(ctx: &ToolContext, path: &str) -> Result<String, ToolFailure> {
    Target::of(ctx, path).and_then(|target| target.read_text()).map_err(failed("read file", path))
}

fn read_text(ctx: &ToolContext, args: &Args, call: &str) -> Answer {
    text_of(ctx, args::path(call, args, "path")?).map(Value::from)
}

fn read_bytes(ctx: &ToolContext, args: &Args) -> Answer {
    let path = args::path("read_file_bytes", args, "path")?;
    let read = Target::of(ctx, path).and_then(|target| target.read());
    read.map(|bytes| args::bytes(&bytes)).map_err(failed("read file", path))
}

fn read_result(ctx: &ToolContext, args: &Args) -> Answer {
    let (variant, value) = match read_text(ctx, args, "read_file_result") {
        Ok(text) => ("Ok", text),
        Err(failure) => ("Err", failure.message.into()),
    };
    Ok(json!({ "$enum": ["Result", variant, [value]] }))
}

fn read_lines(ctx: &ToolContext, args: &Args) -> Answer {
    let text = text_of(ctx, args::path("read_lines", args, "path")?)?;
    Ok(text.lines().collect())
}

fn stat(ctx: &ToolContext, args: &Args) -> Answer {
    let path = args::path("stat", args, "path")?;
    let facts = Target::of(ctx, path).and_then(|target| target.facts()).map_err(failed("stat", path))?;
    Ok(json!({
        "is_dir": facts.is_dir(),
        "is_file": facts.is_file(),
        "modified": facts.modified().ok().and_then(seconds),
        "readonly": facts.permissions().readonly(),
        "size": facts.len(),
    }))
}

/// The seconds since 1970, with a fraction.
pub fn seconds(time: std::time::SystemTime) -> Option<f64> {
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs_f64())
}
