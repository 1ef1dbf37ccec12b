//! `harn new`: what it makes works at once.

use std::fs;
use std::process::Output;

use crate::kit::Project;

fn within(project: &Project, folder: &str, args: &[&str]) -> Output {
    project.command(args).current_dir(project.path().join(folder)).output().unwrap()
}

#[test]
fn every_template_passes_all_that_there_is() {
    let project = Project::new();
    let list = project.out(&["new", "--list"]);
    let templates: Vec<&str> =
        list.lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(templates, ["script", "tool", "pipeline", "tests"]);
    for template in templates {
        let name = format!("my-{template}");
        let said = project.out(&["new", &name, "--template", template]);
        assert!(said.starts_with(&format!("{name} is made.")), "{said}");
        let commands: [&[&str]; 5] = [
            &["check", "--strict", "."],
            &["fmt", "--check", "."],
            &["run", "main.harn"],
            &["test"],
            &["test", "--determinism"],
        ];
        for args in commands {
            let output = within(&project, &name, args);
            assert!(output.status.success() && output.stderr.is_empty(), "{template} {args:?}: {output:?}");
        }
        let tests = String::from_utf8(within(&project, &name, &["test"]).stdout).unwrap();
        assert!(!tests.ends_with("0 passed, 0 failed, 0 total\n"), "{tests}");
        let readme = fs::read_to_string(project.path().join(&name).join("README.md")).unwrap();
        assert!(readme.starts_with(&format!("# {name}\n")), "{readme}");
    }
    let doctor = within(&project, "my-pipeline", &["policy", "test"]);
    assert!(doctor.status.success(), "{doctor:?}");
}

#[test]
fn nothing_is_overwritten_and_names_are_names() {
    let project = Project::new();
    fs::create_dir(project.path().join("there")).unwrap();
    fs::write(project.path().join("there/main.harn"), "mine").unwrap();
    insta::assert_snapshot!(project.transcript(&[
        &["new", "there"],
        &["new", "a b"],
        &["new", ".."],
        &["new", "x", "--template", "nothing"],
        &["new"],
    ]));
    assert_eq!(fs::read_to_string(project.path().join("there/main.harn")).unwrap(), "mine");
    assert!(!project.path().join("x").exists());
}
