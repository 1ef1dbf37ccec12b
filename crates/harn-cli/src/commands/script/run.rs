//! `harn run`: a script in this process, from its first line to its last.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use harn_engine::calls::Place;
use harn_engine::people::People;
use harn_engine::script::limits;
use harn_lang::bytecode::{Program, Source};
use harn_lang::compile::{Settings, compile, skipped};
use harn_lang::fault::{Fault, Limit};
use harn_lang::value::Value;
use harn_lang::vm::{Limits, Vm};
use harn_policy::Nameable;
use parking_lot::Mutex;

use super::again;
use super::diagnostic::Diagnostic;
use super::durable;
use super::files::{Beside, read, text_of};
use super::host;
use super::machine::{End, Machine, Printer, say_failure, say_stopped};
use crate::args::RunArgs;
use crate::commands::INTERRUPTED;
use crate::output::{plain, warn_line};
use crate::problem::Problem;
use crate::terminal::{Person, can_ask};

/// What nobody waits for.
const STEPS: u64 = 100_000_000_000;

pub fn run(args: &RunArgs) -> Result<ExitCode> {
    let file = args.file.as_deref().filter(|file| file.as_os_str() != "-");
    let source = match (file, &args.code) {
        (Some(file), _) => read(file)?,
        (None, Some(code)) => Source { name: "-e".into(), text: code.as_str().into() },
        (None, None) => {
            let text = text_of(std::io::stdin().lock()).context("standard input cannot be read")?;
            Source { name: "-".into(), text: text.into() }
        }
    };
    let settings = Settings { host_names: host::names(), ..Settings::default() };
    let program = match compile(source, &Beside, &settings) {
        Ok(program) => Arc::new(program),
        Err(problems) => {
            problems.all.iter().for_each(|problem| Diagnostic::of(problem, &problems.sources).say());
            return Ok(ExitCode::FAILURE);
        }
    };
    if let Some(problem) = program.sources.get(1).and_then(|entry| skipped(&entry.text)) {
        Diagnostic::of(&problem, &program.sources).say();
    }
    if args.durable || (file.is_some() && durable::is_lasting(&program)) {
        return durable::run(args);
    }
    if args.json {
        let problem = Problem::usage("--json prints the events of a task, and this script runs without one");
        return Err(problem.hint("with --durable it runs as a task").into());
    }
    let place = Arc::new(Place { skills: args.skills()?, ..host::place_of(file) });
    let values = host::values(&place, &args.args);
    let limits = limits(args.limits(), Limits { fuel: STEPS, ..Limits::default() });
    let mut vm = Vm::new(Arc::clone(&program), values, limits, rand::random());
    vm.set_about(host::about(&args.args));
    let configuration = host::Configuration::of(&place.project, args.target.config.as_deref())?;
    let options = configuration.options(&args.answers())?;
    let known = Nameable { calls: &options.calls.specs(), tools: &options.registry.specs() };
    let narrowed = harn_policy::narrowing(&args.narrowing(), known).map_err(Problem::usage)?;
    let policy = configuration.policy(Some(narrowed))?;
    let person = can_ask().then(|| Arc::new(Person::default()) as Arc<dyn People>);
    let machine = Machine::new(options, policy)?.with_people(person);
    machine.watch_interrupts()?;
    let end = machine.run(&Arc::new(Mutex::new(vm)), &place, Arc::new(Printer), None);
    machine.leave();
    Ok(ended(end, &program))
}

/// `harn watch`: the same, and again whenever a script changes.
pub fn watch(args: &RunArgs) -> Result<ExitCode> {
    let file = args.file.as_deref().filter(|file| file.as_os_str() != "-");
    let Some(file) = file else { return Err(Problem::usage("harn watch needs a file to watch").into()) };
    again::watch(file, Some(again::Interrupts::new()?), || run(args))
}

/// What a script gives back is how it ends.
fn ended(end: End, program: &Program) -> ExitCode {
    match end {
        End::Value(value) => exit_code(&value),
        End::Exit(code) => ExitCode::from(code),
        End::Interrupted => ExitCode::from(INTERRUPTED),
        End::Unread => ExitCode::SUCCESS,
        End::Stopped(failure) => {
            say_stopped(&failure);
            ExitCode::FAILURE
        }
        End::Failed(failure) => {
            say_failure(&failure, program);
            if let Some(option) = way_out(&failure.fault) {
                warn_line(format_args!("  hint: `harn run {option}` allows more"));
            }
            ExitCode::FAILURE
        }
        End::TimedOut => {
            warn_line("error: the script took too long");
            ExitCode::FAILURE
        }
    }
}

/// What raises the limit that a script went over.
fn way_out(fault: &Fault) -> Option<&'static str> {
    match fault {
        Fault::Limit(Limit::Fuel(_)) => Some("--max-steps"),
        Fault::Limit(Limit::Memory(_)) => Some("--max-memory"),
        Fault::Limit(Limit::Output(_)) => Some("--max-output"),
        _ => None,
    }
}

fn exit_code(value: &Value) -> ExitCode {
    match (value, value.as_result()) {
        (Value::Int(code), _) => ExitCode::from(u8::try_from(*code & 0xff).unwrap_or(1)),
        (_, Some(Err(error))) => {
            warn_line(format_args!("{}", plain(&error.display())));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}
