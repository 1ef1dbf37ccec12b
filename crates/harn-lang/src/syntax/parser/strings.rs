//! What strings mean: escapes, interpolations and the indentation of triple strings.

use std::sync::Arc;

use super::super::ast::{Expr, ExprKind, StrPart};
use super::super::brackets;
use super::super::diagnostic::Problem;
use super::super::lexer;
use super::super::span::Span;
use super::super::token::{Token, TokenKind};
use super::{Abandoned, Input, MAX_STRINGS, Parse, Parser};

/// A string while it is read.
enum Part {
    Text(String),
    Expr(Expr),
}

impl Parser<'_> {
    /// The value of a string token.
    pub(super) fn string_value(&mut self, token: Token) -> Parse<ExprKind> {
        let Span { start, end } = token.span;
        match token.kind {
            TokenKind::RawStr => Ok(ExprKind::Str(Arc::from(Span::new(start + 2, end - 1).of(self.source)))),
            TokenKind::TripleStr => self.triple_string(Span::new(start + 3, end - 3)),
            _ => self.ordinary_string(Span::new(start + 1, end - 1)),
        }
    }

    fn ordinary_string(&mut self, inside: Span) -> Parse<ExprKind> {
        let text = inside.of(self.source);
        if !text.bytes().any(|byte| matches!(byte, b'\\' | b'$')) {
            return Ok(ExprKind::Str(Arc::from(text)));
        }
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(length) = text[at..].find(['\\', '$']) {
            plain.push_str(&text[at..at + length]);
            at += length;
            let next = text[at + 1..].chars().next();
            if text.as_bytes()[at] == b'\\' {
                at += 1 + next.map_or(0, char::len_utf8);
                push_escape(&mut plain, next);
            } else if next == Some('{') {
                let end = lexer::interpolation_end(text.as_bytes(), at + 2).unwrap_or(text.len());
                let place =
                    Span::new(inside.start + offset(at), inside.start + offset((end + 1).min(text.len())));
                if text[at + 2..end].trim().is_empty() {
                    self.note(Problem::at("Empty interpolation `${}`", place));
                }
                self.interpolated(place, &mut plain, &mut parts)?;
                at = (end + 1).min(text.len());
            } else {
                plain.push('$');
                at += 1;
            }
        }
        plain.push_str(&text[at..]);
        push_text(&mut parts, plain);
        Ok(joined(parts))
    }

    /// No escapes; the indentation that all lines share is removed from the whole text.
    fn triple_string(&mut self, inside: Span) -> Parse<ExprKind> {
        let whole = inside.of(self.source);
        let text = whole.strip_prefix("\r\n").or_else(|| whole.strip_prefix('\n')).unwrap_or(whole);
        let base = inside.end - offset(text.len());
        let mut parts = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(length) = text[at..].find("${") {
            let Some(end) = lexer::interpolation_end(text.as_bytes(), at + length + 2) else { break };
            push_lines(&mut plain, &text[at..at + length]);
            let place = Span::new(base + offset(at + length), base + offset(end + 1));
            self.interpolated(place, &mut plain, &mut parts)?;
            at = end + 1;
        }
        push_lines(&mut plain, &text[at..]);
        push_text(&mut parts, plain);
        dedent(&mut parts);
        Ok(joined(parts))
    }

    /// Reads `${...}`. What is inside but is not an expression stays text.
    fn interpolated(&mut self, place: Span, plain: &mut String, parts: &mut Vec<Part>) -> Parse<()> {
        let inside = Span::new(place.start + 2, place.end.saturating_sub(1));
        match self.interpolation(inside)? {
            Some(expr) => {
                push_text(parts, std::mem::take(plain));
                parts.push(Part::Expr(expr));
            }
            None => plain.push_str(place.of(self.source)),
        }
        Ok(())
    }

    fn interpolation(&mut self, inside: Span) -> Parse<Option<Expr>> {
        if self.strings >= MAX_STRINGS {
            let text = format!("Nesting limit exceeded: strings may be nested {MAX_STRINGS} deep");
            return Err(self.exceeded(text, inside));
        }
        let mut lexed = lexer::lex_range(self.source, inside);
        if !lexed.problems.is_empty() {
            return Ok(None);
        }
        let angles = brackets::mark(&mut lexed.tokens);
        let outer = std::mem::replace(&mut self.input, Input { tokens: lexed.tokens, angles, at: 0 });
        let (depth, reach, problems) = (self.depth, self.reach, self.problems.len());
        let failed_at = std::mem::take(&mut self.types_failed_at);
        let comments = std::mem::take(&mut self.comments);
        self.strings += 1;
        let read = self.whole_expression();
        self.strings -= 1;
        self.input = outer;
        self.comments = comments;
        self.types_failed_at = failed_at;
        if self.stopped {
            self.stop();
            return Err(Abandoned);
        }
        if let (Ok(expr), true) = (read, self.problems.len() == problems) {
            return Ok(Some(expr));
        }
        self.problems.truncate(problems);
        (self.depth, self.reach) = (depth, reach);
        Ok(None)
    }

    fn whole_expression(&mut self) -> Parse<Expr> {
        self.skip_newlines();
        let expr = self.expr()?;
        self.skip_newlines();
        if self.kind() == TokenKind::End { Ok(expr) } else { Err(Abandoned) }
    }
}

/// Escapes that have no meaning stay as they are.
fn push_escape(plain: &mut String, escaped: Option<char>) {
    match escaped {
        Some('n') => plain.push('\n'),
        Some('t') => plain.push('\t'),
        Some(c @ ('\\' | '"' | '$')) => plain.push(c),
        other => {
            plain.push('\\');
            plain.extend(other);
        }
    }
}

/// How the lines of a file end is no part of a text in it.
fn push_lines(plain: &mut String, text: &str) {
    plain.push_str(&text.replace("\r\n", "\n"));
}

fn push_text(parts: &mut Vec<Part>, text: String) {
    if !text.is_empty() {
        parts.push(Part::Text(text));
    }
}

fn joined(parts: Vec<Part>) -> ExprKind {
    let has_expression = parts.iter().any(|part| matches!(part, Part::Expr(_)));
    let mut parts: Vec<StrPart> = parts
        .into_iter()
        .filter_map(|part| match part {
            Part::Text(text) if text.is_empty() => None,
            Part::Text(text) => Some(StrPart::Text(Arc::from(text))),
            Part::Expr(expr) => Some(StrPart::Expr(expr)),
        })
        .collect();
    if has_expression {
        return ExprKind::Interpolated(parts);
    }
    match parts.pop() {
        Some(StrPart::Text(text)) => ExprKind::Str(text),
        _ => ExprKind::Str(Arc::from("")),
    }
}

/// Removes the blanks that all lines with something in them start with, empties the other lines, and drops the
/// last end of line.
fn dedent(parts: &mut [Part]) {
    let shared = shared_indent(parts);
    let mut line_start = true;
    let count = parts.len();
    for (at, part) in parts.iter_mut().enumerate() {
        let Part::Text(text) = part else {
            line_start = false;
            continue;
        };
        let mut kept = String::with_capacity(text.len());
        let mut lines = text.split('\n').enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            if number > 0 {
                kept.push('\n');
            }
            // The last piece of a text goes on in the expression behind it.
            let ends = lines.peek().is_some() || at + 1 == count;
            if number == 0 && !line_start {
                kept.push_str(line);
            } else if !(ends && line.trim().is_empty()) {
                kept.push_str(&line[indent(line).min(shared)..]);
            }
        }
        line_start = false;
        *text = kept;
    }
    if let Some(Part::Text(last)) = parts.last_mut()
        && last.ends_with('\n')
    {
        last.pop();
    }
}

fn shared_indent(parts: &[Part]) -> usize {
    let mut shared = usize::MAX;
    let mut line_start = true;
    for (at, part) in parts.iter().enumerate() {
        let Part::Text(text) = part else {
            if line_start {
                shared = 0;
            }
            line_start = false;
            continue;
        };
        let mut lines = text.split('\n').enumerate().peekable();
        while let Some((number, line)) = lines.next() {
            let ends = lines.peek().is_some() || at + 1 == parts.len();
            if (number > 0 || line_start) && !(ends && line.trim().is_empty()) {
                shared = shared.min(indent(line));
            }
        }
        line_start = false;
    }
    if shared == usize::MAX { 0 } else { shared }
}

fn indent(line: &str) -> usize {
    line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

fn offset(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
