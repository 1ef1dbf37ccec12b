//! A program of several modules: what they give to each other, and where it begins.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::function::{Binding, FunctionState, Place};
use super::names::Meaning;
use super::*;
use crate::bytecode::{Program, Source};
use crate::modules::{Loader, Module, Modules, order};
use crate::problem::Problems;
use crate::syntax::ast::*;
use crate::value::Dict;

/// What a module gives to others.
#[derive(Clone, Default)]
pub(super) struct Exports {
    pub(super) functions: HashMap<Name, u16>,
    public: HashSet<Name>,
    /// Where each type is at home.
    types: HashMap<Name, Arc<Types>>,
}

impl Exports {
    /// Everything that an import without names brings.
    fn offered(&self) -> Vec<(Name, u16)> {
        let is_offered = |name: &Name| self.public.is_empty() || self.public.contains(name);
        let mut all: Vec<_> = self.functions.iter().filter(|(name, _)| is_offered(name)).collect();
        all.sort();
        all.into_iter().map(|(name, number)| (name.clone(), *number)).collect()
    }
}

/// What a program is compiled with.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Names that the host gives values to, in the order in which it gives them.
    pub host_names: Vec<Name>,
    /// The pipeline to run, instead of `default` or the first.
    pub pipeline: Option<Name>,
    pub unknown_calls: UnknownCalls,
}

/// What it means when a program calls a function that nothing defines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownCalls {
    /// An error.
    #[default]
    Refused,
    /// A warning: the host may have it.
    LeftToHost,
}

/// Compiles a program and all that it imports. Fails with its errors, if it has any.
pub fn compile(entry: Source, loader: &dyn Loader, settings: &Settings) -> Result<Program, Problems> {
    let (program, problems) = examine(entry, loader, settings);
    match program {
        Some(program) => Ok(program),
        None => {
            Err(Problems { all: problems.all.into_iter().filter(Problem::is_error).collect(), ..problems })
        }
    }
}

/// Everything that is wrong with a program, warnings too.
pub fn check(entry: Source, loader: &dyn Loader, settings: &Settings) -> Problems {
    examine(entry, loader, settings).1
}

/// The first statement at the top of a program that is not run, because a pipeline is. Programs in this form are as old
/// as the language, so this is for tools that give advice, and no part of `check`.
pub fn skipped(text: &str) -> Option<Problem> {
    let parsed = crate::syntax::parse(text);
    let body = &parsed.module.body;
    let is_pipeline =
        |stmt: &Stmt| matches!(&stmt.kind, StmtKind::Decl(Decl { kind: DeclKind::Pipeline(_), .. }));
    if !parsed.errors.is_empty() || !body.iter().any(is_pipeline) {
        return None;
    }
    let is_run =
        |stmt: &Stmt| matches!(stmt.kind, StmtKind::Decl(_) | StmtKind::Bind { .. } | StmtKind::Import(_));
    let stmt = body.iter().find(|stmt| !is_run(stmt))?;
    let message = "unreachable code: the file has a pipeline, which is run instead of statements beside it";
    let help = "move it into the pipeline; beside it only declarations, `let` and `var` are of use";
    Some(Problem { help: Some(help.into()), ..Problem::new(Code::UnreachableCode, message, stmt.span, 1) })
}

/// The program, if it has no errors, and what is wrong with it.
fn examine(entry: Source, loader: &dyn Loader, settings: &Settings) -> (Option<Program>, Problems) {
    let Modules { modules, problems: mut all } = Modules::of_program(entry, loader);
    let sources: Vec<Source> = modules.iter().map(|module| module.source.clone()).collect();
    if !all.is_empty() {
        return (None, Problems { all, sources });
    }
    all.extend(crate::types::check(&modules, settings));
    let mut compiler = Compiler::new(settings);
    compiler.program.sources.clone_from(&sources);
    let mut exports: Vec<Option<Exports>> = vec![None; modules.len()];
    let mut inits = Vec::new();
    // Every module after those that it imports; the entry is the last one that needs no importer.
    for at in order(&modules) {
        let number = compiler.module(at, &modules[at], &mut exports, at == 1, settings, &inits);
        inits.push(number);
    }
    compiler.program.entry = inits.last().copied().unwrap_or(0);
    compiler.program.returns = crate::exports::returned(&modules, settings.pipeline.as_deref());
    all.append(&mut compiler.problems);
    let program = (!all.iter().any(Problem::is_error)).then_some(compiler.program);
    (program, Problems { all, sources })
}

impl<'a> Compiler<'a> {
    pub(super) fn new(settings: &Settings) -> Self {
        let globals = u32::try_from(settings.host_names.len()).unwrap_or(u32::MAX);
        Self {
            program: Program { globals, ..Program::default() },
            stack: Vec::new(),
            locals: Vec::new(),
            scope: HashMap::new(),
            types: Types::default(),
            type_parts: Cell::new(resolve::ALL_PARTS),
            module: 0,
            is_prelude: false,
            is_of_language: false,
            ahead: HashSet::new(),
            constructors: HashMap::new(),
            is_in_pipeline: false,
            is_declaring: false,
            hides_functions: false,
            is_entry: false,
            itself: None,
            calls_later: false,
            problems: Vec::new(),
            next_id: 0,
            suggestions: MAX_SUGGESTIONS,
            names: HashMap::new(),
            texts: HashMap::new(),
            key_lists: HashMap::new(),
            variants: HashMap::new(),
            prelude: HashMap::new(),
            pending_snapshots: HashMap::new(),
            late_snapshots: Vec::new(),
            host_names: settings.host_names.clone(),
            leaves_unknown: settings.unknown_calls == UnknownCalls::LeftToHost,
            carried: None,
        }
    }

    /// Compiles one module; gives the number of the function that sets it up.
    pub(super) fn module(
        &mut self,
        at: usize,
        loaded: &'a Module,
        exports: &mut [Option<Exports>],
        is_entry: bool,
        settings: &Settings,
        inits: &[u16],
    ) -> u16 {
        let body = &loaded.parsed.module.body;
        let number = at + self.carried.as_ref().map_or(0, |carried| carried.modules);
        self.module = u16::try_from(number).unwrap_or(u16::MAX);
        (self.is_prelude, self.is_entry) = (at == 0, is_entry);
        self.is_of_language = at == 0 || loaded.source.name.starts_with("std/");
        self.constructors = HashMap::new();
        self.types = Types::default();
        self.scope = HashMap::new();
        if is_entry && let Some(carried) = &mut self.carried {
            self.scope = std::mem::take(&mut carried.scope);
            self.types.imported = std::mem::take(&mut carried.types);
            for earlier in carried.bodies.clone() {
                self.collect_types(earlier);
            }
        }
        self.collect_types(body);
        let name: Name = if is_entry { "pipeline".into() } else { loaded.source.name.clone() };
        let number = self.reserve_function(&name, &[]);
        let reexported = self.imports(loaded, exports);
        self.top_level_names(body, is_entry);
        self.stack.push(FunctionState::new(name, Arc::new([]), self.module));
        if is_entry {
            for init in inits {
                self.emit(Op::CallFunction { dst: 0, start: 0, function: *init, count: 0 });
            }
        }
        self.state().take_register();
        if is_entry {
            self.entry(body, settings)
        } else {
            self.library(body)
        }
        exports[at] = Some(self.exports(body, reexported));
        if at == 0 {
            self.prelude = exports[at].clone().unwrap_or_default().functions;
            for builtin in crate::builtins::all().filter(|builtin| builtin.name.contains('.')) {
                if let Some(number) = self.prelude.get(builtin.name.replace('.', "_").as_str()).copied() {
                    self.prelude.insert(builtin.name.into(), number);
                }
            }
            self.program.prelude.clone_from(&self.prelude);
        }
        self.end_function(number);
        number
    }

    fn library(&mut self, body: &'a [Stmt]) {
        self.is_declaring = true;
        self.statements(body, None);
        self.is_declaring = false;
        self.emit(Op::ReturnNil);
    }

    fn entry(&mut self, body: &'a [Stmt], settings: &Settings) {
        let pipelines: Vec<&'a Pipeline> = (body.iter())
            .filter_map(|stmt| match &stmt.kind {
                StmtKind::Decl(Decl { kind: DeclKind::Pipeline(pipeline), .. }) => Some(pipeline),
                _ => None,
            })
            .collect();
        let named = |name: &str| pipelines.iter().copied().find(|pipeline| &*pipeline.name.name == name);
        let chosen = match &settings.pipeline {
            Some(name) => named(name),
            None => named("default").or_else(|| pipelines.first().copied()),
        };
        let out = self.state().take_register();
        let Some(chosen) = chosen else {
            if let Some(name) = &settings.pipeline {
                self.error(
                    Code::UnknownName,
                    Span::default(),
                    format!("There is no pipeline named '{name}'"),
                );
            }
            self.statements(body, Some(out));
            self.emit(Op::Return { src: out });
            return;
        };
        self.check_parents(&pipelines);
        self.hoist(body);
        for stmt in body.iter().filter(|stmt| matches!(stmt.kind, StmtKind::Bind { .. })) {
            self.statement(stmt, None);
        }
        self.is_declaring = true;
        for stmt in body.iter().filter(|stmt| matches!(stmt.kind, StmtKind::Decl(_))) {
            self.statement(stmt, None);
        }
        self.is_declaring = false;
        self.is_in_pipeline = true;
        // The bodies of those that it extends come first.
        let mut chain = vec![chosen];
        while let Some(parent) = chain.last().and_then(|last| last.extends.as_ref()) {
            match named(&parent.name) {
                Some(parent) if chain.len() < pipelines.len() => chain.push(parent),
                _ => break,
            }
        }
        for pipeline in chain.into_iter().rev() {
            self.pipeline(pipeline, budget_of(body, pipeline), out);
        }
        self.emit(Op::Return { src: out });
    }

    /// Refuses a pipeline that extends one that is not there, or itself.
    fn check_parents(&mut self, pipelines: &[&'a Pipeline]) {
        let all: HashMap<&str, &Pipeline> =
            pipelines.iter().rev().map(|pipeline| (&*pipeline.name.name, *pipeline)).collect();
        for pipeline in pipelines {
            let Some(parent) = &pipeline.extends else { continue };
            if !all.contains_key(&*parent.name) {
                let message = format!("There is no pipeline named '{}' to extend", parent.name);
                self.error(Code::UnknownName, parent.span, message);
                continue;
            }
            let next = |at: &&Pipeline| all.get(&*at.extends.as_ref()?.name).copied();
            let mut above = std::iter::successors(next(pipeline), next).take(pipelines.len());
            if above.any(|above| above.name.name == pipeline.name.name) {
                let message = format!("The pipeline '{}' extends itself", pipeline.name.name);
                self.error(Code::UnknownName, parent.span, message);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &'a Pipeline, budget: Option<Dict>, out: Reg) {
        self.state().open();
        if let Some(budget) = budget {
            self.within_budget(budget);
        }
        for param in &pipeline.params {
            if !self.host_names.contains(&param.name) {
                let register = self.declare(&param.name, false);
                self.load(Value::Nil, register);
            }
        }
        self.block(&pipeline.body, Some(out));
        self.state().close();
    }

    /// Whether code at the top of a script is being compiled, where a name may be declared again.
    pub(crate) fn is_script_top(&self) -> bool {
        self.is_entry && !self.is_in_pipeline && self.stack.len() == 1 && self.stack[0].scopes.len() == 1
    }

    /// The variable of the module that a declaration at its top sets.
    pub(crate) fn top_level_variable(&self, name: &str) -> Option<Meaning> {
        let is_top = self.stack.len() == 1 && self.stack[0].scopes.len() == 1 && !self.is_in_pipeline;
        let binding = self.scope.get(name).filter(|_| is_top)?;
        match binding.place {
            Place::Global(index) => Some(Meaning::Global { index, mutable: binding.mutable }),
            _ => None,
        }
    }

    /// Variables of a module are its functions' shared state. In the entry only those that never change are: the
    /// others are captured as they are.
    fn top_level_names(&mut self, body: &'a [Stmt], is_entry: bool) {
        for stmt in body {
            let registry;
            let (mutable, names) = match &stmt.kind {
                StmtKind::Bind { mutable, pattern, .. } => (*mutable, super::declare::bound_names(pattern)),
                StmtKind::Decl(Decl { kind: DeclKind::Tool(tool), .. }) => (false, vec![&tool.name]),
                StmtKind::Decl(Decl { kind: DeclKind::Skill(skill), .. }) => (false, vec![&skill.name]),
                StmtKind::Decl(Decl { kind: DeclKind::EvalPack(pack), .. }) => {
                    (false, pack.name.iter().collect())
                }
                StmtKind::Decl(decl) => {
                    let DeclKind::Function(function) = &decl.kind else { continue };
                    let Some((attribute, _)) = attribute::registration(decl) else { continue };
                    registry = attribute::registered_name(attribute, function);
                    (false, vec![&registry])
                }
                _ => continue,
            };
            for name in names {
                let is_own = is_entry && mutable && self.carried.is_none();
                if is_own || &*name.name == "_" {
                    self.scope.remove(&name.name);
                    continue;
                }
                let known = self.scope.get(&name.name).filter(|_| is_entry && self.carried.is_some());
                let index = match known.map(|binding| &binding.place) {
                    // What earlier entries say of it holds for the new one.
                    Some(Place::Global(index)) => *index,
                    _ => {
                        if matches!(stmt.kind, StmtKind::Bind { .. }) {
                            self.ahead.insert(self.program.globals);
                        }
                        self.program.globals += 1;
                        self.program.globals - 1
                    }
                };
                self.define(&name.name, Place::Global(index), mutable);
            }
        }
    }

    pub(super) fn define(&mut self, name: &Name, place: Place, mutable: bool) {
        let id = self.new_id();
        self.scope.insert(name.clone(), Binding { id, name: name.clone(), place, mutable, is_ahead: false });
    }

    /// Brings in what is imported; gives what is passed on.
    fn imports(&mut self, loaded: &'a Module, exports: &[Option<Exports>]) -> Exports {
        let own: HashSet<&Name> = (loaded.parsed.module.body.iter())
            .filter_map(|stmt| match &stmt.kind {
                StmtKind::Decl(Decl { kind: DeclKind::Function(function), .. }) => Some(&function.name.name),
                _ => None,
            })
            .collect();
        let mut passed_on = Exports::default();
        for stmt in &loaded.parsed.module.body {
            let StmtKind::Import(import) = &stmt.kind else { continue };
            let Some(target) = loaded.imports.get(&import.path) else { continue };
            let Some(offered) = exports[*target].clone() else { continue };
            let wanted = match &import.names {
                None => offered.offered(),
                Some(names) => self.selected(import, names, &offered),
            };
            let is_wanted = |name: &Name| match &import.names {
                None => true,
                Some(names) => names.iter().any(|wanted| wanted.name == *name),
            };
            for (name, home) in offered.types.into_iter().filter(|(name, _)| is_wanted(name)) {
                if import.public {
                    passed_on.types.insert(name.clone(), Arc::clone(&home));
                }
                self.types.imported.insert(name, home);
            }
            for (name, number) in wanted {
                let known = self.scope.get(&name).map(|binding| &binding.place);
                if known.is_some_and(|place| *place != Place::Function(number)) {
                    let message = format!(
                        "Import collision: '{name}' is already defined when importing {}. Use selective imports to \
                         disambiguate: import {{ {name} }} from \"...\"",
                        import.path
                    );
                    self.error(Code::Import, import.path_span, message);
                    continue;
                }
                // What the module itself defines hides what it imports, but cannot be passed on under one name.
                let is_own = own.contains(&name);
                if import.public && is_own {
                    let message = format!(
                        "Re-export collision: '{name}' is defined here and in {}, which is passed on",
                        import.path
                    );
                    self.error(Code::Import, import.path_span, message);
                } else if import.public {
                    passed_on.functions.insert(name.clone(), number);
                }
                if !is_own {
                    self.define(&name, Place::Function(number), false);
                }
            }
        }
        passed_on
    }

    fn selected(&mut self, import: &Import, names: &[Ident], offered: &Exports) -> Vec<(Name, u16)> {
        let mut found = Vec::new();
        for name in names {
            match offered.functions.get(&name.name) {
                Some(number) => found.push((name.name.clone(), *number)),
                None if offered.types.contains_key(&name.name) => {}
                // Something else that a module declares and does not give to others.
                None if name.name.starts_with(char::is_uppercase) => {}
                None => {
                    let message = format!("Import error: '{}' is not defined in {}", name.name, import.path);
                    self.error(Code::Import, name.span, message);
                }
            }
        }
        found
    }

    fn exports(&mut self, body: &[Stmt], passed_on: Exports) -> Exports {
        let mut exports = Exports { types: passed_on.types, ..Exports::default() };
        let home = Arc::new(self.types.clone());
        for stmt in body {
            let StmtKind::Decl(decl) = &stmt.kind else { continue };
            exports.types.extend(resolve::type_name(decl).map(|name| (name.clone(), Arc::clone(&home))));
            let Decl { kind: DeclKind::Function(function), public, .. } = decl else { continue };
            let name = &function.name.name;
            let hidden = attribute::callable_name(name);
            let binding = self.stack[0].find(&hidden, true).or_else(|| self.stack[0].find(name, true));
            if let Some(Place::Function(number)) = binding.map(|binding| &binding.place) {
                exports.functions.insert(name.clone(), *number);
                if *public {
                    exports.public.insert(name.clone());
                }
            }
        }
        for (name, number) in passed_on.functions {
            exports.public.insert(name.clone());
            exports.functions.insert(name, number);
        }
        exports
    }

    /// The types that a block declares, wherever it is.
    pub(crate) fn types_of_block(&mut self, body: &'a [Stmt]) {
        for stmt in body {
            if let StmtKind::Decl(decl) = &stmt.kind {
                self.types.declare(decl);
            }
        }
    }

    /// Those of the pipelines, functions and loops of a file too: they are known before they are declared.
    fn collect_types(&mut self, body: &'a [Stmt]) {
        let mut waiting: Vec<&'a [Stmt]> = vec![body];
        while let Some(body) = waiting.pop() {
            self.types_of_block(body);
            for stmt in body {
                match &stmt.kind {
                    StmtKind::Decl(Decl { kind: DeclKind::Pipeline(inner), .. }) => {
                        waiting.push(&inner.body.body)
                    }
                    StmtKind::Decl(Decl { kind: DeclKind::Function(inner), .. }) => {
                        waiting.push(&inner.body.body)
                    }
                    StmtKind::For { body, .. } | StmtKind::While { body, .. } => waiting.push(&body.body),
                    _ => {}
                }
            }
        }
    }
}

/// What a pipeline may spend.
fn budget_of(body: &[Stmt], pipeline: &Pipeline) -> Option<Dict> {
    body.iter().find_map(|stmt| match &stmt.kind {
        StmtKind::Decl(decl) => match &decl.kind {
            DeclKind::Pipeline(inner) if inner.name.name == pipeline.name.name => attribute::budget(decl),
            _ => None,
        },
        _ => None,
    })
}
