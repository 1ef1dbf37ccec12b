//! The tool that runs a shell command, under a guardian that lets nothing of it outlive the call.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net;
use std::path::Path;
use std::pin::pin;
use std::process::Stdio;
use std::time::Duration;

use async_trait::async_trait;
use harn_core::tool::{Annotations, Class, SideEffect, ToolKind, ToolSpec};
use serde_json::{Map, Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::args::Args;
use super::capture::Capture;
use super::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput, object_schema};
use crate::guard::{Ended, GuardCommand, PATIENCE, Report};

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;

/// Linux takes at most 128 KiB in one argument.
const MAX_COMMAND: usize = 100 * 1024;

/// All that a command sees of our environment: what programs need to work, and no secrets.
const ENVIRONMENT: [&str; 7] = ["PATH", "HOME", "LANG", "LC_ALL", "TERM", "TMPDIR", "USER"];

/// How long output may take to arrive when the command is over. Only a process that the guardian could not kill
/// holds the pipes open for longer.
const DRAIN: Duration = Duration::from_secs(1);

/// Runs `sh -c` in the workspace root.
///
/// What the command leaves running in the background is killed when the command ends. Dropping the future kills all
/// of it too: that closes the guardian's socket. The guardian itself must never be killed, or it could not do that.
pub struct RunCommand;

#[async_trait]
impl Tool for RunCommand {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "run_command".into(),
            description: "Runs a shell command (sh -c) in the workspace root, without input. Processes that it \
                          leaves in the background are stopped when it ends. Of long output the beginning and the \
                          end are kept."
                .into(),
            input_schema: object_schema(
                json!({
                    "command": { "type": "string", "description": "The command line." },
                    "timeout_ms": {
                        "type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS, "default": DEFAULT_TIMEOUT_MS,
                        "description": "When to stop it, in milliseconds.",
                    },
                }),
                &["command"],
            ),
            output_schema: object_schema(
                json!({
                    "exit_code": { "type": ["integer", "null"] },
                    "signal": { "type": ["integer", "null"], "description": "The signal that ended it." },
                    "timed_out": { "type": "boolean" },
                    "stdout": { "type": "string" },
                    "stderr": { "type": "string" },
                    "survivors": {
                        "type": "array", "items": { "type": "integer" },
                        "description": "Process ids that could not be stopped, if there are any.",
                    },
                }),
                &["exit_code", "signal", "timed_out", "stdout", "stderr"],
            ),
            class: Class::Once,
            side_effect: SideEffect::ProcessExec,
            annotations: Annotations {
                kind: ToolKind::Execute,
                command: Some("command".into()),
                capabilities: vec!["process.exec".into()],
                ..Annotations::default()
            },
        }
    }

    async fn prepare(&self, ctx: &ToolContext, args: &Map<String, Value>) -> Result<Prepared, ToolFailure> {
        root_of(ctx)?;
        command_args(args).map(|_| Prepared::Ready)
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        _prepared: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let (command, limit) = command_args(args)?;
        run(ctx, root_of(ctx)?, command, limit).await.map(ToolOutput::from)
    }
}

fn root_of(ctx: &ToolContext) -> Result<&Path, ToolFailure> {
    ctx.root.as_deref().ok_or_else(|| {
        ToolFailure::new("This workspace has no files, so commands cannot be run in it. Go on without them.")
    })
}

fn command_args(args: &Map<String, Value>) -> Result<(&str, Duration), ToolFailure> {
    let args = Args::check("run_command", args, &["command", "timeout_ms"])?;
    let command = args.text("command")?;
    let limit = args.optional_integer("timeout_ms", 1..=MAX_TIMEOUT_MS)?.unwrap_or(DEFAULT_TIMEOUT_MS);
    let wrong = match command {
        _ if command.trim().is_empty() => "is empty",
        _ if command.contains('\0') => "contains a NUL character",
        _ if command.len() > MAX_COMMAND => "is longer than 100 KiB; write it to a file and run that",
        _ => return Ok((command, Duration::from_millis(limit))),
    };
    Err(ToolFailure::new(format!("The argument `command` of run_command {wrong}.")))
}

async fn run(ctx: &ToolContext, root: &Path, command: &str, limit: Duration) -> Result<Value, ToolFailure> {
    if ctx.cancel.is_cancelled() {
        return Err(ToolFailure::new("The command was cancelled before it was started. Nothing was run."));
    }
    let (mut guardian, link) = start(&ctx.guard, root, command).map_err(|error| {
        let (program, root) = (ctx.guard.program.display(), root.display());
        ToolFailure::new(format!(
            "The command was not run: its guardian `{program}` could not be started in `{root}`: {error}."
        ))
    })?;
    let (mut stdout, mut stderr) = (Capture::default(), Capture::default());
    let (why, report) = {
        let (out, err) = (guardian.stdout.take(), guardian.stderr.take());
        let mut reading = pin!(async {
            tokio::join!(fill(&mut stdout, out), fill(&mut stderr, err));
        });
        let mut attending = pin!(attend(link, limit, &ctx.cancel));
        tokio::select! {
            end = &mut attending => {
                // Running out of time here means only that what did not arrive is not shown.
                let _ = timeout(DRAIN, reading).await;
                end
            }
            () = &mut reading => attending.await,
        }
    };
    // It has closed the link, which is the last thing it does; this only collects its exit.
    let _ = timeout(DRAIN, guardian.wait()).await;
    output(why, report, stdout.into_text(), stderr.into_text())
}

/// Starts the guardian with the other end of our link as its standard input. It is in a process group of its own, so
/// that an interrupt at the terminal reaches us and not it.
fn start(guard: &GuardCommand, root: &Path, command: &str) -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let child = Command::new(&guard.program)
        .args(&guard.args)
        .arg(command)
        .current_dir(root)
        .env_clear()
        .envs(ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
        .stdin(OwnedFd::from(theirs))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    Ok((child, UnixStream::from_std(ours)?))
}

async fn fill(capture: &mut Capture, source: Option<impl tokio::io::AsyncRead + Unpin>) {
    if let Some(source) = source {
        capture.fill(source).await;
    }
}

/// Why a command is over.
enum Why {
    Ended,
    TimedOut,
    Cancelled,
}

/// Waits for the report. When time is up, or on cancellation, only our direction of the link is closed: the guardian
/// then kills everything and still reports.
async fn attend(link: UnixStream, limit: Duration, cancel: &CancellationToken) -> (Why, Option<Report>) {
    let (reader, writer) = link.into_split();
    let mut report = pin!(read_report(reader));
    let why = tokio::select! {
        report = &mut report => return (Why::Ended, report),
        () = sleep(limit) => Why::TimedOut,
        () = cancel.cancelled() => Why::Cancelled,
    };
    drop(writer);
    (why, timeout(PATIENCE * 2, report).await.ok().flatten())
}

async fn read_report(link: OwnedReadHalf) -> Option<Report> {
    let mut line = Vec::new();
    link.take(64 * 1024).read_to_end(&mut line).await.ok()?;
    serde_json::from_slice(&line).ok()
}

fn output(why: Why, report: Option<Report>, stdout: String, stderr: String) -> Result<Value, ToolFailure> {
    let Some(Report { ended, survivors }) = report else {
        return Err(ToolFailure::new(
            "The guardian of the command is gone without a report. How the command ended is unknown, and processes \
             of it may still run. Check before you run it again.",
        ));
    };
    if let Ended::NotStarted(why) = ended {
        return Err(ToolFailure::new(format!("The command was not run: {why}.")));
    }
    let timed_out = match why {
        Why::Cancelled => {
            return Err(ToolFailure::new(
                "The command was cancelled and everything that it had started was stopped.",
            ));
        }
        Why::TimedOut => true,
        Why::Ended => false,
    };
    // After a timeout the signal is ours, and says nothing about the command.
    let (exit_code, signal) = match ended {
        Ended::Exited(code) if !timed_out => (Some(code), None),
        Ended::Signaled(signal) if !timed_out => (None, Some(signal)),
        _ => (None, None),
    };
    let mut output = json!({
        "exit_code": exit_code,
        "signal": signal,
        "timed_out": timed_out,
        "stdout": stdout,
        "stderr": stderr,
    });
    if !survivors.is_empty() {
        output["survivors"] = survivors.into();
    }
    Ok(output)
}
