//! Runs programs with a host that has a clock, which stands still while the program computes, files in memory, and
//! commands that do nothing.

#![allow(dead_code, reason = "each test file uses its part")]

mod files;
mod harness;

use std::collections::BTreeMap;
use std::sync::Arc;

use harn_lang::bytecode::Source;
use harn_lang::compile::{Loader, NoModules, Settings, compile};
use harn_lang::fault::Fault;
use harn_lang::value::Value;
use harn_lang::vm::{Call, Channel, Limits, State, Vm};

pub use files::Files;

/// What a program printed, and how it ended.
pub struct Ran {
    pub output: String,
    pub result: Result<Value, String>,
}

pub fn run(text: &str) -> Ran {
    run_with(text, Limits::default())
}

pub fn run_with(text: &str, limits: Limits) -> Ran {
    let source = Source { name: "test.harn".into(), text: text.into() };
    run_source(source, &NoModules, limits)
}

/// Runs a program whose modules come from somewhere.
pub fn run_source(source: Source, loader: &dyn Loader, limits: Limits) -> Ran {
    run_for(source, loader, limits, &mut Host::default())
}

/// Who answers a program.
pub trait Answers {
    /// The answer to a call that is not for the clock; none to one that never ends.
    fn answer(&mut self, call: &Call, now: i64) -> Option<Result<Value, Fault>>;
}

pub fn run_for(source: Source, loader: &dyn Loader, limits: Limits, host: &mut dyn Answers) -> Ran {
    let program = match compile(source, loader, &Settings::default()) {
        Ok(program) => program,
        Err(failed) => {
            let messages: Vec<String> = failed.all.iter().map(|problem| problem.message.clone()).collect();
            return Ran { output: String::new(), result: Err(messages.join("\n")) };
        }
    };
    let mut clock = Clock::default();
    let mut vm = Vm::new(Arc::new(program), Vec::new(), limits, 1);
    let mut output = String::new();
    loop {
        let turn = vm.run(1_000_000);
        let out = turn.output.iter().filter(|part| part.to == Channel::Out);
        out.for_each(|part| output.push_str(&part.text));
        turn.dropped.iter().for_each(|call| clock.timers.retain(|_, waiting| waiting != call));
        let mut is_answered = false;
        for call in turn.calls {
            if clock.take(&call) {
                continue;
            }
            if let Some(answer) = host.answer(&call, clock.now) {
                vm.complete(call.id, answer);
                is_answered = true;
            }
        }
        match turn.state {
            State::Done(value) => return Ran { output, result: Ok(value) },
            State::Failed(failure) => return Ran { output, result: Err(failure.fault.to_string()) },
            State::OutOfFuel => clock.tick(&mut vm, 1),
            State::Waiting if is_answered => {}
            State::Waiting => clock.next(&mut vm),
        }
    }
}

#[derive(Default)]
struct Clock {
    now: i64,
    count: u64,
    /// When which call is due; those of the same time in the order in which they came.
    timers: BTreeMap<(i64, u64), u64>,
}

impl Clock {
    /// Whether a call waits for a time.
    fn take(&mut self, call: &Call) -> bool {
        let is_timer = matches!(call.builtin, "sleep" | "deadline" | "__sleep");
        if is_timer {
            let ms = match call.args.first() {
                Some(Value::Duration(ms) | Value::Int(ms)) => *ms,
                _ => 0,
            };
            self.count += 1;
            self.timers.insert((self.now.saturating_add(ms), self.count), call.id);
        }
        is_timer
    }

    /// Lets time pass until the first call is due.
    fn next(&mut self, vm: &mut Vm) {
        if let Some(((due, _), call)) = self.timers.pop_first() {
            self.now = self.now.max(due);
            vm.complete(call, Ok(Value::Nil));
        }
    }

    fn tick(&mut self, vm: &mut Vm, ms: i64) {
        self.now += ms;
        while let Some(entry) = self.timers.first_entry()
            && entry.key().0 <= self.now
        {
            vm.complete(entry.remove(), Ok(Value::Nil));
        }
    }
}

#[derive(Default)]
struct Host {
    files: Files,
}

impl Answers for Host {
    fn answer(&mut self, call: &Call, now: i64) -> Option<Result<Value, Fault>> {
        let is_at = |at: usize, text: &str| call.args.get(at).is_some_and(|arg| arg.display() == text);
        Some(Ok(match call.builtin {
            "__monotonic_ms" => Value::Int(now),
            "__now_ms" => Value::Int(1_700_000_000_000 + now),
            // A program named `slow` never ends; the others print how they were called.
            "__exec" | "__shell" if is_at(1, "slow") => return None,
            "__exec" | "__shell" => command(call),
            "__shell_commands" => commands(&call.args),
            "is_stdout_tty" => Value::Bool(false),
            "platform" => "linux".into(),
            "env" if is_at(0, "SHELL") => "/usr/bin/zsh".into(),
            "env" => "/usr/local/bin:/usr/bin".into(),
            "read_file" if is_at(0, "/etc/shells") => "# shells\n/bin/none\n/bin/sh\n/usr/bin/sh\n".into(),
            "file_exists" if is_at(0, "/bin/sh") || is_at(0, "/usr/bin/zsh") => Value::Bool(true),
            "file_exists" if is_at(0, "/usr/bin/fish") => Value::Bool(true),
            other => {
                let nothing = || Err(Fault::thrown(format!("{other}: there is no host for it")));
                let known = harness::answer(other, &call.args).or_else(|| self.files.answer(call));
                return Some(known.unwrap_or_else(nothing));
            }
        }))
    }
}

/// Lines are cut at every sign; the harness really reads them.
fn commands(args: &[Value]) -> Value {
    let given = args.first().cloned().unwrap_or_default();
    let given = match given.as_list() {
        Some([shell, _, line]) if shell.as_str() == Some("sh") => line.clone(),
        _ => given,
    };
    let lines: Vec<Vec<String>> = match given.as_list() {
        Some(words) => vec![words.iter().map(Value::display).collect()],
        None => {
            let parts = given.display();
            let words = |part: &str| {
                part.split_whitespace().filter(|word| !word.contains('=')).map(str::to_owned).collect()
            };
            parts.split([';', '|', '$', '(', ')']).filter(|part| !part.trim().is_empty()).map(words).collect()
        }
    };
    let command = |words: Vec<String>| {
        Value::record([
            ("words", Value::list(words.into_iter().map(Value::from).collect())),
            ("wrappers", Value::list(Vec::new())),
            ("only_denied", Value::Bool(false)),
        ])
    };
    let found = lines.into_iter().map(command).collect();
    Value::record([("commands", Value::list(found)), ("unclear", Value::Nil)])
}

fn command(call: &Call) -> Value {
    let printed: Vec<String> = call.args.iter().map(Value::display).collect();
    Value::record([
        ("stdout", format!("{} {}", call.builtin, printed.join(" ")).into()),
        ("stderr", "".into()),
        ("status", Value::Int(0)),
        ("success", Value::Bool(true)),
    ])
}

/// Each program prints exactly this.
pub fn prints(cases: &[(&str, &str)]) {
    for (program, expected) in cases {
        let ran = run(program);
        assert_eq!(ran.result.err(), None, "{program}\n---\n{}", ran.output);
        assert_eq!(ran.output, *expected, "{program}");
    }
}

/// Each program ends with an error that contains this.
pub fn fails(cases: &[(&str, &str)]) {
    for (program, expected) in cases {
        let ran = run(program);
        let error = ran.result.err().unwrap_or_else(|| panic!("no error: {program}\n---\n{}", ran.output));
        assert!(error.contains(expected), "{program}\n---\n{error}");
    }
}
