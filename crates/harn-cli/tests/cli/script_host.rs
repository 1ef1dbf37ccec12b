//! What `harn run` offers to scripts: the clock, the environment, files, and standard input.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::kit::Project;
use crate::scripts::{fed, project};

/// Runs code in a project and gives what it prints.
fn prints(project: &Project, code: &str) -> String {
    let output = fed(project, &["run", "-e", code], "first\nsecond\nthird\n");
    assert!(output.status.success(), "{code}: {output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_pretended_clock_stands_still_until_it_is_moved() {
    let project = Project::new();
    let cases = [
        ("mock_time(1000)\nprintln(now_ms())\nprintln(timestamp())", "1000\n1.0\n"),
        (
            "mock_time(0)\nprintln(advance_time(1500))\nprintln(date_now_iso())",
            "1500\n1970-01-01T00:00:01.500Z\n",
        ),
        ("mock_time(0)\nsleep(2h)\nprintln(now_ms())\nprintln(date_now().hour)", "7200000\n2\n"),
        ("mock_time(5)\nunmock_time()\nprintln(now_ms() > 1000000)", "true\n"),
        (
            "let a = monotonic_ms()\nsleep_ms(5)\nprintln(monotonic_ms() >= a + 5)\nprintln(elapsed() < 60000)",
            "true\ntrue\n",
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(prints(&project, code), expected, "{code}");
    }
}

#[test]
fn files_are_read_as_they_are() {
    let project =
        project(&[("b.txt", "one\ntwo\n"), ("sub/a.txt", "x"), ("sub/deep/c.md", "y"), (".hidden", "")]);
    std::fs::write(project.path().join("raw"), [0xff, 0x00]).unwrap();
    let cases = [
        ("println(read_file(\"b.txt\"))", "one\ntwo\n\n"),
        ("println(read_lines(\"b.txt\"))", "[one, two]\n"),
        ("println(len(read_file_bytes(\"raw\")))", "2\n"),
        (
            "println(try { read_file(\"no.txt\") } catch (e) { e })",
            "Failed to read file no.txt: No such file or directory (os error 2)\n",
        ),
        (
            "println(try { read_file(\"raw\") } catch (e) { e })",
            "Failed to read file raw: stream did not contain valid UTF-8\n",
        ),
        (
            "println(read_file_result(\"no.txt\"))",
            "Result.Err(Failed to read file no.txt: No such file or directory (os error 2))\n",
        ),
        ("println(file_exists(\"sub\"), file_exists(\"no\"))\nprintln(file_exists(\"no\"))", "true\nfalse\n"),
        ("println(list_dir())", "[.hidden, b.txt, raw, sub]\n"),
        ("println(list_dir(\"sub\"))", "[a.txt, deep]\n"),
        (
            "println(try { list_dir(\"no\") } catch (e) { e })",
            "Failed to list directory no: No such file or directory (os error 2)\n",
        ),
        ("let s = stat(\"b.txt\")\nprintln([s.size, s.is_file, s.is_dir])", "[8, true, false]\n"),
        ("println(walk_dir(\"sub\").map({ e -> e.path }))", "[sub/a.txt, sub/deep, sub/deep/c.md]\n"),
        (
            "println(walk_dir(\"sub\", {max_depth: 1}).map({ e -> [e.path, e.is_dir] }))",
            "[[sub/a.txt, false], [sub/deep, true]]\n",
        ),
        ("println(glob(\"**/*.txt\"))", "[b.txt, sub/a.txt]\n"),
        ("println(glob(\"*.md\", \"sub/deep\"))", "[sub/deep/c.md]\n"),
        ("println(glob(\"sub/*\"))\nprintln(glob(\"no/*\"))", "[sub/a.txt, sub/deep]\n[]\n"),
    ];
    for (code, expected) in cases {
        assert_eq!(prints(&project, code), expected, "{code}");
    }
}

#[test]
fn standard_input_is_read_line_by_line_or_whole() {
    let project = Project::new();
    let cases = [
        ("println(read_line())\nprintln(read_stdin())", "first\nsecond\nthird\n\n"),
        ("println(prompt_user(\"name? \"))", "name? first\n"),
        ("for i in range(3) { read_line() }\nprintln(read_line())", "nil\n"),
        (
            "mock_stdin(\"a\\nb\")\nprintln(read_line())\nprintln(read_line())\nprintln(read_line())",
            "a\nb\nnil\n",
        ),
        ("mock_stdin(\"a\")\nunmock_stdin()\nprintln(read_line())", "first\n"),
        (
            "println(is_stdin_tty())\nmock_tty(\"stdin\", true)\nprintln(is_stdin_tty())\nunmock_tty()\nprintln(is_stdin_tty())",
            "false\ntrue\nfalse\n",
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(prints(&project, code), expected, "{code}");
    }
}

#[test]
fn a_script_knows_where_it_is() {
    let code = "println(cwd() == execution_root())\nprintln(basename(source_dir()))\nprintln(project_root() == project)\n\
                println(basename(project_root()))\nprintln(runtime_paths().execution_root == cwd())\n\
                println(env_or(\"HARN_NOT_SET\", \"other\"))\nprintln(env(\"HARN_NOT_SET\"))\nprintln(env(\"HARN_LLM_MODEL\"))\n\
                println(pid() > 0)\nprintln(len(uuid()))\nprintln(uuid() == uuid_v7())\nprintln(len(username()) > 0)\n\
                println(len(hostname()) > 0)\nprintln(platform())\nprintln(arch())\n";
    let project = project(&[("one/harn.toml", ""), ("one/two/where.harn", code)]);
    let (system, processor) = (std::env::consts::OS.replace("macos", "darwin"), std::env::consts::ARCH);
    let expected = format!(
        "true\ntwo\ntrue\none\ntrue\nother\nnil\noffline\ntrue\n36\nfalse\ntrue\ntrue\n{system}\n{processor}\n"
    );
    assert_eq!(project.out(&["run", "one/two/where.harn"]), expected);
}

#[test]
fn a_line_that_comes_too_late_for_one_reader_is_there_for_the_next() {
    let project = Project::new();
    let code = "let late = try { deadline 20ms { read_line() } } catch (e) { e }\nprintln(late)\nprintln(read_line())\nprintln(read_stdin())";
    let mut command = project.command(&["run", "-e", code]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert_eq!(out.next().unwrap(), "Deadline exceeded");
    child.stdin.take().unwrap().write_all(b"one\ntwo\n").unwrap();
    assert_eq!(out.collect::<Vec<_>>(), ["one", "two", ""]);
    assert!(child.wait().unwrap().success());
}

#[test]
fn without_a_host_there_is_what_a_run_has_by_itself() {
    let project = Project::new();
    let cases = [
        ("println([host_call(\"runtime.task\"), host_call(\"runtime.dry_run\")])", "[, false]\n"),
        ("println([host_has(\"runtime\", \"approved_plan\"), host_has(\"editor\")])", "[true, false]\n"),
        ("println(host_call(\"template.render\", {template: \"{{ a }}!\", bindings: {a: 1}}))", "1!\n"),
        ("println(host_call(\"process.list_shells\").shells.any({ shell -> shell.id == \"sh\" }))", "true\n"),
        (
            "println(try { host_call(\"editor.open\") } catch (e) { e })",
            "host_call: no host is attached that has `editor.open`; host_has() tells what there is, and a test can \
             pretend it with host_mock()\n",
        ),
        (
            "println(try { host_tool_call(\"dim\", {}) } catch (e) { e })",
            "host_tool_call: no host is attached that has the tool `dim`\n",
        ),
    ];
    for (code, expected) in cases {
        assert_eq!(prints(&project, code), expected, "{code}");
    }
}

#[test]
fn stores_are_in_the_project_of_the_script_or_beside_it_wherever_it_is_started() {
    let script = "store_set(\"k\", 1)\ncheckpoint(\"c\", 2)\nprintln(runtime_paths().state_root)\n";
    let files = [("one/harn.toml", ""), ("one/deep/a.harn", script), ("two/a.harn", script), ("else/x", "")];
    let project = project(&files);
    for (path, kept) in [("one/deep/a.harn", "one"), ("two/a.harn", "two")] {
        let from_here = project.out(&["run", path]);
        let state = project.path().join(kept).join(".harn").canonicalize().unwrap();
        assert_eq!(from_here.trim(), state.display().to_string());
        assert!(state.join("store.json").is_file() && state.join("checkpoints/a.json").is_file());
        let there = format!("../{path}");
        let output = project.command(&["run", &there]).current_dir(project.path().join("else")).output();
        assert_eq!(String::from_utf8(output.unwrap().stdout).unwrap(), from_here);
    }
    assert!(!project.path().join(".harn").exists() && !project.path().join("else/.harn").exists());
}

#[test]
fn a_result_that_is_not_what_the_pipeline_says_fails_as_in_a_task() {
    let script = "pub pipeline default(task) -> {text: string, n: int} {\n  let n: any = json_parse(\"\\\"no\\\"\")\n  \
                  return {text: \"x\", n: n}\n}\n";
    let project = project(&[("a.harn", script)]);
    let told = |args: &[&str]| {
        let output = project.run(args);
        assert_eq!(output.status.code(), Some(1), "{output:?}");
        let told = String::from_utf8(output.stderr).unwrap();
        told.lines().find(|line| line.starts_with("error: ")).unwrap_or_else(|| panic!("{told}")).to_owned()
    };
    let sentence = told(&["run", "a.harn"]);
    assert!(sentence.contains("What the script gave back is not what it says: at result.n"), "{sentence}");
    assert_eq!(told(&["run", "--durable", "a.harn"]), sentence);
}

#[test]
fn exports_are_shown_with_their_parameters_in_order() {
    let script = "/// Chooses.\npub fn opt(o, f, d, u, any_one: int = 2) { return o }\n";
    let project = project(&[("a.harn", script)]);
    assert_eq!(project.out(&["exports", "a.harn"]), "function opt(o, f, d, u, any_one)  Chooses.\n");
    let listed = project.json(&["exports", "--json", "a.harn"]);
    assert_eq!(listed[0]["input_schema"]["properties"]["any_one"]["default"], 2);
}
