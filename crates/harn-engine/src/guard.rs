//! The guardian: a small process between us and a command, so that no command outlives us.
//!
//! The guardian's standard input is one end of a socket that we hold open. It becomes the reaper of all
//! descendants, runs the command in a process group of its own, and waits. When the socket reaches its end (we
//! died, gave up, or want the command stopped) or when the command has ended by itself, it kills whatever is left
//! below it: background jobs, and daemons that changed their session or lost their parents too. Then it writes one
//! line about the command's end to the socket and exits. Standard output and error belong to the command alone.
//!
//! It is a guardian, not a sandbox: a command that kills its guardian with SIGKILL escapes it, and processes of
//! another user (`sudo`) cannot be killed; those are reported.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{self, Command, ExitCode, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::Pid;
use serde::{Deserialize, Serialize};

/// How long the guardian tries to kill what is left, before it reports the survivors.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// The pause between two rounds of killing.
const ROUND: Duration = Duration::from_millis(5);

/// How to start the guardian; the command line to run is added as the last argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardCommand {
    /// An absolute path: the guardian starts in the workspace.
    pub program: PathBuf,
    pub args: Vec<OsString>,
}

/// What the guardian tells when all is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) ended: Ended,
    /// Processes of the command that could not be killed.
    pub(crate) survivors: Vec<i32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ended {
    Exited(i32),
    Signaled(i32),
    /// It ended, but the system did not say how in terms that we know (a real-time signal).
    Unknown,
    /// Nothing was run.
    NotStarted(String),
}

/// The guardian's whole life. `args` is the command line for `sh -c`, and nothing else.
///
/// The exit code is that of the command, or 128 and the signal, for those who start a guardian by hand.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = args.into_iter().collect::<Vec<_>>();
    let report = match args.as_slice() {
        [command] => guard(command).unwrap_or_else(|error| not_started(error.to_string())),
        _ => not_started("the guardian takes exactly one argument, the command".to_owned()),
    };
    tell(&report);
    ExitCode::from(match report.ended {
        Ended::Exited(code) => u8::try_from(code).unwrap_or(u8::MAX),
        Ended::Signaled(signal) => u8::try_from(signal).map_or(u8::MAX, |signal| signal.saturating_add(128)),
        Ended::Unknown | Ended::NotStarted(_) => u8::MAX,
    })
}

fn not_started(why: String) -> Report {
    Report { ended: Ended::NotStarted(why), survivors: Vec::new() }
}

/// Nobody may be listening any more; then there is nobody to tell that either.
fn tell(report: &Report) {
    if let (Ok(line), Ok(link)) = (serde_json::to_string(report), io::stdin().as_fd().try_clone_to_owned()) {
        let _ = writeln!(File::from(link), "{line}");
    }
}

enum Event {
    /// Nobody wants the command any more.
    Abandoned,
    /// The shell of the command has ended.
    Ended(Ended),
    /// There is no descendant left.
    Alone,
}

fn guard(command: &OsStr) -> io::Result<Report> {
    // A name of its own, so that `killall harn` takes the harness and leaves its guardians to do their work.
    prctl::set_name(c"guardian")?;
    prctl::set_child_subreaper(true)?;
    let link = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let shell = Command::new("/bin/sh")
        .arg("-c")
        .arg("--")
        .arg(command)
        .stdin(Stdio::null())
        .process_group(0)
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("/bin/sh could not be started: {error}")))?;
    let shell = Pid::from_raw(shell.id().cast_signed());
    let Ok(inbox) = watch(link, shell) else {
        // What cannot be watched must not run on.
        kill_all(shell);
        return Ok(Report { ended: Ended::Unknown, survivors: descendants() });
    };
    Ok(attend(shell, &inbox))
}

/// Starts the watchers. They end with the process, which ends when the report has been told.
fn watch(link: File, shell: Pid) -> io::Result<Receiver<Event>> {
    // Only now, because the command would inherit it; and before there are threads, so that it holds in all of them.
    let signals: SigSet =
        [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM].into_iter().collect();
    signals.thread_block()?;
    let (events, inbox) = sync_channel(8);
    let (to_link, to_signals) = (events.clone(), events.clone());
    thread::Builder::new().spawn(move || watch_link(link, &to_link))?;
    thread::Builder::new().spawn(move || watch_signals(signals, &to_signals))?;
    thread::Builder::new().spawn(move || watch_children(shell, &events))?;
    Ok(inbox)
}

fn watch_link(mut link: File, events: &SyncSender<Event>) {
    // The other end never writes; an error is as final as the end.
    let _ = io::copy(&mut link, &mut io::sink());
    let _ = events.send(Event::Abandoned);
}

fn watch_signals(signals: SigSet, events: &SyncSender<Event>) {
    let _ = signals.wait();
    let _ = events.send(Event::Abandoned);
}

/// Reaps every child, also those that were left to us by their parents.
fn watch_children(shell: Pid, events: &SyncSender<Event>) {
    loop {
        let ended = match wait() {
            Ok(WaitStatus::Exited(pid, code)) if pid == shell => Ended::Exited(code),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == shell => Ended::Signaled(signal as i32),
            Err(Errno::ECHILD) => break,
            _ => continue,
        };
        let _ = events.send(Event::Ended(ended));
    }
    // Whatever descends from us hangs below a child of ours, so without children we are alone.
    let _ = events.send(Event::Alone);
}

/// Waits for the command's end or ours, then clears up.
fn attend(shell: Pid, inbox: &Receiver<Event>) -> Report {
    let mut ended = match inbox.recv() {
        Ok(Event::Ended(how)) => Some(how),
        Ok(Event::Abandoned) => {
            kill_all(shell);
            None
        }
        Ok(Event::Alone) | Err(_) => return Report { ended: Ended::Unknown, survivors: Vec::new() },
    };
    let deadline = Instant::now() + PATIENCE;
    let survivors = loop {
        match inbox.recv_timeout(ROUND) {
            Ok(Event::Ended(how)) => ended = Some(how),
            Ok(Event::Alone) | Err(RecvTimeoutError::Disconnected) => break Vec::new(),
            Ok(Event::Abandoned) | Err(RecvTimeoutError::Timeout) => kill_descendants(),
        }
        if Instant::now() > deadline {
            break descendants();
        }
    };
    Report { ended: ended.unwrap_or(Ended::Unknown), survivors }
}

/// For a shell that is not reaped yet, so that its group is still its own. It takes the whole group at once.
fn kill_all(shell: Pid) {
    let _ = killpg(shell, Signal::SIGKILL);
    kill_descendants();
}

/// What forks while we look is found in the next round.
fn kill_descendants() {
    for pid in descendants() {
        let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
    }
}

fn descendants() -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for (pid, parent) in running_processes() {
        children.entry(parent).or_default().push(pid);
    }
    let mut found = Vec::new();
    let mut next = vec![process::id().cast_signed()];
    while let Some(parent) = next.pop() {
        let below = children.remove(&parent).unwrap_or_default();
        found.extend(&below);
        next.extend(below);
    }
    found
}

/// Every process with its parent, but for those that are dead and wait to be reaped.
fn running_processes() -> impl Iterator<Item = (i32, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        let stat = fs::read(entry.path().join("stat")).ok()?;
        let parent = parent_in(&String::from_utf8_lossy(&stat))?;
        Some((pid, parent))
    })
}

/// The parent in a line of `/proc/PID/stat`. The name in it may contain anything, also blanks and brackets.
fn parent_in(stat: &str) -> Option<i32> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    // A zombie's children have been handed on already.
    fields.next().filter(|state| *state != "Z")?;
    fields.next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        let cases = [
            ("12 (sh) S 7 12 12 0", Some(7)),
            ("12 (a) b) R 8 1 1", Some(8)),
            ("12 (dead) Z 7 12", None),
            ("12 (cut", None),
        ];
        for (stat, parent) in cases {
            assert_eq!(parent_in(stat), parent, "{stat}");
        }
    }
}
