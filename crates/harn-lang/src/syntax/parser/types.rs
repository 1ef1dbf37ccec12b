//! Types, and the parameters of types.

use super::super::ast::{ShapeField, Type, TypeKind, TypeParam, Variance};
use super::super::token::{Keyword, Sign, TokenKind};
use super::cursor::add;
use super::{Parse, Parser};

impl Parser<'_> {
    pub(super) fn ty(&mut self) -> Parse<Type> {
        self.enter()?;
        let start = self.start();
        let first = self.single_type()?;
        let mut members = vec![first];
        while self.at_next_member() {
            self.skip_newlines();
            self.advance();
            self.skip_newlines();
            members.push(self.single_type()?);
        }
        self.leave();
        Ok(match (members.pop(), members.is_empty()) {
            (Some(only), true) => only,
            (last, _) => {
                members.extend(last);
                Type { kind: TypeKind::Union(members), span: self.span_from(start) }
            }
        })
    }

    /// A `|`, also at the start of the next line.
    fn at_next_member(&self) -> bool {
        let ahead = usize::from(self.kind() == TokenKind::Newline);
        self.kind_ahead(ahead) == TokenKind::Sign(Sign::Bar)
    }

    fn single_type(&mut self) -> Parse<Type> {
        let start = self.start();
        let kind = match self.kind() {
            TokenKind::Ident => self.named_type()?,
            TokenKind::Keyword(word @ (Keyword::Nil | Keyword::True | Keyword::False)) => {
                self.advance();
                let name = self.name(if word == Keyword::Nil { "nil" } else { "bool" });
                TypeKind::Name { name, args: Vec::new() }
            }
            TokenKind::Keyword(Keyword::Fn) => self.function_type()?,
            TokenKind::Sign(Sign::OpenBracket) => {
                self.advance();
                self.skip_newlines();
                let item = self.ty()?;
                self.skip_newlines();
                self.expect_sign(Sign::CloseBracket)?;
                TypeKind::List(Box::new(item))
            }
            TokenKind::Sign(Sign::OpenBrace) => {
                self.advance();
                TypeKind::Shape(self.items(Sign::CloseBrace, Self::shape_field)?)
            }
            TokenKind::Str | TokenKind::RawStr => TypeKind::Str(self.plain_string()?),
            TokenKind::Int => TypeKind::Int(self.int_literal(1)?),
            TokenKind::Sign(Sign::Minus) if self.kind_ahead(1) == TokenKind::Int => {
                self.advance();
                TypeKind::Int(self.int_literal(-1)?)
            }
            _ => return Err(self.expected("type")),
        };
        Ok(Type { kind, span: self.span_from(start) })
    }

    fn named_type(&mut self) -> Parse<TypeKind> {
        let name = self.ident()?.name;
        let args = if self.eat_sign(Sign::Less) { self.type_args()? } else { Vec::new() };
        Ok(TypeKind::Name { name, args })
    }

    /// Types up to a `>`, whose `<` has been read. Here only commas separate, because `a < b` may end a line.
    pub(super) fn type_args(&mut self) -> Parse<Vec<Type>> {
        let mut args = Vec::new();
        loop {
            self.skip_newlines();
            add(&mut args, self.ty()?);
            self.skip_newlines();
            if self.eat_sign(Sign::Greater) {
                return Ok(args);
            }
            if !self.eat_sign(Sign::Comma) {
                return Err(self.expected(">"));
            }
        }
    }

    fn function_type(&mut self) -> Parse<TypeKind> {
        self.advance();
        self.expect_sign(Sign::OpenParen)?;
        let params = self.items(Sign::CloseParen, Self::ty)?;
        self.expect_sign(Sign::Arrow)?;
        let returns = Box::new(self.ty()?);
        Ok(TypeKind::Function { params, returns })
    }

    fn shape_field(&mut self) -> Parse<ShapeField> {
        let name = self.key()?;
        let optional = self.eat_sign(Sign::Question);
        self.expect_sign(Sign::Colon)?;
        self.skip_newlines();
        Ok(ShapeField { name, optional, ty: self.ty()? })
    }

    /// `-> T`, if it is there.
    pub(super) fn return_type(&mut self) -> Parse<Option<Type>> {
        if self.eat_sign(Sign::Arrow) { self.ty().map(Some) } else { Ok(None) }
    }

    /// `<T, out U>`, if it is there.
    pub(super) fn type_params(&mut self) -> Parse<Vec<TypeParam>> {
        if self.eat_sign(Sign::Less) { self.items(Sign::Greater, Self::type_param) } else { Ok(Vec::new()) }
    }

    fn type_param(&mut self) -> Parse<TypeParam> {
        let variance = if self.eat_keyword(Keyword::In) {
            Variance::Contravariant
        } else if self.at_word("out") && self.kind_ahead(1) == TokenKind::Ident {
            self.advance();
            Variance::Covariant
        } else {
            Variance::Invariant
        };
        Ok(TypeParam { name: self.ident()?, variance })
    }
}
