//! Declarations and their attributes.

use super::Formatter;
use super::layout::Op;
use super::lists::Padding;
use crate::syntax::ast::{
    Attribute, AttributeValue, Decl, DeclKind, EvalPack, Expr, Function, Ident, Interface, Pipeline,
    Signature, Skill, Stmt, Tool, Type,
};
use crate::syntax::token::{Sign, TokenKind};

impl Formatter<'_> {
    pub(super) fn declaration(&mut self, decl: &Decl) {
        for attribute in &decl.attributes {
            self.attribute(attribute);
            self.trailing();
            self.push(Op::HardLine);
            self.leading();
        }
        if decl.public {
            self.take_word();
        }
        self.group(|f| f.declaration_kind(&decl.kind));
    }

    fn attribute(&mut self, attribute: &Attribute) {
        self.take();
        self.take();
        if self.at_sign(Sign::OpenParen) {
            self.list(&attribute.args, Padding::None, |f, arg| {
                if arg.name.is_some() {
                    f.take();
                    f.take_word();
                }
                f.attribute_value(&arg.value);
            });
        }
    }

    fn attribute_value(&mut self, value: &AttributeValue) {
        match value {
            AttributeValue::List(items) => self.list(items, Padding::None, Self::attribute_value),
            _ => {
                self.take_sign(Sign::Minus);
                self.take();
            }
        }
    }

    fn declaration_kind(&mut self, kind: &DeclKind) {
        match kind {
            DeclKind::Pipeline(it) => self.pipeline(it),
            DeclKind::Function(it) => self.function(it),
            DeclKind::Tool(it) => self.tool(it),
            DeclKind::Skill(it) => self.skill(it),
            DeclKind::EvalPack(it) => self.eval_pack(it),
            DeclKind::Struct(it) => {
                self.take_word();
                self.take();
                self.type_params(&it.type_params);
                self.word(" ");
                self.list(&it.fields, Padding::Blank, |f, field| {
                    f.take();
                    f.take_sign(Sign::Question);
                    f.annotation(&field.ty);
                });
            }
            DeclKind::Enum(it) => {
                self.take_word();
                self.take();
                self.type_params(&it.type_params);
                self.word(" ");
                self.list(&it.variants, Padding::Blank, |f, variant| {
                    f.take();
                    if f.at_sign(Sign::OpenParen) {
                        f.params(&variant.fields);
                    }
                });
            }
            DeclKind::Impl(it) => {
                self.take_word();
                self.take_word();
                self.lines(&it.methods, |f, method| {
                    f.declaration(method);
                    f.take_separator(Sign::Semicolon);
                });
            }
            DeclKind::Interface(it) => self.interface(it),
            DeclKind::Alias(it) => {
                self.take_word();
                self.take();
                self.type_params(&it.type_params);
                self.word(" ");
                self.take_word();
                self.ty(&it.ty);
            }
        }
    }

    fn pipeline(&mut self, it: &Pipeline) {
        self.take_word();
        self.take();
        self.names(&it.params, Padding::None);
        self.returns(&it.returns);
        if it.extends.is_some() {
            self.word(" ");
            self.take_word();
            self.take();
        }
        self.word(" ");
        self.block(&it.body);
    }

    fn function(&mut self, it: &Function) {
        if it.is_gen {
            self.take_word();
        }
        self.take_word();
        self.take();
        self.type_params(&it.type_params);
        self.params(&it.params);
        self.returns(&it.returns);
        if !it.bounds.is_empty() {
            self.word(" ");
            self.take();
        }
        for at in 0..it.bounds.len() {
            if at > 0 {
                self.take();
            }
            self.word(" ");
            self.take();
            self.take_word();
            self.take();
        }
        self.word(" ");
        self.block(&it.body);
    }

    fn tool(&mut self, it: &Tool) {
        self.take_word();
        self.take();
        self.params(&it.params);
        self.returns(&it.returns);
        self.word(" ");
        let Some(description) = &it.description else { return self.block(&it.body) };
        self.take();
        self.indented(|f| {
            f.push(Op::HardLine);
            f.item(|f| {
                f.take_word();
                f.expr(description);
            });
            f.take_separator(Sign::Semicolon);
            f.trailing();
            if !it.body.body.is_empty() {
                f.line_as_written();
                f.statements(&it.body.body);
            }
            f.comments_before_end(true);
        });
        self.push(Op::HardLine);
        self.take();
    }

    /// Fields with a colon end with a comma, those without end with their line.
    fn skill(&mut self, it: &Skill) {
        self.take_word();
        self.take_word();
        self.lines(&it.fields, |f, (_, value)| {
            let colon = f.ahead(1).kind == TokenKind::Sign(Sign::Colon);
            f.field(value, if colon { "," } else { "" });
        });
    }

    fn field(&mut self, value: &Expr, end: &'static str) {
        self.take();
        self.take_sign(Sign::Colon);
        self.word(" ");
        self.expr(value);
        self.word(end);
        let separated = self.take_separator(Sign::Comma) || self.take_separator(Sign::Semicolon);
        if separated {
            self.trailing();
        }
    }

    fn eval_pack(&mut self, it: &EvalPack) {
        self.take_word();
        self.take_word();
        if matches!(self.peek().kind, TokenKind::Str | TokenKind::RawStr | TokenKind::TripleStr) {
            self.take_word();
        }
        let mut items: Vec<(u32, PackItem<'_>)> = Vec::new();
        items.extend(it.fields.iter().map(|(key, value)| (key.span.start, PackItem::Field(value))));
        items.extend(it.summarize.iter().map(|body| (body.span.start, PackItem::Summarize(body))));
        items.extend(
            it.body.body.iter().map(|statement| (statement.span.start, PackItem::Statement(statement))),
        );
        items.sort_by_key(|(start, _)| *start);
        self.lines(&items, |f, (_, item)| match item {
            PackItem::Field(value) => f.field(value, ""),
            PackItem::Summarize(body) => {
                f.group(|f| f.headed_block(None, body));
                let _ = f.take_separator(Sign::Comma) || f.take_separator(Sign::Semicolon);
            }
            PackItem::Statement(statement) => f.statements(std::slice::from_ref(*statement)),
        });
    }

    fn interface(&mut self, it: &Interface) {
        self.take_word();
        self.take();
        self.type_params(&it.type_params);
        self.word(" ");
        let mut members: Vec<(u32, Member<'_>)> = Vec::new();
        members.extend(it.types.iter().map(|(name, ty)| (start(name), Member::Type(ty))));
        members.extend(it.methods.iter().map(|method| (start(&method.name), Member::Method(method))));
        members.sort_by_key(|(start, _)| *start);
        self.lines(&members, |f, (_, member)| {
            f.group(|f| f.member(member));
            f.take_separator(Sign::Semicolon);
        });
    }

    fn member(&mut self, member: &Member<'_>) {
        self.take_word();
        self.take();
        match member {
            Member::Type(Some(default)) => {
                self.word(" ");
                self.take_word();
                self.ty(default);
            }
            Member::Type(None) => {}
            Member::Method(method) => {
                self.type_params(&method.type_params);
                self.params(&method.params);
                self.returns(&method.returns);
            }
        }
    }
}

/// One of the things in an eval pack, which are written in any order.
enum PackItem<'a> {
    Field(&'a Expr),
    Summarize(&'a crate::syntax::ast::Block),
    Statement(&'a Stmt),
}

enum Member<'a> {
    Type(&'a Option<Type>),
    Method(&'a Signature),
}

fn start(name: &Ident) -> u32 {
    name.span.start
}
