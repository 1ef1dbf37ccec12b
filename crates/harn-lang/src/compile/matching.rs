//! `match`.

use super::*;
use crate::syntax::ast::*;

impl<'a> Compiler<'a> {
    pub(crate) fn match_(&mut self, inner: &'a Match, dst: Reg) {
        let (mark, place) = (self.state().next, self.state().place());
        let subject = self.temp(&inner.subject);
        let mut ends = Vec::new();
        for arm in &inner.arms {
            self.state().at(arm.span.start);
            self.state().open();
            let mut next = self.alternatives(&arm.patterns, subject);
            if let Some(guard) = &arm.guard {
                next.extend(self.branch_unless(guard));
            }
            self.block(&arm.body, Some(dst));
            self.state().close();
            ends.push(self.state().jump());
            self.land_all(next);
        }
        self.state().at(place);
        let src = self.state().take_register();
        self.load(Value::str("No match arm matched the value"), src);
        self.emit(Op::Throw { src });
        self.land_all(ends);
        self.state().release(mark);
    }

    /// The jumps that are taken when none of them matches.
    fn alternatives(&mut self, patterns: &'a [Expr], subject: Reg) -> Vec<usize> {
        let Some((last, others)) = patterns.split_last() else { return Vec::new() };
        let mut found = Vec::new();
        for pattern in others {
            let next = self.pattern(pattern, subject);
            found.push(self.state().jump());
            self.land_all(next);
        }
        let missed = self.pattern(last, subject);
        self.land_all(found);
        missed
    }

    /// The jumps that are taken when the value does not match.
    fn pattern(&mut self, pattern: &'a Expr, subject: Reg) -> Vec<usize> {
        match &pattern.kind {
            ExprKind::Paren(inner) => self.pattern(inner, subject),
            ExprKind::Name(name) if &**name == "_" => Vec::new(),
            ExprKind::Name(name) => {
                let held = self.declare(name, false);
                self.emit(Op::Move { dst: held, src: subject });
                Vec::new()
            }
            ExprKind::Field { object, name, optional: false }
                if self.variant_named(object, &name.name).is_some() =>
            {
                self.variant_pattern(object, name, &[], subject)
            }
            ExprKind::Method { object, method, args, optional: false }
                if self.variant_named(object, &method.name).is_some() =>
            {
                self.variant_pattern(object, method, args, subject)
            }
            ExprKind::Dict(entries) => self.dict_pattern(entries, subject),
            ExprKind::List(items) => self.list_pattern(items, subject),
            _ => self.equals(pattern, subject),
        }
    }

    fn equals(&mut self, pattern: &'a Expr, subject: Reg) -> Vec<usize> {
        let mark = self.state().next;
        let b = self.operand(pattern);
        self.emit(Op::TestEqual { a: subject, b });
        self.state().release(mark);
        vec![self.state().jump()]
    }

    fn variant_pattern(
        &mut self,
        object: &'a Expr,
        variant: &'a Ident,
        args: &'a [Element],
        subject: Reg,
    ) -> Vec<usize> {
        let ExprKind::Name(name) = &object.kind else { return Vec::new() };
        let shape = self.variant(name, &variant.name, 0);
        self.emit(Op::TestVariant { src: subject, shape });
        let mut missed = vec![self.state().jump()];
        for (at, arg) in args.iter().enumerate() {
            let (Element::Plain(arg) | Element::Spread(arg)) = arg;
            let index = u16::try_from(at).unwrap_or(u16::MAX);
            missed.extend(self.inner(arg, |dst| Op::VariantField { dst, src: subject, index }));
        }
        missed
    }

    fn dict_pattern(&mut self, entries: &'a [Entry], subject: Reg) -> Vec<usize> {
        self.emit(Op::TestDict { src: subject });
        let mut missed = vec![self.state().jump()];
        for entry in entries {
            if let Entry::Named { key, value } = entry {
                let name = self.name(&key.name);
                missed.extend(self.inner(value, |dst| Op::Field { dst, object: subject, name }));
            }
        }
        missed
    }

    /// At least so many items: what follows them does not matter, or is bound by `...rest` at the end.
    fn list_pattern(&mut self, items: &'a [Element], subject: Reg) -> Vec<usize> {
        let (items, rest) = match items.split_last() {
            Some((Element::Spread(rest), items)) => (items, Some(rest)),
            _ => (items, None),
        };
        let least = u16::try_from(items.len()).unwrap_or(u16::MAX);
        self.emit(Op::TestList { src: subject, least });
        let mut missed = vec![self.state().jump()];
        if let Some(rest) = rest {
            missed.extend(self.inner(rest, |dst| Op::RestOfList { dst, src: subject, from: least }));
        }
        for (at, item) in items.iter().enumerate() {
            let (Element::Plain(item) | Element::Spread(item)) = item;
            let index = self.state().take_register();
            self.load(Value::Int(at as i64), index);
            missed.extend(self.inner(item, |dst| Op::Index { dst, object: subject, index }));
        }
        missed
    }

    /// A part of the value: a name takes it, `_` skips it, anything else is matched in turn.
    fn inner(&mut self, pattern: &'a Expr, fetch: impl Fn(Reg) -> Op) -> Vec<usize> {
        if let ExprKind::Name(name) = &pattern.kind {
            if &**name != "_" {
                let held = self.declare(name, false);
                self.emit(fetch(held));
            }
            return Vec::new();
        }
        let held = self.state().take_register();
        self.emit(fetch(held));
        self.pattern(pattern, held)
    }
}
