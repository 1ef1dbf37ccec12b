//! `harn connect`: secrets that scripts may send and never see.

use std::io::{self, BufRead, IsTerminal, Read, Write};
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, Result};
use harn_engine::secrets::{Entry, Kept, May, Secrets};
use nix::sys::signal::{SigSet, Signal};
use nix::sys::termios::{LocalFlags, SetArg, Termios, tcgetattr, tcsetattr};
use serde_json::json;

use super::{say, say_json};
use crate::args::ConnectCommand;
use crate::output::{Table, Tone, plain, relative, warn_line};
use crate::problem::Problem;

/// No key is longer than this.
const MOST_BYTES: u64 = 64 << 10;

pub fn run(command: ConnectCommand) -> Result<ExitCode> {
    let secrets = Secrets::of_user();
    match command {
        ConnectCommand::ApiKey { name, hosts, programs } => keep(&secrets, &name, May { hosts, programs }),
        ConnectCommand::List { json } => list(&secrets, json),
        ConnectCommand::Remove { name } => remove(&secrets, &name),
    }
}

fn keep(secrets: &Secrets, name: &str, may: May) -> Result<ExitCode> {
    may.hosts.iter().try_for_each(|host| check_host(host))?;
    may.programs.iter().try_for_each(|program| check_program(program))?;
    let value = value(name)?;
    if value.is_empty() {
        let problem = Problem::usage("the value is empty, so nothing was kept");
        return Err(problem.hint(format!("type it in, or `harn connect api-key {name} < FILE`")).into());
    }
    let goes_nowhere = may == May::default();
    let place = match secrets.put(name, &value, may)? {
        Kept::Keychain => "the keychain of the system",
        Kept::File => "an encrypted file",
    };
    say(format_args!("Kept {} in {place}.", plain(name)));
    if goes_nowhere {
        warn_line("warning: it may go nowhere yet; say where with --host HOST or --program PROGRAM");
    }
    Ok(ExitCode::SUCCESS)
}

fn check_host(host: &str) -> Result<()> {
    let name = host.strip_prefix("*.").unwrap_or(host);
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    if !name.is_empty() && name.chars().all(is_letter) {
        return Ok(());
    }
    let hint = "a host is a name such as `api.example.com`, or `*.example.com` for all below; no scheme, port or path";
    Err(Problem::usage(format!("--host {}: that is no host", plain(host))).hint(hint).into())
}

fn check_program(program: &str) -> Result<()> {
    if !program.is_empty() && !program.contains(|letter: char| letter.is_whitespace() || letter.is_control())
    {
        return Ok(());
    }
    let hint = "a program is one word, as scripts call it: `gh`, or `/usr/bin/gh`";
    Err(Problem::usage(format!("--program {}: that is no program", plain(program))).hint(hint).into())
}

/// What is typed in without being shown, or all of standard input.
fn value(name: &str) -> Result<String> {
    let input = io::stdin();
    let mut text = String::new();
    if input.is_terminal() {
        // Before it is asked for, so that nothing is shown however fast somebody types.
        let _silence = Silence::new()?;
        let mut error = io::stderr();
        write!(error, "Value of {}: ", plain(name)).and_then(|()| error.flush())?;
        input.lock().take(MOST_BYTES).read_line(&mut text).context("the value cannot be read")?;
        writeln!(error)?;
    } else {
        let read = input.lock().take(MOST_BYTES + 1).read_to_string(&mut text);
        read.context("standard input cannot be read as text")?;
    }
    if text.len() as u64 > MOST_BYTES {
        return Err(Problem::usage("the value is longer than 64 KiB, so nothing was kept").into());
    }
    Ok(text.trim_end_matches(['\n', '\r']).to_owned())
}

/// A terminal that does not show what is typed, until this is dropped or a signal ends the process.
struct Silence(Termios);

impl Silence {
    fn new() -> Result<Self> {
        let before = tcgetattr(io::stdin()).context("the terminal cannot be asked")?;
        let signals: SigSet =
            [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT, Signal::SIGTERM].into_iter().collect();
        signals.thread_block()?;
        let own = Self(before.clone());
        thread::spawn(move || {
            if let Ok(signal) = signals.wait() {
                drop(own);
                std::process::exit(128 + signal as i32);
            }
        });
        let mut silent = before.clone();
        silent.local_flags.remove(LocalFlags::ECHO);
        tcsetattr(io::stdin(), SetArg::TCSAFLUSH, &silent).context("the terminal cannot be silenced")?;
        Ok(Self(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        let _ = tcsetattr(io::stdin(), SetArg::TCSANOW, &self.0);
    }
}

fn list(secrets: &Secrets, as_json: bool) -> Result<ExitCode> {
    let all = secrets.list()?;
    if as_json {
        let one = |(name, entry): &(String, Entry)| {
            let Entry { hosts, programs, stored_at, .. } = entry;
            json!({ "name": name, "hosts": hosts, "programs": programs, "stored_at": stored_at })
        };
        say_json(&json!({ "data": all.iter().map(one).collect::<Vec<_>>() }));
        return Ok(ExitCode::SUCCESS);
    }
    if all.is_empty() {
        say("No secrets. `harn connect api-key NAME --host HOST` keeps one.");
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&["NAME", "KEPT", "MAY GO TO"]);
    for (name, entry) in all {
        let programs = entry.programs.iter().map(|program| format!("{program} (program)"));
        let places: Vec<String> = entry.hosts.iter().cloned().chain(programs).collect();
        let places = if places.is_empty() { "nowhere".to_owned() } else { places.join(", ") };
        table.row([
            (Tone::Strong, plain(&name)),
            (Tone::Dim, relative(entry.stored_at)),
            (Tone::Plain, plain(&places)),
        ]);
    }
    table.say();
    Ok(ExitCode::SUCCESS)
}

fn remove(secrets: &Secrets, name: &str) -> Result<ExitCode> {
    if !secrets.remove(name)? {
        let problem = Problem::new(format!("there is no secret `{}`", plain(name)));
        return Err(problem.hint("`harn connect list` shows those that there are").into());
    }
    say(format_args!("Removed {}.", plain(name)));
    Ok(ExitCode::SUCCESS)
}
