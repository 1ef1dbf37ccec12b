//! From operations to text: decides which groups fit on their line, in time proportional to their number.

use crate::syntax::span::Span;

/// How many characters a line should have at most.
const WIDTH: usize = 100;
const STEP: usize = 2;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// A piece of the source, as it is.
    Source(Span),
    Word(&'static str),
    /// This text if the group is on one line, else the end of a line.
    Line(&'static str),
    /// Always the end of a line; the groups around it are broken.
    HardLine,
    /// An empty line after the end of the line.
    BlankLine,
    /// Breaks the groups around it.
    Force,
    /// Only if the group is broken.
    IfBroken(&'static str),
    /// A comment for the end of the line on which it turns up.
    Suffix(Span),
    Open(Group),
    Close,
    /// What follows in a `Group::Hug` is its last item.
    LastItem,
    /// Lines after it start further right, if the group is broken.
    Indent,
    Dedent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    /// On one line if it fits.
    Whole,
    /// On one line if it fits up to where its last item may break; then the last item may break although the
    /// group does not: `f(a, {`.
    Hug,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Flat,
    /// This group is on one line, but the groups in it decide for themselves.
    Hug,
    Broken,
}

/// What can be known about the operations before any is printed.
struct Sizes {
    /// The width of everything before an operation, on one line.
    before: Vec<u32>,
    /// How far it is from an operation to the next place where a line may end.
    to_line: Vec<u32>,
    /// For an `Open`, the operation up to which it must fit. Broken groups have none.
    until: Vec<Option<u32>>,
}

impl Sizes {
    fn of(source: &str, ops: &[Op]) -> Self {
        let extents: Vec<Extent> = ops.iter().map(|op| extent(source, *op)).collect();
        let mut before = Vec::with_capacity(ops.len() + 1);
        let mut sum = 0u32;
        before.push(0);
        for extent in &extents {
            sum = sum.saturating_add(extent.width);
            before.push(sum);
        }
        let mut to_line = vec![0; ops.len() + 1];
        for (at, extent) in extents.iter().enumerate().rev() {
            to_line[at] =
                if extent.ends_line { extent.first } else { extent.width.saturating_add(to_line[at + 1]) };
        }
        Self { before, to_line, until: ends(ops) }
    }

    /// The width that a group needs on its line.
    fn needed(&self, open: usize, until: u32) -> usize {
        let until = until as usize;
        (self.before[until] - self.before[open]) as usize + self.to_line[until] as usize
    }
}

/// How much of its line an operation takes.
struct Extent {
    /// On one line. Pieces of several lines count with their first one.
    width: u32,
    /// Whether the line ends within it, and what comes before that.
    ends_line: bool,
    first: u32,
}

fn extent(source: &str, op: Op) -> Extent {
    match op {
        Op::Source(span) => {
            let text = span.of(source);
            let line_end = text.bytes().position(|byte| byte == b'\n');
            let width = count(&text[..line_end.unwrap_or(text.len())]);
            Extent { width, ends_line: line_end.is_some(), first: width }
        }
        Op::Word(text) => Extent { width: count(text), ends_line: false, first: 0 },
        Op::Line(text) => Extent { width: count(text), ends_line: true, first: 0 },
        Op::HardLine | Op::BlankLine => Extent { width: 0, ends_line: true, first: 0 },
        _ => Extent { width: 0, ends_line: false, first: 0 },
    }
}

fn count(text: &str) -> u32 {
    let characters = if text.is_ascii() { text.len() } else { text.chars().count() };
    u32::try_from(characters).unwrap_or(u32::MAX)
}

struct OpenGroup {
    at: usize,
    last_item: Option<usize>,
    broken: bool,
    /// A forced end of line inside has been seen, so the groups around know of it.
    seen: bool,
}

fn ends(ops: &[Op]) -> Vec<Option<u32>> {
    let mut until = vec![None; ops.len()];
    let mut open: Vec<OpenGroup> = Vec::new();
    for (at, op) in ops.iter().enumerate() {
        match op {
            Op::Open(_) => open.push(OpenGroup { at, last_item: None, broken: false, seen: false }),
            Op::LastItem => {
                if let Some(group) = open.last_mut() {
                    group.last_item = Some(at);
                }
            }
            Op::HardLine | Op::BlankLine | Op::Force => force(&mut open),
            Op::Close => {
                if let Some(group) = open.pop()
                    && !group.broken
                {
                    until[group.at] = u32::try_from(group.last_item.unwrap_or(at)).ok();
                }
            }
            _ => {}
        }
    }
    until
}

/// Breaks the open groups, except those whose last item has been reached.
fn force(open: &mut [OpenGroup]) {
    for group in open.iter_mut().rev() {
        if group.seen {
            return;
        }
        group.seen = true;
        group.broken = group.last_item.is_none();
    }
}

/// Prints operations in portions. A portion has whole groups and is followed by the end of a line.
pub(super) struct Printer<'a> {
    source: &'a str,
    out: String,
    column: usize,
    indent: usize,
    indents: Vec<usize>,
    modes: Vec<Mode>,
    suffixes: Vec<Span>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(source: &'a str) -> Self {
        Self {
            source,
            out: String::with_capacity(source.len() + source.len() / 4),
            column: 0,
            indent: 0,
            indents: Vec::new(),
            modes: Vec::new(),
            suffixes: Vec::new(),
        }
    }

    pub(super) fn print(&mut self, ops: &[Op]) {
        let sizes = Sizes::of(self.source, ops);
        for (at, op) in ops.iter().enumerate() {
            self.step(&sizes, at, *op);
        }
    }

    fn mode(&self) -> Mode {
        self.modes.last().copied().unwrap_or(Mode::Broken)
    }

    fn step(&mut self, sizes: &Sizes, at: usize, op: Op) {
        match op {
            Op::Source(span) => self.source_text(span),
            Op::Word(text) => self.text(text),
            Op::Line(_) if self.mode() == Mode::Broken => self.line_end(),
            Op::Line(flat) => self.text(flat),
            Op::HardLine => self.line_end(),
            Op::BlankLine => {
                self.line_end();
                self.out.push('\n');
            }
            Op::IfBroken(text) if self.mode() == Mode::Broken => self.text(text),
            Op::Suffix(span) => self.suffixes.push(span),
            Op::Open(group) => self.open(sizes, at, group),
            Op::Close => {
                self.modes.pop();
            }
            Op::Indent => {
                self.indents.push(self.indent);
                if self.mode() == Mode::Broken {
                    self.indent += STEP;
                }
            }
            Op::Dedent => self.indent = self.indents.pop().unwrap_or(0),
            Op::Force | Op::IfBroken(_) | Op::LastItem => {}
        }
    }

    fn open(&mut self, sizes: &Sizes, at: usize, group: Group) {
        let column = if self.column == 0 { self.indent } else { self.column };
        let fits = sizes.until[at].is_some_and(|until| column + sizes.needed(at, until) <= WIDTH);
        let mode = match (self.mode(), fits) {
            (Mode::Flat, _) => Mode::Flat,
            (_, false) => Mode::Broken,
            (_, true) if group == Group::Hug => Mode::Hug,
            (_, true) => Mode::Flat,
        };
        self.modes.push(mode);
    }

    fn text(&mut self, text: &str) {
        // Blanks at the start of a line are nobody's.
        let text = if self.column == 0 { text.trim_start() } else { text };
        if text.is_empty() {
            return;
        }
        self.start_line();
        self.out.push_str(text);
        self.column += count(text) as usize;
    }

    fn start_line(&mut self) {
        if self.column == 0 {
            self.out.extend(std::iter::repeat_n(' ', self.indent));
            self.column = self.indent;
        }
    }

    fn source_text(&mut self, span: Span) {
        let text = span.of(self.source);
        self.start_line();
        let is_comment = text.starts_with("//") || text.starts_with("/*") || text.starts_with("#!");
        if is_comment {
            let mut lines = text.split('\n');
            self.out.push_str(lines.next().unwrap_or_default().trim_end());
            for line in lines {
                self.out.push('\n');
                self.out.push_str(line.trim_end());
            }
        } else {
            self.out.push_str(text);
        }
        self.column = match text.rsplit_once('\n') {
            Some((_, last)) => (count(last) as usize).max(1),
            None => self.column + (count(text) as usize).max(1),
        };
    }

    fn line_end(&mut self) {
        for span in std::mem::take(&mut self.suffixes) {
            self.text(" ");
            self.source_text(span);
        }
        self.out.truncate(self.out.trim_end_matches(' ').len());
        if self.column > 0 {
            self.out.push('\n');
        }
        self.column = 0;
    }

    pub(super) fn finish(mut self) -> String {
        self.line_end();
        self.out
    }
}
