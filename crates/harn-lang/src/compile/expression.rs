//! Expressions.

use super::*;
use crate::syntax::ast::*;

impl<'a> Compiler<'a> {
    /// Computes an expression into a register of its own.
    pub(crate) fn temp(&mut self, expr: &'a Expr) -> Reg {
        let dst = self.state().take_register();
        // Operands are read before the result is written, so one of them may be where it goes.
        let is_shared = matches!(&expr.kind, ExprKind::Binary { rest, .. } if is_operation(rest));
        if is_shared {
            self.state().release(dst);
        }
        self.expr(expr, dst);
        if is_shared {
            self.state().take_register();
        }
        dst
    }

    /// The register that holds an expression: that of a variable, or a new one. Only to be read.
    pub(crate) fn operand(&mut self, expr: &'a Expr) -> Reg {
        match &expr.kind {
            ExprKind::Name(name) => match self.meaning(name) {
                names::Meaning::Register { register, .. } => register,
                _ => self.temp(expr),
            },
            ExprKind::Paren(inner) => self.operand(inner),
            _ => self.temp(expr),
        }
    }

    pub(crate) fn expr(&mut self, expr: &'a Expr, dst: Reg) {
        let place = self.state().place();
        self.state().at(expr.span.start);
        self.expr_kind(expr, dst);
        self.state().at(place);
    }

    fn expr_kind(&mut self, expr: &'a Expr, dst: Reg) {
        match &expr.kind {
            ExprKind::Nil => self.load(Value::Nil, dst),
            ExprKind::Bool(value) => self.load(Value::Bool(*value), dst),
            ExprKind::Int(value) => self.load(Value::Int(*value), dst),
            ExprKind::Float(value) => self.load(Value::Float(*value), dst),
            ExprKind::Duration(ms) => self.load(Value::Duration(*ms), dst),
            ExprKind::Str(text) => self.load(Value::str(&**text), dst),
            ExprKind::Interpolated(parts) => self.interpolated(parts, dst),
            ExprKind::Name(name) => self.read(&Ident { name: name.clone(), span: expr.span }, dst),
            ExprKind::Paren(inner) => self.expr(inner, dst),
            ExprKind::List(items) => self.list(items, dst),
            ExprKind::Dict(entries) => self.dict(entries, dst),
            ExprKind::Closure(closure) | ExprKind::Lambda(closure) => {
                self.closure("closure", &closure.params, &closure.body, dst);
            }
            ExprKind::Unary { op, operand } => self.unary(*op, operand, dst),
            ExprKind::Binary { first, rest } => self.binary(first, rest, dst),
            ExprKind::Range { start, end, exclusive } => {
                let mark = self.state().next;
                let (a, b) = (self.operand(start), self.operand(end));
                self.emit(if *exclusive {
                    Op::RangeExclusive { dst, a, b }
                } else {
                    Op::Range { dst, a, b }
                });
                self.state().release(mark);
            }
            ExprKind::Ternary { condition, then, otherwise } => {
                let no = self.branch_unless(condition);
                self.expr(then, dst);
                let end = self.state().jump();
                self.land_all(no);
                self.expr(otherwise, dst);
                self.state().land(end);
            }
            ExprKind::Field { object, name, optional } => self.field(object, name, *optional, dst),
            ExprKind::Index { object, index, optional } => {
                let mark = self.state().next;
                let (object, index) = (self.operand(object), self.operand(index));
                self.emit(match optional {
                    true => Op::IndexIfAny { dst, object, index },
                    false => Op::Index { dst, object, index },
                });
                self.state().release(mark);
            }
            ExprKind::Slice { object, start, end } => {
                let mark = self.state().next;
                let object = self.operand(object);
                let first = self.state().take_registers(2);
                for (offset, bound) in [start, end].into_iter().enumerate() {
                    match bound {
                        Some(bound) => self.expr(bound, after(first, offset)),
                        None => self.load(Value::Nil, after(first, offset)),
                    }
                }
                self.emit(Op::Slice { dst, object, start: first });
                self.state().release(mark);
            }
            ExprKind::Call { callee, args, .. } => self.call(callee, args, dst),
            ExprKind::Method { object, method, args, optional } => {
                self.method(object, method, args, *optional, dst);
            }
            ExprKind::Struct { name, fields } => self.structure(name, fields, dst),
            ExprKind::Propagate(inner) => self.propagate(inner, dst),
            ExprKind::Spawn(body) => {
                let mark = self.state().next;
                let closure = self.state().take_register();
                self.closure("spawn", &[], body, closure);
                self.emit(Op::Spawn { dst, closure });
                self.state().release(mark);
            }
            ExprKind::If(inner) => self.if_(inner, Some(dst)),
            ExprKind::Match(inner) => self.match_(inner, dst),
            ExprKind::Retry { count, body } => self.retry(count, body, dst),
            ExprKind::Parallel(inner) => self.parallel(inner, dst),
            ExprKind::Deadline { limit, body } => self.deadline(limit, body, dst),
            ExprKind::Try(inner) => self.try_(inner, dst),
            ExprKind::TryStar(inner) => {
                if self.stack.len() == 1 && !self.is_in_pipeline {
                    self.error(
                        Code::Misplaced,
                        expr.span,
                        "try* requires an enclosing function (fn, tool, or pipeline) so the rethrow has a target",
                    );
                }
                self.expr(inner, dst);
            }
        }
    }

    fn interpolated(&mut self, parts: &'a [StrPart], dst: Reg) {
        let mark = self.state().next;
        let start = self.state().take_registers(parts.len());
        for (offset, part) in parts.iter().enumerate() {
            match part {
                StrPart::Text(text) => self.load(Value::str(&**text), after(start, offset)),
                StrPart::Expr(inner) => self.expr(inner, after(start, offset)),
            }
        }
        self.emit(Op::Join { dst, start, count: u16::try_from(parts.len()).unwrap_or(u16::MAX) });
        self.state().release(mark);
    }

    /// A list in a register of its own, which becomes the destination at the end: the items may refer to what is
    /// there now.
    pub(crate) fn list(&mut self, items: &'a [Element], dst: Reg) {
        let mark = self.state().next;
        let is_plain = items.iter().all(|item| matches!(item, Element::Plain(_)));
        if is_plain && items.len() <= 64 {
            let start = self.state().take_registers(items.len());
            for (offset, item) in items.iter().enumerate() {
                let (Element::Plain(value) | Element::Spread(value)) = item;
                self.expr(value, after(start, offset));
            }
            self.emit(Op::List { dst, start, count: items.len() as u16 });
        } else {
            let list = self.state().take_register();
            self.emit(Op::List { dst: list, start: list, count: 0 });
            for item in items {
                let mark = self.state().next;
                match item {
                    Element::Plain(value) => {
                        let src = self.operand(value);
                        self.emit(Op::Push { list, src });
                    }
                    Element::Spread(value) => {
                        let src = self.operand(value);
                        self.emit(Op::PushAll { list, src });
                    }
                }
                self.state().release(mark);
            }
            self.emit(Op::Take { dst, src: list });
        }
        self.state().release(mark);
    }

    pub(crate) fn dict(&mut self, entries: &'a [Entry], dst: Reg) {
        let mark = self.state().next;
        let named = entries.iter().map(|entry| match entry {
            Entry::Named { key, value } => Some((&*key.name, value)),
            _ => None,
        });
        let named: Option<Vec<_>> = named.collect();
        let names = named.as_ref().map(|named| {
            let mut names: Vec<&str> = named.iter().map(|(name, _)| *name).collect();
            names.sort_unstable();
            names.dedup();
            names
        });
        if let (Some(named), Some(names)) = (named, names)
            && let Some(keys) = self.key_list(&names)
        {
            let start = self.state().take_registers(names.len());
            for (name, value) in named {
                let at = names.binary_search(&name).unwrap_or_default();
                self.expr_or_schema(name, value, after(start, at));
            }
            self.emit(Op::Dict { dst, start, keys });
        } else {
            let dict = self.state().take_register();
            self.emit(Op::EmptyDict { dst: dict });
            for entry in entries {
                self.dict_entry(dict, entry);
            }
            self.emit(Op::Take { dst, src: dict });
        }
        self.state().release(mark);
    }

    /// The number of a short list of keys that are written down.
    pub(crate) fn key_list(&mut self, names: &[&str]) -> Option<u16> {
        if names.is_empty() || names.len() > 32 {
            return None;
        }
        let texts: Vec<u32> = names.iter().map(|name| self.text(name)).collect();
        if let Some(known) = self.key_lists.get(&texts) {
            return Some(*known);
        }
        let number = u16::try_from(self.program.key_lists.len()).ok()?;
        let keys = texts.iter().filter_map(|text| match &self.program.constants[*text as usize] {
            Value::Str(key) => Some(Arc::clone(key)),
            _ => None,
        });
        self.program.key_lists.push(keys.collect());
        self.key_lists.insert(texts, number);
        Some(number)
    }

    fn dict_entry(&mut self, dict: Reg, entry: &'a Entry) {
        let mark = self.state().next;
        match entry {
            Entry::Named { key: name, value } => {
                let key = self.state().take_register();
                self.load(Value::str(&*name.name), key);
                let src = self.state().take_register();
                self.expr_or_schema(&name.name, value, src);
                self.emit(Op::Put { dict, key, src });
            }
            Entry::Computed { key, value } => {
                let (key, src) = (self.operand(key), self.operand(value));
                self.emit(Op::Put { dict, key, src });
            }
            Entry::Spread(value) => {
                let src = self.operand(value);
                self.emit(Op::PutAll { dict, src });
            }
        }
        self.state().release(mark);
    }

    /// `output_schema: T` takes the name of a type for the schema that it stands for.
    fn expr_or_schema(&mut self, key: &str, value: &'a Expr, dst: Reg) {
        match (key, &value.kind) {
            ("output_schema", ExprKind::Name(name)) if self.types.has_alias(name) => {
                let schema = self.schema_of_alias(name);
                self.load(schema, dst);
            }
            _ => self.expr(value, dst),
        }
    }

    fn structure(&mut self, name: &'a Ident, fields: &'a [Entry], dst: Reg) {
        let mark = self.state().next;
        let dict = self.state().take_register();
        self.dict(fields, dict);
        let name = self.name(&name.name);
        self.emit(Op::Struct { dst, fields: dict, name });
        self.state().release(mark);
    }

    fn unary(&mut self, op: UnaryOp, operand: &'a Expr, dst: Reg) {
        let mark = self.state().next;
        let a = self.operand(operand);
        self.emit(match op {
            UnaryOp::Not => Op::Not { dst, a },
            UnaryOp::Negate => Op::Negate { dst, a },
        });
        self.state().release(mark);
    }

    fn binary(&mut self, first: &'a Expr, rest: &'a [(BinaryOp, Expr)], dst: Reg) {
        match rest.first().map(|(op, _)| *op) {
            Some(BinaryOp::And | BinaryOp::Or) => return self.logical(first, rest, dst),
            Some(BinaryOp::Coalesce) => return self.coalesce(first, rest, dst),
            Some(BinaryOp::Pipe) => return self.pipes(first, rest, dst),
            _ => {}
        }
        let mark = self.state().next;
        // A block on the right may change the variable on the left, whose value is the one before.
        let is_changed = self.is_changing(first) && rest.iter().any(|(_, operand)| has_block(operand));
        let mut a = if is_changed { self.temp(first) } else { self.operand(first) };
        // One register for all results but the last, so that a chain may be of any length.
        let between = if rest.len() > 1 { self.state().take_register() } else { dst };
        for (at, (op, right)) in rest.iter().enumerate() {
            let inner = self.state().next;
            self.state().at(right.span.start);
            let into = if at + 1 == rest.len() { dst } else { between };
            if let Some(with_int) = with_small_int(*op, right, into, a) {
                self.emit(with_int);
            } else {
                let b = self.operand(right);
                self.operation(*op, into, a, b);
            }
            self.state().release(inner);
            a = into;
        }
        self.state().release(mark);
    }

    /// Whether an operand is read where a variable is that can change.
    fn is_changing(&self, expr: &Expr) -> bool {
        match &expr.kind {
            ExprKind::Name(name) => {
                matches!(self.meaning(name), names::Meaning::Register { mutable: true, .. })
            }
            ExprKind::Paren(inner) => self.is_changing(inner),
            _ => false,
        }
    }

    pub(crate) fn operation(&mut self, op: BinaryOp, dst: Reg, a: Reg, b: Reg) {
        let op = match op {
            BinaryOp::Add => Op::Add { dst, a, b },
            BinaryOp::Subtract => Op::Subtract { dst, a, b },
            BinaryOp::Multiply => Op::Multiply { dst, a, b },
            BinaryOp::Divide => Op::Divide { dst, a, b },
            BinaryOp::Modulo => Op::Modulo { dst, a, b },
            BinaryOp::Power => Op::Power { dst, a, b },
            BinaryOp::Equal => Op::Equal { dst, a, b },
            BinaryOp::NotEqual => Op::NotEqual { dst, a, b },
            BinaryOp::Less => Op::Less { dst, a, b },
            BinaryOp::LessEqual => Op::LessEqual { dst, a, b },
            BinaryOp::Greater => Op::Less { dst, a: b, b: a },
            BinaryOp::GreaterEqual => Op::LessEqual { dst, a: b, b: a },
            BinaryOp::In => Op::In { dst, a, b },
            BinaryOp::NotIn => {
                self.emit(Op::In { dst, a, b });
                Op::Not { dst, a: dst }
            }
            BinaryOp::And | BinaryOp::Or | BinaryOp::Coalesce | BinaryOp::Pipe => return,
        };
        self.emit(op);
    }

    /// Always a bool, never an operand.
    fn logical(&mut self, first: &'a Expr, rest: &'a [(BinaryOp, Expr)], dst: Reg) {
        let mut ends = Vec::new();
        let out = self.state().take_register();
        self.expr(first, out);
        for (op, right) in rest {
            let jump = match op {
                BinaryOp::And => Op::JumpUnless { a: out, to: 0 },
                _ => Op::JumpIf { a: out, to: 0 },
            };
            ends.push(self.emit(jump));
            self.expr(right, out);
        }
        self.land_all(ends);
        self.emit(Op::Truth { dst, a: out });
        self.state().release(out);
    }

    fn coalesce(&mut self, first: &'a Expr, rest: &'a [(BinaryOp, Expr)], dst: Reg) {
        let out = self.state().take_register();
        self.expr(first, out);
        let mut ends = Vec::new();
        for (_, right) in rest {
            ends.push(self.emit(Op::JumpUnlessNil { a: out, to: 0 }));
            self.expr(right, out);
        }
        self.land_all(ends);
        self.emit(Op::Take { dst, src: out });
        self.state().release(out);
    }

    /// Code that jumps when the condition is false; the jumps still need their target.
    pub(crate) fn branch_unless(&mut self, condition: &'a Expr) -> Vec<usize> {
        self.state().at(condition.span.start);
        let mark = self.state().next;
        let jumps = match &condition.kind {
            ExprKind::Paren(inner) => self.branch_unless(inner),
            ExprKind::Binary { first, rest } if rest.len() == 1 => {
                self.branch_unless_binary(condition, first, &rest[0])
            }
            ExprKind::Binary { first, rest } if rest.iter().all(|(op, _)| *op == BinaryOp::And) => {
                let mut jumps = self.branch_unless(first);
                for (_, operand) in rest {
                    jumps.extend(self.branch_unless(operand));
                }
                jumps
            }
            ExprKind::Unary { op: UnaryOp::Not, operand } => {
                let a = self.operand(operand);
                vec![self.emit(Op::JumpIf { a, to: 0 })]
            }
            _ => {
                let a = self.operand(condition);
                vec![self.emit(Op::JumpUnless { a, to: 0 })]
            }
        };
        self.state().release(mark);
        jumps
    }

    fn branch_unless_binary(
        &mut self,
        condition: &'a Expr,
        first: &'a Expr,
        (op, right): &'a (BinaryOp, Expr),
    ) -> Vec<usize> {
        if *op == BinaryOp::And {
            let mut jumps = self.branch_unless(first);
            jumps.extend(self.branch_unless(right));
            return jumps;
        }
        let comparison = matches!(
            op,
            BinaryOp::Equal
                | BinaryOp::NotEqual
                | BinaryOp::Less
                | BinaryOp::LessEqual
                | BinaryOp::Greater
                | BinaryOp::GreaterEqual
        );
        if !comparison {
            let a = self.temp(condition);
            return vec![self.emit(Op::JumpUnless { a, to: 0 })];
        }
        let a = self.operand(first);
        if let Some(value) = small_int(right)
            && let Some(test) = match op {
                BinaryOp::Less => Some(Op::TestLessInt { a, value }),
                BinaryOp::Greater => Some(Op::TestMoreInt { a, value }),
                BinaryOp::Equal => Some(Op::TestEqualInt { a, value }),
                _ => None,
            }
        {
            self.emit(test);
            return vec![self.state().jump()];
        }
        let b = self.operand(right);
        self.emit(match op {
            BinaryOp::Equal => Op::TestEqual { a, b },
            BinaryOp::NotEqual => Op::TestNotEqual { a, b },
            BinaryOp::Less => Op::TestLess { a, b },
            BinaryOp::LessEqual => Op::TestLessEqual { a, b },
            BinaryOp::Greater => Op::TestLess { a: b, b: a },
            _ => Op::TestLessEqual { a: b, b: a },
        });
        vec![self.state().jump()]
    }

    pub(crate) fn land_all(&mut self, jumps: Vec<usize>) {
        for jump in jumps {
            self.state().land(jump);
        }
    }

    fn field(&mut self, object: &'a Expr, name: &'a Ident, optional: bool, dst: Reg) {
        if let Some((of, variant)) = self.variant_named(object, &name.name) {
            let shape = self.variant(&of, &variant, 0);
            self.emit(Op::Variant { dst, start: dst, shape });
            return;
        }
        let mark = self.state().next;
        let object = self.operand(object);
        let name = self.name(&name.name);
        self.emit(match optional {
            true => Op::FieldIfAny { dst, object, name },
            false => Op::Field { dst, object, name },
        });
        self.state().release(mark);
    }

    /// The enum and the variant that `E.V` names, unless `E` is a variable here.
    pub(crate) fn variant_named(&mut self, object: &Expr, variant: &Name) -> Option<(Name, Name)> {
        let ExprKind::Name(name) = &object.kind else { return None };
        let is_enum = self.types.has_enum(name) || &**name == "Result";
        let is_variable = |meaning| {
            use names::Meaning::{Captured, Global, Register};
            matches!(meaning, Register { .. } | Captured { .. } | Global { .. })
        };
        (is_enum && !is_variable(self.meaning(name))).then(|| (name.clone(), variant.clone()))
    }

    fn propagate(&mut self, inner: &'a Expr, dst: Reg) {
        let mark = self.state().next;
        let src = self.temp(inner);
        self.emit(Op::Propagate { dst: src, src });
        // Taken where it is a failure, which then is what the function returns.
        let fine = self.state().jump();
        self.leave(0);
        self.emit(Op::Return { src });
        self.state().land(fine);
        self.emit(Op::Take { dst, src });
        self.state().release(mark);
    }
}

/// Whether statements are run while an expression is computed.
fn has_block(expr: &Expr) -> bool {
    let any = |items: &[Element]| {
        items.iter().any(|item| {
            let (Element::Plain(value) | Element::Spread(value)) = item;
            has_block(value)
        })
    };
    match &expr.kind {
        ExprKind::If(_)
        | ExprKind::Match(_)
        | ExprKind::Try(_)
        | ExprKind::Retry { .. }
        | ExprKind::Deadline { .. } => true,
        ExprKind::Paren(inner)
        | ExprKind::Unary { operand: inner, .. }
        | ExprKind::Field { object: inner, .. } => has_block(inner),
        ExprKind::Binary { first, rest } => {
            has_block(first) || rest.iter().any(|(_, operand)| has_block(operand))
        }
        ExprKind::Index { object, index, .. } => has_block(object) || has_block(index),
        ExprKind::Call { args, .. } | ExprKind::List(args) => any(args),
        ExprKind::Method { object, args, .. } => has_block(object) || any(args),
        _ => false,
    }
}

/// A number that is written in the program and fits into an instruction.
pub(crate) fn small_int(expr: &Expr) -> Option<i16> {
    match expr.kind {
        ExprKind::Int(value) => i16::try_from(value).ok(),
        _ => None,
    }
}

/// The instruction for an operator with such a number on its right, if there is one.
pub(crate) fn with_small_int(op: BinaryOp, right: &Expr, dst: Reg, a: Reg) -> Option<Op> {
    let value = small_int(right)?;
    match op {
        BinaryOp::Add => Some(Op::AddInt { dst, a, value }),
        BinaryOp::Subtract => Some(Op::SubtractInt { dst, a, value }),
        BinaryOp::Modulo => Some(Op::ModuloInt { dst, a, value }),
        BinaryOp::Equal => Some(Op::EqualInt { dst, a, value }),
        _ => None,
    }
}

/// Operators whose instruction writes its result last of all, so that it may go where an operand is.
pub(crate) fn is_plain(op: BinaryOp) -> bool {
    !matches!(op, BinaryOp::And | BinaryOp::Or | BinaryOp::Coalesce | BinaryOp::Pipe | BinaryOp::NotIn)
}

/// Whether all operands are computed before the result, other than with `&&` and its like.
fn is_operation(rest: &[(BinaryOp, Expr)]) -> bool {
    use BinaryOp::{And, Coalesce, Or, Pipe};
    !matches!(rest, [(And | Or | Coalesce | Pipe, _), ..])
}
