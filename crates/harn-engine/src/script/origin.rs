//! Where an uncaught error came from, as the author of the script reads it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use harn_core::Metadata;
use harn_lang::bytecode::{Program, Source};
use harn_lang::syntax::span::LineIndex;
use harn_lang::vm::Failure;
use serde_json::{Value, json};

/// Nobody reads a hundred calls.
const MOST_CALLS: usize = 20;
/// A longer line was not written by hand, and is not kept.
const LONGEST: usize = 1000;

/// The innermost place in something that the author wrote.
pub struct Origin<'a> {
    pub source: &'a Source,
    pub offset: u32,
    /// The calls that led there, in words, from the inside out.
    pub calls: Vec<String>,
}

impl<'a> Origin<'a> {
    /// With the names that sources are to be told by.
    pub fn of(failure: &Failure, program: &'a Program, name: impl Fn(&Source) -> String) -> Option<Self> {
        let own = |module: u16| {
            let source = program.sources.get(usize::from(module)).filter(|_| module > 0);
            source.filter(|source| !source.name.starts_with("std/"))
        };
        let mut trace = failure.trace.iter().filter_map(|entry| Some((own(entry.module)?, entry)));
        let (source, place) = trace.next()?;
        let mut lines: BTreeMap<u16, LineIndex> = BTreeMap::new();
        let mut calls = Vec::new();
        for (source, outer) in trace {
            let lines = lines.entry(outer.module).or_insert_with(|| LineIndex::new(&source.text));
            let line = lines.line(outer.offset);
            calls.push(format!("called from {} at {}:{line}", outer.function, name(source)));
        }
        Some(Self { source, offset: place.offset, calls: shortened(calls) })
    }

    pub fn line(&self) -> u32 {
        LineIndex::new(&self.source.text).line(self.offset)
    }

    /// For the failure of a run, with what was wrong there.
    pub fn details(&self, error: &str) -> Metadata {
        let lines = LineIndex::new(&self.source.text);
        let at = lines.position(&self.source.text, self.offset);
        let text = lines.text(&self.source.text, at.line);
        let mut details = Metadata::new();
        let mut tell = |key: &str, value: Value| details.insert(key.to_owned(), value);
        tell("error", error.into());
        tell("source", self.source.name.to_string().into());
        tell("line", at.line.into());
        tell("column", at.column.into());
        tell("calls", json!(self.calls));
        // It becomes part of the log.
        if text.len() <= LONGEST && matches!(harn_policy::redact(text), Cow::Borrowed(_)) {
            tell("text", text.into());
        }
        details
    }
}

/// A function that calls itself is told once.
fn shortened(calls: Vec<String>) -> Vec<String> {
    let mut short: Vec<String> = Vec::new();
    for same in calls.chunk_by(|a, b| a == b) {
        let times = if same.len() > 1 { format!(", {} times", same.len()) } else { String::new() };
        short.push(format!("{}{times}", same[0]));
    }
    if short.len() > MOST_CALLS {
        let hidden = short.len() - MOST_CALLS + 1;
        short.truncate(MOST_CALLS - 1);
        short.push(format!("and {hidden} calls more"));
    }
    short
}
