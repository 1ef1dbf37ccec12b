//! Running one test, and saying how it went.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use harn_lang::bytecode::Program;
use harn_lang::compile::{Settings, compile};
use harn_lang::problem::Problems;
use harn_lang::vm::{Channel, Limits, Output, Vm};

use super::super::diagnostic::Diagnostic;
use super::super::files::Beside;
use super::super::host::{self, Host, Input, Place};
use super::super::machine::{End, Witness, drive, located};
use super::find::Test;
use super::report::Outcome;
use crate::args::TestArgs;

/// The same for every run, so that what failed fails again.
pub const SEED: u64 = 1;

pub fn run(test: &Test, args: &TestArgs) -> Outcome {
    let started = Instant::now();
    let pipeline = test.pipeline.as_deref().map(Into::into);
    let settings = Settings { host_names: host::names(), pipeline, ..Settings::default() };
    let (failure, output) = match compile(test.source.clone(), &Beside, &settings) {
        Err(problems) => (Some(told(&problems)), String::new()),
        Ok(program) => tried(test, &Arc::new(program), args),
    };
    Outcome {
        label: test.label(),
        suite: test.file.display().to_string(),
        name: test.pipeline.clone().unwrap_or_default(),
        took: started.elapsed(),
        failure,
        output,
    }
}

/// What is wrong, if anything, and what was printed.
fn tried(test: &Test, program: &Arc<Program>, args: &TestArgs) -> (Option<String>, String) {
    let mut place = place_of(&test.file);
    place.root.clone_from(&place.source);
    let limit = Duration::from_millis(args.timeout);
    let first = execute(program, place.clone(), limit);
    let mut failure = failure_of(&first.end, program, limit);
    if args.determinism && failure.is_none() {
        let second = execute(program, place, limit);
        failure = difference(&first.trace, &second.trace);
    }
    (failure, first.trace.printed)
}

/// Where a test runs: no model is called, and standard input is empty.
pub fn place_of(file: &Path) -> Place {
    let mut place = Place::of(Some(file));
    place.input = Input::Empty;
    place.variables.push(("HARN_LLM_CALLS_DISABLED", "1".to_owned()));
    if std::env::var_os("HARN_LLM_PROVIDER").is_none() {
        place.variables.push(("HARN_LLM_PROVIDER", "mock".to_owned()));
    }
    place
}

pub struct Run {
    pub end: End,
    pub trace: Trace,
}

pub fn execute(program: &Arc<Program>, place: Place, limit: Duration) -> Run {
    let mut vm = Vm::new(Arc::clone(program), place.values(&[]), Limits::default(), SEED);
    let mut trace = Trace::default();
    let end = drive(&mut vm, &mut Host::new(place), Instant::now().checked_add(limit), &mut trace);
    Run { end, trace }
}

/// What can be seen of a run.
#[derive(Default)]
pub struct Trace {
    /// Both channels, as they came.
    pub printed: String,
    /// Standard output alone.
    pub out: String,
    asked: Vec<String>,
}

impl Witness for Trace {
    fn printed(&mut self, output: &[Output]) -> io::Result<()> {
        for part in output {
            self.printed.push_str(&part.text);
            if part.to == Channel::Out {
                self.out.push_str(&part.text);
            }
        }
        Ok(())
    }

    fn asked(&mut self, key: &str) {
        // Enough to tell two runs apart; a script may ask for ever.
        if self.asked.len() < 100_000 {
            self.asked.push(key.to_owned());
        }
    }
}

/// Where two runs of the same test went different ways.
fn difference(first: &Trace, second: &Trace) -> Option<String> {
    let shown = |text: Option<&str>| text.map_or("nothing".to_owned(), |text| format!("`{text}`"));
    let told = |what: &str, at: usize, a: Option<&str>, b: Option<&str>| {
        format!("error: not deterministic: {what} {} is {} and then {}\n", at + 1, shown(a), shown(b))
    };
    let longest = first.asked.len().max(second.asked.len());
    let key = |trace: &Trace, at: usize| trace.asked.get(at).cloned();
    if let Some(at) = (0..longest).find(|at| key(first, *at) != key(second, *at)) {
        let (a, b) = (key(first, at), key(second, at));
        return Some(told("question to the host", at, a.as_deref(), b.as_deref()));
    }
    if first.printed == second.printed {
        return None;
    }
    let (mut a, mut b) = (first.printed.lines(), second.printed.lines());
    let mut at = 0;
    loop {
        match (a.next(), b.next()) {
            (None, None) => return Some("error: not deterministic: the line ends differ\n".to_owned()),
            (a, b) if a != b => return Some(told("line", at, a, b)),
            _ => at += 1,
        }
    }
}

/// The problems of a program as they are shown.
fn told(problems: &Problems) -> String {
    problems.all.iter().map(|problem| Diagnostic::of(problem, &problems.sources).text()).collect()
}

fn failure_of(end: &End, program: &Program, limit: Duration) -> Option<String> {
    match end {
        End::Value(_) | End::Exit(0) | End::Unread => None,
        End::Exit(code) => Some(format!("error: it ended with exit({code})\n")),
        End::Failed(failure) => {
            let message = failure.fault.to_string();
            let shown = located(failure, &message, program).map(|diagnostic| diagnostic.text());
            Some(shown.unwrap_or_else(|| format!("error: {message}\n")))
        }
        End::TimedOut => Some(format!("error: it took longer than {} ms\n", limit.as_millis())),
        End::Stuck => Some("error: it waits for something that never comes\n".to_owned()),
        End::Interrupted => Some("error: it was interrupted\n".to_owned()),
    }
}
