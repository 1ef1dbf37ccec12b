//! JSON pointers: `/a/0/b`.

use std::sync::Arc;

use super::super::args::{fields, key};
use crate::fault::Fault;
use crate::value::{Dict, Value};

/// How many steps a pointer may have.
const MAX_STEPS: usize = 256;

pub fn steps(builtin: &str, pointer: &str) -> Result<Vec<String>, Fault> {
    if pointer.is_empty() {
        return Ok(Vec::new());
    }
    let Some(rest) = pointer.strip_prefix('/') else {
        return Err(Fault::thrown(format!("{builtin}: a pointer starts with '/', got '{pointer}'")));
    };
    let steps: Vec<String> =
        rest.split('/').take(MAX_STEPS + 1).map(|step| step.replace("~1", "/").replace("~0", "~")).collect();
    if steps.len() > MAX_STEPS {
        return Err(Fault::thrown(format!("{builtin}: a pointer may have {MAX_STEPS} steps")));
    }
    Ok(steps)
}

pub fn get<'v>(value: &'v Value, steps: &[String]) -> Option<&'v Value> {
    steps.iter().try_fold(value, |value, step| match value {
        Value::List(list) => step.parse::<usize>().ok().and_then(|index| list.get(index)),
        other => fields(other)?.get(step),
    })
}

/// Dicts that are not there yet are made; `-` is the place after the last item of a list.
pub fn set(value: &mut Value, steps: &[String], new: Value) -> Result<(), Fault> {
    let [step, rest @ ..] = steps else {
        *value = new;
        return Ok(());
    };
    if *value == Value::Nil {
        *value = Value::dict(Dict::new());
    }
    match value {
        Value::Dict(dict) => {
            let dict = Arc::make_mut(dict);
            let mut inner = dict.get_mut(step).map(std::mem::take).unwrap_or_default();
            set(&mut inner, rest, new)?;
            dict.insert(key(step), inner);
            Ok(())
        }
        Value::List(list) => {
            let length = list.len();
            let index = if step == "-" { Some(length) } else { step.parse::<usize>().ok() };
            let Some(index) = index.filter(|index| *index <= length) else {
                let message = format!("json_pointer_set: '{step}' is no place in a list of length {length}");
                return Err(Fault::thrown(message));
            };
            let list = Arc::make_mut(list);
            let mut inner = list.items_mut().get_mut(index).map(std::mem::take).unwrap_or_default();
            set(&mut inner, rest, new)?;
            if index == length {
                list.push(inner);
            } else {
                list.set(index, inner);
            }
            Ok(())
        }
        other => Err(Fault::thrown(format!(
            "json_pointer_set: cannot go to '{step}' in a value of type {}",
            other.type_name()
        ))),
    }
}

/// What is not there stays away.
pub fn delete(value: &mut Value, steps: &[String]) {
    match (steps, value) {
        ([], value) => *value = Value::Nil,
        ([last], Value::Dict(dict)) if dict.has(last) => {
            Arc::make_mut(dict).remove(last);
        }
        ([last], Value::List(list)) => {
            if let Some(index) = last.parse::<usize>().ok().filter(|index| *index < list.len()) {
                Arc::make_mut(list).items_mut().remove(index);
            }
        }
        ([step, rest @ ..], Value::Dict(dict)) if dict.has(step) => {
            if let Some(inner) = Arc::make_mut(dict).get_mut(step) {
                delete(inner, rest);
            }
        }
        ([step, rest @ ..], Value::List(list)) => {
            if let Some(index) = step.parse::<usize>().ok().filter(|index| *index < list.len())
                && let Some(inner) = Arc::make_mut(list).items_mut().get_mut(index)
            {
                delete(inner, rest);
            }
        }
        _ => {}
    }
}
