//! Lines that a person types. A thread of its own reads them, because a read of a terminal cannot be called off.

use std::io::BufRead;
use std::sync::mpsc;

use nix::sys::termios::{FlushArg, tcflush};
use tokio::sync::mpsc as wires;

/// Longer lines are nobody's answer.
const MAX_LINE: u64 = 1 << 20;

pub struct Prompt {
    /// Each message asks the thread for one line.
    wanted: mpsc::Sender<()>,
    lines: wires::Receiver<Option<String>>,
    outstanding: bool,
}

impl Prompt {
    pub fn of_stdin() -> Self {
        let (wanted, asked) = mpsc::channel::<()>();
        let (typed, lines) = wires::channel(1);
        // It ends with the prompt, or with the process while it waits for somebody to type.
        std::thread::spawn(move || {
            while asked.recv().is_ok() {
                if typed.blocking_send(read_line()).is_err() {
                    return;
                }
            }
        });
        Self { wanted, lines, outstanding: false }
    }

    /// Forgets what was typed before there was anything to answer.
    pub fn forget_what_was_typed(&mut self) {
        let _ = tcflush(std::io::stdin(), FlushArg::TCIFLUSH);
        if self.lines.try_recv().is_ok() {
            self.outstanding = false;
        }
    }

    /// The next line; none when there will be no more. Nothing is lost when the future is dropped.
    pub async fn line(&mut self) -> Option<String> {
        if !self.outstanding {
            self.wanted.send(()).ok()?;
            self.outstanding = true;
        }
        let line = self.lines.recv().await.flatten();
        self.outstanding = false;
        line
    }
}

fn read_line() -> Option<String> {
    let mut line = Vec::new();
    let mut input = std::io::Read::take(std::io::stdin().lock(), MAX_LINE);
    match input.read_until(b'\n', &mut line) {
        Ok(1..) => Some(String::from_utf8_lossy(&line).trim().to_owned()),
        _ => None,
    }
}
