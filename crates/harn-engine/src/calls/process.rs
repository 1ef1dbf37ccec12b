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
use serde_json::{Value, json};

use super::args::{self, Args, word};
use super::files::reach::{LARGEST, Target};
use super::simple::reads;
use crate::guard::{Ended, Network};
use crate::script;
use crate::secrets::{Filling, Sink, refuse};
use crate::tools::launch::{Captures, End, Running, Variables, Why};
use crate::tools::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput, stash};

/// Linux takes at most 128 KiB in one argument.
const LONGEST_COMMAND: usize = 100 * 1024;

/// Why no secret may stand there.
const IN_WORDS: &str = "the words of a command, which every program can see (`env` may hold it)";

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let commands = reads("shell_commands", "The simple commands of a line.", |_, args| Ok(commands(args)));
    vec![Arc::new(Run::Program), Arc::new(Run::Shell), commands]
}

/// What a line runs, or a list of words, as policy sees it.
fn commands(args: &Args) -> Value {
    let line = match args.get("command") {
        Some(Value::Array(words)) => joined(words),
        _ => args::text(args, "command"),
    };
    let told = harn_policy::commands(&line);
    let found = told.found.into_iter().map(
        |found| json!({ "words": found.words, "wrappers": found.wrappers, "only_denied": found.only_denied }),
    );
    json!({ "commands": found.collect::<Vec<_>>(), "unclear": told.unclear })
}

fn joined(words: &[Value]) -> String {
    words.iter().map(|word| quoted(&script::decode(word).display())).collect::<Vec<_>>().join(" ")
}

/// The command line that means a program with these variables and arguments, and nothing else, to a shell. Policy judges
/// by it.
pub fn command_line(args: &Args) -> String {
    let given = variables(args).into_iter().map(|(name, value)| format!("{name}={}", quoted(&value)));
    given.chain([words(args)]).collect::<Vec<_>>().join(" ")
}

/// A program and its arguments.
fn words(args: &Args) -> String {
    let rest = args.get("args").and_then(Value::as_array).filter(|rest| !rest.is_empty());
    let rest = rest.map(|rest| joined(rest));
    [quoted(&args::text(args, "cmd"))].into_iter().chain(rest).collect::<Vec<_>>().join(" ")
}

/// What a command gets into its environment besides what all of them have.
fn variables(args: &Args) -> Vec<(String, String)> {
    let given = args.get("env").and_then(Value::as_object).into_iter().flatten();
    given.map(|(name, value)| (name.clone(), script::decode(value).display())).collect()
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

    /// The function that a script has called: those that are told where to run have names of their own.
    fn function(self, args: &Args) -> &'static str {
        match (self, args.get("dir").is_some_and(|dir| !dir.is_null())) {
            (Self::Program, true) => "exec_at",
            (Self::Shell, true) => "shell_at",
            _ => self.name(),
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
        Order::read(*self, ctx, args)?.filled(ctx, self.function(args))?;
        match ctx.is_kept && ctx.trust == Trust::Judged && ctx.root.is_some() {
            true => stash::take(ctx).await.map(Prepared::Stashed),
            false => Ok(Prepared::Ready),
        }
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Args,
        prepared: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let order = Order::read(*self, ctx, args)?;
        let (variables, filling) = order.filled(ctx, self.function(args))?;
        let running = order.start(ctx, &variables)?.keeping(Captures::whole(LARGEST / 4));
        let captures = Arc::clone(&running.captures);
        let status = status(self.function(args), &running.end(None, &ctx.cancel).await)?;
        let text = |bytes: &[u8]| filling.scrubbed_text(String::from_utf8_lossy(bytes).into_owned());
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

/// What is to be run, where, and with what in its environment.
struct Order {
    folder: PathBuf,
    line: String,
    /// The program, as it is called.
    program: String,
    variables: Vec<(String, String)>,
}

impl Order {
    fn read(run: Run, ctx: &ToolContext, args: &Args) -> Result<Self, ToolFailure> {
        let call = run.function(args);
        let fail = |why: String| ToolFailure::new(format!("{call}: {why}"));
        let folder = args::optional_path(call, args, "dir")?.unwrap_or(".");
        let folder = folder_of(ctx, folder).map_err(|error| fail(format!("{folder}: {error}")))?;
        let (mut line, mut program) = (args::text(args, run.line()), "sh".to_owned());
        let variables = variables(args);
        if run == Run::Program {
            if word(args, "cmd").trim().is_empty() {
                return Err(fail("command is required".to_owned()));
            }
            variables.iter().try_for_each(check_variable).map_err(fail)?;
            // A person may have changed the line; otherwise it is one program, which takes the place of the shell.
            if line == command_line(args) {
                program = word(args, "cmd").to_owned();
                let own = variables.iter().find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
                let places = own.or_else(|| ctx.place.variable("PATH", ctx.trust));
                must_exist(&places.unwrap_or_default(), &folder, &program).map_err(fail)?;
                line = format!("exec {}", words(args));
            }
        }
        refuse(&line.as_str().into(), IN_WORDS)?;
        match &line {
            line if line.trim().is_empty() => Err(fail("command is required".to_owned())),
            line if line.contains('\0') => Err(fail("the command contains a NUL character".to_owned())),
            line if line.len() > LONGEST_COMMAND => {
                Err(fail("the command is longer than 100 KiB; write it to a file and run that".to_owned()))
            }
            _ => Ok(Self { folder, line, program, variables }.within(ctx)),
        }
    }

    /// A sandbox is made around the folder that a command starts in, and that is the workspace: a folder within may
    /// have been made a link to elsewhere.
    fn within(self, ctx: &ToolContext) -> Self {
        match &ctx.root {
            Some(root) if ctx.trust == Trust::Judged && *root != self.folder => {
                let inner = self.folder.strip_prefix(root).unwrap_or(&self.folder).to_string_lossy();
                let line = format!("cd -- {} || exit 1\n{}", quoted(&inner), self.line);
                Self { folder: root.clone(), line, ..self }
            }
            _ => self,
        }
    }

    /// The variables with their secrets, which the program must be meant for.
    fn filled(&self, ctx: &ToolContext, call: &str) -> Result<(Vec<(String, String)>, Filling), ToolFailure> {
        let mut filling = Filling::to(&ctx.secrets, Sink::Program(self.program.clone()));
        let mut filled = Vec::new();
        for (name, value) in &self.variables {
            filled.push((name.clone(), filling.fill(value)?));
        }
        if filling.is_secret() && ctx.trust == Trust::Judged {
            self.must_be_itself(ctx, &filled)
                .map_err(|why| ToolFailure::categorised("permission_denied", format!("{call}: {why}")))?;
        }
        Ok((filled, filling))
    }

    /// A script of somebody else could make a program another one.
    fn must_be_itself(&self, ctx: &ToolContext, filled: &Variables) -> Result<(), String> {
        let is_inside = |root: &PathBuf| {
            let is_absolute = self.program.starts_with('/');
            !is_absolute || fs::canonicalize(&self.program).map_or(true, |path| path.starts_with(root))
        };
        if self.program.contains('/') && ctx.root.as_ref().is_none_or(is_inside) {
            return Err(format!("`{}` is in the workspace, where no program gets a secret", self.program));
        }
        // `PATH`, `LD_PRELOAD` and many more.
        match filled.iter().zip(&self.variables).find(|(filled, given)| filled == given) {
            Some(((name, _), _)) => Err(format!("`{name}` may not be set for a program that gets a secret")),
            None => Ok(()),
        }
    }

    fn start(&self, ctx: &ToolContext, variables: &Variables) -> Result<Running, ToolFailure> {
        let (guard, folder, line) = (&ctx.guard, &self.folder, &self.line);
        let network = match harn_policy::reaches_network(line) {
            true => Network::Open,
            false => Network::Closed,
        };
        let started = match ctx.trust {
            Trust::Own => Running::start_bare(guard, folder, &ctx.place.variables, variables, line),
            Trust::Judged => Running::start(guard, folder, network, variables, line),
        };
        started.map_err(|error| {
            let program = guard.program.display();
            ToolFailure::new(format!("The guardian `{program}` could not be started: {error}."))
        })
    }
}

fn check_variable((name, value): &(String, String)) -> Result<(), String> {
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let is_name =
        !name.is_empty() && name.chars().all(is_letter) && !name.starts_with(|c: char| c.is_ascii_digit());
    match is_name && !value.contains('\0') {
        true => Ok(()),
        false => Err(format!("`{name}` is no variable that could be set")),
    }
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
fn must_exist(places: &str, folder: &Path, program: &str) -> Result<(), String> {
    let candidates: Vec<PathBuf> = match program.contains('/') {
        true => vec![folder.join(program)],
        false => std::env::split_paths(places).map(|place| folder.join(place).join(program)).collect(),
    };
    let files = candidates.iter().filter_map(|path| fs::metadata(path).ok());
    let mut files = files.filter(fs::Metadata::is_file).peekable();
    let is_there = files.peek().is_some();
    if files.any(|file| file.permissions().mode() & 0o111 != 0) {
        return Ok(());
    }
    let why =
        if is_there { "permission denied: the file is not executable" } else { "there is no such program" };
    Err(format!("{program}: {why}"))
}
