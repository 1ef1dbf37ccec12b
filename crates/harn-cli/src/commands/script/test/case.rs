//! Running one test, and saying how it went.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use harn_core::run::{Channel, Decision, EffectKey, Shown};
use harn_engine::EngineOptions;
use harn_engine::calls::{Input, Place};
use harn_engine::ephemeral::Witness;
use harn_engine::fixture::Fixture;
use harn_lang::bytecode::Program;
use harn_lang::compile::{Settings, compile};
use harn_lang::problem::Problems;
use harn_lang::vm::{Limits, Vm};
use parking_lot::Mutex;

use super::super::diagnostic::Diagnostic;
use super::super::files::Beside;
use super::super::host::{self, Answers};
use super::super::limits;
use super::super::machine::{End, Machine, located};
use super::find::Test;
use super::fixtures;
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
        Ok(program) => tried(test, &Arc::new(program), args)
            .unwrap_or_else(|error| (Some(format!("error: {error:#}\n")), String::new())),
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
fn tried(test: &Test, program: &Arc<Program>, args: &TestArgs) -> Result<(Option<String>, String)> {
    let is_offline = !(args.record || args.replay || args.network);
    let mut place = if is_offline { place_of(&test.file) } else { open_place_of(&test.file) };
    place.root.clone_from(&place.source);
    if is_offline && std::env::var_os("HARN_LLM_PROVIDER").is_none() {
        place.variables.push(("HARN_LLM_PROVIDER".to_owned(), "mock".to_owned()));
    }
    let limit = Duration::from_millis(args.timeout);
    let around = || -> Result<Around> {
        let fixture = fixtures::of(test, args, &place.project)?;
        Ok(Around { fixture, is_offline, answers: Answers::default() })
    };
    let around_first = around()?;
    let first = execute(program, place.clone(), limit, &around_first)?;
    let unanswered = around_first.fixture.as_ref().and_then(|fixture| fixture.problem());
    let mut failure = match unanswered {
        Some(problem) => Some(format!("error: {problem}\n")),
        None => failure_of(&first.end, program, limit),
    };
    if args.record && failure.is_none() {
        fixtures::keep(test, around_first.fixture.as_deref())?;
    }
    if args.determinism && failure.is_none() {
        let second = execute(program, place.clone(), limit, &around()?)?;
        failure = difference(&first.trace, &second.trace);
    }
    Ok((failure, first.trace.printed))
}

/// Where a test runs: standard input is empty.
pub fn open_place_of(file: &Path) -> Place {
    Place { input: Input::Empty, ..host::place_of(Some(file)) }
}

/// The same where no model is called.
pub fn place_of(file: &Path) -> Place {
    let mut place = open_place_of(file);
    place.variables.push(("HARN_LLM_CALLS_DISABLED".to_owned(), "1".to_owned()));
    place
}

pub struct Run {
    pub end: End,
    pub trace: Trace,
}

/// What a run finds around it.
#[derive(Default)]
pub struct Around {
    pub answers: Answers,
    pub fixture: Option<Arc<Fixture>>,
    pub is_offline: bool,
}

pub fn execute(program: &Arc<Program>, place: Place, limit: Duration, around: &Around) -> Result<Run> {
    let vm = Vm::new(Arc::clone(program), host::values(&place, &[]), Limits::default(), SEED);
    let configuration = host::Configuration::of(&place.project, None)?;
    let options = configuration.options(&around.answers)?;
    // What a test wants of a host it pretends.
    let options = EngineOptions { host: None, ..options };
    let offline = around.is_offline.then(|| limits::offline(&options.calls.specs()));
    let policy = configuration.policy(offline)?;
    let machine = Machine::new(options, policy)?.with_fixture(around.fixture.clone());
    let trace = Arc::new(Recorder::default());
    let witness = Arc::clone(&trace) as Arc<dyn Witness>;
    let end = machine.run(&Arc::new(Mutex::new(vm)), &Arc::new(place), witness, Some(limit));
    machine.leave();
    let trace = std::mem::take(&mut *trace.0.lock());
    Ok(Run { end, trace })
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

#[derive(Default)]
struct Recorder(Mutex<Trace>);

impl Witness for Recorder {
    fn printed(&self, shown: &[Shown]) -> io::Result<()> {
        let mut trace = self.0.lock();
        for part in shown {
            trace.printed.push_str(&part.text);
            if part.to == Channel::Out {
                trace.out.push_str(&part.text);
            }
        }
        Ok(())
    }

    fn asked(&self, key: &EffectKey, _: &Decision) {
        let mut trace = self.0.lock();
        // Enough to tell two runs apart; a script may ask for ever.
        if trace.asked.len() < 100_000 {
            trace.asked.push(key.to_string());
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
        End::Stopped(failure) => Some(format!("error: {}\n", failure.message)),
        End::TimedOut => Some(format!("error: it took longer than {} ms\n", limit.as_millis())),
        End::Interrupted => Some("error: it was interrupted\n".to_owned()),
    }
}
