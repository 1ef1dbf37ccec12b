//! Places in a source text.

/// A range of bytes in a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    pub start: u32,
    pub end: u32,
}

impl Span {
    pub fn new(start: u32, end: u32) -> Self {
        Self { start, end }
    }

    /// From the beginning of this one to the end of the other.
    pub fn to(self, other: Self) -> Self {
        Self { start: self.start, end: other.end }
    }

    /// The text that it covers; empty where it is not a range of this source.
    pub fn of(self, source: &str) -> &str {
        source.get(self.start as usize..self.end as usize).unwrap_or_default()
    }
}

/// Line and column, from 1, counted in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Where the lines of a source begin, so that a position is found without reading all that precedes it.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<u32>,
}

impl LineIndex {
    pub fn new(source: &str) -> Self {
        let ends = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let after = ends.map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX));
        Self { starts: std::iter::once(0).chain(after).collect() }
    }

    /// The number of the line, from 1.
    pub fn line(&self, offset: u32) -> u32 {
        u32::try_from(self.starts.partition_point(|start| *start <= offset)).unwrap_or(u32::MAX)
    }

    pub fn position(&self, source: &str, offset: u32) -> Position {
        let line = self.line(offset);
        let start = self.starts[line as usize - 1];
        let before = source.get(start as usize..offset as usize).unwrap_or_default();
        Position { line, column: u32::try_from(before.chars().count()).unwrap_or(u32::MAX).saturating_add(1) }
    }

    /// The bytes of a line, from 1, without its end.
    pub fn text<'a>(&self, source: &'a str, line: u32) -> &'a str {
        let start = self.starts.get(line as usize - 1).copied().unwrap_or(0) as usize;
        source.get(start..).unwrap_or_default().lines().next().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_lines_and_characters_from_one() {
        let source = "ab\n\u{e9}x\n";
        let index = LineIndex::new(source);
        let cases = [(0, "1:1"), (2, "1:3"), (3, "2:1"), (5, "2:2"), (6, "2:3"), (7, "3:1")];
        for (offset, expected) in cases {
            assert_eq!(index.position(source, offset).to_string(), expected, "offset {offset}");
        }
        assert_eq!((index.text(source, 2), index.text(source, 3)), ("\u{e9}x", ""));
    }
}
