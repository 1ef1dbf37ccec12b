//! `harn run`: a script in this process, from its first line to its last.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result};
use harn_lang::bytecode::{Program, Source};
use harn_lang::compile::{Settings, compile};
use harn_lang::fault::{Fault, Limit};
use harn_lang::value::Value;
use harn_lang::vm::Vm;
use parking_lot::Mutex;

use super::again;
use super::diagnostic::Diagnostic;
use super::durable;
use super::files::{Beside, read, text_of};
use super::machine::{End, Machine, Printer, say_failure};
use super::{host, limits};
use crate::args::RunArgs;
use crate::commands::INTERRUPTED;
use crate::output::{plain, warn_line};
use crate::problem::Problem;

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
    if args.durable || (file.is_some() && durable::is_lasting(&program)) {
        return durable::run(args);
    }
    let place = Arc::new(host::place_of(file));
    let values = host::values(&place, &args.args);
    let vm = Vm::new(Arc::clone(&program), values, args.limits(), rand::random());
    let options = host::options(&place.project, &args.answers())?;
    let limits = limits::layer(&options.calls.specs(), &args.allow, &args.deny)?;
    let machine = Machine::new(options, host::policy(&place.project, limits)?)?;
    machine.watch_interrupts()?;
    let end = machine.run(&Arc::new(Mutex::new(vm)), &place, Arc::new(Printer), None);
    machine.leave();
    Ok(ended(end, &program))
}

/// `harn watch`: the same, and again whenever a script changes.
pub fn watch(args: &RunArgs) -> Result<ExitCode> {
    let file = args.file.as_deref().filter(|file| file.as_os_str() != "-");
    let Some(file) = file else { return Err(Problem::usage("harn watch needs a file to watch").into()) };
    again::watch(file, || run(args))
}

/// What a script gives back is how it ends.
fn ended(end: End, program: &Program) -> ExitCode {
    match end {
        End::Value(value) => exit_code(&value),
        End::Exit(code) => ExitCode::from(code),
        End::Interrupted => ExitCode::from(INTERRUPTED),
        End::Unread => ExitCode::SUCCESS,
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
