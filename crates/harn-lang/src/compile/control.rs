//! `if`, `try`, `retry`, `deadline`, `mutex`, `parallel` and `select`.

use super::function::Cleanup;
use super::*;
use crate::builtins;
use crate::syntax::ast::*;

impl<'a> Compiler<'a> {
    /// Its value goes to `dst`, if anybody wants it.
    pub(crate) fn if_(&mut self, inner: &'a If, dst: Option<Reg>) {
        let mut inner = inner;
        let mut ends = Vec::new();
        loop {
            let no = self.branch_unless(&inner.condition);
            self.block(&inner.then, dst);
            if dst.is_some() || inner.otherwise.is_some() {
                ends.push(self.state().jump());
            }
            self.land_all(no);
            match &inner.otherwise {
                Some(Else::If(Expr { kind: ExprKind::If(next), .. })) => inner = next,
                Some(Else::If(other)) => {
                    let into = dst.unwrap_or_else(|| self.state().take_register());
                    self.expr(other, into);
                    break;
                }
                Some(Else::Block(block)) => {
                    self.block(block, dst);
                    break;
                }
                None => {
                    dst.into_iter().for_each(|dst| self.load(Value::Nil, dst));
                    break;
                }
            }
        }
        self.land_all(ends);
    }

    pub(crate) fn try_(&mut self, inner: &'a Try, dst: Reg) {
        let mark = self.state().next;
        let out = self.state().take_register();
        match &inner.finally {
            Some(finally) => {
                let error = self.state().take_register();
                let guard = self.emit(Op::Guard { dst: error, to: 0 });
                self.state().cleanups.push(Cleanup::Run(finally));
                self.try_catch(inner, out);
                self.state().cleanups.pop();
                self.emit(Op::Unguard);
                self.block(finally, None);
                let end = self.state().jump();
                self.state().land(guard);
                self.state().cleanups.push(Cleanup::Forget);
                self.block(finally, None);
                self.state().cleanups.pop();
                self.emit(Op::Rethrow);
                self.state().land(end);
            }
            None => self.try_catch(inner, out),
        }
        self.emit(Op::Take { dst, src: out });
        self.state().release(mark);
    }

    fn try_catch(&mut self, inner: &'a Try, out: Reg) {
        if inner.catch.is_none() && inner.finally.is_some() {
            return self.block(&inner.body, Some(out));
        }
        let mark = self.state().next;
        let error = self.state().take_register();
        let guard = self.emit(Op::Guard { dst: error, to: 0 });
        self.state().cleanups.push(Cleanup::Unguard);
        self.block(&inner.body, Some(out));
        if inner.catch.is_none() {
            self.emit(Op::Wrap { dst: out, src: out });
        }
        self.state().cleanups.pop();
        self.emit(Op::Unguard);
        let end = self.state().jump();
        self.state().land(guard);
        match &inner.catch {
            Some(catch) => self.catch(catch, error, out),
            None => {
                self.emit(Op::Forget);
                let shape = self.variant(&"Result".into(), &"Err".into(), 1);
                self.emit(Op::Variant { dst: out, start: error, shape });
            }
        }
        self.state().land(end);
        self.state().release(mark);
    }

    fn catch(&mut self, catch: &'a Catch, error: Reg, out: Reg) {
        if let Some(TypeKind::Name { name, .. }) = catch.ty.as_ref().map(|ty| &ty.kind) {
            let name = self.name(name);
            self.emit(Op::CatchOnly { src: error, name });
        }
        self.emit(Op::Forget);
        self.state().open();
        if let Some(name) = &catch.name {
            let held = self.declare(&name.name, false);
            self.emit(Op::Take { dst: held, src: error });
        }
        self.block(&catch.body, Some(out));
        self.state().close();
    }

    /// The last error is thrown on; a success has no value.
    pub(crate) fn retry(&mut self, count: &'a Expr, body: &'a Block, dst: Reg) {
        let mark = self.state().next;
        let limit = self.temp(count);
        let tried = self.state().take_register();
        let error = self.state().take_register();
        self.load(Value::Int(0), tried);
        self.emit(Op::TestLess { a: tried, b: limit });
        let never = self.state().jump();
        let again = self.state().here();
        let guard = self.emit(Op::Guard { dst: error, to: 0 });
        self.state().cleanups.push(Cleanup::Unguard);
        self.block(body, None);
        self.state().cleanups.pop();
        self.emit(Op::Unguard);
        let end = self.state().jump();
        self.state().land(guard);
        self.emit(Op::AddInt { dst: tried, a: tried, value: 1 });
        self.emit(Op::TestLess { a: tried, b: limit });
        let give_up = self.state().jump();
        self.emit(Op::Forget);
        self.emit(Op::Jump { to: again });
        self.state().land(give_up);
        self.emit(Op::Rethrow);
        self.state().land(end);
        self.state().land(never);
        self.load(Value::Nil, dst);
        self.state().release(mark);
    }

    pub(crate) fn deadline(&mut self, limit: &'a Expr, body: &'a Block, dst: Reg) {
        let mark = self.state().next;
        let src = self.temp(limit);
        let out = self.state().take_register();
        self.emit(Op::Deadline { src });
        self.state().cleanups.push(Cleanup::EndDeadline);
        self.block(body, Some(out));
        self.state().cleanups.pop();
        self.emit(Op::EndDeadline);
        self.emit(Op::Take { dst, src: out });
        self.state().release(mark);
    }

    pub(crate) fn mutex(&mut self, body: &'a Block) {
        let mark = self.state().next;
        let permit = self.state().take_register();
        let error = self.state().take_register();
        let key = self.state().take_register();
        self.load(Value::str("__default__"), key);
        self.builtin("sync_mutex_acquire", permit, key, 1);
        self.state().release(key);
        let guard = self.emit(Op::Guard { dst: error, to: 0 });
        self.state().cleanups.push(Cleanup::Release(permit));
        self.state().cleanups.push(Cleanup::Unguard);
        self.block(body, None);
        self.state().cleanups.pop();
        self.state().cleanups.pop();
        self.emit(Op::Unguard);
        self.release_permit(permit);
        let end = self.state().jump();
        self.state().land(guard);
        self.release_permit(permit);
        self.emit(Op::Rethrow);
        self.state().land(end);
        self.state().release(mark);
    }

    pub(crate) fn release_permit(&mut self, permit: Reg) {
        let mark = self.state().next;
        let start = self.state().take_register();
        self.emit(Op::Move { dst: start, src: permit });
        self.builtin("sync_release", start, start, 1);
        self.state().release(mark);
    }

    /// Calls a builtin that the language itself relies on.
    pub(crate) fn builtin(&mut self, name: &str, dst: Reg, start: Reg, count: u8) {
        match (self.prelude.get(name), builtins::find(name)) {
            (Some(function), _) => {
                let function = *function;
                self.emit(Op::CallFunction { dst, start, function, count });
            }
            (None, Some(builtin)) => {
                self.emit(Op::CallBuiltin { dst, start, builtin, count });
            }
            (None, None) => self.fail(format!("Undefined builtin: {name}")),
        }
    }

    /// The work of `parallel` is done in the prelude: it starts a task for each item and waits for them.
    pub(crate) fn parallel(&mut self, inner: &'a Parallel, dst: Reg) {
        let mark = self.state().next;
        let start = self.state().take_registers(3);
        self.expr(&inner.source, start);
        match &inner.max_concurrent {
            Some(limit) => self.expr(limit, start + 2),
            None => self.load(Value::Int(0), start + 2),
        }
        let params: Vec<Name> = inner.param.iter().map(|param| param.name.clone()).collect();
        self.closure_with("parallel", params, &inner.body, start + 1);
        let name = match inner.kind {
            ParallelKind::Count => "__parallel_count",
            ParallelKind::Each => "__parallel_each",
            ParallelKind::EachAsStream => "__parallel_stream",
            ParallelKind::Settle => "__parallel_settle",
        };
        self.builtin(name, dst, start, 3);
        self.state().release(mark);
    }

    pub(crate) fn select(&mut self, select: &'a Select) {
        let mark = self.state().next;
        let start = self.state().take_registers(3);
        self.emit(Op::List { dst: start, start, count: 0 });
        for case in &select.cases {
            let mark = self.state().next;
            let src = self.operand(&case.channel);
            self.emit(Op::Push { list: start, src });
            self.state().release(mark);
        }
        match &select.timeout {
            Some((limit, _)) => self.expr(limit, start + 1),
            None => self.load(Value::Nil, start + 1),
        }
        self.load(Value::Bool(select.default.is_some()), start + 2);
        let chosen = self.state().take_register();
        self.builtin("__select", chosen, start, 3);
        // What was received and from which: a pair of an index and a value.
        let index = self.state().take_register();
        let name = self.name("index");
        self.emit(Op::Field { dst: index, object: chosen, name });
        let mut ends = Vec::new();
        for (at, case) in select.cases.iter().enumerate() {
            let wanted = self.state().take_register();
            self.load(Value::Int(at as i64), wanted);
            self.emit(Op::TestEqual { a: index, b: wanted });
            let other = self.state().jump();
            self.state().release(wanted);
            self.state().open();
            let value = self.declare(&case.name.name, false);
            let name = self.name("value");
            self.emit(Op::Field { dst: value, object: chosen, name });
            self.block(&case.body, None);
            self.state().close();
            ends.push(self.state().jump());
            self.state().land(other);
        }
        let otherwise = select.timeout.as_ref().map(|(_, block)| block).or(select.default.as_ref());
        if let Some(block) = otherwise {
            self.block(block, None);
        }
        self.land_all(ends);
        self.state().release(mark);
    }
}
