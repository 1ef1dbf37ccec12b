//! From values to JSON, and to what YAML and TOML are written from.

use std::borrow::Cow;

use data_encoding::BASE64;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::super::Cx;
use super::super::args::{self, Metered};
use super::super::types::spread;
use crate::fault::Fault;
use crate::value::Value;

/// Without blanks, keys in order.
pub fn compact(cx: &mut Cx<'_>, value: &Value) -> Result<String, Fault> {
    text(cx, value, None)
}

/// Two blanks for each level.
pub fn pretty(cx: &mut Cx<'_>, value: &Value) -> Result<String, Fault> {
    text(cx, value, Some(0))
}

fn text(cx: &mut Cx<'_>, value: &Value, level: Option<usize>) -> Result<String, Fault> {
    let before = cx.meter.memory;
    let plain = plain(cx, value)?;
    let mut out = Metered::new(cx);
    write(&mut out, &plain, level)?;
    let text = out.finish();
    // Of all that was paid for, only the text is left.
    cx.meter.memory = before.saturating_add(text.capacity() as u64);
    Ok(text)
}

/// What JSON can say, paid for. Functions and what lives in the VM are nil.
pub enum Plain<'a> {
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(Cow<'a, str>),
    List(Vec<Plain<'a>>),
    Map(Vec<(Cow<'a, str>, Plain<'a>)>),
}

/// How deep what is written may be nested: readers refuse more.
const MAX_DEPTH: u16 = 128;

pub fn plain<'a>(cx: &mut Cx<'_>, value: &'a Value) -> Result<Plain<'a>, Fault> {
    if value.depth() > MAX_DEPTH {
        return Err(Fault::thrown(format!(
            "a value that is nested more than {MAX_DEPTH} deep cannot be written"
        )));
    }
    plain_part(cx, value)
}

fn plain_part<'a>(cx: &mut Cx<'_>, value: &'a Value) -> Result<Plain<'a>, Fault> {
    cx.charge(32)?;
    cx.work(8);
    Ok(match value {
        Value::Bool(value) => Plain::Bool(*value),
        Value::Int(value) | Value::Duration(value) => Plain::Int(*value),
        Value::Float(value) => Plain::Float(*value),
        Value::Str(text) => {
            cx.charge(text.as_str().len())?;
            Plain::Str(text.as_str().into())
        }
        Value::Bytes(bytes) => {
            cx.charge(bytes.len().saturating_mul(2))?;
            let text = BASE64.encode(bytes);
            Plain::Map(vec![("$bytes_b64".into(), Plain::Str(text.into()))])
        }
        Value::List(list) => items(cx, list.iter())?,
        Value::Set(set) => items(cx, set.iter())?,
        Value::Range(_) => {
            let numbers = spread(cx, value)?;
            cx.charge(numbers.len().saturating_mul(32))?;
            cx.work(numbers.len().saturating_mul(8));
            Plain::List(numbers.iter().map(|number| Plain::Int(number.as_int().unwrap_or(0))).collect())
        }
        Value::Pair(pair) => items(cx, [&pair.first, &pair.second].into_iter())?,
        Value::Dict(_) | Value::Struct(_) => {
            let mut map = Vec::new();
            for (key, value) in args::fields(value).into_iter().flat_map(|dict| dict.iter()) {
                cx.charge(key.as_str().len() + 24)?;
                map.push((key.as_str().into(), plain_part(cx, value)?));
            }
            Plain::Map(map)
        }
        Value::Enum(value) if value.fields.is_empty() => {
            Plain::Str(format!("{}.{}", value.name, value.variant).into())
        }
        Value::Enum(value) => Plain::Map(vec![
            ("enum".into(), Plain::Str((&*value.name).into())),
            ("fields".into(), items(cx, value.fields.iter())?),
            ("variant".into(), Plain::Str((&*value.variant).into())),
        ]),
        Value::Nil | Value::Closure(_) | Value::Builtin(_) | Value::Handle(_) => Plain::Nil,
    })
}

fn items<'a>(cx: &mut Cx<'_>, values: impl Iterator<Item = &'a Value>) -> Result<Plain<'a>, Fault> {
    let mut items = Vec::with_capacity(values.size_hint().0.min(1024));
    for value in values {
        items.push(plain_part(cx, value)?);
    }
    Ok(Plain::List(items))
}

impl Plain<'_> {
    /// TOML has no nil: keys and items without a value are left out.
    pub fn without_nil(self) -> Self {
        match self {
            Self::List(items) => Self::List(
                items.into_iter().filter(|item| !matches!(item, Self::Nil)).map(Self::without_nil).collect(),
            ),
            Self::Map(map) => Self::Map(
                map.into_iter()
                    .filter(|(_, value)| !matches!(value, Self::Nil))
                    .map(|(key, value)| (key, value.without_nil()))
                    .collect(),
            ),
            other => other,
        }
    }
}

fn write(out: &mut Metered<'_, '_>, value: &Plain<'_>, level: Option<usize>) -> Result<(), Fault> {
    match value {
        Plain::Nil => out.push("null"),
        Plain::Bool(value) => out.push(if *value { "true" } else { "false" }),
        Plain::Int(value) => out.push(&value.to_string()),
        // YAML and TOML have words for the others, JSON has not.
        Plain::Float(value) if !value.is_finite() => out.push("null"),
        Plain::Float(value) => out.push(&value.to_string()),
        Plain::Str(text) => quote(out, text),
        Plain::List(items) => {
            out.push("[")?;
            for (at, item) in items.iter().enumerate() {
                separate(out, at, level)?;
                write(out, item, level.map(|level| level + 1))?;
            }
            close(out, items.is_empty(), level)?;
            out.push("]")
        }
        Plain::Map(map) => {
            out.push("{")?;
            for (at, (key, value)) in map.iter().enumerate() {
                separate(out, at, level)?;
                quote(out, key)?;
                out.push(if level.is_some() { ": " } else { ":" })?;
                write(out, value, level.map(|level| level + 1))?;
            }
            close(out, map.is_empty(), level)?;
            out.push("}")
        }
    }
}

fn separate(out: &mut Metered<'_, '_>, at: usize, level: Option<usize>) -> Result<(), Fault> {
    if at > 0 {
        out.push(",")?;
    }
    match level {
        Some(level) => new_line(out, level + 1),
        None => Ok(()),
    }
}

fn close(out: &mut Metered<'_, '_>, is_empty: bool, level: Option<usize>) -> Result<(), Fault> {
    match level {
        Some(level) if !is_empty => new_line(out, level),
        _ => Ok(()),
    }
}

fn new_line(out: &mut Metered<'_, '_>, level: usize) -> Result<(), Fault> {
    out.push("\n")?;
    (0..level).try_for_each(|_| out.push("  "))
}

fn quote(out: &mut Metered<'_, '_>, text: &str) -> Result<(), Fault> {
    out.push("\"")?;
    if !text.bytes().any(|byte| byte < b' ' || matches!(byte, b'"' | b'\\')) {
        out.push(text)?;
        return out.push("\"");
    }
    let mut plain = 0;
    for (at, c) in text.char_indices() {
        let escaped = match c {
            '"' => "\\\"".to_owned(),
            '\\' => "\\\\".to_owned(),
            '\n' => "\\n".to_owned(),
            '\r' => "\\r".to_owned(),
            '\t' => "\\t".to_owned(),
            '\u{8}' => "\\b".to_owned(),
            '\u{c}' => "\\f".to_owned(),
            control if control < ' ' => format!("\\u{:04x}", u32::from(control)),
            _ => continue,
        };
        out.push(&text[plain..at])?;
        out.push(&escaped)?;
        plain = at + c.len_utf8();
    }
    out.push(&text[plain..])?;
    out.push("\"")
}

impl Serialize for Plain<'_> {
    fn serialize<S: Serializer>(&self, out: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nil => out.serialize_none(),
            Self::Bool(value) => out.serialize_bool(*value),
            Self::Int(value) => out.serialize_i64(*value),
            Self::Float(value) => out.serialize_f64(*value),
            Self::Str(text) => out.serialize_str(text),
            Self::List(items) => {
                let mut seq = out.serialize_seq(Some(items.len()))?;
                items.iter().try_for_each(|item| seq.serialize_element(item))?;
                seq.end()
            }
            Self::Map(entries) => {
                let mut map = out.serialize_map(Some(entries.len()))?;
                entries.iter().try_for_each(|(key, value)| map.serialize_entry(key, value))?;
                map.end()
            }
        }
    }
}
