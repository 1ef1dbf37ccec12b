//! What methods give.

use super::Checker;
use super::ty::{BOOL, DICT, INT, LIST, STRING, Ty};
use crate::builtins;
use crate::syntax::ast::{Element, Expr, ExprKind, Ident};

impl<'a> Checker<'a> {
    pub(super) fn method(
        &mut self,
        object: &'a Expr,
        method: &'a Ident,
        args: &'a [Element],
        optional: bool,
    ) -> Ty {
        if let Some(id) = self.enum_named(object) {
            return self.variant(id, method, args);
        }
        if let Some(builtin) = self.namespaced(object, &method.name) {
            self.arguments(args);
            return self.builtin_returns(builtin);
        }
        let receiver = self.infer(object);
        let given = self.arguments(args);
        let receiver = self.expand(&receiver.settled());
        if let Ty::User(id, _) = &receiver {
            let found = self.decls[*id].methods.iter().find(|known| known.name == method.name);
            let Some(signature) = found.cloned() else { return Ty::Hole };
            let has_self = signature.params.first().is_some_and(|first| &*first.name == "self");
            if !has_self {
                return Ty::Hole;
            }
            if let Some(deprecated) = &signature.deprecated {
                self.say(crate::problem::Code::Deprecated, method.span, deprecated.clone());
            }
            let params = self.decls[*id].params.iter().map(|(name, _)| name);
            let bound = super::expand::bindings(params, receiver.args());
            let is_spread = given.len() < args.len();
            let returns = self.check_call(&signature, method, &[], &given, is_spread);
            return super::expand::substitute(&returns, &bound);
        }
        let result = result_of(&receiver, &method.name);
        if optional && result != Ty::Hole && !matches!(receiver, Ty::Basic(..) | Ty::Shape(_)) {
            return Ty::Hole;
        }
        result
    }

    /// `stream.map`: a builtin whose name has a dot.
    fn namespaced(&self, object: &Expr, method: &str) -> Option<&'static builtins::Builtin> {
        let mut parts = vec![method];
        let mut expr = object;
        loop {
            match &expr.kind {
                ExprKind::Field { object, name, optional: false } if parts.len() < 8 => {
                    parts.push(&name.name);
                    expr = object;
                }
                ExprKind::Name(name) if self.scope.find(name).is_none() => {
                    parts.push(name);
                    break;
                }
                _ => return None,
            }
        }
        parts.reverse();
        builtins::find(&parts.join(".")).and_then(builtins::get)
    }
}

/// What a method of a value of the language gives; a hole for those whose result depends on what is in it.
fn result_of(receiver: &Ty, method: &str) -> Ty {
    let iter = || Ty::Basic("iter", None);
    match receiver {
        Ty::Basic("string", _) | Ty::Str(_) => match method {
            "count" | "len" | "index_of" | "last_index_of" => INT,
            "empty" | "contains" | "starts_with" | "ends_with" => BOOL,
            "replace" | "trim" | "trim_start" | "trim_end" | "lowercase" | "lower" | "to_lower"
            | "uppercase" | "upper" | "to_upper" | "substring" | "repeat" | "reverse" | "pad_left"
            | "pad_right" => STRING,
            "split" | "chars" | "lines" => LIST,
            "iter" => iter(),
            _ => Ty::Hole,
        },
        Ty::Basic("list", _) => match method {
            "count" | "find_index" | "index_of" => INT,
            "empty" | "any" | "all" | "every" | "none" | "contains" => BOOL,
            "join" => STRING,
            "map" | "filter" | "flat_map" | "sort" | "sort_by" | "reverse" | "enumerate" | "zip"
            | "slice" | "unique" | "take" | "skip" | "flatten" | "push" | "pop" | "partition" | "chunk"
            | "each_slice" | "window" | "each_cons" | "sliding_window" | "compact" => LIST,
            "group_by" | "tally" => DICT,
            "iter" => iter(),
            _ => Ty::Hole,
        },
        Ty::Shape(shape) if shape.field(method).is_some() => Ty::Hole,
        Ty::Basic("dict", _) | Ty::Shape(_) => match method {
            "keys" | "values" | "entries" => LIST,
            "count" => INT,
            "has" => BOOL,
            "merge" | "map_values" | "rekey" | "map_keys" | "filter" | "remove" => DICT,
            "iter" => iter(),
            _ => Ty::Hole,
        },
        Ty::Basic("set", _) => match method {
            "count" | "len" => INT,
            "empty" | "contains" | "is_subset" | "is_superset" | "is_disjoint" | "any" | "all" | "every" => {
                BOOL
            }
            "to_list" => LIST,
            "iter" => iter(),
            _ => Ty::Hole,
        },
        Ty::Basic("range", _) => match method {
            "len" | "count" => INT,
            "empty" | "contains" | "any" | "all" => BOOL,
            "to_string" => STRING,
            other => of_iterator(other),
        },
        Ty::Basic("iter" | "Iter", _) => match method {
            "count" => INT,
            "any" | "all" => BOOL,
            other => of_iterator(other),
        },
        _ => Ty::Hole,
    }
}

fn of_iterator(method: &str) -> Ty {
    match method {
        "map" | "filter" | "flat_map" | "take" | "skip" | "take_while" | "skip_while" | "zip"
        | "enumerate" | "chain" | "chunks" | "windows" | "iter" => Ty::Basic("iter", None),
        "to_list" => LIST,
        "to_dict" => DICT,
        _ => Ty::Hole,
    }
}
