//! Builtins that remember something or need the time: log lines, colours, input, spans, ids, tokens, bound tools.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use std::sync::Arc;

use harn_lang::bytecode::Source;
use harn_lang::compile::{NoModules, Settings, compile};
use harn_lang::fault::Fault;
use harn_lang::value::Value;
use harn_lang::vm::{Channel, Limits, State, Vm};
use support::{fails, prints, run, run_with};

/// The names of the calls that a program makes, what it writes to the error stream, and how it ends; each call is
/// answered with 1000.
fn asked(text: &str) -> (Vec<String>, String, Result<Value, Fault>) {
    let source = Source { name: "test.harn".into(), text: text.into() };
    let Ok(program) = compile(source, &NoModules, &Settings::default()) else { panic!("no program: {text}") };
    let mut vm = Vm::new(Arc::new(program), Vec::new(), Limits::default(), 1);
    let (mut calls, mut errors) = (Vec::new(), String::new());
    loop {
        let turn = vm.run(1_000_000);
        let written = turn.output.iter().filter(|part| part.to == Channel::Error);
        written.for_each(|part| errors.push_str(&part.text));
        for call in turn.calls {
            calls.push(call.key.clone());
            vm.complete(call.id, Ok(Value::Int(1000)));
        }
        match turn.state {
            State::Done(value) => return (calls, errors, Ok(value)),
            State::Failed(failure) => return (calls, errors, Err(failure.fault)),
            State::OutOfFuel | State::Waiting => {}
        }
    }
}

#[test]
fn a_log_line_is_json_on_the_error_stream_with_the_time_of_the_host() {
    let (calls, errors, _) = asked(
        r#"
        log_info("started", {b: [1, nil], a: "x", ts: "mine"})
        log_debug("hidden")
        log_set_level("debug")
        log_debug("shown")
        log_error("plain", 5)
        log_json("key", {a: 1.5})
        "#,
    );
    assert_eq!(
        errors,
        concat!(
            r#"{"ts":"1970-01-01T00:00:01.000Z","level":"info","msg":"started","a":"x","b":[1,null]}"#,
            "\n",
            r#"{"ts":"1970-01-01T00:00:01.000Z","level":"debug","msg":"shown"}"#,
            "\n",
            r#"{"ts":"1970-01-01T00:00:01.000Z","level":"error","msg":"plain","fields":5}"#,
            "\n",
            r#"{"ts":"1970-01-01T00:00:01.000Z","key":"key","value":{"a":1.5}}"#,
            "\n",
        )
    );
    // The one that is not written does not ask for the time.
    assert_eq!(calls, ["__now_ms:main:1", "__now_ms:main:2", "__now_ms:main:3", "__now_ms:main:4"]);
}

#[test]
fn levels_and_modes_that_nobody_knows_are_refused() {
    fails(&[
        (
            r#"log_set_level("loud")"#,
            "log_set_level: unknown level 'loud', expected debug, info, warn or error",
        ),
        (r#"set_color_mode("pink")"#, "set_color_mode: unknown mode 'pink', expected auto, always or never"),
        (
            r#"mock_tty("stdlog", true)"#,
            "mock_tty: unknown stream 'stdlog', expected stdin, stdout or stderr",
        ),
        ("trace_end(5)", "trace_end: argument must be a span (created with trace_start())"),
        (r#"tool_ref("a")"#, "tool_ref: no tool registry is bound; call tool_bind(registry) first"),
        ("tool_bind(5)", "tool_bind: first argument must be a tool registry (created with tool_registry())"),
    ]);
}

#[test]
fn the_error_stream_can_be_kept() {
    prints(&[(
        r#"
        capture_stderr_start()
        eprint("a")
        eprintln("b")
        println("[" + capture_stderr_take() + "]")
        println("[" + capture_stderr_take() + "]")
        "#,
        "[ab\n]\n[]\n",
    )]);
    let (_, errors, _) = asked("capture_stderr_start()\neprint(1)\ncapture_stderr_take()\neprint(2)");
    assert_eq!(errors, "2");
}

#[test]
fn colours_are_for_terminals_unless_they_are_asked_for() {
    prints(&[
        (r#"println(color("x", "red"))"#, "x\n"),
        (r#"set_color_mode("always"); println(color("x", "red"))"#, "\u{1b}[31mx\u{1b}[0m\n"),
        (
            r#"set_color_mode("always"); println(bold(1) + dim(2))"#,
            "\u{1b}[1m1\u{1b}[0m\u{1b}[2m2\u{1b}[0m\n",
        ),
        (r#"set_color_mode("always"); println(color("x", "mauve"))"#, "x\n"),
        (r#"mock_tty("stdout", true); println(color("x", "green"))"#, "\u{1b}[32mx\u{1b}[0m\n"),
        (r#"mock_tty("stdout", true); set_color_mode("never"); println(bold("x"))"#, "x\n"),
        (
            r#"
            mock_tty("stdin", true)
            mock_tty("stderr", false)
            println(is_stdin_tty())
            println(is_stderr_tty())
            unmock_tty()
            println(is_stdout_tty())
            "#,
            "true\nfalse\nfalse\n",
        ),
    ]);
}

#[test]
fn pretended_input_is_read_by_lines_or_whole() {
    prints(&[
        (
            r#"
            mock_stdin("one\n\nlast")
            println(read_line())
            println(read_line())
            println(prompt_user("name? "))
            println(read_line())
            "#,
            "one\n\nname? last\nnil\n",
        ),
        (
            r#"
            mock_stdin("a\nb\n")
            read_line()
            print(read_stdin())
            println(read_stdin())
            "#,
            "b\nnil\n",
        ),
    ]);
    fails(&[(r#"mock_stdin("x"); unmock_stdin(); read_line()"#, "read_line: there is no host for it")]);
}

#[test]
fn progress_is_a_line() {
    prints(&[
        (r#"progress("build", "compiling", 3, 10)"#, "[build] compiling (3/10)\n"),
        (r#"progress("build", "compiling", 0.5)"#, "[build] compiling (0.5)\n"),
        (r#"progress("build", "done")"#, "[build] done\n"),
    ]);
}

#[test]
fn spans_nest_and_are_recorded_once_tracing_is_on() {
    prints(&[(
        r#"
        println(trace_id())
        trace_end(trace_start("not recorded"))
        enable_tracing()
        let outer = trace_start("outer")
        let inner = trace_start("inner")
        println(inner.parent_id == outer.span_id && trace_id() == outer.trace_id)
        sleep(20ms)
        trace_end(inner)
        sleep(5ms)
        trace_end(outer)
        trace_end(outer)
        println(trace_spans().map({ span -> "${span.name} ${span.start_ms} ${span.duration_ms}" }))
        println(trace_summary())
        println(trace_id())
        "#,
        "nil\ntrue\n[inner 1700000000000 20, outer 1700000000000 25]\n\
         2 spans\n  inner: 1 in 20ms\n  outer: 1 in 25ms\nnil\n",
    )]);
    // A span that is never ended goes with the one around it, and there are never too many.
    prints(&[(
        r#"
        enable_tracing()
        let outer = trace_start("outer")
        for i in 0 to 12000 { trace_start("lost") }
        trace_end(outer)
        trace_end(trace_start("next"))
        println(trace_spans().map({ span -> span.name }))
        "#,
        "[outer, next]\n",
    )]);
    let (_, errors, _) = asked(r#"trace_end(trace_start("s"))"#);
    let line = errors.strip_prefix(r#"{"ts":"1970-01-01T00:00:01.000Z","level":"info","msg":"span_end","#);
    assert!(line.is_some_and(|line| line.starts_with(r#""duration_ms":0,"name":"s","#)), "{errors}");
}

#[test]
fn ids_come_from_the_seed_and_the_time_from_the_host() {
    let ids = "println(uuid())\nprintln(uuid())\nprintln(uuid_v7())";
    let (first, again) = (run(ids).output, run(ids).output);
    assert_eq!(first, again);
    let lines: Vec<&str> = first.lines().collect();
    assert_ne!(lines[0], lines[1]);
    assert!(lines[0].len() == 36 && &lines[0][14..15] == "4", "{first}");
    assert!(lines[2].starts_with("018bcfe5-6800-7"), "{first}");
    prints(&[
        ("println(date_now_iso())", "2023-11-14T22:13:20.000Z\n"),
        // What a program calls by the same name is its own business.
        ("fn now_ms() { return \"never\" }\nprintln(date_now_iso())", "2023-11-14T22:13:20.000Z\n"),
        (
            "let now = date_now()\nprintln([now.year, now.month, now.day, now.weekday, now.timestamp, now.zone])",
            "[2023, 11, 14, 2, 1700000000.0, UTC]\n",
        ),
    ]);
}

#[test]
fn a_token_is_only_valid_in_its_time() {
    prints(&[
        (r#"println(jwt_verify("HS256", jwt_sign("HS256", {a: 1}, "k"), "k"))"#, "{a: 1}\n"),
        (
            r#"println(jwt_verify("HS256", jwt_sign("HS256", {exp: 1700000001, nbf: 1700000000}, "k"), "k").exp)"#,
            "1700000001\n",
        ),
    ]);
    fails(&[
        (
            r#"jwt_verify("HS256", jwt_sign("HS256", {exp: 1700000000}, "k"), "k")"#,
            "jwt_verify: the token has expired",
        ),
        (
            r#"jwt_verify("HS256", jwt_sign("HS256", {nbf: 1700000060}, "k"), "k")"#,
            "jwt_verify: the token is not valid yet",
        ),
        (
            r#"jwt_verify("HS256", jwt_sign("HS256", {}, "k"), "other")"#,
            "jwt_verify: the signature does not hold",
        ),
    ]);
}

#[test]
fn a_bound_registry_is_looked_into_by_name() {
    let define = r#"
        let tools = tool_define(tool_registry(), "add", "Adds", {handler: { args -> args.a }})
        tool_bind(tools)
    "#;
    prints(&[(
        &format!("{define}\nprintln(tool_ref(\"add\"))\nprintln(tool_def(\"add\").description)"),
        "add\nAdds\n",
    )]);
    fails(&[(
        &format!("{define}\ntool_ref(\"subtract\")"),
        "tool_ref: the bound registry has no tool \"subtract\"",
    )]);
}

#[test]
fn values_that_hold_others_many_times_do_no_harm() {
    let limits = Limits { memory: 2 << 20, fuel: 20_000_000, ..Limits::default() };
    let folded = |start: &str, step: &str| format!("var d = {start}; for i in 0 to 60 {{ d = {step} }}\n");
    let lists = folded("[1]", "[d, d]");
    for use_of_it in [
        "log_info(d)",
        "log_info(\"x\", {d: d})",
        "color(d, \"red\")",
        "progress(d, d)",
        "trace_start(d)",
        "mock_stdin(d)",
        "set(d) == set(d)",
        "[d, d].unique()",
        "render_string(\"{{ d }}\", {d: d})",
    ] {
        let ran = run_with(&format!("{lists}{use_of_it}"), limits);
        let error = ran.result.err().unwrap_or_else(|| panic!("no error: {use_of_it}"));
        assert!(error.contains("limit exceeded"), "{use_of_it}: {error}");
    }
    let pairs =
        "var d = pair(1, 2); var f = pair(1, 2)\nfor i in 0 to 60 { d = pair(d, d); f = pair(f, f) }\n";
    let ran = run_with(&format!("{pairs}println(d < f)\nprintln(len([d, f, d].sort()))"), limits);
    assert_eq!((ran.output.as_str(), ran.result.is_ok()), ("false\n3\n", true));
    let many = "var s = []\nfor i in 0 to 4000 { s = s.push({ -> i }) }\nprintln(len(s.unique()))";
    assert_eq!(run(many).output, "4001\n");
}
