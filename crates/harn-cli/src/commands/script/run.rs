//! `harn run`: a script in this process, from its first line to its last.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use harn_lang::bytecode::{Program, Source};
use harn_lang::compile::{Settings, compile};
use harn_lang::problem::Severity;
use harn_lang::syntax::span::{LineIndex, Span};
use harn_lang::value::Value;
use harn_lang::vm::{Channel, Failure, Limits, Output, State, Vm};

use super::diagnostic::Diagnostic;
use super::files::{Beside, read};
use super::host::{self, Host};
use crate::args::RunArgs;
use crate::output::{plain, warn_line};

/// Steps between two looks at the clock.
const SLICE: u64 = 1_000_000;

pub fn run(args: &RunArgs) -> Result<ExitCode> {
    let source = match (&args.file, &args.code) {
        (Some(file), _) => read(file)?,
        (None, code) => Source { name: "-e".into(), text: code.clone().unwrap_or_default().into() },
    };
    let settings = Settings { host_names: host::names(), pipeline: None };
    let program = match compile(source, &Beside, &settings) {
        Ok(program) => Arc::new(program),
        Err(problems) => {
            problems.all.iter().for_each(|problem| Diagnostic::of(problem, &problems.sources).say());
            return Ok(ExitCode::FAILURE);
        }
    };
    let seed = rand::random();
    let vm = Vm::new(Arc::clone(&program), host::values(&args.args), Limits::default(), seed);
    drive(vm, &program)
}

fn drive(mut vm: Vm, program: &Program) -> Result<ExitCode> {
    let mut host = Host::new();
    loop {
        host.ring(&mut vm);
        let turn = vm.run(SLICE);
        print(&turn.output)?;
        turn.dropped.into_iter().for_each(|call| host.forget(call));
        let is_idle = turn.calls.is_empty();
        turn.calls.into_iter().for_each(|call| host.take(call, &mut vm));
        if let Some(code) = host.exit {
            return Ok(ExitCode::from(code));
        }
        match turn.state {
            State::Done(value) => return Ok(ended(&value)),
            State::Failed(failure) => {
                say_failure(&failure, program);
                return Ok(ExitCode::FAILURE);
            }
            State::OutOfFuel => {}
            State::Waiting => {
                if is_idle && !host.wait() {
                    anyhow::bail!("the script waits for something that never comes");
                }
            }
        }
    }
}

/// What a script gives back is how it ends.
fn ended(value: &Value) -> ExitCode {
    match (value, value.as_result()) {
        (Value::Int(code), _) => ExitCode::from(u8::try_from(*code & 0xff).unwrap_or(1)),
        (_, Some(Err(error))) => {
            warn_line(format_args!("{}", plain(&error.display())));
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

fn print(output: &[Output]) -> Result<()> {
    for part in output {
        match part.to {
            Channel::Out => std::io::stdout().write_all(part.text.as_bytes())?,
            Channel::Error => std::io::stderr().write_all(part.text.as_bytes())?,
        }
    }
    if !output.is_empty() {
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn say_failure(failure: &Failure, program: &Program) {
    let message = failure.fault.to_string();
    // The innermost place in something that the user wrote.
    let mut trace = failure.trace.iter().filter(|entry| entry.module > 0);
    let Some(place) = trace.next() else {
        return warn_line(format_args!("error: {}", plain(&message)));
    };
    let Some(source) = program.sources.get(usize::from(place.module)) else { return };
    let mut notes = Vec::new();
    for outer in trace {
        if let Some(source) = program.sources.get(usize::from(outer.module)) {
            let line = LineIndex::new(&source.text).line(outer.offset);
            notes.push(format!("note: called from {} at {}:{line}", outer.function, source.name));
        }
    }
    let span = Span::new(place.offset, place.offset);
    Diagnostic { severity: Severity::Error, message: &message, source, span, notes }.say();
}
