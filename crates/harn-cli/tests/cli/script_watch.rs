//! `harn watch`, and how it ends.

use std::fs;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStdout, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::kit::Project;
use super::scripts::project;

/// A watching process, and what it prints.
struct Watching {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Watching {
    fn new(project: &Project) -> Self {
        let mut child = project.command(&["watch", "a.harn"]).stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    fn until(&mut self, start: &str) {
        assert!(self.lines.any(|line| line.unwrap().starts_with(start)), "it never said `{start}`");
    }

    /// What it says after Ctrl-C, and its exit code.
    fn interrupted(mut self) -> (Vec<String>, Option<i32>) {
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT).unwrap();
        let said = self.lines.map(Result::unwrap).filter(|line| !line.starts_with("waiting")).collect();
        (said, self.child.wait().unwrap().code())
    }
}

#[test]
fn ctrl_c_ends_watching_while_nothing_runs() {
    let project = project(&[("a.harn", "println(\"one\")\n")]);
    let mut watching = Watching::new(&project);
    watching.until("one");
    watching.until("waiting");
    fs::write(project.path().join("a.harn"), "println(\"two\")\n").unwrap();
    watching.until("two");
    watching.until("waiting");
    assert_eq!(watching.interrupted(), (Vec::new(), Some(130)));
}

#[test]
fn ctrl_c_ends_the_run_and_the_watching() {
    let text = "defer { println(\"in order\") }\nprintln(\"at work\")\nsleep(1m)\n";
    let project = project(&[("a.harn", text)]);
    let mut watching = Watching::new(&project);
    watching.until("at work");
    assert_eq!(watching.interrupted(), (vec!["in order".to_owned()], Some(130)));
}

#[test]
fn a_change_during_a_run_is_seen_after_it() {
    let text = "println(\"at work\")\nwhile !file_exists(\"go\") { sleep(10ms) }\n";
    let project = project(&[("a.harn", text)]);
    let mut watching = Watching::new(&project);
    watching.until("at work");
    fs::write(project.path().join("a.harn"), "println(\"changed\")\n").unwrap();
    fs::write(project.path().join("go"), "").unwrap();
    watching.until("changed");
    watching.until("waiting");
    assert_eq!(watching.interrupted().1, Some(130));
}
