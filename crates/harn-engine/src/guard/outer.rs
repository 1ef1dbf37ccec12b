//! The guardian itself: it watches its link, its children and what they use, and kills when it must.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::prctl;
use nix::sys::signal::{SigSet, Signal, kill, killpg};
use nix::sys::statvfs::statvfs;
use nix::sys::wait::{WaitStatus, wait};
use nix::unistd::{Pid, SysconfVar, getpgrp, sysconf};

use super::caps::{Caps, Stopped};
use super::folder::PrivateFolder;
use super::inner::{Plan, Word};
use super::options::{Mode, Options};
use super::processes::{descendants, usage};
use super::{Ended, PATIENCE, Report};
use crate::sandbox::{Ids, Sandbox};

/// The pause between two rounds of killing.
const ROUND: Duration = Duration::from_millis(5);

/// The pause between two looks at what is used.
const LOOK: Duration = Duration::from_millis(50);

/// The longest pause, where looking is slow. It is slow too when there is too much to see.
const LONGEST: Duration = Duration::from_millis(200);

enum Event {
    /// Nobody wants the command any more.
    Abandoned,
    /// The inner process has something to say.
    Said(Word),
    /// There is nobody left who could say something.
    Silent,
    /// The inner process has ended like this, perhaps without a word.
    Gone(Ended),
    /// There is no descendant left.
    Alone,
}

/// `program` is what makes this very program a guardian.
pub(super) fn guard(options: &Options, program: &[OsString], command: &OsStr) -> io::Result<Report> {
    // A name of its own, so that `killall harn` takes the harness and leaves its guardians to do their work.
    prctl::set_name(c"guardian")?;
    prctl::set_child_subreaper(true)?;
    let folder = PrivateFolder::make()?;
    let mut plan = Plan {
        options: options.clone(),
        rooms: folder.rooms(),
        ids: Ids::current(),
        program: program.iter().map(|part| part.to_string_lossy().into_owned()).collect(),
        refused: None,
    };
    let (events, inbox) = sync_channel(16);
    watch_for_the_end(&events)?;
    let mut watch = Watch::new(&options.caps, vec![std::env::current_dir()?, plan.rooms.tmp.clone()]);
    let report = match attempt(&plan, command, &events, &inbox, &mut watch)? {
        Outcome::Over(report) => report,
        Outcome::Refused(why) if options.mode == Mode::Required => {
            Report::not_started(format!("HARN_SANDBOX=required, and there are no namespaces here: {why}"))
        }
        Outcome::Refused(why) => {
            plan.refused = Some(why);
            match attempt(&plan, command, &events, &inbox, &mut watch)? {
                Outcome::Over(report) => report,
                Outcome::Refused(why) => Report::not_started(why),
            }
        }
    };
    Ok(report)
}

/// Threads that end with the process.
fn watch_for_the_end(events: &SyncSender<Event>) -> io::Result<()> {
    // Before there are threads, so that it holds in all of them.
    let signals: SigSet =
        [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM].into_iter().collect();
    signals.thread_block()?;
    let mut link = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let (to_link, to_signals) = (events.clone(), events.clone());
    thread::Builder::new().spawn(move || {
        // The other end never writes; an error is as final as the end.
        let _ = io::copy(&mut link, &mut io::sink());
        let _ = to_link.send(Event::Abandoned);
    })?;
    thread::Builder::new().spawn(move || {
        let _ = signals.wait();
        let _ = to_signals.send(Event::Abandoned);
    })?;
    Ok(())
}

enum Outcome {
    Over(Report),
    /// Nothing was run, because there are no namespaces.
    Refused(String),
}

fn attempt(
    plan: &Plan,
    command: &OsStr,
    events: &SyncSender<Event>,
    inbox: &Receiver<Event>,
    watch: &mut Watch,
) -> io::Result<Outcome> {
    let (ours, theirs) = UnixStream::pair()?;
    let inner = Command::new("/proc/self/exe")
        .args(plan.arguments()?)
        .arg(command)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()
        .map_err(|error| {
            io::Error::new(error.kind(), format!("its inner process could not be started: {error}"))
        })?;
    let inner = Pid::from_raw(inner.id().cast_signed());
    let (to_words, to_children) = (events.clone(), events.clone());
    let watched = thread::Builder::new()
        .spawn(move || listen(ours, &to_words))
        .and_then(|_| thread::Builder::new().spawn(move || watch_children(inner, &to_children)));
    if let Err(error) = watched {
        // What cannot be watched must not run on.
        kill_all(inner);
        return Err(error);
    }
    Ok(Attendance::default().attend(inner, inbox, watch))
}

fn listen(link: UnixStream, events: &SyncSender<Event>) {
    let lines = BufReader::new(link.take(64 * 1024)).lines();
    for line in lines.map_while(Result::ok) {
        let Ok(word) = serde_json::from_str(&line) else { break };
        let _ = events.send(Event::Said(word));
    }
    let _ = events.send(Event::Silent);
}

/// Reaps every child, also those that were left to us by their parents.
fn watch_children(inner: Pid, events: &SyncSender<Event>) {
    loop {
        let gone = match wait() {
            Ok(WaitStatus::Exited(pid, _)) if pid == inner => Ended::Unknown,
            Ok(WaitStatus::Signaled(pid, signal, _)) if pid == inner => Ended::Signaled(signal as i32),
            Err(Errno::ECHILD) => break,
            _ => continue,
        };
        let _ = events.send(Event::Gone(gone));
    }
    // Whatever descends from us hangs below a child of ours, so without children we are alone.
    let _ = events.send(Event::Alone);
}

/// What is known of the command so far.
#[derive(Default)]
struct Attendance {
    sandbox: Option<Sandbox>,
    refused: Option<String>,
    ended: Option<Ended>,
    gone: Option<Ended>,
    silent: bool,
    alone: bool,
    abandoned: bool,
    stopped: Option<Stopped>,
    /// When to give up killing, once it has begun.
    deadline: Option<Instant>,
}

impl Attendance {
    /// Waits for the command's end, its going too far, or ours; then clears up.
    fn attend(mut self, inner: Pid, inbox: &Receiver<Event>, watch: &mut Watch) -> Outcome {
        let survivors = loop {
            let pause = if self.deadline.is_some() { ROUND } else { watch.pause };
            match inbox.recv_timeout(pause) {
                Ok(Event::Said(word)) => self.hear(word),
                Ok(Event::Gone(how)) => self.gone = Some(how),
                Ok(Event::Silent) => self.silent = true,
                Ok(Event::Alone) => self.alone = true,
                Err(RecvTimeoutError::Disconnected) => break Vec::new(),
                Ok(Event::Abandoned) => {
                    self.abandoned = true;
                    self.begin_to_kill(inner, &watch.groups);
                }
                Err(RecvTimeoutError::Timeout) if self.deadline.is_some() => kill_descendants(),
                Err(RecvTimeoutError::Timeout) => {
                    self.stopped = watch.look();
                    if self.stopped.is_some() {
                        self.begin_to_kill(inner, &watch.groups);
                    }
                }
            }
            // When it is alone the last word may still be on its way.
            if self.alone && self.silent {
                break Vec::new();
            }
            // The inner process ends by itself once it has said the last word, and what it leaves behind must go.
            if self.ended.is_some() || self.gone.is_some() {
                self.deadline.get_or_insert_with(|| Instant::now() + PATIENCE);
            }
            if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
                break descendants().iter().map(|process| process.pid).collect();
            }
        };
        self.outcome(survivors)
    }

    fn hear(&mut self, word: Word) {
        match word {
            Word::Refused(why) => self.refused = Some(why),
            Word::Ready(sandbox) => self.sandbox = Some(sandbox),
            Word::Ended(how) => self.ended = Some(how),
        }
    }

    /// The groups of the last look go first, before anything is looked for: the kernel takes a group at once, and a
    /// fork bomb makes every search long.
    fn begin_to_kill(&mut self, inner: Pid, seen: &BTreeSet<i32>) {
        self.deadline = Some(Instant::now() + PATIENCE);
        kill_groups(seen);
        // Whoever is reaped already has left its number to somebody else.
        if self.gone.is_none() {
            kill_all(inner);
        }
    }

    fn outcome(self, survivors: Vec<i32>) -> Outcome {
        // What nobody wants any more, and is told only once, must not be tried a second time.
        if let (Some(why), false) = (self.refused, self.abandoned) {
            return Outcome::Refused(why);
        }
        let ended = self.ended.or(self.gone).unwrap_or(Ended::Unknown);
        Outcome::Over(Report { ended, stopped: self.stopped, sandbox: self.sandbox, survivors })
    }
}

/// The inner process first: with it goes, in a process namespace, everything at once.
fn kill_all(inner: Pid) {
    let _ = kill(inner, Signal::SIGKILL);
    kill_descendants();
}

/// Whole groups first, because the kernel takes a group at once, however fast it forks. What leaves its group while we
/// look is found in the next round.
fn kill_descendants() {
    let found = descendants();
    kill_groups(&found.iter().map(|process| process.group).collect());
    for process in found {
        let _ = kill(Pid::from_raw(process.pid), Signal::SIGKILL);
    }
}

fn kill_groups(groups: &BTreeSet<i32>) {
    // Ours may have been given to us by whoever started us.
    let own = getpgrp().as_raw();
    for group in groups.iter().filter(|group| **group > 1 && **group != own) {
        let _ = killpg(Pid::from_raw(*group), Signal::SIGKILL);
    }
}

/// Looks at what the command uses.
struct Watch {
    processes: u64,
    pages: u64,
    /// Folders, and how many bytes must stay free on their file systems.
    floors: Vec<(PathBuf, u64)>,
    /// Until the next look; longer where looking is slow.
    pause: Duration,
    /// The process groups of the last look.
    groups: BTreeSet<i32>,
}

impl Watch {
    fn new(caps: &Caps, folders: Vec<PathBuf>) -> Self {
        let page = sysconf(SysconfVar::PAGE_SIZE).ok().flatten().and_then(|size| u64::try_from(size).ok());
        let floor = |folder: PathBuf| {
            let (size, free) = space(&folder)?;
            Some((folder, caps.floor(size, free)))
        };
        Self {
            // The inner processes are ours: one, or with namespaces two.
            processes: caps.processes.saturating_add(2),
            pages: caps.memory / page.unwrap_or(4096),
            floors: folders.into_iter().filter_map(floor).collect(),
            pause: LOOK,
            groups: BTreeSet::new(),
        }
    }

    fn look(&mut self) -> Option<Stopped> {
        let begun = Instant::now();
        let used = usage(self.processes);
        let full =
            self.floors.iter().any(|(folder, floor)| space(folder).is_some_and(|(_, free)| free < *floor));
        self.pause = (begun.elapsed() * 10).clamp(LOOK, LONGEST);
        self.groups = used.groups;
        match () {
            () if used.processes > self.processes => Some(Stopped::Processes),
            () if used.pages > self.pages => Some(Stopped::Memory),
            () if full => Some(Stopped::Disk),
            () => None,
        }
    }
}

/// The size of a folder's file system, and what is free of it for us, in bytes.
fn space(folder: &std::path::Path) -> Option<(u64, u64)> {
    let found = statvfs(folder).ok()?;
    let block = found.fragment_size();
    Some((found.blocks().saturating_mul(block), found.blocks_available().saturating_mul(block)))
}
