//! Calls of names: functions, builtins, constructors.

use super::Checker;
use super::decls::{Kind, Signature};
use super::expand::substitute;
use super::functions::open;
use super::scope::SymbolKind;
use super::ty::{NEVER, RESULT, Ty};
use crate::builtins;
use crate::problem::Code;
use crate::syntax::ast::{Element, Expr, ExprKind, Ident, Name, Type};
use crate::syntax::span::Span;

/// An argument: where it stands and what it is.
pub struct Given {
    pub span: Span,
    pub ty: Ty,
}

impl<'a> Checker<'a> {
    pub(super) fn call(
        &mut self,
        callee: &'a Ident,
        type_args: &'a [Type],
        args: &'a [Element],
        span: Span,
    ) -> Ty {
        let symbol = self.scope.find(&callee.name);
        let Some(symbol) = symbol else { return self.call_elsewhere(callee, type_args, args, span) };
        match &self.scope.symbols[symbol].kind {
            SymbolKind::Function(signature) => {
                let signature = signature.clone();
                self.call_function(&signature, callee, type_args, args)
            }
            SymbolKind::Variable(_) => {
                let ty = self.scope.current(symbol).unwrap_or(Ty::Hole);
                self.arguments(args);
                match self.expand(&ty) {
                    Ty::Function(function) => function.returns.clone(),
                    _ => Ty::Hole,
                }
            }
            SymbolKind::Other => {
                self.arguments(args);
                Ty::Hole
            }
        }
    }

    /// A constructor, a builtin, or something that is not there.
    fn call_elsewhere(
        &mut self,
        callee: &'a Ident,
        type_args: &'a [Type],
        args: &'a [Element],
        span: Span,
    ) -> Ty {
        if let Some(id) = self.type_named(&callee.name)
            && matches!(self.decls[id].kind, Kind::Struct(_) | Kind::Ahead)
        {
            let types: Vec<Ty> = type_args.iter().map(|ty| self.lower(ty)).collect();
            return self.construct(id, args, types, callee.span);
        }
        let Some(builtin) = builtins::find(&callee.name).and_then(builtins::get) else {
            self.arguments(args);
            if self.type_named(&callee.name).is_none() {
                self.unknown_calls.push(callee.clone());
            }
            return Ty::Hole;
        };
        type_args.iter().for_each(|ty| {
            self.lower(ty);
        });
        if let Some(ty) = self.special(&callee.name, args, span) {
            return ty;
        }
        self.arguments(args);
        self.builtin_returns(builtin)
    }

    /// Builtins whose result depends on their arguments.
    fn special(&mut self, name: &str, args: &'a [Element], span: Span) -> Option<Ty> {
        let first = match args.first() {
            Some(Element::Plain(first)) => Some(first),
            _ => None,
        };
        match name {
            "Ok" | "Err" => {
                let given = self.arguments(args);
                let payload = given.into_iter().next().map_or(Ty::Hole, |given| given.ty);
                let args = if name == "Ok" { vec![payload, Ty::Hole] } else { vec![Ty::Hole, payload] };
                Some(Ty::user(RESULT, args).fresh())
            }
            "unreachable" => {
                let given = self.arguments(args);
                if let (Some(given), Some(first)) = (given.first(), first) {
                    self.unreachable(first, &given.ty, span);
                }
                Some(NEVER)
            }
            "exit" | "throw_error" => {
                self.arguments(args);
                Some(NEVER)
            }
            "schema_of" => {
                self.arguments(args);
                Some(match first.and_then(|first| self.type_mentioned(first)) {
                    Some(ty) => Ty::basic("Schema", vec![ty]),
                    None => super::ty::DICT,
                })
            }
            "schema_expect" => {
                self.arguments(args);
                match args.get(1) {
                    Some(Element::Plain(schema)) => self.type_mentioned(schema),
                    _ => None,
                }
                .or(Some(Ty::Hole))
            }
            "assert" => {
                self.arguments(args);
                if let Some(first) = first {
                    let facts = self.facts(first, true);
                    self.apply(facts);
                }
                Some(super::ty::NIL)
            }
            _ => None,
        }
    }

    /// The type that an argument names.
    pub(super) fn type_mentioned(&self, expr: &Expr) -> Option<Ty> {
        match &expr.kind {
            ExprKind::Name(name) if self.scope.find(name).is_none() => {
                self.type_named(name).map(|id| Ty::User(id, None))
            }
            _ => None,
        }
    }

    fn unreachable(&mut self, argument: &'a Expr, ty: &Ty, span: Span) {
        let is_variable =
            matches!(argument.kind, ExprKind::Name(_) | ExprKind::Field { .. } | ExprKind::Paren(_));
        if is_variable && *ty != NEVER && !ty.has_hole() && !self.expand(ty).is_open() {
            let shown = self.show_out(ty);
            let message =
                format!("unreachable() argument has type `{shown}` \u{2014} not all cases are handled");
            self.say_with(Code::NonExhaustive, span, message, "handle what is left before it");
        }
    }

    /// The arguments in order, up to the first that is spread.
    pub(super) fn arguments(&mut self, args: &'a [Element]) -> Vec<Given> {
        let mut given = Vec::new();
        let mut is_positional = true;
        for arg in args {
            let (Element::Plain(value) | Element::Spread(value)) = arg;
            let ty = self.infer(value);
            is_positional &= matches!(arg, Element::Plain(_));
            if is_positional {
                given.push(Given { span: value.span, ty });
            }
        }
        given
    }

    fn call_function(
        &mut self,
        signature: &Signature,
        callee: &'a Ident,
        type_args: &'a [Type],
        args: &'a [Element],
    ) -> Ty {
        let given = self.arguments(args);
        let is_spread = given.len() < args.len();
        if let Some(deprecated) = &signature.deprecated {
            self.say(Code::Deprecated, callee.span, deprecated.clone());
        }
        self.check_call(signature, callee, type_args, &given, is_spread)
    }

    pub(super) fn check_call(
        &mut self,
        signature: &Signature,
        callee: &'a Ident,
        type_args: &'a [Type],
        given: &[Given],
        is_spread: bool,
    ) -> Ty {
        if !is_spread {
            self.arity(signature, callee, given.len());
        }
        let params = signature.given().iter().zip(given).take_while(|(param, _)| !param.is_rest);
        let explicit = self.explicit(signature, callee, type_args);
        let mut bound = explicit.clone();
        if explicit.is_empty() && !signature.type_params.is_empty() {
            for (param, given) in params.clone() {
                self.find_bindings(&signature.type_params, &param.ty, &given.ty, given.span, &mut bound);
            }
        }
        let known = open(&explicit, &signature.type_params);
        for (at, (param, given)) in params.enumerate() {
            let expected = substitute(&param.ty, &known);
            if !self.fits(&given.ty, &expected) {
                self.argument_mismatch(at + 1, &param.name, given, &param.ty, &expected);
            }
        }
        self.constraints(signature, &bound, callee.span);
        let bound = open(&bound, &signature.type_params);
        signature.returns.as_ref().map_or(Ty::Hole, |returns| substitute(returns, &bound))
    }

    fn argument_mismatch(&mut self, number: usize, name: &Name, given: &Given, written: &Ty, expected: &Ty) {
        let shown = if expected.has_hole() { written } else { expected };
        let (wanted, got) = (self.show_out(shown), self.show_out(&given.ty));
        let message = format!("Argument {number} ('{name}'): expected {wanted}, got {got}");
        self.mismatch(given.span, message, &given.ty, expected);
    }

    fn arity(&mut self, signature: &Signature, callee: &Ident, given: usize) {
        let params = signature.given();
        let least = params.iter().filter(|param| !param.has_default && !param.is_rest).count();
        let most = if params.iter().any(|param| param.is_rest) { usize::MAX } else { params.len() };
        let (what, wanted) = match given {
            _ if given < least => ("missing arguments are nil", least),
            _ if given > most => ("the others are not used", most),
            _ => return,
        };
        let bound = match (least, most) {
            (least, most) if least == most => "",
            _ if given < least => "at least ",
            _ => "at most ",
        };
        let noun = if wanted == 1 { "argument" } else { "arguments" };
        let message = format!("'{}' takes {bound}{wanted} {noun}, got {given}; {what}", callee.name);
        let names: Vec<String> = params
            .iter()
            .map(|param| match (param.is_rest, param.has_default) {
                (true, _) => format!("...{}", param.name),
                (_, true) => format!("{}?", param.name),
                _ => param.name.to_string(),
            })
            .collect();
        let help = format!("it is declared as {}({})", callee.name, names.join(", "));
        self.say_with(Code::Arity, callee.span, message, help);
    }
}
