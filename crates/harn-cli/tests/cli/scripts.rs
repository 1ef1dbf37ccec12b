//! `harn run`, `harn check` and `harn fmt`.

use std::fs;

use crate::kit::Project;

fn project(files: &[(&str, &str)]) -> Project {
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
fn how_a_script_ends_is_how_the_command_ends() {
    let project = Project::new();
    let cases = [
        ("println(1)", 0, "1\n", ""),
        ("return 7", 7, "", ""),
        ("exit(3)", 3, "", ""),
        ("return Err(\"no luck\")", 1, "", "no luck\n"),
        ("println(\"before\")\nthrow \"bad\"", 1, "before\n", "error: Thrown: bad\n"),
        ("parallel each [20, 10] { ms ->\n sleep(ms)\n println(ms)\n}", 0, "20\n10\n", ""),
        (
            "write_file(\"a\", \"b\")",
            1,
            "",
            "error: Thrown: write_file: `harn run` has no host for this builtin yet\n",
        ),
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
    ]);
    insta::assert_snapshot!(project.transcript(&[
        &["run", "syntax.harn"],
        &["run", "deep.harn"],
        &["run", "lost.harn"],
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
