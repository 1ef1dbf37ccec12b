//! Skills in files: the folders that a script is given, and files that are no skills.

use std::process::Output;

use super::kit::Project;
use super::scripts::project;

const REVIEW: &str = "---\nname: review\ndescription: Reviews a change.\n---\nLook at it.\n";
const SHOW: &str = "println(skills.skills.map({ s -> s.name + \" of \" + s.layer }).join(\", \"))\n";

/// Runs where nobody has skills of their own.
fn run(project: &Project, args: &[&str]) -> Output {
    let mut command = project.command(args);
    command
        .env("HOME", project.path().join("home"))
        .env_remove("XDG_CONFIG_HOME")
        .env_remove("HARN_SKILLS_PATH");
    command.output().unwrap()
}

fn texts(output: &Output) -> (String, String) {
    (String::from_utf8_lossy(&output.stdout).into(), String::from_utf8_lossy(&output.stderr).into())
}

#[test]
fn folders_of_the_command_line_come_first() {
    let shown = format!("{SHOW}println(skills.shadowed.map({{ s -> s.loser }}))\n");
    let project = project(&[
        ("a.harn", &shown),
        ("mine/review/SKILL.md", REVIEW),
        ("one/SKILL.md", "---\nshort: One.\n---\nText."),
        (".harn/skills/review/SKILL.md", REVIEW),
    ]);
    for durable in [&[][..], &["--durable"][..]] {
        let args = [&["run", "a.harn", "--skill-dir", "mine", "--skill-dir", "one"][..], durable].concat();
        let ran = run(&project, &args);
        let expected = ("review of cli, one of cli\n[project]\n".to_owned(), String::new());
        assert_eq!(texts(&ran), expected, "{args:?}");
    }
    let refused = run(&project, &["run", "a.harn", "--skill-dir", "a.harn"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(texts(&refused).1.contains("--skill-dir: a.harn is no folder"), "{refused:?}");
}

#[test]
fn a_run_that_is_resumed_elsewhere_finds_the_folders_that_it_was_started_with() {
    let asking = format!("ask_user(\"go on?\")\n{SHOW}");
    let project = project(&[("a.harn", &asking), ("mine/review/SKILL.md", REVIEW)]);
    let left = run(&project, &["run", "a.harn", "--skill-dir", "mine"]);
    assert_eq!(left.status.code(), Some(3), "{left:?}");
    let (_, told) = texts(&left);
    let task = told.split_whitespace().find(|word| word.starts_with("task_")).unwrap();
    let answered = run(&project, &["tasks", "answer", task, "--reply", "yes"]);
    assert!(answered.status.success(), "{answered:?}");
    let resumed = run(&project, &["runs", "resume", task]);
    assert!(texts(&resumed).0.ends_with("review of cli\n"), "{resumed:?}");
}

#[test]
fn the_manifest_adds_sources_changes_their_order_and_leaves_layers_out() {
    let manifest = "[skills]\npaths = [\"own\"]\nlookup_order = [\"manifest\"]\ndisable = [\"project\"]\n\
                    [[skill.source]]\ntype = \"fs\"\npath = \"shared\"\nnamespace = \"acme\"\n";
    let project = project(&[
        ("harn.toml", manifest),
        ("a.harn", SHOW),
        ("own/review/SKILL.md", REVIEW),
        ("shared/review/SKILL.md", REVIEW),
        ("mine/review/SKILL.md", REVIEW),
        (".harn/skills/gone/SKILL.md", REVIEW),
    ]);
    let ran = run(&project, &["run", "a.harn", "--skill-dir", "mine"]);
    assert_eq!(texts(&ran), ("review of manifest, acme/review of manifest\n".to_owned(), String::new()));
}

#[test]
fn a_file_that_is_no_skill_is_told_once_with_its_reason() {
    let project = project(&[
        ("a.harn", &format!("{SHOW}{SHOW}")),
        ("mine/broken/SKILL.md", "---\nname: [\n---\nNothing.\n"),
        ("mine/endless/SKILL.md", "---\nname: endless\n"),
        ("mine/review/SKILL.md", REVIEW),
    ]);
    for durable in [&[][..], &["--durable"][..]] {
        let ran = run(&project, &[&["run", "a.harn", "--skill-dir", "mine"][..], durable].concat());
        let (out, told) = texts(&ran);
        assert_eq!(out, "review of cli\nreview of cli\n", "{told}");
        let lines: Vec<&str> = told.lines().collect();
        assert_eq!(lines.len(), 2, "{told}");
        let of = |name: &str| project.path().join("mine").join(name).join("SKILL.md").display().to_string();
        assert!(lines[0].starts_with("warning: ") && lines[0].contains(&of("broken")), "{told}");
        assert!(lines[1].contains(&of("endless")) && lines[1].ends_with("`---` have no end"), "{told}");
    }
}
