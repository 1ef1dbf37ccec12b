//! From a tree to a program: names become registers, blocks become jumps.
//!
//! Closures capture values when they are made. A named function is visible in its whole block; one that captures
//! nothing is a constant, any other is made anew wherever it is referred to, from variables as they are there (from
//! those that change, as they were when it was declared). So functions may call each other in any order, and no
//! value ever refers to itself.

mod assign;
mod call;
mod check;
mod control;
mod declare;
mod expression;
mod free;
mod function;
mod matching;
mod module;
mod names;
mod pattern;
mod statement;

use std::collections::HashMap;
use std::sync::Arc;

pub use crate::modules::{Loader, NoModules};
pub use check::{ParamCheck, Wanted, WantedField};
pub use module::{Settings, check, compile};

use crate::bytecode::{Op, Program, Reg};
use crate::problem::{Code, Problem};
use crate::syntax::ast::Name;
use crate::syntax::span::Span;
use crate::value::{Text, Value};
use function::{Binding, FunctionState, LocalFunction, Place};

/// Everything that is known while a program is compiled.
pub(crate) struct Compiler<'a> {
    program: Program,
    /// The functions that are being compiled, the innermost one last.
    stack: Vec<FunctionState<'a>>,
    locals: Vec<LocalFunction>,
    /// What the module at hand declares at its top, and what it imports.
    scope: HashMap<Name, Binding>,
    /// Enums of the module at hand with their variants.
    enums: HashMap<Name, Vec<(Name, u16)>>,
    structs: HashMap<Name, ()>,
    interfaces: HashMap<Name, ()>,
    aliases: HashMap<Name, &'a crate::syntax::ast::Alias>,
    module: u16,
    is_prelude: bool,
    is_entry: bool,
    is_in_pipeline: bool,
    problems: Vec<Problem>,
    next_id: u32,
    names: HashMap<Arc<str>, u16>,
    texts: HashMap<Arc<str>, u32>,
    /// Functions of a block whose variables are to be copied where they are declared, by their place in the tree.
    pending_snapshots: HashMap<usize, HashMap<u32, u32>>,
    /// Functions of the prelude by name.
    prelude: HashMap<Name, u16>,
    /// Names to which the host gives values; they are the first globals.
    host_names: Vec<Name>,
}

impl<'a> Compiler<'a> {
    fn state(&mut self) -> &mut FunctionState<'a> {
        let top = self.stack.len() - 1;
        &mut self.stack[top]
    }

    fn emit(&mut self, op: Op) -> usize {
        self.state().emit(op)
    }

    fn error(&mut self, code: Code, span: Span, message: impl Into<String>) {
        self.problems.push(Problem::new(code, message, span, self.module));
    }

    fn new_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    /// The number of a name in the program.
    fn name(&mut self, name: &str) -> u16 {
        if let Some(known) = self.names.get(name) {
            return *known;
        }
        let number = u16::try_from(self.program.names.len()).unwrap_or_else(|_| {
            self.error(Code::TooLarge, Span::default(), "The program has too many different names");
            0
        });
        self.program.names.push(Arc::new(Text::new(name)));
        self.names.insert(name.into(), number);
        number
    }

    fn constant(&mut self, value: Value) -> u32 {
        self.program.constants.push(value);
        u32::try_from(self.program.constants.len() - 1).unwrap_or(u32::MAX)
    }

    /// A constant text; equal ones are kept once.
    fn text(&mut self, text: &str) -> u32 {
        if let Some(known) = self.texts.get(text) {
            return *known;
        }
        let index = self.constant(Value::str(text));
        self.texts.insert(text.into(), index);
        index
    }

    fn load(&mut self, value: Value, dst: Reg) {
        let op = match value {
            Value::Nil => Op::Nil { dst },
            Value::Bool(value) => Op::Bool { dst, value },
            Value::Int(value) if i32::try_from(value).is_ok() => Op::Int { dst, value: value as i32 },
            Value::Str(text) => Op::Const { dst, index: self.text(text.as_str()) },
            other => Op::Const { dst, index: self.constant(other) },
        };
        self.emit(op);
    }

    /// Code that fails with this text when it is reached.
    fn fail(&mut self, message: impl AsRef<str>) {
        let index = self.text(message.as_ref());
        self.emit(Op::Fail { index });
    }

    fn variant(&mut self, name: &Name, variant: &Name, fields: u16) -> u16 {
        let shape = crate::bytecode::VariantShape { name: name.clone(), variant: variant.clone(), fields };
        let known = self.program.variants.iter().position(|known| *known == shape);
        let at = known.unwrap_or_else(|| {
            self.program.variants.push(shape);
            self.program.variants.len() - 1
        });
        u16::try_from(at).unwrap_or(u16::MAX)
    }

    /// A variable of the running function in a register of its own.
    fn declare(&mut self, name: &Name, mutable: bool) -> Reg {
        let id = self.new_id();
        let state = self.state();
        let register = state.take_register();
        state.bind(Binding {
            id,
            name: name.clone(),
            place: Place::Register(register),
            mutable,
            is_ahead: false,
        });
        register
    }
}
