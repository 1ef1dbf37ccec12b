//! The host of a script that is run at a terminal: what it knows about the run, and nothing that needs an editor.
//!
//! Shells, templates, questions and the files of the workspace are there without any host.

use async_trait::async_trait;
use harn_core::ports::{HostFailure, HostPort};
use serde_json::{Value, json};

/// The operations of `runtime`.
const RUNTIME: [&str; 5] = ["task", "pipeline_input", "dry_run", "approved_plan", "record_run"];

pub struct TerminalHost;

#[async_trait]
impl HostPort for TerminalHost {
    async fn capabilities(&self) -> Result<Value, HostFailure> {
        Ok(json!({ "runtime": RUNTIME }))
    }

    async fn call(&self, capability: &str, operation: &str, _: Value) -> Result<Value, HostFailure> {
        match (capability, operation) {
            // Nobody gave it a task: `argv` has what it was called with.
            ("runtime", "task") => Ok("".into()),
            ("runtime", "dry_run") => Ok(false.into()),
            // There is neither an input nor a plan, and nobody keeps a list of runs.
            ("runtime", "pipeline_input" | "approved_plan" | "record_run") => Ok(Value::Null),
            ("runtime", _) => {
                let known = RUNTIME.join(", ");
                Err(missing(format!("the terminal has no `runtime.{operation}`; known are {known}")))
            }
            _ => Err(missing(format!(
                "the terminal has no `{capability}.{operation}`; host_has() tells what there is, and a test can pretend \
                 it with host_mock()"
            ))),
        }
    }

    async fn tools(&self) -> Result<Value, HostFailure> {
        Ok(json!([]))
    }

    async fn call_tool(&self, name: &str, _: Value) -> Result<Value, HostFailure> {
        Err(HostFailure {
            message: format!("host_tool_call: the terminal has no tool `{name}`"),
            category: None,
        })
    }

    async fn builtin(&self, name: &str, _: Value) -> Result<Value, HostFailure> {
        Err(HostFailure { message: format!("Undefined builtin: {name}"), category: None })
    }
}

fn missing(what: String) -> HostFailure {
    HostFailure { message: format!("host_call: {what}"), category: None }
}
