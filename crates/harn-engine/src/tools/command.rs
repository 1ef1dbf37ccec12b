//! The tool that runs a shell command, in a sandbox and under a guardian that lets nothing of it outlive the call.

use std::path::Path;
use std::time::Duration;

use async_trait::async_trait;
use harn_core::tool::{Annotations, Class, SideEffect, ToolKind, ToolSpec};
use serde_json::{Map, Value, json};

use super::args::Args;
use super::launch::{Running, Why};
use super::outcome::{attach, ending};
use super::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput, object_schema, stash};
use crate::guard::Network;
use crate::secrets::refuse;

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;

/// Linux takes at most 128 KiB in one argument.
const MAX_COMMAND: usize = 100 * 1024;

/// How much of each stream is shown; half of it is the beginning, and half the end.
pub(super) const SHOWN: usize = 16 * 1024;

/// Runs `sh -c` in the workspace root.
///
/// What the command leaves running when it ends is killed. Dropping the future kills all of it too.
pub struct RunCommand;

#[async_trait]
impl Tool for RunCommand {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "run_command".into(),
            description: "Runs a shell command (sh -c) in the workspace root, without input and without a terminal. It \
                          can write only in the workspace and in $TMPDIR, and has no network (not even localhost) \
                          unless `network` is true or its program is known to need it. Processes that it leaves behind are stopped when it ends. Of long \
                          output the beginning and the end are shown. With `background` it goes on while you do other \
                          things: use command_output and stop_command with the handle."
                .into(),
            input_schema: object_schema(
                json!({
                    "command": { "type": "string", "description": "The command line." },
                    "timeout_ms": {
                        "type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS,
                        "description": "When to stop it, in milliseconds: 120000 unless given; in the background \
                                        never unless given.",
                    },
                    "network": {
                        "type": "boolean", "default": false, "description": "Whether it may use the network.",
                    },
                    "background": {
                        "type": "boolean", "default": false,
                        "description": "Whether to return at once, with a handle, and let it go on.",
                    },
                }),
                &["command"],
            ),
            output_schema: object_schema(output_fields(), &[]),
            class: Class::Once,
            side_effect: SideEffect::ProcessExec,
            annotations: Annotations {
                kind: ToolKind::Execute,
                command: Some("command".into()),
                network: Some("network".into()),
                capabilities: vec!["process.exec".into()],
                ..Annotations::default()
            },
        }
    }

    async fn prepare(&self, ctx: &ToolContext, args: &Map<String, Value>) -> Result<Prepared, ToolFailure> {
        root_of(ctx)?;
        let Order { command, .. } = Order::read(args)?;
        refuse(&command.into(), "a command of an agent")?;
        if let Some(why) = harn_policy::interactive(command) {
            return Err(ToolFailure::new(why));
        }
        stash::take(ctx).await.map(Prepared::Stashed)
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        prepared: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let order = Order::read(args)?;
        let root = root_of(ctx)?;
        if order.background {
            // What it will have changed is not known yet, and the call is over: the next stash shows it.
            let adopted = ctx.background.adopt(|| start(ctx, root, &order), order.limit);
            return adopted.map(ToolOutput::from);
        }
        let mut output =
            finish(ctx, start(ctx, root, &order)?, order.limit.unwrap_or(DEFAULT_TIMEOUT)).await?;
        if let Prepared::Stashed(before) = &prepared {
            output.changes = stash::changes(ctx, before).await;
        }
        Ok(output)
    }
}

const DEFAULT_TIMEOUT: Duration = Duration::from_millis(DEFAULT_TIMEOUT_MS);

/// What results of commands consist of, whichever tool gives them.
pub(super) fn output_fields() -> Value {
    json!({
        "handle": { "type": "string", "description": "Names a command in the background." },
        "running": { "type": "boolean", "description": "Whether a command in the background still runs." },
        "exit_code": { "type": ["integer", "null"] },
        "signal": { "type": ["integer", "null"], "description": "The signal that ended it." },
        "timed_out": { "type": "boolean" },
        "stopped": {
            "enum": ["processes", "memory", "output", "disk", "time"],
            "description": "The limit that it was stopped at, if it was.",
        },
        "message": { "type": "string", "description": "Why it was stopped." },
        "stdout": { "type": "string" },
        "stderr": { "type": "string" },
        "stdout_artifact": { "type": "string", "description": "Where the whole output is, if it is not shown." },
        "stderr_artifact": { "type": "string" },
        "survivors": {
            "type": "array", "items": { "type": "integer" },
            "description": "Process ids that could not be stopped, if there are any.",
        },
        "sandbox": { "type": "object", "description": "What held for it." },
    })
}

fn root_of(ctx: &ToolContext) -> Result<&Path, ToolFailure> {
    ctx.root.as_deref().ok_or_else(|| {
        ToolFailure::new("This workspace has no files, so commands cannot be run in it. Go on without them.")
    })
}

/// The arguments of a call.
struct Order<'a> {
    command: &'a str,
    limit: Option<Duration>,
    network: Network,
    background: bool,
}

impl<'a> Order<'a> {
    fn read(given: &'a Map<String, Value>) -> Result<Self, ToolFailure> {
        let args = Args::check("run_command", given, &["command", "timeout_ms", "network", "background"])?;
        let command = args.text("command")?;
        let limit = args.optional_integer("timeout_ms", 1..=MAX_TIMEOUT_MS)?.map(Duration::from_millis);
        // A program that is known for it was judged as one that uses the network, whether or not the call says so.
        let asked = match given.contains_key("network") {
            true => flag(given, "network")?,
            false => harn_policy::reaches_network(command),
        };
        let network = if asked { Network::Open } else { Network::Closed };
        let background = flag(given, "background")?;
        let wrong = match command {
            _ if command.trim().is_empty() => "is empty",
            _ if command.contains('\0') => "contains a NUL character",
            _ if command.len() > MAX_COMMAND => "is longer than 100 KiB; write it to a file and run that",
            _ => return Ok(Self { command, limit, network, background }),
        };
        Err(ToolFailure::new(format!("The argument `command` of run_command {wrong}.")))
    }
}

fn flag(given: &Map<String, Value>, name: &str) -> Result<bool, ToolFailure> {
    match given.get(name) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => {
            Err(ToolFailure::new(format!("The argument `{name}` of run_command must be true or false.")))
        }
    }
}

fn start(ctx: &ToolContext, root: &Path, order: &Order<'_>) -> Result<Running, ToolFailure> {
    if ctx.cancel.is_cancelled() {
        return Err(ToolFailure::new("The command was cancelled before it was started. Nothing was run."));
    }
    Running::start(&ctx.guard, root, order.network, &[], order.command).map_err(|error| {
        let (program, root) = (ctx.guard.program.display(), root.display());
        ToolFailure::new(format!(
            "The command was not run: its guardian `{program}` could not be started in `{root}`: {error}."
        ))
    })
}

async fn finish(ctx: &ToolContext, running: Running, limit: Duration) -> Result<ToolOutput, ToolFailure> {
    let captures = running.captures.clone();
    let end = running.end(Some(limit), &ctx.cancel).await;
    let mut fields = ending(&end)?;
    if end.why == Why::Cancelled {
        return Err(ToolFailure::new(
            "The command was cancelled and everything that it had started was stopped.",
        ));
    }
    for (name, capture) in [("stdout", &captures.stdout), ("stderr", &captures.stderr)] {
        fields.insert(name.into(), capture.lock().show(0, SHOWN, false).text.into());
    }
    let attachments = attach(&captures, SHOWN, &mut fields);
    Ok(ToolOutput { attachments, ..Value::Object(fields).into() })
}
