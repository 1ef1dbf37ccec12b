//! `harn test`, with the tests of scripts and with programs beside their outputs.

use std::fs;

use crate::scripts::project;

const MIXED: &str = "let base = 2

fn twice(n) { return n * base }

pipeline test_passes(task) {
  println(\"seen only if asked for\")
  assert_eq(twice(2), 4)
}

pipeline test_fails(task) {
  println(\"seen because it fails\")
  assert_eq(twice(2), 5)
}

@test
pipeline marked(task) {
  assert(file_exists(\"data.txt\"))
  assert_eq([cwd() == source_dir(), env(\"HARN_LLM_PROVIDER\"), env(\"HARN_LLM_CALLS_DISABLED\")], [true, \"mock\", \"1\"])
  assert_eq(read_line(), nil)
}

pipeline helper(task) { throw \"never run\" }
";

#[test]
fn tests_pass_or_fail_each_for_itself() {
    let project = project(&[
        ("tests/mixed.harn", MIXED),
        ("tests/data.txt", ""),
        ("tests/deep/broken.harn", "pipeline test_broken(task) {\n  let a = \n}\n"),
        ("tests/deep/clashing.harn", "pipeline test_clash(task) {\n  let a = 1\n  let a = 2\n}\n"),
        ("tests/lib.harn", "pub fn unused() { throw \"not a test file\" }\n"),
        (
            "other/slow.harn",
            "pipeline test_slow(task) { while true { 1 } }\npipeline test_asleep(task) { sleep(1h) }\n",
        ),
        (
            "other/leaves.harn",
            "pipeline test_leaves(task) { exit(0) }\npipeline test_leaves_early(task) { exit(3) }\n",
        ),
    ]);
    insta::assert_snapshot!(project.transcript(&[
        &["test"],
        &["test", "--filter", "passes", "-v"],
        &["test", "other", "--timeout", "200"],
        &["test", "--filter", "nothing at all"],
        &["test", "tests/lib.harn"],
        &["test", "nowhere"],
    ]));
    let parallel = project.run(&["test", "--parallel=3"]);
    assert_eq!(parallel.stdout, project.run(&["test"]).stdout);
    assert_eq!(parallel.status.code(), Some(1));
}

#[test]
fn outcomes_are_written_for_build_servers() {
    let project = project(&[("tests/mixed.harn", MIXED), ("tests/data.txt", "")]);
    let output = project.run(&["test", "--junit", "out.xml", "--timing", "--parallel"]);
    assert!(String::from_utf8(output.stdout).unwrap().contains("::marked ("));
    let written = fs::read_to_string(project.path().join("out.xml")).unwrap();
    let steady: Vec<&str> = written
        .split('"')
        .map(|part| if part.len() >= 5 && part.parse::<f64>().is_ok() { "T" } else { part })
        .collect();
    insta::assert_snapshot!(steady.join("\""));
}

#[test]
fn a_test_that_does_something_else_the_second_time_is_found() {
    let project = project(&[(
        "tests/chance.harn",
        "pipeline test_steady(task) { println(random()) }\npipeline test_prints_the_time(task) { println(\"a\")\n sleep(5)\n println(now_ms()) }\n",
    )]);
    let run = |filter: &str| {
        let output = project.run(&["test", "--determinism", "--filter", filter]);
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    };
    assert_eq!(run("steady").0, Some(0));
    let (code, told) = run("prints_the_time");
    assert_eq!(code, Some(1));
    assert!(told.contains("error: not deterministic: line 2 is `"), "{told}");
}

#[test]
fn tests_run_again_when_a_script_changes() {
    use std::io::{BufRead, BufReader};
    let project = project(&[("tests/one.harn", "pipeline test_one(task) { assert(false) }\n")]);
    let mut command = project.command(&["test", "--watch"]);
    let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line == "0 passed, 1 failed, 1 total"));
    assert!(lines.any(|line| line.starts_with("waiting")));
    fs::write(project.path().join("tests/two.harn"), "pipeline test_two(task) { assert(true) }\n").unwrap();
    assert!(lines.any(|line| line == "1 passed, 1 failed, 2 total"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn programs_are_held_against_what_they_are_to_print() {
    let project = project(&[
        ("suite/a/prints.harn", "println(\"one\")\nprintln(\"[timer] load: 12ms\")\neprintln(\"aside\")\n"),
        ("suite/a/prints.expected", "one\n[timer] load: 7ms\n\n"),
        ("suite/a/differs.harn", "println(\"one\")\nprintln(\"two\")\n"),
        ("suite/a/differs.expected", "one\nthree\n"),
        ("suite/b/throws.harn", "throw \"no luck\"\n"),
        ("suite/b/throws.error", "something else\nThrown: no luck\n"),
        ("suite/b/pattern.harn", "let x = (1 +\n"),
        ("suite/b/pattern.error", "re:Expected \\w+|Unexpected end\n"),
        ("suite/b/wrong.harn", "throw \"bad\"\n"),
        ("suite/b/wrong.error", "good\n"),
        ("suite/b/fine.harn", "println(1)\n"),
        ("suite/b/fine.error", "anything\n"),
        ("suite/b/unexpected.harn", "throw \"oh\"\n"),
        ("suite/b/unexpected.expected", "oh\n"),
        ("suite/where.harn", "println(basename(source_dir()))\nprintln(file_exists(\"suite/where.harn\"))\n"),
        ("suite/where.expected", "suite\ntrue\n"),
        ("suite/not_a_test.harn", "throw \"never run\"\n"),
    ]);
    insta::assert_snapshot!(project.transcript(&[
        &["test", "conformance", "suite"],
        &["test", "conformance", "suite", "--filter", "prints|b/thr*"],
        &["test", "conformance", "suite", "--filter", "re:^b/(throws|pattern)$", "--parallel=2"],
        &["test", "conformance", "suite", "--filter", "re:("],
        &["test", "conformance"],
    ]));
}

#[test]
fn a_template_beside_a_test_is_found_and_judged_where_it_is() {
    let test = "pipeline test_it(task) {\n  assert_eq(render(\"x.tpl\"), \"hi\")\n  \
                assert(to_string(try { render(\"vault/s\") } catch (e) { e }).contains(\"vault/s\"))\n}\n";
    let rule =
        "[[permissions.rules]]\nid = \"closed\"\naction = \"deny\"\nmatch = { path = \"./vault/**\" }\n";
    let files =
        [("harn.toml", rule), ("tests/t.harn", test), ("tests/x.tpl", "hi"), ("tests/vault/s", "secret")];
    project(&files).out(&["test"]);
}
