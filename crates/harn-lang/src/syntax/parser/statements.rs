//! Statements, the separators between them, and how to go on after one that cannot be read.

use super::super::ast::{BinaryOp, Block, Expr, ExprKind, Module, Pattern, Stmt, StmtKind};
use super::super::diagnostic::Problem;
use super::super::span::Span;
use super::super::token::{Keyword, Sign, TokenKind};
use super::cursor::add;
use super::{Abandoned, Parse, Parser};

/// Where a sequence of statements stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Top,
    Block,
}

impl Parser<'_> {
    pub(super) fn module(&mut self) -> Module {
        let mut body = Vec::new();
        while self.kind() != TokenKind::End {
            self.sequence(Place::Top, &mut body);
            // Only a stray `}` ends the sequence before the end of the file.
            if self.kind() != TokenKind::End {
                self.expected("expression");
                self.advance();
            }
        }
        Module { body }
    }

    pub(super) fn block(&mut self) -> Parse<Block> {
        let open = self.expect_sign(Sign::OpenBrace)?;
        self.block_rest(open.span.start)
    }

    /// Statements up to the `}`, whose `{` is at a place and has been read.
    pub(super) fn block_rest(&mut self, start: u32) -> Parse<Block> {
        self.enter()?;
        let mut body = Vec::new();
        self.sequence(Place::Block, &mut body);
        self.expect_sign(Sign::CloseBrace)?;
        self.leave();
        Ok(Block { body, span: self.span_from(start) })
    }

    /// Statements up to a `}` or the end. One that cannot be read is left out.
    fn sequence(&mut self, place: Place, body: &mut Vec<Stmt>) {
        let depth = self.depth;
        self.skip_newlines();
        while !self.at_end_of_sequence() {
            let (start, reach) = (self.input.at, self.reach);
            if self.next_statement(place, body).is_err() {
                (self.depth, self.reach) = (depth, self.reach.max(reach));
                self.recover(start);
            }
        }
    }

    fn next_statement(&mut self, place: Place, body: &mut Vec<Stmt>) -> Parse<()> {
        let statement = self.statement(place)?;
        add(body, statement);
        self.separator(if place == Place::Top { "top-level item" } else { "statement" })
    }

    fn at_end_of_sequence(&self) -> bool {
        matches!(self.kind(), TokenKind::End | TokenKind::Sign(Sign::CloseBrace))
    }

    /// `;` or an end of line, unless the sequence ends.
    pub(super) fn separator(&mut self, after: &str) -> Parse<()> {
        if self.eat_sign(Sign::Semicolon) || self.kind() == TokenKind::Newline {
            self.skip_newlines();
            return Ok(());
        }
        if self.at_end_of_sequence() {
            return Ok(());
        }
        let help = self.at_sign(Sign::Question).then_some("put the inner `? :` in parentheses");
        Err(self.expected_with_help(&format!("{after} separator (`;` or newline)"), help))
    }

    /// Skips to a line that starts with a word that starts a statement, or to the `}` of this sequence. Braces that
    /// the statement has opened are skipped as a whole, so that their content is not taken for statements of this one.
    fn recover(&mut self, start: usize) {
        if self.input.at == start {
            self.advance();
        }
        let mut open = self.braces_since(start);
        let mut line_start = self.input.token(self.input.at.saturating_sub(1)).kind == TokenKind::Newline;
        loop {
            match self.kind() {
                TokenKind::End => return,
                TokenKind::Sign(Sign::OpenBrace) => open += 1,
                TokenKind::Sign(Sign::CloseBrace) if open == 0 => return,
                TokenKind::Sign(Sign::CloseBrace) => open -= 1,
                kind if open == 0 && line_start && starts_statement(kind) => return,
                _ => {}
            }
            line_start = self.kind() == TokenKind::Newline;
            self.advance();
        }
    }

    /// How many braces are open that were not open at a token.
    fn braces_since(&self, start: usize) -> usize {
        let read = self.input.tokens.get(start..self.input.at).unwrap_or_default();
        read.iter().fold(0, |open, token| match token.kind {
            TokenKind::Sign(Sign::OpenBrace) => open + 1,
            TokenKind::Sign(Sign::CloseBrace) => open.max(1) - 1,
            _ => open,
        })
    }

    fn statement(&mut self, place: Place) -> Parse<Stmt> {
        let start = self.start();
        let kind = match self.kind() {
            TokenKind::Sign(Sign::At) => self.attributed(),
            TokenKind::Ident
                if self.at_word("gen") && self.kind_ahead(1) == TokenKind::Keyword(Keyword::Fn) =>
            {
                self.plain_declaration()
            }
            TokenKind::Keyword(word) => self.keyword_statement(word, place),
            _ => self.expression_statement(),
        };
        Ok(Stmt { kind: kind?, span: self.span_from(start) })
    }

    fn plain_declaration(&mut self) -> Parse<StmtKind> {
        self.declaration(Vec::new()).map(StmtKind::Decl)
    }

    /// A statement that is not at the top level.
    pub(super) fn block_statement(&mut self) -> Parse<Stmt> {
        self.statement(Place::Block)
    }

    fn keyword_statement(&mut self, word: Keyword, place: Place) -> Parse<StmtKind> {
        let names_follow = self.kind_ahead(1) == TokenKind::Ident;
        match word {
            Keyword::Import if place == Place::Top => self.import(),
            Keyword::Pub
                if place == Place::Top && self.kind_ahead(1) == TokenKind::Keyword(Keyword::Import) =>
            {
                self.import()
            }
            Keyword::Import => {
                Err(self
                    .expected_with_help("expression", Some("imports belong at the top level of the file")))
            }
            Keyword::Fn if !names_follow && self.kind_ahead(1) == TokenKind::Sign(Sign::OpenParen) => {
                self.expression_statement()
            }
            Keyword::Pub
            | Keyword::Fn
            | Keyword::Pipeline
            | Keyword::Tool
            | Keyword::Skill
            | Keyword::EvalPack
            | Keyword::Struct
            | Keyword::Enum
            | Keyword::Impl
            | Keyword::Interface
            | Keyword::Type => self.plain_declaration(),
            Keyword::Let | Keyword::Var => self.binding(),
            Keyword::For => self.for_loop(),
            Keyword::While => self.while_loop(),
            Keyword::Select => self.select(),
            Keyword::Override => self.override_declaration(),
            _ => self.simple_statement(word),
        }
    }

    fn simple_statement(&mut self, word: Keyword) -> Parse<StmtKind> {
        match word {
            Keyword::Guard => return self.guard(),
            Keyword::Require => return self.require(),
            Keyword::Return
            | Keyword::Yield
            | Keyword::Throw
            | Keyword::Emit
            | Keyword::Break
            | Keyword::Continue
            | Keyword::Defer
            | Keyword::Mutex => {}
            _ => return self.expression_statement(),
        }
        self.advance();
        match word {
            Keyword::Return => self.optional_value().map(StmtKind::Return),
            Keyword::Yield => self.optional_value().map(StmtKind::Yield),
            Keyword::Throw => self.expr().map(StmtKind::Throw),
            Keyword::Emit => self.expr().map(StmtKind::Emit),
            Keyword::Defer => self.block().map(StmtKind::Defer),
            Keyword::Mutex => self.block().map(StmtKind::Mutex),
            Keyword::Break => Ok(StmtKind::Break),
            _ => Ok(StmtKind::Continue),
        }
    }

    /// The value of a `return` or `yield`, unless its line ends.
    fn optional_value(&mut self) -> Parse<Option<Expr>> {
        match self.kind() {
            TokenKind::Newline
            | TokenKind::End
            | TokenKind::Sign(Sign::Semicolon)
            | TokenKind::Sign(Sign::CloseBrace) => Ok(None),
            _ => self.expr().map(Some),
        }
    }

    fn binding(&mut self) -> Parse<StmtKind> {
        let mutable = self.advance().kind == TokenKind::Keyword(Keyword::Var);
        let pattern = self.pattern()?;
        let plain = matches!(pattern, Pattern::Name(_));
        let ty = if plain && self.eat_sign(Sign::Colon) { Some(self.ty()?) } else { None };
        self.expect_sign(Sign::Equal)?;
        self.skip_newlines();
        let value = self.expr()?;
        Ok(StmtKind::Bind { mutable, pattern, ty, value })
    }

    fn for_loop(&mut self) -> Parse<StmtKind> {
        self.advance();
        let pattern = self.for_pattern()?;
        self.expect_keyword(Keyword::In)?;
        let source = self.expr()?;
        let body = self.block()?;
        Ok(StmtKind::For { pattern, source, body })
    }

    fn while_loop(&mut self) -> Parse<StmtKind> {
        self.advance();
        let condition = self.expr()?;
        let body = self.block()?;
        Ok(StmtKind::While { condition, body })
    }

    fn guard(&mut self) -> Parse<StmtKind> {
        self.advance();
        let condition = self.expr()?;
        self.skip_newline_before(Keyword::Else);
        self.expect_keyword(Keyword::Else)?;
        let otherwise = self.block()?;
        Ok(StmtKind::Guard { condition, otherwise })
    }

    fn require(&mut self) -> Parse<StmtKind> {
        self.advance();
        let condition = self.expr()?;
        let message = if self.eat_sign(Sign::Comma) {
            self.skip_newlines();
            Some(self.expr()?)
        } else {
            None
        };
        Ok(StmtKind::Require { condition, message })
    }

    fn override_declaration(&mut self) -> Parse<StmtKind> {
        self.advance();
        let name = self.ident()?;
        self.expect_sign(Sign::OpenParen)?;
        let params = self.items(Sign::CloseParen, Self::ident)?;
        let body = self.block()?;
        Ok(StmtKind::Override { name, params, body })
    }

    fn expression_statement(&mut self) -> Parse<StmtKind> {
        let help = match self.kind() {
            TokenKind::Keyword(Keyword::Else) => Some("`else` follows the `}` of its `if`, without `;`"),
            TokenKind::Keyword(Keyword::Catch | Keyword::Finally) => {
                Some("`catch` and `finally` follow the `}` of their `try`, without `;`")
            }
            _ => None,
        };
        if help.is_some() {
            let before = self.input.at.checked_sub(1).and_then(|at| self.input.tokens.get(at));
            let is_separated = before.is_some_and(|token| token.kind == TokenKind::Sign(Sign::Semicolon));
            let wanted = if is_separated { "statement separator (`;` or newline)" } else { "expression" };
            return Err(self.expected_with_help(wanted, help));
        }
        let target = self.expr();
        match self.assignment() {
            Some(op) => self.assignment_to(target?, op),
            None => target.map(StmtKind::Expr),
        }
    }

    fn assignment_to(&mut self, target: Expr, op: Option<BinaryOp>) -> Parse<StmtKind> {
        if !is_assignable(&target) {
            return Err(self.not_assignable(target.span));
        }
        self.advance();
        self.skip_newlines();
        let value = self.expr()?;
        Ok(StmtKind::Assign { target, op, value })
    }

    fn assignment(&self) -> Option<Option<BinaryOp>> {
        let TokenKind::Sign(sign) = self.kind() else { return None };
        match sign {
            Sign::Equal => Some(None),
            Sign::PlusEqual => Some(Some(BinaryOp::Add)),
            Sign::MinusEqual => Some(Some(BinaryOp::Subtract)),
            Sign::StarEqual => Some(Some(BinaryOp::Multiply)),
            Sign::SlashEqual => Some(Some(BinaryOp::Divide)),
            Sign::PercentEqual => Some(Some(BinaryOp::Modulo)),
            _ => None,
        }
    }

    fn not_assignable(&mut self, span: Span) -> Abandoned {
        let help = Some("only a name, a field (`a.b`) or an element (`a[i]`) can be assigned to");
        let text = "Invalid assignment target".to_owned();
        self.note(Problem { text, span, placed: true, help })
    }
}

fn is_assignable(target: &Expr) -> bool {
    matches!(
        target.kind,
        ExprKind::Name(_) | ExprKind::Field { optional: false, .. } | ExprKind::Index { optional: false, .. }
    )
}

fn starts_statement(kind: TokenKind) -> bool {
    match kind {
        TokenKind::Sign(Sign::At) => true,
        TokenKind::Keyword(word) => !matches!(
            word,
            Keyword::Catch
                | Keyword::Else
                | Keyword::Exclusive
                | Keyword::Extends
                | Keyword::False
                | Keyword::Finally
                | Keyword::From
                | Keyword::In
                | Keyword::Nil
                | Keyword::To
                | Keyword::True
        ),
        _ => false,
    }
}
