//! Edits text: replaces passages that are given as they stand, and says what stands in the way when they do not.

use std::ops::RangeInclusive;

use super::text::counted;

const MAX_LINES_NAMED: usize = 10;
const MAX_LINES_QUOTED: usize = 6;
const MAX_QUOTED: usize = 200;

pub(super) struct Edit {
    pub(super) old: String,
    pub(super) new: String,
    pub(super) places: Places,
}

/// How often the passage must be there, and where it is replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Places {
    TheOnlyOne,
    All,
}

/// The edit that could not be made, counted from 0, and why.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) edit: usize,
    pub(super) why: String,
}

/// Makes all edits in their order, each in the text that the ones before it left, or none.
///
/// In a text whose lines all end with CR LF they still do afterwards, whatever line ends the edits have.
pub(super) fn apply(text: &str, edits: &[Edit], max: usize) -> Result<String, Fault> {
    let crlf = all_lines_end_with_crlf(text);
    edits.iter().enumerate().try_fold(text.to_owned(), |text, (edit, Edit { old, new, places })| {
        let edited = if crlf {
            replace(&text, &with_crlf(old), &with_crlf(new), *places, max)
        } else {
            replace(&text, old, new, *places, max)
        };
        edited.map_err(|why| Fault { edit, why })
    })
}

fn all_lines_end_with_crlf(text: &str) -> bool {
    let ends = text.matches('\n').count();
    ends > 0 && ends == text.matches("\r\n").count()
}

fn with_crlf(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\n', "\r\n")
}

fn replace(text: &str, old: &str, new: &str, places: Places, max: usize) -> Result<String, String> {
    if old.is_empty() {
        return Err(
            "`old_text` is empty. Give the passage to replace, or use write_file for the whole file.".into(),
        );
    }
    if old == new {
        return Err("`old_text` and `new_text` are the same, so nothing would change.".into());
    }
    let found = text.match_indices(old).map(|(at, _)| at).collect::<Vec<_>>();
    match (places, found.as_slice()) {
        (_, []) => return Err(no_match(text, old)),
        (Places::TheOnlyOne, [at, more @ ..]) => {
            let overlapping = more.is_empty().then(|| overlapping(text, old, *at)).flatten();
            if !more.is_empty() || overlapping.is_some() {
                return Err(too_many(text, &[&found[..], overlapping.as_slice()].concat()));
            }
        }
        (Places::All, _) => {}
    }
    let size = (text.len() - found.len() * old.len()) as u128 + found.len() as u128 * new.len() as u128;
    if size > max as u128 {
        return Err(format!("the text would have more than {max} bytes, which is the limit."));
    }
    Ok(text.replace(old, new))
}

/// Occurrences may overlap (`aa` in `aaa`): those count as two, because either could be meant.
fn overlapping(text: &str, old: &str, first: usize) -> Option<usize> {
    let next = first + text[first..].chars().next().map_or(1, char::len_utf8);
    text[next..].find(old).map(|at| next + at)
}

fn too_many(text: &str, found: &[usize]) -> String {
    let mut lines = Vec::new();
    let (mut line, mut from) = (1, 0);
    for at in found.iter().take(MAX_LINES_NAMED) {
        line += text[from..*at].matches('\n').count();
        from = *at;
        lines.push(line.to_string());
    }
    let more = match found.len() - lines.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    lines.dedup();
    let word = if lines.len() == 1 { "line" } else { "lines" };
    format!(
        "`old_text` matches {} times at {word} {}{more}, and it must match once. Include more surrounding text, or use \
         `edits` with `replace_all`.",
        found.len(),
        lines.join(", ")
    )
}

fn no_match(text: &str, old: &str) -> String {
    let hint = mixed_line_ends(text, old)
        .or_else(|| other_space(text, old))
        .or_else(|| first_line_only(text, old))
        .unwrap_or_else(|| "Read the file and copy the passage from it.".into());
    format!("`old_text` matches nowhere; it must match exactly, with every space and line end. {hint}")
}

fn mixed_line_ends(text: &str, old: &str) -> Option<String> {
    let plain = |text: &str| text.replace("\r\n", "\n");
    (text.contains("\r\n") && plain(text).contains(&plain(old))).then(|| {
        "Only line ends differ: some lines of the file end with CR LF and some with LF. Edit single lines, or use \
         write_file."
            .into()
    })
}

/// Where the passage stands with other spaces, tabs or line breaks.
fn other_space(text: &str, old: &str) -> Option<String> {
    let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let old = bare(old);
    if old.is_empty() {
        return None;
    }
    let at = bare(text).find(&old)?;
    let lines = line_of_bare(text, at)..=line_of_bare(text, at + old.len() - 1);
    Some(format!("Only spaces, tabs or line breaks differ here:\n{}", quoted(text, lines)))
}

/// The line of the byte that is at this place when white space is not counted.
fn line_of_bare(text: &str, place: usize) -> usize {
    let (mut line, mut passed) = (1, 0);
    for c in text.chars() {
        line += usize::from(c == '\n');
        passed += if c.is_whitespace() { 0 } else { c.len_utf8() };
        if passed > place {
            break;
        }
    }
    line
}

fn first_line_only(text: &str, old: &str) -> Option<String> {
    let mut lines = old.lines().map(str::trim).filter(|line| !line.is_empty());
    let first = lines.next()?;
    lines.next()?;
    let at = text.lines().position(|line| line.trim() == first)? + 1;
    let until = at + old.lines().count() - 1;
    Some(format!("Its first line is there, but what follows differs:\n{}", quoted(text, at..=until)))
}

/// Lines with their numbers, in quotes, so that a tab can be told from spaces.
fn quoted(text: &str, lines: RangeInclusive<usize>) -> String {
    let count = lines.end() + 1 - lines.start();
    let shown = text.lines().enumerate().skip(lines.start() - 1).take(count.min(MAX_LINES_QUOTED));
    let mut quoted = shown
        .map(|(n, line)| {
            let cut = line.char_indices().nth(MAX_QUOTED).map_or(line, |(end, _)| &line[..end]);
            format!("{}: {cut:?}", n + 1)
        })
        .collect::<Vec<_>>();
    if count > MAX_LINES_QUOTED {
        quoted.push(format!("and {} more", counted(count - MAX_LINES_QUOTED, "line")));
    }
    quoted.join("\n")
}
