//! Runs programs with a host that has nothing but a clock, which stands still while the program computes.

#![allow(dead_code, reason = "each test file uses its part")]

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
}

impl Host {
    /// Tells whether it was answered at once.
    fn take(&mut self, call: Call, vm: &mut Vm) -> bool {
        match call.builtin {
            "sleep" | "deadline" | "sleep_ms" => {
                let ms = match call.args.first() {
                    Some(Value::Duration(ms) | Value::Int(ms)) => *ms,
                    _ => 0,
                };
                self.count += 1;
                self.timers.insert((self.now.saturating_add(ms), self.count), call.id);
                return false;
            }
            "monotonic_ms" | "elapsed" => vm.complete(call.id, Ok(Value::Int(self.now))),
            "now_ms" => vm.complete(call.id, Ok(Value::Int(1_700_000_000_000 + self.now))),
            "is_stdout_tty" => vm.complete(call.id, Ok(Value::Bool(false))),
            other => vm.complete(call.id, Err(Fault::thrown(format!("{other}: there is no host for it")))),
        }
        true
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
