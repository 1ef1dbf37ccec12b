//! How a builtin reads its arguments, of which there may be fewer than it has parameters.

use std::borrow::Cow;
use std::fmt::Write;
use std::sync::Arc;

use super::{Cx, types};
use crate::fault::Fault;
use crate::value::{Dict, Text, Value};

static NIL: Value = Value::Nil;

/// An argument that is not there is nil.
pub fn at(args: &[Value], index: usize) -> &Value {
    args.get(index).unwrap_or(&NIL)
}

/// The argument itself, so that it can be changed in place when nobody else has it.
pub fn take(args: &mut [Value], index: usize) -> Value {
    args.get_mut(index).map(std::mem::take).unwrap_or_default()
}

/// The printed form of an argument; nothing when it is not there.
pub fn text<'a>(cx: &mut Cx<'_>, args: &'a [Value], index: usize) -> Result<Cow<'a, str>, Fault> {
    args.get(index).map_or(Ok(Cow::Borrowed("")), |value| print(cx, value))
}

/// The printed form of an argument, or this when it is missing or nil.
pub fn text_or<'a>(
    cx: &mut Cx<'_>,
    args: &'a [Value],
    index: usize,
    otherwise: &'a str,
) -> Result<Cow<'a, str>, Fault> {
    match at(args, index) {
        Value::Nil => Ok(Cow::Borrowed(otherwise)),
        value => print(cx, value),
    }
}

/// The printed form, paid for while it grows: a small value that holds another many times prints without end.
pub fn print<'a>(cx: &mut Cx<'_>, value: &'a Value) -> Result<Cow<'a, str>, Fault> {
    if let Value::Str(text) = value {
        return Ok(Cow::Borrowed(text.as_str()));
    }
    let mut out = Metered::new(cx);
    match write!(out, "{value}") {
        Ok(()) => Ok(Cow::Owned(out.finish())),
        Err(_) => Err(out.into_fault()),
    }
}

/// Text that is paid for while it grows.
pub struct Metered<'c, 'm> {
    cx: &'c mut Cx<'m>,
    text: String,
    fault: Option<Fault>,
}

impl<'c, 'm> Metered<'c, 'm> {
    pub fn new(cx: &'c mut Cx<'m>) -> Self {
        Self { cx, text: String::new(), fault: None }
    }

    pub fn push(&mut self, more: &str) -> Result<(), Fault> {
        if self.text.len() + more.len() > self.text.capacity() {
            let grown = more.len().max(self.text.capacity()).max(64);
            self.cx.charge(grown)?;
            self.cx.work(grown);
            self.text.reserve_exact(grown);
        }
        self.text.push_str(more);
        Ok(())
    }

    pub fn finish(self) -> String {
        self.text
    }

    /// Why writing failed.
    pub fn into_fault(self) -> Fault {
        self.fault.unwrap_or_else(|| Fault::runtime("this value cannot be printed"))
    }
}

impl Write for Metered<'_, '_> {
    fn write_str(&mut self, more: &str) -> std::fmt::Result {
        self.push(more).map_err(|fault| {
            self.fault = Some(fault);
            std::fmt::Error
        })
    }
}

/// A whole number; a float loses its fraction, anything else counts as missing.
pub fn int(args: &[Value], index: usize) -> Option<i64> {
    match at(args, index) {
        Value::Int(value) | Value::Duration(value) => Some(*value),
        Value::Float(value) => Some(*value as i64),
        _ => None,
    }
}

pub fn int_or(args: &[Value], index: usize, otherwise: i64) -> i64 {
    int(args, index).unwrap_or(otherwise)
}

/// A count: negative numbers are none.
pub fn count_or(args: &[Value], index: usize, otherwise: usize) -> usize {
    int(args, index).map_or(otherwise, |value| usize::try_from(value.max(0)).unwrap_or(usize::MAX))
}

pub fn list(args: &[Value], index: usize) -> &[Value] {
    at(args, index).as_list().unwrap_or_default()
}

/// The items of a list, a set or a range; nothing for anything else.
pub fn sequence<'a>(
    cx: &mut Cx<'_>,
    args: &'a [Value],
    index: usize,
) -> Result<Option<Cow<'a, [Value]>>, Fault> {
    Ok(match at(args, index) {
        Value::List(list) => Some(Cow::Borrowed(list)),
        value @ (Value::Set(_) | Value::Range(_)) => Some(Cow::Owned(types::spread(cx, value)?)),
        _ => None,
    })
}

/// The fields of a dict or a struct.
pub fn dict(args: &[Value], index: usize) -> Option<&Dict> {
    fields(at(args, index))
}

pub fn fields(value: &Value) -> Option<&Dict> {
    match value {
        Value::Dict(dict) => Some(dict),
        Value::Struct(value) => Some(&value.fields),
        _ => None,
    }
}

/// A dict that must be there.
pub fn dict_of<'a>(args: &'a [Value], index: usize, builtin: &str, what: &str) -> Result<&'a Dict, Fault> {
    dict(args, index).ok_or_else(|| {
        Fault::thrown(format!("{builtin}: {what} must be a dict, got {}", at(args, index).type_name()))
    })
}

/// The key of a signature: a string or bytes. The printed form of anything else, nil above all, would be known to everybody.
pub fn key_bytes<'a>(args: &'a [Value], index: usize, builtin: &str) -> Result<&'a [u8], Fault> {
    match at(args, index) {
        Value::Str(text) => Ok(text.as_str().as_bytes()),
        Value::Bytes(bytes) => Ok(bytes),
        other => {
            let message =
                format!("{builtin}: the secret must be a string or bytes, got {}", other.type_name());
            Err(Fault::thrown(message))
        }
    }
}

/// A key that nobody can guess at once.
pub fn secret<'a>(args: &'a [Value], index: usize, builtin: &str) -> Result<&'a [u8], Fault> {
    let secret = key_bytes(args, index, builtin)?;
    if secret.is_empty() {
        return Err(Fault::thrown(format!("{builtin}: the secret must not be empty")));
    }
    Ok(secret)
}

/// Bytes, or the UTF-8 of the printed form of anything else.
pub fn octets<'a>(cx: &mut Cx<'_>, args: &'a [Value], index: usize) -> Result<Cow<'a, [u8]>, Fault> {
    match at(args, index) {
        Value::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
        _ => Ok(match text(cx, args, index)? {
            Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
            Cow::Owned(text) => Cow::Owned(text.into_bytes()),
        }),
    }
}

pub fn is_callable(value: &Value) -> bool {
    matches!(value, Value::Closure(_) | Value::Builtin(_))
}

pub fn key(name: &str) -> Arc<Text> {
    Arc::new(Text::new(name))
}

pub fn bytes(bytes: Vec<u8>) -> Value {
    Value::Bytes(Arc::new(bytes))
}

pub fn strings<T: Into<Value>>(items: impl IntoIterator<Item = T>) -> Value {
    Value::list(items.into_iter().map(Into::into).collect())
}

/// The items of a list that was taken from its argument, copied only when somebody else has it.
pub fn items(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::List(list) => Some(Arc::unwrap_or_clone(list).into_items()),
        _ => None,
    }
}

/// A length or a number of items as a value.
pub fn number(count: usize) -> Value {
    Value::Int(i64::try_from(count).unwrap_or(i64::MAX))
}

/// A slice as the language has it: negative places count from the end, and nothing reaches outside.
pub fn bounds(length: usize, start: Option<i64>, end: Option<i64>) -> (usize, usize) {
    let place = |at: i64| {
        let at = if at < 0 { at.saturating_add(i64::try_from(length).unwrap_or(i64::MAX)) } else { at };
        usize::try_from(at.max(0)).unwrap_or(usize::MAX).min(length)
    };
    let (start, end) = (start.map_or(0, place), end.map_or(length, place));
    (start.min(end), end)
}

/// Counts all that a value consists of before it is walked: a small value can hold another one very many times.
pub fn weigh(cx: &mut Cx<'_>, value: &Value) -> Result<(), Fault> {
    let before = cx.meter.memory;
    weigh_part(cx, value)?;
    // Nothing was allocated.
    cx.meter.memory = before;
    Ok(())
}

fn weigh_part(cx: &mut Cx<'_>, value: &Value) -> Result<(), Fault> {
    if value.depth() < 3 {
        return Ok(());
    }
    cx.charge(8)?;
    cx.work(4);
    match value {
        Value::List(list) => list.iter().try_for_each(|item| weigh_part(cx, item)),
        Value::Set(set) => set.iter().try_for_each(|item| weigh_part(cx, item)),
        Value::Pair(pair) => weigh_part(cx, &pair.first).and_then(|()| weigh_part(cx, &pair.second)),
        Value::Enum(value) => value.fields.iter().try_for_each(|field| weigh_part(cx, field)),
        other => fields(other).into_iter().flat_map(Dict::values).try_for_each(|value| weigh_part(cx, value)),
    }
}
