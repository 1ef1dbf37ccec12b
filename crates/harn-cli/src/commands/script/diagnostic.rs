//! How an error in a script is shown: the words, the place, and the line with a mark under it.

use harn_lang::bytecode::Source;
use harn_lang::problem::{Problem, Severity};
use harn_lang::syntax::span::{LineIndex, Position, Span};

use crate::output::{plain, warn_line};

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

    pub fn position(&self) -> Position {
        LineIndex::new(&self.source.text).position(&self.source.text, self.span.start)
    }

    pub fn as_json(&self, problem: &Problem) -> serde_json::Value {
        let at = self.position();
        serde_json::json!({ "file": &*self.source.name, "line": at.line, "column": at.column,
                            "severity": self.severity.name(), "code": problem.code.id(),
                            "message": self.message, "help": problem.help })
    }

    pub fn say(&self) {
        warn_line(format_args!("{}: {}", self.severity.name(), plain(self.message)));
        let index = LineIndex::new(&self.source.text);
        let at = self.position();
        let number = at.line.to_string();
        let margin = " ".repeat(number.len());
        warn_line(format_args!("{margin}--> {}:{at}", plain(&self.source.name)));
        let line = index.text(&self.source.text, at.line);
        // A long line is shown from a little before the place.
        let before: Vec<char> = line.chars().take(at.column as usize - 1).collect();
        let skipped = before.len().saturating_sub(60);
        let shown: String = line.chars().skip(skipped).take(100).collect();
        let width = self.span.of(&self.source.text).lines().next().unwrap_or_default().chars().count();
        let marks = "^".repeat(width.clamp(1, 100usize.saturating_sub(before.len() - skipped).max(1)));
        let gap: String =
            before[skipped..].iter().map(|letter| if *letter == '\t' { '\t' } else { ' ' }).collect();
        warn_line(format_args!("{margin} |"));
        warn_line(format_args!("{number} | {}", plain(&shown)));
        warn_line(format_args!("{margin} | {gap}{marks}"));
        for note in &self.notes {
            warn_line(format_args!("{margin} = {}", plain(note)));
        }
    }
}
