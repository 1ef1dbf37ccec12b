//! Standard input for scripts, read beside them so that nothing has to wait for a line.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};

use harn_core::tool::{Class, SideEffect};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::Notify;

use super::args::{self, Args};
use super::files::reach::LARGEST;
use super::place::Input;
use super::simple::{Answer, Simple, reads};
use crate::tools::{Tool, ToolContext, ToolFailure};

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let asks = "Shows a message and reads a line of input.";
    vec![
        takes("read_line", "A line of input, or nil at its end.", Wanted::Line),
        takes("read_stdin", "All of the input.", Wanted::All),
        Simple::waiting("prompt_user", asks, Class::Once, SideEffect::None, prompt).call(),
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

/// A call that reads the input. What was read is gone, so it is not read again.
fn takes(name: &str, description: &str, wanted: Wanted) -> Arc<dyn Tool> {
    let call = name.to_owned();
    let work = move |ctx: ToolContext, _: Args| {
        let call = call.clone();
        async move { read(&ctx, &call, wanted).await }
    };
    Simple::waiting(name, description, Class::Once, SideEffect::None, work).call()
}

async fn prompt(ctx: ToolContext, args: Args) -> Answer {
    if is_of_process(&ctx) {
        let mut out = io::stdout();
        // Who cannot see the question may still answer it.
        let _ = write!(out, "{}", args::text(&args, "msg")).and_then(|()| out.flush());
    }
    read(&ctx, "prompt_user", Wanted::Line).await
}

async fn read(ctx: &ToolContext, call: &str, wanted: Wanted) -> Answer {
    if ctx.is_kept {
        let message = "a durable run has no standard input; give it what it needs with its task, or ask with ask_user()";
        return Err(ToolFailure::new(format!("{call}: {message}")));
    }
    if !is_of_process(ctx) {
        return Ok(Value::Null);
    }
    let read = STDIN.get_or_init(Stdin::start).next(wanted).await;
    read.map(Value::from).map_err(|error| ToolFailure::new(format!("Failed to read standard input: {error}")))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Line,
    All,
}

impl Wanted {
    fn read(self, input: &mut dyn BufRead, text: &mut String) -> io::Result<usize> {
        match self {
            Self::Line => input.take(LARGEST).read_line(text),
            Self::All => input.take(LARGEST).read_to_string(text),
        }
    }
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
        std::thread::spawn(move || {
            own.serve(&asked, |wanted, text| wanted.read(&mut io::stdin().lock(), text))
        });
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

    /// Reads what is asked for, one thing after the other. In between others may read: people are asked there, too.
    fn serve(
        &self,
        asked: &Receiver<Wanted>,
        mut read: impl FnMut(Wanted, &mut String) -> io::Result<usize>,
    ) {
        while let Ok(wanted) = asked.recv() {
            let mut text = String::new();
            let read = read(wanted, &mut text);
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
        let mut input = "one\r\ntwo\nthree\nfour".as_bytes();
        shared.serve(&asked, |wanted, text| wanted.read(&mut input, text));
        assert_eq!(shared.take(Wanted::Line), Some(Ok(Some("one".into()))));
        assert_eq!(shared.take(Wanted::Line), Some(Ok(Some("two".into()))));
        assert_eq!(shared.take(Wanted::All), Some(Ok(Some("three\nfour".into()))));
        assert_eq!(shared.take(Wanted::All), Some(Ok(None)));
        assert_eq!(shared.take(Wanted::Line), Some(Ok(None)));
    }
}
