//! The modules of a program: reading the entry and whatever it imports.

use std::collections::HashMap;
use std::sync::Arc;

use crate::bytecode::Source;
use crate::problem::{Code, Problem};
use crate::syntax::ast::StmtKind;
use crate::syntax::span::Span;
use crate::syntax::{Parsed, parse};

/// Where the text of an imported module comes from.
pub trait Loader {
    /// The name and the text of a module, as seen from the one that imports it. The error says why there is none.
    fn load(&self, path: &str, from: &str) -> Result<Source, String>;

    /// A part of the language that is written in itself, as it was when the program was taken down: a standard module,
    /// or what the program can reach of the prelude. None where it is that of this version.
    fn language(&self, _name: &str) -> Option<Source> {
        None
    }
}

/// The name of the prelude among the sources of a program.
pub const PRELUDE: &str = "prelude";

/// For programs that import nothing but the standard modules.
pub struct NoModules;

impl Loader for NoModules {
    fn load(&self, path: &str, _from: &str) -> Result<Source, String> {
        Err(format!("Import error: cannot read '{path}': there are no files here"))
    }
}

/// A module that was read, and the modules that it imports, by path.
pub(crate) struct Module {
    pub source: Source,
    pub parsed: Parsed,
    pub imports: HashMap<Arc<str>, usize>,
}

/// All modules of a program: the prelude, the entry, and then what they import, in the order in which it was found.
pub(crate) struct Modules {
    pub modules: Vec<Module>,
    pub problems: Vec<Problem>,
}

impl Modules {
    pub fn read(prelude: Source, entry: Source, loader: &dyn Loader) -> Self {
        let mut reader = Reader { loader, modules: Vec::new(), problems: Vec::new(), known: HashMap::new() };
        reader.read(prelude);
        reader.read(entry);
        Self { modules: reader.modules, problems: reader.problems }
    }
}

impl Modules {
    /// A program, and as much of the prelude as it can reach.
    pub fn of_program(entry: Source, loader: &dyn Loader) -> Self {
        if let Some(prelude) = loader.language(PRELUDE) {
            return Self::read(prelude, entry, loader);
        }
        let nothing = Source { name: PRELUDE.into(), text: "".into() };
        let mut all = Self::read(nothing, entry, loader);
        if let Some((prelude, others)) = all.modules.split_first_mut() {
            let text = crate::prelude::reached(others.iter().map(|module| &*module.source.text));
            prelude.source.text = text.into();
            prelude.parsed = parse(&prelude.source.text);
        }
        all
    }
}

struct Reader<'l> {
    loader: &'l dyn Loader,
    modules: Vec<Module>,
    known: HashMap<Arc<str>, usize>,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    /// Reads a module and whatever it imports, without recursion.
    fn read(&mut self, source: Source) {
        let mut waiting = vec![self.add(source)];
        while let Some(at) = waiting.pop() {
            let module = u16::try_from(at).unwrap_or(u16::MAX);
            let wanted: Vec<(Arc<str>, Span)> = (self.modules[at].parsed.module.body.iter())
                .filter_map(|stmt| match &stmt.kind {
                    StmtKind::Import(import) => Some((import.path.clone(), import.path_span)),
                    _ => None,
                })
                .collect();
            for (path, span) in wanted {
                let from = self.modules[at].source.name.clone();
                let source = match (self.loader.language(&path), crate::stdlib::source(&path)) {
                    (Some(recorded), _) => Ok(recorded),
                    (None, Some(source)) => source,
                    (None, None) => self.loader.load(&path, &from),
                };
                match source {
                    Ok(source) => {
                        let known = self.known.get(&source.name).copied();
                        let target = known.unwrap_or_else(|| {
                            let target = self.add(source);
                            waiting.push(target);
                            target
                        });
                        self.modules[at].imports.insert(path, target);
                    }
                    Err(message) => self.problems.push(Problem::new(Code::Import, message, span, module)),
                }
            }
        }
    }

    fn add(&mut self, source: Source) -> usize {
        let parsed = parse(&source.text);
        let at = self.modules.len();
        let module = u16::try_from(at).unwrap_or(u16::MAX);
        self.problems.extend(parsed.errors.iter().map(|error| Problem {
            code: Code::Syntax,
            message: error.message.clone(),
            span: error.span,
            module,
            help: error.help.clone(),
        }));
        self.known.insert(source.name.clone(), at);
        self.modules.push(Module { source, parsed, imports: HashMap::new() });
        at
    }
}

/// The prelude first, the entry last, every other module after what it imports; cycles are ignored.
pub(crate) fn order(modules: &[Module]) -> Vec<usize> {
    let mut done = vec![false; modules.len()];
    let mut order = Vec::new();
    for root in [0, 1] {
        let mut path = vec![(root, false)];
        while let Some((at, is_left)) = path.pop() {
            if is_left {
                order.push(at);
            } else if !std::mem::replace(&mut done[at], true) {
                path.push((at, true));
                let mut next: Vec<usize> = modules[at].imports.values().copied().collect();
                next.sort_unstable();
                path.extend(next.into_iter().rev().map(|at| (at, false)));
            }
        }
    }
    order
}
