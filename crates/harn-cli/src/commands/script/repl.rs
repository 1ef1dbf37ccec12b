//! `harn repl`: the language line by line. Every entry runs once, on what the earlier ones left.

use std::fs;
use std::io::{self, BufRead, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use harn_engine::calls::Place;
use harn_lang::bytecode::Source;
use harn_lang::compile::{Session, Settings};
use harn_lang::syntax::parse;
use harn_lang::value::Value;
use harn_lang::vm::{Limits, Vm};
use parking_lot::Mutex;
use rustyline::error::ReadlineError;
use rustyline::history::FileHistory;
use rustyline::{Config, Editor};

use super::diagnostic::Diagnostic;
use super::files::{Beside, read};
use super::host::{self, Answers};
use super::machine::{self, End, Printer, say_failure, say_stopped};
use crate::commands::say;
use crate::output::{Tone, paint, plain, warn_line};

const HELP: &str = "\
An entry is an expression, whose value is printed, or one or more statements. It goes on in the next
line as long as a bracket is open. What entries define stays; what they did is not done again.

  :type EXPR   the type of a value; the expression is evaluated
  :load FILE   run a script as if it were typed here
  :help        this text
  :quit        end, as Ctrl-D does

Ctrl-C drops what is being typed, or stops what is running.";

/// Entries that are remembered from one time to the next.
const REMEMBERED: usize = 1000;

/// Bytes of a line; what is longer is taken for several.
const LONGEST: u64 = 16 << 20;

/// What follows from a line.
enum Next {
    Line,
    End(ExitCode),
}

pub fn repl() -> Result<ExitCode> {
    let mut lines = Lines::new()?;
    let mut machine = Machine::new()?;
    if lines.is_terminal() {
        say(paint(Tone::Dim, &format!("harn {}; :help says more, Ctrl-D ends", env!("CARGO_PKG_VERSION"))));
    }
    let mut typed = String::new();
    loop {
        match lines.next(!typed.is_empty())? {
            Line::Text(line) => typed.push_str(&format!("{line}\n")),
            Line::Dropped => {
                typed.clear();
                continue;
            }
            Line::End => {
                // What is there may still be wrong, which should be said.
                let next = machine.entry(&typed);
                return Ok(if let Next::End(code) = next { code } else { ExitCode::SUCCESS });
            }
        }
        if is_open(&typed) {
            continue;
        }
        let entry = std::mem::take(&mut typed);
        lines.remember(entry.trim());
        if let Next::End(code) = machine.entry(&entry) {
            return Ok(code);
        }
    }
}

/// Whether an entry needs another line to be complete.
fn is_open(text: &str) -> bool {
    if text.trim_start().starts_with(':') {
        return false;
    }
    let is_unfinished = |message: &str| {
        message.starts_with("Unexpected end of file")
            || message.starts_with("Unterminated block comment")
            || (message.starts_with("Unterminated") && text.matches("\"\"\"").count() % 2 == 1)
    };
    parse(text).errors.first().is_some_and(|error| is_unfinished(&error.message))
}

/// The program so far, and the machine that holds its values.
struct Machine {
    session: Session,
    machine: machine::Machine,
    vm: Option<Arc<Mutex<Vm>>>,
    place: Arc<Place>,
    count: usize,
}

impl Machine {
    fn new() -> Result<Self> {
        let place = Arc::new(host::place_of(None));
        let configuration = host::Configuration::of(&place.project, None)?;
        let options = configuration.options(&Answers::default())?;
        let machine = machine::Machine::new(options, configuration.policy(None)?)?.keep_tasks();
        // Without a terminal nobody is there to be asked again: Ctrl-C ends the process.
        if io::stdin().is_terminal() {
            machine.watch_interrupts()?;
        }
        let settings = Settings { host_names: host::names(), ..Settings::default() };
        Ok(Self { session: Session::new(settings), machine, vm: None, place, count: 0 })
    }

    fn entry(&mut self, text: &str) -> Next {
        let text = text.trim();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        match word {
            "" => Next::Line,
            ":quit" | ":q" => Next::End(ExitCode::SUCCESS),
            ":help" => {
                say(HELP);
                Next::Line
            }
            ":type" => match self.run(&format!("type_of({})", rest.trim())) {
                Ok(value) => {
                    say(plain(&value.map(|value| value.display()).unwrap_or_default()));
                    Next::Line
                }
                Err(next) => next,
            },
            ":load" => match read(Path::new(rest.trim())) {
                Ok(source) => self.execute(source).map_or_else(|next| next, |_| Next::Line),
                Err(error) => {
                    crate::problem::say(&error);
                    Next::Line
                }
            },
            other if other.starts_with(':') => {
                warn_line(format_args!("error: there is no {}; :help lists what there is", plain(other)));
                Next::Line
            }
            _ => match self.run(text) {
                Ok(Some(value)) if value != Value::Nil => {
                    say(plain(&shown(&value)));
                    Next::Line
                }
                Ok(_) => Next::Line,
                Err(next) => next,
            },
        }
    }

    fn run(&mut self, text: &str) -> Result<Option<Value>, Next> {
        self.count += 1;
        self.execute(Source { name: format!("repl[{}]", self.count).into(), text: text.into() })
    }

    /// The value of an entry, if it is an expression. Errors are told and end nothing.
    fn execute(&mut self, source: Source) -> Result<Option<Value>, Next> {
        let step = match self.session.compile(source, &Beside) {
            Ok(step) => step,
            Err(problems) => {
                problems.all.iter().for_each(|problem| Diagnostic::of(problem, &problems.sources).say());
                return Err(Next::Line);
            }
        };
        let program = Arc::clone(&step.program);
        let vm = match &self.vm {
            Some(vm) => {
                vm.lock().enter(step.program);
                vm
            }
            None => {
                let values = host::values(&self.place, &[]);
                let mut vm = Vm::new(step.program, values, Limits::default(), rand::random());
                vm.keep_tasks();
                self.vm.insert(Arc::new(Mutex::new(vm)))
            }
        };
        match self.machine.run(vm, &self.place, Arc::new(Printer), None) {
            End::Value(value) => return Ok(step.has_value.then_some(value)),
            End::Exit(code) => return Err(Next::End(ExitCode::from(code))),
            End::Unread => return Err(Next::End(ExitCode::SUCCESS)),
            End::Failed(failure) => say_failure(&failure, &program),
            End::Stopped(failure) => say_stopped(&failure),
            End::Interrupted => warn_line("interrupted"),
            End::TimedOut => warn_line("error: it took too long"),
        }
        Err(Next::Line)
    }
}

/// A string in quotes, so that it is not taken for something else.
fn shown(value: &Value) -> String {
    match value.as_str() {
        Some(text) => serde_json::Value::from(text).to_string(),
        None => value.display(),
    }
}

enum Line {
    Text(String),
    /// Ctrl-C.
    Dropped,
    End,
}

/// Where lines come from: an editor on a terminal, else standard input as it is.
enum Lines {
    Terminal { editor: Box<Editor<(), FileHistory>>, history: Option<PathBuf> },
    Plain,
}

impl Lines {
    fn new() -> Result<Self> {
        if !io::stdin().is_terminal() {
            return Ok(Self::Plain);
        }
        let config = Config::builder().max_history_size(REMEMBERED)?.history_ignore_space(true).build();
        let mut editor = Editor::with_config(config)?;
        let history = history_file();
        if let Some(file) = &history {
            // There is none the first time.
            let _ = editor.load_history(file);
        }
        Ok(Self::Terminal { editor: Box::new(editor), history })
    }

    fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal { .. })
    }

    fn next(&mut self, is_open: bool) -> Result<Line> {
        match self {
            Self::Plain => {
                let mut line = Vec::new();
                let count = io::stdin().lock().take(LONGEST).read_until(b'\n', &mut line)?;
                if count == 0 {
                    return Ok(Line::End);
                }
                Ok(Line::Text(String::from_utf8_lossy(&line).trim_end_matches(['\n', '\r']).to_owned()))
            }
            Self::Terminal { editor, .. } => match editor.readline(if is_open { "  ... " } else { "harn> " })
            {
                Ok(line) => Ok(Line::Text(line)),
                Err(ReadlineError::Interrupted) => Ok(Line::Dropped),
                Err(ReadlineError::Eof) => Ok(Line::End),
                Err(error) => Err(error.into()),
            },
        }
    }

    /// At once, so that nothing is lost when the process is ended.
    fn remember(&mut self, entry: &str) {
        if let Self::Terminal { editor, history: Some(file) } = self
            && editor.add_history_entry(entry).unwrap_or(false)
            && let Err(error) = editor.save_history(file)
        {
            tracing::debug!(%error, "the history cannot be written");
        }
    }
}

/// `harn/repl_history` in the folder for state, which is made if it is not there. It is readable for its owner only.
fn history_file() -> Option<PathBuf> {
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let state = state.or_else(|| Some(std::env::home_dir()?.join(".local/state")))?;
    let folder = state.join("harn");
    fs::create_dir_all(&folder).ok()?;
    Some(folder.join("repl_history"))
}
