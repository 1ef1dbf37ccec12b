//! What a name means at a place: a variable, a function, a builtin, or nothing.

use super::function::{Binding, Place};
use super::*;
use crate::builtins;
use crate::syntax::ast::Ident;

/// What a name means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Meaning {
    /// A variable of the running function.
    Register {
        register: Reg,
        mutable: bool,
    },
    /// A variable of an enclosing function.
    Captured {
        id: u32,
        mutable: bool,
    },
    Global {
        index: u32,
        mutable: bool,
    },
    Function(u16),
    /// A named function of a block.
    Local(usize),
    Builtin(u16),
    Nothing,
}

impl<'a> Compiler<'a> {
    pub(crate) fn meaning(&self, name: &str) -> Meaning {
        let top = self.stack.len() - 1;
        for level in (0..=top).rev() {
            // The functions of a block see what is declared later in it; the code of the block does not.
            if let Some(binding) = self.stack[level].find(name, level < top) {
                return of_binding(binding, level == top);
            }
        }
        if let Some(binding) = self.scope.get(name) {
            return of_binding(binding, false);
        }
        if let Some(index) = self.host_names.iter().position(|known| &**known == name) {
            return Meaning::Global { index: u32::try_from(index).unwrap_or(u32::MAX), mutable: false };
        }
        if self.is_prelude
            && let Some(function) = self.prelude.get(name)
        {
            return Meaning::Function(*function);
        }
        let found = builtins::find(name).filter(|number| self.may_use(name, *number));
        found.map_or(Meaning::Nothing, Meaning::Builtin)
    }

    /// What the language is made of can undo what a program has forbidden itself. So nothing that is imported may use it,
    /// and only the language itself has what holds its state.
    fn may_use(&self, name: &str, number: u16) -> bool {
        self.is_of_language || !name.starts_with("__") || (self.is_entry && !builtins::is_of_machine(number))
    }

    /// What a name means where it is called: also a function that an enclosing block binds only further down.
    pub(crate) fn meaning_of_callee(&mut self, name: &str) -> Meaning {
        let meaning = self.meaning(name);
        if meaning != Meaning::Nothing {
            return meaning;
        }
        let top = self.stack.len() - 1;
        let next = self.program.globals;
        let outer = self.stack[..top].iter_mut().rev();
        let later = outer.flat_map(|state| state.later.iter_mut().rev()).find(|later| &*later.name == name);
        let Some(later) = later else { return Meaning::Nothing };
        let index = *later.global.get_or_insert(next);
        self.calls_later = true;
        self.program.globals += u32::from(index == next);
        Meaning::Global { index, mutable: false }
    }

    /// Reads a name into a register.
    pub(crate) fn read(&mut self, name: &Ident, dst: Reg) {
        let meaning = self.meaning(&name.name);
        self.read_meaning(name, meaning, dst);
    }

    pub(crate) fn read_meaning(&mut self, name: &Ident, meaning: Meaning, dst: Reg) {
        match meaning {
            Meaning::Register { register, .. } => {
                if register != dst {
                    self.emit(Op::Move { dst, src: register });
                }
            }
            Meaning::Captured { id, .. } => self.read_captured(id, dst),
            // Functions may run later; the code of the top level runs now.
            Meaning::Global { index, .. } if self.stack.len() == 1 && self.ahead.contains(&index) => {
                self.fail(format!("Undefined variable: {}", name.name));
            }
            Meaning::Global { index, .. } => {
                self.emit(Op::Global { dst, index });
            }
            Meaning::Function(number) => self.read_function(number, dst),
            Meaning::Local(at) => self.read_local(at, dst),
            Meaning::Builtin(number) => self.load(builtins::named_value(number), dst),
            // The skills that are installed are only looked for by programs that want them.
            Meaning::Nothing if &*name.name == "skills" => {
                let mark = self.state().next;
                let start = self.state().take_register();
                self.builtin("__skills_found", dst, start, 0);
                self.state().release(mark);
            }
            Meaning::Nothing if builtins::named_group(&name.name).is_some() => {
                self.load(builtins::named_group(&name.name).unwrap_or_default(), dst);
            }
            Meaning::Nothing if self.types.has_struct(&name.name) => {
                let number = self.constructor(&name.name);
                self.read_function(number, dst);
            }
            Meaning::Nothing => {
                let message = format!("Undefined variable: {}{}", name.name, self.suggestion(&name.name));
                self.fail(message);
            }
        }
    }

    pub(crate) fn read_captured(&mut self, id: u32, dst: Reg) {
        let index = self.state().captured(id);
        self.emit(Op::Capture { dst, index });
    }

    pub(crate) fn read_function(&mut self, number: u16, dst: Reg) {
        let params = Arc::clone(&self.program.functions[usize::from(number)].params);
        let closure = crate::value::Closure::new(u32::from(number), Box::new([]), params);
        self.load(Value::Closure(Arc::new(closure)), dst);
    }

    /// Makes a named function of a block, here and now.
    pub(crate) fn read_local(&mut self, at: usize, dst: Reg) {
        if self.state().itself == Some(at) {
            self.emit(Op::Itself { dst });
            return;
        }
        let (function, captures) = (self.locals[at].number, self.locals[at].captures.clone());
        self.make_closure(function, &captures, dst);
    }

    /// A closure of variables as they are here.
    pub(crate) fn make_closure(&mut self, function: u16, captures: &[u32], dst: Reg) {
        let mark = self.state().next;
        let start = self.state().take_registers(captures.len());
        for (offset, id) in captures.iter().enumerate() {
            let dst = after(start, offset);
            match self.state().register_of(*id) {
                Some(src) => {
                    self.emit(Op::Move { dst, src });
                }
                None => self.read_captured(*id, dst),
            }
        }
        self.emit(Op::Closure { dst, function, start });
        self.state().release(mark);
    }

    /// ` (did you mean `x`?)`, if something is near.
    pub(crate) fn suggestion(&mut self, name: &str) -> String {
        if self.suggestions == 0 {
            return String::new();
        }
        self.suggestions -= 1;
        let bound = self.stack.iter().flat_map(|state| &state.scopes).flat_map(|scope| &scope.bindings);
        let names = bound.map(|binding| &*binding.name).chain(self.scope.keys().map(|name| &**name));
        let names = names.chain(builtins::all().map(|builtin| builtin.name));
        // Those with `__` are the language's own.
        let near = crate::near::nearest(name, names.filter(|name| !name.starts_with("__")));
        near.map(|near| format!(" (did you mean `{near}`?)")).unwrap_or_default()
    }
}

fn of_binding(binding: &Binding, is_own: bool) -> Meaning {
    let mutable = binding.mutable;
    match binding.place {
        Place::Register(register) if is_own => Meaning::Register { register, mutable },
        Place::Register(_) => Meaning::Captured { id: binding.id, mutable },
        Place::Global(index) => Meaning::Global { index, mutable },
        Place::Function(number) => Meaning::Function(number),
        Place::Local(at) => Meaning::Local(at),
    }
}
