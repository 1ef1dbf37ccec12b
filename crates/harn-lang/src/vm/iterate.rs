//! Loops over values, and generators.

use std::sync::Arc;

use super::Vm;
use super::exec::Flow;
use super::fibre::{Coroutine, Deliver, Fibre, Frame, Suspended};
use super::object::{Generator, Object};
use crate::bytecode::FunctionKind;
use crate::fault::Fault;
use crate::value::{Closure, HandleKind, Range, Text, Value};

/// The two registers that a loop keeps: numbers, a list with a place in it, or something that is asked.
pub(super) fn prepare(source: Value) -> (Value, Value) {
    let zero = Value::Int(0);
    match source {
        Value::List(_) | Value::Handle(_) => (source, zero),
        Value::Range(range) => numbers(&range),
        Value::Set(set) => (Value::list(set.iter().cloned().collect()), zero),
        Value::Dict(dict) => {
            let names = ["key", "value"].map(|name| Arc::new(Text::new(name)));
            let entry = |(key, value): (&Arc<Text>, &Value)| {
                let fields = [Value::Str(Arc::clone(key)), value.clone()];
                Value::dict(names.iter().cloned().zip(fields).collect())
            };
            (Value::list(dict.iter().map(entry).collect()), zero)
        }
        // Nothing else has items.
        _ => (Value::Nil, Value::Nil),
    }
}

/// The first number and the one that is no longer meant. After the largest number comes the smallest, which no range
/// that has items begins with and ends before.
pub(super) fn numbers(range: &Range) -> (Value, Value) {
    let limit = range.end.wrapping_add(i64::from(!range.exclusive));
    let is_empty = if range.exclusive { range.start >= range.end } else { range.start > range.end };
    (Value::Int(range.start), Value::Int(if is_empty { range.start } else { limit }))
}

impl Vm {
    /// Calling a function with `yield` gives something that runs it step by step.
    pub(super) fn new_generator(
        &mut self,
        fibre: &mut Fibre,
        function: u16,
        args: Vec<Value>,
        closure: Option<Arc<Closure>>,
    ) -> Result<Value, Fault> {
        let given = u8::try_from(args.len()).unwrap_or(u8::MAX);
        let mut coroutine = Box::new(Coroutine { stack: args, ..Coroutine::default() });
        let frame = Frame { function, pc: 0, base: 0, dst: 0, given, closure_at: Frame::NOWHERE };
        coroutine.enter(&self.program, frame, closure)?;
        self.pay(fibre, coroutine.stack.len() * 16 + 256)?;
        let kind = match self.program.functions[usize::from(function)].kind {
            FunctionKind::Stream => HandleKind::Stream,
            FunctionKind::Iterator => HandleKind::Iter,
            FunctionKind::Generator | FunctionKind::Plain => HandleKind::Generator,
        };
        let state = Generator { coroutine: Some(coroutine), is_done: false };
        self.add_object(fibre, kind, Object::Generator(state), "")
    }

    /// The next value of something that is iterated over.
    #[inline(always)]
    pub(super) fn pull(
        &mut self,
        fibre: &mut Fibre,
        (kind, id): (HandleKind, u32),
        deliver: Deliver,
    ) -> Result<Flow, Fault> {
        match kind {
            HandleKind::Generator | HandleKind::Stream | HandleKind::Iter => {
                if let Some(next) = self.objects.next_item(id) {
                    return Ok(match next {
                        Some(value) => deliver_value(fibre, deliver, value),
                        None => deliver_end(fibre, deliver),
                    });
                }
                let Some(Object::Generator(generator)) = self.objects.get_mut(id) else {
                    return Ok(deliver_end(fibre, deliver));
                };
                if generator.is_done {
                    return Ok(deliver_end(fibre, deliver));
                }
                let Some(coroutine) = generator.coroutine.take() else {
                    if fibre.below.iter().any(|below| below.generator == id) {
                        return Err(Fault::Runtime(
                            "a generator cannot ask itself for its next value".into(),
                        ));
                    }
                    // Another task has asked first.
                    return Ok(self.wait_on(fibre, &[id]));
                };
                let coroutine = std::mem::replace(&mut fibre.active, coroutine);
                fibre.below.push(Suspended { coroutine, generator: id, deliver });
                Ok(Flow::Again)
            }
            HandleKind::Channel => match self.objects.receive(id) {
                Some(Some(value)) => {
                    self.wake_waiters(id);
                    Ok(deliver_value(fibre, deliver, value))
                }
                Some(None) => Ok(deliver_end(fibre, deliver)),
                None => Ok(self.wait_on(fibre, &[id])),
            },
            _ => Ok(deliver_end(fibre, deliver)),
        }
    }

    /// The source and the function of a lazy `map` that has not begun, else nil. It keeps nothing between two items, so
    /// whoever has these two can do its work.
    pub(super) fn mapped(&self, iter: &Value) -> Value {
        let Value::Handle(handle) = iter else { return Value::Nil };
        let Some(Object::Generator(Generator { coroutine: Some(coroutine), is_done: false })) =
            self.objects.get(handle.id)
        else {
            return Value::Nil;
        };
        match (coroutine.frames.as_slice(), coroutine.stack.as_slice()) {
            ([Frame { function, pc: 0, .. }], [source, f, ..])
                if self.program.prelude.get("__map") == Some(function) =>
            {
                Value::list(vec![source.clone(), f.clone()])
            }
            _ => Value::Nil,
        }
    }

    /// A generator gave a value: whoever asked for it goes on.
    #[inline(always)]
    pub(super) fn yielded(&mut self, fibre: &mut Fibre, value: Value) -> Flow {
        let Some(below) = fibre.below.pop() else {
            return self.raise(fibre, Fault::Runtime("yield outside of a generator".into()));
        };
        let generator = std::mem::replace(&mut fibre.active, below.coroutine);
        if let Some(Object::Generator(state)) = self.objects.get_mut(below.generator) {
            state.coroutine = Some(generator);
        }
        if self.objects.is_awaited(below.generator) {
            self.wake_waiters(below.generator);
        }
        deliver_value(fibre, below.deliver, value)
    }

    pub(super) fn generator_ended(&mut self, fibre: &mut Fibre) -> Flow {
        let Some(Suspended { deliver, .. }) = fibre.below.last() else { return Flow::End(Ok(Value::Nil)) };
        let deliver = *deliver;
        self.leave_generator(fibre);
        deliver_end(fibre, deliver)
    }
}

#[inline(always)]
pub(super) fn deliver_value(fibre: &mut Fibre, deliver: Deliver, value: Value) -> Flow {
    match deliver {
        Deliver::Loop(dst) => {
            fibre.active.set(dst, value);
            // Over the jump to the loop's end.
            if let Some(frame) = fibre.active.frames.last_mut() {
                frame.pc += 1;
            }
        }
        Deliver::Step(dst) => {
            fibre.active.set(dst, Value::record([("done", Value::Bool(false)), ("value", value)]));
        }
    }
    Flow::Again
}

fn deliver_end(fibre: &mut Fibre, deliver: Deliver) -> Flow {
    if let Deliver::Step(dst) = deliver {
        fibre.active.set(dst, Value::record([("done", Value::Bool(true)), ("value", Value::Nil)]));
    }
    Flow::Again
}
