//! The guardian: a small process between us and a command, so that no command outlives us or goes beyond its bounds.
//!
//! The guardian's standard input is one end of a socket that we hold open. It becomes the reaper of all
//! descendants, starts the command through an inner process that first restricts itself (see [`crate::sandbox`]), and
//! waits. When the socket reaches its end (we died, gave up, or want the command stopped), when the command uses more
//! than its [`Caps`], or when it has ended by itself, the guardian kills whatever is left below it: background jobs,
//! and daemons that changed their session or lost their parents too. Then it writes one line about the command's end
//! to the socket and exits. Standard output and error belong to the command alone.
//!
//! With namespaces the command does not see its guardian, and the end of the inner process ends all of it at once,
//! also when the guardian itself is killed. Without them, processes of another user (`sudo`) cannot be killed; those
//! are reported.

mod caps;
mod folder;
mod inner;
mod options;
mod outer;
mod processes;

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::sandbox::Sandbox;
pub use caps::{Caps, Stopped};
pub(crate) use options::Network;
use options::Options;

/// How long the guardian tries to kill what is left, before it reports the survivors.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Begins the names of variables that only the command gets, without it.
pub(crate) const GIVEN: &str = "HARN_GIVEN_";

/// How to start the guardian; options and the command line to run are added as the last arguments.
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
    /// The limit that the command went beyond.
    pub(crate) stopped: Option<Stopped>,
    /// What held for it; none if it was not started.
    pub(crate) sandbox: Option<Sandbox>,
    /// Processes of the command that could not be killed.
    pub(crate) survivors: Vec<i32>,
}

impl Report {
    fn not_started(why: String) -> Self {
        Self { ended: Ended::NotStarted(why), stopped: None, sandbox: None, survivors: Vec::new() }
    }
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

/// What the environment of the harness says about the sandbox, as options of the guardian.
pub(crate) fn sandbox_options() -> Vec<OsString> {
    let variables = [
        ("HARN_SANDBOX", "--sandbox="),
        ("HARN_SANDBOX_READ", "--read="),
        ("HARN_SANDBOX_WRITE", "--write="),
    ];
    let option = |(variable, option): (&str, &str)| {
        let mut whole = OsString::from(option);
        whole.push(env::var_os(variable)?);
        Some(whole)
    };
    variables.into_iter().filter_map(option).collect()
}

/// The guardian's whole life. `args` are its options and last the command line for `sh -c`.
///
/// The exit code is that of the command, or 128 and the signal, for those who start a guardian by hand.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args = args.into_iter().collect::<Vec<_>>();
    if let Some(role) = inner::Role::of(&args) {
        return role.play();
    }
    let report = match args.split_last() {
        None => Report::not_started("the guardian needs an argument, the command".to_owned()),
        Some((command, options)) => Options::parse(options).map_or_else(Report::not_started, |options| {
            let program = arguments_before(env::args_os(), args.len());
            outer::guard(&options, &program, command)
                .unwrap_or_else(|error| Report::not_started(error.to_string()))
        }),
    };
    tell(&report);
    ExitCode::from(match report.ended {
        Ended::Exited(code) => u8::try_from(code).unwrap_or(u8::MAX),
        Ended::Signaled(signal) => u8::try_from(signal).map_or(u8::MAX, |signal| signal.saturating_add(128)),
        Ended::Unknown | Ended::NotStarted(_) => u8::MAX,
    })
}

/// What stands between the name of this program and the last `after` of its arguments, and makes it a guardian.
fn arguments_before(all: impl Iterator<Item = OsString>, after: usize) -> Vec<OsString> {
    let mut before = all.skip(1).collect::<Vec<_>>();
    before.truncate(before.len().saturating_sub(after));
    before
}

/// Writes a line to whoever holds the other end of our standard input. Nobody may be listening any more; then there is
/// nobody to tell that either.
fn tell(message: &impl Serialize) {
    if let (Ok(line), Ok(link)) = (serde_json::to_string(message), io::stdin().as_fd().try_clone_to_owned()) {
        let _ = writeln!(File::from(link), "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guardian_can_be_a_part_of_a_larger_program() {
        let cases: [(&[&str], usize, &[&str]); 3] = [
            (&["harn", "guard", "--network", "true"], 2, &["guard"]),
            (&["guard", "true"], 1, &[]),
            (&["guard"], 0, &[]),
        ];
        for (all, after, before) in cases {
            assert_eq!(arguments_before(all.iter().map(OsString::from), after), before, "{all:?}");
        }
    }
}
