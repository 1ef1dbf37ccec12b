//! What an edit changes, line by line: from the tool's own unified diff, or from the arguments of the call.

use serde_json::Value;

use super::call::Args;
use super::line::{Line, Tone};
use super::text::lines;

/// A larger change is shown as one removal and one addition, which is also right but not as short as can be.
const MAX_TABLE: usize = 1_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Same,
    Added,
    Removed,
    /// Where in the file the next lines are.
    Place,
}

/// Lines with their marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    changes: Vec<(Mark, String)>,
}

impl Diff {
    /// What a call would change, as far as its arguments tell.
    pub fn of_call(name: &str, args: &Args) -> Self {
        let mut diff = Self::default();
        let text = |value: Option<&Value>| value.and_then(Value::as_str).unwrap_or_default().to_owned();
        if name == "write_file" {
            diff.replace("", &text(args.get("content")));
            return diff;
        }
        if args.contains_key("old_text") || args.contains_key("new_text") {
            diff.replace(&text(args.get("old_text")), &text(args.get("new_text")));
        }
        for edit in args.get("edits").and_then(Value::as_array).into_iter().flatten() {
            if !diff.changes.is_empty() {
                diff.changes.push((Mark::Place, "⋯".to_owned()));
            }
            diff.replace(&text(edit.get("old_text")), &text(edit.get("new_text")));
        }
        diff
    }

    /// A unified diff as tools report it; the names of the files are left out.
    pub fn parse(unified: &str) -> Self {
        let mut changes = Vec::new();
        let mut in_hunk = false;
        for line in lines(unified) {
            match line.as_bytes().first() {
                _ if line.starts_with("@@") => {
                    in_hunk = true;
                    // All of a new file is new; where that begins is no news.
                    if !line.starts_with("@@ -0,0 ") {
                        changes.push((Mark::Place, line.to_owned()));
                    }
                }
                _ if !in_hunk => {}
                Some(b'+') => changes.push((Mark::Added, line[1..].to_owned())),
                Some(b'-') => changes.push((Mark::Removed, line[1..].to_owned())),
                Some(b' ') => changes.push((Mark::Same, line[1..].to_owned())),
                _ => changes.push((Mark::Place, line.to_owned())),
            }
        }
        Self { changes }
    }

    /// `(+3 -1)`.
    pub fn counts(&self) -> String {
        let count = |wanted: Mark| self.changes.iter().filter(|(mark, _)| *mark == wanted).count();
        format!("(+{} -{})", count(Mark::Added), count(Mark::Removed))
    }

    /// At most so many lines, and what to say of the others: `{}` stands for their number.
    pub fn lines(&self, limit: usize, more: &str) -> Vec<Line> {
        let mut shown: Vec<Line> =
            self.changes.iter().take(limit).map(|(mark, text)| line(*mark, text)).collect();
        let left = self.changes.len().saturating_sub(limit);
        if left > 0 {
            shown.push(Line::new(Tone::Faint, &more.replace("{}", &left.to_string())));
        }
        shown
    }

    /// One passage for another; the lines that are in both stay.
    fn replace(&mut self, old: &str, new: &str) {
        let (old, new): (Vec<&str>, Vec<&str>) = (lines(old).collect(), lines(new).collect());
        let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
        let (old_rest, new_rest) = (&old[head..], &new[head..]);
        let tail = old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| a == b).count();
        self.add(Mark::Same, &old[..head]);
        self.compare(&old_rest[..old_rest.len() - tail], &new_rest[..new_rest.len() - tail]);
        self.add(Mark::Same, &old_rest[old_rest.len() - tail..]);
    }

    /// By the longest common subsequence, as long as its table stays small.
    fn compare(&mut self, old: &[&str], new: &[&str]) {
        if old.len().saturating_mul(new.len()) > MAX_TABLE {
            self.add(Mark::Removed, old);
            self.add(Mark::Added, new);
            return;
        }
        // How many lines the rests from each pair of places have in common.
        let width = new.len() + 1;
        let mut common = vec![0_u32; (old.len() + 1) * width];
        for i in (0..old.len()).rev() {
            for j in (0..new.len()).rev() {
                let (below, beside) = (common[(i + 1) * width + j], common[i * width + j + 1]);
                let both = common[(i + 1) * width + j + 1] + 1;
                common[i * width + j] = if old[i] == new[j] { both } else { below.max(beside) };
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < old.len() || j < new.len() {
            if i < old.len() && j < new.len() && old[i] == new[j] {
                self.add(Mark::Same, &old[i..=i]);
                (i, j) = (i + 1, j + 1);
            } else if j == new.len()
                || (i < old.len() && common[(i + 1) * width + j] >= common[i * width + j + 1])
            {
                self.add(Mark::Removed, &old[i..=i]);
                i += 1;
            } else {
                self.add(Mark::Added, &new[j..=j]);
                j += 1;
            }
        }
    }

    fn add(&mut self, mark: Mark, part: &[&str]) {
        self.changes.extend(part.iter().map(|text| (mark, (*text).to_owned())));
    }
}

fn line(mark: Mark, text: &str) -> Line {
    match mark {
        Mark::Same => Line::plain(&format!("  {text}")),
        Mark::Added => Line::new(Tone::Added, &format!("+ {text}")),
        Mark::Removed => Line::new(Tone::Removed, &format!("- {text}")),
        Mark::Place => Line::new(Tone::Faint, text),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::terminal::line::Paint;

    fn shown(diff: &Diff, limit: usize) -> Vec<String> {
        diff.lines(limit, "… {} more lines").iter().flat_map(|line| line.rows(None, Paint::Colour)).collect()
    }

    #[test]
    fn a_unified_diff_is_coloured_without_its_head() {
        let diff = Diff::parse("--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n---\n+++\n three\n");
        assert_eq!(diff.counts(), "(+2 -2)");
        assert_eq!(
            shown(&diff, 4),
            [
                "\u{1b}[2m@@ -1,3 +1,3 @@\u{1b}[0m",
                "  one",
                "\u{1b}[31m- two\u{1b}[0m",
                "\u{1b}[32m+ 2\u{1b}[0m",
                "\u{1b}[2m… 3 more lines\u{1b}[0m",
            ]
        );
        assert_eq!(
            shown(&Diff::parse("--- /dev/null\n+++ b/x\n@@ -0,0 +1,1 @@\n+new\n"), 9),
            ["\u{1b}[32m+ new\u{1b}[0m"]
        );
        assert_eq!(Diff::parse("no diff at all\n"), Diff::default());
    }

    #[test]
    fn arguments_tell_the_change_between_lines_that_stay() {
        let args = |value: Value| value.as_object().cloned().unwrap_or_default();
        let cases = [
            (json!({ "old_text": "a\nb\nc", "new_text": "a\nx\nc" }), vec!["  a", "- b", "+ x", "  c"]),
            (json!({ "old_text": "a\na", "new_text": "a" }), vec!["  a", "- a"]),
            (json!({ "old_text": "b\nc", "new_text": "B\nc\nd" }), vec!["- b", "+ B", "  c", "+ d"]),
            (
                json!({ "old_text": "1\n2\n3\n4", "new_text": "2\nx\n4\n5" }),
                vec!["- 1", "  2", "- 3", "+ x", "  4", "+ 5"],
            ),
            (json!({ "old_text": "a", "new_text": "a" }), vec!["  a"]),
            (json!({ "edits": [{ "old_text": "a" }, { "new_text": "b" }] }), vec!["- a", "⋯", "+ b"]),
            (json!({ "edits": "nonsense", "old_text": 5 }), vec![]),
        ];
        for (given, wanted) in cases {
            let diff = Diff::of_call("edit_file", &args(given.clone()));
            let plain: Vec<String> =
                diff.lines(99, "").iter().flat_map(|line| line.rows(None, Paint::Plain)).collect();
            assert_eq!(plain, wanted, "{given}");
        }
    }
}
