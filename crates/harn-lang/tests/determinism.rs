//! The same program with the same answers in the same order makes the same calls and prints the same, however the host
//! cuts its time into slices.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::VecDeque;
use std::sync::Arc;

use harn_lang::bytecode::{Program, Source};
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::value::Value;
use harn_lang::vm::{Limits, State, Vm};
use proptest::prelude::*;

const PROGRAMS: &[&str] = &[
    "let ch = channel(\"c\", 3)\nspawn {\n for i in 1 to 20 {\n  send(ch, i)\n  if i % 4 == 0 { sleep(i) }\n }\n close_channel(ch)\n}\nlet sums = parallel 3 { n ->\n var sum = 0\n for x in ch {\n  sum = sum + x\n  sleep(n)\n }\n sum\n}\nprintln(sums)",
    "let total = atomic(0)\nlet r = parallel each [5, 1, 4, 2, 3] with { max_concurrent: 2 } { n ->\n sleep(n)\n mutex {\n  let seen = atomic_get(total)\n  sleep(1)\n  atomic_set(total, seen + n)\n }\n println(n)\n n * 10\n}\nprintln(r)\nprintln(atomic_get(total))",
    "fn numbers(n) {\n var i = 0\n while i < n {\n  sleep(1)\n  yield i\n  i = i + 1\n }\n}\nlet tasks = [3, 2, 4].map({ n -> spawn { iter(numbers(n)).map({ x -> x * n }).to_list() } })\nfor task in tasks { println(await(task)) }",
    "let a = channel(\"a\")\nlet b = channel(\"b\")\nspawn {\n sleep(2)\n send(a, \"first\")\n}\nspawn {\n sleep(1)\n send(b, \"second\")\n}\nvar seen = 0\nwhile seen < 3 {\n select {\n  x from a { println(x) }\n  y from b { println(y) }\n  timeout 5ms { println(\"late\") }\n }\n seen = seen + 1\n}",
    "let r = try {\n deadline 3ms {\n  parallel 2 { n ->\n   sleep(10)\n   n\n  }\n }\n} catch (e) { e }\nprintln(r)\nlet settled = parallel settle [1, 0, 2] { n ->\n sleep(n)\n 10 / n\n}\nprintln(settled)",
];

fn compiled(text: &str) -> Arc<Program> {
    let source = Source { name: "test.harn".into(), text: text.into() };
    match compile(source, &NoModules, &Settings::default()) {
        Ok(program) => Arc::new(program),
        Err(failed) => panic!("{:?}", failed.all),
    }
}

/// What a program did: its output and how it ended, its calls with their keys, and those that it gave up, each in
/// order.
#[derive(Debug, Default, PartialEq)]
struct Trace {
    output: String,
    calls: Vec<String>,
    dropped: Vec<u64>,
    end: String,
}

/// Calls are answered one by one, in the order in which they are due.
fn trace(program: &Arc<Program>, mut slices: impl FnMut() -> u64) -> Trace {
    let mut vm = Vm::new(Arc::clone(program), Vec::new(), Limits::default(), 7);
    let mut open: VecDeque<(i64, u64)> = VecDeque::new();
    let (mut now, mut trace) = (0, Trace::default());
    loop {
        let turn = vm.run(slices());
        turn.output.iter().for_each(|part| trace.output.push_str(&part.text));
        for call in &turn.calls {
            let args: Vec<String> = call.args.iter().map(Value::display).collect();
            trace.calls.push(format!("{} {} {args:?}", call.id, call.key));
            let ms = match call.args.first() {
                Some(Value::Int(ms) | Value::Duration(ms)) => *ms,
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
                trace.end = format!("done {value}");
                return trace;
            }
            State::Failed(failure) => {
                trace.end = format!("failed {}", failure.fault);
                return trace;
            }
            State::OutOfFuel => {}
            State::Waiting => {
                let next = open.iter().enumerate().min_by_key(|(_, (due, id))| (*due, *id)).map(|(at, _)| at);
                let (due, call) = open.remove(next.expect("something to wait for")).unwrap();
                now = now.max(due);
                vm.complete(call, Ok(Value::Nil));
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn slices_of_any_size_give_the_same_trace(sizes in prop::collection::vec(1u64..400, 1..50)) {
        for text in PROGRAMS {
            let program = compiled(text);
            let whole = trace(&program, || u64::MAX);
            prop_assert!(whole.end.starts_with("done"), "{:?}", whole);
            let mut next = sizes.iter().copied().cycle();
            prop_assert_eq!(trace(&program, || next.next().unwrap()), whole);
        }
    }
}

#[test]
fn a_vm_can_be_dropped_at_any_step_and_moved_between_threads() {
    for text in PROGRAMS {
        let program = compiled(text);
        for steps in (0..400).step_by(7) {
            let mut vm = Vm::new(Arc::clone(&program), Vec::new(), Limits::default(), 7);
            vm.run(steps);
            let vm = std::thread::spawn(move || {
                vm.run(50);
                vm
            });
            drop(vm.join().unwrap());
        }
        assert_eq!(Arc::strong_count(&program), 1, "a dropped machine holds nothing");
    }
}
