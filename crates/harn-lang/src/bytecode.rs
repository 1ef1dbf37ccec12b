//! What the compiler makes of a program: instructions over registers, eight bytes each.
//!
//! A call's arguments stand in neighbouring registers of the caller, and these become the first registers of the
//! callee. A test is followed by a jump, which is taken when the test fails.

use std::sync::Arc;

use crate::value::{Text, Value};

/// A register of the running function.
pub type Reg = u16;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Op {
    Nil {
        dst: Reg,
    },
    Bool {
        dst: Reg,
        value: bool,
    },
    Int {
        dst: Reg,
        value: i32,
    },
    Const {
        dst: Reg,
        index: u32,
    },
    /// A copy.
    Move {
        dst: Reg,
        src: Reg,
    },
    /// The value goes over; nil stays behind.
    Take {
        dst: Reg,
        src: Reg,
    },
    /// A value that the function captured when it was made.
    Capture {
        dst: Reg,
        index: u16,
    },
    /// The running function itself.
    Itself {
        dst: Reg,
    },
    Global {
        dst: Reg,
        index: u32,
    },
    SetGlobal {
        src: Reg,
        index: u32,
    },
    /// A closure; what it captures stands in the registers from `start` on.
    Closure {
        dst: Reg,
        function: u16,
        start: Reg,
    },

    Add {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    /// `dst = dst + b`, in place where nobody else has the value.
    Append {
        dst: Reg,
        b: Reg,
    },
    AddInt {
        dst: Reg,
        a: Reg,
        value: i16,
    },
    Subtract {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    SubtractInt {
        dst: Reg,
        a: Reg,
        value: i16,
    },
    Multiply {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Divide {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Modulo {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    ModuloInt {
        dst: Reg,
        a: Reg,
        value: i16,
    },
    Power {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Negate {
        dst: Reg,
        a: Reg,
    },
    Not {
        dst: Reg,
        a: Reg,
    },
    Equal {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    EqualInt {
        dst: Reg,
        a: Reg,
        value: i16,
    },
    NotEqual {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Less {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    LessEqual {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    In {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    /// Truthiness as a bool.
    Truth {
        dst: Reg,
        a: Reg,
    },

    Jump {
        to: u32,
    },
    JumpIf {
        a: Reg,
        to: u32,
    },
    JumpUnless {
        a: Reg,
        to: u32,
    },
    JumpIfNil {
        a: Reg,
        to: u32,
    },
    JumpUnlessNil {
        a: Reg,
        to: u32,
    },
    TestEqual {
        a: Reg,
        b: Reg,
    },
    TestNotEqual {
        a: Reg,
        b: Reg,
    },
    TestLess {
        a: Reg,
        b: Reg,
    },
    TestLessEqual {
        a: Reg,
        b: Reg,
    },
    TestLessInt {
        a: Reg,
        value: i16,
    },
    TestMoreInt {
        a: Reg,
        value: i16,
    },
    TestEqualInt {
        a: Reg,
        value: i16,
    },
    /// Goes on where the caller gave this argument; else jumps to the code of its default.
    TestGiven {
        index: u16,
    },

    /// Of the registers from `start` on, which are left nil.
    List {
        dst: Reg,
        start: Reg,
        count: u16,
    },
    EmptyDict {
        dst: Reg,
    },
    /// A dict of known keys: the values stand in the order of the keys.
    Dict {
        dst: Reg,
        start: Reg,
        keys: u16,
    },
    Push {
        list: Reg,
        src: Reg,
    },
    /// Each item of a list.
    PushAll {
        list: Reg,
        src: Reg,
    },
    Put {
        dict: Reg,
        key: Reg,
        src: Reg,
    },
    /// Each entry of a dict.
    PutAll {
        dict: Reg,
        src: Reg,
    },
    /// The printed forms of the registers from `start` on, joined.
    Join {
        dst: Reg,
        start: Reg,
        count: u16,
    },
    Range {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    RangeExclusive {
        dst: Reg,
        a: Reg,
        b: Reg,
    },
    Struct {
        dst: Reg,
        fields: Reg,
        name: u16,
    },
    Variant {
        dst: Reg,
        start: Reg,
        shape: u16,
    },
    Index {
        dst: Reg,
        object: Reg,
        index: Reg,
    },
    IndexIfAny {
        dst: Reg,
        object: Reg,
        index: Reg,
    },
    Field {
        dst: Reg,
        object: Reg,
        name: u16,
    },
    FieldIfAny {
        dst: Reg,
        object: Reg,
        name: u16,
    },
    /// From `start` to the register after it.
    Slice {
        dst: Reg,
        object: Reg,
        start: Reg,
    },
    SetIndex {
        object: Reg,
        index: Reg,
        src: Reg,
    },
    SetField {
        object: Reg,
        name: u16,
        src: Reg,
    },
    /// `object[path...] = src`, with so many keys in the registers from `path` on.
    SetPath {
        object: Reg,
        path: Reg,
        src: Reg,
        count: u8,
    },
    /// As `SetPath`, where all keys are names.
    SetFields {
        object: Reg,
        keys: u16,
        src: Reg,
    },

    /// Takes a dict apart: fails unless it is one.
    WantDict {
        src: Reg,
    },
    WantList {
        src: Reg,
    },
    /// What is left of a list from an index on.
    RestOfList {
        dst: Reg,
        src: Reg,
        from: u16,
    },
    /// A dict without the keys that a list in a register names.
    RestOfDict {
        dst: Reg,
        src: Reg,
        keys: Reg,
    },
    /// Jumps away unless it is this variant.
    TestVariant {
        src: Reg,
        shape: u16,
    },
    TestDict {
        src: Reg,
    },
    /// A list of at least so many items.
    TestList {
        src: Reg,
        least: u16,
    },
    VariantField {
        dst: Reg,
        src: Reg,
        index: u16,
    },

    /// A function of the program that captures nothing.
    CallFunction {
        dst: Reg,
        start: Reg,
        function: u16,
        count: u8,
    },
    CallBuiltin {
        dst: Reg,
        start: Reg,
        builtin: u16,
        count: u8,
    },
    /// A value in a register, with arguments from `start` on.
    Call {
        dst: Reg,
        start: Reg,
        callee: Reg,
        count: u8,
    },
    /// The receiver is the first argument.
    Method {
        dst: Reg,
        start: Reg,
        name: u16,
        count: u8,
    },
    MethodIfAny {
        dst: Reg,
        start: Reg,
        name: u16,
        count: u8,
    },
    /// The arguments are the items of the list behind the receiver.
    MethodList {
        dst: Reg,
        start: Reg,
        name: u16,
    },
    /// `x = x.m(...)`: the receiver is taken from `dst`, to be changed in place if `m` is a builtin.
    MethodInPlace {
        dst: Reg,
        start: Reg,
        name: u16,
        count: u8,
    },
    /// A call whose arguments are the items of the list at `start`; `callee` is a value in a register.
    CallList {
        dst: Reg,
        start: Reg,
        callee: Reg,
    },
    /// As `Call` with one argument; what cannot be called is an error of its own.
    Pipe {
        dst: Reg,
        start: Reg,
        callee: Reg,
    },
    /// `return f(x)`: the callee takes the place of the running function.
    TailFunction {
        start: Reg,
        function: u16,
        count: u8,
    },
    TailCall {
        start: Reg,
        callee: Reg,
        count: u8,
    },
    Return {
        src: Reg,
    },
    ReturnNil,
    /// Checks an argument against its annotation.
    CheckParam {
        param: Reg,
        check: u16,
    },

    /// Prepares a loop over a value: its state is kept in two registers from `state` on.
    LoopOver {
        state: Reg,
        src: Reg,
    },
    /// Prepares a loop over whole numbers.
    LoopRange {
        state: Reg,
        a: Reg,
        b: Reg,
        exclusive: bool,
    },
    /// The next item. Followed by a jump that is taken at the end.
    Next {
        dst: Reg,
        state: Reg,
    },

    Throw {
        src: Reg,
    },
    /// Throws the text of a constant as an error of its own kind.
    Fail {
        index: u32,
    },
    /// Until `Unguard`, errors land at `to`, with what is caught in `dst`.
    Guard {
        dst: Reg,
        to: u32,
    },
    Unguard,
    /// Goes on with the error that was caught last.
    Rethrow,
    /// The caught error was dealt with.
    Forget,
    /// Runs the block at `to` when the function ends, however it ends.
    Defer {
        to: u32,
        /// The first register above its variables.
        low: Reg,
    },
    /// A round of a loop ends whose variables are those from this register on: blocks that were deferred in it keep them.
    KeepDeferred {
        from: Reg,
    },
    /// The end of a deferred block.
    EndDefer,
    /// Unless the caught error is a value of this enum, it is thrown on.
    CatchOnly {
        src: Reg,
        name: u16,
    },
    /// `e?`
    Propagate {
        dst: Reg,
        src: Reg,
    },
    /// `try { b }`: a result of what is not one yet.
    Wrap {
        dst: Reg,
        src: Reg,
    },

    Spawn {
        dst: Reg,
        closure: Reg,
    },
    Yield {
        src: Reg,
    },
    /// Starts a deadline of so many milliseconds; `EndDeadline` ends it.
    Deadline {
        src: Reg,
    },
    EndDeadline,
}

/// A function of a program.
#[derive(Clone, Debug, Default)]
pub struct Function {
    pub name: Arc<str>,
    pub params: Arc<[Arc<str>]>,
    pub code: Vec<Op>,
    /// Where in its source each instruction comes from.
    pub places: Vec<u32>,
    /// Which source.
    pub module: u16,
    pub registers: u16,
    /// How many values it captures.
    pub captures: u16,
    /// The last parameter takes what is left.
    pub has_rest: bool,
    pub kind: FunctionKind,
    /// Errors that pass through it from a function it was given are told with their line.
    pub is_prelude: bool,
}

impl Function {
    /// The steps that a call of it takes, its loops and calls apart: not every one is made in every call.
    #[inline(always)]
    pub fn cost(&self) -> i64 {
        self.code.len().min(64) as i64
    }

    /// Whether so many arguments are just what it wants: they are its first registers as they are.
    #[inline(always)]
    pub fn fits(&self, given: u8) -> bool {
        usize::from(given) == self.params.len() && !self.has_rest && self.kind == FunctionKind::Plain
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FunctionKind {
    #[default]
    Plain,
    Generator,
    Stream,
    /// A generator of the prelude that shows itself as an iterator.
    Iterator,
}

/// A variant of an enum, with so many fields.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VariantShape {
    pub name: Arc<str>,
    pub variant: Arc<str>,
    pub fields: u16,
}

/// A method that a program declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnMethod {
    pub function: u16,
    /// The variable that holds it, if it uses variables of the code around it.
    pub closure: Option<u32>,
}

/// A compiled program: everything that is reachable from its entry.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub functions: Vec<Function>,
    pub constants: Vec<Value>,
    pub names: Vec<Arc<Text>>,
    pub variants: Vec<VariantShape>,
    /// The keys of dicts that are written down, in their order, and the fields that assignments follow.
    pub key_lists: Vec<Box<[Arc<Text>]>>,
    pub checks: Vec<crate::compile::ParamCheck>,
    /// Methods of structs and enums, by the type and their name.
    pub methods: std::collections::HashMap<(Arc<str>, Arc<str>), OwnMethod>,
    /// Functions of the prelude, by name.
    pub prelude: std::collections::HashMap<Arc<str>, u16>,
    /// How many variables modules have.
    pub globals: u32,
    /// The functions that `tool` declares: as handlers they take their arguments one by one.
    pub handlers: std::collections::BTreeSet<u16>,
    pub entry: u16,
    /// What the pipeline that runs is to give back.
    pub returns: Option<crate::compile::Wanted>,
    pub sources: Vec<Source>,
}

impl Program {
    /// The builtins that its own code calls or passes on; what those are made of does not count.
    pub fn mentions(&self) -> std::collections::BTreeSet<&'static str> {
        let names = crate::builtins::all().map(|builtin| builtin.name);
        let written: std::collections::HashMap<u16, &'static str> =
            names.filter_map(|name| Some((*self.prelude.get(name)?, name))).collect();
        let own = self.functions.iter().filter(|function| !function.is_prelude);
        own.flat_map(|function| &function.code)
            .filter_map(|op| match op {
                Op::CallFunction { function, .. } | Op::TailFunction { function, .. } => {
                    written.get(function).copied()
                }
                Op::CallBuiltin { builtin, .. } => crate::builtins::get(*builtin).map(|known| known.name),
                Op::Const { index, .. } => match self.constants.get(*index as usize)? {
                    Value::Builtin(number) => crate::builtins::get(*number).map(|known| known.name),
                    _ => None,
                },
                _ => None,
            })
            .collect()
    }

    /// The longest time that its own code sleeps, as far as that stands in it: `sleep(5m)`, not `sleep(pause)`.
    pub fn longest_sleep_ms(&self) -> i64 {
        let sleeps: Vec<u16> =
            ["sleep", "sleep_ms"].iter().filter_map(|name| self.prelude.get(*name).copied()).collect();
        let own = self.functions.iter().filter(|function| !function.is_prelude);
        let pairs = own.flat_map(|function| function.code.windows(2));
        let slept = pairs.filter_map(|pair| {
            let (Op::CallFunction { start, function, .. } | Op::TailFunction { start, function, .. }) =
                pair[1]
            else {
                return None;
            };
            match pair[0] {
                _ if !sleeps.contains(&function) => None,
                Op::Int { dst, value } if dst == start => Some(value.into()),
                Op::Const { dst, index } if dst == start => match self.constants.get(index as usize)? {
                    Value::Int(ms) | Value::Duration(ms) => Some(*ms),
                    _ => None,
                },
                _ => None,
            }
        });
        slept.max().unwrap_or(0)
    }
}

/// A source that a program was made of.
#[derive(Clone, Debug)]
pub struct Source {
    /// As a message names it.
    pub name: Arc<str>,
    pub text: Arc<str>,
}
