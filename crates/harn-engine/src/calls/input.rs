//! Standard input for scripts, read beside them so that nothing has to wait for a line.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use harn_core::tool::{Annotations, Class, SideEffect, ToolSpec};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::args::{self, Args};
use super::files::reach::LARGEST;
use super::place::Input;
use super::simple::reads;
use crate::tools::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput};

pub fn calls() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(Ask::Line),
        Arc::new(Ask::All),
        Arc::new(Ask::Prompt),
        reads("is_stdin_tty", "Whether the input is a terminal.", |ctx, _| {
            Ok((is_of_process(ctx) && io::stdin().is_terminal()).into())
        }),
        reads("is_stdout_tty", "Whether the output is a terminal.", |ctx, _| {
            Ok((is_of_process(ctx) && io::stdout().is_terminal()).into())
        }),
        reads("is_stderr_tty", "Whether the error stream is a terminal.", |ctx, _| {
            Ok((is_of_process(ctx) && io::stderr().is_terminal()).into())
        }),
    ]
}

fn is_of_process(ctx: &ToolContext) -> bool {
    ctx.place.input == Input::Process
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ask {
    Line,
    All,
    Prompt,
}

#[async_trait]
impl Tool for Ask {
    /// What was read is gone, so it is not read again.
    fn spec(&self) -> ToolSpec {
        let (name, description) = match self {
            Self::Line => ("read_line", "A line of input, or nil at its end."),
            Self::All => ("read_stdin", "All of the input."),
            Self::Prompt => ("prompt_user", "Shows a message and reads a line of input."),
        };
        ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: json!({ "type": "object" }),
            output_schema: Value::Null,
            class: Class::Once,
            side_effect: SideEffect::None,
            annotations: Annotations::default(),
        }
    }

    async fn prepare(&self, _: &ToolContext, _: &Args) -> Result<Prepared, ToolFailure> {
        Ok(Prepared::Ready)
    }

    async fn perform(&self, ctx: &ToolContext, args: &Args, _: Prepared) -> Result<ToolOutput, ToolFailure> {
        if !is_of_process(ctx) {
            return Ok(Value::Null.into());
        }
        if *self == Self::Prompt {
            let mut out = io::stdout();
            // Who cannot see the question may still answer it.
            let _ = write!(out, "{}", args::text(args, "msg")).and_then(|()| out.flush());
        }
        let wanted = if *self == Self::All { Wanted::All } else { Wanted::Line };
        let read = STDIN.get_or_init(Stdin::start).next(wanted).await;
        let read =
            read.map_err(|error| ToolFailure::new(format!("Failed to read standard input: {error}")))?;
        Ok(Value::from(read).into())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Line,
    All,
}

/// A process has one standard input, so it has one reader.
static STDIN: OnceLock<Stdin> = OnceLock::new();

struct Stdin {
    ask: Mutex<Sender<Wanted>>,
    shared: Arc<Shared>,
}

/// What was read and nobody has taken yet. A call that is given up takes nothing, so it is there for the next one.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    text: String,
    is_reading: bool,
    is_over: bool,
    problem: Option<String>,
}

impl Stdin {
    fn start() -> Self {
        let (ask, asked) = channel();
        let shared: Arc<Shared> = Arc::default();
        let own = Arc::clone(&shared);
        // A thread of its own, which the end of the process does not wait for.
        std::thread::spawn(move || own.serve(&asked, &mut io::stdin().lock()));
        Self { ask: Mutex::new(ask), shared }
    }

    /// A line or all that is left, as soon as it is there; none at the end.
    async fn next(&self, wanted: Wanted) -> Result<Option<String>, String> {
        loop {
            let changed = self.shared.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if let Some(read) = self.shared.take(wanted) {
                return read;
            }
            self.read_on(wanted)?;
            changed.await;
        }
    }
}

impl Stdin {
    /// Has somebody read, unless that is under way.
    fn read_on(&self, wanted: Wanted) -> Result<(), String> {
        let mut state = self.shared.state.lock();
        if !std::mem::replace(&mut state.is_reading, true) {
            self.ask.lock().send(wanted).map_err(|_| "nobody reads it any more")?;
        }
        Ok(())
    }
}

impl Shared {
    /// What is wanted, if it is there.
    fn take(&self, wanted: Wanted) -> Option<Result<Option<String>, String>> {
        let mut state = self.state.lock();
        if let Some(problem) = state.problem.take() {
            return Some(Err(problem));
        }
        match wanted {
            Wanted::Line if !state.text.is_empty() => Some(Ok(Some(first_line(&mut state.text)))),
            Wanted::Line => state.is_over.then_some(Ok(None)),
            Wanted::All if state.is_over => {
                let all = std::mem::take(&mut state.text);
                Some(Ok(Some(all).filter(|text| !text.is_empty())))
            }
            Wanted::All => None,
        }
    }

    /// Reads what is asked for, one thing after the other.
    fn serve(&self, asked: &Receiver<Wanted>, input: &mut dyn BufRead) {
        while let Ok(wanted) = asked.recv() {
            let mut text = String::new();
            let read = match wanted {
                Wanted::Line => input.take(LARGEST).read_line(&mut text),
                Wanted::All => input.take(LARGEST).read_to_string(&mut text),
            };
            let mut state = self.state.lock();
            state.text.push_str(&text);
            state.is_reading = false;
            match read {
                Ok(count) => state.is_over = count == 0 || wanted == Wanted::All,
                Err(error) => state.problem = Some(error.to_string()),
            }
            drop(state);
            self.changed.notify_waiters();
        }
    }
}

/// Takes a line away, without its end.
fn first_line(text: &mut String) -> String {
    let end = text.find('\n').map_or(text.len(), |end| end + 1);
    let mut line: String = text.drain(..end).collect();
    if line.ends_with('\n') {
        line.pop();
    }
    if line.ends_with('\r') {
        line.pop();
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_waits_for_whoever_takes_it() {
        let shared = Shared::default();
        let (ask, asked) = channel();
        for wanted in [Wanted::Line, Wanted::Line, Wanted::All] {
            ask.send(wanted).unwrap();
        }
        drop(ask);
        shared.serve(&asked, &mut "one\r\ntwo\nthree\nfour".as_bytes());
        assert_eq!(shared.take(Wanted::Line), Some(Ok(Some("one".into()))));
        assert_eq!(shared.take(Wanted::Line), Some(Ok(Some("two".into()))));
        assert_eq!(shared.take(Wanted::All), Some(Ok(Some("three\nfour".into()))));
        assert_eq!(shared.take(Wanted::All), Some(Ok(None)));
        assert_eq!(shared.take(Wanted::Line), Some(Ok(None)));
    }
}
