//! Says which layers of the sandbox work on this machine, by running a command in it.

use std::io::Read;
use std::process::{Command, Stdio};

use super::{FileRules, NetworkRules, Sandbox};
use crate::guard::{Ended, GuardCommand, Report};

/// What the sandbox can do here, as data and in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What held for the command that was tried; an error if nothing could be run.
    pub sandbox: Result<Sandbox, String>,
}

impl Probe {
    /// Whether every layer works.
    pub fn complete(&self) -> bool {
        self.sandbox.as_ref().is_ok_and(|sandbox| {
            sandbox.files == FileRules::Landlock
                && sandbox.network == NetworkRules::Closed
                && sandbox.namespaces
                && sandbox.syscalls
        })
    }

    /// One line for each layer, and one for each thing that is missing.
    pub fn words(&self) -> Vec<String> {
        let sandbox = match &self.sandbox {
            Ok(sandbox) => sandbox,
            Err(why) => return vec![format!("No command can be run: {why}.")],
        };
        let files = match sandbox.files {
            FileRules::Landlock => "Files: commands write only in their workspace (Landlock).",
            FileRules::None => "Files: commands can write wherever you can.",
        };
        let network = match sandbox.network {
            NetworkRules::Closed => "Network: closed unless a call is granted it.",
            NetworkRules::Open => "Network: open.",
            NetworkRules::NotEnforced => "Network: open to every command.",
        };
        let syscalls = match sandbox.syscalls {
            true => "System calls: dangerous ones are refused (seccomp).",
            false => "System calls: all of them are allowed.",
        };
        let namespaces = match sandbox.namespaces {
            true => "Namespaces: commands see their own processes, a private /tmp, and no .harn.",
            false => "Namespaces: none; `.harn` is protected by rules only.",
        };
        let layers = [files, network, syscalls, namespaces].map(str::to_owned);
        layers.into_iter().chain(sandbox.notes.iter().cloned()).collect()
    }
}

/// Runs `true` in the sandbox as commands are run. It blocks for some milliseconds.
pub fn probe(guard: &GuardCommand) -> Probe {
    Probe { sandbox: attempt(guard) }
}

fn attempt(guard: &GuardCommand) -> Result<Sandbox, String> {
    let failed = |error: std::io::Error| format!("the guardian `{}`: {error}", guard.program.display());
    let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().map_err(failed)?;
    let mut child = Command::new(&guard.program)
        .args(&guard.args)
        .args(crate::guard::sandbox_options())
        .arg("true")
        // Any folder will do that holds neither a home nor temporary files.
        .current_dir("/usr")
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(failed)?;
    let mut line = Vec::new();
    let read = (&mut ours).take(64 * 1024).read_to_end(&mut line);
    child.wait().map_err(failed)?;
    read.map_err(failed)?;
    match serde_json::from_slice::<Report>(&line) {
        Ok(Report { ended: Ended::NotStarted(why), .. }) => Err(why),
        Ok(Report { sandbox: Some(sandbox), .. }) => Ok(sandbox),
        _ => Err("the guardian gave no report".to_owned()),
    }
}
