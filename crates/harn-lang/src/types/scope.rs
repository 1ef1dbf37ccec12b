//! The names that are visible at a place, and what is known there about the variables among them.
//!
//! What is known changes along the flow of the program: conditions narrow, assignments reset. Every change is kept
//! in a log, so that a branch is undone by going back through it, and nothing is copied when a block begins.

use std::rc::Rc;

use hashbrown::{HashMap, HashSet};

use super::decls::Signature;
use super::ty::{DeclId, NIL, Ty};
use crate::syntax::ast::Name;

pub type SymbolId = usize;

/// Fields of a variable about which something is known; what was found out first is forgotten first.
const MAX_FIELDS: usize = 32;

pub struct Symbol {
    pub kind: SymbolKind,
}

pub enum SymbolKind {
    Variable(Variable),
    Function(Rc<Signature>),
    /// Something without a type to check.
    Other,
}

pub struct Variable {
    /// Whether its type was written down.
    pub is_declared: bool,
    pub mutable: bool,
    /// What it is declared as, or all that was assigned to it so far.
    pub base: Ty,
    flow: Flow,
}

/// What is known about a variable at this point.
#[derive(Clone, Default)]
struct Flow {
    /// None: no more than its base.
    current: Option<Ty>,
    /// What is known about fields of it.
    fields: Vec<(Rc<[Name]>, Ty)>,
    /// How deep the function is nested that found it out.
    level: usize,
}

#[derive(Clone, Copy, PartialEq)]
enum Change {
    Narrowed,
    Assigned,
}

struct Entry {
    symbol: SymbolId,
    before: Flow,
    change: Change,
}

/// Where a branch begins.
#[derive(Clone, Copy)]
pub struct Mark {
    log: usize,
    symbols: usize,
}

/// What a branch found out about variables that outlive it.
pub struct Branch {
    pub exits: bool,
    touched: Vec<(SymbolId, Flow, Change)>,
}

#[derive(Default)]
pub struct Scope {
    pub symbols: Vec<Symbol>,
    by_name: HashMap<Name, Vec<SymbolId>>,
    types: HashMap<Name, Vec<DeclId>>,
    /// What the open blocks have brought in, and where each began.
    opened: Vec<Brought>,
    blocks: Vec<usize>,
    log: Vec<Entry>,
    /// How deep functions are nested here.
    pub level: usize,
    /// Every name that the module binds somewhere.
    pub bound: HashSet<Name>,
}

enum Brought {
    Symbol(Name),
    Type(Name),
}

impl Scope {
    pub fn open(&mut self) {
        self.blocks.push(self.opened.len());
    }

    pub fn close(&mut self) {
        let start = self.blocks.pop().unwrap_or(0);
        for brought in self.opened.drain(start..) {
            match brought {
                Brought::Symbol(name) => drop(self.by_name.get_mut(&name).and_then(Vec::pop)),
                Brought::Type(name) => drop(self.types.get_mut(&name).and_then(Vec::pop)),
            }
        }
    }

    pub fn bind(&mut self, name: &Name, kind: SymbolKind) {
        if &**name == "_" {
            return;
        }
        self.bound.insert(name.clone());
        self.symbols.push(Symbol { kind });
        self.by_name.entry(name.clone()).or_default().push(self.symbols.len() - 1);
        self.opened.push(Brought::Symbol(name.clone()));
    }

    /// A variable whose type is what was written, or what it begins with.
    pub fn variable(&mut self, name: &Name, declared: Option<Ty>, begins: Ty, mutable: bool) {
        let is_declared = declared.is_some();
        let base = declared.unwrap_or_else(|| begins.kept());
        let flow = Flow { level: self.level, ..Flow::default() };
        self.bind(name, SymbolKind::Variable(Variable { is_declared, mutable, base, flow }));
    }

    pub fn type_name(&mut self, name: &Name, decl: DeclId) {
        self.types.entry(name.clone()).or_default().push(decl);
        self.opened.push(Brought::Type(name.clone()));
    }

    pub fn find(&self, name: &str) -> Option<SymbolId> {
        self.by_name.get(name)?.last().copied()
    }

    pub fn find_type(&self, name: &str) -> Option<DeclId> {
        self.types.get(name)?.last().copied()
    }

    /// The names that are visible, for suggestions.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.iter().filter(|(_, ids)| !ids.is_empty()).map(|(name, _)| &**name)
    }

    pub fn type_names(&self) -> impl Iterator<Item = &str> {
        self.types.iter().filter(|(_, ids)| !ids.is_empty()).map(|(name, _)| &**name)
    }

    fn known(&self, symbol: SymbolId) -> Option<&Variable> {
        match &self.symbols[symbol].kind {
            SymbolKind::Variable(variable) => Some(variable),
            _ => None,
        }
    }

    /// What is known about a variable here; none if it is not one.
    pub fn current(&self, symbol: SymbolId) -> Option<Ty> {
        let variable = self.known(symbol)?;
        if variable.flow.level == self.level {
            return Some(variable.flow.current.clone().unwrap_or_else(|| variable.base.clone()));
        }
        // Seen from a function within: it may have changed by the time of the call.
        Some(if variable.mutable && !variable.is_declared { Ty::Hole } else { variable.base.clone() })
    }

    /// What is known about a field of a variable, or a field of a field.
    pub fn current_field(&self, symbol: SymbolId, path: &[Name]) -> Option<&Ty> {
        let flow = &self.known(symbol)?.flow;
        let mut found = flow.fields.iter().rev().filter(|_| flow.level == self.level);
        found.find(|(known, _)| **known == *path).map(|(_, ty)| ty)
    }

    fn change(&mut self, symbol: SymbolId, change: Change, apply: impl FnOnce(&mut Flow)) {
        let level = self.level;
        let SymbolKind::Variable(variable) = &mut self.symbols[symbol].kind else { return };
        self.log.push(Entry { symbol, before: variable.flow.clone(), change });
        if variable.flow.level != level {
            variable.flow = Flow { level, ..Flow::default() };
        }
        apply(&mut variable.flow);
    }

    pub fn narrow(&mut self, symbol: SymbolId, path: &[Name], ty: Ty) {
        self.change(symbol, Change::Narrowed, |flow| {
            if path.is_empty() {
                flow.current = Some(ty);
            } else {
                flow.fields.retain(|(known, _)| **known != *path);
                if flow.fields.len() >= MAX_FIELDS {
                    flow.fields.remove(0);
                }
                flow.fields.push((path.into(), ty));
            }
        });
    }

    /// A new value; what was known before does not hold any more.
    pub fn assign(&mut self, symbol: SymbolId, known: Option<Ty>) {
        self.change(symbol, Change::Assigned, |flow| {
            flow.current = known;
            flow.fields.clear();
        });
    }

    /// A variable without a declared type has one more type.
    pub fn widen(&mut self, symbol: SymbolId, base: Ty) {
        if let SymbolKind::Variable(variable) = &mut self.symbols[symbol].kind
            && !variable.is_declared
        {
            variable.base = base;
        }
    }

    /// Before code that may run again, or was left somewhere: these are assigned to in it.
    pub fn forget(&mut self, assigned: &[Name]) {
        for name in assigned {
            if let Some(symbol) = self.find(name)
                && let Some(variable) = self.known(symbol)
            {
                // Begun as nil and given its value in a loop: it may have any.
                if !variable.is_declared && variable.base == NIL {
                    self.widen(symbol, Ty::Hole);
                }
                self.assign(symbol, None);
            }
        }
    }

    pub fn mark(&self) -> Mark {
        Mark { log: self.log.len(), symbols: self.symbols.len() }
    }

    /// Goes back to where the branch began.
    pub fn rewind(&mut self, mark: Mark, exits: bool) -> Branch {
        let mut touched: Vec<(SymbolId, Flow, Change)> = Vec::new();
        let mut at: HashMap<SymbolId, usize> = HashMap::new();
        for Entry { symbol, before, change } in self.log.drain(mark.log..).rev() {
            let SymbolKind::Variable(variable) = &mut self.symbols[symbol].kind else { continue };
            let after = std::mem::replace(&mut variable.flow, before);
            if symbol >= mark.symbols {
                continue;
            }
            match at.get(&symbol) {
                Some(known) if change == Change::Assigned => touched[*known].2 = change,
                Some(_) => {}
                None => {
                    at.insert(symbol, touched.len());
                    touched.push((symbol, after, change));
                }
            }
        }
        touched.reverse();
        Branch { exits, touched }
    }

    /// What is known where branches meet again.
    pub fn merge(&mut self, branches: &[Branch]) {
        let live: Vec<&Branch> = branches.iter().filter(|branch| !branch.exits).collect();
        if let [only] = live[..] {
            for (symbol, flow, change) in &only.touched {
                self.change(*symbol, *change, |into| *into = flow.clone());
            }
            return;
        }
        let mut done: HashSet<SymbolId> = HashSet::new();
        for branch in &live {
            for (symbol, _, change) in &branch.touched {
                if *change == Change::Assigned && done.insert(*symbol) {
                    let met = self.met(*symbol, &live);
                    self.assign(*symbol, met);
                }
            }
        }
    }

    fn met(&self, symbol: SymbolId, live: &[&Branch]) -> Option<Ty> {
        let variable = self.known(symbol)?;
        let at_end = |branch: &&Branch| {
            let flow =
                branch.touched.iter().find(|(touched, ..)| *touched == symbol).map(|(_, flow, _)| flow);
            let current = flow.unwrap_or(&variable.flow).current.clone();
            current.unwrap_or_else(|| variable.base.clone())
        };
        let met = Ty::union(live.iter().map(at_end));
        let has_all = met.members().len() == variable.base.members().len()
            && met.members().iter().all(|member| variable.base.members().contains(member));
        if has_all { None } else { Some(met) }
    }
}
