//! Starts a command under its guardian, listens to its output, and learns how it ended.

use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net;
use std::path::Path;
use std::pin::pin;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedReadHalf;
use tokio::process::{Child, Command};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::capture::Capture;
use crate::guard::{Caps, GIVEN, GuardCommand, Network, PATIENCE, Report, sandbox_options};
use crate::sandbox::TOOL_FOLDERS;

/// What a command sees of our environment beside where tools are: what programs need to work, and no secrets.
const PASSED_ON: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "TZ",
    "TMPDIR",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
];

/// Passed on with the network only: a proxy's address may hold a password.
const WITH_NETWORK: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"];

/// So that nothing waits for somebody at a terminal.
const SET: [(&str, &str); 11] = [
    ("TERM", "dumb"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("EDITOR", "true"),
    ("VISUAL", "true"),
    ("GIT_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("PIP_NO_INPUT", "1"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// How long output may take to arrive when the command is over. Only a process that the guardian could not kill
/// holds the pipes open for longer.
const DRAIN: Duration = Duration::from_secs(1);

/// Environment variables by name.
pub(crate) type Variables = [(String, String)];

/// What a command has written so far.
pub(crate) struct Captures {
    pub(crate) stdout: Mutex<Capture>,
    pub(crate) stderr: Mutex<Capture>,
    total: AtomicU64,
    /// How much it may write in all before it is stopped.
    limit: u64,
    /// Notified whenever something was written.
    pub(crate) changed: Notify,
}

impl Default for Captures {
    fn default() -> Self {
        Self::of(Capture::default, Caps::default().output)
    }
}

impl Captures {
    /// Keeps all of it, up to a limit for both streams together.
    pub(crate) fn whole(limit: u64) -> Self {
        Self::of(|| Capture::with_room(usize::try_from(limit).unwrap_or(usize::MAX)), limit)
    }

    fn of(capture: impl Fn() -> Capture, limit: u64) -> Self {
        let (stdout, stderr) = (Mutex::new(capture()), Mutex::new(capture()));
        Self { stdout, stderr, total: AtomicU64::new(0), limit, changed: Notify::new() }
    }
}

/// Why a command is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    Ended,
    TimedOut,
    TooMuchOutput,
    Cancelled,
}

/// How a command ended; without a report nobody knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct End {
    pub(crate) why: Why,
    pub(crate) report: Option<Report>,
}

/// A command that runs. Dropping it, or the future of its end, kills all of it: that closes the guardian's socket. The
/// guardian itself must never be killed, or it could not do that.
pub(crate) struct Running {
    guardian: Child,
    link: UnixStream,
    pub(crate) captures: Arc<Captures>,
}

impl Running {
    /// Starts the guardian with the other end of our link as its standard input. It is in a process group of its own,
    /// so that an interrupt at the terminal reaches us and not it.
    pub(crate) fn start(
        guard: &GuardCommand,
        root: &Path,
        network: Network,
        given: &Variables,
        command: &str,
    ) -> io::Result<Self> {
        let mut command_line = Command::new(&guard.program);
        command_line
            .args(&guard.args)
            .args(sandbox_options())
            .args((network == Network::Open).then_some("--network"))
            .arg(command)
            .env_clear()
            .envs(environment(network))
            .envs(passed(given));
        Self::spawn(command_line, root)
    }

    /// Starts a command like any program of the user: without a sandbox and with all of the environment, and what else
    /// the run has in its own.
    pub(crate) fn start_bare(
        guard: &GuardCommand,
        folder: &Path,
        own: &Variables,
        given: &Variables,
        command: &str,
    ) -> io::Result<Self> {
        let mut command_line = Command::new(&guard.program);
        let own = own.iter().map(|(name, value)| (name, value));
        command_line.args(&guard.args).arg("--bare").arg(command).envs(own).envs(passed(given));
        Self::spawn(command_line, folder)
    }

    /// The same, with these to hold what it writes.
    pub(crate) fn keeping(mut self, captures: Captures) -> Self {
        self.captures = Arc::new(captures);
        self
    }

    fn spawn(mut guardian: Command, folder: &Path) -> io::Result<Self> {
        let (ours, theirs) = net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let guardian = guardian
            .current_dir(folder)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        Ok(Self { guardian, link: UnixStream::from_std(ours)?, captures: Arc::default() })
    }

    /// Listens until it is over, stops it at the limit or when asked, and learns how it ended.
    pub(crate) async fn end(mut self, limit: Option<Duration>, cancel: &CancellationToken) -> End {
        let (stdout, stderr) = (self.guardian.stdout.take(), self.guardian.stderr.take());
        let too_much = CancellationToken::new();
        let captures = &self.captures;
        let mut reading = pin!(async {
            tokio::join!(
                fill(captures, &captures.stdout, stdout, &too_much),
                fill(captures, &captures.stderr, stderr, &too_much)
            );
        });
        let mut attending = pin!(attend(self.link, limit, &too_much, cancel));
        let end = tokio::select! {
            end = &mut attending => {
                // Running out of time here means only that what did not arrive is not shown.
                let _ = timeout(DRAIN, reading).await;
                end
            }
            () = &mut reading => attending.await,
        };
        // It has closed the link, which is the last thing it does; this only collects its exit.
        let _ = timeout(DRAIN, self.guardian.wait()).await;
        end
    }
}

/// Whether commands see this variable of ours.
pub(crate) fn is_passed_on(variable: &str) -> bool {
    passed_on().any(|name| name == variable)
}

fn passed_on() -> impl Iterator<Item = &'static str> {
    PASSED_ON.into_iter().chain(TOOL_FOLDERS)
}

fn environment(network: Network) -> impl Iterator<Item = (&'static str, OsString)> {
    let with_network = WITH_NETWORK.iter().filter(move |_| network == Network::Open);
    let ours =
        passed_on().chain(with_network.copied()).filter_map(|name| Some((name, std::env::var_os(name)?)));
    ours.chain(SET.iter().map(|(name, value)| (*name, OsString::from(value))))
}

/// Variables for the command alone: under these names they mean nothing to the guardian.
fn passed(given: &Variables) -> impl Iterator<Item = (String, &String)> {
    given.iter().map(|(name, value)| (format!("{GIVEN}{name}"), value))
}

/// Reads to the end, or to the limit of all output. A failing pipe ends like a closed one: what was read is still
/// worth showing.
async fn fill(
    captures: &Captures,
    capture: &Mutex<Capture>,
    source: Option<impl AsyncRead + Unpin>,
    too_much: &CancellationToken,
) {
    let Some(mut source) = source else { return };
    let mut chunk = vec![0; 32 * 1024];
    while let Ok(read @ 1..) = source.read(&mut chunk).await {
        capture.lock().push(&chunk[..read]);
        captures.changed.notify_waiters();
        if captures.total.fetch_add(read as u64, Ordering::Relaxed) + read as u64 > captures.limit {
            too_much.cancel();
            return;
        }
    }
}

/// Waits for the report. When time is up, or on cancellation, only our direction of the link is closed: the guardian
/// then kills everything and still reports.
async fn attend(
    link: UnixStream,
    limit: Option<Duration>,
    too_much: &CancellationToken,
    cancel: &CancellationToken,
) -> End {
    let (reader, writer) = link.into_split();
    let mut report = pin!(read_report(reader));
    let time_is_up = async {
        match limit {
            Some(limit) => sleep(limit).await,
            None => std::future::pending().await,
        }
    };
    let why = tokio::select! {
        report = &mut report => return End { why: Why::Ended, report },
        () = time_is_up => Why::TimedOut,
        () = too_much.cancelled() => Why::TooMuchOutput,
        () = cancel.cancelled() => Why::Cancelled,
    };
    drop(writer);
    End { why, report: timeout(PATIENCE * 2, report).await.ok().flatten() }
}

async fn read_report(link: OwnedReadHalf) -> Option<Report> {
    let mut line = Vec::new();
    link.take(64 * 1024).read_to_end(&mut line).await.ok()?;
    serde_json::from_slice(&line).ok()
}
