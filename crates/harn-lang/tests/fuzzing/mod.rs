//! What is tried with every input of the fuzzer; the tests try it with examples and their mutations.

mod program;

use std::collections::VecDeque;
use std::sync::Arc;

use harn_lang::bytecode::{Program, Source};
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::format::format;
use harn_lang::syntax::parse;
use harn_lang::value::Value;
use harn_lang::vm::{Limits, State, Vm};

pub use program::program;

/// Small enough that a program which wants more ends soon.
const LIMITS: Limits = Limits { fuel: 300_000, memory: 16 << 20, output: 1 << 18, tasks: 500 };

/// Any text: it is read without a crash, and errors point into it.
pub fn parser(text: &str) {
    let parsed = parse(text);
    for error in &parsed.errors {
        let (start, end) = (error.span.start as usize, error.span.end as usize);
        assert!(start <= end && end <= text.len(), "{error:?} points outside of the text");
        assert!(text.is_char_boundary(start) && text.is_char_boundary(end), "{error:?} cuts a character");
        assert!(!error.message.is_empty());
    }
}

/// Any text that is a program: laid out, it is the same program, and laid out again it stays as it is.
pub fn formatter(text: &str) {
    let Ok(once) = format(text) else { return };
    let again =
        format(&once).unwrap_or_else(|errors| panic!("broken by formatting: {errors:?}\n{text}\n=>\n{once}"));
    assert_eq!(once, again, "formatting is not done after the first time:\n{text}");
}

/// Any text that is a program: it runs until it ends or reaches a limit.
pub fn runner(text: &str) {
    if let Ok(program) = compiled(text) {
        let program = Arc::new(program);
        trace(&program, &mut || u64::MAX);
        assert_eq!(
            Arc::strong_count(&program),
            1,
            "the machine is gone, and something of it is left:\n{text}"
        );
    }
}

/// A program made of bytes: it compiles, does the same however its time is cut, and the same when it is laid out.
pub fn machine(bytes: &[u8]) {
    let text = program(bytes);
    let made = compiled(&text).unwrap_or_else(|errors| panic!("does not compile: {errors:?}\n{text}"));
    let made = Arc::new(made);
    let whole = trace(&made, &mut || u64::MAX);
    let mut sizes = bytes.iter().cycle();
    let cut = trace(&made, &mut || 1 + 3 * u64::from(*sizes.next().unwrap_or(&9)));
    assert_eq!(whole, cut, "depends on how time is cut:\n{text}");
    let laid_out = format(&text).unwrap_or_else(|errors| panic!("cannot be laid out: {errors:?}\n{text}"));
    let laid_out =
        compiled(&laid_out).unwrap_or_else(|errors| panic!("broken by formatting: {errors:?}\n{text}"));
    let same = trace(&Arc::new(laid_out), &mut || u64::MAX);
    assert_eq!(without_lines(whole), without_lines(same), "formatting changes what it does:\n{text}");
}

fn compiled(text: &str) -> Result<Program, Vec<String>> {
    let source = Source { name: "fuzz.harn".into(), text: text.into() };
    let settings = Settings::default();
    compile(source, &NoModules, &settings)
        .map_err(|problems| problems.all.into_iter().map(|problem| problem.message).collect())
}

/// What a program did.
#[derive(Debug, Default, PartialEq)]
struct Trace {
    output: String,
    calls: Vec<String>,
    dropped: Vec<u64>,
    end: String,
}

/// Laid out, a program has other lines; messages name them.
fn without_lines(mut trace: Trace) -> Trace {
    for text in [&mut trace.output, &mut trace.end] {
        *text = text.split("(line ").enumerate().fold(String::new(), |all, (at, part)| match at {
            0 => part.to_owned(),
            _ => all + "(line " + part.trim_start_matches(|letter: char| letter.is_ascii_digit()),
        });
    }
    trace
}

/// Runs it with a host that has a clock and nothing else: calls are answered one by one, in the order in which they are
/// due.
fn trace(program: &Arc<Program>, slice: &mut dyn FnMut() -> u64) -> Trace {
    let mut vm = Vm::new(Arc::clone(program), Vec::new(), LIMITS, 7);
    let mut open: VecDeque<(i64, u64)> = VecDeque::new();
    let (mut now, mut trace) = (0, Trace::default());
    loop {
        let turn = vm.run(slice());
        turn.output.iter().for_each(|part| trace.output.push_str(&part.text));
        for call in &turn.calls {
            trace.calls.push(format!("{} {}", call.id, call.key));
            let ms = match call.args.first() {
                Some(Value::Int(ms) | Value::Duration(ms)) => (*ms).clamp(0, 1 << 40),
                _ => 0,
            };
            open.push_back((now + ms, call.id));
        }
        for call in turn.dropped {
            trace.dropped.push(call);
            open.retain(|(_, waiting)| *waiting != call);
        }
        match turn.state {
            State::Done(value) => {
                trace.end = format!("done {}", value.display());
                return trace;
            }
            State::Failed(failure) => {
                trace.end = format!("failed {}", failure.fault);
                return trace;
            }
            State::OutOfFuel => {}
            State::Waiting => {
                let next = open.iter().enumerate().min_by_key(|(_, (due, id))| (*due, *id)).map(|(at, _)| at);
                let (due, call) = next.and_then(|at| open.remove(at)).expect("it waits for nothing");
                now = now.max(due);
                vm.complete(call, Ok(Value::Nil));
            }
        }
    }
}
