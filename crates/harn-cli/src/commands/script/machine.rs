//! Driving a VM: from its first step until it ends, is interrupted, or has had its time.

use std::io::{self, Write};
use std::time::Instant;

use harn_lang::bytecode::Program;
use harn_lang::problem::Severity;
use harn_lang::syntax::span::{LineIndex, Span};
use harn_lang::value::Value;
use harn_lang::vm::{Channel, Failure, Output, State, Vm};

use super::diagnostic::{Diagnostic, name_of};
use super::files::is_standard;
use super::host::{Event, Heard, Host, Interrupter};
use crate::commands::INTERRUPTED;
use crate::output::{plain, warn_line};

/// Steps between two looks at the clock.
const SLICE: u64 = 1_000_000;

/// How a run ended.
pub enum End {
    Value(Value),
    Failed(Failure),
    /// `exit(n)`.
    Exit(u8),
    Interrupted,
    TimedOut,
    /// Nobody reads what it prints any more.
    Unread,
    /// It waits for something that never comes.
    Stuck,
}

/// What a run gives while it goes on.
pub trait Witness {
    fn printed(&mut self, output: &[Output]) -> io::Result<()>;

    /// The host is asked for something; the key is the same in every run with the same answers.
    fn asked(&mut self, _key: &str) {}
}

pub fn drive(vm: &mut Vm, host: &mut Host, latest: Option<Instant>, witness: &mut dyn Witness) -> End {
    let mut is_interrupted = false;
    let mut next = None;
    loop {
        while let Some(event) = next.take().or_else(|| host.happened()) {
            match event {
                Event::Answer(call, answer) => vm.complete(call, answer),
                Event::Input(read) => {
                    if let Some((call, answer)) = host.received(read) {
                        vm.complete(call, answer);
                    }
                }
                // The first time the script may put things in order, the second time it may not.
                Event::Interrupt if is_interrupted => return End::Interrupted,
                Event::Interrupt => {
                    is_interrupted = true;
                    vm.cancel();
                }
            }
        }
        host.ring(vm);
        let turn = vm.run(SLICE);
        if witness.printed(&turn.output).is_err() {
            return End::Unread;
        }
        turn.dropped.into_iter().for_each(|call| host.forget(call));
        let is_idle = turn.calls.is_empty();
        for call in turn.calls {
            witness.asked(&call.key);
            host.take(call, vm);
        }
        if let Some(code) = host.exit {
            return End::Exit(code);
        }
        match turn.state {
            State::Done(_) | State::Failed(_) if is_interrupted => return End::Interrupted,
            State::Done(value) => return End::Value(value),
            State::Failed(failure) => return End::Failed(failure),
            _ if latest.is_some_and(|latest| latest <= Instant::now()) => return End::TimedOut,
            State::OutOfFuel => {}
            State::Waiting if !is_idle => {}
            State::Waiting if !host.is_waiting() => return End::Stuck,
            State::Waiting => next = host.wait(latest),
        }
    }
}

/// Prints as the script prints.
pub struct Printer;

impl Witness for Printer {
    fn printed(&mut self, output: &[Output]) -> io::Result<()> {
        for part in output {
            match part.to {
                Channel::Out => io::stdout().write_all(part.text.as_bytes())?,
                Channel::Error => {
                    io::stdout().flush()?;
                    io::stderr().write_all(part.text.as_bytes())?;
                }
            }
        }
        if output.is_empty() { Ok(()) } else { io::stdout().flush() }
    }
}

/// Tells of every Ctrl-C from now on, instead of ending the process. If the host cannot be reached because the system
/// keeps it waiting, the third one ends the process after all.
pub fn watch_interrupts(host: Interrupter) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Here, so that no Ctrl-C after this line ends the process.
    let mut signals = {
        let _inside = runtime.enter();
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::interrupt())?
    };
    std::thread::spawn(move || {
        runtime.block_on(async {
            while signals.recv().await.is_some() {
                if host.interrupt() == Heard::Never {
                    std::process::exit(INTERRUPTED.into());
                }
            }
        });
    });
    Ok(())
}

/// An uncaught error with its place, as far as there is one.
pub fn located<'a>(failure: &Failure, message: &'a str, program: &'a Program) -> Option<Diagnostic<'a>> {
    // The innermost place in something that the user wrote.
    let is_own =
        |module: u16| program.sources.get(usize::from(module)).is_some_and(|source| !is_standard(source));
    let mut trace = failure.trace.iter().filter(|entry| entry.module > 0 && is_own(entry.module));
    let place = trace.next()?;
    let source = program.sources.get(usize::from(place.module))?;
    let mut notes = Vec::new();
    for outer in trace {
        if let Some(source) = program.sources.get(usize::from(outer.module)) {
            let line = LineIndex::new(&source.text).line(outer.offset);
            notes.push(format!("note: called from {} at {}:{line}", outer.function, name_of(source)));
        }
    }
    let span = word_at(&source.text, place.offset);
    let notes = shortened(notes);
    Some(Diagnostic { severity: Severity::Error, message, source, span, notes })
}

/// The word that begins at a place, or the place alone.
fn word_at(text: &str, start: u32) -> Span {
    let rest = text.get(start as usize..).unwrap_or_default();
    let word = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    Span::new(start, start.saturating_add(u32::try_from(word).unwrap_or(0)))
}

/// A function that calls itself is told once; and nobody reads a hundred calls.
fn shortened(notes: Vec<String>) -> Vec<String> {
    const MOST: usize = 20;
    let mut short: Vec<String> = Vec::new();
    for same in notes.chunk_by(|a, b| a == b) {
        let times = if same.len() > 1 { format!(", {} times", same.len()) } else { String::new() };
        short.push(format!("{}{times}", same[0]));
    }
    if short.len() > MOST {
        let hidden = short.len() - MOST + 1;
        short.truncate(MOST - 1);
        short.push(format!("note: and {hidden} calls more"));
    }
    short
}

pub fn say_failure(failure: &Failure, program: &Program) {
    let message = failure.fault.to_string();
    match located(failure, &message, program) {
        Some(diagnostic) => diagnostic.say(),
        None => warn_line(format_args!("error: {}", plain(&message))),
    }
}
