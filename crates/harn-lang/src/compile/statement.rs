//! Blocks and statements.

use super::function::{Cleanup, Later, Loop};
use super::*;
use crate::syntax::ast::*;

impl<'a> Compiler<'a> {
    /// A block in a scope of its own; its last statement's value goes to `dst`, if anybody wants it.
    pub(crate) fn block(&mut self, block: &'a Block, dst: Option<Reg>) {
        self.state().open();
        self.statements(&block.body, dst);
        self.state().close();
    }

    pub(crate) fn statements(&mut self, body: &'a [Stmt], dst: Option<Reg>) {
        self.types_of_block(body);
        let mark = self.state().later.len();
        self.state().later.extend(functions_to_come(body));
        self.hoist(body);
        let last = body.len().saturating_sub(1);
        for (at, stmt) in body.iter().enumerate() {
            self.statement(stmt, dst.filter(|_| at == last));
        }
        self.state().later.truncate(mark);
        if let (Some(dst), true) = (dst, body.is_empty()) {
            self.load(Value::Nil, dst);
        }
    }

    /// A statement without a value leaves nil where one is wanted.
    pub(crate) fn statement(&mut self, stmt: &'a Stmt, dst: Option<Reg>) {
        self.state().at(stmt.span.start);
        if let StmtKind::Expr(expr) = &stmt.kind {
            if let (None, ExprKind::If(inner)) = (dst, &expr.kind) {
                return self.if_(inner, None);
            }
            let mark = self.state().next;
            let into = dst.unwrap_or_else(|| self.state().take_register());
            self.expr(expr, into);
            if dst.is_none() {
                self.state().release(mark);
            }
            return;
        }
        self.statement_kind(stmt);
        if let Some(dst) = dst {
            self.load(Value::Nil, dst);
        }
    }

    fn statement_kind(&mut self, stmt: &'a Stmt) {
        match &stmt.kind {
            StmtKind::Import(_) | StmtKind::Override { .. } | StmtKind::Expr(_) => {}
            StmtKind::Decl(decl) => self.declaration(decl),
            StmtKind::Bind { mutable, pattern, value, .. } => self.bind(*mutable, pattern, value),
            StmtKind::Assign { target, op, value } => self.assign(target, *op, value),
            StmtKind::For { pattern, source, body } => self.for_(pattern, source, body),
            StmtKind::While { condition, body } => self.while_(condition, body),
            StmtKind::Select(select) => self.select(select),
            StmtKind::Return(value) => self.return_(value.as_ref()),
            StmtKind::Throw(value) => {
                let mark = self.state().next;
                let src = self.operand(value);
                self.state().at(stmt.span.start);
                self.emit(Op::Throw { src });
                self.state().release(mark);
            }
            StmtKind::Yield(value) => self.yield_(value.as_ref()),
            StmtKind::Emit(value) => self.yield_(Some(value)),
            StmtKind::Break => self.leave_loop(stmt.span, true),
            StmtKind::Continue => self.leave_loop(stmt.span, false),
            StmtKind::Guard { condition, otherwise } => {
                let no = self.branch_unless(condition);
                let end = self.state().jump();
                self.land_all(no);
                self.block(otherwise, None);
                self.state().land(end);
            }
            StmtKind::Require { condition, message } => self.require(condition, message.as_ref()),
            StmtKind::Defer(body) => self.defer(body),
            StmtKind::Mutex(body) => self.mutex(body),
        }
    }

    fn return_(&mut self, value: Option<&'a Expr>) {
        let mark = self.state().next;
        let Some(value) = value else {
            self.leave(0);
            self.emit(Op::ReturnNil);
            return;
        };
        let free = self.state().cleanups.is_empty() && !self.state().has_defer;
        if free && matches!(value.kind, ExprKind::Name(_)) {
            let src = self.operand(value);
            self.emit(Op::Return { src });
            return self.state().release(mark);
        }
        let src = self.temp(value);
        if free
            && self.state().function.kind == crate::bytecode::FunctionKind::Plain
            && self.make_tail_call(src)
        {
            self.state().release(mark);
            return;
        }
        self.leave(0);
        self.emit(Op::Return { src });
        self.state().release(mark);
    }

    /// If the last instruction called something for this register, lets it take our place.
    fn make_tail_call(&mut self, value: Reg) -> bool {
        let tail = match self.state().function.code.last() {
            Some(Op::CallFunction { dst, start, function, count }) if *dst == value => {
                Op::TailFunction { start: *start, function: *function, count: *count }
            }
            Some(Op::Call { dst, start, callee, count }) if *dst == value => {
                Op::TailCall { start: *start, callee: *callee, count: *count }
            }
            Some(Op::Pipe { dst, start, callee }) if *dst == value => {
                Op::TailCall { start: *start, callee: *callee, count: 1 }
            }
            _ => return false,
        };
        if let Some(last) = self.state().function.code.last_mut() {
            *last = tail;
        }
        // What cannot be a tail call (a builtin in a variable) comes back with its value.
        self.emit(Op::Return { src: value });
        true
    }

    fn yield_(&mut self, value: Option<&'a Expr>) {
        let mark = self.state().next;
        let src = match value {
            Some(value) => self.temp(value),
            None => {
                let src = self.state().take_register();
                self.load(Value::Nil, src);
                src
            }
        };
        self.emit(Op::Yield { src });
        self.state().release(mark);
    }

    fn require(&mut self, condition: &'a Expr, message: Option<&'a Expr>) {
        let mark = self.state().next;
        let no = self.branch_unless(condition);
        let fine = self.state().jump();
        self.land_all(no);
        let src = self.state().take_register();
        match message {
            Some(message) => self.expr(message, src),
            None => self.load(Value::str("require condition failed"), src),
        }
        self.emit(Op::Throw { src });
        self.state().land(fine);
        self.state().release(mark);
    }

    /// The block stands here and is jumped over; it is run when the function ends.
    fn defer(&mut self, body: &'a Block) {
        let low = self.state().next;
        let start = self.emit(Op::Defer { to: 0, low });
        self.state().pinned = low;
        self.state().loops.iter_mut().for_each(|around| around.has_defer = true);
        let over = self.state().jump();
        self.state().land(start);
        // Its variables must not be those of code that runs before it.
        let cleanups = std::mem::take(&mut self.state().cleanups);
        self.block(body, None);
        self.state().cleanups = cleanups;
        self.emit(Op::EndDefer);
        self.state().land(over);
    }

    /// Undoes what is in place above so many cleanups, before the code is left.
    pub(crate) fn leave(&mut self, keep: usize) {
        let cleanups = self.state().cleanups.clone();
        for at in (keep..cleanups.len()).rev() {
            match &cleanups[at] {
                Cleanup::Unguard => {
                    self.emit(Op::Unguard);
                }
                Cleanup::Run(block) => {
                    self.emit(Op::Unguard);
                    self.state().cleanups.truncate(at);
                    self.block(block, None);
                }
                Cleanup::EndDeadline => {
                    self.emit(Op::EndDeadline);
                }
                Cleanup::Release(permit) => self.release_permit(*permit),
                Cleanup::Forget => {
                    self.emit(Op::Forget);
                }
            }
        }
        self.state().cleanups = cleanups;
    }

    /// At the end of a round, however it ends.
    fn keep_deferred(&mut self) {
        let around = self.state().loops.last().filter(|around| around.has_defer);
        if let Some(from) = around.map(|around| around.first) {
            self.emit(Op::KeepDeferred { from });
        }
    }

    fn leave_loop(&mut self, span: Span, is_break: bool) {
        let Some(depth) = self.state().loops.last().map(|inner| inner.cleanups) else {
            let word = if is_break { "break" } else { "continue" };
            return self.error(Code::Misplaced, span, format!("{word} outside of loop"));
        };
        self.leave(depth);
        self.keep_deferred();
        if is_break {
            let jump = self.state().jump();
            if let Some(inner) = self.state().loops.last_mut() {
                inner.breaks.push(jump);
            }
        } else if let Some(start) = self.state().loops.last().map(|inner| inner.start) {
            self.emit(Op::Jump { to: start });
        }
    }

    fn for_(&mut self, pattern: &'a Pattern, source: &'a Expr, body: &'a Block) {
        let mark = self.state().next;
        let state = self.state().take_registers(2);
        if let ExprKind::Range { start, end, exclusive } = &source.kind {
            let (a, b) = (self.operand(start), self.operand(end));
            self.emit(Op::LoopRange { state, a, b, exclusive: *exclusive });
        } else {
            let src = self.temp(source);
            self.emit(Op::LoopOver { state, src });
        }
        self.state().release(state + 2);
        self.repeat(|compiler| {
            compiler.state().open();
            let place = compiler.state().next;
            let item = match pattern {
                Pattern::Name(name) => compiler.declare(&name.name, true),
                _ => compiler.state().take_register(),
            };
            debug_assert_eq!(item, place);
            compiler.emit(Op::Next { dst: item, state });
            let end = compiler.state().jump();
            if !matches!(pattern, Pattern::Name(_)) {
                compiler.destructure(pattern, item, true);
            }
            compiler.statements(&body.body, None);
            compiler.state().close();
            vec![end]
        });
        self.state().release(mark);
    }

    fn while_(&mut self, condition: &'a Expr, body: &'a Block) {
        self.repeat(|compiler| {
            let ends = compiler.branch_unless(condition);
            compiler.block(body, None);
            ends
        });
    }

    /// A loop around code that gives the jumps to its end.
    fn repeat(&mut self, body: impl FnOnce(&mut Self) -> Vec<usize>) {
        let (start, cleanups) = (self.state().here(), self.state().cleanups.len());
        let first = self.state().next;
        self.state().loops.push(Loop { breaks: Vec::new(), start, cleanups, first, has_defer: false });
        let ends = body(self);
        self.keep_deferred();
        self.emit(Op::Jump { to: start });
        self.land_all(ends);
        let breaks = self.state().loops.pop().map(|inner| inner.breaks).unwrap_or_default();
        self.land_all(breaks);
    }
}

/// The variables of a block that are bound to functions.
fn functions_to_come(body: &[Stmt]) -> impl Iterator<Item = Later> {
    body.iter().filter_map(|stmt| match &stmt.kind {
        StmtKind::Bind { pattern: Pattern::Name(name), value, .. }
            if matches!(value.kind, ExprKind::Closure(_) | ExprKind::Lambda(_)) =>
        {
            Some(Later { name: name.name.clone(), global: None })
        }
        _ => None,
    })
}
