//! Bindings and assignments.

use super::names::Meaning;
use super::*;
use crate::syntax::ast::*;

/// Methods that give back a changed receiver and cannot fail: `xs = xs.push(x)` changes `xs` in place.
const IN_PLACE: [&str; 8] = ["push", "pop", "add", "remove", "merge", "sort", "reverse", "delete"];

impl<'a> Compiler<'a> {
    pub(crate) fn bind(&mut self, mutable: bool, pattern: &'a Pattern, value: &'a Expr) {
        match pattern {
            Pattern::Name(name) => {
                // The value may still refer to an outer variable of this name.
                let mark = self.state().next;
                let held = self.state().take_register();
                if matches!(value.kind, ExprKind::Closure(_) | ExprKind::Lambda(_))
                    && self.meaning(&name.name) == Meaning::Nothing
                {
                    self.itself = Some(name.name.clone());
                }
                self.expr(value, held);
                self.tell_callers(&name.name, held);
                self.introduce(name, mutable, held, mark);
            }
            _ => {
                let held = self.temp(value);
                self.destructure(pattern, held, mutable);
            }
        }
    }

    /// Functions that were made before this variable was bound find it where they look for it.
    fn tell_callers(&mut self, name: &str, held: Reg) {
        if !self.calls_later {
            return;
        }
        let known = self.state().later.iter().rev().find(|later| &*later.name == name);
        if let Some(index) = known.and_then(|later| later.global) {
            let src = self.state().take_register();
            self.emit(Op::Move { dst: src, src: held });
            self.emit(Op::SetGlobal { src, index });
            self.state().release(src);
        }
    }

    /// Makes a variable of a value in a register; where possible the register itself.
    pub(crate) fn introduce(&mut self, name: &Ident, mutable: bool, held: Reg, mark: Reg) {
        if &*name.name == "_" {
            return self.state().release(mark);
        }
        if let Some(Meaning::Global { index, .. }) = self.top_level_variable(&name.name) {
            self.emit(Op::SetGlobal { src: held, index });
            self.ahead.remove(&index);
            return self.state().release(mark);
        }
        if let Some((id, target)) = self.redeclared(name, mutable) {
            self.emit(Op::Take { dst: target, src: held });
            for (_, copy) in self.late_snapshots.extract_if(.., |(of, _)| *of == id).collect::<Vec<_>>() {
                if let Some(dst) = self.state().register_of(copy) {
                    self.emit(Op::Move { dst, src: target });
                }
            }
            return self.state().release(mark);
        }
        let id = self.new_id();
        let place = function::Place::Register(held);
        self.state().bind(Binding { id, name: name.name.clone(), place, mutable, is_ahead: false });
    }

    /// The variable of this name in the same scope, and its register: reserved ahead, or declared before.
    fn redeclared(&mut self, name: &Ident, mutable: bool) -> Option<(u32, Reg)> {
        let may_repeat = self.is_script_top();
        let known = self.state().find_here(&name.name)?;
        let function::Place::Register(register) = known.place else { return None };
        if known.is_ahead {
            known.is_ahead = false;
            known.mutable = mutable;
            return Some((known.id, register));
        }
        let id = known.id;
        let both_fixed = !known.mutable && !mutable;
        known.mutable = mutable;
        if both_fixed && !may_repeat {
            let message = format!(
                "Cannot redeclare immutable variable '{}' in the same scope (use 'var' for mutable bindings)",
                name.name
            );
            self.error(Code::Redeclared, name.span, message);
        }
        Some((id, register))
    }

    pub(crate) fn assign(&mut self, target: &'a Expr, op: Option<BinaryOp>, value: &'a Expr) {
        let target = match &target.kind {
            ExprKind::Paren(inner) => inner,
            _ => target,
        };
        let Some(root) = free::root(target) else {
            return self.error(
                Code::Syntax,
                target.span,
                "Only a variable, a field or an item can be assigned to",
            );
        };
        let mark = self.state().next;
        match self.meaning(root) {
            Meaning::Register { register, mutable: true } => {
                self.assign_register(register, target, op, value)
            }
            Meaning::Global { index, mutable: true } => {
                let held = self.state().take_register();
                self.emit(Op::Global { dst: held, index });
                self.assign_register(held, target, op, value);
                self.emit(Op::SetGlobal { src: held, index });
            }
            Meaning::Nothing => {
                let message = format!("Undefined variable: {root}{}", self.suggestion(root));
                self.fail(message);
            }
            _ => {
                // What is assigned is computed first, with its effects.
                self.temp(value);
                self.fail(format!("Cannot assign to immutable binding: {root}"));
            }
        }
        self.state().release(mark);
    }

    fn assign_register(&mut self, register: Reg, target: &'a Expr, op: Option<BinaryOp>, value: &'a Expr) {
        match &target.kind {
            ExprKind::Name(name) => self.assign_name(name, register, op, value),
            ExprKind::Field { object, name, .. } if matches!(object.kind, ExprKind::Name(_)) => {
                let field = self.name(&name.name);
                let src = self.new_value(target, op, value);
                self.state().at(target.span.start);
                self.emit(Op::SetField { object: register, name: field, src });
            }
            ExprKind::Index { object, index, .. } if matches!(object.kind, ExprKind::Name(_)) => {
                let index = self.operand(index);
                let src = self.new_value(target, op, value);
                self.state().at(target.span.start);
                self.emit(Op::SetIndex { object: register, index, src });
            }
            _ => self.assign_path(register, target, op, value),
        }
    }

    fn assign_name(&mut self, name: &Name, register: Reg, op: Option<BinaryOp>, value: &'a Expr) {
        match (op, &value.kind) {
            (Some(BinaryOp::Add), _) => {
                let b = self.operand(value);
                self.emit(Op::Append { dst: register, b });
            }
            (Some(op), _) => {
                if let Some(op) = expression::with_small_int(op, value, register, register) {
                    self.emit(op);
                    return;
                }
                let b = self.operand(value);
                self.operation(op, register, register, b);
            }
            // `x = x + y`
            (None, ExprKind::Binary { first, rest })
                if rest.len() == 1
                    && rest[0].0 == BinaryOp::Add
                    && matches!(&first.kind, ExprKind::Name(first) if first == name) =>
            {
                if let ExprKind::Int(value) = rest[0].1.kind
                    && let Ok(value) = i16::try_from(value)
                {
                    self.emit(Op::AddInt { dst: register, a: register, value });
                } else {
                    let b = self.operand(&rest[0].1);
                    self.emit(Op::Append { dst: register, b });
                }
            }
            // `xs = xs.push(y)`
            (None, ExprKind::Method { object, method, args, optional: false })
                if IN_PLACE.contains(&&*method.name)
                    && args.iter().all(|arg| matches!(arg, Element::Plain(_)))
                    && matches!(&object.kind, ExprKind::Name(object) if object == name) =>
            {
                let start = self.state().take_registers(1 + args.len());
                for (offset, arg) in args.iter().enumerate() {
                    let (Element::Plain(value) | Element::Spread(value)) = arg;
                    self.expr(value, after(start, 1 + offset));
                }
                let (name, count) = (self.name(&method.name), 1 + args.len() as u8);
                self.emit(Op::MethodInPlace { dst: register, start, name, count });
            }
            (None, ExprKind::Binary { rest, .. }) if rest.iter().all(|(op, _)| expression::is_plain(*op)) => {
                self.expr(value, register);
            }
            _ => {
                let held = self.state().take_register();
                self.expr(value, held);
                self.emit(Op::Take { dst: register, src: held });
            }
        }
    }

    /// What is assigned: the value, or what the operator makes of the old one and it.
    fn new_value(&mut self, target: &'a Expr, op: Option<BinaryOp>, value: &'a Expr) -> Reg {
        let Some(op) = op else { return self.temp(value) };
        let dst = self.temp(target);
        let b = self.operand(value);
        self.operation(op, dst, dst, b);
        dst
    }

    /// `a.b[c].d = v`: the keys one after the other, then one instruction that follows them.
    fn assign_path(&mut self, register: Reg, target: &'a Expr, op: Option<BinaryOp>, value: &'a Expr) {
        let mut keys = Vec::new();
        let mut at = target;
        loop {
            match &at.kind {
                ExprKind::Field { object, name, .. } => {
                    keys.push(Key::Field(name));
                    at = object;
                }
                ExprKind::Index { object, index, .. } => {
                    keys.push(Key::Index(index));
                    at = object;
                }
                ExprKind::Paren(inner) => at = inner,
                _ => break,
            }
        }
        keys.reverse();
        let fields: Option<Vec<&str>> = (keys.iter())
            .map(|key| match key {
                Key::Field(name) => Some(&*name.name),
                Key::Index(_) => None,
            })
            .collect();
        if let Some(keys) = fields.and_then(|fields| self.key_list(&fields)) {
            let src = self.new_value(target, op, value);
            self.emit(Op::SetFields { object: register, keys, src });
            return;
        }
        let path = self.state().take_registers(keys.len());
        for (offset, key) in keys.iter().enumerate() {
            let dst = after(path, offset);
            match key {
                Key::Field(name) => self.load(Value::str(&*name.name), dst),
                Key::Index(index) => self.expr(index, dst),
            }
        }
        let src = self.new_value(target, op, value);
        let Ok(count) = u8::try_from(keys.len()) else {
            return self.error(Code::TooLarge, target.span, "Too many fields in one assignment");
        };
        self.emit(Op::SetPath { object: register, path, src, count });
    }
}

enum Key<'a> {
    Field(&'a Ident),
    Index(&'a Expr),
}
