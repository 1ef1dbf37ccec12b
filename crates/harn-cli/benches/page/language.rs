//! The language beside Python, Lua and Rhai: the same programs in each, and how fast programs are checked and laid out.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use harn_lang::bytecode::{Program, Source};
use harn_lang::compile::{NoModules, Settings, check, compile};
use harn_lang::vm::{Limits, State, Vm};

/// How often each is measured in turn; the best one counts.
const ROUNDS: usize = 3;

/// A program in each language that has one.
struct Row {
    what: &'static str,
    harn: &'static str,
    python: &'static str,
    lua: Option<&'static str>,
    rhai: Option<&'static str>,
}

macro_rules! source {
    ($name:literal, $ending:literal) => {
        include_str!(concat!("language/", $name, ".", $ending))
    };
}

macro_rules! row {
    ($what:literal, $name:literal) => {
        Row {
            what: $what,
            harn: source!($name, "harn"),
            python: source!($name, "py"),
            lua: Some(source!($name, "lua")),
            rhai: Some(source!($name, "rhai")),
        }
    };
}

const ROWS: [Row; 10] = [
    row!("recursive calls", "calls"),
    row!("arithmetic in loops", "arithmetic"),
    row!("building a text", "strings"),
    row!("lists", "lists"),
    row!("dicts", "dicts"),
    row!("closures over items", "closures"),
    row!("sorting numbers", "sort"),
    row!("sorting by a key", "sort_by"),
    Row {
        what: "10,000 fibres",
        harn: source!("fibres", "harn"),
        python: source!("fibres", "py"),
        lua: Some(source!("fibres", "lua")),
        rhai: None,
    },
    Row {
        what: "JSON round trips",
        harn: source!("json", "harn"),
        python: source!("json", "py"),
        lua: None,
        rhai: Some(source!("json", "rhai")),
    },
];

/// What a program gave, and the processor time that it took.
type Run = (String, Duration);

pub fn report(out: &mut impl Write) {
    let python = python();
    let lua = lua();
    writeln!(out, "\nThe language: processor time, best of {ROUNDS}; so many times as long as ours").unwrap();
    for (peer, path) in [("python3", python.is_some()), ("lua5.4", lua.is_some())] {
        if !path {
            writeln!(out, "  {peer} is not installed: no figures for it").unwrap();
        }
    }
    writeln!(out, "  {:<22} {:>10} {:>10} {:>10} {:>10}", "", "harn", "CPython", "Rhai", "Lua 5.4").unwrap();
    for row in &ROWS {
        let times = measure(row, python.as_deref(), lua);
        let [Some(ours), python, rhai, lua] = times else { panic!("ours was not measured") };
        let ratio = |time: Option<Duration>| {
            time.map_or("none".to_owned(), |time| format!("{:.2}", time.as_secs_f64() / ours.as_secs_f64()))
        };
        writeln!(
            out,
            "  {:<22} {:>7.1} ms {:>10} {:>10} {:>10}",
            row.what,
            ours.as_secs_f64() * 1e3,
            ratio(python),
            ratio(rhai),
            ratio(lua)
        )
        .unwrap();
    }
    writeln!(out, "  (Rhai has no fibres, Lua no JSON; Lua's fibres are bare coroutines without a queue)")
        .unwrap();
    start_up(out);
    growth(out);
    sources(out);
}

/// The best times of Harn, Python, Rhai and Lua, which all must give the same.
fn measure(row: &Row, python: Option<&str>, lua: Option<&str>) -> [Option<Duration>; 4] {
    let program = compiled(row.harn);
    let mut engine = rhai::Engine::new();
    engine.set_optimization_level(rhai::OptimizationLevel::Full);
    engine.set_max_expr_depths(0, 0);
    let rhai = row.rhai.map(|source| engine.compile(source).unwrap());
    let mut best: [Option<Duration>; 4] = [None; 4];
    let mut expected: Option<String> = None;
    for round in 0..ROUNDS {
        for turn in 0..4 {
            // Each goes first once, so that none always follows the same one.
            let at = (turn + round) % 4;
            let run = match at {
                0 => Some(run_harn(&program)),
                1 => python.map(|path| run_script(path, row.python, PYTHON_DRIVER)),
                2 => rhai.as_ref().map(|ast| run_rhai(&engine, ast)),
                _ => lua.zip(row.lua).map(|(path, source)| run_script(path, source, LUA_DRIVER)),
            };
            let Some((result, time)) = run else { continue };
            assert_eq!(*expected.get_or_insert_with(|| result.clone()), result, "{} of {at}", row.what);
            best[at] = Some(best[at].map_or(time, |before| before.min(time)));
        }
    }
    best
}

fn compiled(text: &str) -> Arc<Program> {
    let source = Source { name: "bench".into(), text: text.into() };
    match compile(source, &NoModules, &Settings::default()) {
        Ok(program) => Arc::new(program),
        Err(problems) => panic!("{:?}", problems.all),
    }
}

fn run_harn(program: &Arc<Program>) -> Run {
    let before = processor_time();
    let mut vm = Vm::new(Arc::clone(program), Vec::new(), Limits::default(), 1);
    let value = loop {
        match vm.run(1_000_000).state {
            State::Done(value) => break value,
            State::OutOfFuel => {}
            other => panic!("{other:?}"),
        }
    };
    drop(vm);
    (value.display(), processor_time() - before)
}

fn run_rhai(engine: &rhai::Engine, ast: &rhai::AST) -> Run {
    let before = processor_time();
    let value: rhai::Dynamic = engine.call_fn(&mut rhai::Scope::new(), ast, "run", ()).unwrap();
    (value.to_string(), processor_time() - before)
}

/// Scripts take their own time, so that starting them does not count: once to warm up, once in earnest.
const PYTHON_DRIVER: &str = "
import time as _time
run()
_before = _time.process_time()
_result = run()
_taken = _time.process_time() - _before
print(_result)
print(_taken)
";

const LUA_DRIVER: &str = "
run()
local before = os.clock()
local result = run()
local taken = os.clock() - before
print(result)
print(taken)
";

fn run_script(path: &str, source: &str, driver: &str) -> Run {
    let mut child =
        Command::new(path).arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect(path);
    child.stdin.take().unwrap().write_all(format!("{source}{driver}").as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines = text.lines();
    let result = lines.next().unwrap_or_default().to_owned();
    let seconds: f64 = lines.next().and_then(|line| line.parse().ok()).expect("a time");
    (result, Duration::from_secs_f64(seconds))
}

/// The interpreter itself, not what finds it.
fn python() -> Option<String> {
    let asked = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output().ok()?;
    asked.status.success().then(|| String::from_utf8_lossy(&asked.stdout).trim().to_owned())
}

fn lua() -> Option<&'static str> {
    let answered = Command::new("lua5.4").arg("-v").output();
    answered.is_ok_and(|output| output.status.success()).then_some("lua5.4")
}

/// What this thread has used of a processor: other work on the machine does not count.
fn processor_time() -> Duration {
    // The kernel brings the figure up to date when the thread gives way.
    std::thread::yield_now();
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match told.split_whitespace().next().and_then(|nanoseconds| nanoseconds.parse().ok()) {
        Some(nanoseconds) => Duration::from_nanos(nanoseconds),
        None => {
            static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
            START.get_or_init(Instant::now).elapsed()
        }
    }
}

/// From the start of the process to its first line.
pub fn start_up(out: &mut impl Write) {
    let (harn, python, lua) = (Some(env!("CARGO_BIN_EXE_harn")), python(), lua());
    let contenders: [(&str, Option<&str>, &[&str]); 3] = [
        ("harn run", harn, &["run", "-e", "println(1)"]),
        ("python3", python.as_deref(), &["-c", "print(1)"]),
        ("lua5.4", lua, &["-e", "print(1)"]),
    ];
    let mut best = [None; 3];
    for _ in 0..40 {
        for (at, (_, path, args)) in contenders.iter().enumerate() {
            let Some(path) = path else { continue };
            let start = Instant::now();
            let mut child = Command::new(path).args(*args).stdout(Stdio::piped()).spawn().unwrap();
            let mut line = String::new();
            BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
            let taken = start.elapsed();
            child.wait().unwrap();
            assert_eq!(line, "1\n");
            best[at] = Some(best[at].map_or(taken, |before: Duration| before.min(taken)));
        }
    }
    writeln!(out, "\nFrom the start of a process to its first line, best of 40").unwrap();
    for ((what, _, _), best) in contenders.iter().zip(best) {
        match best {
            Some(best) => writeln!(out, "  {what:<22} {:>7.2} ms", best.as_secs_f64() * 1e3).unwrap(),
            None => writeln!(out, "  {what:<22} is not installed").unwrap(),
        }
    }
}

/// What tends to become slow when there is more of it: ten times the work should take ten times as long.
fn growth(out: &mut impl Write) {
    let shapes: [(&str, &str, u32); 6] = [
        ("a text that grows", "var s = \"\"\nfor i in 0 to N exclusive { s = s + \"ab\" }\nlen(s)", 20_000),
        ("a list that grows", "var xs = []\nfor i in 0 to N exclusive { xs = xs.push(i) }\nlen(xs)", 20_000),
        (
            "a list inside of dicts",
            "var d = {a: {b: to_list(range(N))}}\nfor i in 0 to N exclusive { d.a.b[i] = i }\nd.a.b[1]",
            20_000,
        ),
        (
            "a closure over much",
            "let xs = to_list(range(N))\nlet at = { i -> xs[i] }\nvar t = 0\nfor i in 0 to N exclusive { t = t + at(i) }\nt",
            20_000,
        ),
        (
            "tasks that wait",
            "let c = channel(\"c\", 1)\nvar ts = []\nfor i in 0 to N exclusive { ts = ts.push(spawn { receive(c) }) }\n\
             for i in 0 to N exclusive { send(c, i) }\nfor t in ts { await(t) }\n0",
            1_000,
        ),
        ("tasks in parallel", "len(parallel each to_list(range(N)) { i -> i + 1 })", 1_000),
    ];
    writeln!(out, "\nTen times the work: so many times as long").unwrap();
    for (what, source, size) in shapes {
        let time = |size: u32| {
            let program = compiled(&source.replace('N', &size.to_string()));
            (0..ROUNDS).map(|_| run_harn(&program).1).min().unwrap().as_secs_f64()
        };
        let (small, large) = (time(size), time(size * 10));
        writeln!(out, "  {what:<22} {:>7.1}", large / small).unwrap();
    }
}

/// Checking and laying out programs of several lengths.
fn sources(out: &mut impl Write) {
    writeln!(out, "\nPrograms of so many lines: lines per second").unwrap();
    writeln!(out, "  {:<22} {:>12} {:>12}", "", "checked", "laid out").unwrap();
    for lines in [1_000, 10_000, 100_000] {
        let text = long_program(lines);
        let count = text.lines().count() as f64;
        let rate = |work: &dyn Fn()| {
            let time = (0..ROUNDS).map(|_| {
                let before = processor_time();
                work();
                processor_time() - before
            });
            count / time.min().unwrap().as_secs_f64()
        };
        let checked = rate(&|| {
            let source = Source { name: "bench".into(), text: text.as_str().into() };
            let problems = check(source, &NoModules, &Settings::default());
            assert!(problems.all.iter().all(|problem| !problem.is_error()), "{:?}", problems.all.first());
        });
        let laid_out = rate(&|| {
            assert!(!harn_lang::format::format(&text).unwrap().is_empty());
        });
        writeln!(out, "  {lines:<22} {checked:>12.0} {laid_out:>12.0}").unwrap();
    }
}

/// Functions of ten lines, of the kinds that people write.
fn long_program(lines: usize) -> String {
    (0..lines / 10)
        .map(|n| {
            format!(
                "/** The work of part {n}. */\n\
                 fn part_{n}(items: list, limit: int) {{\n\
                 \x20 var total = {n}\n\
                 \x20 for item in items {{\n\
                 \x20   if item > limit && item % 2 == 0 {{ total = total + item * 3 }}\n\
                 \x20 }}\n\
                 \x20 let told = {{name: \"part {n}\", total: total, tags: [\"a\", \"b\"]}}\n\
                 \x20 return told.total + len(told.name)\n\
                 }}\n\n"
            )
        })
        .collect()
}
