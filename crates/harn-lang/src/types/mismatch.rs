//! Telling what does not fit, and why.

use super::Checker;
use super::ty::{NIL, Ty};
use crate::problem::Code;
use crate::syntax::span::Span;

impl Checker<'_> {
    pub(super) fn mismatch(&mut self, span: Span, message: String, actual: &Ty, expected: &Ty) {
        let help = self.advice(actual, expected).filter(|help| !message.contains(&**help));
        if let Some(problem) = self.say(Code::TypeMismatch, span, message) {
            problem.help = help;
        }
    }

    /// What to do about it, where that can be told.
    fn advice(&self, actual: &Ty, expected: &Ty) -> Option<String> {
        let (actual, expected) = (self.expand(actual), self.expand(expected));
        let settled = actual.settled();
        if settled == super::ty::UNKNOWN {
            return Some(
                "find out what it is first: `if type_of(x) == \"string\" { ... }`, `schema_is(x, T)`".into(),
            );
        }
        if settled.members().len() > 1
            && settled.members().contains(&NIL)
            && !expected.members().contains(&NIL)
        {
            let rest = settled.without(|member| *member == NIL);
            if self.fits(&rest, &expected) {
                return Some(
                    "it may be nil: give a default with `??`, or look first with `if x != nil`".into(),
                );
            }
        }
        if let Some(details) = self.shape_details(&settled, &expected) {
            return Some(details);
        }
        let advice = match (&settled, &expected) {
            (_, Ty::Basic("string", _)) => {
                "convert it with `to_string(...)`, or put it into a text: \"${x}\""
            }
            (Ty::Basic("string", _), Ty::Basic("int", _)) => "convert it with `to_int(...)`",
            (Ty::Basic("string", _), Ty::Basic("float", _)) => "convert it with `to_float(...)`",
            (Ty::Basic("float", _), Ty::Basic("int", _)) => {
                "convert it with `round(...)`, `floor(...)` or `to_int(...)`"
            }
            (Ty::Basic("iter" | "range", _), Ty::Basic("list", _)) => "collect it with `.to_list()`",
            (Ty::Basic("list", _), Ty::Basic("list", _)) => {
                "what is in a list has to be of the declared type exactly; make a new list with `.map(...)`"
            }
            _ => return None,
        };
        Some(advice.into())
    }

    /// Which fields are missing, and which are of another type.
    pub(super) fn shape_details(&self, actual: &Ty, expected: &Ty) -> Option<String> {
        let (Ty::Shape(has), Ty::Shape(wants)) = (self.expand(actual), self.expand(expected)) else {
            return None;
        };
        let mut details = Vec::new();
        for wanted in &wants.fields {
            match has.field(&wanted.name) {
                None if !wanted.optional => {
                    details.push(format!("missing field '{}' ({})", wanted.name, self.show(&wanted.ty)));
                }
                Some(field) if !self.field_fits(&has, wanted, 0) => details.push(format!(
                    "field '{}' has type {}, expected {}",
                    wanted.name,
                    self.show(&field.ty),
                    self.show(&wanted.ty)
                )),
                _ => {}
            }
        }
        (!details.is_empty()).then(|| details.join("; "))
    }
}
