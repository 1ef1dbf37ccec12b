//! Statements, one after the other.

use super::Checker;
use super::assigned::effects;
use super::facts::Outcomes;
use super::ty::{NEVER, NIL, Ty};
use crate::problem::Code;
use crate::syntax::ast::{Block, Decl, DeclKind, Expr, ExprKind, Pattern, Select, Stmt, StmtKind};

impl<'a> Checker<'a> {
    /// A block with a scope of its own. Gives the type of its value; `never` if its end is never reached.
    pub(super) fn block(&mut self, block: &'a Block) -> Ty {
        self.scope.open();
        self.hoist(&block.body);
        let value = self.statements(&block.body);
        self.deferred(&block.body);
        self.scope.close();
        value
    }

    pub(super) fn statements(&mut self, body: &'a [Stmt]) -> Ty {
        let mut value = NIL;
        let mut is_left = false;
        for stmt in body {
            if is_left && value == NEVER && !matches!(stmt.kind, StmtKind::Decl(_)) {
                let message = "unreachable code: what precedes it always leaves the block";
                self.say(Code::UnreachableCode, stmt.span, message);
                is_left = false;
            }
            let result = self.statement(stmt);
            if value != NEVER {
                // What follows a `match` is there for values that no arm was for.
                is_left = result == NEVER && !is_match(stmt);
                value = result;
            }
        }
        value
    }

    fn statement(&mut self, stmt: &'a Stmt) -> Ty {
        match &stmt.kind {
            StmtKind::Import(_) | StmtKind::Override { .. } => {}
            StmtKind::Decl(decl) => self.declaration(decl),
            StmtKind::Bind { mutable, pattern, ty, value } => {
                self.bind(*mutable, pattern, ty.as_ref(), value)
            }
            StmtKind::Assign { target, op, value } => self.assign(target, *op, value),
            StmtKind::For { pattern, source, body } => self.for_(pattern, source, body),
            StmtKind::While { condition, body } => return self.while_(condition, body),
            StmtKind::Select(select) => self.select(select),
            StmtKind::Return(value) => {
                self.return_(value.as_ref());
                return NEVER;
            }
            StmtKind::Throw(value) => {
                self.infer(value);
                return NEVER;
            }
            StmtKind::Break | StmtKind::Continue => return NEVER,
            StmtKind::Yield(value) => self.yield_(value.as_ref(), stmt.span),
            StmtKind::Emit(value) => self.emit(value, stmt.span),
            StmtKind::Guard { condition, otherwise } => {
                self.infer(condition);
                let Outcomes { yes, no } = self.outcomes(condition);
                let mark = self.scope.mark();
                self.apply(no);
                self.block(otherwise);
                let assigned = effects([otherwise]).assigned;
                self.scope.rewind(mark, true);
                self.scope.forget(&assigned);
                self.apply(yes);
            }
            StmtKind::Require { condition, message } => {
                self.infer(condition);
                let yes = self.facts(condition, true);
                if let Some(message) = message {
                    self.infer(message);
                }
                self.apply(yes);
            }
            StmtKind::Defer(body) => {
                let mark = self.scope.mark();
                self.block(body);
                self.scope.rewind(mark, true);
            }
            StmtKind::Mutex(body) => {
                if self.block(body) == NEVER {
                    return NEVER;
                }
            }
            StmtKind::Expr(expr) => return self.infer(expr),
        }
        NIL
    }

    fn declaration(&mut self, decl: &'a Decl) {
        self.attributes(decl);
        match &decl.kind {
            DeclKind::Struct(_) | DeclKind::Enum(_) | DeclKind::Interface(_) | DeclKind::Alias(_) => {
                self.variance(decl);
            }
            DeclKind::Tool(inner) => {
                for param in &inner.params {
                    let _ = param.ty.as_ref().map(|ty| self.lower(ty));
                }
                if let Some(description) = &inner.description {
                    self.infer(description);
                }
            }
            DeclKind::Skill(inner) => inner.fields.iter().for_each(|(_, value)| {
                self.infer(value);
            }),
            DeclKind::EvalPack(inner) => {
                self.scope.open();
                for (_, value) in &inner.fields {
                    self.infer(value);
                }
                for name in inner.fields.iter().map(|(name, _)| &*name.name).chain(["id", "version"]) {
                    self.scope.variable(&name.into(), None, Ty::Hole, false);
                }
                self.block(&inner.body);
                if let Some(block) = &inner.summarize {
                    self.block(block);
                }
                self.scope.close();
            }
            DeclKind::Function(_) | DeclKind::Pipeline(_) | DeclKind::Impl(_) => {}
        }
    }

    fn for_(&mut self, pattern: &'a Pattern, source: &'a Expr, body: &'a Block) {
        let source = self.infer(source);
        let item = self.item_of(&source);
        let assigned = effects([body]).assigned;
        self.scope.forget(&assigned);
        let mark = self.scope.mark();
        self.scope.open();
        self.take_apart(pattern, &item, true);
        self.block(body);
        self.scope.close();
        self.scope.rewind(mark, true);
        self.scope.forget(&assigned);
    }

    /// What a loop over a value gives. Lists of mixed basic types may be told apart in ways that are not seen here.
    pub(super) fn item_of(&self, source: &Ty) -> Ty {
        let source = self.expand(source.bare());
        match (&source, source.args()) {
            (Ty::Basic("range", _), _) => super::ty::INT,
            (
                Ty::Basic(
                    "list" | "iter" | "Iter" | "Stream" | "stream" | "Generator" | "generator" | "set",
                    _,
                ),
                [item],
            ) => self.alternative(item),
            _ => Ty::Hole,
        }
    }

    /// A type that is one of several only if something in the program tells them apart.
    pub(super) fn alternative(&self, ty: &Ty) -> Ty {
        let whole = self.expand(ty);
        let is_plain = |member: &Ty| matches!(member, Ty::Basic(..) | Ty::Function(_));
        match &whole {
            Ty::Union(members) if members.items.iter().any(is_plain) => Ty::Hole,
            _ => ty.clone(),
        }
    }

    fn while_(&mut self, condition: &'a Expr, body: &'a Block) -> Ty {
        let found = effects([body]);
        self.scope.forget(&found.assigned);
        self.infer(condition);
        let Outcomes { yes, no } = self.outcomes(condition);
        let mark = self.scope.mark();
        self.apply(yes);
        self.block(body);
        self.scope.rewind(mark, true);
        self.scope.forget(&found.assigned);
        if found.breaks {
            return NIL;
        }
        self.apply(no);
        let is_endless = matches!(condition.kind, ExprKind::Bool(true));
        if is_endless { NEVER } else { NIL }
    }

    fn select(&mut self, select: &'a Select) {
        let mut branches = Vec::new();
        for case in &select.cases {
            self.infer(&case.channel);
        }
        for case in &select.cases {
            let mark = self.scope.mark();
            self.scope.open();
            self.scope.variable(&case.name.name, None, Ty::Hole, false);
            let value = self.block(&case.body);
            self.scope.close();
            branches.push(self.scope.rewind(mark, value == NEVER));
        }
        if let Some((limit, _)) = &select.timeout {
            self.infer(limit);
        }
        for block in select.timeout.iter().map(|(_, block)| block).chain(&select.default) {
            let mark = self.scope.mark();
            let value = self.block(block);
            branches.push(self.scope.rewind(mark, value == NEVER));
        }
        self.scope.merge(&branches);
    }
}

fn is_match(stmt: &Stmt) -> bool {
    matches!(&stmt.kind, StmtKind::Expr(Expr { kind: ExprKind::Match(_), .. }))
}
