//! The guardian on its own: whatever happens to those who started it, the command dies.

use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::command::Family;
use crate::kit::{Workspace, eventually, guard_program};

/// With all layers, and as on a machine that has no namespaces.
const KINDS: [&str; 2] = ["--sandbox=auto", "--without=namespaces"];

fn guarding(workspace: &Workspace, kind: &str, command: &str, stdin: impl Into<Stdio>) -> Child {
    let mut guardian = Command::new(guard_program());
    guardian.args([kind, command]).current_dir(workspace.root()).stdin(stdin).spawn().unwrap()
}

#[test]
fn when_its_pipe_closes_everything_dies() {
    for kind in KINDS {
        let (workspace, family) = (Workspace::new(), Family::new());
        let mut guardian = guarding(&workspace, kind, &family.command(), Stdio::piped());
        family.wait_for(3);
        drop(guardian.stdin.take());
        assert_eq!(guardian.wait().unwrap().code(), Some(128 + 9), "{kind}");
        assert!(family.is_gone(), "{kind}");
    }
}

#[test]
fn when_the_holder_of_its_pipe_is_killed_everything_dies() {
    for kind in KINDS {
        let (workspace, family) = (Workspace::new(), Family::new());
        let mut holder = Command::new("sleep").arg("1000").stdout(Stdio::piped()).spawn().unwrap();
        let mut guardian = guarding(&workspace, kind, &family.command(), holder.stdout.take().unwrap());
        family.wait_for(3);
        holder.kill().unwrap();
        holder.wait().unwrap();
        guardian.wait().unwrap();
        assert!(family.is_gone(), "{kind}");
    }
}

#[test]
fn when_it_is_told_to_stop_everything_dies() {
    for kind in KINDS {
        let (workspace, family) = (Workspace::new(), Family::new());
        let mut guardian = guarding(&workspace, kind, &family.command(), Stdio::piped());
        family.wait_for(3);
        let _held = guardian.stdin.take();
        kill(Pid::from_raw(guardian.id().cast_signed()), Signal::SIGTERM).unwrap();
        guardian.wait().unwrap();
        assert!(family.is_gone(), "{kind}");
    }
}

#[test]
fn a_command_that_forks_faster_than_it_is_looked_at_dies_too() {
    for kind in KINDS {
        let (workspace, family) = (Workspace::new(), Family::new());
        workspace.put("relay", format!("echo $$ >> relay.pid\nsetsid sh relay {} &\n", family.sleep()));
        let command = format!("sh relay {0}; {0}", family.sleep());
        let mut guardian = guarding(&workspace, kind, &command, Stdio::piped());
        let runners =
            || std::fs::read_to_string(workspace.path("relay.pid")).unwrap_or_default().lines().count();
        eventually("the relay runs", || runners() > 20);
        drop(guardian.stdin.take());
        guardian.wait().unwrap();
        assert!(family.is_gone(), "{kind}");
    }
}

#[test]
fn its_exit_code_is_that_of_the_command() {
    let workspace = Workspace::new();
    for (kind, command, code) in [
        (KINDS[0], "exit 0", 0),
        (KINDS[0], "exit 9", 9),
        (KINDS[1], "exit 9", 9),
        (KINDS[0], "kill -TERM $$", 128 + 15),
        (KINDS[1], "kill -TERM $$", 128 + 15),
        ("--unheard-of", "exit 0", 255),
        ("--sandbox=perhaps", "exit 0", 255),
    ] {
        let mut guardian = guarding(&workspace, kind, command, Stdio::piped());
        // `wait` would close the pipe, and so stop the command.
        let _held = guardian.stdin.take();
        assert_eq!(guardian.wait().unwrap().code(), Some(code), "{kind} {command}");
    }
    let without_command = Command::new(guard_program()).stdin(Stdio::null()).status().unwrap();
    assert_eq!(without_command.code(), Some(255));
}
