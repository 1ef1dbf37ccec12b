//! The loop that executes instructions.

use std::sync::Arc;

use super::fibre::{Deadline, Deliver, Fibre, Frame, Handler, MAX_FRAMES, clear};
use super::operate::{int, is_shared, range, shallow, want};
use super::unwind::thrown_on;
use super::{Vm, operate};
use crate::bytecode::{Op, Program};
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
    #[allow(clippy::too_many_lines, reason = "one arm per instruction, each a line or two")]
    pub(super) fn execute(&mut self, program: &Program, fibre: &mut Fibre) -> Flow {
        // A step is an instruction. It is paid for where a loop begins again, by the loop's length, and where a
        // function begins, by its own: what is between two such places ends by itself.
        let mut fuel = self.meter.fuel;
        'fibre: loop {
            let co = &mut *fibre.active;
            let Some(frame) = co.frames.last() else { return Flow::End(Ok(Value::Nil)) };
            // Of the function on top. Its frame gets to know them when another one comes on top, or the loop is left.
            let mut function = &program.functions[usize::from(frame.function)];
            let mut base = frame.base as usize;
            let mut pc = frame.pc as usize;
            'frame: loop {
                if fuel <= 0 {
                    co.stay_at(pc);
                    self.meter.fuel = fuel;
                    return Flow::Stop;
                }
                let code = &function.code[..];
                let (below, regs) = co.stack.split_at_mut(base);

                macro_rules! r {
                    ($reg:expr) => {
                        regs[usize::from($reg)]
                    };
                }
                // As `r!(dst) = value.clone()`, the frequent ones first.
                macro_rules! copy {
                    ($dst:expr, $value:expr) => {
                        match $value {
                            Value::Int(number) => {
                                let number = *number;
                                r!($dst).put_int(number);
                            }
                            Value::Float(number) => {
                                let number = *number;
                                r!($dst).put_float(number);
                            }
                            other => {
                                let value = other.clone();
                                r!($dst).put(value);
                            }
                        }
                    };
                }
                // Leaves the loop: what is in local variables goes back to where it belongs.
                macro_rules! save {
                    () => {
                        co.stay_at(pc);
                        self.meter.fuel = fuel;
                    };
                }
                macro_rules! fail {
                    ($fault:expr) => {{
                        let fault = $fault;
                        save!();
                        match self.raise(fibre, fault) {
                            Flow::Again => {
                                fuel = self.meter.fuel;
                                continue 'fibre;
                            }
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
                            fuel = self.meter.fuel;
                            continue 'fibre;
                        }
                        if value.depth() > MAX_DEPTH {
                            fail!(Fault::Limit(Limit::Nesting(u64::from(MAX_DEPTH))));
                        }
                        r!($dst).put(value);
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
                            Flow::Again => {
                                fuel = self.meter.fuel;
                                continue 'fibre;
                            }
                            other => return other,
                        }
                    }};
                }
                // Puts a function on top whose arguments are just what it wants, if they are.
                macro_rules! enter {
                    ($number:expr, $start:expr, $count:expr, $dst:expr, $closure_at:expr) => {
                        if let Some(callee) = program.functions.get(usize::from($number))
                            && callee.fits($count)
                            && co.frames.len() < MAX_FRAMES
                        {
                            fuel -= callee.cost();
                            co.stay_at(pc);
                            let (number, given, dst, closure_at) = ($number, $count, $dst, $closure_at);
                            base += usize::from($start);
                            co.enter_simply(
                                callee,
                                Frame { function: number, dst, pc: 0, base: base as u32, closure_at, given },
                            );
                            (function, pc) = (callee, 0);
                            continue 'frame;
                        }
                    };
                }
                // The function on top goes away with its registers, and the one below gets its value.
                macro_rules! hand_over {
                    ($caller:ident, $dst:ident, $place:ident => $put:expr) => {{
                        clear(&mut regs[..usize::from(function.registers)]);
                        co.frames.pop();
                        function = &program.functions[usize::from($caller.function)];
                        (base, pc) = ($caller.base as usize, $caller.pc as usize);
                        if let Some($place) = co.stack.get_mut(base + usize::from($dst)) {
                            $put;
                        }
                        continue 'frame;
                    }};
                }
                // The function is done, unless deferred blocks come first.
                macro_rules! give_back {
                ($value:expr) => {{
                    if let [.., caller, Frame { dst, closure_at, .. }] = co.frames[..]
                        && closure_at != Frame::HELD
                        && co.defers.is_empty()
                    {
                        match &mut $value {
                            Value::Int(number) => {
                                let number = *number;
                                hand_over!(caller, dst, place => place.put_int(number))
                            }
                            other => {
                                let value = std::mem::take(other);
                                hand_over!(caller, dst, place => place.put(value))
                            }
                        }
                    }
                    let value = std::mem::take(&mut $value);
                    leave!(Ok::<Flow, Fault>(self.return_value(fibre, value)));
                }};
            }

                loop {
                    let Some(op) = code.get(pc) else {
                        fail!(Fault::Runtime("the code ended".into()));
                    };
                    pc += 1;
                    match *op {
                        Op::Nil { dst } => r!(dst).put(Value::Nil),
                        Op::Bool { dst, value } => r!(dst).put(Value::Bool(value)),
                        Op::Int { dst, value } => r!(dst).put_int(i64::from(value)),
                        Op::Const { dst, index } => copy!(dst, &program.constants[index as usize]),
                        Op::Move { dst, src } => copy!(dst, &r!(src)),
                        Op::Take { dst, src } => {
                            if dst != src {
                                let value = std::mem::take(&mut r!(src));
                                r!(dst).put(value);
                            }
                        }
                        Op::Capture { dst, index } => {
                            let own = co.frames.last().and_then(|frame| frame.own_closure(below, &co.held));
                            let captured = own.and_then(|own| own.captures.get(usize::from(index)));
                            copy!(dst, captured.unwrap_or(&Value::Nil));
                        }
                        Op::Itself { dst } => {
                            // One that captures nothing is not kept with its frame.
                            if let Some(frame) = co.frames.last() {
                                let own = frame.own_closure(below, &co.held).cloned().unwrap_or_else(|| {
                                    let params = Arc::clone(&function.params);
                                    Arc::new(Closure::new(u32::from(frame.function), Box::new([]), params))
                                });
                                r!(dst) = Value::Closure(own);
                            }
                        }
                        Op::Global { dst, index } => copy!(dst, &self.globals[index as usize]),
                        Op::SetGlobal { src, index } => {
                            self.globals[index as usize] = std::mem::take(&mut r!(src));
                        }
                        Op::Closure { dst, function, start } => {
                            let target = &program.functions[usize::from(function)];
                            let count = usize::from(target.captures);
                            let from = usize::from(start);
                            let captures = regs[from..from + count].iter_mut().map(std::mem::take).collect();
                            let closure =
                                Closure::new(u32::from(function), captures, Arc::clone(&target.params));
                            keep!(dst, Value::Closure(Arc::new(closure)));
                        }

                        Op::Add { dst, a, b } => match (&r!(a), &r!(b)) {
                            (Value::Int(a), Value::Int(b)) => {
                                let sum = a.wrapping_add(*b);
                                r!(dst).put_int(sum);
                            }
                            (Value::Float(a), Value::Float(b)) => {
                                let sum = a + b;
                                r!(dst).put_float(sum);
                            }
                            (a, b) => keep!(dst, check!(operate::add(a, b))),
                        },
                        Op::Append { dst, b } => {
                            match (&r!(dst), &r!(b)) {
                                (Value::Int(a), Value::Int(b)) => {
                                    let sum = a.wrapping_add(*b);
                                    r!(dst).put_int(sum);
                                    continue;
                                }
                                (Value::Float(a), Value::Float(b)) => {
                                    let sum = a + b;
                                    r!(dst).put_float(sum);
                                    continue;
                                }
                                _ => {}
                            }
                            let size = r!(b).own_size();
                            if size > 0 && self.meter.charge(size).is_err() {
                                pc -= 1;
                                leave!(self.make_room(fibre, size).map(|()| Flow::Again));
                            }
                            let before = if is_shared(&r!(dst)) { r!(dst).own_size() } else { 0 };
                            check!(match regs.get_disjoint_mut([usize::from(dst), usize::from(b)]) {
                                Ok([a, b]) => operate::append(a, b),
                                // Twice the same.
                                Err(_) => {
                                    let b = r!(b).clone();
                                    operate::append(&mut r!(dst), &b)
                                }
                            });
                            check!(self.meter.charge(before));
                            if r!(dst).depth() > MAX_DEPTH {
                                fail!(Fault::Limit(Limit::Nesting(u64::from(MAX_DEPTH))));
                            }
                        }
                        Op::AddInt { dst, a, value } => match &r!(a) {
                            Value::Int(a) => {
                                let sum = a.wrapping_add(i64::from(value));
                                r!(dst).put_int(sum);
                            }
                            other => r!(dst) = check!(operate::add(other, &Value::Int(i64::from(value)))),
                        },
                        Op::SubtractInt { dst, a, value } => match &r!(a) {
                            Value::Int(a) => {
                                let difference = a.wrapping_sub(i64::from(value));
                                r!(dst).put_int(difference);
                            }
                            other => {
                                r!(dst) = check!(operate::subtract(other, &Value::Int(i64::from(value))))
                            }
                        },
                        Op::Subtract { dst, a, b } => match (&r!(a), &r!(b)) {
                            (Value::Int(a), Value::Int(b)) => {
                                let difference = a.wrapping_sub(*b);
                                r!(dst).put_int(difference);
                            }
                            (a, b) => r!(dst) = check!(operate::subtract(a, b)),
                        },
                        Op::Multiply { dst, a, b } => match (&r!(a), &r!(b)) {
                            (Value::Int(a), Value::Int(b)) => {
                                let product = a.wrapping_mul(*b);
                                r!(dst).put_int(product);
                            }
                            (Value::Float(a), Value::Float(b)) => {
                                let product = a * b;
                                r!(dst).put_float(product);
                            }
                            (Value::Str(text), Value::Int(times)) | (Value::Int(times), Value::Str(text)) => {
                                let all = operate::repeat(text.as_str(), *times, self.meter.memory_limit);
                                keep!(dst, check!(all));
                            }
                            (a, b) => r!(dst) = check!(operate::multiply(a, b)),
                        },
                        Op::Divide { dst, a, b } => r!(dst) = check!(operate::divide(&r!(a), &r!(b))),
                        Op::Modulo { dst, a, b } => match (&r!(a), &r!(b)) {
                            (Value::Int(a), Value::Int(b)) if *b != 0 => {
                                let rest = a.wrapping_rem(*b);
                                r!(dst).put_int(rest);
                            }
                            (a, b) => r!(dst) = check!(operate::modulo(a, b)),
                        },
                        Op::ModuloInt { dst, a, value } => match &r!(a) {
                            Value::Int(a) if value != 0 => {
                                let rest = a.wrapping_rem(i64::from(value));
                                r!(dst).put_int(rest);
                            }
                            other => r!(dst) = check!(operate::modulo(other, &Value::Int(i64::from(value)))),
                        },
                        Op::Power { dst, a, b } => r!(dst) = check!(operate::power(&r!(a), &r!(b))),
                        Op::Negate { dst, a } => r!(dst) = check!(operate::negate(&r!(a))),
                        Op::Not { dst, a } => r!(dst) = Value::Bool(!r!(a).is_truthy()),
                        Op::Truth { dst, a } => r!(dst) = Value::Bool(r!(a).is_truthy()),
                        Op::Equal { dst, a, b } => {
                            let is_equal = match (&r!(a), &r!(b)) {
                                (Value::Int(a), Value::Int(b)) => a == b,
                                (a, b) => check!(self.objects.equal(a, b)),
                            };
                            r!(dst).put(Value::Bool(is_equal));
                        }
                        Op::NotEqual { dst, a, b } => {
                            r!(dst) = Value::Bool(!check!(self.objects.equal(&r!(a), &r!(b))))
                        }
                        Op::EqualInt { dst, a, value } => {
                            let is_equal = match &r!(a) {
                                Value::Int(a) => *a == i64::from(value),
                                other => *other == Value::Int(i64::from(value)),
                            };
                            r!(dst).put(Value::Bool(is_equal));
                        }
                        Op::Less { dst, a, b } => {
                            let is_less = operate::less(&r!(a), &r!(b));
                            r!(dst).put(Value::Bool(is_less));
                        }
                        Op::LessEqual { dst, a, b } => {
                            r!(dst) = Value::Bool(operate::less_or_equal(&r!(a), &r!(b)))
                        }
                        Op::In { dst, a, b } => {
                            r!(dst) = Value::Bool(check!(operate::contains(&r!(b), &r!(a))))
                        }

                        Op::Jump { to } => {
                            let from = std::mem::replace(&mut pc, to as usize);
                            if pc < from {
                                fuel -= (from - pc) as i64;
                                if fuel <= 0 {
                                    save!();
                                    return Flow::Stop;
                                }
                            }
                        }
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
                        Op::TestMoreInt { a, value } => test!(match &r!(a) {
                            Value::Int(a) => *a > i64::from(value),
                            other => operate::less(&Value::Int(i64::from(value)), other),
                        }),
                        Op::TestEqualInt { a, value } => test!(match &r!(a) {
                            Value::Int(a) => *a == i64::from(value),
                            other => *other == Value::Int(i64::from(value)),
                        }),
                        Op::TestGiven { index } => {
                            if co.frames.last().is_some_and(|frame| u16::from(frame.given) > index) {
                                // Over the jump to the default, to the one that passes it by.
                                pc += 1;
                            }
                        }

                        Op::List { dst, start, count } => {
                            let from = usize::from(start);
                            let items = regs[from..from + usize::from(count)]
                                .iter_mut()
                                .map(std::mem::take)
                                .collect();
                            keep!(dst, Value::list(items));
                        }
                        Op::EmptyDict { dst } => keep!(dst, Value::dict(Dict::new())),
                        Op::Dict { dst, start, keys } => {
                            let keys = &program.key_lists[usize::from(keys)];
                            let from = usize::from(start);
                            let values = regs[from..from + keys.len()].iter_mut().map(std::mem::take);
                            keep!(dst, Value::dict(Dict::of_sorted(keys, values)));
                        }
                        Op::Push { list, src } => {
                            let item = r!(src).clone();
                            check!(self.push_item(&mut r!(list), item));
                        }
                        Op::PushAll { list, src } => {
                            let more = r!(src).clone();
                            check!(self.push_all(&mut r!(list), more));
                        }
                        Op::Put { dict, key, src } => {
                            let (key, value) = (r!(key).clone(), r!(src).clone());
                            check!(self.put(&mut r!(dict), &key, value));
                        }
                        Op::PutAll { dict, src } => {
                            let more = r!(src).clone();
                            check!(self.put_all(&mut r!(dict), more));
                        }
                        Op::Join { dst, start, count } => {
                            let from = usize::from(start);
                            let text = check!(self.join(&mut regs[from..from + usize::from(count)]));
                            keep!(dst, text);
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
                                let found = usize::try_from(*at).ok().and_then(|at| list.get(at));
                                copy!(dst, found.unwrap_or(&Value::Nil));
                            }
                            (Value::Dict(dict), Value::Str(key)) => {
                                copy!(dst, dict.find(key).unwrap_or(&Value::Nil));
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
                            let name = &program.names[usize::from(name)];
                            match &r!(object) {
                                Value::Dict(dict) => copy!(dst, dict.find(name).unwrap_or(&Value::Nil)),
                                other => match operate::property(other, name.as_str()) {
                                    Some(value) => r!(dst).put(value),
                                    None => fail!(operate::no_property(other, name.as_str())),
                                },
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
                            let value = std::mem::take(&mut r!(src));
                            if let (Value::Int(at), true) = (&r!(index), value.is_scalar())
                                && let Ok(at) = usize::try_from(*at)
                                && let Value::List(list) = &mut r!(object)
                                && let Some(list) = Arc::get_mut(list)
                                && let Some(place) = list.items_mut().get_mut(at)
                            {
                                place.put(value);
                                continue;
                            }
                            check!(self.pay_for_change(&r!(object)));
                            check!(match regs.get_disjoint_mut([usize::from(object), usize::from(index)]) {
                                Ok([object, index]) => operate::set_index(object, index, value),
                                // Twice the same.
                                Err(_) => {
                                    let index = r!(index).clone();
                                    operate::set_index(&mut r!(object), &index, value)
                                }
                            });
                            check!(shallow(&r!(object)));
                        }
                        Op::SetField { object, name, src } => {
                            let value = std::mem::take(&mut r!(src));
                            check!(self.pay_for_change(&r!(object)));
                            check!(operate::set_field(
                                &mut r!(object),
                                &program.names[usize::from(name)],
                                value
                            ));
                            check!(shallow(&r!(object)));
                        }
                        Op::SetPath { object, path, src, count } => {
                            let (from, value) = (usize::from(path), std::mem::take(&mut r!(src)));
                            check!(self.pay_for_change(&r!(object)));
                            // The keys are temporary, so they stand above every variable.
                            let (below, keys) = regs.split_at_mut(from);
                            let keys = &keys[..usize::from(count)];
                            check!(operate::set_path(&mut below[usize::from(object)], keys, value));
                            check!(shallow(&r!(object)));
                        }

                        Op::SetFields { object, keys, src } => {
                            let value = std::mem::take(&mut r!(src));
                            check!(self.pay_for_change(&r!(object)));
                            let keys = &program.key_lists[usize::from(keys)];
                            check!(operate::set_fields(&mut r!(object), keys, value));
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
                            keep!(dst, operate::rest_of_list(&r!(src), usize::from(from)));
                        }
                        Op::RestOfDict { dst, src, keys } => {
                            keep!(dst, operate::rest_of_dict(&r!(src), &r!(keys)));
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
                            r!(dst) = operate::variant_field(&r!(src), usize::from(index));
                        }

                        Op::CallFunction { dst, start, function, count } => {
                            enter!(function, start, count, dst, Frame::NOWHERE);
                            leave!(self.call_function(fibre, function, start, count, dst, None));
                        }
                        Op::CallBuiltin { dst, start, builtin, count } => {
                            leave!(self.call_builtin(fibre, builtin, start, count, dst));
                        }
                        Op::Call { dst, start, callee, count } => {
                            if let Value::Closure(closure) = &r!(callee) {
                                let number = u16::try_from(closure.function).unwrap_or(u16::MAX);
                                if callee < start {
                                    enter!(number, start, count, dst, base as u32 + u32::from(callee));
                                }
                            }
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
                        Op::MethodList { dst, start, name } => {
                            leave!(self.call_method_with_list(fibre, name, start, dst));
                        }
                        Op::MethodInPlace { dst, start, name, count } => {
                            if name == self.push
                                && count == 2
                                && let Some(done) = self.push_in_place(regs, dst, start + 1)
                            {
                                check!(done);
                                continue;
                            }
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
                            give_back!(r!(src));
                        }
                        Op::ReturnNil => give_back!(Value::Nil),
                        Op::CheckParam { param, check } => {
                            check!(super::check::argument(&program.checks[usize::from(check)], &r!(param)));
                        }

                        Op::LoopRange { state, a, b, exclusive } => {
                            let range = Range { start: int(&r!(a)), end: int(&r!(b)), exclusive };
                            (r!(state), r!(state + 1)) = super::iterate::numbers(&range);
                        }
                        Op::LoopOver { state, src } => {
                            let source = std::mem::take(&mut r!(src));
                            (r!(state), r!(state + 1)) = super::iterate::prepare(source);
                        }
                        Op::Next { dst, state } => match (&r!(state), &r!(state + 1)) {
                            (Value::Int(at), Value::Int(limit)) => {
                                let at = *at;
                                if at != *limit {
                                    r!(dst).put_int(at);
                                    r!(state).put_int(at.wrapping_add(1));
                                    pc += 1;
                                }
                            }
                            (Value::List(list), Value::Int(at)) => {
                                let at = *at;
                                if let Some(item) = usize::try_from(at).ok().and_then(|at| list.get(at)) {
                                    copy!(dst, item);
                                    r!(state + 1).put_int(at + 1);
                                    pc += 1;
                                }
                            }
                            (Value::Handle(handle), _) => {
                                let (kind, id) = (handle.kind, handle.id);
                                match self.objects.next_item(id) {
                                    Some(Some(item)) => {
                                        r!(dst).put(item);
                                        pc += 1;
                                    }
                                    Some(None) => {}
                                    None => leave!(self.pull(fibre, (kind, id), Deliver::Loop(dst))),
                                }
                            }
                            _ => {}
                        },

                        Op::Throw { src } => fail!(Fault::Thrown(r!(src).clone())),
                        Op::Fail { index } => {
                            fail!(Fault::Plain(program.constants[index as usize].display()))
                        }
                        Op::Guard { dst, to } => {
                            co.handlers.push(Handler { frames: co.frames.len() as u32, dst, to });
                        }
                        Op::Unguard => {
                            co.handlers.pop();
                        }
                        Op::Rethrow => {
                            let fault = thrown_on(&mut co.faults, &mut co.origin);
                            fail!(fault.unwrap_or_else(|| Fault::Runtime("nothing to throw".into())));
                        }
                        Op::Forget => {
                            co.faults.pop();
                        }
                        Op::CatchOnly { src, name } => {
                            let wanted = program.names[usize::from(name)].as_str();
                            let fits = matches!(&r!(src), Value::Enum(value) if &*value.name == wanted);
                            if !fits {
                                let fault = thrown_on(&mut co.faults, &mut co.origin);
                                fail!(fault.unwrap_or_else(|| Fault::Thrown(r!(src).clone())));
                            }
                        }
                        Op::Defer { to, low } => leave!(self.defer(fibre, to, low)),
                        Op::KeepDeferred { from } => leave!(self.keep_deferred(fibre, from)),
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
                            continue 'fibre;
                        }
                        Op::EndDeadline => {
                            save!();
                            if let Some(Deadline { call, .. }) = fibre.active.deadlines.pop() {
                                self.drop_call(call);
                            }
                            continue 'fibre;
                        }
                    }
                }
            }
        }
    }
}
