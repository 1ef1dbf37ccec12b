//! Branches, `try`, and blocks that run as tasks.

use super::Checker;
use super::assigned::effects;
use super::facts::Outcomes;
use super::scope::Branch;
use super::ty::{DICT, INT, LIST, NEVER, NIL, RESULT, Ty};
use crate::problem::Code;
use crate::syntax::ast::{Else, Expr, ExprKind, If, Parallel, ParallelKind, Try};

impl<'a> Checker<'a> {
    pub(super) fn if_(&mut self, inner: &'a If) -> Ty {
        let mut inner = inner;
        let start = self.scope.mark();
        let mut branches: Vec<Branch> = Vec::new();
        let mut values: Vec<Ty> = Vec::new();
        // A chain of `else if` may be long, so it is not walked by recursion.
        let last = loop {
            self.infer(&inner.condition);
            let Outcomes { yes, no } = self.outcomes(&inner.condition);
            let mark = self.scope.mark();
            self.apply(yes);
            let value = self.block(&inner.then);
            branches.push(self.scope.rewind(mark, value == NEVER));
            values.push(value);
            self.apply(no);
            match &inner.otherwise {
                Some(Else::If(Expr { kind: ExprKind::If(next), .. })) => inner = next,
                Some(Else::If(other)) => break self.infer(other),
                Some(Else::Block(block)) => break self.block(block),
                None => break NIL,
            }
        };
        branches.push(self.scope.rewind(start, last == NEVER));
        values.push(last);
        self.scope.merge(&branches);
        Ty::union(values)
    }

    pub(super) fn ternary(&mut self, condition: &'a Expr, then: &'a Expr, otherwise: &'a Expr) -> Ty {
        self.infer(condition);
        let Outcomes { yes, no } = self.outcomes(condition);
        let mark = self.scope.mark();
        self.apply(yes);
        let then = self.infer(then);
        self.scope.rewind(mark, true);
        self.apply(no);
        let otherwise = self.infer(otherwise);
        self.scope.rewind(mark, true);
        Ty::union([then, otherwise])
    }

    pub(super) fn try_(&mut self, inner: &'a Try) -> Ty {
        let assigned = effects([&inner.body]).assigned;
        let mark = self.scope.mark();
        let value = self.block(&inner.body);
        let mut branches = vec![self.scope.rewind(mark, value == NEVER)];
        let mut result = match &inner.catch {
            None => self.result_of(&value),
            Some(catch) => {
                let mark = self.scope.mark();
                // It may have been left anywhere.
                self.scope.forget(&assigned);
                self.scope.open();
                let ty = catch.ty.as_ref().map(|ty| self.lower(ty));
                if let Some(name) = &catch.name {
                    self.scope.variable(&name.name, None, ty.unwrap_or(Ty::Hole), false);
                }
                let caught = self.block(&catch.body);
                self.scope.close();
                branches.push(self.scope.rewind(mark, caught == NEVER));
                Ty::union([value, caught])
            }
        };
        self.scope.merge(&branches);
        if inner.catch.is_none() {
            self.scope.forget(&assigned);
        }
        if let Some(finally) = &inner.finally {
            let is_left = self.block(finally) == NEVER;
            if inner.catch.is_none() {
                result = Ty::Hole;
            }
            if is_left {
                return NEVER;
            }
        }
        result
    }

    /// What `try` alone gives.
    fn result_of(&self, value: &Ty) -> Ty {
        match self.expand(&value.settled()) {
            Ty::User(RESULT, _) => value.clone(),
            value if value.is_open() || value == NEVER || value.has_hole() => Ty::User(RESULT, None),
            value => Ty::user(RESULT, vec![value, Ty::Hole]).fresh(),
        }
    }

    pub(super) fn parallel(&mut self, inner: &'a Parallel) -> Ty {
        let source = self.infer(&inner.source);
        if let Some(limit) = &inner.max_concurrent {
            let actual = self.infer(limit);
            if !self.fits(&actual, &INT) {
                let shown = self.show_out(&actual);
                let message = format!("`max_concurrent` on `parallel` must be int, got {shown}");
                self.say_with(
                    Code::TypeMismatch,
                    limit.span,
                    message,
                    "give how many tasks may run at a time",
                );
            }
        }
        let item = match inner.kind {
            ParallelKind::Count => INT,
            _ => self.item_of(&source),
        };
        self.task(inner.param.as_ref().map(|param| (param, item)), &inner.body);
        match inner.kind {
            ParallelKind::Count | ParallelKind::Each => LIST,
            ParallelKind::EachAsStream => Ty::Basic("Stream", None),
            ParallelKind::Settle => DICT,
        }
    }
}
