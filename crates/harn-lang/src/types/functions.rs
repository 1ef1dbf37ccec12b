//! The bodies of functions, tools, pipelines and closures.

use super::Checker;
use super::expand::Bindings;
use super::ty::{CLOSURE, Ty};
use crate::problem::Code;
use crate::syntax::ast::{self, Block, Closure, Decl, DeclKind, Name, Stmt, StmtKind};
use crate::syntax::span::Span;

/// What is known about the function around.
#[derive(Clone, Default)]
pub struct Function {
    pub kind: Kind,
    /// What every `return` is compared with.
    pub returns: Option<Ty>,
    /// What every `emit` is compared with.
    pub emits: Option<Ty>,
    /// Whether the body has a `return`.
    pub has_return: bool,
}

#[derive(Clone, Copy, Default, PartialEq)]
pub enum Kind {
    #[default]
    Plain,
    /// `gen fn`.
    Gen,
    /// A closure or a task within a `gen fn`.
    WithinGen,
}

impl<'a> Checker<'a> {
    /// The bodies that see every variable of the block.
    pub(super) fn deferred(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            let StmtKind::Decl(decl) = &stmt.kind else { continue };
            match &decl.kind {
                DeclKind::Function(inner) => self.function(inner, None),
                DeclKind::Pipeline(inner) => self.pipeline(inner, decl),
                DeclKind::Tool(inner) => {
                    let returns = inner.returns.as_ref().map(|ty| self.lower(ty));
                    let function = Function { returns, ..Function::default() };
                    self.body(&inner.params, &inner.body, function, None);
                }
                DeclKind::Impl(inner) => self.impl_(inner),
                _ => {}
            }
        }
    }

    fn pipeline(&mut self, inner: &'a ast::Pipeline, decl: &'a Decl) {
        let exempt = ["default", "main", "auto", "test"].contains(&&*inner.name.name);
        if decl.public && inner.returns.is_none() && !exempt {
            let name = &inner.name.name;
            self.say_with(
                Code::PipelineReturnType,
                inner.name.span,
                format!("public pipeline '{name}' has no return type"),
                format!("say what it gives to its callers: pub pipeline {name}(...) -> Type {{ ... }}"),
            );
        }
        let returns = inner.returns.as_ref().map(|ty| self.lower(ty));
        let (function, mark) = self.enter(Function { returns, ..Function::default() });
        for param in &inner.params {
            self.scope.variable(&param.name, None, Ty::Hole, false);
        }
        self.block(&inner.body);
        self.leave(function, mark);
    }

    fn impl_(&mut self, inner: &'a ast::Impl) {
        let Some(id) = self.type_named(&inner.target.name) else { return };
        let params: Vec<Name> = self.decls[id].params.iter().map(|(name, _)| name.clone()).collect();
        let own = Ty::user(id, params.iter().cloned().map(Ty::Param).collect());
        let before = self.type_params.len();
        self.type_params.extend(params);
        for method in &inner.methods {
            self.attributes(method);
            if let DeclKind::Function(function) = &method.kind {
                self.function(function, Some(own.clone()));
            }
        }
        self.type_params.truncate(before);
    }

    fn function(&mut self, inner: &'a ast::Function, own: Option<Ty>) {
        let before = self.type_params.len();
        self.type_params.extend(inner.type_params.iter().map(|param| param.name.name.clone()));
        let was_silent = std::mem::replace(&mut self.is_silent, true);
        let mut returns = inner.returns.as_ref().map(|ty| self.lower(ty));
        self.is_silent = was_silent;
        let mut emits = None;
        let kind = if inner.is_gen { Kind::Gen } else { Kind::Plain };
        if inner.is_gen {
            emits = self.stream_of(returns.as_ref(), inner);
        }
        // What a generator yields is not what it returns.
        if inner.is_gen || returns.as_ref().is_some_and(|ty| self.is_lazy(ty)) {
            returns = None;
        }
        self.body(&inner.params, &inner.body, Function { kind, returns, emits, has_return: false }, own);
        self.type_params.truncate(before);
    }

    fn is_lazy(&self, ty: &Ty) -> bool {
        let is_lazy = |ty: &Ty| {
            matches!(ty, Ty::Basic("Generator" | "generator" | "Stream" | "stream" | "iter" | "Iter", _))
        };
        self.expand(ty).members().iter().any(is_lazy)
    }

    /// What a `gen fn` emits.
    fn stream_of(&mut self, returns: Option<&Ty>, inner: &'a ast::Function) -> Option<Ty> {
        let ty = self.expand(returns?);
        match &ty {
            Ty::Basic("Stream" | "stream", _) => ty.args().first().cloned(),
            open if open.is_open() || matches!(open, Ty::Union(_)) => None,
            other => {
                let shown = self.show(other);
                let span = inner.returns.as_ref().map_or(inner.name.span, |ty| ty.span);
                let message = format!("`gen fn` must return Stream<T>, got {shown}");
                self.say_with(Code::TypeMismatch, span, message, format!("write `-> Stream<{shown}>`"));
                None
            }
        }
    }

    fn enter(&mut self, function: Function) -> (Function, super::scope::Mark) {
        let mark = self.scope.mark();
        self.scope.level += 1;
        self.scope.open();
        (std::mem::replace(&mut self.function, function), mark)
    }

    fn leave(&mut self, outer: Function, mark: super::scope::Mark) {
        self.function = outer;
        self.scope.close();
        self.scope.level -= 1;
        self.scope.rewind(mark, true);
    }

    fn body(&mut self, params: &'a [ast::Param], body: &'a Block, function: Function, own: Option<Ty>) {
        let (outer, mark) = self.enter(function);
        self.bind_params(params, own);
        self.block(body);
        self.leave(outer, mark);
    }

    /// Gives the types of the parameters; those without one have a hole.
    fn bind_params(&mut self, params: &'a [ast::Param], own: Option<Ty>) -> Vec<Ty> {
        let mut own = own;
        let mut types = Vec::new();
        for (at, param) in params.iter().enumerate() {
            if let Some(default) = &param.default {
                self.infer(default);
            }
            let was_silent = std::mem::replace(&mut self.is_silent, true);
            let declared = match own.take().filter(|_| at == 0 && &*param.name.name == "self") {
                Some(own) => own,
                None => self.lower_some(param.ty.as_ref()),
            };
            self.is_silent = was_silent;
            let is_declared = param.ty.is_some() && !param.is_rest;
            let declared = if param.is_rest { Ty::Hole } else { declared };
            types.push(declared.clone());
            self.scope.variable(&param.name.name, is_declared.then(|| declared.clone()), declared, false);
        }
        types
    }

    /// A function without a name, which has the variables around as they are here.
    pub(super) fn closure(&mut self, closure: &'a Closure) -> Ty {
        for param in &closure.params {
            // Said once, here: a closure has no signature that says it.
            let _ = param.ty.as_ref().map(|ty| self.lower(ty));
        }
        let kind = if self.function.kind == Kind::Plain { Kind::Plain } else { Kind::WithinGen };
        let outer = std::mem::replace(&mut self.function, Function { kind, ..Function::default() });
        let mark = self.scope.mark();
        self.scope.open();
        let params = self.bind_params(&closure.params, None);
        let value = self.block(&closure.body);
        self.scope.close();
        self.scope.rewind(mark, true);
        let inner = std::mem::replace(&mut self.function, outer);
        let is_known = !inner.has_return
            && !value.has_hole()
            && value != super::ty::NEVER
            && closure
                .params
                .iter()
                .all(|param| param.ty.is_some() && param.default.is_none() && !param.is_rest);
        if is_known { Ty::function(params, value.settled()) } else { CLOSURE }
    }

    /// A block that runs as a task: on copies, with a `return` of its own.
    pub(super) fn task(&mut self, param: Option<(&'a ast::Ident, Ty)>, body: &'a Block) -> Ty {
        let kind = if self.function.kind == Kind::Plain { Kind::Plain } else { Kind::WithinGen };
        let outer = std::mem::replace(&mut self.function, Function { kind, ..Function::default() });
        let mark = self.scope.mark();
        self.scope.open();
        if let Some((param, ty)) = param {
            self.scope.variable(&param.name, None, ty, false);
        }
        let value = self.block(body);
        self.scope.close();
        self.scope.rewind(mark, true);
        let inner = std::mem::replace(&mut self.function, outer);
        if inner.has_return { Ty::Hole } else { value }
    }

    pub(super) fn return_(&mut self, value: Option<&'a ast::Expr>) {
        self.function.has_return = true;
        let Some(value) = value else { return };
        let actual = self.infer(value);
        if let Some(expected) = self.function.returns.clone()
            && !self.fits(&actual, &expected)
        {
            let (wanted, got) = (self.show_out(&expected), self.show_out(&actual));
            let message = format!("return type doesn't match: expected {wanted}, got {got}");
            self.mismatch(value.span, message, &actual, &expected);
        }
    }

    pub(super) fn emit(&mut self, value: &'a ast::Expr, span: Span) {
        let actual = self.infer(value);
        if self.function.kind == Kind::Plain {
            let message = "`emit` can only be used inside a `gen fn`";
            self.say_with(
                Code::Misplaced,
                span,
                message,
                "declare the function with `gen fn`, or use `yield`",
            );
        }
        if let Some(expected) = self.function.emits.clone()
            && !self.fits(&actual, &expected)
        {
            let (wanted, got) = (self.show_out(&expected), self.show_out(&actual));
            let message = format!("emit type doesn't match: expected {wanted}, got {got}");
            self.mismatch(value.span, message, &actual, &expected);
        }
    }

    pub(super) fn yield_(&mut self, value: Option<&'a ast::Expr>, span: Span) {
        value.map(|value| self.infer(value));
        if self.function.kind == Kind::Gen {
            let message = "`yield` is not a stream emit; use `emit` inside `gen fn`";
            self.say_with(Code::Misplaced, span, message, "write `emit` instead of `yield`");
        }
    }
}

/// Every parameter that is not bound is not known.
pub fn open(bound: &Bindings, params: &[Name]) -> Bindings {
    let rest = params.iter().filter(|name| !bound.iter().any(|(known, _)| known == *name));
    bound.iter().cloned().chain(rest.map(|name| (name.clone(), Ty::Hole))).collect()
}
