//! Scripts as programs of the driver: stopped at every commit they end as if left alone, and the same completions in the
//! same order give the same journal.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod generate;
mod memory;
mod registered;
mod streams;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use generate::{Chance, program};
use harn_core::ports::{RunExit, Runner};
use harn_core::run::{Completion, Effect, EffectKey, Program, Request, Step, Verdict};
use harn_core::tool::{ToolOutcome, ToolResult};
use harn_engine::Engine;
use harn_engine::script::ScriptProgram;
use harn_lang::builtins::{self, Body, Builtin};
use harn_lang::bytecode::{Program as Code, Source};
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::vm::Vm;
use memory::{Memory, Point, engine, options, record};
use parking_lot::Mutex;
use serde_json::json;

/// What is left of a run, whatever happened on the way.
#[derive(Debug, PartialEq)]
struct Story {
    shown: String,
    value: Option<serde_json::Value>,
    failure: Option<String>,
    /// How often each line was written.
    written: BTreeMap<String, usize>,
    /// What nobody knows whether it happened.
    interrupted: usize,
}

/// Runs a program to its end, stopped at one commit and then left alone. None when it has no such commit.
fn story(runtime: &tokio::runtime::Runtime, text: &str, stop_at: Option<(Point, usize)>) -> Option<Story> {
    story_with(&engine(), runtime, text, stop_at)
}

fn story_with(
    engine: &Engine,
    runtime: &tokio::runtime::Runtime,
    text: &str,
    stop_at: Option<(Point, usize)>,
) -> Option<Story> {
    let folder = tempfile::tempdir().unwrap();
    let memory = Arc::new(Memory::new(record(text, folder.path()), stop_at));
    let mut exit = runtime.block_on(engine.run(memory.clone()));
    if stop_at.is_some() {
        if !memory.is_stopped() {
            return None;
        }
        // Stopped after its last commit, a run is over without knowing it.
        if memory.is_over() {
            exit = RunExit::Over;
        } else {
            assert_eq!(exit, RunExit::Suspended, "{text}");
            memory.revive();
            exit = runtime.block_on(engine.run(memory.clone()));
        }
    }
    assert_eq!(exit, RunExit::Over, "{text}");
    let end = memory.end();
    let failure = end.result.err().map(|failure| failure.message);
    let written = written(folder.path());
    Some(Story {
        shown: memory.shown(),
        value: end.value,
        failure,
        written,
        interrupted: memory.interrupted(),
    })
}

fn written(folder: &Path) -> BTreeMap<String, usize> {
    let mut lines = BTreeMap::new();
    for line in std::fs::read_to_string(folder.join("log")).unwrap_or_default().lines() {
        *lines.entry(line.to_owned()).or_default() += 1;
    }
    lines
}

/// Stops a program at every commit in turn, before and after it is durable, and compares what is left.
fn check(runtime: &tokio::runtime::Runtime, text: &str) -> usize {
    let alone = story(runtime, text, None).unwrap();
    assert_eq!((&alone.failure, alone.interrupted), (&None, 0), "{text}");
    assert!(alone.written.values().all(|times| *times == 1), "{text}");
    let mut lives = 0;
    for n in 1.. {
        let mut is_stopped = false;
        for point in [Point::Before, Point::After] {
            let Some(cut) = story(runtime, text, Some((point, n))) else { continue };
            is_stopped = true;
            lives += 1;
            let when = format!("stopped {point:?} commit {n} of:\n{text}");
            compare(&alone, &cut, &when);
        }
        if !is_stopped {
            break;
        }
    }
    lives
}

/// A run that was cut short came to the same, and nothing happened twice.
fn compare(alone: &Story, cut: &Story, when: &str) {
    assert_eq!(
        (&cut.shown, &cut.value, &cut.failure),
        (&alone.shown, &alone.value, &alone.failure),
        "{when}"
    );
    assert!(cut.written.values().all(|times| *times == 1), "{:?} {when}", cut.written);
    let missing = alone.written.keys().filter(|line| !cut.written.contains_key(*line)).count();
    assert!(missing <= cut.interrupted, "{missing} of {} {when}", cut.interrupted);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

#[test]
fn generated_programs_stopped_at_every_commit_end_as_if_left_alone() {
    let runtime = runtime();
    let lives: usize = (0..programs(20)).map(|seed| check(&runtime, &program(seed))).sum();
    assert!(lives > 50, "only {lives} lives were cut short");
}

#[test]
fn hundreds_of_generated_programs_stopped_somewhere_end_as_if_left_alone() {
    let runtime = runtime();
    for seed in 1000..1000 + programs(250) {
        let text = program(seed);
        let mut chance = Chance::new(seed);
        let point = if chance.below(2) == 0 { Point::Before } else { Point::After };
        let Some(cut) = story(&runtime, &text, Some((point, 1 + chance.below(12)))) else { continue };
        let alone = story(&runtime, &text, None).unwrap();
        compare(&alone, &cut, &text);
    }
}

/// As many as fit into the time of a test, or as many as somebody wants.
fn programs(usual: u64) -> u64 {
    std::env::var("PROGRAMS").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

#[test]
fn a_program_that_computes_for_long_is_struck_at_the_same_step() {
    let busy = "let t = spawn { sleep(5)\n \"slept\" }\nsleep(0)\nvar n = 0\nwhile n < 3000000 { n += 1 }\n\
                println(n)\nprintln(await(t))\ntry { append_file(\"log\", \"end\\n\") } catch (e) { nil }\nn\n";
    check(&runtime(), busy);
}

/// Everything that leaves a program, in order.
#[derive(Debug, Default, PartialEq)]
struct Trace {
    asked: Vec<String>,
    shown: String,
    end: String,
    /// Which effects completed in which order.
    order: Vec<EffectKey>,
}

/// Drives a program with completions in an order that is chosen here: by chance, or as it was before.
fn drive(code: &Arc<Code>, mut choose: impl FnMut(&[Effect]) -> usize) -> Trace {
    let vm = Vm::new(Arc::clone(code), Vec::new(), Default::default(), 7);
    let mut program = ScriptProgram::new(Arc::new(Mutex::new(vm)));
    let mut trace = Trace::default();
    let mut open: Vec<Effect> = Vec::new();
    let mut step = program.start();
    loop {
        trace.shown.extend(program.take_output().into_iter().map(|shown| shown.text));
        let dropped = program.take_dropped();
        let fresh = match step {
            Step::Done(end) => {
                trace.end = format!("{:?} {:?}", end.result, end.value);
                return trace;
            }
            Step::Waiting(fresh) => fresh,
            Step::Busy(fresh) => {
                open.extend(fresh);
                step = program.go_on(None);
                continue;
            }
        };
        trace.asked.extend(fresh.iter().map(|effect| format!("{:?}", effect)));
        open.extend(fresh);
        open.retain(|effect| !dropped.contains(&effect.key));
        let effect = open.remove(choose(&open));
        trace.order.push(effect.key.clone());
        step = program.resume(&effect.key, &completion(&effect));
    }
}

fn completion(effect: &Effect) -> Completion {
    let Request::Call(call) = &effect.request else { return Completion::Time { refused: None } };
    let output = match call.name.as_str() {
        "read_file" => json!(format!("<{}>", call.args["path"].as_str().unwrap())),
        _ => json!(null),
    };
    let (call_id, name, media) = (call.id.clone(), call.name.clone(), Vec::new());
    Completion::Tool { result: ToolResult { call_id, name, outcome: ToolOutcome::Ok, output, media } }
}

#[test]
fn the_same_completions_in_the_same_order_give_the_same_journal() {
    for seed in 0..programs(200) {
        let text = program(seed);
        let source = Source { name: "main.harn".into(), text: text.as_str().into() };
        let code = Arc::new(compile(source, &NoModules, &Settings::default()).unwrap());
        let mut shown = None;
        for round in 0..20 {
            let mut chance = Chance::new(seed * 31 + round);
            let first = drive(&code, |open| chance.below(open.len()));
            let mut order = first.order.iter();
            let again = drive(&code, |open| {
                let key = order.next().unwrap();
                open.iter().position(|effect| effect.key == *key).unwrap()
            });
            assert_eq!(first, again, "{text}");
            // Nothing that these programs print depends on the order.
            let is_timed = text.contains("deadline");
            let before = shown.get_or_insert_with(|| first.shown.clone());
            assert!(is_timed || *before == first.shown, "{text}");
        }
    }
}

/// Code that makes the call of this name.
fn asking_for(call: &str) -> String {
    let request = |builtin: &str, method: &str| {
        format!("{builtin}({{method: \"{method}\", url: \"http://nowhere.test/\"}})")
    };
    match call {
        "http_read" => return request("__http", "GET"),
        "http_send" => return request("__http", "POST"),
        "http_open_read" => return request("__http_open", "GET"),
        "http_open_send" => return request("__http_open", "POST"),
        "http_read_piece" => return "__http_read(\"x\", 1)".to_owned(),
        _ => {}
    }
    let name = [format!("__{call}"), call.to_owned()];
    let asks = |builtin: &&Builtin| matches!(builtin.body, Body::Effect | Body::Vm);
    let found = name.iter().find_map(|name| builtins::find(name).and_then(builtins::get).filter(asks));
    let builtin = found.unwrap_or_else(|| panic!("no builtin asks for `{call}`"));
    let params = builtin.params.split(", ").filter(|param| !param.is_empty());
    let args: Vec<&str> = params.map(|_| "json_parse(\"null\")").collect();
    format!("{}({})", builtin.name, args.join(", "))
}

/// Whatever a script can ask for, policy can refuse, and that is written down.
#[test]
fn every_call_can_be_denied_and_the_decision_is_recorded() {
    let runtime = runtime();
    let engine = Engine::new(options());
    // A builtin that only a host knows is called by programs that were compiled for one.
    for spec in engine.calls().iter().filter(|spec| spec.name != "builtin_call") {
        let text =
            format!("println(try {{ {} }} catch (e) {{ error_category(e) }})\n", asking_for(&spec.name));
        let folder = tempfile::tempdir().unwrap();
        let memory = Arc::new(Memory::denying(record(&text, folder.path())));
        assert_eq!(runtime.block_on(engine.run(memory.clone())), RunExit::Over, "{text}");
        assert_eq!(memory.shown(), "permission_denied\n", "{text} {:?}", memory.end());
        assert_eq!(memory.decided(&spec.name), Some(Verdict::Deny), "{text}");
    }
}
