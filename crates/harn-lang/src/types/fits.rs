//! Whether a value of one type may be where another is wanted.

use super::Checker;
use super::decls::Kind;
use super::expand::{bindings, substitute};
use super::ty::{DeclId, FLOAT, Field, Holder, INT, NEVER, NIL, Shape, Ty, UNKNOWN};
use crate::syntax::ast::Variance;

/// So many comparisons for one question; whoever asks for more gets the benefit of the doubt.
pub const BUDGET: u32 = 20_000;
/// And so many for a program; after that nothing is compared any more.
pub const TOTAL: u64 = 50_000_000;
const MAX_DEPTH: u32 = 60;

impl Checker<'_> {
    pub(super) fn fits(&self, actual: &Ty, expected: &Ty) -> bool {
        self.budget.set(BUDGET);
        self.fit(actual, expected, 0)
    }

    /// Whether there is something left to spend on the question at hand.
    pub(super) fn spend(&self) -> bool {
        let left = self.budget.get();
        self.budget.set(left.saturating_sub(1));
        left > 0 && self.charge(1)
    }

    fn charge(&self, units: usize) -> bool {
        let left = self.total.get();
        self.total.set(left.saturating_sub(units as u64));
        left > 0
    }

    pub(super) fn fit(&self, actual: &Ty, expected: &Ty, depth: u32) -> bool {
        if depth > MAX_DEPTH || !self.spend() || actual.is_open() || expected.is_open() || *actual == NEVER {
            return true;
        }
        let (holder, actual) = match actual {
            Ty::Loose(inner, holder) => (Some(*holder), self.expand(inner)),
            other => (None, self.expand(other)),
        };
        let wanted = self.expand(expected.bare());
        if actual.is_open()
            || wanted.is_open()
            || actual == wanted
            || matches!(wanted, Ty::Basic("unknown", _))
        {
            return true;
        }
        if let Ty::Union(members) = &actual {
            return members.items.iter().all(|member| self.fit(member, &wanted, depth + 1))
                || self.fits_whole(&actual, expected, &wanted, depth);
        }
        if let Ty::Union(members) = &wanted {
            let kept = match holder {
                Some(holder) => Ty::Loose(actual.clone().into(), holder),
                None => actual.clone(),
            };
            return members.items.iter().any(|member| self.fit(&kept, member, depth + 1))
                || self.fits_whole(&actual, expected, &wanted, depth);
        }
        self.fit_one(&actual, &wanted, holder, depth)
    }

    /// A generic alias of a union may also be taken with the union put in whole.
    fn fits_whole(&self, actual: &Ty, expected: &Ty, wanted: &Ty, depth: u32) -> bool {
        let whole = match expected {
            Ty::User(_, Some(_)) => self.expand_whole(expected),
            _ => return false,
        };
        whole != *wanted && !matches!(whole, Ty::Union(_)) && self.fit(actual, &whole, depth + 1)
    }

    /// Neither is an alias, a union or open.
    fn fit_one(&self, actual: &Ty, expected: &Ty, holder: Option<Holder>, depth: u32) -> bool {
        if let Ty::User(id, _) = expected
            && matches!(self.decls[*id].kind, Kind::Interface(_))
        {
            return self.unsatisfied(actual, *id, expected.args(), depth).is_none();
        }
        match (actual, expected) {
            (Ty::Str(a), Ty::Str(b)) => a == b,
            (Ty::Int(a), Ty::Int(b)) => a == b,
            (Ty::Str(_), Ty::Basic("string", _)) | (Ty::Basic("string", _), Ty::Str(_)) => true,
            (Ty::Int(_), Ty::Basic("int" | "float", _)) | (Ty::Basic("int", _), Ty::Int(_)) => true,
            (Ty::Basic("int", _), Ty::Basic("float", _)) => true,
            (Ty::Basic(a, _), Ty::Basic(b, _)) if family(a) == family(b) => {
                self.fit_args(family(a), actual.args(), expected.args(), holder, depth)
            }
            (Ty::User(a, _), Ty::User(b, _)) if a == b => {
                let variance =
                    |at: usize| self.decls[*a].params.get(at).map_or(Variance::Covariant, |param| param.1);
                let pairs = actual.args().iter().zip(expected.args());
                pairs.enumerate().all(|(at, (a, b))| self.fit_arg(variance(at), a, b, holder, depth))
            }
            (
                Ty::Basic("generator" | "Generator" | "stream" | "Stream" | "range", _),
                Ty::Basic("iter" | "Iter", _),
            ) => true,
            // Types of the same name from different modules, or a `Result` of one's own.
            (Ty::User(a, _), Ty::User(b, _)) if self.decls[*a].name == self.decls[*b].name => true,
            // What an interface stands for is not known here.
            (Ty::User(a, _), Ty::User(..) | Ty::Shape(_))
                if matches!(self.decls[*a].kind, Kind::Interface(_)) =>
            {
                true
            }
            (Ty::Shape(a), Ty::Shape(b)) if !self.charge(a.fields.len() * b.fields.len() / 4) => true,
            (Ty::Shape(a), Ty::Shape(b)) => b.fields.iter().all(|field| self.field_fits(a, field, depth)),
            (Ty::Shape(a), Ty::Basic("dict", _)) => match expected.args() {
                [_, value] => a.fields.iter().all(|field| self.fit(&field.ty, value, depth + 1)),
                _ => true,
            },
            (Ty::Basic("dict", _), Ty::Shape(_)) => true,
            (Ty::Basic("Schema", _), Ty::Basic("dict", _) | Ty::Shape(_))
            | (Ty::Basic("dict", _) | Ty::Shape(_), Ty::Basic("Schema", _)) => true,
            (Ty::User(id, _), Ty::Shape(shape)) => self.struct_fits_shape(*id, actual.args(), shape, depth),
            (Ty::Shape(shape), Ty::User(id, _)) => self.shape_fits_struct(shape, *id, expected.args(), depth),
            (Ty::User(id, _), Ty::Basic("dict", _)) | (Ty::Basic("dict", _), Ty::User(id, _)) => {
                matches!(self.decls[*id].kind, Kind::Struct(_) | Kind::Ahead)
            }
            (Ty::Function(_), Ty::Basic("closure", _)) | (Ty::Basic("closure", _), Ty::Function(_)) => true,
            (Ty::Function(a), Ty::Function(b)) => {
                a.params.len() == b.params.len()
                    && b.params.iter().zip(&a.params).all(|(b, a)| self.fit(b, a, depth + 1))
                    // Where nil is expected, nobody looks at the result.
                    && (b.returns == NIL || self.fit(&a.returns, &b.returns, depth + 1))
            }
            _ => false,
        }
    }

    fn fit_args(
        &self,
        family: &str,
        actual: &[Ty],
        expected: &[Ty],
        holder: Option<Holder>,
        depth: u32,
    ) -> bool {
        let variance = match family {
            "list" | "dict" => Variance::Invariant,
            _ => Variance::Covariant,
        };
        actual.iter().zip(expected).all(|(a, b)| self.fit_arg(variance, a, b, holder, depth))
    }

    /// What nobody wrote down is not held against a program; but a list of ints never was one of floats.
    fn fit_arg(
        &self,
        variance: Variance,
        actual: &Ty,
        expected: &Ty,
        holder: Option<Holder>,
        depth: u32,
    ) -> bool {
        let there = || self.fit(actual, expected, depth + 1);
        let back = || self.fit(expected, actual, depth + 1);
        match (variance, holder) {
            (Variance::Covariant, _) | (Variance::Invariant, Some(Holder::Nobody)) => there(),
            (Variance::Invariant, Some(Holder::Variable)) => {
                !(*actual == INT && self.expand(expected) == FLOAT) && there()
            }
            (Variance::Contravariant, _) => back(),
            (Variance::Invariant, None) => there() && (self.expand(expected) == UNKNOWN || back()),
        }
    }

    pub(super) fn field_fits(&self, shape: &Shape, wanted: &Field, depth: u32) -> bool {
        match shape.field(&wanted.name) {
            Some(field) => (wanted.optional && field.ty == NIL) || self.fit(&field.ty, &wanted.ty, depth + 1),
            None => wanted.optional,
        }
    }

    fn struct_fits_shape(&self, id: DeclId, args: &[Ty], shape: &Shape, depth: u32) -> bool {
        match self.struct_shape(id, args) {
            Some(Ty::Shape(own)) => shape.fields.iter().all(|field| self.field_fits(&own, field, depth)),
            Some(_) => true,
            None => matches!(self.decls[id].kind, Kind::Ahead),
        }
    }

    fn shape_fits_struct(&self, shape: &Shape, id: DeclId, args: &[Ty], depth: u32) -> bool {
        match self.struct_shape(id, args) {
            Some(Ty::Shape(own)) => own.fields.iter().all(|field| self.field_fits(shape, field, depth)),
            Some(_) => true,
            None => matches!(self.decls[id].kind, Kind::Ahead),
        }
    }

    /// The fields of a struct; none if it is not one.
    pub(super) fn struct_shape(&self, id: DeclId, args: &[Ty]) -> Option<Ty> {
        let decl = &self.decls[id];
        let Kind::Struct(fields) = &decl.kind else { return None };
        let bound = bindings(decl.params.iter().map(|(name, _)| name), args);
        Some(substitute(&Ty::shape(fields.to_vec()), &bound))
    }
}

/// Names for the same kind of value.
fn family(name: &'static str) -> &'static str {
    match name {
        "Generator" => "generator",
        "Stream" => "stream",
        "Iter" => "iter",
        "Pair" => "pair",
        other => other,
    }
}
