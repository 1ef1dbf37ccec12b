//! How an error in a script is shown: the words, the place, and the line with a mark under it.

use harn_lang::bytecode::Source;
use harn_lang::syntax::span::{LineIndex, Position, Span};

use crate::output::{plain, warn_line};

/// Something that is wrong at a place of a source.
pub struct Diagnostic<'a> {
    pub message: &'a str,
    pub source: &'a Source,
    pub span: Span,
    pub notes: Vec<String>,
}

impl Diagnostic<'_> {
    pub fn position(&self) -> Position {
        LineIndex::new(&self.source.text).position(&self.source.text, self.span.start)
    }

    pub fn say(&self) {
        warn_line(format_args!("error: {}", plain(self.message)));
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
