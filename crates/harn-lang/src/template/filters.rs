//! What `| name` does to a value in a template.

use std::borrow::Cow;

use super::render::is_truthy;
use crate::builtins::args::{self, at};
use crate::builtins::{Cx, case, json, strings, types};
use crate::fault::Fault;
use crate::value::Value;

const NAMES: &[&str] = &[
    "upper",
    "lower",
    "trim",
    "capitalize",
    "title",
    "length",
    "first",
    "last",
    "reverse",
    "join",
    "default",
    "json",
    "indent",
    "lines",
    "escape_md",
    "replace",
];

pub fn is_known(name: &str) -> bool {
    NAMES.contains(&name)
}

/// What a tag prints: nothing for nil.
pub fn printed<'a>(cx: &mut Cx<'_>, value: &'a Value) -> Result<Cow<'a, str>, Fault> {
    match value {
        Value::Nil => Ok(Cow::Borrowed("")),
        other => args::print(cx, other),
    }
}

pub fn apply(cx: &mut Cx<'_>, name: &str, value: Value, given: &[Value]) -> Result<Value, Fault> {
    match name {
        "default" => {
            return Ok(if is_truthy(&value) { value } else { at(given, 0).clone() });
        }
        "length" => return Ok(args::number(types::length(&value).unwrap_or(0))),
        "first" | "last" | "reverse" => return part(cx, name, &value),
        "json" if at(given, 0).is_truthy() => return Ok(json::write::pretty(cx, &value)?.into()),
        "json" => return Ok(json::write::compact(cx, &value)?.into()),
        "join" => {
            let items = types::spread(cx, &value)?;
            let separator = args::text_or(cx, given, 0, ", ")?;
            return strings::joined(cx, items.iter(), &separator);
        }
        _ => {}
    }
    let text = printed(cx, &value)?;
    cx.charge(text.len().saturating_mul(2))?;
    Ok(match name {
        "upper" => text.to_uppercase().into(),
        "lower" => text.to_lowercase().into(),
        "trim" => text.trim().into(),
        "capitalize" => case::capitalised(&text).into(),
        "title" => case::title(&text).into(),
        "lines" => args::strings(text.lines()),
        "escape_md" => escape_markdown(&text).into(),
        "replace" => {
            let (old, new) = (args::text(cx, given, 0)?, args::text(cx, given, 1)?);
            return strings::replaced(cx, &text, &old, &new);
        }
        "indent" => {
            let width = args::count_or(given, 0, 2).min(256);
            cx.charge(text.lines().count().saturating_mul(width))?;
            indent(&text, width, at(given, 1).is_truthy()).into()
        }
        other => return Err(Fault::thrown(format!("Template error: unknown filter '{other}'"))),
    })
}

fn part(cx: &mut Cx<'_>, name: &str, value: &Value) -> Result<Value, Fault> {
    let items = types::spread(cx, value)?;
    Ok(match name {
        "first" => items.into_iter().next().unwrap_or_default(),
        "last" => items.into_iter().next_back().unwrap_or_default(),
        _ => match value {
            Value::Str(text) => text.as_str().chars().rev().collect::<String>().into(),
            _ => Value::list(items.into_iter().rev().collect()),
        },
    })
}

/// Every line but the first moves to the right; the first one too if asked.
fn indent(text: &str, width: usize, first_too: bool) -> String {
    let blanks = " ".repeat(width);
    let mut out = String::with_capacity(text.len());
    for (at, line) in text.split('\n').enumerate() {
        if at > 0 {
            out.push('\n');
        }
        if (at > 0 || first_too) && !line.is_empty() {
            out.push_str(&blanks);
        }
        out.push_str(line);
    }
    out
}

fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if "\\`*_{}[]()#+-.!|<>~".contains(c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
