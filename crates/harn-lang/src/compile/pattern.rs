//! Patterns of `let`, `var` and `for`.

use super::*;
use crate::syntax::ast::*;

impl<'a> Compiler<'a> {
    /// Takes the value in a register apart into new variables.
    pub(crate) fn destructure(&mut self, pattern: &'a Pattern, src: Reg, mutable: bool) {
        match pattern {
            Pattern::Name(name) => {
                let mark = self.state().next;
                let held = self.state().take_register();
                self.emit(Op::Move { dst: held, src });
                self.introduce(name, mutable, held, mark);
            }
            Pattern::Dict { fields, rest, .. } => {
                self.emit(Op::WantDict { src });
                for field in fields {
                    let key = self.name(&field.key.name);
                    let name = field.alias.as_ref().unwrap_or(&field.key);
                    self.part(name, mutable, field.default.as_ref(), |dst| Op::Field {
                        dst,
                        object: src,
                        name: key,
                    });
                }
                if let Some(rest) = rest {
                    self.rest_of_dict(fields, rest, src, mutable);
                }
            }
            Pattern::List { items, rest, .. } => {
                self.emit(Op::WantList { src });
                for (at, (name, default)) in items.iter().enumerate() {
                    let index = self.state().take_register();
                    self.load(Value::Int(at as i64), index);
                    self.part(name, mutable, default.as_ref(), |dst| Op::Index { dst, object: src, index });
                }
                if let Some(rest) = rest {
                    let from = u16::try_from(items.len()).unwrap_or(u16::MAX);
                    self.part(rest, mutable, None, |dst| Op::RestOfList { dst, src, from });
                }
            }
            Pattern::Pair { first, second, .. } => {
                for (name, field) in [(first, "first"), (second, "second")] {
                    let field = self.name(field);
                    self.part(name, mutable, None, |dst| Op::Field { dst, object: src, name: field });
                }
            }
        }
    }

    /// One variable: what an instruction fetches, or its default where that is nil.
    fn part(&mut self, name: &'a Ident, mutable: bool, default: Option<&'a Expr>, fetch: impl Fn(Reg) -> Op) {
        let mark = self.state().next;
        let held = self.state().take_register();
        self.emit(fetch(held));
        if let Some(default) = default {
            let given = self.emit(Op::JumpUnlessNil { a: held, to: 0 });
            self.expr(default, held);
            self.state().land(given);
        }
        self.introduce(name, mutable, held, mark);
    }

    fn rest_of_dict(&mut self, fields: &'a [PatternField], rest: &'a Ident, src: Reg, mutable: bool) {
        let keys = self.state().take_register();
        let known = fields.iter().map(|field| Value::str(&*field.key.name)).collect();
        self.load(Value::list(known), keys);
        self.part(rest, mutable, None, |dst| Op::RestOfDict { dst, src, keys });
    }
}
