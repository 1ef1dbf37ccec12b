//! What people see on a terminal: colour where it is wanted, tables, short times, and no byte that a terminal obeys.

use std::fmt::{Display, Write as _};
use std::io::{IsTerminal, Write};
use std::sync::OnceLock;

use anstyle::{AnsiColor, Style};
use harn_core::{Clock, SystemClock, Timestamp};

use crate::args::ColorChoice;

/// What a piece of text means to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Plain,
    Strong,
    Dim,
    Good,
    Warn,
    Bad,
}

impl Tone {
    fn style(self) -> Style {
        let coloured = |colour: AnsiColor| Style::new().fg_color(Some(colour.into()));
        match self {
            Self::Plain => Style::new(),
            Self::Strong => Style::new().bold(),
            Self::Dim => Style::new().dimmed(),
            Self::Good => coloured(AnsiColor::Green),
            Self::Warn => coloured(AnsiColor::Yellow),
            Self::Bad => coloured(AnsiColor::Red).bold(),
        }
    }
}

#[derive(Clone, Copy)]
struct Colours {
    out: bool,
    error: bool,
}

static COLOURS: OnceLock<Colours> = OnceLock::new();

/// Said once, before anything is printed.
pub fn choose_colour(choice: ColorChoice) {
    let unwanted = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let unable = std::env::var_os("TERM").is_some_and(|name| name == "dumb");
    let wanted = |terminal: bool| match choice {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        ColorChoice::Auto => terminal && !unwanted && !unable,
    };
    let _ = COLOURS.set(Colours {
        out: wanted(std::io::stdout().is_terminal()),
        error: wanted(std::io::stderr().is_terminal()),
    });
}

fn painted(wanted: bool, tone: Tone, text: &str) -> String {
    let style = tone.style();
    if wanted { format!("{style}{text}{style:#}") } else { text.to_owned() }
}

/// Text for standard output.
pub fn paint(tone: Tone, text: &str) -> String {
    painted(COLOURS.get().is_some_and(|colours| colours.out), tone, text)
}

/// Text for standard error.
pub fn paint_error(tone: Tone, text: &str) -> String {
    painted(COLOURS.get().is_some_and(|colours| colours.error), tone, text)
}

/// Writes to standard output; a closed pipe is the reader's choice and no error.
pub fn say(text: impl Display) {
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// Writes to standard error.
pub fn warn_line(text: impl Display) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// What came from a model or a server, with everything visible that would steer a terminal or turn text around.
pub fn plain(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\n' | '\t' => shown.push(character),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}' => {
                let _ = write!(shown, "\\u{{{:x}}}", u32::from(character));
            }
            _ if character.is_control() => {
                let _ = write!(shown, "\\x{:02x}", u32::from(character));
            }
            _ => shown.push(character),
        }
    }
    shown
}

/// The same in one line of at most so many characters.
pub fn one_line(text: &str, most: usize) -> String {
    let text = plain(text).split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(most) {
        Some(_) => format!("{}…", text.chars().take(most.saturating_sub(1)).collect::<String>()),
        None => text,
    }
}

/// `1 task`, `2 tasks`.
pub fn counted(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}

/// How long ago, or how soon, in one number.
pub fn relative(instant: Timestamp) -> String {
    let millis = SystemClock.now().millis().saturating_sub(instant.millis());
    let seconds = millis.unsigned_abs() / 1000;
    let span = match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86400),
    };
    if millis < 0 { format!("in {span}") } else { format!("{span} ago") }
}

/// Rows of cells; columns are as wide as their widest cell, the last one is not padded.
pub struct Table {
    rows: Vec<Vec<(Tone, String)>>,
    indent: &'static str,
}

impl Table {
    pub fn new(headings: &[&str]) -> Self {
        let headings = headings.iter().map(|text| (Tone::Dim, (*text).to_owned())).collect();
        Self { rows: vec![headings], indent: "" }
    }

    /// Names and values, without headings.
    pub fn facts() -> Self {
        Self { rows: Vec::new(), indent: "  " }
    }

    pub fn row<const N: usize>(&mut self, cells: [(Tone, String); N]) {
        self.rows.push(cells.into());
    }

    pub fn fact(&mut self, name: &str, value: impl Into<String>) {
        self.row([(Tone::Dim, name.to_owned()), (Tone::Plain, value.into())]);
    }

    pub fn say(&self) {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|(_, text)| text.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let mut line = self.indent.to_owned();
            for (column, (tone, text)) in row.iter().enumerate() {
                line.push_str(&paint(*tone, text));
                if column + 1 < row.len() {
                    let pad = widths[column] - text.chars().count() + 2;
                    line.extend(std::iter::repeat_n(' ', pad));
                }
            }
            say(line.trim_end());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_shown_instead() {
        let cases = [
            ("a\tb\nc", "a\tb\nc"),
            ("\u{1b}[2Jgone", "\\x1b[2Jgone"),
            ("bell\u{7}\r\u{9b}", "bell\\x07\\x0d\\x9b"),
            ("a\u{202e}b", "a\\u{202e}b"),
            ("ünïcode 雪", "ünïcode 雪"),
        ];
        for (given, shown) in cases {
            assert_eq!(plain(given), shown);
        }
        assert_eq!(one_line("a\n\n b   c", 10), "a b c");
        assert_eq!(one_line("abcdef", 4), "abc…");
    }
}
