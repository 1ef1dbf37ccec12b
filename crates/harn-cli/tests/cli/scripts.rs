//! `harn run`, `harn check` and `harn fmt`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::kit::Project;

pub fn project(files: &[(&str, &str)]) -> Project {
    let project = Project::new();
    for (name, text) in files {
        let path = project.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    project
}

#[test]
fn a_script_runs_with_its_modules_arguments_and_files() {
    let project = project(&[
        (
            "main.harn",
            "import { shout } from \"lib/words\"\nlet text = read_file(\"note.txt\")\nprintln(shout(text.trim()) + argv[0])\n",
        ),
        (
            "lib/words.harn",
            "pub fn shout(text) { return helper(text) + \"!\" }\nfn helper(text) { return uppercase(text) }\n",
        ),
        ("note.txt", "remember\n"),
    ]);
    assert_eq!(project.out(&["run", "main.harn", "--", "x"]), "REMEMBER!x\n");
}

#[test]
fn bombs_end_with_the_limit_and_the_option_that_raises_it() {
    let project = Project::new();
    let cases = [
        (
            "--max-steps",
            "100000",
            "while true {}",
            "Fuel limit exceeded: the program may execute 100000 steps",
        ),
        ("--max-memory", "4", "var s = \"ab\"\nwhile true { s = s + s }", "Memory limit exceeded"),
        ("--max-output", "1", "while true { println(\"x\" * 1000) }", "Output limit exceeded"),
    ];
    for (option, limit, code, expected) in cases {
        let output = project.run(&["run", option, limit, "-e", code]);
        assert_eq!(output.status.code(), Some(1), "{code}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(expected), "{said}");
        assert!(said.contains(&format!("`harn run {option}` allows more")), "{said}");
    }
}

#[test]
fn statements_beside_a_pipeline_are_not_run_and_that_is_said() {
    let script = "let who = \"you\"\nprintln(\"beside\")\npipeline default(task) {\n  println(who)\n}\n";
    let project = project(&[
        ("suite/a.harn", script),
        ("suite/a.expected", "you\n"),
        ("fine.harn", "let who = 1\nfn f() {}\npipeline default(task) { println(who) }\n"),
    ]);
    let said =
        "warning: unreachable code: the file has a pipeline, which is run instead of statements beside it";
    let run = project.run(&["run", "suite/a.harn"]);
    assert_eq!((run.status.code(), run.stdout.as_slice()), (Some(0), b"you\n".as_slice()));
    let told = String::from_utf8(run.stderr).unwrap();
    assert!(told.starts_with(said) && told.contains("suite/a.harn:2:1"), "{told}");
    let checked = project.run(&["check", "--strict", "suite/a.harn"]);
    let told = String::from_utf8([checked.stdout, checked.stderr].concat()).unwrap();
    assert!(told.contains(said) && checked.status.code() == Some(1), "{told}");
    // What a program prints is not changed by it.
    assert!(project.out(&["test", "conformance", "suite"]).contains("1 passed, 0 failed"));
    assert!(project.run(&["check", "--strict", "fine.harn"]).status.success());
    assert!(project.run(&["run", "fine.harn"]).stderr.is_empty());
}

#[test]
fn how_a_script_ends_is_how_the_command_ends() {
    let project = Project::new();
    let cases = [
        ("println(1)", 0, "1\n", ""),
        ("println(pi == pi())", 0, "true\n", ""),
        ("return 7", 7, "", ""),
        ("exit(3)", 3, "", ""),
        ("return Err(\"no luck\")", 1, "", "no luck\n"),
        ("println(\"before\")\nthrow \"bad\"", 1, "before\n", "error: Thrown: bad\n"),
        ("parallel each [20, 10] { ms ->\n sleep(ms)\n println(ms)\n}", 0, "20\n10\n", ""),
        ("write_file(\"a\", \"b\")\nprintln(read_file(\"a\"))", 0, "b\n", ""),
    ];
    for (code, exit, out, error) in cases {
        let output = project.run(&["run", "-e", code]);
        assert_eq!(output.status.code(), Some(exit), "{code}: {output:?}");
        assert_eq!(String::from_utf8(output.stdout).unwrap(), out, "{code}");
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with(error) && said.is_empty() == error.is_empty(), "{code}: {said}");
    }
}

#[test]
fn mistakes_are_shown_where_they_are() {
    let project = project(&[
        ("syntax.harn", "let x = \nlet = 3\nprintln(x\n"),
        ("again.harn", "pipeline main() {\n  let a = 1\n  let a = 2\n}\n"),
        (
            "deep.harn",
            "fn inner(n) {\n  return n.missing.field\n}\nfn outer(n) { return 1 + inner(n) }\nouter(5)\n",
        ),
        ("fine.harn", "println(1)\n"),
        ("lost.harn", "import \"nowhere\"\n"),
        ("imports.harn", "import { half } from \"lib/numbers\"\nprintln(half(0))\n"),
        ("lib/numbers.harn", "pub fn half(n) {\n  return 1 / n\n}\n"),
    ]);
    insta::assert_snapshot!(project.transcript(&[
        &["run", "syntax.harn"],
        &["run", "deep.harn"],
        &["run", "lost.harn"],
        &["run", "imports.harn"],
        &["run", "nofile.harn"],
        &["check", "again.harn", "fine.harn"],
        &["check", "fine.harn"],
        &["check", "--json", "again.harn"],
        &["run"],
    ]));
}

#[test]
fn formatting_changes_files_only_when_asked_to() {
    let rough = "let x=1\nif x==1{println( \"a\" )}  // why\n";
    let project = project(&[("a.harn", rough), ("sub/b.harn", "let y = 2\n"), ("broken.harn", "let\n")]);
    let read = |name: &str| fs::read_to_string(project.path().join(name)).unwrap();
    let checked = project.run(&["fmt", "--check", "a.harn", "sub"]);
    assert_eq!(checked.status.code(), Some(1));
    assert_eq!(String::from_utf8(checked.stdout).unwrap(), "a.harn would change\n");
    assert_eq!(read("a.harn"), rough);
    project.out(&["fmt", "a.harn", "sub"]);
    assert_eq!(read("a.harn"), "let x = 1\nif x == 1 { println(\"a\") } // why\n");
    project.out(&["fmt", "--check", "a.harn", "sub"]);
    assert_eq!(project.run(&["fmt", "broken.harn"]).status.code(), Some(1));
    assert_eq!(read("broken.harn"), "let\n");
}

#[test]
fn formatting_keeps_links_and_permissions() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let project = project(&[("real.harn", "let x=1\n")]);
    let (real, link) = (project.path().join("real.harn"), project.path().join("link.harn"));
    fs::set_permissions(&real, fs::Permissions::from_mode(0o750)).unwrap();
    symlink("real.harn", &link).unwrap();
    project.out(&["fmt", "link.harn"]);
    assert_eq!(fs::read_to_string(&real).unwrap(), "let x = 1\n");
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o750);
    assert!(link.is_symlink());
    let is_left = |name: &str| name.ends_with(".new");
    let files = fs::read_dir(project.path()).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(!files.map(|name| name.to_string_lossy().into_owned()).any(|name| is_left(&name)));
}

#[test]
fn what_is_no_script_is_refused() {
    let project = Project::new();
    fs::write(project.path().join("latin.harn"), b"println(\"\xe9\")\n").unwrap();
    for (file, expected) in [
        ("latin.harn", "it is not text in UTF-8: byte 10 belongs to no character"),
        ("/dev/zero", "a script has at most 67108864 bytes, and this is longer"),
    ] {
        let output = project.run(&["run", file]);
        assert_eq!(output.status.code(), Some(1));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_script_is_a_command_of_its_own() {
    let project = project(&[
        ("hello.harn", "#!/usr/bin/env harn\nprintln(argv)\n"),
        ("bare", "println(\"bare\", argv)\n"),
        ("task", "println(\"never\")\n"),
    ]);
    let cases: &[(&[&str], &str)] = &[
        (&["hello.harn"], "[]\n"),
        (&["hello.harn", "a", "--", "--help"], "[a, --, --help]\n"),
        (&["hello.harn", "--", "a", "b"], "[a, b]\n"),
        (&["./bare"], "bare\n"),
    ];
    for (args, expected) in cases {
        assert_eq!(project.out(args), *expected, "{args:?}");
    }
    // A command comes before a file of its name, and a mistyped command is one.
    assert!(project.out(&["task", "--help"]).contains("Give an agent a task"));
    let output = project.run(&["chekc", "hello.harn"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("'check'"));
    let output = project.run(&["nowhere.harn"]);
    assert!(String::from_utf8(output.stderr).unwrap().starts_with("error: nowhere.harn cannot be read"));
}

#[test]
fn a_script_comes_from_standard_input() {
    let output = fed(&Project::new(), &["run", "-", "--", "x"], "println(argv)\nlet a = 1 +\n");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("--> -:"), "{said}");
    let output = fed(&Project::new(), &["run", "-", "--", "x"], "println(argv)\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "[x]\n");
}

/// The output of a command that is given something to read.
pub fn fed(project: &Project, args: &[&str], input: &str) -> Output {
    fed_by(project.command(args), input)
}

pub fn fed_by(mut command: Command, input: &str) -> Output {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // A command that refuses its arguments does not wait for what it is given.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

#[test]
fn ctrl_c_ends_a_script_and_lets_it_put_things_in_order() {
    let project = project(&[
        (
            "sleeps.harn",
            "try {\n  println(\"at work\")\n  sleep(1m)\n} finally {\n  println(\"in order\")\n}\n",
        ),
        ("reads.harn", "defer { println(\"in order\") }\nprintln(\"at work\")\nread_line()\n"),
        ("counts.harn", "defer { println(\"in order\") }\nprintln(\"at work\")\nwhile true { 1 + 1 }\n"),
    ]);
    for script in ["sleeps.harn", "reads.harn", "counts.harn"] {
        let mut command = project.command(&["run", script]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        assert_eq!(line, "at work\n");
        kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
        line.clear();
        out.read_line(&mut line).unwrap();
        assert_eq!((line.as_str(), child.wait().unwrap().code()), ("in order\n", Some(130)), "{script}");
    }
}

#[test]
fn ctrl_c_ends_a_script_that_the_system_keeps_waiting() {
    let project = project(&[("stuck.harn", "println(\"at work\")\nread_file(\"pipe\")\n")]);
    nix::unistd::mkfifo(&project.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    let mut child = project.command(&["run", "stuck.harn"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    // Signals that come too fast are one.
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        kill(Pid::from_raw(child.id() as i32), Signal::SIGINT).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(5));
    };
    assert_eq!(status.code(), Some(130));
}

#[test]
fn a_reader_that_has_enough_is_no_error() {
    let project = Project::new();
    let mut command = project.command(&["run", "-e", "while true { println(\"more\") }"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "more\n");
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr), (Some(0), Vec::new()));
}

#[test]
fn a_long_way_to_an_error_is_told_in_short() {
    let project = project(&[(
        "deep.harn",
        "fn f(n) {\n  if n == 0 { throw \"deep\" }\n  return f(n - 1) + 1\n}\nf(100)\n",
    )]);
    insta::assert_snapshot!(project.transcript(&[&["run", "deep.harn"]]));
}

#[test]
fn an_error_keeps_its_place_while_things_are_put_in_order() {
    let project = project(&[(
        "tidy.harn",
        "fn inner() {\n  defer { println(\"deferred\") }\n  throw \"boom\"\n}\nfn outer() {\n  try { inner() } finally { println(\"finally\") }\n}\nouter()\n",
    )]);
    insta::assert_snapshot!(project.transcript(&[&["run", "tidy.harn"]]));
}

#[test]
fn an_uncaught_error_is_told_with_its_place_by_a_task_too() {
    let project = project(&[(
        "a.harn",
        "fn inner(n) {\n  throw \"bad ${n}\"\n}\n\nfn outer() { inner(2) }\n\nouter()\n",
    )]);
    let told = |args: &[&str]| {
        let output = project.run(args);
        let text = String::from_utf8(output.stderr).unwrap();
        (
            output.status.code(),
            text.lines().filter(|line| !line.contains("hint:")).map(str::to_owned).collect(),
        )
    };
    let ephemeral: (Option<i32>, Vec<String>) = told(&["run", "a.harn"]);
    assert!(ephemeral.1.iter().any(|line| line.contains("called from outer at a.harn:5")), "{ephemeral:?}");
    assert_eq!(told(&["run", "--durable", "a.harn"]), ephemeral);
}

#[test]
fn events_are_those_of_a_task() {
    let project = project(&[("a.harn", "println(1)\n")]);
    let refused = project.run(&["run", "--json", "a.harn"]);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--durable"), "{refused:?}");
    let events = project.out(&["run", "--json", "--durable", "a.harn"]);
    assert!(events.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{events}");
}
