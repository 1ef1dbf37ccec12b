//! Reading the arguments of a call, and saying precisely what is wrong with them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::script;
use crate::tools::ToolFailure;

pub type Args = Map<String, Value>;

/// A path. It must be a string: policy looks at nothing else, and nothing else may lead anywhere.
pub fn path<'a>(call: &str, args: &'a Args, name: &str) -> Result<&'a str, ToolFailure> {
    optional_path(call, args, name)?
        .ok_or_else(|| ToolFailure::new(format!("{call}: {name} must be a string, not nil")))
}

pub fn optional_path<'a>(call: &str, args: &'a Args, name: &str) -> Result<Option<&'a str>, ToolFailure> {
    match args.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(path)) if path.contains('\0') => {
            Err(ToolFailure::new(format!("{call}: {name} contains a NUL character")))
        }
        Some(Value::String(path)) => Ok(Some(path)),
        Some(other) => {
            let kind = script::decode(other).type_name();
            Err(ToolFailure::new(format!("{call}: {name} must be a string, not {kind}")))
        }
    }
}

/// Any value as it is printed; nothing for one that is not given.
pub fn text(args: &Args, name: &str) -> String {
    match args.get(name) {
        None => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => script::decode(other).display(),
    }
}

/// A text; nothing for what is none.
pub fn word<'a>(args: &'a Args, name: &str) -> &'a str {
    args.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// What is written to a file: bytes as they are, anything else as it is printed.
pub fn content(args: &Args, name: &str) -> Vec<u8> {
    match args.get(name).and_then(bytes_of) {
        Some(bytes) => bytes,
        None => text(args, name).into_bytes(),
    }
}

/// Bytes in their tagged form.
pub fn bytes_of(value: &Value) -> Option<Vec<u8>> {
    STANDARD.decode(value.as_object()?.get("$bytes")?.as_str()?).ok()
}

pub fn bytes(bytes: &[u8]) -> Value {
    json!({ "$bytes": STANDARD.encode(bytes) })
}

/// A whole number, also of a duration or a float.
pub fn number(value: Option<&Value>) -> Option<i64> {
    let value = value?;
    let inner = value.get("$duration").unwrap_or(value);
    inner.as_i64().or_else(|| inner.as_f64().map(|number| number as i64))
}

/// A field of the first of these arguments that is a dict with it.
pub fn option<'a>(args: &'a Args, names: &[&str], field: &str) -> Option<&'a Value> {
    names.iter().find_map(|name| args.get(*name)?.as_object()?.get(field))
}
