//! The gradual type checker: what is wrong with a program can often be seen before it runs.
//!
//! Whatever has no annotation is not checked, and wherever something is not known the checker says nothing: a
//! program that runs is not stopped. It walks every module once, in the order of the source; functions of a block are
//! looked at when the block has been, because they see all of its variables.

mod assigned;
mod attributes;
mod bind;
mod calls;
mod construct;
mod control;
mod decls;
mod expand;
mod expressions;
mod facts;
mod fields;
mod fits;
mod functions;
mod generics;
mod hoist;
mod imports;
mod interfaces;
mod lower;
mod matching;
mod methods;
mod mismatch;
mod operators;
mod scope;
mod show;
mod statements;
#[cfg(test)]
mod tests;
mod ty;
mod variance;

use std::cell::Cell;
use std::rc::Rc;

use hashbrown::HashMap;

use crate::builtins;
use crate::compile::{Settings, UnknownCalls};
use crate::modules::{Module, order};
use crate::problem::{Code, Problem, Severity};
use crate::syntax::ast::{Ident, Name};
use crate::syntax::span::Span;
use decls::TypeDecl;
use functions::Function;
use imports::Exports;
use scope::Scope;
use ty::{DeclId, Ty};

/// Which modules are looked at. Those of the language itself are known, and looked at by a test only.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    Program,
    #[cfg(test)]
    Everything,
}

/// More errors, or warnings, than anybody reads; what comes after is not even written down.
const MAX_PROBLEMS: usize = 1000;
/// Looking for the name that was meant takes a look at every name, so it is done so many times only.
const MAX_SUGGESTIONS: u32 = 100;

/// Everything that is wrong with the types of a program.
pub(crate) fn check(modules: &[Module], settings: &Settings) -> Vec<Problem> {
    check_extent(modules, settings, Extent::Program)
}

pub(crate) fn check_extent(modules: &[Module], settings: &Settings, extent: Extent) -> Vec<Problem> {
    let mut checker = Checker::new(settings);
    for at in order(modules) {
        let module = &modules[at];
        let is_ours = at == 0 || module.source.name.starts_with("std/");
        checker.module(at, module, !is_ours || extent != Extent::Program);
    }
    checker.problems.sort_by_key(|problem| (problem.module, problem.span.start));
    checker.problems
}

pub(crate) struct Checker<'a> {
    settings: &'a Settings,
    decls: Vec<TypeDecl>,
    /// Declared types by their place in the tree.
    ids: HashMap<usize, DeclId>,
    problems: Vec<Problem>,
    module: u16,
    exports: HashMap<usize, Exports>,
    scope: Scope,
    /// Types of the module at hand, wherever in it they are declared.
    anywhere: HashMap<Name, DeclId>,
    /// Type parameters of the declarations around.
    type_params: Vec<Name>,
    /// The function at hand.
    function: Function,
    /// Calls of names that were not known when they were met.
    unknown_calls: Vec<Ident>,
    /// What `builtins` return, as types.
    returns: HashMap<&'static str, Ty>,
    /// Whether all that the module imports is known.
    knows_imports: bool,
    /// What is left for the question at hand.
    budget: Cell<u32>,
    /// How many pipes are around, in which `_` is the piped value.
    pipes: usize,
    /// How many errors and warnings there are.
    said: (usize, usize),
    suggestions: Cell<u32>,
    /// What is left for all questions together.
    total: Cell<u64>,
    /// Nothing is said while a module of the language is read.
    is_silent: bool,
}

impl<'a> Checker<'a> {
    fn new(settings: &'a Settings) -> Self {
        Self {
            settings,
            decls: vec![decls::result()],
            ids: HashMap::new(),
            problems: Vec::new(),
            module: 0,
            exports: HashMap::new(),
            scope: Scope::default(),
            anywhere: HashMap::new(),
            type_params: Vec::new(),
            function: Function::default(),
            unknown_calls: Vec::new(),
            returns: HashMap::new(),
            knows_imports: true,
            budget: Cell::new(fits::BUDGET),
            pipes: 0,
            said: (0, 0),
            suggestions: Cell::new(MAX_SUGGESTIONS),
            total: Cell::new(fits::TOTAL),
            is_silent: false,
        }
    }

    fn module(&mut self, at: usize, module: &'a Module, is_checked: bool) {
        self.module = u16::try_from(at).unwrap_or(u16::MAX);
        self.scope = Scope::default();
        self.function = Function::default();
        self.is_silent = !is_checked;
        self.scope.open();
        for name in &self.settings.host_names {
            self.scope.bind(name, scope::SymbolKind::Other);
        }
        let body = &module.parsed.module.body;
        self.anywhere = self.all_types(body);
        self.imports(module);
        self.scope.open();
        self.hoist(body);
        self.export(at, module);
        if is_checked {
            self.statements(body);
            self.deferred(body);
            self.report_unknown_calls();
        }
        self.scope.close();
        self.scope.close();
        self.is_silent = false;
    }

    fn say(&mut self, code: Code, span: Span, message: impl Into<String>) -> Option<&mut Problem> {
        let is_error = code.severity() == Severity::Error;
        let count = if is_error { &mut self.said.0 } else { &mut self.said.1 };
        if self.is_silent || *count >= MAX_PROBLEMS {
            return None;
        }
        *count += 1;
        self.problems.push(Problem::new(code, message, span, self.module));
        self.problems.last_mut()
    }

    /// The name that was probably meant.
    fn nearest<'n>(&self, name: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
        let left = self.suggestions.get();
        self.suggestions.set(left.saturating_sub(1));
        if left == 0 { None } else { crate::near::nearest(name, names).map(str::to_owned) }
    }

    fn say_with(&mut self, code: Code, span: Span, message: impl Into<String>, help: impl Into<String>) {
        if let Some(problem) = self.say(code, span, message) {
            problem.help = Some(help.into());
        }
    }

    /// Calls of names that nothing in the module binds. Names that are bound elsewhere in it get the benefit of the
    /// doubt: the call may never run.
    fn report_unknown_calls(&mut self) {
        for callee in std::mem::take(&mut self.unknown_calls) {
            if !self.knows_imports || self.scope.bound.contains(&callee.name) {
                continue;
            }
            let names = self.scope.bound.iter().map(|name| &**name);
            let all = names.chain(builtins::all().map(|builtin| builtin.name));
            let near = self.nearest(&callee.name, all.filter(|name| !name.starts_with("__")));
            let hint =
                near.as_ref().map(|near| format!(" \u{2014} did you mean `{near}`?")).unwrap_or_default();
            let message = format!("call target `{}` is not defined or imported{hint}", callee.name);
            let code = match self.settings.unknown_calls {
                UnknownCalls::Refused => Code::UnknownCall,
                UnknownCalls::LeftToHost => Code::HostCall,
            };
            let help = match near {
                Some(near) => format!("call `{near}`, or define `{}`", callee.name),
                None => format!("define it with `fn {}(...) {{ ... }}`, or import it", callee.name),
            };
            self.say_with(code, callee.span, message, help);
        }
    }

    /// What a builtin returns.
    fn builtin_returns(&mut self, builtin: &'static builtins::Builtin) -> Ty {
        if let Some(known) = self.returns.get(builtin.name) {
            return known.clone();
        }
        let name = |name: &str| ty::BASIC.iter().find(|basic| **basic == name).copied();
        let ty = match builtin.name {
            // The first gives a range, which may be used like a list, the second a list.
            "range" | "regex_match" => Ty::Hole,
            _ => Ty::union(builtin.returns.split('|').map(|part| match name(part.trim()) {
                Some("any") | None => Ty::Hole,
                Some(name) => Ty::Basic(name, None),
            })),
        };
        self.returns.insert(builtin.name, ty.clone());
        ty
    }
}

type Sig = Rc<decls::Signature>;
