//! How an error in a script is shown: the words, the place, and the line with a mark under it.

use std::fmt::Write as _;
use std::path::Path;

use harn_core::Metadata;
use harn_lang::bytecode::Source;
use harn_lang::problem::{Problem, Severity};
use harn_lang::syntax::span::{LineIndex, Position, Span};
use serde_json::Value;
use unicode_width::UnicodeWidthChar;

use crate::output::{Tone, paint_error, plain, warn_line};

/// How much of a long line is shown, in columns: before the place, and in all.
const BEFORE: usize = 60;
const IN_ALL: usize = 100;

/// More than any script has.
const MOST_LINES: usize = 1 << 24;

/// Something that is wrong at a place of a source.
pub struct Diagnostic<'a> {
    pub severity: Severity,
    pub message: &'a str,
    pub source: &'a Source,
    pub span: Span,
    pub notes: Vec<String>,
}

impl<'a> Diagnostic<'a> {
    /// With what to do about it, and where to read more.
    pub fn of(problem: &'a Problem, sources: &'a [Source]) -> Self {
        let mut notes: Vec<String> = problem.help.iter().map(|help| format!("help: {help}")).collect();
        notes.push(format!("see: harn explain {}", problem.code.id()));
        Self {
            severity: problem.code.severity(),
            message: &problem.message,
            source: &sources[usize::from(problem.module).min(sources.len() - 1)],
            span: problem.span,
            notes,
        }
    }

    /// An error that nothing caught, and the calls that led to it.
    pub fn uncaught(message: &'a str, source: &'a Source, offset: u32, calls: &[String]) -> Self {
        let notes = calls.iter().map(|call| format!("note: {call}")).collect();
        Self { severity: Severity::Error, message, source, span: word_at(&source.text, offset), notes }
    }

    pub fn position(&self) -> Position {
        LineIndex::new(&self.source.text).position(&self.source.text, self.span.start)
    }

    pub fn as_json(&self, problem: &Problem) -> serde_json::Value {
        let at = self.position();
        serde_json::json!({ "file": name_of(self.source), "line": at.line, "column": at.column,
                            "severity": self.severity.name(), "code": problem.code.id(),
                            "message": self.message, "help": problem.help })
    }

    pub fn say(&self) {
        warn_line(self.rendered(paint_error).trim_end());
    }

    /// Without colours, for a report.
    pub fn text(&self) -> String {
        self.rendered(|_, text| text.to_owned())
    }

    fn rendered(&self, paint: impl Fn(Tone, &str) -> String) -> String {
        let tone = match self.severity {
            Severity::Error => Tone::Bad,
            Severity::Warning => Tone::Warn,
        };
        let index = LineIndex::new(&self.source.text);
        let at = index.position(&self.source.text, self.span.start);
        let number = at.line.to_string();
        let margin = " ".repeat(number.len());
        let covered = self.span.of(&self.source.text).lines().next().unwrap_or_default();
        let ahead = self.source.text.get(..self.span.start as usize).unwrap_or_default();
        let ahead = ahead.rsplit('\n').next().unwrap_or_default();
        let line = Line::new(index.text(&self.source.text, at.line), ahead, covered);
        let mut text = String::new();
        let message = plain(self.message);
        let label = paint(tone, &format!("{}:", self.severity.name()));
        let bar = paint(Tone::Dim, "|");
        let _ = writeln!(text, "{label} {message}");
        let _ = writeln!(text, "{margin}{} {}:{at}", paint(Tone::Dim, "-->"), plain(&name_of(self.source)));
        let _ = writeln!(text, "{margin} {bar}");
        let _ = writeln!(text, "{} {bar} {}", paint(Tone::Dim, &number), line.shown);
        let marks = paint(tone, &"^".repeat(line.width));
        let _ = writeln!(text, "{margin} {bar} {}{marks}", " ".repeat(line.gap));
        for note in &self.notes {
            let _ = writeln!(text, "{margin} {} {}", paint(Tone::Dim, "="), plain(note));
        }
        text
    }
}

/// The word that begins at a place, or the place alone.
fn word_at(text: &str, start: u32) -> Span {
    let rest = text.get(start as usize..).unwrap_or_default();
    let word = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(rest.len());
    Span::new(start, start.saturating_add(u32::try_from(word).unwrap_or(0)))
}

/// An uncaught error of a run elsewhere, by what it has told of it; `None` where it told nothing.
pub fn say_uncaught(details: &Metadata) -> Option<()> {
    let text = |name: &str| details.get(name).and_then(Value::as_str);
    let number = |name: &str| {
        let number =
            usize::try_from(details.get(name)?.as_u64()?).ok().filter(|number| *number <= MOST_LINES);
        number?.checked_sub(1)
    };
    let (line, before, column) = (text("text")?, number("line")?, number("column")?);
    let ahead: usize = line.chars().take(column).map(char::len_utf8).sum();
    // The lines before it are empty ones: only this one is shown.
    let source =
        Source { name: text("source")?.into(), text: format!("{}{line}", "\n".repeat(before)).into() };
    let calls: Vec<String> = serde_json::from_value(details.get("calls")?.clone()).ok()?;
    let offset = u32::try_from(before + ahead).ok()?;
    Diagnostic::uncaught(text("error")?, &source, offset, &calls).say();
    Some(())
}

/// The path of a source as someone in this folder writes it.
pub fn name_of(source: &Source) -> String {
    let folder = std::env::current_dir().and_then(|folder| folder.canonicalize());
    let inside = folder.ok().and_then(|folder| Path::new(&*source.name).strip_prefix(folder).ok());
    inside.map_or_else(|| source.name.to_string(), |path| path.display().to_string())
}

/// The part of a source line that is shown, and where the marks under it stand, in columns of a terminal.
struct Line {
    shown: String,
    gap: usize,
    width: usize,
}

impl Line {
    /// A line, what stands in it before the place, and what the place covers.
    fn new(line: &str, ahead: &str, covered: &str) -> Self {
        // A line may be as long as a file; only what is shown of it is looked at.
        let (mut start, mut gap) = (ahead.len(), 0);
        for (at, character) in ahead.char_indices().rev() {
            if gap + columns(character) > BEFORE {
                break;
            }
            (start, gap) = (at, gap + columns(character));
        }
        let mut shown = String::new();
        if start > 0 {
            shown.push('…');
            gap += 1;
        }
        let mut used = 0;
        for character in line.get(start..).unwrap_or_default().chars() {
            used += columns(character);
            if used > IN_ALL {
                shown.push('…');
                break;
            }
            shown.push_str(&safe(character));
        }
        let width: usize = covered.chars().take(IN_ALL).map(columns).sum();
        Self { shown, gap, width: width.clamp(1, IN_ALL.saturating_sub(gap).max(1)) }
    }
}

/// A character as it is shown: tabs as blanks, and what would steer a terminal by its number.
fn safe(character: char) -> String {
    match character {
        '\t' => "    ".to_owned(),
        other => plain(other.encode_utf8(&mut [0; 4])),
    }
}

fn columns(character: char) -> usize {
    match character {
        ' '..='~' => 1,
        _ => safe(character).chars().map(|shown| shown.width().unwrap_or(0)).sum(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(line: &str, place: &str) -> String {
        let start = line.find(place).unwrap();
        let span = Span::new(start as u32, (start + place.len()) as u32);
        let source = Source { name: "a.harn".into(), text: line.into() };
        let diagnostic = Diagnostic {
            severity: Severity::Error,
            message: "Bad",
            source: &source,
            span,
            notes: Vec::new(),
        };
        let lines: Vec<String> = diagnostic.text().lines().skip(3).map(str::to_owned).collect();
        lines.join("\n")
    }

    #[test]
    fn marks_stand_under_their_place_whatever_is_before_it() {
        let long = format!("{}here{}", "x".repeat(500), "y".repeat(500));
        let cases = [
            ("let bad = 1", "bad", "1 | let bad = 1\n  |     ^^^".to_owned()),
            ("\tlet\tbad", "bad", "1 |     let    bad\n  |            ^^^".to_owned()),
            ("\"日本\" bad", "bad", "1 | \"日本\" bad\n  |        ^^^".to_owned()),
            ("日本", "日本", "1 | 日本\n  | ^^^^".to_owned()),
            ("a\u{1b}[2J bad", "bad", "1 | a\\x1b[2J bad\n  |          ^^^".to_owned()),
            (
                &long,
                "here",
                format!("1 | …{}here{}…\n  | {}^^^^", "x".repeat(60), "y".repeat(36), " ".repeat(61)),
            ),
        ];
        for (line, place, expected) in cases {
            assert_eq!(shown(line, place), expected);
        }
    }
}
