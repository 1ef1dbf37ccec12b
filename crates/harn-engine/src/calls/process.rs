//! Programs that a script runs: under a guardian, so that they end with us. Those of an own script are like any program
//! of its owner; those of another one run in the sandbox of commands.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use harn_core::decision::Access;
use harn_core::run::Trust;
use harn_core::tool::{Annotations, Class, SideEffect, ToolKind, ToolSpec};
use serde_json::{Map, Value, json};

use super::args::{self, Args};
use super::environment::variable;
use super::files::reach::{LARGEST, Target};
use crate::guard::{Ended, Network};
use crate::tools::launch::{Captures, End, Running, Why};
use crate::tools::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput, stash};

/// Linux takes at most 128 KiB in one argument.
const LONGEST_COMMAND: usize = 100 * 1024;

pub fn calls() -> Vec<Arc<dyn Tool>> {
    vec![Arc::new(Run::Program), Arc::new(Run::Shell)]
}

/// The command line that means a program with these arguments, and nothing else, to a shell. Policy judges by it, and
/// it is what is run.
pub fn command_line(program: &str, args: &[String]) -> String {
    let words = [program].into_iter().chain(args.iter().map(String::as_str));
    words.map(quoted).collect::<Vec<_>>().join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:,@%+".contains(letter);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    /// `exec`: one program with its arguments.
    Program,
    /// `shell`: a command line.
    Shell,
}

impl Run {
    fn name(self) -> &'static str {
        match self {
            Self::Program => "exec",
            Self::Shell => "shell",
        }
    }

    /// The argument that is a command line.
    fn line(self) -> &'static str {
        match self {
            Self::Program => "command",
            Self::Shell => "cmd",
        }
    }
}

#[async_trait]
impl Tool for Run {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.name().to_owned(),
            description: match self {
                Self::Program => "Runs a program with arguments and waits for it.",
                Self::Shell => "Runs a command line and waits for it.",
            }
            .to_owned(),
            input_schema: json!({ "type": "object" }),
            output_schema: Value::Null,
            class: Class::Once,
            side_effect: SideEffect::ProcessExec,
            annotations: Annotations {
                kind: ToolKind::Execute,
                paths: vec![("dir".to_owned(), Access::Read)],
                command: Some(self.line().to_owned()),
                capabilities: vec!["process.exec".to_owned()],
                ..Annotations::default()
            },
        }
    }

    async fn prepare(&self, ctx: &ToolContext, args: &Args) -> Result<Prepared, ToolFailure> {
        Order::read(*self, ctx, args)?;
        match ctx.is_kept && ctx.trust == Trust::Judged && ctx.root.is_some() {
            true => stash::take(ctx).await.map(Prepared::Stashed),
            false => Ok(Prepared::Ready),
        }
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        prepared: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let order = Order::read(*self, ctx, args)?;
        let running = order.start(ctx)?.keeping(Captures::whole(LARGEST / 4));
        let captures = Arc::clone(&running.captures);
        let status = status(self.name(), &running.end(None, &ctx.cancel).await)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (text(&captures.stdout.lock().all()), text(&captures.stderr.lock().all()));
        let mut output = ToolOutput::from(json!({
            "combined": format!("{stdout}{stderr}"),
            "stderr": stderr,
            "stdout": stdout,
            "status": status,
            "success": status == 0,
        }));
        if let Prepared::Stashed(before) = &prepared {
            output.changes = stash::changes(ctx, before).await;
        }
        Ok(output)
    }
}

/// The exit code; that of a program that a signal ended is 128 and the signal, as shells have it.
fn status(call: &str, end: &End) -> Result<i32, ToolFailure> {
    let failed = |why: &str| Err(ToolFailure::new(format!("{call}: {why}")));
    let Some(report) = &end.report else {
        return failed("how the command ended is unknown, and processes of it may still run");
    };
    match (end.why, &report.ended) {
        (Why::Cancelled, _) => {
            Err(ToolFailure::categorised("cancelled", format!("{call}: it was cancelled")))
        }
        (Why::TooMuchOutput, _) => {
            failed(&format!("it was stopped because it wrote more than {} bytes", LARGEST / 4))
        }
        (_, Ended::NotStarted(why)) => failed(why),
        _ if report.stopped.is_some() => {
            let word = json!(report.stopped);
            failed(&format!("it was stopped at the limit of {}", word.as_str().unwrap_or_default()))
        }
        (_, Ended::Exited(code)) => Ok(*code),
        (_, Ended::Signaled(signal)) => Ok(signal.saturating_add(128)),
        (_, Ended::Unknown) => Ok(-1),
    }
}

/// What is to be run, and where.
struct Order {
    folder: PathBuf,
    line: String,
}

impl Order {
    fn read(run: Run, ctx: &ToolContext, args: &Args) -> Result<Self, ToolFailure> {
        let call = run.name();
        let fail = |why: String| ToolFailure::new(format!("{call}: {why}"));
        let folder = args::optional_path(call, args, "dir")?.unwrap_or(".");
        let folder = folder_of(ctx, folder).map_err(|error| fail(format!("{folder}: {error}")))?;
        let mut line = args::text(args, run.line());
        if run == Run::Program {
            let program = args.get("cmd").and_then(Value::as_str).unwrap_or_default();
            if program.trim().is_empty() {
                return Err(fail("command is required".to_owned()));
            }
            let rest: Vec<String> = words(args);
            // A person may have changed the line; otherwise it is one program, which takes the place of the shell.
            if line == command_line(program, &rest) {
                must_exist(ctx, &folder, program).map_err(fail)?;
                line = format!("exec {}", command_line(program, &rest));
            }
        }
        match &line {
            line if line.trim().is_empty() => Err(fail("command is required".to_owned())),
            line if line.contains('\0') => Err(fail("the command contains a NUL character".to_owned())),
            line if line.len() > LONGEST_COMMAND => {
                Err(fail("the command is longer than 100 KiB; write it to a file and run that".to_owned()))
            }
            _ => Ok(Self::within(ctx, folder, line)),
        }
    }

    /// A sandbox is made around the folder that a command starts in, and that is the workspace: a folder within may
    /// have been made a link to elsewhere.
    fn within(ctx: &ToolContext, folder: PathBuf, line: String) -> Self {
        match &ctx.root {
            Some(root) if ctx.trust == Trust::Judged && *root != folder => {
                let inner = folder.strip_prefix(root).unwrap_or(&folder).to_string_lossy();
                let line = format!("cd -- {} || exit 1\n{line}", quoted(&inner));
                Self { folder: root.clone(), line }
            }
            _ => Self { folder, line },
        }
    }

    fn start(&self, ctx: &ToolContext) -> Result<Running, ToolFailure> {
        let (guard, folder, line) = (&ctx.guard, &self.folder, &self.line);
        let network = match harn_policy::reaches_network(line) {
            true => Network::Open,
            false => Network::Closed,
        };
        let started = match ctx.trust {
            Trust::Own => Running::start_bare(guard, folder, &ctx.place.variables, line),
            Trust::Judged => Running::start(guard, folder, network, line),
        };
        started.map_err(|error| {
            let program = guard.program.display();
            ToolFailure::new(format!("The guardian `{program}` could not be started: {error}."))
        })
    }
}

fn words(args: &Args) -> Vec<String> {
    let given = args.get("args").and_then(Value::as_array);
    given.into_iter().flatten().map(|word| crate::script::decode(word).display()).collect()
}

/// Where to start. A script that is not its owner's own starts nothing outside of the workspace.
fn folder_of(ctx: &ToolContext, asked: &str) -> std::io::Result<PathBuf> {
    let target = Target::of(ctx, asked)?;
    target.folder()?;
    match (target, ctx.trust, &ctx.root) {
        (Target::Anywhere(path), Trust::Own, _) => Ok(path),
        (Target::Inside { path, .. }, _, Some(root)) if path == "." => Ok(root.clone()),
        (Target::Inside { path, .. }, _, Some(root)) => Ok(root.join(path)),
        _ => Err(std::io::Error::other("it is outside of the workspace")),
    }
}

/// A shell would only say it with an exit code.
fn must_exist(ctx: &ToolContext, folder: &Path, program: &str) -> Result<(), String> {
    let is_program = |path: &Path| {
        fs::metadata(path).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let is_found = match program.contains('/') {
        true => is_program(&folder.join(program)),
        false => {
            let places = variable(ctx, "PATH").unwrap_or_default();
            std::env::split_paths(&places).any(|place| is_program(&folder.join(place).join(program)))
        }
    };
    if is_found { Ok(()) } else { Err(format!("{program}: there is no such program")) }
}
