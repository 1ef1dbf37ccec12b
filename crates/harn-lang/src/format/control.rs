//! Blocks, and the expressions that contain them.

use super::Formatter;
use super::layout::Op;
use crate::syntax::ast::{
    Arm, Block, Catch, Else, Expr, ExprKind, If, Match, Parallel, ParallelKind, Select, SelectCase, Try,
};
use crate::syntax::token::Sign;

impl Formatter<'_> {
    pub(super) fn control(&mut self, kind: &ExprKind) {
        self.group(|f| match kind {
            ExprKind::Spawn(body) => f.headed_block(None, body),
            ExprKind::Retry { count, body } => f.headed_block(Some(count), body),
            ExprKind::Deadline { limit, body } => f.headed_block(Some(limit), body),
            ExprKind::If(it) => f.if_else(it),
            ExprKind::Match(it) => f.match_arms(it),
            ExprKind::Parallel(it) => f.parallel(it),
            ExprKind::Try(it) => f.try_catch(it),
            ExprKind::TryStar(inner) => {
                f.take();
                f.take_word();
                f.expr(inner);
            }
            _ => {}
        });
    }

    /// A word, an expression and a block.
    pub(super) fn headed_block(&mut self, head: Option<&Expr>, body: &Block) {
        self.take_word();
        if let Some(head) = head {
            self.expr(head);
            self.word(" ");
        }
        self.block(body);
    }

    /// A block with its braces. On one line if it is a single statement that is on one line in the source and the
    /// group around it fits.
    pub(super) fn block(&mut self, block: &Block) {
        self.take();
        self.block_rest(block, "");
    }

    /// A block after its `{` or its `->`, with what stands before the `}` if there is nothing inside.
    pub(super) fn block_rest(&mut self, block: &Block, empty: &'static str) {
        if block.body.is_empty() && !self.has_comment_before(block.span.end) {
            self.word(empty);
            return self.take();
        }
        let one_line = block.body.len() == 1
            && !self.has_comment_before(block.span.end)
            && !block.span.of(self.source).contains('\n');
        self.indented(|f| {
            if !block.body.is_empty() {
                f.push(if one_line { Op::Line(" ") } else { Op::HardLine });
                f.statements(&block.body);
            }
            f.comments_before_end(!block.body.is_empty());
        });
        self.push(if one_line { Op::Line(" ") } else { Op::HardLine });
        self.take();
    }

    fn if_else(&mut self, it: &If) {
        self.headed_block(Some(&it.condition), &it.then);
        match &it.otherwise {
            None => {}
            Some(Else::Block(body)) => {
                self.word(" ");
                self.headed_block(None, body);
            }
            Some(Else::If(inner)) => {
                self.word(" ");
                self.take_word();
                if let ExprKind::If(inner) = &inner.kind {
                    self.if_else(inner);
                }
            }
        }
    }

    fn match_arms(&mut self, it: &Match) {
        self.take_word();
        self.expr(&it.subject);
        self.word(" ");
        self.lines(&it.arms, |f, arm| {
            f.arm(arm);
            let _ = f.take_separator(Sign::Comma) || f.take_separator(Sign::Semicolon);
        });
    }

    fn arm(&mut self, arm: &Arm) {
        self.group(|f| {
            for (at, pattern) in arm.patterns.iter().enumerate() {
                if at > 0 {
                    f.word(" ");
                    f.take_word();
                }
                f.expr(pattern);
            }
            if let Some(guard) = &arm.guard {
                f.word(" ");
                f.take_word();
                f.expr(guard);
            }
            f.word(" ");
            f.take_word();
            f.block(&arm.body);
        });
    }

    /// Items between braces, each on its own line.
    pub(super) fn lines<T>(&mut self, items: &[T], item: impl Fn(&mut Self, &T)) {
        self.take();
        if items.is_empty() {
            return self.empty_list();
        }
        self.indented(|f| {
            f.push(Op::HardLine);
            for (at, value) in items.iter().enumerate() {
                if at > 0 {
                    f.line_as_written();
                }
                f.item(|f| item(f, value));
                f.trailing();
            }
            f.comments_before_end(true);
        });
        self.push(Op::HardLine);
        self.take();
    }

    /// Leaves out what separates items that are on lines of their own; says whether it was there.
    pub(super) fn take_separator(&mut self, sign: Sign) -> bool {
        let there = self.at_sign(sign);
        if there {
            self.trailing();
            self.skip_comma();
        }
        there
    }

    fn parallel(&mut self, it: &Parallel) {
        self.take_word();
        if it.kind != ParallelKind::Count {
            self.take_word();
        }
        self.expr(&it.source);
        self.word(" ");
        if let Some(limit) = &it.max_concurrent {
            self.take_word();
            self.take_word();
            self.take();
            self.take_word();
            self.expr(limit);
            if self.at_sign(Sign::Comma) {
                self.skip();
            }
            self.word(" ");
            self.take_word();
        }
        self.take();
        if it.param.is_some() {
            self.word(" ");
            self.take_word();
            self.take();
        }
        self.block_rest(&it.body, if it.param.is_some() { " " } else { "" });
        if it.kind == ParallelKind::EachAsStream {
            self.word(" ");
            self.take_word();
            self.take();
        }
    }

    fn try_catch(&mut self, it: &Try) {
        self.headed_block(None, &it.body);
        if let Some(catch) = &it.catch {
            self.word(" ");
            self.catch(catch);
        }
        if let Some(finally) = &it.finally {
            self.word(" ");
            self.headed_block(None, finally);
        }
    }

    fn catch(&mut self, catch: &Catch) {
        self.take_word();
        let parens = self.take_sign(Sign::OpenParen);
        if catch.name.is_some() {
            self.take();
            self.annotation(&catch.ty);
        }
        if parens {
            self.take();
        }
        if catch.name.is_some() {
            self.word(" ");
        }
        self.block(&catch.body);
    }

    /// The cases in the order in which they are written.
    pub(super) fn select(&mut self, select: &Select) {
        enum Case<'a> {
            From(&'a SelectCase),
            Timeout(&'a Expr, &'a Block),
            Default(&'a Block),
        }
        let mut cases: Vec<(u32, Case<'_>)> = Vec::new();
        cases.extend(select.cases.iter().map(|case| (case.name.span.start, Case::From(case))));
        cases.extend(
            select.timeout.iter().map(|(limit, body)| (limit.span.start, Case::Timeout(limit, body))),
        );
        cases.extend(select.default.iter().map(|body| (body.span.start, Case::Default(body))));
        cases.sort_by_key(|(start, _)| *start);
        self.take_word();
        self.lines(&cases, |f, (_, case)| {
            f.group(|f| match case {
                Case::From(case) => {
                    f.take_word();
                    f.headed_block(Some(&case.channel), &case.body);
                }
                Case::Timeout(limit, body) => f.headed_block(Some(limit), body),
                Case::Default(body) => f.headed_block(None, body),
            });
            f.take_separator(Sign::Semicolon);
        });
    }
}
