//! Runs programs with a host that has a clock, which stands still while the program computes, files in memory, and
//! commands that do nothing.

#![allow(dead_code, reason = "each test file uses its part")]

mod harness;

use std::collections::BTreeMap;
use std::sync::Arc;

use harn_lang::bytecode::Source;
use harn_lang::compile::{Loader, NoModules, Settings, compile};
use harn_lang::fault::Fault;
use harn_lang::value::Value;
use harn_lang::vm::{Call, Channel, Limits, State, Vm};

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
    let program = match compile(source, loader, &Settings::default()) {
        Ok(program) => program,
        Err(failed) => {
            let messages: Vec<String> = failed.all.iter().map(|problem| problem.message.clone()).collect();
            return Ran { output: String::new(), result: Err(messages.join("\n")) };
        }
    };
    let mut host = Host::default();
    let mut vm = Vm::new(Arc::new(program), Vec::new(), limits, 1);
    let mut output = String::new();
    loop {
        let turn = vm.run(1_000_000);
        let out = turn.output.iter().filter(|part| part.to == Channel::Out);
        out.for_each(|part| output.push_str(&part.text));
        turn.dropped.iter().for_each(|call| host.timers.retain(|_, waiting| waiting != call));
        let mut is_answered = false;
        for call in turn.calls {
            is_answered |= host.take(call, &mut vm);
        }
        match turn.state {
            State::Done(value) => return Ran { output, result: Ok(value) },
            State::Failed(failure) => return Ran { output, result: Err(failure.fault.to_string()) },
            State::OutOfFuel => host.tick(&mut vm, 1),
            State::Waiting if is_answered => {}
            State::Waiting => host.next(&mut vm),
        }
    }
}

#[derive(Default)]
struct Host {
    now: i64,
    count: u64,
    /// When which call is due; those of the same time in the order in which they came.
    timers: BTreeMap<(i64, u64), u64>,
    files: BTreeMap<String, Value>,
}

impl Host {
    /// Tells whether it was answered at once.
    fn take(&mut self, call: Call, vm: &mut Vm) -> bool {
        match call.builtin {
            "sleep" | "deadline" | "__sleep" => {
                let ms = match call.args.first() {
                    Some(Value::Duration(ms) | Value::Int(ms)) => *ms,
                    _ => 0,
                };
                self.count += 1;
                self.timers.insert((self.now.saturating_add(ms), self.count), call.id);
                return false;
            }
            "__monotonic_ms" => vm.complete(call.id, Ok(Value::Int(self.now))),
            "__now_ms" => vm.complete(call.id, Ok(Value::Int(1_700_000_000_000 + self.now))),
            // A program named `slow` never ends; the others print how they were called.
            "__exec" | "__shell" if call.args.get(1).is_some_and(|name| name.display() == "slow") => {
                return false;
            }
            "__exec" | "__shell" => vm.complete(call.id, Ok(command(&call))),
            "__emit" => vm.complete(call.id, Ok(Value::Nil)),
            "is_stdout_tty" => vm.complete(call.id, Ok(Value::Bool(false))),
            "platform" => vm.complete(call.id, Ok("linux".into())),
            "env" => vm.complete(call.id, Ok("/usr/bin/zsh".into())),
            "write_file" | "write_file_bytes" | "read_file" | "file_exists" | "delete_file" | "mkdir" => {
                let answer = self.file(&call);
                vm.complete(call.id, answer);
            }
            other => {
                let nothing = || Err(Fault::thrown(format!("{other}: there is no host for it")));
                vm.complete(call.id, harness::answer(other, &call.args).unwrap_or_else(nothing));
            }
        }
        true
    }

    fn file(&mut self, call: &Call) -> Result<Value, Fault> {
        let path = call.args.first().map(Value::display).unwrap_or_default();
        match call.builtin {
            "read_file" => {
                let missing = || Fault::thrown(format!("Failed to read file {path}: there is none"));
                self.files.get(&path).cloned().ok_or_else(missing)
            }
            "file_exists" => Ok(Value::Bool(path == "/bin/sh" || self.files.contains_key(&path))),
            "delete_file" => Ok(self.files.remove(&path).map_or(Value::Nil, |_| Value::Nil)),
            "mkdir" => Ok(Value::Nil),
            _ => {
                self.files.insert(path, call.args.get(1).cloned().unwrap_or_default());
                Ok(Value::Nil)
            }
        }
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
