//! One function while it is compiled: its code, its registers and its scopes.

use std::collections::HashMap;
use std::sync::Arc;

use crate::bytecode::{Function, Op, Reg};
use crate::syntax::ast::{Block, Name, TypeParam};
use crate::value::Dict;

/// The register so many places after another. There may be none any more; then the function is refused as too large.
pub fn after(first: Reg, offset: usize) -> Reg {
    Reg::try_from(offset).map_or(Reg::MAX, |offset| first.saturating_add(offset))
}

/// Where a variable is.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    Register(Reg),
    /// A variable of a module.
    Global(u32),
    /// A function of the program that captures nothing.
    Function(u16),
    /// A named function of an enclosing block, made anew wherever it is referred to.
    Local(usize),
}

#[derive(Clone, Debug)]
pub struct Binding {
    /// Unique in the program, so that a captured variable is never mistaken for one that shadows it.
    pub id: u32,
    pub name: Name,
    pub place: Place,
    pub mutable: bool,
    /// Reserved for a declaration that comes later: only the functions of the block see it.
    pub is_ahead: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Scope {
    /// In the order of their ids.
    pub bindings: Vec<Binding>,
    /// The places of those of a name, the last one last.
    by_name: hashbrown::HashMap<Name, Vec<usize>>,
    first_register: Reg,
}

/// What has to happen when code is left early.
#[derive(Clone, Debug)]
pub enum Cleanup<'a> {
    /// An error handler is in place.
    Unguard,
    /// A block is to be run: `finally`.
    Run(&'a Block),
    EndDeadline,
    /// A permit in a register is to be given back.
    Release(Reg),
    /// A caught error is remembered.
    Forget,
}

pub struct Loop {
    /// Jumps to its end that still need their target.
    pub breaks: Vec<usize>,
    /// Where `continue` goes.
    pub start: u32,
    /// How many cleanups were there when it began.
    pub cleanups: usize,
    /// The first register of its own variables.
    pub first: Reg,
    /// Something in it is deferred so far.
    pub has_defer: bool,
}

/// A variable that is bound to a function further down. One that was made before may call it by its name.
pub struct Later {
    pub name: Name,
    /// The variable of the program through which it is called, if anybody does.
    pub global: Option<u32>,
}

/// A named function of a block that has to be made where it is used.
pub struct LocalFunction {
    pub number: u16,
    /// The variables that it captures, by id.
    pub captures: Vec<u32>,
}

pub struct FunctionState<'a> {
    pub function: Function,
    pub scopes: Vec<Scope>,
    /// Variables of enclosing functions that it uses, by id.
    pub captures: Vec<u32>,
    /// Changing variables that a named function saw as they were when it was declared: their copies.
    pub snapshots: HashMap<u32, u32>,
    /// Variables of the open blocks that will be bound to functions.
    pub later: Vec<Later>,
    pub loops: Vec<Loop>,
    pub cleanups: Vec<Cleanup<'a>>,
    /// Its own number as a local function, for recursion.
    pub itself: Option<usize>,
    /// The variable that it was bound to, if it refers to itself by it.
    pub own_name: Option<Name>,
    /// The names that stand for types in it; they hide declared types.
    pub type_params: &'a [TypeParam],
    pub has_defer: bool,
    /// What calls of it may spend.
    pub budget: Option<Dict>,
    /// Its last statement is its value.
    pub gives_last: bool,
    pub next: Reg,
    /// Registers below this one are never given back: a deferred block reads them when the function ends.
    pub pinned: Reg,
    place: u32,
    pub is_too_large: bool,
}

impl<'a> FunctionState<'a> {
    pub fn new(name: Name, params: Arc<[Arc<str>]>, module: u16) -> Self {
        let function = Function { name, params, module, ..Function::default() };
        Self {
            function,
            scopes: vec![Scope::default()],
            captures: Vec::new(),
            snapshots: HashMap::new(),
            later: Vec::new(),
            loops: Vec::new(),
            cleanups: Vec::new(),
            itself: None,
            own_name: None,
            type_params: &[],
            has_defer: false,
            budget: None,
            gives_last: false,
            next: 0,
            pinned: 0,
            place: 0,
            is_too_large: false,
        }
    }

    /// Instructions from here on belong to this place of the source.
    pub fn at(&mut self, offset: u32) {
        self.place = offset;
    }

    pub fn place(&self) -> u32 {
        self.place
    }

    pub fn emit(&mut self, op: Op) -> usize {
        self.function.code.push(op);
        self.function.places.push(self.place);
        self.function.code.len() - 1
    }

    pub fn here(&self) -> u32 {
        u32::try_from(self.function.code.len()).unwrap_or(u32::MAX)
    }

    /// A jump whose target is filled in by `land`.
    pub fn jump(&mut self) -> usize {
        self.emit(Op::Jump { to: u32::MAX })
    }

    /// Lets a jump, or any instruction with a target, lead here.
    pub fn land(&mut self, at: usize) {
        let here = self.here();
        match &mut self.function.code[at] {
            Op::Jump { to }
            | Op::JumpIf { to, .. }
            | Op::JumpUnless { to, .. }
            | Op::JumpIfNil { to, .. }
            | Op::JumpUnlessNil { to, .. }
            | Op::Guard { to, .. }
            | Op::Defer { to, .. } => *to = here,
            _ => {}
        }
    }

    pub fn take_register(&mut self) -> Reg {
        let register = self.next;
        match self.next.checked_add(1) {
            Some(next) if next < u16::MAX - 300 => self.next = next,
            _ => self.is_too_large = true,
        }
        self.function.registers = self.function.registers.max(self.next);
        register
    }

    pub fn take_registers(&mut self, count: usize) -> Reg {
        let first = self.next;
        for _ in 0..count {
            self.take_register();
        }
        first
    }

    /// Gives back every register from this one on.
    pub fn release(&mut self, mark: Reg) {
        self.next = mark.max(self.pinned);
    }

    pub fn open(&mut self) {
        self.scopes.push(Scope { first_register: self.next, ..Scope::default() });
    }

    pub fn close(&mut self) {
        if let Some(scope) = self.scopes.pop() {
            self.release(scope.first_register);
        }
    }

    pub fn bind(&mut self, binding: Binding) {
        if let Some(scope) = self.scopes.last_mut() {
            debug_assert!(scope.bindings.last().is_none_or(|last| last.id < binding.id));
            scope.by_name.entry(binding.name.clone()).or_default().push(scope.bindings.len());
            scope.bindings.push(binding);
        }
    }

    /// The register of a variable of this function.
    pub fn register_of(&self, id: u32) -> Option<Reg> {
        match self.binding(id)?.place {
            Place::Register(register) => Some(register),
            _ => None,
        }
    }

    /// Whether a variable of this function is reserved, but not declared yet.
    pub fn is_ahead(&self, id: u32) -> bool {
        self.binding(id).is_some_and(|binding| binding.is_ahead)
    }

    fn binding(&self, id: u32) -> Option<&Binding> {
        self.scopes.iter().rev().find_map(|scope| {
            let at = scope.bindings.binary_search_by_key(&id, |binding| binding.id).ok()?;
            scope.bindings.get(at)
        })
    }

    pub fn find(&self, name: &str, ahead: bool) -> Option<&Binding> {
        let visible = |binding: &&Binding| ahead || !binding.is_ahead;
        self.scopes.iter().rev().find_map(|scope| {
            let places = scope.by_name.get(name)?;
            places.iter().rev().map(|at| &scope.bindings[*at]).find(visible)
        })
    }

    /// The binding of this name in the innermost scope.
    pub fn find_here(&mut self, name: &str) -> Option<&mut Binding> {
        let scope = self.scopes.last_mut()?;
        let at = *scope.by_name.get(name)?.last()?;
        scope.bindings.get_mut(at)
    }

    /// The number under which a variable is captured.
    pub fn captured(&mut self, id: u32) -> u16 {
        let id = self.snapshots.get(&id).copied().unwrap_or(id);
        let at = self.captures.iter().position(|known| *known == id).unwrap_or_else(|| {
            self.captures.push(id);
            self.captures.len() - 1
        });
        u16::try_from(at).unwrap_or(u16::MAX)
    }
}
