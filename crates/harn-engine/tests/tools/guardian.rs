//! The guardian on its own: whatever happens to those who started it, the command dies.

use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::command::{FAMILY, all_die, family};
use crate::kit::{Workspace, eventually, guard_program};

fn guarding(workspace: &Workspace, command: &str, stdin: impl Into<Stdio>) -> Child {
    Command::new(guard_program()).arg(command).current_dir(workspace.root()).stdin(stdin).spawn().unwrap()
}

#[test]
fn when_its_pipe_closes_everything_dies() {
    let workspace = Workspace::new();
    let mut guardian = guarding(&workspace, FAMILY, Stdio::piped());
    let family = family(&workspace);
    drop(guardian.stdin.take());
    assert_eq!(guardian.wait().unwrap().code(), Some(128 + 9));
    all_die(family);
}

#[test]
fn when_the_holder_of_its_pipe_is_killed_everything_dies() {
    let workspace = Workspace::new();
    let mut holder = Command::new("sleep").arg("1000").stdout(Stdio::piped()).spawn().unwrap();
    let mut guardian = guarding(&workspace, FAMILY, holder.stdout.take().unwrap());
    let family = family(&workspace);
    holder.kill().unwrap();
    holder.wait().unwrap();
    guardian.wait().unwrap();
    all_die(family);
}

#[test]
fn when_it_is_told_to_stop_everything_dies() {
    let workspace = Workspace::new();
    let mut guardian = guarding(&workspace, FAMILY, Stdio::piped());
    let family = family(&workspace);
    let _held = guardian.stdin.take();
    kill(Pid::from_raw(guardian.id().cast_signed()), Signal::SIGTERM).unwrap();
    guardian.wait().unwrap();
    all_die(family);
}

#[test]
fn a_command_that_forks_faster_than_it_is_looked_at_dies_too() {
    let workspace = Workspace::new();
    workspace.put("relay", "echo $$ >> relay.pid\n[ -e stop ] || setsid sh relay &\n");
    let mut guardian = guarding(&workspace, "sh relay; sleep 1000", Stdio::piped());
    let runners = || std::fs::read_to_string(workspace.path("relay.pid")).unwrap_or_default().lines().count();
    eventually("the relay runs", || runners() > 20);
    drop(guardian.stdin.take());
    guardian.wait().unwrap();
    // Whoever is still running would add a line; the guardian has left only when nobody was.
    let last = workspace.text("relay.pid").lines().last().unwrap().parse().unwrap();
    all_die(vec![last]);
}

#[test]
fn its_exit_code_is_that_of_the_command() {
    let workspace = Workspace::new();
    for (command, code) in [("exit 0", 0), ("exit 9", 9), ("kill -TERM $$", 128 + 15)] {
        let mut guardian = guarding(&workspace, command, Stdio::piped());
        // `wait` would close the pipe, and so stop the command.
        let _held = guardian.stdin.take();
        assert_eq!(guardian.wait().unwrap().code(), Some(code), "{command}");
    }
    let without_command = Command::new(guard_program()).stdin(Stdio::null()).status().unwrap();
    assert_eq!(without_command.code(), Some(255));
}
