//! The items of lists, calls and dicts.

use super::super::ast::{Element, Entry, Expr, ExprKind, Ident};
use super::super::token::{Sign, TokenKind};
use super::{Parse, Parser};

impl Parser<'_> {
    pub(super) fn element(&mut self) -> Parse<Element> {
        if self.eat_sign(Sign::Ellipsis) {
            return self.expr().map(Element::Spread);
        }
        self.expr().map(Element::Plain)
    }

    pub(super) fn entry(&mut self) -> Parse<Entry> {
        if self.eat_sign(Sign::Ellipsis) {
            return self.expr().map(Entry::Spread);
        }
        let start = self.start();
        if self.eat_sign(Sign::OpenBracket) {
            self.skip_newlines();
            let key = self.expr()?;
            self.skip_newlines();
            self.expect_sign(Sign::CloseBracket)?;
            self.entry_colon()?;
            return Ok(Entry::Computed { key, value: self.expr()? });
        }
        if !self.kind().is_string() {
            let key = self.entry_key()?;
            self.entry_colon()?;
            return Ok(Entry::Named { key, value: self.expr()? });
        }
        let token = self.advance();
        let key = self.string_value(token)?;
        let span = self.span_from(start);
        self.entry_colon()?;
        let value = self.expr()?;
        Ok(match key {
            ExprKind::Str(text) => Entry::Named { key: Ident { name: self.name(&text), span }, value },
            kind => Entry::Computed { key: Expr { kind, span }, value },
        })
    }

    fn entry_key(&mut self) -> Parse<Ident> {
        if matches!(self.kind(), TokenKind::Ident | TokenKind::Keyword(_)) {
            self.key()
        } else {
            Err(self.expected("dict key"))
        }
    }

    fn entry_colon(&mut self) -> Parse<()> {
        self.expect_sign(Sign::Colon)?;
        self.skip_newlines();
        Ok(())
    }
}
