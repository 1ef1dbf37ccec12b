//! What a condition tells about variables, when it holds and when it does not.

use super::Checker;
use super::decls::Kind;
use super::scope::SymbolId;
use super::ty::{BASIC, Field, NEVER, NIL, Ty};
use crate::syntax::ast::{BinaryOp, Element, Expr, ExprKind, Name, UnaryOp};

/// A variable, or a field of one, is of this type.
#[derive(Clone)]
pub struct Fact {
    symbol: SymbolId,
    path: Vec<Name>,
    ty: Ty,
}

impl Fact {
    fn is_about(&self, other: &Fact) -> bool {
        self.symbol == other.symbol && self.path == other.path
    }
}

/// What is known when a condition holds, and when it does not.
#[derive(Default)]
pub struct Outcomes {
    pub yes: Vec<Fact>,
    pub no: Vec<Fact>,
}

impl Outcomes {
    fn of(mut facts: impl FnMut(bool) -> Vec<Fact>) -> Self {
        Self { yes: facts(true), no: facts(false) }
    }

    fn flipped(self) -> Self {
        Self { yes: self.no, no: self.yes }
    }
}

impl<'a> Checker<'a> {
    pub(super) fn apply(&mut self, facts: Vec<Fact>) {
        for fact in facts {
            self.scope.narrow(fact.symbol, &fact.path, fact.ty);
        }
    }

    pub(super) fn facts(&mut self, condition: &Expr, holds: bool) -> Vec<Fact> {
        let outcomes = self.outcomes(condition);
        if holds { outcomes.yes } else { outcomes.no }
    }

    /// Both at once: asking for each in turn would take twice as long at every level of a nested condition.
    pub(super) fn outcomes(&mut self, condition: &Expr) -> Outcomes {
        match &condition.kind {
            ExprKind::Paren(inner) => self.outcomes(inner),
            ExprKind::Unary { op: UnaryOp::Not, operand } => self.outcomes(operand).flipped(),
            ExprKind::Binary { first, rest } => match &rest[..] {
                [(BinaryOp::And, _), ..] => self.of_chain(first, rest, true),
                [(BinaryOp::Or, _), ..] => self.of_chain(first, rest, false),
                [(BinaryOp::Equal, other)] => Outcomes::of(|holds| self.of_equal(first, other, holds)),
                [(BinaryOp::NotEqual, other)] => Outcomes::of(|holds| self.of_equal(first, other, !holds)),
                _ => Outcomes::default(),
            },
            ExprKind::Call { callee, args, .. } if matches!(&*callee.name, "schema_is" | "is_type") => {
                Outcomes::of(|holds| self.of_schema(args, holds))
            }
            ExprKind::Method { object, method, args, .. } if &*method.name == "has" => {
                Outcomes::of(|holds| self.of_has(object, args, holds))
            }
            ExprKind::Name(_) | ExprKind::Field { .. } => {
                Outcomes::of(|holds| self.of_truth(condition, holds))
            }
            _ => Outcomes::default(),
        }
    }

    /// `a && b` holds if all do; `a || b` does not if none does. Otherwise it is known only that one of them decided.
    fn of_chain(&mut self, first: &Expr, rest: &[(BinaryOp, Expr)], is_and: bool) -> Outcomes {
        let mark = self.scope.mark();
        let mut all: Vec<Fact> = Vec::new();
        let mut decided: Option<Vec<Fact>> = None;
        for operand in std::iter::once(first).chain(rest.iter().map(|(_, operand)| operand)) {
            let outcomes = self.outcomes(operand);
            let (goes_on, decides) =
                if is_and { (outcomes.yes, outcomes.no) } else { (outcomes.no, outcomes.yes) };
            decided = Some(match decided {
                None => decides,
                Some(before) => either(&before, &decides),
            });
            all.extend(goes_on.iter().cloned());
            self.apply(goes_on);
        }
        self.scope.rewind(mark, true);
        let decided = decided.unwrap_or_default();
        if is_and { Outcomes { yes: all, no: decided } } else { Outcomes { yes: decided, no: all } }
    }

    /// The type of a place, if anything is known about it.
    fn known_place(&self, expr: &Expr) -> Option<(SymbolId, Vec<Name>, Ty)> {
        let (symbol, path) = self.place(expr)?;
        let ty = self.expand(&self.place_type(symbol, &path));
        (!ty.is_open()).then_some((symbol, path, ty))
    }

    fn of_truth(&mut self, expr: &Expr, holds: bool) -> Vec<Fact> {
        let Some((symbol, path, ty)) = self.known_place(expr) else { return Vec::new() };
        let narrowed = if holds {
            present(&ty)
        } else {
            let kept = ty.without(|member| self.is_always_true(member));
            if kept == NEVER { ty.clone() } else { kept }
        };
        changed(symbol, path, &ty, narrowed)
    }

    fn is_always_true(&self, ty: &Ty) -> bool {
        match ty {
            Ty::Function(_) => true,
            Ty::User(id, _) => matches!(self.decls[*id].kind, Kind::Struct(_) | Kind::Enum(_)),
            Ty::Str(text) => !text.is_empty(),
            Ty::Int(value) => *value != 0,
            _ => false,
        }
    }

    fn of_equal(&mut self, left: &Expr, right: &Expr, holds: bool) -> Vec<Fact> {
        if let Some(literal) = literal(right) {
            return self.of_literal(left, &literal, holds);
        }
        match literal(left) {
            Some(literal) => self.of_literal(right, &literal, holds),
            None => Vec::new(),
        }
    }

    /// What `subject == literal` tells. A pattern of a `match` tells the same.
    pub(super) fn of_literal(&mut self, subject: &Expr, literal: &Ty, holds: bool) -> Vec<Fact> {
        match &subject.kind {
            ExprKind::Paren(inner) => return self.of_literal(inner, literal, holds),
            ExprKind::Call { callee, args, .. } if &*callee.name == "type_of" => {
                return match (&args[..], literal) {
                    ([Element::Plain(of)], Ty::Str(name)) => self.of_type(of, name, holds),
                    _ => Vec::new(),
                };
            }
            _ => {}
        }
        let mut facts = Vec::new();
        if let ExprKind::Field { object, name, .. } = &subject.kind {
            facts.extend(self.of_tag(object, &name.name, literal, holds));
        }
        let Some((symbol, path, ty)) = self.known_place(subject) else { return facts };
        let narrowed = match (literal, holds) {
            (&NIL, true) if ty.members().contains(&NIL) || ty == super::ty::UNKNOWN => NIL,
            (&NIL, true) => ty.clone(),
            (&NIL, false) => present(&ty),
            (literal, true) => {
                let kept = ty.without(|member| member != literal);
                if kept == NEVER { ty.clone() } else { kept }
            }
            (literal, false) => ty.without(|member| member == literal),
        };
        facts.extend(changed(symbol, path, &ty, narrowed));
        facts
    }

    /// `m.kind == "a"`: which of several shapes it is.
    fn of_tag(&mut self, object: &Expr, field: &Name, literal: &Ty, holds: bool) -> Vec<Fact> {
        let Some((symbol, path, ty)) = self.known_place(object) else { return Vec::new() };
        let tag = |member: &Ty| match member {
            Ty::Shape(_) | Ty::User(..) => Some(self.expand(&self.field_of(member, field, false))),
            _ => None,
        };
        let narrowed = ty.without(|member| match (tag(member), holds) {
            (Some(tag @ (Ty::Str(_) | Ty::Int(_))), true) => tag != *literal,
            (Some(tag), false) => tag == *literal,
            _ => false,
        });
        if narrowed == NEVER && holds {
            return Vec::new();
        }
        changed(symbol, path, &ty, narrowed)
    }

    /// `type_of(x) == "string"`.
    fn of_type(&mut self, of: &Expr, name: &str, holds: bool) -> Vec<Fact> {
        let Some((symbol, path, ty)) = self.known_place(of) else { return Vec::new() };
        let narrowed = match (&ty, holds) {
            (Ty::Basic("unknown", _), true) => match BASIC.iter().find(|basic| **basic == name) {
                Some(basic) => Ty::Basic(basic, None),
                None => Ty::Hole,
            },
            (Ty::Basic("unknown", _), false) => ty.clone(),
            (_, true) => {
                let kept = ty.without(|member| self.kind_of(member).is_some_and(|kind| kind != name));
                if kept == NEVER { Ty::Hole } else { kept }
            }
            (_, false) => ty.without(|member| self.kind_of(member) == Some(name)),
        };
        changed(symbol, path, &ty, narrowed)
    }

    /// What `type_of` says about values of a type; none if it may say different things.
    pub(super) fn kind_of(&self, ty: &Ty) -> Option<&'static str> {
        Some(match self.expand(ty) {
            Ty::Basic(name, _) => match name {
                "any" | "unknown" | "never" | "closure" | "Schema" => return None,
                "Generator" => "generator",
                "Stream" => "stream",
                "Iter" => "iter",
                "Pair" => "pair",
                other => other,
            },
            Ty::Str(_) => "string",
            Ty::Int(_) => "int",
            // A struct may be where a shape is wanted.
            Ty::Shape(_) => "dict",
            Ty::Function(_) => "closure",
            Ty::User(id, _) => match self.decls[id].kind {
                Kind::Struct(_) | Kind::Interface(_) => "struct",
                Kind::Enum(_) => "enum",
                _ => return None,
            },
            _ => return None,
        })
    }

    /// `schema_is(x, T)`.
    fn of_schema(&mut self, args: &[Element], holds: bool) -> Vec<Fact> {
        let [Element::Plain(of), Element::Plain(schema), ..] = args else { return Vec::new() };
        let (Some((symbol, path)), Some(wanted)) = (self.place(of), self.type_mentioned(schema)) else {
            return Vec::new();
        };
        let ty = self.expand(&self.place_type(symbol, &path));
        let whole = self.expand(&wanted);
        let narrowed = if holds {
            wanted
        } else {
            ty.without(|member| *member == wanted || whole.members().contains(member))
        };
        if !holds && ty.is_open() {
            return Vec::new();
        }
        vec![Fact { symbol, path, ty: narrowed }]
    }

    /// `x.has("k")`.
    fn of_has(&mut self, object: &Expr, args: &[Element], holds: bool) -> Vec<Fact> {
        let [Element::Plain(Expr { kind: ExprKind::Str(key), .. })] = args else { return Vec::new() };
        let Some((symbol, path, ty)) = self.known_place(object) else { return Vec::new() };
        let members = ty.members().iter().filter_map(|member| {
            let Ty::Shape(shape) = self.expand(member) else { return Some(member.clone()) };
            let field = shape.field(key);
            match (field, holds) {
                (Some(field), true) if field.optional => {
                    let fields = shape.fields.iter().map(|known| Field {
                        optional: known.optional && known.name != field.name,
                        ..known.clone()
                    });
                    Some(Ty::shape(fields.collect()))
                }
                (None, true) if ty.members().len() > 1 => None,
                (Some(field), false) if !field.optional && ty.members().len() > 1 => None,
                _ => Some(member.clone()),
            }
        });
        let narrowed = Ty::union(members);
        if narrowed == NEVER { Vec::new() } else { changed(symbol, path, &ty, narrowed) }
    }
}

/// Without nil; nothing is known about a value that was thought to be nothing but nil.
fn present(ty: &Ty) -> Ty {
    if *ty == NIL { Ty::Hole } else { ty.without(|member| *member == NIL) }
}

fn changed(symbol: SymbolId, path: Vec<Name>, before: &Ty, ty: Ty) -> Vec<Fact> {
    if *before == ty { Vec::new() } else { vec![Fact { symbol, path, ty }] }
}

/// The type of one value: a text, a number, or nil.
pub fn literal(expr: &Expr) -> Option<Ty> {
    Some(match &expr.kind {
        ExprKind::Paren(inner) => return literal(inner),
        ExprKind::Nil => NIL,
        ExprKind::Str(text) => Ty::Str(text.clone()),
        ExprKind::Int(value) => Ty::Int(*value),
        ExprKind::Unary { op: UnaryOp::Negate, operand } => match literal(operand)? {
            Ty::Int(value) => Ty::Int(value.wrapping_neg()),
            _ => return None,
        },
        _ => return None,
    })
}

/// What is known if one or the other holds.
pub fn either(one: &[Fact], other: &[Fact]) -> Vec<Fact> {
    let met = |fact: &Fact| {
        let found = other.iter().rev().find(|other| other.is_about(fact))?;
        Some(Fact { ty: Ty::union([fact.ty.clone(), found.ty.clone()]), ..fact.clone() })
    };
    one.iter().filter_map(met).collect()
}
