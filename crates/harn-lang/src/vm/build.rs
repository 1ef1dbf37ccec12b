//! Putting lists, dicts and texts together.

use std::sync::Arc;

use super::Vm;
use super::operate::{key_of, push_int, want};
use crate::fault::{Fault, Limit};
use crate::value::Value;

impl Vm {
    /// One more item for a list that is being written down.
    pub(super) fn push_item(&mut self, list: &mut Value, item: Value) -> Result<(), Fault> {
        self.meter.charge(16)?;
        if let Value::List(list) = list {
            Arc::make_mut(list).push(item);
        }
        Ok(())
    }

    /// `[...more]`.
    pub(super) fn push_all(&mut self, list: &mut Value, more: Value) -> Result<(), Fault> {
        let Value::List(more) = more else { return Err(want("[...]", "list", &more)) };
        self.meter.charge(more.len() * 16)?;
        if let Value::List(list) = list {
            let list = Arc::make_mut(list);
            more.iter().for_each(|item| list.push(item.clone()));
        }
        Ok(())
    }

    /// One more entry for a dict that is being written down.
    pub(super) fn put(&mut self, dict: &mut Value, key: &Value, value: Value) -> Result<(), Fault> {
        let key = key_of(key)?;
        self.meter.charge(40)?;
        if let Value::Dict(dict) = dict {
            Arc::make_mut(dict).insert(key, value);
        }
        Ok(())
    }

    /// `{...more}`.
    pub(super) fn put_all(&mut self, dict: &mut Value, more: Value) -> Result<(), Fault> {
        let Value::Dict(more) = more else { return Err(want("{...}", "dict", &more)) };
        self.meter.charge(more.len() * 40)?;
        if let Value::Dict(dict) = dict {
            if dict.is_empty() {
                *dict = more;
                return Ok(());
            }
            let dict = Arc::make_mut(dict);
            more.iter().for_each(|(key, value)| dict.insert(Arc::clone(key), value.clone()));
        }
        Ok(())
    }

    /// The parts of a text with `${...}` in it, which are used up.
    pub(super) fn join(&self, parts: &mut [Value]) -> Result<Value, Fault> {
        let mut text = String::with_capacity(16);
        for part in parts {
            match &*part {
                Value::Str(part) => text.push_str(part.as_str()),
                Value::Int(number) => push_int(&mut text, *number),
                other => match self.objects.shown(other, self.meter.memory_limit) {
                    Some(shown) => text.push_str(&shown),
                    None => return Err(Fault::Limit(Limit::Memory(self.meter.memory_limit))),
                },
            }
            part.put(Value::Nil);
        }
        Ok(Value::str(text))
    }
}
