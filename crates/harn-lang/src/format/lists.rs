//! Items between brackets, on one line or one on each.

use super::Formatter;
use super::layout::{Group, Op};
use crate::syntax::ast::{Element, Expr, ExprKind};
use crate::syntax::token::Sign;

/// What stands between the brackets and the items of a list on one line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Padding {
    None,
    Blank,
}

impl Padding {
    fn as_str(self) -> &'static str {
        match self {
            Self::None => "",
            Self::Blank => " ",
        }
    }
}

impl Formatter<'_> {
    /// A whole list with its brackets. One that is broken after its bracket in the source stays broken.
    pub(super) fn list<T>(&mut self, items: &[T], padding: Padding, item: fn(&mut Self, &T)) {
        self.group(|f| f.list_in_group(items, padding, item));
    }

    fn list_in_group<T>(&mut self, items: &[T], padding: Padding, item: fn(&mut Self, &T)) {
        self.take();
        if items.is_empty() {
            return self.empty_list();
        }
        let broken = self.breaks_here();
        if broken {
            self.push(Op::Force);
        }
        self.indented(|f| {
            f.push(Op::Line(padding.as_str()));
            for (at, value) in items.iter().enumerate() {
                if at > 0 {
                    f.push(Op::Word(","));
                    f.between_items(broken);
                }
                f.item(|f| item(f, value));
                f.item_end();
            }
            f.push(Op::IfBroken(","));
            if f.pending().is_some() {
                f.push(Op::Force);
                f.comments_before_end(true);
            }
        });
        self.push(Op::Line(padding.as_str()));
        self.take();
    }

    /// The brackets of an empty list, and the comments in them.
    pub(super) fn empty_list(&mut self) {
        if self.pending().is_some() {
            self.push(Op::Force);
            self.indented(|f| f.comments_before_end(false));
            self.push(Op::HardLine);
        }
        self.take();
    }

    /// Goes past the comma of the source; comments on the line of an item stay on it, those on the line of a comma
    /// too, unless another one has ended the line before.
    fn item_end(&mut self) {
        let mut ended = self.trailing();
        if self.at_sign(Sign::Comma) {
            self.skip_comma();
            ended = ended || self.trailing();
        }
        if ended {
            self.push(Op::Force);
        }
    }

    /// Leaves a comma out. Comments on lines of their own before it go behind it.
    pub(super) fn skip_comma(&mut self) {
        let end = self.end;
        self.skip();
        if self.has_comment_before(self.end) {
            self.end = end;
        }
    }

    fn between_items(&mut self, broken: bool) {
        if broken && self.blank_line_here() { self.push(Op::BlankLine) } else { self.push(Op::Line(" ")) }
    }

    pub(super) fn args(&mut self, args: &[Element]) {
        match args.split_last() {
            Some((last, others)) if self.hugs(last) => self.hugging_args(others, last),
            _ => self.list(args, Padding::None, Self::element),
        }
    }

    /// Whether the last argument may break while the others stay on the line of the call.
    fn hugs(&self, last: &Element) -> bool {
        let Element::Plain(last) = last else { return false };
        let can_break = match &last.kind {
            ExprKind::Dict(entries) | ExprKind::Struct { fields: entries, .. } => !entries.is_empty(),
            ExprKind::List(items) => !items.is_empty(),
            ExprKind::Closure(_) | ExprKind::Lambda(_) => true,
            _ => false,
        };
        can_break && !self.args_break(last)
    }

    /// Whether the source breaks after the `(`, or has comments that need lines of their own.
    fn args_break(&self, last: &Expr) -> bool {
        let open = self.peek().span.end;
        let first = self.ahead(1).span.start;
        let breaks = self.source.get(open as usize..first as usize).unwrap_or_default().contains('\n');
        breaks || self.has_comment_before(last.span.start) || self.comment_follows(last)
    }

    /// Whether a comment stands between the last argument and the `)`.
    fn comment_follows(&self, last: &Expr) -> bool {
        let rest = self.source.get(last.span.end as usize..).unwrap_or_default();
        let rest = rest.trim_start().trim_start_matches(',').trim_start();
        rest.starts_with("//") || rest.starts_with("/*")
    }

    fn hugging_args(&mut self, others: &[Element], last: &Element) {
        self.push(Op::Open(Group::Hug));
        self.take();
        self.indented(|f| {
            f.push(Op::Line(""));
            for other in others {
                f.element(other);
                if f.at_sign(Sign::Comma) {
                    f.skip();
                }
                f.push(Op::Word(","));
                f.push(Op::Line(" "));
            }
            f.push(Op::LastItem);
            f.element(last);
            if f.at_sign(Sign::Comma) {
                f.skip();
            }
            f.push(Op::IfBroken(","));
        });
        self.push(Op::Line(""));
        self.take();
        self.push(Op::Close);
    }
}
