//! The types of expressions. Every expression is looked at once, and its parts with it.

use super::Checker;
use super::scope::SymbolKind;
use super::ty::{BOOL, CLOSURE, DICT, FLOAT, Field, INT, LIST, NEVER, NIL, RESULT, STRING, Ty};
use crate::builtins;
use crate::problem::Code;
use crate::syntax::ast::{Element, Entry, Expr, ExprKind, Name, StrPart, UnaryOp};
use crate::syntax::span::Span;
use hashbrown::HashSet;

/// Dicts with more entries are data, not shapes.
const MAX_FIELDS: usize = 200;

impl<'a> Checker<'a> {
    pub(super) fn infer(&mut self, expr: &'a Expr) -> Ty {
        match &expr.kind {
            ExprKind::Nil => NIL,
            ExprKind::Bool(_) => BOOL,
            ExprKind::Int(_) => INT,
            ExprKind::Float(_) => FLOAT,
            ExprKind::Duration(_) => Ty::Basic("duration", None),
            ExprKind::Str(_) => STRING,
            ExprKind::Interpolated(parts) => {
                for part in parts {
                    if let StrPart::Expr(inner) = part {
                        self.infer(inner);
                    }
                }
                STRING
            }
            ExprKind::Name(name) => self.name(name, expr.span),
            ExprKind::Paren(inner) => self.infer(inner),
            ExprKind::List(items) => self.list(items),
            ExprKind::Dict(entries) => self.dict(entries),
            ExprKind::Closure(closure) | ExprKind::Lambda(closure) => self.closure(closure),
            ExprKind::Unary { op, operand } => {
                let ty = self.infer(operand);
                match (op, &ty) {
                    (UnaryOp::Not, _) => BOOL,
                    (UnaryOp::Negate, Ty::Basic("int" | "float" | "duration", _)) => ty,
                    (UnaryOp::Negate, _) => Ty::Hole,
                }
            }
            ExprKind::Binary { first, rest } => self.binary(first, rest),
            ExprKind::Range { start, end, .. } => {
                self.infer(start);
                self.infer(end);
                Ty::Basic("range", None)
            }
            ExprKind::Ternary { condition, then, otherwise } => self.ternary(condition, then, otherwise),
            ExprKind::Field { object, name, optional } => self.field(expr, object, name, *optional),
            ExprKind::Index { object, index, .. } => {
                let object = self.infer(object);
                self.infer(index);
                self.item_at(&object, index)
            }
            ExprKind::Slice { object, start, end } => {
                let object = self.infer(object).settled();
                for bound in [start, end].into_iter().flatten() {
                    self.infer(bound);
                }
                match object {
                    Ty::Basic("string" | "list", _) => object,
                    _ => Ty::Hole,
                }
            }
            ExprKind::Call { callee, type_args, args } => self.call(callee, type_args, args, expr.span),
            ExprKind::Method { object, method, args, optional } => {
                self.method(object, method, args, *optional)
            }
            ExprKind::Struct { name, fields } => self.struct_literal(name, fields),
            ExprKind::Propagate(inner) => {
                let inner = self.infer(inner).settled();
                match self.expand(&inner) {
                    Ty::User(RESULT, Some(args)) => args.items.first().cloned().unwrap_or(Ty::Hole),
                    _ => Ty::Hole,
                }
            }
            ExprKind::Spawn(body) => {
                self.task(None, body);
                Ty::Hole
            }
            ExprKind::If(inner) => self.if_(inner),
            ExprKind::Match(inner) => self.match_(inner),
            ExprKind::Retry { count, body } => {
                self.infer(count);
                let assigned = super::assigned::effects([body]).assigned;
                self.scope.forget(&assigned);
                self.block(body);
                self.scope.forget(&assigned);
                Ty::Hole
            }
            ExprKind::Parallel(inner) => self.parallel(inner),
            ExprKind::Deadline { limit, body } => {
                self.infer(limit);
                self.block(body)
            }
            ExprKind::Try(inner) => self.try_(inner),
            ExprKind::TryStar(inner) => self.infer(inner),
        }
    }

    fn name(&mut self, name: &Name, span: Span) -> Ty {
        if let Some(symbol) = self.scope.find(name) {
            return match &self.scope.symbols[symbol].kind {
                SymbolKind::Variable(_) => self.scope.current(symbol).unwrap_or(Ty::Hole),
                SymbolKind::Function(signature) => {
                    let is_known = signature.type_params.is_empty()
                        && signature.returns.is_some()
                        && signature
                            .params
                            .iter()
                            .all(|param| param.ty != Ty::Hole && !param.has_default && !param.is_rest);
                    match (&signature.returns, is_known) {
                        (Some(returns), true) => Ty::function(
                            signature.params.iter().map(|param| param.ty.clone()).collect(),
                            returns.clone(),
                        ),
                        _ => CLOSURE,
                    }
                }
                SymbolKind::Other => Ty::Hole,
            };
        }
        if builtins::find(name).is_some() {
            return match &**name {
                "pi" | "e" => FLOAT,
                _ => Ty::Hole,
            };
        }
        let is_piped = &**name == "_" && self.pipes > 0;
        if !is_piped && !self.is_known_elsewhere(name) {
            self.unknown_variable(name, span);
        }
        Ty::Hole
    }

    /// A type, a namespace of builtins, a global, or something that is bound later.
    pub(super) fn is_known_elsewhere(&self, name: &str) -> bool {
        const GLOBALS: [&str; 12] = [
            "pi",
            "e",
            "argv",
            "mcp",
            "skills",
            "stream",
            "event_log",
            "workflow",
            "harn",
            "prompt",
            "cwd",
            "__pipe",
        ];
        GLOBALS.contains(&name)
            || self.type_named(name).is_some()
            || self.type_params.iter().any(|param| **param == *name)
    }

    fn list(&mut self, items: &'a [Element]) -> Ty {
        let mut types: Vec<Ty> = Vec::new();
        let mut is_known = !items.is_empty();
        for item in items {
            match item {
                Element::Plain(item) => {
                    let ty = self.infer(item);
                    is_known &= !ty.has_hole() && ty != NEVER;
                    if is_known && !types.contains(&ty) && types.len() < 16 {
                        types.push(ty);
                    }
                }
                Element::Spread(item) => {
                    self.infer(item);
                    is_known = false;
                }
            }
        }
        if !is_known || types.len() >= 16 {
            return LIST;
        }
        Ty::list(Ty::union(types)).fresh()
    }

    fn dict(&mut self, entries: &'a [Entry]) -> Ty {
        let mut fields: Vec<Field> = Vec::new();
        let mut seen: HashSet<Name> = HashSet::new();
        let mut is_shape = !entries.is_empty() && entries.len() <= MAX_FIELDS;
        for entry in entries {
            match entry {
                Entry::Named { key, value } => {
                    let ty = self.infer(value);
                    let ty = if ty == NEVER { Ty::Hole } else { ty };
                    let name = key.name.clone();
                    if !is_shape {
                        continue;
                    }
                    if seen.insert(name.clone()) {
                        fields.push(Field { name, optional: false, ty });
                    } else if let Some(known) = fields.iter_mut().find(|field| field.name == name) {
                        known.ty = ty;
                    }
                }
                Entry::Computed { key, value } => {
                    self.infer(key);
                    self.infer(value);
                    is_shape = false;
                }
                Entry::Spread(value) => {
                    self.infer(value);
                    is_shape = false;
                }
            }
        }
        if is_shape { Ty::shape(fields) } else { DICT }
    }

    pub(super) fn warn_unknown_field(&mut self, span: Span, owner: &str, field: &str, known: &[&str]) {
        let near = crate::near::nearest(field, known.iter().copied());
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "it has no fields".to_owned(),
            None => format!("it has {}", known.join(", ")),
        };
        self.say_with(Code::UnknownField, span, format!("struct '{owner}' has no field '{field}'"), help);
    }
}
