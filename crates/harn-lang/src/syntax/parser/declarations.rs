//! Imports, attributes and declarations.

use super::super::ast::{
    Alias, Attribute, AttributeArg, AttributeValue, Block, Decl, DeclKind, Enum, EvalPack, ExprKind, Impl,
    Import, Interface, Pipeline, Signature, Skill, Stmt, StmtKind, Struct, StructField, Tool, Variant,
};
use super::super::diagnostic::Problem;
use super::super::token::{Keyword, Sign, TokenKind};
use super::{Parse, Parser};

const PUBLIC: &str = "fn, gen fn, tool, skill, eval_pack, struct, enum, pipeline or import after pub";

impl Parser<'_> {
    pub(super) fn import(&mut self) -> Parse<StmtKind> {
        let public = self.eat_keyword(Keyword::Pub);
        self.expect_keyword(Keyword::Import)?;
        let names = if self.eat_sign(Sign::OpenBrace) {
            let names = self.items(Sign::CloseBrace, Self::ident)?;
            self.expect_keyword(Keyword::From)?;
            Some(names)
        } else {
            None
        };
        let path_span = self.peek().span;
        let path = self.plain_string()?;
        Ok(StmtKind::Import(Import { public, names, path, path_span }))
    }

    /// `@name(...)` once or more, and the declaration that they belong to.
    pub(super) fn attributed(&mut self) -> Parse<StmtKind> {
        let mut attributes = Vec::new();
        while self.at_sign(Sign::At) {
            attributes.push(self.attribute()?);
            self.skip_newlines();
        }
        if !self.at_declaration() {
            let text = "Expected fn/tool/skill/eval_pack/pipeline/struct/enum/type/interface/impl declaration after \
                        `@attr`, got non-declaration statement";
            let span = self.peek().span;
            return Err(self.note(Problem::at(text, span)));
        }
        Ok(StmtKind::Decl(self.declaration(attributes)?))
    }

    fn at_declaration(&self) -> bool {
        match self.kind() {
            TokenKind::Ident => self.at_word("gen") && self.kind_ahead(1) == TokenKind::Keyword(Keyword::Fn),
            TokenKind::Keyword(Keyword::Fn) => self.kind_ahead(1) != TokenKind::Sign(Sign::OpenParen),
            TokenKind::Keyword(word) => matches!(
                word,
                Keyword::Pub
                    | Keyword::Pipeline
                    | Keyword::Tool
                    | Keyword::Skill
                    | Keyword::EvalPack
                    | Keyword::Struct
                    | Keyword::Enum
                    | Keyword::Type
                    | Keyword::Interface
                    | Keyword::Impl
            ),
            _ => false,
        }
    }

    fn attribute(&mut self) -> Parse<Attribute> {
        let start = self.advance().span.start;
        let name = self.key()?;
        let args = if self.eat_sign(Sign::OpenParen) {
            self.items(Sign::CloseParen, Self::attribute_arg)?
        } else {
            Vec::new()
        };
        Ok(Attribute { name, args, span: self.span_from(start) })
    }

    fn attribute_arg(&mut self) -> Parse<AttributeArg> {
        let start = self.start();
        let named = self.kind_ahead(1) == TokenKind::Sign(Sign::Colon);
        let name = if named {
            let name = self.key()?;
            self.advance();
            Some(name)
        } else {
            None
        };
        let value = self.attribute_value()?;
        Ok(AttributeArg { name, value, span: self.span_from(start) })
    }

    fn attribute_value(&mut self) -> Parse<AttributeValue> {
        match self.kind() {
            TokenKind::Str | TokenKind::RawStr | TokenKind::TripleStr => {
                self.plain_string().map(AttributeValue::Str)
            }
            TokenKind::Int | TokenKind::Float => Ok(self.attribute_number(false)),
            TokenKind::Sign(Sign::Minus)
                if matches!(self.kind_ahead(1), TokenKind::Int | TokenKind::Float) =>
            {
                self.advance();
                Ok(self.attribute_number(true))
            }
            TokenKind::Keyword(word @ (Keyword::True | Keyword::False)) => {
                self.advance();
                Ok(AttributeValue::Bool(word == Keyword::True))
            }
            TokenKind::Keyword(Keyword::Nil) => {
                self.advance();
                Ok(AttributeValue::Nil)
            }
            TokenKind::Ident => Ok(AttributeValue::Name(self.ident()?.name)),
            TokenKind::Sign(Sign::OpenBracket) => {
                self.advance();
                self.enter()?;
                let items = self.items(Sign::CloseBracket, Self::attribute_value)?;
                self.leave();
                Ok(AttributeValue::List(items))
            }
            _ => Err(self.expected("attribute value")),
        }
    }

    fn attribute_number(&mut self, negative: bool) -> AttributeValue {
        match self.number() {
            ExprKind::Int(int) => AttributeValue::Int(if negative { -int } else { int }),
            ExprKind::Float(float) => AttributeValue::Float(if negative { -float } else { float }),
            _ => AttributeValue::Nil,
        }
    }

    pub(super) fn declaration(&mut self, attributes: Vec<Attribute>) -> Parse<Decl> {
        self.enter()?;
        let here = self.start();
        let start = attributes.first().map_or(here, |first| first.span.start);
        let doc = self.doc_before(start).or_else(|| self.doc_before(here));
        let public = self.eat_keyword(Keyword::Pub);
        let kind = match self.kind() {
            TokenKind::Ident if self.at_word("gen") => self.function().map(DeclKind::Function),
            TokenKind::Keyword(word) => self.declaration_kind(word, public),
            _ => Err(self.expected(PUBLIC)),
        };
        self.leave();
        Ok(Decl { attributes, doc, public, kind: kind? })
    }

    fn declaration_kind(&mut self, word: Keyword, public: bool) -> Parse<DeclKind> {
        match word {
            Keyword::Fn => self.function().map(DeclKind::Function),
            Keyword::Pipeline => self.pipeline(),
            Keyword::Tool => self.tool(),
            Keyword::Skill => self.skill(),
            Keyword::EvalPack => self.eval_pack(),
            Keyword::Struct => self.struct_declaration(),
            Keyword::Enum => self.enum_declaration(),
            Keyword::Impl if !public => self.impl_declaration(),
            Keyword::Interface if !public => self.interface(),
            Keyword::Type if !public => self.alias(),
            _ => Err(self.expected(PUBLIC)),
        }
    }

    fn pipeline(&mut self) -> Parse<DeclKind> {
        self.advance();
        let name = self.ident()?;
        self.expect_sign(Sign::OpenParen)?;
        let params = self.items(Sign::CloseParen, Self::ident)?;
        let returns = self.return_type()?;
        let extends = if self.eat_keyword(Keyword::Extends) { Some(self.ident()?) } else { None };
        let body = self.block()?;
        Ok(DeclKind::Pipeline(Pipeline { name, params, returns, extends, body }))
    }

    fn tool(&mut self) -> Parse<DeclKind> {
        self.advance();
        let name = self.ident()?;
        let params = self.params()?;
        let returns = self.return_type()?;
        let start = self.expect_sign(Sign::OpenBrace)?.span.start;
        self.skip_newlines();
        let mut description = None;
        if self.at_word("description") && self.kind_ahead(1).is_string() {
            self.advance();
            description = Some(self.primary()?);
            self.separator("statement")?;
        }
        let body = self.block_rest(start)?;
        Ok(DeclKind::Tool(Tool { name, params, returns, description, body }))
    }

    /// Fields are `key value` or `key: value`, and end with a comma, a `;` or their line.
    fn skill(&mut self) -> Parse<DeclKind> {
        let start = self.advance().span.start;
        let name = self.ident()?;
        self.expect_sign(Sign::OpenBrace)?;
        let mut fields = Vec::new();
        loop {
            self.skip_newlines();
            if self.eat_sign(Sign::CloseBrace) {
                return Ok(DeclKind::Skill(Skill { name, fields, span: self.span_from(start) }));
            }
            if self.kind() == TokenKind::End {
                return Err(self.expected("}"));
            }
            let key = self.key()?;
            self.eat_sign(Sign::Colon);
            self.skip_newlines();
            fields.push((key, self.expr()?));
            self.field_end("skill field")?;
        }
    }

    fn field_end(&mut self, after: &str) -> Parse<()> {
        if self.eat_sign(Sign::Comma) { Ok(()) } else { self.separator(after) }
    }

    fn eval_pack(&mut self) -> Parse<DeclKind> {
        self.advance();
        let name = if self.kind() == TokenKind::Ident { Some(self.ident()?) } else { None };
        let id = if name.is_none() || self.kind().is_string() { Some(self.plain_string()?) } else { None };
        let start = self.expect_sign(Sign::OpenBrace)?.span.start;
        let body = Block { body: Vec::new(), span: Default::default() };
        let mut pack = EvalPack { name, id, fields: Vec::new(), summarize: None, body };
        self.enter()?;
        loop {
            self.skip_newlines();
            if self.eat_sign(Sign::CloseBrace) {
                break;
            }
            if self.kind() == TokenKind::End {
                return Err(self.expected("}"));
            }
            self.eval_pack_item(&mut pack)?;
        }
        self.leave();
        pack.body.span = self.span_from(start);
        Ok(DeclKind::EvalPack(pack))
    }

    fn eval_pack_item(&mut self, pack: &mut EvalPack) -> Parse<()> {
        let is_key = matches!(self.kind(), TokenKind::Ident | TokenKind::Keyword(_));
        if is_key && self.kind_ahead(1) == TokenKind::Sign(Sign::Colon) {
            let key = self.key()?;
            self.advance();
            self.skip_newlines();
            pack.fields.push((key, self.expr()?));
            return self.field_end("eval_pack field");
        }
        if self.at_word("summarize") && self.kind_ahead(1) == TokenKind::Sign(Sign::OpenBrace) {
            let place = self.advance().span;
            if pack.summarize.replace(self.block()?).is_some() {
                self.note(Problem::at("An eval_pack has at most one `summarize`", place));
            }
            return self.field_end("eval_pack field");
        }
        let statement: Stmt = self.block_statement()?;
        pack.body.body.push(statement);
        self.separator("statement")
    }

    fn struct_declaration(&mut self) -> Parse<DeclKind> {
        let start = self.advance().span.start;
        let name = self.ident()?;
        let type_params = self.type_params()?;
        self.expect_sign(Sign::OpenBrace)?;
        let fields = self.items(Sign::CloseBrace, |parser| {
            let name = parser.key()?;
            let optional = parser.eat_sign(Sign::Question);
            let ty = if parser.eat_sign(Sign::Colon) { Some(parser.ty()?) } else { None };
            Ok(StructField { name, optional, ty })
        })?;
        Ok(DeclKind::Struct(Struct { name, type_params, fields, span: self.span_from(start) }))
    }

    fn enum_declaration(&mut self) -> Parse<DeclKind> {
        let start = self.advance().span.start;
        let name = self.ident()?;
        let type_params = self.type_params()?;
        self.expect_sign(Sign::OpenBrace)?;
        let variants = self.items(Sign::CloseBrace, |parser| {
            let name = parser.ident()?;
            let fields = if parser.at_sign(Sign::OpenParen) { parser.params()? } else { Vec::new() };
            Ok(Variant { name, fields })
        })?;
        Ok(DeclKind::Enum(Enum { name, type_params, variants, span: self.span_from(start) }))
    }

    fn impl_declaration(&mut self) -> Parse<DeclKind> {
        let start = self.advance().span.start;
        let target = self.ident()?;
        self.expect_sign(Sign::OpenBrace)?;
        let mut methods = Vec::new();
        loop {
            self.skip_newlines();
            if self.eat_sign(Sign::CloseBrace) {
                return Ok(DeclKind::Impl(Impl { target, methods, span: self.span_from(start) }));
            }
            methods.push(self.method()?);
            self.eat_sign(Sign::Semicolon);
        }
    }

    fn method(&mut self) -> Parse<Decl> {
        let mut attributes = Vec::new();
        while self.at_sign(Sign::At) {
            attributes.push(self.attribute()?);
            self.skip_newlines();
        }
        let after_pub = usize::from(self.at_keyword(Keyword::Pub));
        let is_function = self.kind_ahead(after_pub) == TokenKind::Keyword(Keyword::Fn)
            || self.kind_ahead(after_pub + 1) == TokenKind::Keyword(Keyword::Fn);
        if !is_function {
            return Err(self.expected("fn"));
        }
        self.declaration(attributes)
    }

    fn interface(&mut self) -> Parse<DeclKind> {
        let start = self.advance().span.start;
        let name = self.ident()?;
        let type_params = self.type_params()?;
        self.expect_sign(Sign::OpenBrace)?;
        let (mut types, mut methods) = (Vec::new(), Vec::new());
        loop {
            self.skip_newlines();
            if self.eat_sign(Sign::CloseBrace) {
                let span = self.span_from(start);
                return Ok(DeclKind::Interface(Interface { name, type_params, types, methods, span }));
            }
            if self.eat_keyword(Keyword::Type) {
                let name = self.ident()?;
                let default = if self.eat_sign(Sign::Equal) { Some(self.ty()?) } else { None };
                types.push((name, default));
            } else {
                methods.push(self.signature()?);
            }
            self.eat_sign(Sign::Semicolon);
        }
    }

    fn signature(&mut self) -> Parse<Signature> {
        if !self.eat_keyword(Keyword::Fn) {
            return Err(self.expected("}"));
        }
        let name = self.ident()?;
        let type_params = self.type_params()?;
        let params = self.params()?;
        let returns = self.return_type()?;
        Ok(Signature { name, type_params, params, returns })
    }

    fn alias(&mut self) -> Parse<DeclKind> {
        self.advance();
        let name = self.ident()?;
        let type_params = self.type_params()?;
        self.expect_sign(Sign::Equal)?;
        self.skip_newlines();
        Ok(DeclKind::Alias(Alias { name, type_params, ty: self.ty()? }))
    }
}
