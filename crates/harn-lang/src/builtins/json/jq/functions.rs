//! The functions of jq that are known here.

use super::order::order;
use super::parse::Filter;
use super::run::{Run, is_true};
use crate::builtins::types::{length, spread};
use crate::builtins::{args, json, order, regex, strings};
use crate::fault::Fault;
use crate::value::Value;

type Outputs = Result<Vec<Value>, Fault>;

const NONE: &[&str] = &[
    "length",
    "keys",
    "values",
    "not",
    "empty",
    "type",
    "add",
    "any",
    "all",
    "min",
    "max",
    "sort",
    "unique",
    "reverse",
    "first",
    "last",
    "flatten",
    "to_entries",
    "from_entries",
    "tostring",
    "tonumber",
    "tojson",
    "fromjson",
    "ascii_downcase",
    "ascii_upcase",
    "floor",
    "ceil",
    "round",
    "sqrt",
];

const ONE: &[&str] = &[
    "select",
    "map",
    "map_values",
    "has",
    "contains",
    "join",
    "split",
    "startswith",
    "endswith",
    "ltrimstr",
    "rtrimstr",
    "test",
    "sort_by",
    "unique_by",
    "group_by",
    "min_by",
    "max_by",
    "any",
    "all",
    "first",
    "range",
];

const TWO: &[&str] = &["range", "limit", "test"];

pub fn is_known(name: &str, count: usize) -> bool {
    match count {
        0 => NONE.contains(&name),
        1 => ONE.contains(&name),
        2 => TWO.contains(&name),
        _ => false,
    }
}

pub fn call(run: &mut Run<'_, '_>, name: &str, given: &[Filter], input: &Value) -> Outputs {
    match given {
        [end] if name == "range" => range(run, None, end, input),
        [start, end] if name == "range" => range(run, Some(start), end, input),
        [count, filter] if name == "limit" => run.each(count, input, |run, count| {
            let count = args::count_or(std::slice::from_ref(count), 0, 0);
            Ok(run.run(filter, input)?.into_iter().take(count).collect())
        }),
        [pattern, flags] => run.each(pattern, input, |run, pattern| {
            run.each(flags, input, |run, flags| Ok(vec![fits(run, input, pattern, flags)?]))
        }),
        [filter] => with_filter(run, name, filter, input),
        _ => match name {
            "empty" => Ok(Vec::new()),
            "values" if !matches!(input, Value::Nil) => Ok(vec![input.clone()]),
            "values" => Ok(Vec::new()),
            _ => plain(run, name, input).map(|value| vec![value]),
        },
    }
}

fn range(run: &mut Run<'_, '_>, start: Option<&Filter>, end: &Filter, input: &Value) -> Outputs {
    let starts = match start {
        Some(start) => run.run(start, input)?,
        None => vec![Value::Int(0)],
    };
    let mut outputs = Vec::new();
    for end in run.run(end, input)? {
        for start in &starts {
            let (Value::Int(start), Value::Int(end)) = (start, &end) else {
                return Err(run.error("range needs whole numbers"));
            };
            let count = if start < end { end.abs_diff(*start) } else { 0 };
            run.cx.charge(usize::try_from(count).unwrap_or(usize::MAX).saturating_mul(16))?;
            outputs.extend((*start..*end).map(Value::Int));
        }
    }
    Ok(outputs)
}

/// Whether a pattern occurs in a text; nil is no flags.
fn fits(run: &mut Run<'_, '_>, input: &Value, pattern: &Value, flags: &Value) -> Result<Value, Fault> {
    let (Value::Str(text), Value::Str(pattern)) = (input, pattern) else {
        let message = format!("test does not work on {} with {}", input.type_name(), pattern.type_name());
        return Err(run.error(message));
    };
    let pattern = regex::compiled(run.cx, pattern.as_str(), flags.as_str().unwrap_or_default())?;
    run.cx.work(text.as_str().len());
    Ok(pattern.is_match(text.as_str()).into())
}

fn items(run: &mut Run<'_, '_>, name: &str, input: &Value) -> Outputs {
    match input {
        Value::List(list) => {
            run.cx.charge(list.len() * 16)?;
            Ok(list.to_vec())
        }
        other => Err(run.error(format!("{name} needs a list, got {}", other.type_name()))),
    }
}

fn plain(run: &mut Run<'_, '_>, name: &str, input: &Value) -> Result<Value, Fault> {
    Ok(match name {
        "length" => match input {
            Value::Nil => Value::Int(0),
            Value::Int(value) => Value::Int(value.saturating_abs()),
            Value::Float(value) => Value::Float(value.abs()),
            Value::Bool(_) => return Err(run.error("boolean has no length")),
            other => args::number(length(other).unwrap_or(0)),
        },
        "keys" => match input {
            Value::List(list) => Value::list((0..list.len()).map(args::number).collect()),
            other => match args::fields(other) {
                Some(dict) => Value::list(dict.keys().cloned().map(Value::Str).collect()),
                None => return Err(run.error(format!("{} has no keys", other.type_name()))),
            },
        },
        "not" => Value::Bool(!is_true(input)),
        "type" => type_name(input).into(),
        "tostring" => match input {
            Value::Str(_) => input.clone(),
            other => json::write::compact(run.cx, other)?.into(),
        },
        "tojson" => json::write::compact(run.cx, input)?.into(),
        "fromjson" | "tonumber" => {
            let text = args::print(run.cx, input)?;
            match json::read::json(run.cx, text.trim())? {
                Ok(value) if name == "fromjson" || value.as_number().is_some() => value,
                _ => return Err(run.error(format!("{name} cannot read '{text}'"))),
            }
        }
        "ascii_downcase" => args::print(run.cx, input)?.to_ascii_lowercase().into(),
        "ascii_upcase" => args::print(run.cx, input)?.to_ascii_uppercase().into(),
        "floor" | "ceil" | "round" | "sqrt" => match (name, input) {
            ("sqrt", other) if other.as_number().is_some() => {
                Value::Float(other.as_number().unwrap_or_default().sqrt())
            }
            ("floor", Value::Float(value)) => Value::Int(value.floor() as i64),
            ("ceil", Value::Float(value)) => Value::Int(value.ceil() as i64),
            ("round", Value::Float(value)) => Value::Int(value.round() as i64),
            (_, Value::Int(_)) => input.clone(),
            (_, other) => return Err(run.error(format!("{name} needs a number, got {}", other.type_name()))),
        },
        "to_entries" => Value::list(match args::fields(input) {
            Some(_) => spread(run.cx, input)?,
            None => return Err(run.error(format!("{} has no entries", input.type_name()))),
        }),
        _ => return of_list(run, name, input),
    })
}

fn of_list(run: &mut Run<'_, '_>, name: &str, input: &Value) -> Result<Value, Fault> {
    let items = items(run, name, input)?;
    args::weigh(run.cx, input)?;
    Ok(match name {
        "add" => {
            let mut sum = Value::Nil;
            for item in &items {
                sum = run.add(&sum, item)?;
            }
            sum
        }
        "any" => items.iter().any(is_true).into(),
        "all" => items.iter().all(is_true).into(),
        "min" => items.into_iter().min_by(order).unwrap_or_default(),
        "max" => items.into_iter().max_by(order).unwrap_or_default(),
        "sort" => Value::list(order::sort_by(items, order)),
        "unique" => {
            let mut sorted = order::sort_by(items, order);
            sorted.dedup();
            Value::list(sorted)
        }
        "reverse" => Value::list(items.into_iter().rev().collect()),
        "first" => items.into_iter().next().unwrap_or_default(),
        "last" => items.into_iter().next_back().unwrap_or_default(),
        "from_entries" => {
            let mut made = crate::value::Dict::new();
            for item in &items {
                let Some(dict) = args::fields(item) else {
                    return Err(run.error(format!("an entry is an object, got {}", item.type_name())));
                };
                let found = |names: &[&str]| {
                    names.iter().filter_map(|name| dict.get(name)).find(|value| **value != Value::Nil)
                };
                let key = match found(&["key", "k", "name", "Name", "Key", "K"]) {
                    Some(Value::Str(key)) => key.clone(),
                    other => args::key(&json::write::compact(run.cx, other.unwrap_or(&Value::Nil))?),
                };
                made.insert(key, found(&["value", "v", "Value", "V"]).cloned().unwrap_or_default());
            }
            Value::dict(made)
        }
        _ => {
            let mut flat = Vec::new();
            for item in &items {
                flatten(run, item, &mut flat)?;
            }
            Value::list(flat)
        }
    })
}

fn flatten(run: &mut Run<'_, '_>, value: &Value, flat: &mut Vec<Value>) -> Result<(), Fault> {
    match value {
        Value::List(list) => list.iter().try_for_each(|item| flatten(run, item, flat)),
        other => {
            run.cx.charge(16)?;
            flat.push(other.clone());
            Ok(())
        }
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Nil => "null",
        Value::Bool(_) => "boolean",
        Value::Int(_) | Value::Float(_) => "number",
        Value::List(_) => "array",
        Value::Dict(_) | Value::Struct(_) => "object",
        other => other.type_name(),
    }
}

fn with_filter(run: &mut Run<'_, '_>, name: &str, filter: &Filter, input: &Value) -> Outputs {
    match name {
        "select" => run
            .each(filter, input, |_, kept| Ok(if is_true(kept) { vec![input.clone()] } else { Vec::new() })),
        "first" => Ok(run.run(filter, input)?.into_iter().take(1).collect()),
        "map" => {
            let mut outputs = Vec::new();
            for item in run.iterate(input)? {
                outputs.extend(run.run(filter, &item)?);
            }
            Ok(vec![Value::list(outputs)])
        }
        "map_values" => map_values(run, filter, input).map(|value| vec![value]),
        "any" | "all" => {
            let mut answers = Vec::new();
            for item in items(run, name, input)? {
                answers.extend(run.run(filter, &item)?);
            }
            let answer =
                if name == "any" { answers.iter().any(is_true) } else { answers.iter().all(is_true) };
            Ok(vec![answer.into()])
        }
        "sort_by" | "unique_by" | "group_by" | "min_by" | "max_by" => {
            by_key(run, name, filter, input).map(|value| vec![value])
        }
        _ => run.each(filter, input, |run, arg| with_value(run, name, input, arg).map(|value| vec![value])),
    }
}

fn map_values(run: &mut Run<'_, '_>, filter: &Filter, input: &Value) -> Result<Value, Fault> {
    let Some(dict) = args::fields(input) else {
        let mut outputs = Vec::new();
        for item in items(run, "map_values", input)? {
            outputs.extend(run.run(filter, &item)?.into_iter().next());
        }
        return Ok(Value::list(outputs));
    };
    let mut made = crate::value::Dict::new();
    for (key, value) in dict.iter() {
        if let Some(value) = run.run(filter, value)?.into_iter().next() {
            made.insert(key.clone(), value);
        }
    }
    Ok(Value::dict(made))
}

fn by_key(run: &mut Run<'_, '_>, name: &str, filter: &Filter, input: &Value) -> Result<Value, Fault> {
    let mut keyed = Vec::new();
    for item in items(run, name, input)? {
        let key = run.run(filter, &item)?.into_iter().next().unwrap_or_default();
        args::weigh(run.cx, &key)?;
        keyed.push((key, item));
    }
    let mut sorted = order::sort_by(keyed, |a, b| order(&a.0, &b.0));
    Ok(match name {
        "sort_by" => Value::list(sorted.into_iter().map(|(_, item)| item).collect()),
        "min_by" => sorted.into_iter().next().map(|(_, item)| item).unwrap_or_default(),
        "max_by" => sorted.into_iter().next_back().map(|(_, item)| item).unwrap_or_default(),
        "unique_by" => {
            sorted.dedup_by(|later, earlier| later.0 == earlier.0);
            Value::list(sorted.into_iter().map(|(_, item)| item).collect())
        }
        _ => {
            let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
            for (key, item) in sorted {
                match groups.last_mut() {
                    Some((known, group)) if *known == key => group.push(item),
                    _ => groups.push((key, vec![item])),
                }
            }
            Value::list(groups.into_iter().map(|(_, group)| Value::list(group)).collect())
        }
    })
}

fn with_value(run: &mut Run<'_, '_>, name: &str, input: &Value, arg: &Value) -> Result<Value, Fault> {
    Ok(match (name, input, arg) {
        ("has", Value::List(list), Value::Int(index)) => {
            usize::try_from(*index).is_ok_and(|index| index < list.len()).into()
        }
        ("has", _, Value::Str(key)) => args::fields(input).is_some_and(|dict| dict.has(key.as_str())).into(),
        ("contains", _, _) if type_name(input) == type_name(arg) => {
            args::weigh(run.cx, input)?;
            args::weigh(run.cx, arg)?;
            contains(run, input, arg)?.into()
        }
        ("startswith", Value::Str(text), Value::Str(part)) => text.as_str().starts_with(part.as_str()).into(),
        ("endswith", Value::Str(text), Value::Str(part)) => text.as_str().ends_with(part.as_str()).into(),
        ("ltrimstr" | "rtrimstr", Value::Str(text), Value::Str(part)) => {
            let (text, part) = (text.as_str(), part.as_str());
            let rest = if name == "ltrimstr" { text.strip_prefix(part) } else { text.strip_suffix(part) };
            rest.map_or_else(|| input.clone(), Value::from)
        }
        ("ltrimstr" | "rtrimstr", _, _) => input.clone(),
        ("test", Value::Str(text), Value::Str(pattern)) => {
            let pattern = regex::compiled(run.cx, pattern.as_str(), "")?;
            run.cx.work(text.as_str().len());
            pattern.is_match(text.as_str()).into()
        }
        ("split", Value::Str(text), Value::Str(separator)) => {
            return strings::parts(run.cx, text.as_str(), separator.as_str());
        }
        ("join", Value::List(list), Value::Str(separator)) => {
            let nothing = Value::from("");
            let items: Vec<_> =
                list.iter().map(|item| if *item == Value::Nil { &nothing } else { item }).collect();
            return strings::joined(run.cx, items.into_iter(), separator.as_str());
        }
        _ => {
            let message = format!("{name} does not work on {} with {}", input.type_name(), arg.type_name());
            return Err(run.error(message));
        }
    })
}

/// Whether a part is within a value: texts within texts, and what lists and objects hold likewise. Every look is paid for:
/// there may be far more of them than there are items.
fn contains(run: &mut Run<'_, '_>, value: &Value, part: &Value) -> Result<bool, Fault> {
    run.cx.charge(8)?;
    run.cx.work(16);
    match (value, part) {
        (Value::Str(text), Value::Str(part)) => return Ok(text.as_str().contains(part.as_str())),
        (Value::List(list), Value::List(parts)) => {
            for part in parts.iter() {
                if !is_in(run, list, part)? {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        _ => {}
    }
    let (Some(dict), Some(parts)) = (args::fields(value), args::fields(part)) else {
        return Ok(value == part);
    };
    for (key, part) in parts.iter() {
        match dict.get(key.as_str()) {
            Some(value) if contains(run, value, part)? => {}
            _ => return Ok(false),
        }
    }
    Ok(true)
}

fn is_in(run: &mut Run<'_, '_>, list: &[Value], part: &Value) -> Result<bool, Fault> {
    for item in list {
        if contains(run, item, part)? {
            return Ok(true);
        }
    }
    Ok(false)
}
