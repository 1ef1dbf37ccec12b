//! What modules give to each other: functions, and types for the checker.

use hashbrown::{HashMap, HashSet};

use super::scope::SymbolKind;
use super::ty::DeclId;
use super::{Checker, Sig};
use crate::modules::Module;
use crate::syntax::ast::{Decl, DeclKind, Name, StmtKind};

/// What a module gives to others.
#[derive(Clone, Default)]
pub struct Exports {
    functions: HashMap<Name, Sig>,
    types: HashMap<Name, DeclId>,
    /// The functions that come when nobody asks for single ones; if there are none, all do.
    public: HashSet<Name>,
}

impl Exports {
    fn offers(&self, name: &Name) -> bool {
        self.public.is_empty() || self.public.contains(name)
    }
}

impl<'a> Checker<'a> {
    pub(super) fn imports(&mut self, module: &'a Module) {
        self.knows_imports = true;
        for stmt in &module.parsed.module.body {
            let StmtKind::Import(import) = &stmt.kind else { continue };
            let target = module.imports.get(&import.path);
            let Some(exports) = target.and_then(|target| self.exports.get(target)).cloned() else {
                // The other end of a cycle, or a module that could not be read.
                self.knows_imports = false;
                continue;
            };
            match &import.names {
                None => {
                    for (name, signature) in exports.functions.iter().filter(|(name, _)| exports.offers(name))
                    {
                        self.scope.bind(name, SymbolKind::Function(signature.clone()));
                    }
                    exports.types.iter().for_each(|(name, id)| self.scope.type_name(name, *id));
                }
                Some(names) => {
                    for name in names.iter().map(|name| &name.name) {
                        if let Some(signature) = exports.functions.get(name) {
                            self.scope.bind(name, SymbolKind::Function(signature.clone()));
                        }
                        if let Some(id) = exports.types.get(name) {
                            self.scope.type_name(name, *id);
                        }
                    }
                }
            }
        }
    }

    /// Remembers what the module offers, now that its names are known.
    pub(super) fn export(&mut self, at: usize, module: &'a Module) {
        let mut exports = Exports::default();
        for stmt in &module.parsed.module.body {
            match &stmt.kind {
                StmtKind::Import(import) if import.public => {
                    let target = module.imports.get(&import.path).and_then(|target| self.exports.get(target));
                    let Some(passed) = target.cloned() else { continue };
                    let is_wanted = |name: &Name| match &import.names {
                        None => passed.offers(name),
                        Some(names) => names.iter().any(|wanted| wanted.name == *name),
                    };
                    for (name, signature) in passed.functions.iter().filter(|(name, _)| is_wanted(name)) {
                        exports.public.insert(name.clone());
                        exports.functions.insert(name.clone(), signature.clone());
                    }
                    let is_wanted_type = |name: &Name| {
                        import.names.as_ref().is_none_or(|names| names.iter().any(|n| n.name == *name))
                    };
                    let types = passed.types.iter().filter(|(name, _)| is_wanted_type(name));
                    exports.types.extend(types.map(|(name, id)| (name.clone(), *id)));
                }
                StmtKind::Decl(decl) => self.export_decl(decl, &mut exports),
                _ => {}
            }
        }
        self.exports.insert(at, exports);
    }

    fn export_decl(&self, decl: &Decl, exports: &mut Exports) {
        let name = match &decl.kind {
            DeclKind::Function(inner) => {
                let name = &inner.name.name;
                if let Some(symbol) = self.scope.find(name)
                    && let SymbolKind::Function(signature) = &self.scope.symbols[symbol].kind
                {
                    exports.functions.insert(name.clone(), signature.clone());
                    if decl.public {
                        exports.public.insert(name.clone());
                    }
                }
                return;
            }
            DeclKind::Struct(inner) => &inner.name.name,
            DeclKind::Enum(inner) => &inner.name.name,
            DeclKind::Interface(inner) => &inner.name.name,
            DeclKind::Alias(inner) => &inner.name.name,
            _ => return,
        };
        if let Some(id) = self.scope.find_type(name) {
            exports.types.insert(name.clone(), id);
        }
    }
}
