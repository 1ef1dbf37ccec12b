//! The loop that executes instructions.

use std::sync::Arc;

use super::fibre::{Deadline, Deliver, Ending, Fibre, Handler, Wait};
use super::{Vm, Waiter, operate};
use crate::bytecode::{Op, Program, Reg};
use crate::fault::{Fault, Limit};
use crate::value::{Closure, Dict, MAX_DEPTH, Range, StructValue, Value};

/// Why the loop stopped executing a function.
pub(super) enum Flow {
    /// Frames changed: look again.
    Again,
    /// The fibre waits, or is out of fuel.
    Stop,
    /// The fibre has ended.
    End(Result<Value, super::Failure>),
}

impl Vm {
    /// Runs a fibre until it waits or ends.
    pub(super) fn turn_of(&mut self, mut fibre: Fibre) {
        let program = Arc::clone(&self.program);
        loop {
            let flow = match self.interruption(&mut fibre) {
                Some(fault) => self.raise(&mut fibre, fault),
                None => self.execute(&program, &mut fibre),
            };
            match flow {
                Flow::Again => {}
                Flow::Stop => {
                    let id = fibre.id;
                    if fibre.wait.is_none() {
                        self.ready.push_front(id);
                    }
                    self.fibres.insert(id, fibre);
                    return;
                }
                Flow::End(result) => return self.ended(fibre, result),
            }
        }
    }

    /// An error from outside that is due.
    fn interruption(&mut self, fibre: &mut Fibre) -> Option<Fault> {
        if let Some(fault) = fibre.injected.take() {
            return Some(fault);
        }
        let over = fibre.deadlines.iter().position(|deadline| deadline.is_over)?;
        for deadline in fibre.deadlines.split_off(over) {
            self.drop_call(deadline.call);
        }
        Some(Fault::Thrown(Value::str("Deadline exceeded")))
    }

    #[allow(clippy::too_many_lines, reason = "one arm per instruction, each a line or two")]
    fn execute(&mut self, program: &Program, fibre: &mut Fibre) -> Flow {
        'frame: loop {
            let co = &mut fibre.active;
            let depth = co.frames.len() as u32;
            let Some(frame) = co.frames.last_mut() else { return Flow::End(Ok(Value::Nil)) };
            let function = &program.functions[usize::from(frame.function)];
            let code = &function.code[..];
            let base = frame.base as usize;
            let regs = &mut co.stack[base..];
            let mut pc = frame.pc as usize;
            let mut fuel = self.meter.fuel;

            macro_rules! r {
                ($reg:expr) => {
                    regs[usize::from($reg)]
                };
            }
            // Leaves the loop: what is in local variables goes back to where it belongs.
            macro_rules! save {
                () => {
                    frame.pc = pc as u32;
                    self.meter.fuel = fuel;
                };
            }
            macro_rules! fail {
                ($fault:expr) => {{
                    let fault = $fault;
                    save!();
                    match self.raise(fibre, fault) {
                        Flow::Again => continue 'frame,
                        other => return other,
                    }
                }};
            }
            macro_rules! check {
                ($result:expr) => {
                    match $result {
                        Ok(value) => value,
                        Err(fault) => fail!(fault),
                    }
                };
            }
            // A new value on the heap is paid for.
            macro_rules! keep {
                ($dst:expr, $value:expr) => {{
                    let value = $value;
                    let size = value.own_size();
                    if size > 0 && self.meter.charge(size).is_err() {
                        save!();
                        if let Err(fault) = self.make_room(fibre, size) {
                            return self.raise(fibre, fault);
                        }
                        fibre.active.set($dst, value);
                        continue 'frame;
                    }
                    if value.depth() > MAX_DEPTH {
                        fail!(Fault::Limit(Limit::Nesting(u64::from(MAX_DEPTH))));
                    }
                    r!($dst) = value;
                }};
            }
            macro_rules! test {
                ($holds:expr) => {
                    if $holds {
                        pc += 1;
                    } else if let Op::Jump { to } = code[pc] {
                        pc = to as usize;
                    }
                };
            }
            // Hands over to code that needs the whole fibre.
            macro_rules! leave {
                ($call:expr) => {{
                    save!();
                    let flow = match $call {
                        Ok(flow) => flow,
                        Err(fault) => self.raise(fibre, fault),
                    };
                    match flow {
                        Flow::Again => continue 'frame,
                        other => return other,
                    }
                }};
            }

            loop {
                if fuel == 0 {
                    save!();
                    return Flow::Stop;
                }
                fuel -= 1;
                let Some(op) = code.get(pc) else {
                    fail!(Fault::Runtime("the code ended".into()));
                };
                pc += 1;
                match *op {
                    Op::Nil { dst } => r!(dst) = Value::Nil,
                    Op::Bool { dst, value } => r!(dst) = Value::Bool(value),
                    Op::Int { dst, value } => r!(dst) = Value::Int(i64::from(value)),
                    Op::Const { dst, index } => r!(dst) = program.constants[index as usize].clone(),
                    Op::Move { dst, src } => r!(dst) = r!(src).clone(),
                    Op::Take { dst, src } => {
                        if dst != src {
                            r!(dst) = std::mem::take(&mut r!(src));
                        }
                    }
                    Op::Capture { dst, index } => {
                        let captured =
                            frame.closure.as_ref().and_then(|own| own.captures.get(usize::from(index)));
                        r!(dst) = captured.cloned().unwrap_or_default();
                    }
                    Op::Itself { dst } => {
                        r!(dst) = frame.closure.clone().map(Value::Closure).unwrap_or_default();
                    }
                    Op::Global { dst, index } => r!(dst) = self.globals[index as usize].clone(),
                    Op::SetGlobal { src, index } => {
                        self.globals[index as usize] = std::mem::take(&mut r!(src));
                    }
                    Op::Closure { dst, function, start } => {
                        let target = &program.functions[usize::from(function)];
                        let count = usize::from(target.captures);
                        let from = usize::from(start);
                        let captures = regs[from..from + count].iter_mut().map(std::mem::take).collect();
                        let closure = Closure::new(u32::from(function), captures, Arc::clone(&target.params));
                        keep!(dst, Value::Closure(Arc::new(closure)));
                    }

                    Op::Add { dst, a, b } => match (&r!(a), &r!(b)) {
                        (Value::Int(a), Value::Int(b)) => r!(dst) = Value::Int(a.wrapping_add(*b)),
                        (Value::Float(a), Value::Float(b)) => r!(dst) = Value::Float(a + b),
                        (a, b) => keep!(dst, check!(operate::add(a, b))),
                    },
                    Op::Append { dst, b } => {
                        if let (Value::Int(a), Value::Int(b)) = (&r!(dst), &r!(b)) {
                            r!(dst) = Value::Int(a.wrapping_add(*b));
                            continue;
                        }
                        let size = r!(b).own_size();
                        if size > 0 && self.meter.charge(size).is_err() {
                            pc -= 1;
                            leave!(self.make_room(fibre, size).map(|()| Flow::Again));
                        }
                        let b = r!(b).clone();
                        let a = &mut r!(dst);
                        let before = if is_shared(a) { a.own_size() } else { 0 };
                        check!(operate::append(a, &b));
                        check!(self.meter.charge(before));
                        if r!(dst).depth() > MAX_DEPTH {
                            fail!(Fault::Limit(Limit::Nesting(u64::from(MAX_DEPTH))));
                        }
                    }
                    Op::AddInt { dst, a, value } => match &r!(a) {
                        Value::Int(a) => r!(dst) = Value::Int(a.wrapping_add(i64::from(value))),
                        other => r!(dst) = check!(operate::add(other, &Value::Int(i64::from(value)))),
                    },
                    Op::Subtract { dst, a, b } => match (&r!(a), &r!(b)) {
                        (Value::Int(a), Value::Int(b)) => r!(dst) = Value::Int(a.wrapping_sub(*b)),
                        (a, b) => r!(dst) = check!(operate::subtract(a, b)),
                    },
                    Op::Multiply { dst, a, b } => match (&r!(a), &r!(b)) {
                        (Value::Int(a), Value::Int(b)) => r!(dst) = Value::Int(a.wrapping_mul(*b)),
                        (Value::Float(a), Value::Float(b)) => r!(dst) = Value::Float(a * b),
                        (Value::Str(text), Value::Int(times)) | (Value::Int(times), Value::Str(text)) => {
                            let times = usize::try_from(*times).unwrap_or(0);
                            let size = text.as_str().len().saturating_mul(times);
                            if size as u64 > self.meter.memory_limit {
                                fail!(Fault::Limit(Limit::Memory(self.meter.memory_limit)));
                            }
                            keep!(dst, Value::str(text.as_str().repeat(times)));
                        }
                        (a, b) => r!(dst) = check!(operate::multiply(a, b)),
                    },
                    Op::Divide { dst, a, b } => r!(dst) = check!(operate::divide(&r!(a), &r!(b))),
                    Op::Modulo { dst, a, b } => r!(dst) = check!(operate::modulo(&r!(a), &r!(b))),
                    Op::Power { dst, a, b } => r!(dst) = check!(operate::power(&r!(a), &r!(b))),
                    Op::Negate { dst, a } => r!(dst) = check!(operate::negate(&r!(a))),
                    Op::Not { dst, a } => r!(dst) = Value::Bool(!r!(a).is_truthy()),
                    Op::Truth { dst, a } => r!(dst) = Value::Bool(r!(a).is_truthy()),
                    Op::Equal { dst, a, b } => {
                        r!(dst) = Value::Bool(check!(self.objects.equal(&r!(a), &r!(b))))
                    }
                    Op::NotEqual { dst, a, b } => {
                        r!(dst) = Value::Bool(!check!(self.objects.equal(&r!(a), &r!(b))))
                    }
                    Op::Less { dst, a, b } => r!(dst) = Value::Bool(operate::less(&r!(a), &r!(b))),
                    Op::LessEqual { dst, a, b } => {
                        r!(dst) = Value::Bool(operate::less_or_equal(&r!(a), &r!(b)))
                    }
                    Op::In { dst, a, b } => r!(dst) = Value::Bool(check!(operate::contains(&r!(b), &r!(a)))),

                    Op::Jump { to } => pc = to as usize,
                    Op::JumpIf { a, to } => {
                        if r!(a).is_truthy() {
                            pc = to as usize;
                        }
                    }
                    Op::JumpUnless { a, to } => {
                        if !r!(a).is_truthy() {
                            pc = to as usize;
                        }
                    }
                    Op::JumpIfNil { a, to } => {
                        if matches!(r!(a), Value::Nil) {
                            pc = to as usize;
                        }
                    }
                    Op::JumpUnlessNil { a, to } => {
                        if !matches!(r!(a), Value::Nil) {
                            pc = to as usize;
                        }
                    }
                    Op::TestEqual { a, b } => test!(match (&r!(a), &r!(b)) {
                        (Value::Int(a), Value::Int(b)) => a == b,
                        (a, b) => check!(self.objects.equal(a, b)),
                    }),
                    Op::TestNotEqual { a, b } => test!(match (&r!(a), &r!(b)) {
                        (Value::Int(a), Value::Int(b)) => a != b,
                        (a, b) => !check!(self.objects.equal(a, b)),
                    }),
                    Op::TestLess { a, b } => test!(match (&r!(a), &r!(b)) {
                        (Value::Int(a), Value::Int(b)) => a < b,
                        (a, b) => operate::less(a, b),
                    }),
                    Op::TestLessEqual { a, b } => test!(match (&r!(a), &r!(b)) {
                        (Value::Int(a), Value::Int(b)) => a <= b,
                        (a, b) => operate::less_or_equal(a, b),
                    }),
                    Op::TestLessInt { a, value } => test!(match &r!(a) {
                        Value::Int(a) => *a < i64::from(value),
                        other => operate::less(other, &Value::Int(i64::from(value))),
                    }),
                    Op::TestGiven { index } => {
                        if u16::from(frame.given) > index {
                            // Over the jump to the default, to the one that passes it by.
                            pc += 1;
                        }
                    }

                    Op::List { dst, start, count } => {
                        let from = usize::from(start);
                        let items =
                            regs[from..from + usize::from(count)].iter_mut().map(std::mem::take).collect();
                        keep!(dst, Value::list(items));
                    }
                    Op::Dict { dst, start, count } => {
                        let mut dict = Dict::new();
                        for at in 0..usize::from(count) {
                            let place = usize::from(start) + 2 * at;
                            let key = check!(operate::key_of(&regs[place]));
                            dict.insert(key, std::mem::take(&mut regs[place + 1]));
                        }
                        keep!(dst, Value::dict(dict));
                    }
                    Op::Push { list, src } => {
                        let value = r!(src).clone();
                        check!(self.meter.charge(16));
                        if let Value::List(list) = &mut r!(list) {
                            Arc::make_mut(list).push(value);
                        }
                    }
                    Op::PushAll { list, src } => {
                        let Value::List(more) = r!(src).clone() else {
                            fail!(want("[...]", "list", &r!(src)));
                        };
                        check!(self.meter.charge(more.len() * 16));
                        if let Value::List(list) = &mut r!(list) {
                            let list = Arc::make_mut(list);
                            more.iter().for_each(|item| list.push(item.clone()));
                        }
                    }
                    Op::Put { dict, key, src } => {
                        let (key, value) = (check!(operate::key_of(&r!(key))), r!(src).clone());
                        check!(self.meter.charge(40));
                        if let Value::Dict(dict) = &mut r!(dict) {
                            Arc::make_mut(dict).insert(key, value);
                        }
                    }
                    Op::PutAll { dict, src } => {
                        let Value::Dict(more) = r!(src).clone() else {
                            fail!(want("{...}", "dict", &r!(src)));
                        };
                        check!(self.meter.charge(more.len() * 40));
                        if let Value::Dict(dict) = &mut r!(dict) {
                            let dict = Arc::make_mut(dict);
                            more.iter().for_each(|(key, value)| dict.insert(Arc::clone(key), value.clone()));
                        }
                    }
                    Op::Join { dst, start, count } => {
                        let mut text = String::new();
                        let from = usize::from(start);
                        for value in &mut regs[from..from + usize::from(count)] {
                            match &*value {
                                Value::Str(part) => text.push_str(part.as_str()),
                                other => match self.objects.shown(other, self.meter.memory_limit) {
                                    Some(shown) => text.push_str(&shown),
                                    None => fail!(Fault::Limit(Limit::Memory(self.meter.memory_limit))),
                                },
                            }
                            *value = Value::Nil;
                        }
                        keep!(dst, Value::str(text));
                    }
                    Op::Range { dst, a, b } => r!(dst) = range(&r!(a), &r!(b), false),
                    Op::RangeExclusive { dst, a, b } => r!(dst) = range(&r!(a), &r!(b), true),
                    Op::Struct { dst, fields, name } => {
                        let fields = match std::mem::take(&mut r!(fields)) {
                            Value::Dict(dict) => Arc::unwrap_or_clone(dict),
                            _ => Dict::new(),
                        };
                        let name = program.names[usize::from(name)].as_str().into();
                        keep!(dst, Value::Struct(Arc::new(StructValue { name, fields })));
                    }
                    Op::Variant { dst, start, shape } => {
                        let shape = &program.variants[usize::from(shape)];
                        let from = usize::from(start);
                        let fields = regs[from..from + usize::from(shape.fields)].iter_mut();
                        let fields = fields.map(std::mem::take).collect();
                        keep!(
                            dst,
                            Value::variant(Arc::clone(&shape.name), Arc::clone(&shape.variant), fields)
                        );
                    }
                    Op::Index { dst, object, index } => match (&r!(object), &r!(index)) {
                        (Value::List(list), Value::Int(at)) if *at >= 0 => {
                            let found = usize::try_from(*at).ok().and_then(|at| list.get(at)).cloned();
                            r!(dst) = found.unwrap_or_default();
                        }
                        (object, index) => r!(dst) = check!(operate::index(object, index)),
                    },
                    Op::IndexIfAny { dst, object, index } => {
                        r!(dst) = match &r!(object) {
                            Value::Nil => Value::Nil,
                            object => check!(operate::index(object, &r!(index))),
                        };
                    }
                    Op::Field { dst, object, name } => {
                        let name = program.names[usize::from(name)].as_str();
                        match operate::property(&r!(object), name) {
                            Some(value) => r!(dst) = value,
                            None => fail!(operate::no_property(&r!(object), name)),
                        }
                    }
                    Op::FieldIfAny { dst, object, name } => {
                        let name = program.names[usize::from(name)].as_str();
                        r!(dst) = operate::property(&r!(object), name).unwrap_or_default();
                    }
                    Op::Slice { dst, object, start } => {
                        let sliced = operate::slice(&r!(object), &r!(start), &r!(start + 1));
                        keep!(dst, check!(sliced));
                    }
                    Op::SetIndex { object, index, src } => {
                        let (index, value) = (r!(index).clone(), std::mem::take(&mut r!(src)));
                        check!(self.pay_for_change(&r!(object)));
                        check!(operate::set_index(&mut r!(object), &index, value));
                        check!(shallow(&r!(object)));
                    }
                    Op::SetField { object, name, src } => {
                        let value = std::mem::take(&mut r!(src));
                        check!(self.pay_for_change(&r!(object)));
                        check!(operate::set_field(&mut r!(object), &program.names[usize::from(name)], value));
                        check!(shallow(&r!(object)));
                    }
                    Op::SetPath { object, path, src, count } => {
                        let (from, value) = (usize::from(path), std::mem::take(&mut r!(src)));
                        let keys: Vec<Value> = regs[from..from + usize::from(count)].to_vec();
                        check!(self.pay_for_change(&r!(object)));
                        check!(operate::set_path(&mut r!(object), &keys, value));
                        check!(shallow(&r!(object)));
                    }

                    Op::WantDict { src } => {
                        if !matches!(r!(src), Value::Dict(_) | Value::Struct(_)) {
                            fail!(want("{...}", "dict", &r!(src)));
                        }
                    }
                    Op::WantList { src } => {
                        if !matches!(r!(src), Value::List(_)) {
                            fail!(want("[...]", "list", &r!(src)));
                        }
                    }
                    Op::RestOfList { dst, src, from } => {
                        let rest = r!(src)
                            .as_list()
                            .and_then(|list| list.get(usize::from(from)..))
                            .unwrap_or_default();
                        let rest = Value::list(rest.to_vec());
                        keep!(dst, rest);
                    }
                    Op::RestOfDict { dst, src, keys } => {
                        let mut rest = r!(src).as_dict().cloned().unwrap_or_default();
                        for key in r!(keys).as_list().unwrap_or_default() {
                            rest.remove(key.as_str().unwrap_or_default());
                        }
                        keep!(dst, Value::dict(rest));
                    }
                    Op::TestVariant { src, shape } => {
                        let shape = &program.variants[usize::from(shape)];
                        test!(matches!(&r!(src), Value::Enum(value)
                        if value.name == shape.name && value.variant == shape.variant));
                    }
                    Op::TestDict { src } => test!(matches!(r!(src), Value::Dict(_) | Value::Struct(_))),
                    Op::TestList { src, least } => {
                        test!(matches!(&r!(src), Value::List(list) if list.len() >= usize::from(least)));
                    }
                    Op::VariantField { dst, src, index } => {
                        let field = match &r!(src) {
                            Value::Enum(value) => value.fields.get(usize::from(index)).cloned(),
                            _ => None,
                        };
                        r!(dst) = field.unwrap_or_default();
                    }

                    Op::CallFunction { dst, start, function, count } => {
                        leave!(self.call_function(fibre, function, start, count, dst, None));
                    }
                    Op::CallBuiltin { dst, start, builtin, count } => {
                        leave!(self.call_builtin(fibre, builtin, start, count, dst));
                    }
                    Op::Call { dst, start, callee, count } => {
                        let callee = r!(callee).clone();
                        leave!(self.call_value(fibre, callee, start, count, dst));
                    }
                    Op::Pipe { dst, start, callee } => {
                        let callee = r!(callee).clone();
                        if !matches!(callee, Value::Closure(_) | Value::Builtin(_)) {
                            fail!(Fault::Type(format!("cannot pipe into {}", callee.type_name())));
                        }
                        leave!(self.call_value(fibre, callee, start, 1, dst));
                    }
                    Op::Method { dst, start, name, count } => {
                        leave!(self.call_method(fibre, name, start, count, dst));
                    }
                    Op::MethodIfAny { dst, start, name, count } => {
                        if matches!(r!(start), Value::Nil) {
                            r!(dst) = Value::Nil;
                            continue;
                        }
                        leave!(self.call_method(fibre, name, start, count, dst));
                    }
                    Op::MethodInPlace { dst, start, name, count } => {
                        r!(start) = match &r!(dst) {
                            Value::List(_) | Value::Set(_) => std::mem::take(&mut r!(dst)),
                            other => other.clone(),
                        };
                        leave!(self.call_method(fibre, name, start, count, dst));
                    }
                    Op::CallList { dst, start, callee } => {
                        let callee = r!(callee).clone();
                        leave!(self.call_with_list(fibre, callee, start, dst));
                    }
                    Op::TailFunction { start, function, count } => {
                        leave!(self.tail_call(fibre, function, start, count, None));
                    }
                    Op::TailCall { start, callee, count } => {
                        let callee = r!(callee).clone();
                        leave!(self.tail_value(fibre, callee, start, count));
                    }
                    Op::Return { src } => {
                        let value = std::mem::take(&mut r!(src));
                        leave!(Ok::<Flow, Fault>(self.return_value(fibre, value)));
                    }
                    Op::ReturnNil => leave!(Ok::<Flow, Fault>(self.return_value(fibre, Value::Nil))),
                    Op::CheckParam { param, check } => {
                        check!(super::check::argument(&program.checks[usize::from(check)], &r!(param)));
                    }

                    Op::LoopRange { state, a, b, exclusive } => {
                        let (from, to) = (int(&r!(a)), int(&r!(b)));
                        r!(state) = Value::Int(from);
                        // The last number is one before the limit, unless there is none after it.
                        r!(state + 1) = match (exclusive, to.checked_add(1)) {
                            (true, _) => Value::Int(to),
                            (false, Some(limit)) => Value::Int(limit),
                            (false, None) => Value::Int(to),
                        };
                    }
                    Op::LoopOver { state, src } => {
                        let source = std::mem::take(&mut r!(src));
                        let (first, second) = super::iterate::prepare(source);
                        r!(state) = first;
                        r!(state + 1) = second;
                    }
                    Op::Next { dst, state } => match (&r!(state), &r!(state + 1)) {
                        (Value::Int(at), Value::Int(limit)) => {
                            let at = *at;
                            if at < *limit {
                                r!(dst) = Value::Int(at);
                                r!(state) = Value::Int(at + 1);
                                pc += 1;
                            }
                        }
                        (Value::List(list), Value::Int(at)) => {
                            let at = *at;
                            if let Some(item) = usize::try_from(at).ok().and_then(|at| list.get(at)) {
                                r!(dst) = item.clone();
                                r!(state + 1) = Value::Int(at + 1);
                                pc += 1;
                            }
                        }
                        (Value::Handle(handle), _) => {
                            let handle = Arc::clone(handle);
                            leave!(self.pull(fibre, &handle, Deliver::Loop(dst)));
                        }
                        _ => {}
                    },

                    Op::Throw { src } => fail!(Fault::Thrown(r!(src).clone())),
                    Op::Fail { index } => fail!(Fault::Plain(program.constants[index as usize].display())),
                    Op::Guard { dst, to } => {
                        co.handlers.push(Handler { frames: depth, dst, to });
                    }
                    Op::Unguard => {
                        co.handlers.pop();
                    }
                    Op::Rethrow => {
                        let fault =
                            co.faults.pop().unwrap_or_else(|| Fault::Runtime("nothing to throw".into()));
                        fail!(fault);
                    }
                    Op::Forget => {
                        co.faults.pop();
                    }
                    Op::CatchOnly { src, name } => {
                        let wanted = program.names[usize::from(name)].as_str();
                        let fits = matches!(&r!(src), Value::Enum(value) if &*value.name == wanted);
                        if !fits {
                            let fault = co.faults.pop().unwrap_or_else(|| Fault::Thrown(r!(src).clone()));
                            fail!(fault);
                        }
                    }
                    Op::Defer { to } => {
                        co.defers.push((depth, to));
                    }
                    Op::EndDefer => leave!(Ok::<Flow, Fault>(self.end_defer(fibre))),
                    Op::Propagate { dst, src } => match r!(src).as_result() {
                        Some(Ok(payload)) => {
                            r!(dst) = payload;
                            if let Op::Jump { to } = code[pc] {
                                pc = to as usize;
                            }
                        }
                        Some(Err(_)) => pc += 1,
                        None => {
                            let kind = r!(src).type_name();
                            fail!(Fault::Type(format!("? operator requires a Result value, got {kind}")));
                        }
                    },
                    Op::Wrap { dst, src } => {
                        let value = std::mem::take(&mut r!(src));
                        let value = if value.as_result().is_some() { value } else { Value::ok(value) };
                        r!(dst) = value;
                    }

                    Op::Spawn { dst, closure } => {
                        let closure = std::mem::take(&mut r!(closure));
                        leave!(self.spawn(fibre, closure, Vec::new(), "spawn", dst));
                    }
                    Op::Yield { src } => {
                        let value = std::mem::take(&mut r!(src));
                        leave!(Ok::<Flow, Fault>(self.yielded(fibre, value)));
                    }
                    Op::Deadline { src } => {
                        let ms = match &r!(src) {
                            Value::Duration(ms) | Value::Int(ms) => *ms,
                            other => fail!(Fault::Type(format!(
                                "a deadline must be a duration, got {}",
                                other.type_name()
                            ))),
                        };
                        save!();
                        self.begin_deadline(fibre, ms);
                        continue 'frame;
                    }
                    Op::EndDeadline => {
                        save!();
                        if let Some(Deadline { call, .. }) = fibre.deadlines.pop() {
                            self.drop_call(call);
                        }
                        continue 'frame;
                    }
                }
            }
        }
    }

    fn begin_deadline(&mut self, fibre: &mut Fibre, ms: i64) {
        let key = Self::key(fibre, "deadline");
        let call = self.new_call(Waiter::Deadline(fibre.id), key, "deadline", vec![Value::Int(ms)]);
        fibre.deadlines.push(Deadline {
            call,
            is_over: false,
            handlers: fibre.active.handlers.len(),
            frames: fibre.active.frames.len(),
            below: fibre.below.len(),
        });
    }

    /// The topmost function ends with a value, after its deferred blocks.
    pub(super) fn return_value(&mut self, fibre: &mut Fibre, value: Value) -> Flow {
        let co = &mut fibre.active;
        let depth = co.frames.len() as u32;
        if let Some((frame, to)) = co.defers.last().copied()
            && frame == depth
        {
            co.defers.pop();
            co.endings.push(Ending::Return(value));
            if let Some(frame) = co.frames.last_mut() {
                frame.pc = to;
            }
            return Flow::Again;
        }
        let Some(done) = co.leave(&self.program) else { return Flow::End(Ok(value)) };
        if co.frames.is_empty() {
            return match fibre.below.is_empty() {
                true => Flow::End(Ok(value)),
                false => self.generator_ended(fibre),
            };
        }
        co.set(done.dst, value);
        Flow::Again
    }

    fn end_defer(&mut self, fibre: &mut Fibre) -> Flow {
        match fibre.active.endings.pop() {
            Some(Ending::Return(value)) => self.return_value(fibre, value),
            Some(Ending::Fault(fault)) => self.raise(fibre, fault),
            None => Flow::Again,
        }
    }

    /// A container that others have too is copied before it is changed.
    fn pay_for_change(&mut self, object: &Value) -> Result<(), Fault> {
        let size = if is_shared(object) { object.own_size() } else { 40 };
        self.meter.charge(size)
    }

    /// Lets a fibre wait until something changes, and then try its instruction again.
    pub(super) fn wait_for_change(&mut self, fibre: &mut Fibre) -> Flow {
        fibre.wait = Some(Wait::Change);
        if let Some(frame) = fibre.active.frames.last_mut() {
            frame.pc -= 1;
        }
        Flow::Stop
    }
}

/// Whether somebody else has it too.
pub(super) fn is_shared(value: &Value) -> bool {
    match value {
        Value::Str(inner) => Arc::strong_count(inner) > 1,
        Value::List(inner) => Arc::strong_count(inner) > 1,
        Value::Dict(inner) => Arc::strong_count(inner) > 1,
        Value::Set(inner) => Arc::strong_count(inner) > 1,
        Value::Struct(inner) => Arc::strong_count(inner) > 1,
        _ => false,
    }
}

fn shallow(value: &Value) -> Result<(), Fault> {
    match value.depth() > MAX_DEPTH {
        true => Err(Fault::Limit(Limit::Nesting(u64::from(MAX_DEPTH)))),
        false => Ok(()),
    }
}

fn int(value: &Value) -> i64 {
    value.as_int().unwrap_or(0)
}

fn range(a: &Value, b: &Value, exclusive: bool) -> Value {
    Value::Range(Arc::new(Range { start: int(a), end: int(b), exclusive }))
}

fn want(pattern: &str, wanted: &str, got: &Value) -> Fault {
    Fault::Type(format!("cannot destructure {} with {pattern} pattern — expected {wanted}", got.type_name()))
}

/// A register, for those who only have a fibre.
pub(super) fn register(fibre: &mut Fibre, at: Reg) -> &mut Value {
    let base = fibre.active.frames.last().map_or(0, |frame| frame.base as usize);
    &mut fibre.active.stack[base + usize::from(at)]
}
