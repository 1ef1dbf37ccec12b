//! Commands that go on while the run does other things, and the handles that name them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use harn_core::tool::{Annotations, Class, SideEffect, ToolKind, ToolSpec};
use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use super::args::Args;
use super::capture::MOST_SHOWN;
use super::command::{SHOWN, output_fields};
use super::launch::{Captures, End, Running, Why};
use super::outcome::{attach, ending};
use super::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput, object_schema};

/// How many commands may be in the background: running, or over and not looked at since.
const MOST: usize = 8;

const MAX_WAIT_MS: u64 = 60_000;

/// The background commands of one run. When it is dropped, all of them are stopped.
#[derive(Default)]
pub struct Background {
    commands: Mutex<Commands>,
}

#[derive(Default)]
struct Commands {
    /// How many handles were given. A number is never given twice.
    given: u64,
    by_number: BTreeMap<u64, Arc<InBackground>>,
}

struct InBackground {
    captures: Arc<Captures>,
    /// How much of standard output and of standard error has been shown.
    seen: Mutex<(u64, u64)>,
    stop: CancellationToken,
    /// None while it runs.
    end: watch::Receiver<Option<End>>,
    _task: AbortOnDropHandle<()>,
}

impl Background {
    /// Starts a command if there is room for it, and names it.
    pub(super) fn adopt(
        &self,
        start: impl FnOnce() -> Result<Running, ToolFailure>,
        limit: Option<Duration>,
    ) -> Result<Value, ToolFailure> {
        let mut commands = self.commands.lock();
        if commands.by_number.len() >= MOST {
            return Err(ToolFailure::new(format!(
                "There are {MOST} commands in the background already, so this one was not started. Stop one of them \
                 with stop_command, or read the end of one that is over with command_output."
            )));
        }
        let running = start()?;
        let captures = running.captures.clone();
        let stop = CancellationToken::new();
        let (ended, end) = watch::channel(None);
        let asked_to_stop = stop.clone();
        let task = tokio::spawn(async move {
            let end = running.end(limit, &asked_to_stop).await;
            ended.send_replace(Some(end));
        });
        commands.given += 1;
        let number = commands.given;
        let command =
            InBackground { captures, seen: Mutex::default(), stop, end, _task: AbortOnDropHandle::new(task) };
        commands.by_number.insert(number, Arc::new(command));
        Ok(json!({ "handle": handle(number), "running": true }))
    }

    /// Whether nothing runs, and no end waits to be read. A run that holds more than that is not parked: what it has
    /// started would stop.
    pub fn is_empty(&self) -> bool {
        self.commands.lock().by_number.is_empty()
    }

    fn find(&self, name: &str) -> Result<(u64, Arc<InBackground>), ToolFailure> {
        let commands = self.commands.lock();
        let number = name.strip_prefix("cmd_").and_then(|number| number.parse::<u64>().ok());
        let known = number.filter(|number| (1..=commands.given).contains(number) && handle(*number) == name);
        let Some(number) = known else {
            return Err(ToolFailure::new(format!(
                "There is no command `{name}` in the background. If it was started earlier, it was stopped when Harn \
                 restarted; start it again if it is still needed."
            )));
        };
        commands.by_number.get(&number).map(|command| (number, command.clone())).ok_or_else(|| {
            ToolFailure::new(format!(
                "The command `{name}` is over, and its end and output have been given already."
            ))
        })
    }

    /// What is new, and the end if it is over. The end is given once.
    fn give(&self, number: u64, command: &InBackground, most: usize) -> Result<ToolOutput, ToolFailure> {
        let end = command.end.borrow().clone();
        let over = end.is_some();
        let mut fields = Map::new();
        fields.insert("handle".into(), handle(number).into());
        fields.insert("running".into(), (!over).into());
        let mut seen = command.seen.lock();
        let (seen_out, seen_err) = &mut *seen;
        let mut cut = false;
        let captures = &command.captures;
        let streams = [("stdout", &captures.stdout, seen_out), ("stderr", &captures.stderr, seen_err)];
        for (name, capture, seen) in streams {
            let shown = capture.lock().show(*seen, most, !over);
            *seen = shown.end;
            cut |= shown.cut;
            fields.insert(name.into(), shown.text.into());
        }
        let Some(end) = end else { return Ok(Value::Object(fields).into()) };
        self.commands.lock().by_number.remove(&number);
        fields.append(&mut ending(&end)?);
        if end.why == Why::Cancelled {
            fields.insert("message".into(), "It was stopped because you asked for it.".into());
        }
        // Earlier looks may have left something out too, so what is long is attached as a whole.
        let shown = if cut { 0 } else { SHOWN };
        let attachments = attach(captures, shown, &mut fields);
        Ok(ToolOutput { attachments, ..Value::Object(fields).into() })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        // Somebody who waits for one of them would keep it alive.
        for command in self.commands.get_mut().by_number.values() {
            command.stop.cancel();
        }
    }
}

impl InBackground {
    /// Until there is something new, or it is over, or the wait is.
    async fn wait(&self, wait: Duration, cancel: &CancellationToken) {
        let mut end = self.end.clone();
        let news = async {
            loop {
                let mut changed = std::pin::pin!(self.captures.changed.notified());
                // From here on nothing is missed.
                changed.as_mut().enable();
                if self.has_news() {
                    return;
                }
                changed.await;
            }
        };
        tokio::select! {
            () = news => {}
            _ = end.wait_for(Option::is_some) => {}
            () = sleep(wait) => {}
            () = cancel.cancelled() => {}
        }
    }

    fn has_news(&self) -> bool {
        let (stdout, stderr) = *self.seen.lock();
        self.captures.stdout.lock().total() > stdout || self.captures.stderr.lock().total() > stderr
    }

    /// Returns when everything of it is gone.
    async fn stop(&self) {
        self.stop.cancel();
        // An error means that the task is gone, and with it the command.
        let _ = self.end.clone().wait_for(Option::is_some).await;
    }
}

fn handle(number: u64) -> String {
    format!("cmd_{number}")
}

fn handle_schema() -> Value {
    json!({ "type": "string", "description": "The handle that run_command gave." })
}

/// Shows what a background command has written since the last look.
pub struct CommandOutput;

#[async_trait]
impl Tool for CommandOutput {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "command_output".into(),
            description:
                "Shows what a command in the background has written since the last time, whether it still \
                          runs, and how it ended. The end is given once."
                    .into(),
            input_schema: object_schema(
                json!({
                    "handle": handle_schema(),
                    "wait_ms": {
                        "type": "integer", "minimum": 0, "maximum": MAX_WAIT_MS, "default": 0,
                        "description": "How long to wait for new output or the end.",
                    },
                    "max_bytes": {
                        "type": "integer", "minimum": 256, "maximum": MOST_SHOWN, "default": SHOWN,
                        "description": "How much of each stream to show.",
                    },
                }),
                &["handle"],
            ),
            output_schema: object_schema(output_fields(), &["handle", "running", "stdout", "stderr"]),
            class: Class::Read,
            side_effect: SideEffect::ReadOnly,
            annotations: Annotations {
                kind: ToolKind::Read,
                capabilities: vec!["process.output".into()],
                ..Annotations::default()
            },
        }
    }

    async fn prepare(&self, _ctx: &ToolContext, args: &Map<String, Value>) -> Result<Prepared, ToolFailure> {
        Look::read(args).map(|_| Prepared::Ready)
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        _prepared: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let look = Look::read(args)?;
        let (number, command) = ctx.background.find(look.handle)?;
        command.wait(look.wait, &ctx.cancel).await;
        ctx.background.give(number, &command, look.most)
    }
}

/// The arguments of a look.
struct Look<'a> {
    handle: &'a str,
    wait: Duration,
    most: usize,
}

impl<'a> Look<'a> {
    fn read(args: &'a Map<String, Value>) -> Result<Self, ToolFailure> {
        let args = Args::check("command_output", args, &["handle", "wait_ms", "max_bytes"])?;
        let most = args.optional_integer("max_bytes", 256..=MOST_SHOWN as u64)?;
        Ok(Self {
            handle: args.text("handle")?,
            wait: Duration::from_millis(args.optional_integer("wait_ms", 0..=MAX_WAIT_MS)?.unwrap_or(0)),
            most: most.and_then(|most| usize::try_from(most).ok()).unwrap_or(SHOWN),
        })
    }
}

/// Stops a background command.
pub struct StopCommand;

#[async_trait]
impl Tool for StopCommand {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "stop_command".into(),
            description:
                "Stops a command in the background with everything that it has started, and gives the rest \
                          of its output."
                    .into(),
            input_schema: object_schema(json!({ "handle": handle_schema() }), &["handle"]),
            output_schema: object_schema(output_fields(), &["handle", "running", "stdout", "stderr"]),
            // After a restart the command is gone, and the same call says just that.
            class: Class::Read,
            // It reaches nothing but what this run has started and was allowed to start, so nobody needs to be asked.
            side_effect: SideEffect::None,
            annotations: Annotations {
                kind: ToolKind::Execute,
                capabilities: vec!["process.stop".into()],
                ..Annotations::default()
            },
        }
    }

    async fn prepare(&self, _ctx: &ToolContext, args: &Map<String, Value>) -> Result<Prepared, ToolFailure> {
        stop_args(args).map(|_| Prepared::Ready)
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        _prepared: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let (number, command) = ctx.background.find(stop_args(args)?)?;
        command.stop().await;
        ctx.background.give(number, &command, SHOWN)
    }
}

fn stop_args(args: &Map<String, Value>) -> Result<&str, ToolFailure> {
    Args::check("stop_command", args, &["handle"])?.text("handle")
}
