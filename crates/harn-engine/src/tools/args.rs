//! Reads a tool's arguments, and says precisely what is wrong with them.

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::ToolFailure;

/// Arguments whose names have been checked against the ones that the tool knows.
pub(super) struct Args<'a> {
    tool: &'static str,
    given: &'a Map<String, Value>,
}

impl<'a> Args<'a> {
    pub(super) fn check(
        tool: &'static str,
        given: &'a Map<String, Value>,
        allowed: &[&str],
    ) -> Result<Self, ToolFailure> {
        match given.keys().find(|name| !allowed.contains(&name.as_str())) {
            None => Ok(Self { tool, given }),
            Some(unknown) => Err(ToolFailure::new(format!(
                "{tool} has no argument `{unknown}`. Its arguments are {}.",
                quoted(allowed)
            ))),
        }
    }

    pub(super) fn text(&self, name: &str) -> Result<&'a str, ToolFailure> {
        self.optional_text(name)?.ok_or_else(|| {
            ToolFailure::new(format!(
                "{} needs the argument `{name}`, a string, which is missing.",
                self.tool
            ))
        })
    }

    pub(super) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, ToolFailure> {
        match self.given.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, "a string", other)),
        }
    }

    pub(super) fn optional_integer(
        &self,
        name: &str,
        range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, ToolFailure> {
        let Some(value) = self.given.get(name) else { return Ok(None) };
        match value.as_u64().filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(name, &wanted_integer(&range), value)),
        }
    }

    fn wrong(&self, name: &str, wanted: &str, found: &Value) -> ToolFailure {
        ToolFailure::new(format!(
            "The argument `{name}` of {} must be {wanted}, not {}.",
            self.tool,
            described(found)
        ))
    }
}

fn wanted_integer(range: &RangeInclusive<u64>) -> String {
    match *range.end() {
        u64::MAX => format!("an integer of at least {}", range.start()),
        end => format!("an integer from {} to {end}", range.start()),
    }
}

fn described(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) => "a boolean".into(),
        Value::Number(number) => format!("the number {number}"),
        Value::String(_) => "a string".into(),
        Value::Array(_) => "an array".into(),
        Value::Object(_) => "an object".into(),
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
