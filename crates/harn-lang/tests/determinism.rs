//! The same program with the same answers in the same order makes the same calls and prints the same, however the host
//! cuts its time into slices.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::VecDeque;
use std::sync::{Arc, OnceLock};

use harn_lang::bytecode::{Program, Source};
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::value::{Text, Value};
use harn_lang::vm::{Limits, State, Vm};
use proptest::prelude::*;

const PROGRAMS: &[&str] = &[
    "let ch = channel(\"c\", 3)\nspawn {\n for i in 1 to 20 {\n  send(ch, i)\n  if i % 4 == 0 { sleep(i) }\n }\n close_channel(ch)\n}\nlet sums = parallel 3 { n ->\n var sum = 0\n for x in ch {\n  sum = sum + x\n  sleep(n)\n }\n sum\n}\nprintln(sums)",
    "let total = atomic(0)\nlet r = parallel each [5, 1, 4, 2, 3] with { max_concurrent: 2 } { n ->\n sleep(n)\n mutex {\n  let seen = atomic_get(total)\n  sleep(1)\n  atomic_set(total, seen + n)\n }\n println(n)\n n * 10\n}\nprintln(r)\nprintln(atomic_get(total))",
    "fn numbers(n) {\n var i = 0\n while i < n {\n  sleep(1)\n  yield i\n  i = i + 1\n }\n}\nlet tasks = [3, 2, 4].map({ n -> spawn { iter(numbers(n)).map({ x -> x * n }).to_list() } })\nfor task in tasks { println(await(task)) }",
    "let a = channel(\"a\")\nlet b = channel(\"b\")\nspawn {\n sleep(2)\n send(a, \"first\")\n}\nspawn {\n sleep(1)\n send(b, \"second\")\n}\nvar seen = 0\nwhile seen < 3 {\n select {\n  x from a { println(x) }\n  y from b { println(y) }\n  timeout 5ms { println(\"late\") }\n }\n seen = seen + 1\n}",
    "let c = shared_cell(\"n\", 0)\nlet m = shared_map(\"m\")\nparallel 4 { i ->\n var done = false\n while !done {\n  let s = shared_snapshot(c)\n  sleep(i % 3)\n  done = shared_cas(c, s, s.value + i)\n  shared_map_set(m, to_string(i), s.version)\n }\n}\nprintln(shared_get(c)); println(shared_map_entries(m)); println(shared_metrics(c))",
    "let box = mailbox_open(\"in\", 2)\nlet readers = [1, 2].map({ n -> spawn {\n var got = []\n var item = mailbox_receive(box)\n while item != nil {\n  got = got.push(item)\n  sleep(n)\n  item = mailbox_receive(box, 20)\n }\n got\n} })\nfor i in 1 to 9 {\n mailbox_send(box, i)\n if i % 3 == 0 { sleep(2) }\n}\nmailbox_close(box)\nfor r in readers { println(await(r)) }\nprintln(mailbox_metrics(box))",
    "let n = atomic(0)\nlet s = supervisor_start({strategy: \"one_for_all\", max_restarts: 4, window: 1s, backoff: {initial: 2ms}, children: [\n {name: \"a\", restart: \"transient\", fn: { me ->\n  sleep(3)\n  println(\"a ${me.attempt}\")\n  if atomic_add(n, 1) < 2 { throw \"boom\" }\n }},\n {name: \"b\", fn: { -> while !is_cancelled() { sleep(2) } }}\n]})\nsleep(40)\nprintln(supervisor_state(s)); println(supervisor_events(s)); println(supervisor_stop(s, 10).status)",
    "gen fn ticks(n, ms) {\n for i in 1 to n {\n  sleep(ms)\n  emit i * ms\n }\n}\nprintln(stream.collect(stream.merge(ticks(4, 3), ticks(3, 2), [0])))\nprintln(to_list(stream.race(ticks(3, 3), ticks(2, 2))))\nprintln(to_list(stream.debounce(ticks(4, 3), 2)))\nprintln(to_list(stream.throttle(ticks(3, 1), 300)))\nprintln(parallel each stream.broadcast(ticks(3, 1), 2) { s -> to_list(s) })\nprintln(parallel_race([5, 2, 4], { x ->\n sleep(x)\n if x == 2 { throw \"no\" }\n x\n}))",
    "circuit_breaker(\"api\", 2, 5)\nlet out = parallel 3 { i ->\n sleep(i)\n circuit_record_failure(\"api\")\n sleep(6)\n circuit_check(\"api\")\n}\nprintln(out)\nlet t = timer_start(\"t\")\nlet k = atomic(0)\nprintln(with_rate_limit(\"p\", { ->\n if atomic_add(k, 1) < 2 { throw \"HTTP 429\" }\n runtime_context().task_id\n}, {backoff: 2}))\nprintln(timer_end(t) >= 0)\nlet h = spawn { while !is_cancelled() { sleep(1) } }\nsleep(3)\nprintln(cancel_graceful(h, 5))",
    "let order = shared_cell(\"order\", [])\nlet all = parallel settle [1, 2, 3, 4, 5] { i ->\n let permit = i == 3 ? sync_rwlock_acquire(\"l\", \"write\", 6) : sync_rwlock_acquire(\"l\", \"read\", 8)\n sleep(i)\n shared_set(order, shared_get(order).push(i))\n sync_release(permit)\n let gate = sync_gate_acquire(\"g\", 2, 3)\n sleep(2)\n if gate == nil { throw \"late\" }\n sync_release(gate)\n}\nprintln(all); println(shared_get(order)); println(sync_metrics())",
    "let r = try {\n deadline 3ms {\n  parallel 2 { n ->\n   sleep(10)\n   n\n  }\n }\n} catch (e) { e }\nprintln(r)\nlet settled = parallel settle [1, 0, 2] { n ->\n sleep(n)\n 10 / n\n}\nprintln(settled)",
];

fn compiled(text: &str) -> Arc<Program> {
    let source = Source { name: "test.harn".into(), text: text.into() };
    match compile(source, &NoModules, &Settings::default()) {
        Ok(program) => Arc::new(program),
        Err(failed) => panic!("{:?}", failed.all),
    }
}

/// All programs, compiled once.
fn programs() -> &'static [Arc<Program>] {
    static ALL: OnceLock<Vec<Arc<Program>>> = OnceLock::new();
    ALL.get_or_init(|| PROGRAMS.iter().map(|text| compiled(text)).collect())
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

/// A machine and the calls that it waits for, which are answered one by one.
struct Host {
    vm: Vm,
    now: i64,
    /// When each is due, its number, and whether it asks for the time.
    open: VecDeque<(i64, u64, bool)>,
    trace: Trace,
    /// What every call but those of the clock is answered with.
    answer: Value,
}

impl Host {
    fn new(program: &Arc<Program>) -> Self {
        let vm = Vm::new(Arc::clone(program), Vec::new(), Limits::default(), 7);
        Self { vm, now: 0, open: VecDeque::new(), trace: Trace::default(), answer: Value::Nil }
    }

    /// Runs until an answer is needed. Gives false when the program has ended.
    fn run(&mut self, mut slices: impl FnMut() -> u64) -> bool {
        loop {
            let turn = self.vm.run(slices());
            turn.output.iter().for_each(|part| self.trace.output.push_str(&part.text));
            for call in &turn.calls {
                let args: Vec<String> = call.args.iter().map(Value::display).collect();
                self.trace.calls.push(format!("{} {} {args:?}", call.id, call.key));
                let ms = match call.args.first() {
                    Some(Value::Int(ms) | Value::Duration(ms)) => *ms,
                    _ => 0,
                };
                self.open.push_back((self.now + ms, call.id, call.builtin == "__monotonic_ms"));
            }
            for call in turn.dropped {
                self.trace.dropped.push(call);
                self.open.retain(|(_, waiting, _)| *waiting != call);
            }
            match turn.state {
                State::Done(value) => self.trace.end = format!("done {value}"),
                State::Failed(failure) => self.trace.end = format!("failed {}", failure.fault),
                State::OutOfFuel => continue,
                State::Waiting => return true,
            }
            return false;
        }
    }

    /// The call that is due first.
    fn first(&self) -> usize {
        let due = self.open.iter().enumerate().min_by_key(|(_, (due, id, _))| (*due, *id));
        due.map(|(at, _)| at).expect("something to wait for")
    }

    fn answer(&mut self, at: usize) {
        let (due, call, is_clock) = self.open.remove(at).unwrap();
        self.now = self.now.max(due);
        let value = if is_clock { Value::Int(self.now) } else { self.answer.clone() };
        self.vm.complete(call, Ok(value));
    }
}

/// Calls are answered in the order in which they are due.
fn trace(program: &Arc<Program>, mut slices: impl FnMut() -> u64) -> Trace {
    let mut host = Host::new(program);
    while host.run(&mut slices) {
        host.answer(host.first());
    }
    host.trace
}

/// Calls are answered in an order of chance; now and then the oldest, so that none waits for ever.
fn trace_in_order(program: &Arc<Program>, mut slices: impl FnMut() -> u64, order: &[usize]) -> Trace {
    let mut host = Host::new(program);
    for (count, choice) in order.iter().cycle().enumerate() {
        if !host.run(&mut slices) {
            break;
        }
        let at = if count % 4 == 3 { 0 } else { choice % host.open.len() };
        host.answer(at);
    }
    host.trace
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn slices_of_any_size_give_the_same_trace(sizes in prop::collection::vec(1u64..400, 1..50)) {
        for program in programs() {
            let whole = trace(program, || u64::MAX);
            prop_assert!(whole.end.starts_with("done"), "{:?}", whole);
            let mut next = sizes.iter().copied().cycle();
            prop_assert_eq!(trace(program, || next.next().unwrap()), whole);
        }
    }

    #[test]
    fn the_order_of_the_answers_is_all_that_matters(
        order in prop::collection::vec(0usize..100, 1..50),
        sizes in prop::collection::vec(1u64..400, 1..50),
    ) {
        for program in programs() {
            let whole = trace_in_order(program, || u64::MAX, &order);
            let mut next = sizes.iter().copied().cycle();
            prop_assert_eq!(trace_in_order(program, || next.next().unwrap(), &order), whole);
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

#[test]
fn a_vm_that_is_dropped_while_it_waits_holds_nothing() {
    for text in PROGRAMS {
        let program = compiled(text);
        let answer = Arc::new(Text::new("answer"));
        for answers in 0..60 {
            let mut host = Host::new(&program);
            host.answer = Value::Str(Arc::clone(&answer));
            for _ in 0..answers {
                if !host.run(|| 100) {
                    break;
                }
                host.answer(host.first());
            }
            host.vm.call(Value::Str(Arc::clone(&answer)), vec![host.answer.clone()]);
            host.run(|| 100);
        }
        assert_eq!((Arc::strong_count(&program), Arc::strong_count(&answer)), (1, 1), "{text}");
    }
}
