//! Calls: of functions, of builtins, of methods.

use std::mem::Discriminant;
use std::sync::Arc;

use super::exec::Flow;
use super::fibre::{Deliver, Fibre, Frame, Wait, clear, register};
use super::object::Object;
use super::operate::is_shared;
use super::{Vm, Waiter};
use crate::builtins::{self, Body, Cx};
use crate::bytecode::{FunctionKind, Program, Reg};
use crate::fault::{Fault, Limit};
use crate::methods;
pub use crate::methods::Method;
use crate::value::{Closure, HandleKind, MAX_DEPTH, Value};

/// What a method turned out to be, by the number of its name and the type of its receiver.
pub(super) struct MethodCache(Vec<Vec<(Type, Found)>>);

#[derive(Clone, PartialEq)]
enum Type {
    Plain(Discriminant<Value>),
    Handle(HandleKind),
    /// A struct or an enum.
    Named(Arc<str>),
}

#[derive(Clone, Copy)]
enum Found {
    Pure(builtins::PureFn),
    Function(u16),
    /// A method that uses variables of the code around it, and so is in a variable of the program.
    Held(u32),
    /// A function that the prelude should have.
    Missing(&'static str),
    Nothing,
}

impl MethodCache {
    pub fn new(names: usize) -> Self {
        Self(vec![Vec::new(); names])
    }

    fn find(&mut self, program: &Program, number: u16, receiver: &Value) -> Found {
        let Some(known) = self.0.get_mut(usize::from(number)) else { return Found::Nothing };
        let is_same = |kind: &Type| match (kind, receiver) {
            (Type::Handle(kind), Value::Handle(handle)) => *kind == handle.kind,
            (Type::Named(name), Value::Struct(object)) => *name == object.name,
            (Type::Named(name), Value::Enum(object)) => *name == object.name,
            (Type::Plain(kind), other) => *kind == std::mem::discriminant(other),
            _ => false,
        };
        if let Some((_, found)) = known.iter().find(|(kind, _)| is_same(kind)) {
            return *found;
        }
        let found = look_up(program, program.names[usize::from(number)].as_str(), receiver);
        known.push((Type::of(receiver), found));
        found
    }
}

impl Type {
    fn of(value: &Value) -> Self {
        match value {
            Value::Handle(handle) => Self::Handle(handle.kind),
            Value::Struct(object) => Self::Named(Arc::clone(&object.name)),
            Value::Enum(object) => Self::Named(Arc::clone(&object.name)),
            other => Self::Plain(std::mem::discriminant(other)),
        }
    }
}

fn look_up(program: &Program, name: &str, receiver: &Value) -> Found {
    if let Type::Named(of) = Type::of(receiver)
        && let Some(own) = program.methods.get(&(of, name.into()))
    {
        return own.closure.map_or(Found::Function(own.function), Found::Held);
    }
    match methods::find(receiver.type_name(), name) {
        Some(Method::Pure(body)) => Found::Pure(body),
        Some(Method::Prelude(name)) => match program.prelude.get(name) {
            Some(function) => Found::Function(*function),
            None => Found::Missing(name),
        },
        None => Found::Nothing,
    }
}

impl Vm {
    pub(super) fn call_function(
        &mut self,
        fibre: &mut Fibre,
        function: u16,
        start: Reg,
        count: u8,
        dst: Reg,
        closure: Option<Arc<Closure>>,
    ) -> Result<Flow, Fault> {
        let co = &mut fibre.active;
        let base = co.frames.last().map_or(0, |frame| frame.base) + u32::from(start);
        if self.program.functions[usize::from(function)].kind != FunctionKind::Plain {
            let args = self.take_arguments(fibre, start, count);
            let value = self.new_generator(fibre, function, args, closure)?;
            fibre.active.set(dst, value);
            return Ok(Flow::Again);
        }
        let cost = self.program.functions[usize::from(function)].cost();
        self.meter.fuel -= cost;
        let frame = Frame { function, pc: 0, base, dst, given: count, closure_at: Frame::NOWHERE };
        co.enter(&self.program, frame, closure)?;
        Ok(Flow::Again)
    }

    fn take_arguments(&mut self, fibre: &mut Fibre, start: Reg, count: u8) -> Vec<Value> {
        let base = fibre.active.frames.last().map_or(0, |frame| frame.base as usize);
        let from = base + usize::from(start);
        fibre.active.stack[from..from + usize::from(count)].iter_mut().map(std::mem::take).collect()
    }

    /// The callee takes the place of the running function.
    pub(super) fn tail_call(
        &mut self,
        fibre: &mut Fibre,
        function: u16,
        start: Reg,
        count: u8,
        closure: Option<Arc<Closure>>,
    ) -> Result<Flow, Fault> {
        if self.program.functions[usize::from(function)].kind != FunctionKind::Plain {
            let dst = self.returned_register(fibre).unwrap_or(start);
            return self.call_function(fibre, function, start, count, dst, closure);
        }
        let co = &mut fibre.active;
        let Some(old) = co.pop() else { return Ok(Flow::Again) };
        let base = old.base as usize;
        let registers = usize::from(self.program.functions[usize::from(old.function)].registers);
        // The arguments go to the front, what is left of the running function goes away.
        for at in 0..usize::from(count) {
            co.stack.swap(base + at, base + usize::from(start) + at);
        }
        clear(
            &mut co.stack
                [base + usize::from(count)..base + registers.max(usize::from(start + u16::from(count)))],
        );
        let cost = self.program.functions[usize::from(function)].cost();
        self.meter.fuel -= cost;
        let (base, dst) = (old.base, old.dst);
        let frame = Frame { function, pc: 0, base, dst, given: count, closure_at: Frame::NOWHERE };
        co.enter(&self.program, frame, closure)?;
        Ok(Flow::Again)
    }

    pub(super) fn tail_value(
        &mut self,
        fibre: &mut Fibre,
        callee: Value,
        start: Reg,
        count: u8,
    ) -> Result<Flow, Fault> {
        match callee {
            Value::Closure(closure) => {
                let function = u16::try_from(closure.function).unwrap_or(u16::MAX);
                let is_plain = self.program.functions[usize::from(function)].kind == FunctionKind::Plain;
                if is_plain {
                    return self.tail_call(fibre, function, start, count, Some(closure));
                }
                let value = Value::Closure(closure);
                self.returned_later(fibre, value, start, count)
            }
            other => self.returned_later(fibre, other, start, count),
        }
    }

    /// An ordinary call, whose value the next instruction returns.
    fn returned_later(
        &mut self,
        fibre: &mut Fibre,
        callee: Value,
        start: Reg,
        count: u8,
    ) -> Result<Flow, Fault> {
        let dst = self.returned_register(fibre).unwrap_or(start);
        self.call_value(fibre, callee, start, count, dst)
    }

    /// What the next instruction returns.
    fn returned_register(&self, fibre: &Fibre) -> Option<Reg> {
        let frame = fibre.active.frames.last()?;
        match self.program.functions[usize::from(frame.function)].code.get(frame.pc as usize)? {
            crate::bytecode::Op::Return { src } => Some(*src),
            _ => None,
        }
    }

    pub(super) fn call_value(
        &mut self,
        fibre: &mut Fibre,
        callee: Value,
        start: Reg,
        count: u8,
        dst: Reg,
    ) -> Result<Flow, Fault> {
        match callee {
            Value::Closure(closure) => {
                let function = u16::try_from(closure.function).unwrap_or(u16::MAX);
                self.call_function(fibre, function, start, count, dst, Some(closure))
            }
            Value::Builtin(number) => self.call_builtin(fibre, number, start, count, dst),
            other => Err(Fault::Type(format!("cannot call {}", other.type_name()))),
        }
    }

    /// The arguments are the items of a list.
    pub(super) fn call_with_list(
        &mut self,
        fibre: &mut Fibre,
        callee: Value,
        start: Reg,
        dst: Reg,
    ) -> Result<Flow, Fault> {
        let count = unpack(fibre, start)?;
        self.call_value(fibre, callee, start, count, dst)
    }

    pub(super) fn call_method_with_list(
        &mut self,
        fibre: &mut Fibre,
        name: u16,
        start: Reg,
        dst: Reg,
    ) -> Result<Flow, Fault> {
        let count = unpack(fibre, start + 1)?;
        self.call_method(fibre, name, start, count + 1, dst)
    }

    pub(super) fn call_builtin(
        &mut self,
        fibre: &mut Fibre,
        number: u16,
        start: Reg,
        count: u8,
        dst: Reg,
    ) -> Result<Flow, Fault> {
        let Some(builtin) = builtins::get(number) else {
            return Err(Fault::Plain("Undefined builtin".into()));
        };
        match builtin.body {
            Body::Pure(body) => self.call_pure(fibre, body, start, count, dst),
            Body::Prelude => match self.program.prelude.get(builtin.name) {
                Some(function) => self.call_function(fibre, *function, start, count, dst, None),
                None => Err(Fault::Plain(format!("Undefined builtin: {}", builtin.name))),
            },
            Body::Vm if self.console.is_for_host(builtin.name) => {
                self.ask_host(fibre, builtin.name, start, count, dst)
            }
            Body::Vm => self.call_special(fibre, builtin.name, start, count, dst),
            Body::Effect => self.ask_host(fibre, builtin.name, start, count, dst),
            Body::Refused(why) => Err(Fault::thrown(format!("{}: {why}", builtin.name))),
        }
    }

    /// The fibre waits for the host's answer.
    fn ask_host(
        &mut self,
        fibre: &mut Fibre,
        name: &'static str,
        start: Reg,
        count: u8,
        dst: Reg,
    ) -> Result<Flow, Fault> {
        let mut args = self.take_arguments(fibre, start, count);
        if let Some(given) = builtins::seen_from(name) {
            args.resize(given, Value::Nil);
            args.push(self.calling_module(fibre));
        }
        let key = Self::key(fibre, name);
        let call = self.new_call(Waiter::Fibre(fibre.id), key, name, args);
        fibre.wait = Some(Wait::Call { call, dst });
        Ok(Flow::Stop)
    }

    /// The name of the source that the running code is in. Functions of the prelude belong to whoever calls them.
    fn calling_module(&self, fibre: &Fibre) -> Value {
        let modules = fibre.active.frames.iter().rev();
        let mut modules = modules.map(|frame| self.program.functions[usize::from(frame.function)].module);
        let module = modules.find(|module| *module > 0).unwrap_or(1);
        let source = self.program.sources.get(usize::from(module));
        source.map_or(Value::Nil, |source| Value::str(&*source.name))
    }

    fn call_pure(
        &mut self,
        fibre: &mut Fibre,
        body: builtins::PureFn,
        start: Reg,
        count: u8,
        dst: Reg,
    ) -> Result<Flow, Fault> {
        if self.meter.is_high() {
            self.take_census(fibre);
        }
        let base = fibre.active.frames.last().map_or(0, |frame| frame.base as usize);
        let from = base + usize::from(start);
        let args = &mut fibre.active.stack[from..from + usize::from(count)];
        // What nobody else has is used up: changed in place, or gone.
        let used_up = args.first().filter(|first| !is_shared(first)).map_or(0, Value::own_size);
        // A generator of random numbers that the program made stands in for the common one.
        let own = match args.first() {
            Some(Value::Handle(handle)) if handle.kind == HandleKind::Rng => Some(handle.id),
            _ => None,
        };
        let rng = match own.and_then(|id| self.objects.get_mut(id)) {
            Some(Object::Rng(rng)) => rng,
            _ => &mut self.rng,
        };
        let result = body(&mut Cx { meter: &mut self.meter, rng }, args);
        clear(args);
        let value = result?;
        self.meter.charge(value.own_size().saturating_sub(used_up))?;
        if value.depth() > MAX_DEPTH {
            return Err(Fault::Limit(Limit::Nesting(u64::from(MAX_DEPTH))));
        }
        fibre.active.set(dst, value);
        Ok(Flow::Again)
    }

    pub(super) fn call_method(
        &mut self,
        fibre: &mut Fibre,
        number: u16,
        start: Reg,
        count: u8,
        dst: Reg,
    ) -> Result<Flow, Fault> {
        let receiver = register(fibre, start);
        if let Value::Handle(handle) = receiver
            && number == self.next
            && matches!(handle.kind, HandleKind::Generator | HandleKind::Stream | HandleKind::Iter)
        {
            let handle = (handle.kind, handle.id);
            return self.pull(fibre, handle, Deliver::Step(dst));
        }
        match self.methods.find(&self.program, number, receiver) {
            Found::Pure(body) => self.call_pure(fibre, body, start, count, dst),
            Found::Function(function) => self.call_function(fibre, function, start, count, dst, None),
            Found::Held(at) => match self.globals.get(at as usize).cloned() {
                Some(method @ Value::Closure(_)) => self.call_value(fibre, method, start, count, dst),
                _ => {
                    let name = self.program.names[usize::from(number)].as_str();
                    Err(Fault::Runtime(format!("method {name} is not declared yet")))
                }
            },
            Found::Missing(function) => Err(Fault::Plain(format!("Undefined builtin: {function}"))),
            Found::Nothing => {
                // A function in a dict is called like a method.
                if let Value::Dict(dict) = receiver
                    && let Some(callee @ (Value::Closure(_) | Value::Builtin(_))) =
                        dict.find(&self.program.names[usize::from(number)]).cloned()
                {
                    return self.call_value(fibre, callee, start + 1, count - 1, dst);
                }
                self.take_arguments(fibre, start, count);
                fibre.active.set(dst, Value::Nil);
                Ok(Flow::Again)
            }
        }
    }
}

/// Puts the items of the list in a register where arguments are expected: there and behind it. Gives their number.
fn unpack(fibre: &mut Fibre, start: Reg) -> Result<u8, Fault> {
    let Value::List(list) = std::mem::take(register(fibre, start)) else {
        return Err(Fault::Type("arguments must be a list".into()));
    };
    let count = u8::try_from(list.len()).ok().filter(|count| *count < u8::MAX);
    let count =
        count.ok_or_else(|| Fault::Runtime(format!("a call can have 254 arguments, not {}", list.len())))?;
    let co = &mut fibre.active;
    let base = co.frames.last().map_or(0, |frame| frame.base as usize) + usize::from(start);
    if co.stack.len() < base + list.len() {
        co.stack.resize(base + list.len(), Value::Nil);
    }
    for (at, item) in list.iter().enumerate() {
        co.stack[base + at] = item.clone();
    }
    Ok(count)
}
