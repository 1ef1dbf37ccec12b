//! Calls: of functions, of builtins, of methods.

use std::sync::Arc;

use super::exec::{Flow, is_shared, register};
use super::fibre::{Deliver, Fibre, Frame, Wait};
use super::object::Object;
use super::{Vm, Waiter};
use crate::builtins::{self, Body, Cx};
use crate::bytecode::{FunctionKind, Reg};
use crate::fault::{Fault, Limit};
use crate::methods;
pub use crate::methods::Method;
use crate::value::{Closure, HandleKind, MAX_DEPTH, Value};

/// Methods by the number of their name, for each type that was asked.
pub(super) struct MethodCache(Vec<Vec<(&'static str, Option<Method>)>>);

impl MethodCache {
    pub fn new(names: usize) -> Self {
        Self(vec![Vec::new(); names])
    }

    fn find(&mut self, kind: &'static str, number: u16, name: &str) -> Option<Method> {
        let known = &mut self.0[usize::from(number)];
        if let Some((_, method)) = known.iter().find(|(of, _)| *of == kind) {
            return *method;
        }
        let method = methods::find(kind, name);
        known.push((kind, method));
        method
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
        co.enter(&self.program, Frame { function, pc: 0, base, dst, given: count, closure })?;
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
        let args = self.take_arguments(fibre, start, count);
        let co = &mut fibre.active;
        let Some(old) = co.leave(&self.program) else { return Ok(Flow::Again) };
        let base = old.base as usize;
        if co.stack.len() < base + args.len() {
            co.stack.resize(base + args.len(), Value::Nil);
        }
        for (at, arg) in args.into_iter().enumerate() {
            co.stack[base + at] = arg;
        }
        let frame = Frame { function, pc: 0, base: old.base, dst: old.dst, given: count, closure };
        co.arrange(&self.program, &frame);
        co.frames.push(frame);
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
        let Value::List(list) = std::mem::take(register(fibre, start)) else {
            return Err(Fault::Type("arguments must be a list".into()));
        };
        let Ok(count) = u8::try_from(list.len()) else {
            return Err(Fault::Runtime(format!("a call can have 255 arguments, not {}", list.len())));
        };
        let co = &mut fibre.active;
        let base = co.frames.last().map_or(0, |frame| frame.base as usize) + usize::from(start);
        if co.stack.len() < base + list.len() {
            co.stack.resize(base + list.len(), Value::Nil);
        }
        for (at, item) in list.iter().enumerate() {
            co.stack[base + at] = item.clone();
        }
        self.call_value(fibre, callee, start, count, dst)
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
            Body::Vm if builtin.name == "sleep" => self.ask_host(fibre, builtin.name, start, count, dst),
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
        let args = self.take_arguments(fibre, start, count);
        let key = Self::key(fibre, name);
        let call = self.new_call(Waiter::Fibre(fibre.id), key, name, args);
        fibre.wait = Some(Wait::Call { call, dst });
        Ok(Flow::Stop)
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
        args.fill(Value::Nil);
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
        let name = self.text(number);
        let receiver = register(fibre, start);
        let kind = receiver.type_name();
        if let Value::Struct(object) = receiver {
            let own = self.program.methods.get(&(Arc::clone(&object.name), name.as_str().into())).copied();
            if let Some(function) = own {
                return self.call_function(fibre, function, start, count, dst, None);
            }
        }
        if let (Value::Enum(object), false) = (&*receiver, self.program.methods.is_empty()) {
            let own = self.program.methods.get(&(Arc::clone(&object.name), name.as_str().into())).copied();
            if let Some(function) = own {
                return self.call_function(fibre, function, start, count, dst, None);
            }
        }
        if let Value::Handle(handle) = receiver
            && name.as_str() == "next"
            && matches!(handle.kind, HandleKind::Generator | HandleKind::Stream | HandleKind::Iter)
        {
            let handle = Arc::clone(handle);
            return self.pull(fibre, &handle, Deliver::Step(dst));
        }
        if let Value::Dict(dict) = receiver
            && let Some(callee @ (Value::Closure(_) | Value::Builtin(_))) = dict.get(name.as_str()).cloned()
            && methods::find("dict", name.as_str()).is_none()
        {
            return self.call_value(fibre, callee, start + 1, count - 1, dst);
        }
        match self.methods.find(kind, number, name.as_str()) {
            Some(Method::Pure(body)) => self.call_pure(fibre, body, start, count, dst),
            Some(Method::Prelude(function)) => match self.program.prelude.get(function) {
                Some(function) => self.call_function(fibre, *function, start, count, dst, None),
                None => Err(Fault::Plain(format!("Undefined builtin: {function}"))),
            },
            None => {
                self.take_arguments(fibre, start, count);
                fibre.active.set(dst, Value::Nil);
                Ok(Flow::Again)
            }
        }
    }
}
