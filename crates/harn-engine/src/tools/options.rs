//! Reads the arguments of a tool that are flags or lists.

use serde_json::{Map, Value};

use super::ToolFailure;

/// An argument that is off unless it is given as `true`.
pub(super) fn flag(tool: &str, given: &Map<String, Value>, name: &str) -> Result<bool, ToolFailure> {
    match given.get(name) {
        None => Ok(false),
        Some(Value::Bool(on)) => Ok(*on),
        Some(_) => {
            Err(ToolFailure::new(format!("The argument `{name}` of {tool} must be `true` or `false`.")))
        }
    }
}

/// A list of objects with at least one and at most `max` of them; none when the argument is not given.
pub(super) fn objects<'a>(
    tool: &str,
    given: &'a Map<String, Value>,
    name: &str,
    max: usize,
) -> Result<Option<Vec<&'a Map<String, Value>>>, ToolFailure> {
    let Some(value) = given.get(name) else { return Ok(None) };
    let objects: Option<Vec<_>> =
        value.as_array().and_then(|items| items.iter().map(Value::as_object).collect());
    match objects {
        Some(objects) if (1..=max).contains(&objects.len()) => Ok(Some(objects)),
        _ => Err(ToolFailure::new(format!(
            "The argument `{name}` of {tool} must be an array of 1 to {max} objects."
        ))),
    }
}
