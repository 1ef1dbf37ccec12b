//! Collects the lines of files that match a pattern, with the lines around them, up to what an answer may hold.

use std::io::{self, Read};

use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, SearcherBuilder, Sink, SinkContext, SinkContextKind, SinkMatch};
use serde_json::{Value, json};

use super::glob::MAX_RESULTS;
use super::walk::{Bounds, Over};

const MAX_LINE_SHOWN: usize = 500;
const MAX_LINE: usize = 1024 * 1024;

/// A pattern is slow at worst, so it gets a file in pieces, and the bounds are checked between them.
const PIECE: usize = 64 * 1024;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Wanted {
    Lines { context: usize },
    Files,
}

/// Why nothing more is collected.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Full {
    Limit,
    Bytes,
}

pub(super) struct Lines<'a> {
    pattern: &'a RegexMatcher,
    searcher: Searcher,
    found: Collected,
}

struct Collected {
    wanted: Wanted,
    limit: usize,
    matches: usize,
    bytes: usize,
    items: Vec<Value>,
    full: Option<Full>,
}

impl<'a> Lines<'a> {
    pub(super) fn new(pattern: &'a RegexMatcher, wanted: Wanted, limit: usize) -> Self {
        let context = match wanted {
            Wanted::Lines { context } => context,
            Wanted::Files => 0,
        };
        let searcher = SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .line_number(true)
            .before_context(context)
            .after_context(context)
            .heap_limit(Some(MAX_LINE))
            .build();
        let found = Collected { wanted, limit, matches: 0, bytes: 0, items: Vec::new(), full: None };
        Self { pattern, searcher, found }
    }

    /// Why there is more than was collected, if there is.
    pub(super) fn full(&self) -> Option<Full> {
        self.found.full
    }

    /// Searches one file. The error is the bound that was reached, or none for a line that is too long to be searched.
    pub(super) fn search(&mut self, path: &str, bytes: &[u8], bounds: &Bounds) -> Result<(), Option<Over>> {
        let pieces = Pieces { rest: bytes, bounds };
        let sink = InFile { path, before: Vec::new(), found: &mut self.found };
        let searched = self.searcher.search_reader(self.pattern, pieces, sink);
        match (searched, bounds.check()) {
            (Ok(()), _) => Ok(()),
            (Err(_), Err(over)) => Err(Some(over)),
            (Err(_), Ok(())) => Err(None),
        }
    }

    pub(super) fn into_output(self, path: &str) -> Value {
        let name = match self.found.wanted {
            Wanted::Lines { .. } => "lines",
            Wanted::Files => "files",
        };
        json!({ "path": path, name: self.found.items })
    }
}

struct Pieces<'a> {
    rest: &'a [u8],
    bounds: &'a Bounds,
}

impl Read for Pieces<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.bounds.check().is_err() {
            return Err(io::Error::other("the search is over"));
        }
        let size = into.len().min(PIECE);
        self.rest.read(&mut into[..size])
    }
}

/// The search of one file.
struct InFile<'a> {
    path: &'a str,
    /// Lines before a match that may still turn out to be beyond the limit.
    before: Vec<Value>,
    found: &'a mut Collected,
}

impl Sink for InFile<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        if self.found.matches == self.found.limit {
            self.found.full = Some(Full::Limit);
            return Ok(false);
        }
        self.found.matches += 1;
        if self.found.wanted == Wanted::Files {
            self.found.add(self.path.into());
            return Ok(false);
        }
        let fits = std::mem::take(&mut self.before).into_iter().all(|line| self.found.add(line));
        Ok(fits && self.found.add(line(self.path, found.line_number(), found.bytes())))
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> Result<bool, io::Error> {
        let mut line = line(self.path, found.line_number(), found.bytes());
        line["context"] = true.into();
        if *found.kind() == SinkContextKind::Before {
            self.before.push(line);
            return Ok(true);
        }
        Ok(self.found.add(line))
    }
}

impl Collected {
    /// Whether the item still fitted in.
    fn add(&mut self, item: Value) -> bool {
        self.bytes += item.to_string().len() + 1;
        if self.bytes > MAX_RESULTS {
            self.full = Some(Full::Bytes);
            return false;
        }
        self.items.push(item);
        true
    }
}

fn line(path: &str, number: Option<u64>, bytes: &[u8]) -> Value {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes.strip_suffix(b"\r").unwrap_or(bytes));
    match text.char_indices().nth(MAX_LINE_SHOWN) {
        None => json!({ "path": path, "line": number, "text": text }),
        Some((end, _)) => json!({ "path": path, "line": number, "text": &text[..end], "cut": true }),
    }
}
