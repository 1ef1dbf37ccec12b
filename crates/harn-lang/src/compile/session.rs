//! A program that grows entry by entry: each is compiled onto what the earlier ones left, so nothing runs twice.
//!
//! Variables at the top of an entry are variables of the session, and its functions see them as they are. What was
//! compiled keeps its numbers, so closures that are still around stay what they were.

use std::collections::HashMap;
use std::sync::Arc;

use super::function::{Binding, Place};
use super::module::Exports;
use super::*;
use crate::bytecode::{Program, Source};
use crate::modules::{Module, Modules, order};
use crate::problem::Problems;
use crate::syntax::ast::{Stmt, StmtKind};

/// What earlier entries left for the next one.
pub(super) struct Carried<'a> {
    pub scope: HashMap<Name, Binding>,
    /// The earlier entries, for the types that they declare.
    pub bodies: Vec<&'a [Stmt]>,
    /// The types that they imported, where each is at home.
    pub types: HashMap<Name, Arc<Types>>,
    /// How many modules there are before those of this entry, its prelude not counted.
    pub modules: usize,
}

/// Everything that entries have made so far.
pub struct Session {
    settings: Settings,
    program: Program,
    prelude: HashMap<Name, u16>,
    names: HashMap<Arc<str>, u16>,
    texts: HashMap<Arc<str>, u32>,
    next_id: u32,
    scope: HashMap<Name, Binding>,
    entries: Vec<Module>,
    types: HashMap<Name, Arc<Types>>,
    /// What imported modules give, by the names of their sources: each is set up once.
    known: HashMap<Arc<str>, Exports>,
}

/// An entry, compiled.
pub struct Step {
    /// The whole program, with this entry as the one to run.
    pub program: Arc<Program>,
    /// Its last statement is an expression, whose value someone wants to see.
    pub has_value: bool,
}

impl Session {
    pub fn new(settings: Settings) -> Self {
        let empty = Source { name: "".into(), text: "".into() };
        let Modules { modules, .. } = Modules::read(prelude(), empty, &NoModules);
        let mut compiler = Compiler::new(&settings);
        compiler.program.sources.push(prelude());
        let mut exports = vec![None; modules.len()];
        compiler.module(0, &modules[0], &mut exports, false, &settings, &[]);
        let Compiler { program, prelude, names, texts, next_id, .. } = compiler;
        Self {
            settings,
            program,
            prelude,
            names,
            texts,
            next_id,
            scope: HashMap::new(),
            entries: Vec::new(),
            types: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// Compiles an entry. One with errors leaves nothing behind.
    pub fn compile(&mut self, entry: Source, loader: &dyn Loader) -> Result<Step, Problems> {
        let Modules { mut modules, problems } = Modules::read(prelude(), entry, loader);
        if !problems.is_empty() {
            let sources = modules.into_iter().map(|module| module.source).collect();
            return Err(Problems { all: problems, sources });
        }
        let mut compiler = self.compiler();
        compiler.program.sources.extend(modules.iter().skip(1).map(|module| module.source.clone()));
        let mut exports: Vec<Option<Exports>> = vec![None; modules.len()];
        let mut inits = Vec::new();
        let mut known = self.known.clone();
        for at in order(&modules).into_iter().filter(|at| *at > 0) {
            let name = &modules[at].source.name;
            if at > 1
                && let Some(given) = known.get(name)
            {
                exports[at] = Some(given.clone());
                continue;
            }
            let number = compiler.module(at, &modules[at], &mut exports, at == 1, &self.settings, &inits);
            if at == 1 {
                compiler.program.entry = number;
            } else {
                inits.push(number);
                known.extend(exports[at].clone().map(|given| (name.clone(), given)));
            }
        }
        if compiler.problems.iter().any(Problem::is_error) {
            return Err(Problems { all: compiler.problems, sources: compiler.program.sources });
        }
        for (name, number) in exports[1].take().unwrap_or_default().functions {
            compiler.define(&name, Place::Function(number), false);
        }
        let Compiler { program, names, texts, next_id, scope, types, .. } = compiler;
        self.types = types.imported;
        (self.program, self.names, self.texts) = (program, names, texts);
        (self.next_id, self.scope, self.known) = (next_id, scope, known);
        let entry = modules.swap_remove(1);
        let has_value =
            entry.parsed.module.body.last().is_some_and(|last| matches!(last.kind, StmtKind::Expr(_)));
        self.entries.push(entry);
        Ok(Step { program: Arc::new(self.program.clone()), has_value })
    }

    fn compiler(&self) -> Compiler<'_> {
        let carried = Carried {
            scope: self.scope.clone(),
            bodies: self.entries.iter().map(|entry| entry.parsed.module.body.as_slice()).collect(),
            types: self.types.clone(),
            modules: self.program.sources.len() - 1,
        };
        let mut compiler = Compiler::new(&self.settings);
        compiler.program = self.program.clone();
        compiler.prelude = self.prelude.clone();
        compiler.names = self.names.clone();
        compiler.texts = self.texts.clone();
        compiler.next_id = self.next_id;
        compiler.carried = Some(carried);
        compiler
    }
}

fn prelude() -> Source {
    Source { name: "prelude".into(), text: crate::prelude::SOURCE.into() }
}
