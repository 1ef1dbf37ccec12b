//! Finds the doc comment right before a declaration and takes its marks away.

use super::super::diagnostic::{Comment, CommentKind};
use super::Parser;

impl Parser<'_> {
    /// The text of the doc comments that end right before a place, each on its own line.
    pub(super) fn doc_before(&self, start: u32) -> Option<String> {
        let end = self.comments.partition_point(|comment| comment.span.start < start);
        let mut next = start;
        let mut lines: Vec<Vec<String>> = Vec::new();
        for comment in self.comments[..end].iter().rev() {
            if !comment.kind.is_doc() || !self.is_right_before(comment, next) {
                break;
            }
            lines.push(doc_lines(comment.kind, comment.span.of(self.source)));
            next = comment.span.start;
            if comment.kind == CommentKind::BlockDoc {
                break;
            }
        }
        let lines: Vec<String> = lines.into_iter().rev().flatten().collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }

    /// Only blanks and at most one end of a line lie between it and the place, and nothing before it on its line.
    fn is_right_before(&self, comment: &Comment, next: u32) -> bool {
        let between = self.source.get(comment.span.end as usize..next as usize).unwrap_or("x");
        let before = &self.source[..comment.span.start as usize];
        let own_line = before.bytes().rev().find(|byte| !matches!(byte, b' ' | b'\t' | b'\r'));
        let blank = between.bytes().all(|byte| byte.is_ascii_whitespace());
        blank && between.matches('\n').count() < 2 && matches!(own_line, None | Some(b'\n'))
    }
}

fn doc_lines(kind: CommentKind, text: &str) -> Vec<String> {
    if kind == CommentKind::Doc {
        return vec![without_blank(text.strip_prefix("///").unwrap_or(text)).trim_end().to_owned()];
    }
    let inside = text.strip_prefix("/**").and_then(|text| text.strip_suffix("*/")).unwrap_or(text);
    let lines = inside.lines().map(|line| {
        let line = line.trim();
        without_blank(line.strip_prefix('*').unwrap_or(line)).trim_end().to_owned()
    });
    let mut lines: Vec<String> = lines.skip_while(String::is_empty).collect();
    while lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    lines
}

fn without_blank(text: &str) -> &str {
    text.strip_prefix(' ').unwrap_or(text)
}
