//! From a tree to a program: names become registers, blocks become jumps.
//!
//! Closures capture values when they are made. A named function is visible in its whole block; one that captures
//! nothing is a constant, any other is made anew wherever it is referred to, from variables as they are there (from
//! those that change, as they were when it was declared). So functions may call each other in any order, and no
//! value ever refers to itself. A closure calls itself by the name that it is bound to, and one that its block binds
//! only later through a variable of the program.

mod assign;
mod attribute;
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
pub(crate) mod resolve;
mod session;
mod statement;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

pub use crate::modules::{Loader, NoModules, PRELUDE};
pub(crate) use check::constant;
pub use check::{ParamCheck, Wanted, WantedField};
pub use module::{Settings, UnknownCalls, check, compile, skipped};
pub use session::{Session, Step};

use crate::bytecode::{Op, Program, Reg, VariantShape};
use crate::problem::{Code, Problem};
use crate::syntax::ast::Name;
use crate::syntax::span::Span;
use crate::value::{Text, Value};
use function::{Binding, FunctionState, LocalFunction, Place, after};
use resolve::Types;

/// So often the name that was meant is looked for.
const MAX_SUGGESTIONS: u32 = 100;

/// Everything that is known while a program is compiled.
pub(crate) struct Compiler<'a> {
    program: Program,
    /// The functions that are being compiled, the innermost one last.
    stack: Vec<FunctionState<'a>>,
    locals: Vec<LocalFunction>,
    /// What the module at hand declares at its top, and what it imports.
    scope: HashMap<Name, Binding>,
    /// The types that the module at hand can name.
    types: Types,
    /// How much of types may still be looked at.
    type_parts: Cell<u32>,
    module: u16,
    is_prelude: bool,
    /// It is one of the language's own modules, which may use what begins with `__`.
    is_of_language: bool,
    is_entry: bool,
    /// Variables of the top level whose statement is yet to come.
    ahead: HashSet<u32>,
    /// The functions that make structs, of those whose names are used as values.
    constructors: HashMap<Name, u16>,
    is_in_pipeline: bool,
    /// Only what is declared counts, nothing else is run: a module, or the top of a file with pipelines.
    is_declaring: bool,
    /// Some function shares its name with its registry.
    hides_functions: bool,
    /// Some function is called through a variable that its block binds further down.
    calls_later: bool,
    /// The variable that the closure to be compiled next is bound to: it may call itself by this name.
    itself: Option<Name>,
    problems: Vec<Problem>,
    next_id: u32,
    /// How often the name that was meant may still be looked for, which takes a look at every name.
    suggestions: u32,
    names: HashMap<Arc<str>, u16>,
    texts: HashMap<Arc<str>, u32>,
    /// The lists of keys of the program, as constants.
    key_lists: HashMap<Vec<u32>, u16>,
    variants: HashMap<VariantShape, u16>,
    /// Functions of a block whose variables are to be copied where they are declared, by their place in the tree.
    pending_snapshots: HashMap<usize, HashMap<u32, u32>>,
    /// Variables that a function saw before they were declared, and their copies: made when they are.
    late_snapshots: Vec<(u32, u32)>,
    /// Functions of the prelude by name.
    prelude: HashMap<Name, u16>,
    /// Names to which the host gives values; they are the first globals.
    host_names: Vec<Name>,
    /// A function that nothing defines is one of the host.
    leaves_unknown: bool,
    /// What earlier entries of a session left.
    carried: Option<session::Carried<'a>>,
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
        // A name and a constant of the same text are one, so that a look at where it is tells them equal.
        let text = match self.texts.get(name).and_then(|at| self.program.constants.get(*at as usize)) {
            Some(Value::Str(text)) => Arc::clone(text),
            _ => Arc::new(Text::new(name)),
        };
        self.program.names.push(text);
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
        let known = self.names.get(text).map(|name| Arc::clone(&self.program.names[usize::from(*name)]));
        let index = self.constant(known.map_or_else(|| Value::str(text), Value::Str));
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
        let shape = VariantShape { name: name.clone(), variant: variant.clone(), fields };
        if let Some(known) = self.variants.get(&shape) {
            return *known;
        }
        let number = u16::try_from(self.program.variants.len()).unwrap_or_else(|_| {
            self.error(Code::TooLarge, Span::default(), "The program has too many variants");
            0
        });
        self.program.variants.push(shape.clone());
        self.variants.insert(shape, number);
        number
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
