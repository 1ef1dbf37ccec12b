//! Shows a change of text as a unified diff, of bounded size and in bounded time.

use std::time::{Duration, Instant};

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices_deadline, group_diff_ops};

use super::text::counted;

const CONTEXT: usize = 3;
const MAX_SHOWN: usize = 16 * 1024;

/// A larger change is shown as one removal and one addition, which is also right but not as short as can be.
const MAX_COMPARED: usize = 200_000;
const MAX_TIME: Duration = Duration::from_millis(500);

pub(super) struct Diff {
    pub(super) text: String,
    /// How many lines of the diff are not shown.
    pub(super) left_out: usize,
}

impl Diff {
    pub(super) fn note(&self) -> Option<String> {
        (self.left_out > 0).then(|| format!("{} of the diff left out.", counted(self.left_out, "line")))
    }
}

/// The diff from `before`, which is nothing for a new file, to `after`. It is empty when they are the same.
pub(super) fn unified(path: &str, before: Option<&str>, after: &str) -> Diff {
    let mut page = Page { text: String::new(), left_out: 0, full: false };
    if before == Some(after) {
        return page.into();
    }
    let path = quoted(path);
    page.add(&match before {
        Some(_) => format!("--- a/{path}\n"),
        None => "--- /dev/null\n".into(),
    });
    page.add(&format!("+++ b/{path}\n"));
    let changed = Changed::between(before.unwrap_or_default(), after);
    if changed.lines() <= MAX_COMPARED {
        page.compared(&changed)
    } else {
        page.replaced(&changed)
    }
    page.into()
}

/// A line break in a name would forge lines of the diff.
fn quoted(path: &str) -> String {
    if path.chars().any(char::is_control) { path.escape_debug().to_string() } else { path.to_owned() }
}

/// The part of a text that changed, between whole lines that did not.
struct Changed<'a> {
    /// How many lines are before `above`.
    skipped: usize,
    above: &'a str,
    old: &'a str,
    new: &'a str,
    below: &'a str,
}

impl<'a> Changed<'a> {
    fn between(before: &'a str, after: &'a str) -> Self {
        let alike = before.bytes().zip(after.bytes()).take_while(|(one, other)| one == other).count();
        let start = before.as_bytes()[..alike].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (same, old, new) = (&before[..start], &before[start..], &after[start..]);
        let alike = old.bytes().rev().zip(new.bytes().rev()).take_while(|(one, other)| one == other).count();
        // Only after a line end within what is alike do both texts begin a line.
        let tail = &old.as_bytes()[old.len() - alike..];
        let tail = tail.iter().position(|byte| *byte == b'\n').map_or(0, |at| tail.len() - at - 1);
        let (old, below) = old.split_at(old.len() - tail);
        let above = last_lines(same);
        let skipped = newlines(&same[..same.len() - above.len()]);
        Self { skipped, above, old, new: &new[..new.len() - tail], below: first_lines(below) }
    }

    fn lines(&self) -> usize {
        [self.above, self.old, self.new, self.below].into_iter().map(newlines).sum()
    }
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

fn last_lines(text: &str) -> &str {
    let start = text.rmatch_indices('\n').nth(CONTEXT).map_or(0, |(at, _)| at + 1);
    &text[start..]
}

fn first_lines(text: &str) -> &str {
    let end = text.match_indices('\n').nth(CONTEXT - 1).map_or(text.len(), |(at, _)| at + 1);
    &text[..end]
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.split_inclusive('\n')
}

struct Page {
    text: String,
    left_out: usize,
    full: bool,
}

impl From<Page> for Diff {
    fn from(Page { text, left_out, .. }: Page) -> Self {
        Self { text, left_out }
    }
}

impl Page {
    fn compared(&mut self, changed: &Changed<'_>) {
        let side = |middle| lines(changed.above).chain(lines(middle)).chain(lines(changed.below)).collect();
        let (old, new): (Vec<&str>, Vec<&str>) = (side(changed.old), side(changed.new));
        let until = Some(Instant::now() + MAX_TIME);
        let ops = capture_diff_slices_deadline(Algorithm::Myers, &old, &new, until);
        for group in group_diff_ops(ops, CONTEXT) {
            self.hunk(&group, &old, &new, changed.skipped);
        }
    }

    fn hunk(&mut self, ops: &[DiffOp], old: &[&str], new: &[&str], skipped: usize) {
        let (Some(first), Some(last)) = (ops.first(), ops.last()) else { return };
        let (old_start, new_start) = (first.old_range().start, first.new_range().start);
        let counts = (last.old_range().end - old_start, last.new_range().end - new_start);
        self.head(skipped + old_start, skipped + new_start, counts);
        for op in ops {
            let (tag, removed, added) = op.as_tag_tuple();
            if tag == DiffTag::Equal {
                self.lines(' ', old[removed].iter().copied());
                continue;
            }
            self.lines('-', old[removed].iter().copied());
            self.lines('+', new[added].iter().copied());
        }
    }

    fn replaced(&mut self, changed: &Changed<'_>) {
        let around = lines(changed.above).count() + lines(changed.below).count();
        let counts = (around + lines(changed.old).count(), around + lines(changed.new).count());
        self.head(changed.skipped, changed.skipped, counts);
        self.lines(' ', lines(changed.above));
        self.lines('-', lines(changed.old));
        self.lines('+', lines(changed.new));
        self.lines(' ', lines(changed.below));
    }

    fn head(&mut self, old_start: usize, new_start: usize, (old_count, new_count): (usize, usize)) {
        let range = |start: usize, count| match count {
            // Nothing is said to be after the line before it.
            0 => format!("{start},0"),
            1 => format!("{}", start + 1),
            _ => format!("{},{count}", start + 1),
        };
        self.add(&format!("@@ -{} +{} @@\n", range(old_start, old_count), range(new_start, new_count)));
    }

    fn lines<'a>(&mut self, sign: char, lines: impl Iterator<Item = &'a str>) {
        for line in lines {
            if self.full {
                self.left_out += 1;
                continue;
            }
            match line.strip_suffix('\n') {
                Some(line) => self.add(&format!("{sign}{line}\n")),
                None => self.add(&format!("{sign}{line}\n\\ No newline at end of file\n")),
            }
        }
    }

    fn add(&mut self, line: &str) {
        self.full |= self.text.len() + line.len() > MAX_SHOWN;
        if self.full {
            self.left_out += 1;
        } else {
            self.text.push_str(line);
        }
    }
}
