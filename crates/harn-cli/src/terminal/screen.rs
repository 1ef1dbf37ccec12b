//! The screen: writes lines to standard output, and on a terminal shows below them what is waited for.

use std::fs::File;
use std::io::{IsTerminal, Write};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Instant;

use super::line::{Line, Paint, Tone};
use crate::args::ColorChoice;

const USUAL_COLUMNS: usize = 80;
const FEWEST_COLUMNS: usize = 20;
const FRAMES: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];
/// To the beginning of the row, and erase it.
const CLEAR_ROW: &str = "\r\u{1b}[2K";

static COLOUR: OnceLock<ColorChoice> = OnceLock::new();

/// What the command line says about colour, once for the whole process.
pub fn choose_colour(choice: ColorChoice) {
    let _ = COLOUR.set(choice);
}

/// Whether something is drawn that changes in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Shown,
    Off,
}

/// What stands in the last row, where no line has been written yet.
enum LastRow {
    Empty,
    Spinner,
    /// Somebody is typing there.
    Prompt(String),
}

pub struct Screen {
    paint: Paint,
    columns: Option<usize>,
    progress: Progress,
    last_row: LastRow,
    frame: usize,
    /// What is waited for, and since when.
    waiting: Option<(String, Instant)>,
}

impl Screen {
    pub fn of_stdout() -> Self {
        let terminal = std::io::stdout().is_terminal();
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let colour = match COLOUR.get().copied().unwrap_or_default() {
            ColorChoice::Always => true,
            ColorChoice::Never => false,
            ColorChoice::Auto => terminal && !dumb && !no_color,
        };
        Self {
            paint: if colour { Paint::Colour } else { Paint::Plain },
            columns: terminal.then(columns),
            progress: if terminal && !dumb { Progress::Shown } else { Progress::Off },
            last_row: LastRow::Empty,
            frame: 0,
            waiting: None,
        }
    }

    /// Looks again how wide the terminal is.
    pub fn resize(&mut self) {
        self.columns = self.columns.map(|_| columns());
    }

    pub fn moves(&self) -> bool {
        self.progress == Progress::Shown
    }

    pub fn lines(&mut self, lines: &[Line]) {
        if lines.is_empty() {
            return;
        }
        let mut text = self.cleared();
        for line in lines {
            for row in line.rows(self.columns, self.paint) {
                text.push_str(&row);
                text.push('\n');
            }
        }
        if let LastRow::Prompt(prompt) = &self.last_row {
            text.push_str(prompt);
        }
        write(&text);
    }

    /// Something about the view itself; on standard error, so that it is no part of what is piped on.
    pub fn notice(&mut self, tone: Tone, text: &str) {
        let cleared = self.cleared();
        write(&cleared);
        let mut rows = Line::new(tone, text).rows(self.columns, self.paint_of_stderr()).join("\n");
        rows.push('\n');
        let mut err = std::io::stderr();
        let _ = err.write_all(rows.as_bytes()).and_then(|()| err.flush());
        if let LastRow::Prompt(prompt) = &self.last_row {
            write(prompt);
        }
    }

    /// What a script prints, as it prints it.
    pub fn printed(&mut self, is_error: bool, text: &str) {
        let cleared = self.cleared();
        write(&cleared);
        if is_error {
            let mut err = std::io::stderr();
            let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
        } else {
            write(text);
        }
        if let LastRow::Prompt(prompt) = &self.last_row {
            write(prompt);
        }
    }

    /// One JSON value in one line.
    pub fn json(&mut self, json: &str) {
        write(&format!("{json}\n"));
    }

    /// Waits for somebody to type; nothing moves until then.
    pub fn prompt(&mut self, text: &str) {
        let mut row = self.cleared();
        row.push_str(text);
        write(&row);
        self.last_row = LastRow::Prompt(text.to_owned());
    }

    /// What was typed stays, and the cursor is in the next row.
    pub fn typed(&mut self) {
        self.last_row = LastRow::Empty;
    }

    /// The prompt has no use any more.
    pub fn withdraw(&mut self) {
        if matches!(self.last_row, LastRow::Prompt(_)) {
            self.last_row = LastRow::Empty;
            write("\n");
        }
    }

    /// Draws what is waited for, with the time that it has taken so far.
    pub fn spin(&mut self, waiting: Option<String>) {
        if self.progress == Progress::Off || matches!(self.last_row, LastRow::Prompt(_)) {
            return;
        }
        let Some(text) = waiting else {
            self.still();
            return;
        };
        let since = match self.waiting.take() {
            Some((before, since)) if before == text => since,
            _ => Instant::now(),
        };
        self.frame = (self.frame + 1) % FRAMES.len();
        let line = Line::new(Tone::Attention, FRAMES[self.frame])
            .and(Tone::Faint, &format!(" {}s ", since.elapsed().as_secs()))
            .and(Tone::Faint, &text)
            .clipped();
        // One column stays free: a full row would move the cursor to the next.
        let room = self.columns.map(|columns| columns.saturating_sub(1));
        write(&format!("{CLEAR_ROW}{}", line.rows(room, self.paint).concat()));
        self.last_row = LastRow::Spinner;
        self.waiting = Some((text, since));
    }

    /// Takes away what moves.
    pub fn still(&mut self) {
        let cleared = self.cleared();
        write(&cleared);
        self.waiting = None;
    }

    /// Takes away what the terminal itself has written in the last row: the echo of Ctrl-C.
    pub fn wipe(&mut self) {
        if self.progress == Progress::Shown {
            write(CLEAR_ROW);
            self.last_row = LastRow::Empty;
        }
    }

    /// What empties the last row, so that lines can be written there.
    fn cleared(&mut self) -> String {
        match self.last_row {
            LastRow::Empty => String::new(),
            LastRow::Prompt(_) if self.progress == Progress::Off => "\n".to_owned(),
            LastRow::Prompt(_) => CLEAR_ROW.to_owned(),
            LastRow::Spinner => {
                self.last_row = LastRow::Empty;
                CLEAR_ROW.to_owned()
            }
        }
    }

    fn paint_of_stderr(&self) -> Paint {
        if std::io::stderr().is_terminal() { self.paint } else { Paint::Plain }
    }
}

/// A reader that has gone is no error of ours.
fn write(text: &str) {
    if !text.is_empty() {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    }
}

/// How wide the terminal is. Asking the system needs `unsafe`, so `stty` is asked.
fn columns() -> usize {
    let given = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
    let found: Option<usize> = given.or_else(asked_of_stty);
    found.filter(|columns| *columns > 0).unwrap_or(USUAL_COLUMNS).max(FEWEST_COLUMNS)
}

fn asked_of_stty() -> Option<usize> {
    let terminal = File::open("/dev/tty").ok()?;
    let said = Command::new("stty").arg("size").stdin(terminal).stderr(Stdio::null()).output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    said.split_whitespace().nth(1)?.parse().ok()
}
