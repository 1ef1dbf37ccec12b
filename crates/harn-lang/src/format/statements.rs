//! Statements and the patterns of bindings.

use super::Formatter;
use super::layout::Op;
use super::lists::Padding;
use crate::syntax::ast::{Expr, Ident, Import, Pattern, PatternField, Stmt, StmtKind};
use crate::syntax::token::{Keyword, Sign};

impl Formatter<'_> {
    /// Each on its own line, with an empty line where the source has one or more.
    pub(super) fn statements(&mut self, body: &[Stmt]) {
        for (at, statement) in body.iter().enumerate() {
            self.nth_statement(at, statement);
        }
    }

    pub(super) fn nth_statement(&mut self, at: usize, statement: &Stmt) {
        if at > 0 {
            self.line_as_written();
        }
        self.item(|f| f.statement(statement));
        self.take_separator(Sign::Semicolon);
        self.trailing();
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Import(import) => self.import(import),
            StmtKind::Decl(decl) => self.declaration(decl),
            StmtKind::Bind { pattern, ty, value, .. } => {
                self.take_word();
                self.pattern(pattern);
                self.annotation(ty);
                self.word(" ");
                self.take_word();
                self.expr(value);
            }
            StmtKind::Assign { target, value, .. } => {
                self.expr(target);
                self.word(" ");
                self.take_word();
                self.expr(value);
            }
            StmtKind::For { pattern, source, body } => self.group(|f| {
                f.take_word();
                f.pattern(pattern);
                f.word(" ");
                f.headed_block(Some(source), body);
            }),
            StmtKind::While { condition, body } => self.group(|f| f.headed_block(Some(condition), body)),
            StmtKind::Select(select) => self.select(select),
            StmtKind::Return(value) | StmtKind::Yield(value) => {
                self.take();
                if let Some(value) = value {
                    self.word(" ");
                    self.expr(value);
                }
            }
            StmtKind::Throw(value) | StmtKind::Emit(value) => {
                self.take_word();
                self.expr(value);
            }
            StmtKind::Break | StmtKind::Continue => self.take(),
            StmtKind::Guard { condition, otherwise } => self.group(|f| {
                f.take_word();
                f.expr(condition);
                f.word(" ");
                f.headed_block(None, otherwise);
            }),
            StmtKind::Require { condition, message } => self.require(condition, message.as_ref()),
            StmtKind::Defer(body) | StmtKind::Mutex(body) => self.group(|f| f.headed_block(None, body)),
            StmtKind::Override { params, body, .. } => self.group(|f| {
                f.take_word();
                f.take();
                f.names(params, Padding::None);
                f.word(" ");
                f.block(body);
            }),
            StmtKind::Expr(value) => self.expr(value),
        }
    }

    fn require(&mut self, condition: &Expr, message: Option<&Expr>) {
        self.take_word();
        self.expr(condition);
        if let Some(message) = message {
            self.take_word();
            self.expr(message);
        }
    }

    pub(super) fn names(&mut self, names: &[Ident], padding: Padding) {
        self.list(names, padding, |f, _| f.take());
    }

    fn import(&mut self, import: &Import) {
        if self.at_keyword(Keyword::Pub) {
            self.take_word();
        }
        self.take_word();
        if let Some(names) = &import.names {
            self.names(names, Padding::Blank);
            self.word(" ");
            self.take_word();
        }
        self.take();
    }

    fn pattern(&mut self, pattern: &Pattern) {
        match pattern {
            Pattern::Name(_) => self.take(),
            Pattern::Dict { fields, rest, .. } => {
                let items: Vec<_> =
                    fields.iter().map(PatternItem::Field).chain(PatternItem::rest(rest)).collect();
                self.list(&items, Padding::None, Self::pattern_item);
            }
            Pattern::List { items, rest, .. } => {
                let named = items.iter().map(|(_, default)| PatternItem::Name(default.as_ref()));
                let items: Vec<_> = named.chain(PatternItem::rest(rest)).collect();
                self.list(&items, Padding::None, Self::pattern_item);
            }
            Pattern::Pair { .. } => {
                self.take();
                self.take();
                self.take_word();
                self.take();
                self.take();
            }
        }
    }

    fn pattern_item(&mut self, item: &PatternItem<'_>) {
        self.take();
        let default = match item {
            PatternItem::Field(field) => {
                if field.alias.is_some() {
                    self.take_word();
                    self.take();
                }
                field.default.as_ref()
            }
            PatternItem::Name(default) => *default,
            PatternItem::Rest => {
                self.take();
                None
            }
        };
        if let Some(default) = default {
            self.push(Op::Word(" "));
            self.take_word();
            self.expr(default);
        }
    }
}

/// One of the things between the brackets of a pattern.
enum PatternItem<'a> {
    Field(&'a PatternField),
    Name(Option<&'a Expr>),
    Rest,
}

impl PatternItem<'_> {
    fn rest(rest: &Option<Ident>) -> Option<Self> {
        rest.as_ref().map(|_| Self::Rest)
    }
}
