//! A person at a terminal.

use std::io::{Read, Write};

use nix::sys::termios::LocalFlags;
use portable_pty::{CommandBuilder, PtySize, native_pty_system};

use crate::kit::{HARN, Project};

/// How a command at a terminal went.
pub struct Conversation {
    /// Everything that was on the screen.
    pub screen: String,
    pub is_success: bool,
    /// Whether the terminal shows what is typed, now that the command is over.
    pub shows_typing: bool,
}

/// Runs a command at a terminal, and types once it asks.
pub fn converse(
    project: &Project,
    args: &[&str],
    variables: &[(&str, &str)],
    question: &str,
    typed: &str,
) -> Conversation {
    let pair = native_pty_system().openpty(PtySize { rows: 50, cols: 200, ..PtySize::default() }).unwrap();
    let mut command = CommandBuilder::new(HARN);
    command.env("HARN_LLM_MODEL", "offline");
    variables.iter().for_each(|(name, value)| command.env(name, value));
    command.args(["--color", "never"]);
    command.args(args);
    command.cwd(project.path());
    let mut child = pair.slave.spawn_command(command).unwrap();
    drop(pair.slave);
    let mut screen = pair.master.try_clone_reader().unwrap();
    let mut keys = pair.master.take_writer().unwrap();
    let mut seen = Vec::new();
    let mut asked = false;
    let mut piece = [0u8; 1024];
    // The end of a terminal whose program has gone is an error on some systems.
    while let Ok(count @ 1..) = screen.read(&mut piece) {
        seen.extend_from_slice(&piece[..count]);
        if !asked && String::from_utf8_lossy(&seen).contains(question) {
            keys.write_all(typed.as_bytes()).unwrap();
            asked = true;
        }
    }
    let is_success = child.wait().unwrap().success();
    let flags = pair.master.get_termios().unwrap().local_flags.bits();
    let shows_typing = flags & LocalFlags::ECHO.bits() != 0;
    Conversation { screen: String::from_utf8_lossy(&seen).into_owned(), is_success, shows_typing }
}
