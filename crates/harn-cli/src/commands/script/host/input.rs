//! Standard input for a script, read beside it so that a timer or Ctrl-C need not wait for a line.

use std::collections::VecDeque;
use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::sync::mpsc::{Sender, channel};

use harn_lang::fault::Fault;
use harn_lang::value::Value;
use harn_lang::vm::Call;

use super::{Answer, Event, text};

/// As much as a script may have in memory.
const LARGEST: u64 = 1 << 30;

/// What a script reads when it reads standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Input {
    /// That of the process.
    Process,
    /// Nothing.
    Empty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Line,
    All,
}

/// What was read, with its line end; nothing at the end of the input.
pub type Reading = io::Result<Option<String>>;

pub struct Stdin {
    input: Input,
    tell: Sender<Event>,
    reader: Option<Sender<Wanted>>,
    /// What is being read. A call that is given up does not stop it, and what comes is for the next one.
    asked: Option<Wanted>,
    waiting: VecDeque<(u64, Wanted)>,
    /// What was read and nobody took.
    rest: String,
    /// What `mock_stdin` left to be read.
    pretended: Option<String>,
    /// What `mock_tty` said of streams.
    terminals: Vec<(String, bool)>,
}

impl Stdin {
    pub fn new(input: Input, tell: Sender<Event>) -> Self {
        Self {
            input,
            tell,
            reader: None,
            asked: None,
            waiting: VecDeque::new(),
            rest: String::new(),
            pretended: None,
            terminals: Vec::new(),
        }
    }

    /// Begins to read, if that is what the call asks for and it takes time.
    pub fn begin(&mut self, call: &Call) -> bool {
        let wanted = match call.builtin {
            "read_line" | "prompt_user" => Wanted::Line,
            "read_stdin" => Wanted::All,
            _ => return false,
        };
        if self.pretended.is_some() || self.input == Input::Empty {
            return false;
        }
        if call.builtin == "prompt_user" {
            let mut out = io::stdout();
            let _ = write!(out, "{}", text(call, 0)).and_then(|()| out.flush());
        }
        self.waiting.push_back((call.id, wanted));
        self.read_on();
        true
    }

    /// Has read for whoever waits longest, unless that is under way.
    fn read_on(&mut self) {
        while self.asked.is_none()
            && let Some((call, wanted)) = self.waiting.front().copied()
        {
            if wanted == Wanted::Line && !self.rest.is_empty() {
                let line = first_line(&mut self.rest);
                self.waiting.pop_front();
                let _ = self.tell.send(Event::Answer(call, Ok(Value::str(line))));
                continue;
            }
            let tell = &self.tell;
            let reader = self.reader.get_or_insert_with(|| start(tell.clone()));
            if reader.send(wanted).is_err() {
                return;
            }
            self.asked = Some(wanted);
        }
    }

    /// Something was read: gives the call that it answers, if there still is one.
    pub fn received(&mut self, read: Reading) -> Option<(u64, Answer)> {
        let asked = self.asked.take();
        let answer = match (self.waiting.pop_front(), read) {
            (None, read) => {
                self.rest.push_str(&read.ok().flatten().unwrap_or_default());
                None
            }
            (Some((call, _)), Err(error)) => {
                Some((call, Err(Fault::thrown(format!("Failed to read standard input: {error}")))))
            }
            (Some((call, Wanted::All)), Ok(read)) => {
                self.rest.push_str(&read.unwrap_or_default());
                if asked == Some(Wanted::All) {
                    Some((call, Ok(Value::str(std::mem::take(&mut self.rest)))))
                } else {
                    self.waiting.push_front((call, Wanted::All));
                    None
                }
            }
            (Some((call, Wanted::Line)), Ok(read)) => {
                self.rest.push_str(&read.unwrap_or_default());
                let line = (!self.rest.is_empty()).then(|| first_line(&mut self.rest));
                Some((call, Ok(line.map(Value::str).unwrap_or_default())))
            }
        };
        self.read_on();
        answer
    }

    pub fn forget(&mut self, call: u64) {
        self.waiting.retain(|(waiting, _)| *waiting != call);
    }

    pub fn answer(&mut self, call: &Call) -> Option<Answer> {
        let value = match call.builtin {
            "read_line" | "prompt_user" => self.pretended_line().map(Value::str).unwrap_or_default(),
            "read_stdin" => self.pretended.as_mut().map(std::mem::take).map(Value::str).unwrap_or_default(),
            "is_stdin_tty" => {
                self.is_terminal("stdin", self.input == Input::Process && io::stdin().is_terminal())
            }
            "is_stdout_tty" => self.is_terminal("stdout", io::stdout().is_terminal()),
            "is_stderr_tty" => self.is_terminal("stderr", io::stderr().is_terminal()),
            "mock_stdin" => {
                self.pretended = Some(text(call, 0));
                Value::Nil
            }
            "unmock_stdin" => {
                self.pretended = None;
                Value::Nil
            }
            "mock_tty" => {
                let stream = text(call, 0);
                self.terminals.retain(|(known, _)| *known != stream);
                self.terminals.push((stream, call.args.get(1).is_some_and(Value::is_truthy)));
                Value::Nil
            }
            "unmock_tty" => {
                self.terminals.clear();
                Value::Nil
            }
            _ => return None,
        };
        Some(Ok(value))
    }

    pub fn is_reading(&self) -> bool {
        !self.waiting.is_empty()
    }

    fn is_terminal(&self, stream: &str, really: bool) -> Value {
        let pretended = self.terminals.iter().find(|(known, _)| known == stream);
        Value::Bool(pretended.map_or(really, |(_, is_terminal)| *is_terminal))
    }

    fn pretended_line(&mut self) -> Option<String> {
        self.pretended.as_mut().filter(|left| !left.is_empty()).map(first_line)
    }
}

/// Reads what is asked for, one thing after the other.
fn start(tell: Sender<Event>) -> Sender<Wanted> {
    let (ask, asked) = channel();
    std::thread::spawn(move || {
        while let Ok(wanted) = asked.recv() {
            if tell.send(Event::Input(read(wanted))).is_err() {
                return;
            }
        }
    });
    ask
}

fn read(wanted: Wanted) -> Reading {
    let mut text = String::new();
    let mut input = io::stdin().lock().take(LARGEST);
    let count = match wanted {
        Wanted::Line => input.read_line(&mut text)?,
        Wanted::All => input.read_to_string(&mut text)?,
    };
    Ok((count > 0).then_some(text))
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
