//! The inner process: it restricts itself, and then starts the shell and waits for its end.
//!
//! With namespaces these are two processes of this program, because only a child can be the first process of a new
//! process namespace. Each speaks to the guardian through its standard input, which is a socket; the shell has none.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::{Pid, getppid, setsid};
use serde::{Deserialize, Serialize};

use super::options::{Layer, Mode, Network, Options};
use super::processes::threads_of;
use super::{Ended, GIVEN, tell};
use crate::sandbox::{
    FileRules, Ids, Lists, NetworkRules, Rooms, Sandbox, View, arrange, enter, restrict_files,
    restrict_syscalls,
};

const ENTER: &str = "--inner-enter=";
const FIRST: &str = "--inner-first=";
const PLAIN: &str = "--inner-plain=";

/// What the guardian gives to its inner process.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) options: Options,
    pub(super) rooms: Rooms,
    pub(super) ids: Ids,
    /// What comes before the arguments of a guardian.
    pub(super) program: Vec<String>,
    /// Why there are no namespaces, if they were tried.
    pub(super) refused: Option<String>,
}

impl Plan {
    /// The arguments that start the inner process. With namespaces it goes in two steps.
    pub(super) fn arguments(&self) -> io::Result<Vec<OsString>> {
        let step = if self.namespaces() { ENTER } else { PLAIN };
        self.step(step)
    }

    fn namespaces(&self) -> bool {
        self.refused.is_none() && self.options.uses(Layer::Namespaces)
    }

    fn step(&self, step: &str) -> io::Result<Vec<OsString>> {
        let plan = format!("{step}{}", serde_json::to_string(self)?);
        Ok(self.program.iter().map(OsString::from).chain([plan.into()]).collect())
    }
}

/// What the inner process says to the guardian.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Word {
    /// Namespaces do not work here; nothing was run.
    Refused(String),
    /// The command is about to start, and this holds for it.
    Ready(Sandbox),
    Ended(Ended),
}

/// A step of the inner process, as its arguments say.
pub(super) struct Role<'a> {
    step: &'static str,
    plan: &'a OsStr,
    command: &'a OsStr,
}

impl<'a> Role<'a> {
    pub(super) fn of(args: &'a [OsString]) -> Option<Self> {
        let [plan, command] = args else { return None };
        let found = [ENTER, FIRST, PLAIN].into_iter().find_map(|step| {
            let plan = plan.as_bytes().strip_prefix(step.as_bytes())?;
            Some((step, OsStr::from_bytes(plan)))
        });
        found.map(|(step, plan)| Self { step, plan, command })
    }

    /// The exit code does not matter: the guardian listens to words.
    pub(super) fn play(self) -> ExitCode {
        let Ok(plan) = serde_json::from_slice::<Plan>(self.plan.as_bytes()) else { return ExitCode::FAILURE };
        let word = match self.step {
            ENTER => match enter_and_go_on(&plan, self.command) {
                Ok(()) => return ExitCode::SUCCESS,
                Err(why) => Word::Refused(why),
            },
            FIRST => first(&plan, self.command),
            _ => plain(&plan, self.command),
        };
        tell(&word);
        ExitCode::SUCCESS
    }
}

/// Dies with its parent, and takes every signal that the guardian keeps from itself.
fn attach() -> Result<(), Errno> {
    let parent = getppid();
    prctl::set_pdeathsig(Signal::SIGKILL)?;
    SigSet::empty().thread_set_mask()?;
    // It may have died before we could ask for its signal.
    if getppid() == parent { Ok(()) } else { Err(Errno::ESRCH) }
}

fn enter_and_go_on(plan: &Plan, command: &OsStr) -> Result<(), String> {
    attach().map_err(|error| error.desc().to_owned())?;
    enter(plan.options.network, plan.ids)?;
    let arguments = plan.step(FIRST).map_err(|error| error.to_string())?;
    // It inherits our standard input, and speaks for us from now on.
    let mut first = Command::new("/proc/self/exe")
        .args(arguments)
        .arg(command)
        .spawn()
        .map_err(|error| format!("the first process of the sandbox could not be started: {error}"))?;
    prctl::set_pdeathsig(Signal::SIGKILL).map_err(|error| error.desc().to_owned())?;
    first.wait().map(|_| ()).map_err(|error| error.to_string())
}

fn first(plan: &Plan, command: &OsStr) -> Word {
    let arranged = || {
        attach().map_err(|error| error.desc().to_owned())?;
        prctl::set_name(c"guardian-init").map_err(|error| error.desc().to_owned())?;
        let root = env::current_dir().map_err(|error| format!("the workspace cannot be found: {error}"))?;
        let mut lists = lists(plan, &root);
        let view = View { root: &root, rooms: &plan.rooms, hidden: &plan.options.hide, lists: &lists };
        let (temporary, notes) = arrange(&view, plan.options.caps.threads(), plan.ids)?;
        lists.write.push(temporary.clone());
        Ok((temporary, notes, lists))
    };
    match arranged() {
        Err(why) => Word::Refused(why),
        Ok((temporary, notes, lists)) => {
            Word::Ended(restrict_and_run(plan, command, &temporary, &lists, notes))
        }
    }
}

/// Without namespaces.
fn plain(plan: &Plan, command: &OsStr) -> Word {
    let root = match attach().map_err(io::Error::from).and_then(|()| env::current_dir()) {
        Ok(root) => root,
        Err(error) => {
            return Word::Ended(Ended::NotStarted(format!("the workspace cannot be found: {error}")));
        }
    };
    let mut lists = lists(plan, &root);
    lists.write.push(plan.rooms.tmp.clone());
    Word::Ended(restrict_and_run(plan, command, &plan.rooms.tmp, &lists, Vec::new()))
}

fn lists(plan: &Plan, root: &Path) -> Lists {
    let write =
        [root.to_owned()].into_iter().chain(plan.options.write.iter().cloned()).collect::<Vec<PathBuf>>();
    Lists::new(&plan.options.read, &write)
}

fn restrict_and_run(
    plan: &Plan,
    command: &OsStr,
    temporary: &Path,
    lists: &Lists,
    notes: Vec<String>,
) -> Ended {
    // Before the layers, which close the files that it writes to.
    if !plan.options.bare
        && let Err(error) = limit(plan)
    {
        return Ended::NotStarted(format!("limits could not be set: {error}"));
    }
    let sandbox = restrict(plan, lists, notes);
    if let (Mode::Required, Some(why)) = (plan.options.mode, missing(&sandbox)) {
        return Ended::NotStarted(format!(
            "HARN_SANDBOX=required, and the sandbox is not complete here: {why}"
        ));
    }
    let files = sandbox.files;
    tell(&Word::Ready(sandbox));
    let temporary = (!plan.options.bare).then_some(temporary);
    run(command, temporary, files)
        .unwrap_or_else(|error| Ended::NotStarted(format!("/bin/sh could not be started: {error}")))
}

/// Applies every layer that is wanted and that the kernel has, and notes what is missing.
fn restrict(plan: &Plan, lists: &Lists, mut notes: Vec<String>) -> Sandbox {
    let options = &plan.options;
    if options.mode == Mode::Off {
        notes.push("The sandbox is switched off by HARN_SANDBOX=off.".to_owned());
    } else if !plan.namespaces() {
        let why = plan.refused.as_deref().unwrap_or("they were not wanted");
        notes
            .push(format!("`.harn` is protected by rules only, and `/tmp` is shared: no namespaces, {why}."));
    }
    let mut used = |layer: Layer, without: &str, apply: &dyn Fn() -> Result<(), String>| {
        let result = if options.uses(layer) { apply() } else { Err("it was not wanted".to_owned()) };
        if let (Err(why), true) = (&result, options.mode != Mode::Off) {
            notes.push(format!("{without}: {why}."));
        }
        result.is_ok()
    };
    let files = used(Layer::Landlock, "It could write outside of the workspace", &|| {
        restrict_files(lists, options.network)
    });
    // Last, because it refuses what the other layers are made of.
    let syscalls =
        used(Layer::Seccomp, "Dangerous system calls were allowed", &|| restrict_syscalls(options.network));
    let network = match options.network {
        Network::Open => NetworkRules::Open,
        Network::Closed if syscalls || plan.namespaces() => NetworkRules::Closed,
        Network::Closed => NetworkRules::NotEnforced,
    };
    let files = if files { FileRules::Landlock } else { FileRules::None };
    Sandbox { files, network, namespaces: plan.namespaces(), syscalls, notes }
}

/// The first thing that is missing from a complete sandbox.
fn missing(sandbox: &Sandbox) -> Option<String> {
    let complete = sandbox.files == FileRules::Landlock && sandbox.namespaces && sandbox.syscalls;
    (!complete).then(|| sandbox.notes.join(" ").trim_end_matches('.').to_owned())
}

fn limit(plan: &Plan) -> Result<(), Errno> {
    let caps = &plan.options.caps;
    let mut limits = vec![
        (Resource::RLIMIT_FSIZE, caps.file_size),
        (Resource::RLIMIT_NOFILE, caps.open_files),
        (Resource::RLIMIT_CORE, 0),
    ];
    // Where it does not count the namespace alone, it counts everything that the user runs.
    let others = if plan.namespaces() { 0 } else { threads_of(plan.ids.user) };
    limits.push((Resource::RLIMIT_NPROC, caps.threads().saturating_add(others)));
    for (resource, wanted) in limits {
        let (_, most) = getrlimit(resource)?;
        setrlimit(resource, wanted.min(most), wanted.min(most))?;
    }
    // When memory runs out before the guardian has looked, the command goes first.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
    Ok(())
}

fn run(command: &OsStr, temporary: Option<&Path>, files: FileRules) -> io::Result<Ended> {
    // Without a terminal nothing can wait for somebody at it. It fails only for one who leads a group already.
    let _ = setsid();
    prctl::set_dumpable(false)?;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg("--").arg(command).stdin(Stdio::null()).process_group(0);
    if let Some(temporary) = temporary {
        shell.env("TMPDIR", temporary);
    }
    if let (FileRules::Landlock, Some(temporary)) = (files, temporary) {
        // These two fail when they cannot write to their caches, where others do without.
        shell.env("GOCACHE", temporary.join("go-build")).env("npm_config_cache", temporary.join("npm"));
    }
    for (name, value) in env::vars_os() {
        if let Some(own) = name.to_str().and_then(|name| name.strip_prefix(GIVEN)) {
            shell.env_remove(&name).env(own, value);
        }
    }
    let shell = shell.spawn()?;
    Ok(wait_for(Pid::from_raw(shell.id().cast_signed())))
}

/// Reaps every child, also those that were left to us by their parents.
fn wait_for(shell: Pid) -> Ended {
    loop {
        match wait() {
            Ok(WaitStatus::Exited(pid, code)) if pid == shell => return Ended::Exited(code),
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == shell => {
                return Ended::Signaled(signal as i32);
            }
            Err(Errno::ECHILD) => return Ended::Unknown,
            _ => {}
        }
    }
}
