//! What bindings take apart.

use super::super::ast::{Expr, Ident, Pattern, PatternField};
use super::super::token::{Sign, TokenKind};
use super::{Parse, Parser};

impl Parser<'_> {
    pub(super) fn pattern(&mut self) -> Parse<Pattern> {
        match self.kind() {
            TokenKind::Sign(Sign::OpenBrace) => self.dict_pattern(),
            TokenKind::Sign(Sign::OpenBracket) => self.list_pattern(),
            _ => self.ident().map(Pattern::Name),
        }
    }

    /// In a `for` also `(a, b)`.
    pub(super) fn for_pattern(&mut self) -> Parse<Pattern> {
        let start = self.start();
        if !self.eat_sign(Sign::OpenParen) {
            return self.pattern();
        }
        let first = self.ident()?;
        self.expect_sign(Sign::Comma)?;
        let second = self.ident()?;
        self.expect_sign(Sign::CloseParen)?;
        Ok(Pattern::Pair { first, second, span: self.span_from(start) })
    }

    fn dict_pattern(&mut self) -> Parse<Pattern> {
        let start = self.advance().span.start;
        let (fields, rest) = self.pattern_items(Sign::CloseBrace, Self::pattern_field)?;
        Ok(Pattern::Dict { fields, rest, span: self.span_from(start) })
    }

    fn list_pattern(&mut self) -> Parse<Pattern> {
        let start = self.advance().span.start;
        let (items, rest) = self.pattern_items(Sign::CloseBracket, |parser| {
            let name = parser.ident()?;
            Ok((name, parser.pattern_default()?))
        })?;
        Ok(Pattern::List { items, rest, span: self.span_from(start) })
    }

    /// Items, and a last `...rest`, up to the closing sign.
    fn pattern_items<T>(
        &mut self,
        close: Sign,
        item: fn(&mut Self) -> Parse<T>,
    ) -> Parse<(Vec<T>, Option<Ident>)> {
        let mut items = Vec::new();
        loop {
            self.skip_newlines();
            if self.eat_sign(close) {
                return Ok((items, None));
            }
            if self.eat_sign(Sign::Ellipsis) {
                let rest = self.ident()?;
                self.item_end(close)?;
                self.skip_newlines();
                self.expect_sign(close)?;
                return Ok((items, Some(rest)));
            }
            items.push(item(self)?);
            self.item_end(close)?;
        }
    }

    fn pattern_field(&mut self) -> Parse<PatternField> {
        let renames = self.kind_ahead(1) == TokenKind::Sign(Sign::Colon);
        let key = if renames { self.key()? } else { self.ident()? };
        let alias = if self.eat_sign(Sign::Colon) { Some(self.ident()?) } else { None };
        Ok(PatternField { key, alias, default: self.pattern_default()? })
    }

    fn pattern_default(&mut self) -> Parse<Option<Expr>> {
        if self.eat_sign(Sign::Equal) { self.expr().map(Some) } else { Ok(None) }
    }
}
