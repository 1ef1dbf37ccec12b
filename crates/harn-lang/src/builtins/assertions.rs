//! Assertions, and the categories by which errors are told apart.

use super::args::{self, at};
use super::{Cx, Group, pure};
use crate::fault::Fault;
use crate::value::Value;

type Answer = Result<Value, Fault>;

pub static ASSERTIONS: Group = Group {
    title: "Assertions, error categories",
    builtins: &[
        pure("assert", "condition, msg?", "nil", "Throws unless the condition is truthy.", assert),
        pure(
            "assert_eq",
            "a, b, msg?",
            "nil",
            "Throws unless the first value equals the second, which is the expected one.",
            assert_eq,
        ),
        pure("assert_ne", "a, b, msg?", "nil", "Throws if two values are equal.", assert_ne),
        pure(
            "error_category",
            "err",
            "string",
            "The category of a caught error, such as `timeout`, `auth` or `generic`.",
            error_category,
        ),
        pure(
            "is_rate_limited",
            "err",
            "bool",
            "Whether a caught error says that too many requests were made.",
            is_rate_limited,
        ),
        pure(
            "is_timeout",
            "err",
            "bool",
            "Whether a caught error says that something took too long.",
            is_timeout,
        ),
        pure(
            "throw_error",
            "message, category?",
            "any",
            "Throws a dict with a message and a category.",
            throw_error,
        ),
    ],
};

fn failed(cx: &mut Cx<'_>, args: &[Value], message: usize, otherwise: String) -> Answer {
    Err(Fault::thrown(args::text_or(cx, args, message, &otherwise)?.into_owned()))
}

fn assert(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    if at(args, 0).is_truthy() {
        return Ok(Value::Nil);
    }
    failed(cx, args, 1, "Assertion failed".to_owned())
}

fn assert_eq(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    args::weigh(cx, at(args, 0))?;
    if at(args, 0) == at(args, 1) {
        return Ok(Value::Nil);
    }
    let expected = args::print(cx, at(args, 1))?;
    let otherwise = format!("Assertion failed: expected {expected}, got {}", args::print(cx, at(args, 0))?);
    failed(cx, args, 2, otherwise)
}

fn assert_ne(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    args::weigh(cx, at(args, 0))?;
    if at(args, 0) != at(args, 1) {
        return Ok(Value::Nil);
    }
    let value = args::print(cx, at(args, 0))?;
    failed(cx, args, 2, format!("Assertion failed: values should not be equal: {value}"))
}

fn throw_error(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let message = args::text(cx, args, 0)?.into_owned();
    let category = args::text_or(cx, args, 1, "generic")?.into_owned();
    Err(Fault::Thrown(Value::record([("message", message.into()), ("category", category.into())])))
}

fn error_category(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(category_of(at(args, 0)).into())
}

fn is_timeout(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok((category_of(at(args, 0)) == "timeout").into())
}

fn is_rate_limited(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok((category_of(at(args, 0)) == "rate_limit").into())
}

/// The categories that the language knows.
const CATEGORIES: &[&str] = &[
    "timeout",
    "auth",
    "rate_limit",
    "overloaded",
    "server_error",
    "transient_network",
    "schema_validation",
    "tool_error",
    "tool_rejected",
    "egress_blocked",
    "cancelled",
    "not_found",
    "circuit_open",
    "budget_exceeded",
    "budget_exhausted",
    "network",
    "invalid_request",
    "context_overflow",
    "permission_denied",
    "interrupted",
    "generic",
];

/// A category by its name; one that nobody knows is `generic`.
pub fn category(name: &str) -> &'static str {
    CATEGORIES.iter().find(|category| **category == name).copied().unwrap_or("generic")
}

/// What a text is about, by the first of these that occurs in it.
const WORDS: &[(&str, &str)] = &[
    ("Deadline exceeded", "timeout"),
    ("timed out", "timeout"),
    ("overloaded_error", "overloaded"),
    ("rate_limit", "rate_limit"),
    ("insufficient_quota", "rate_limit"),
    ("api_error", "server_error"),
    ("invalid_api_key", "auth"),
    ("not_found_error", "not_found"),
    ("circuit_open", "circuit_open"),
    ("connection reset", "transient_network"),
    ("connection refused", "transient_network"),
    ("connection closed", "transient_network"),
    ("broken pipe", "transient_network"),
    ("dns error", "transient_network"),
];

fn category_of(error: &Value) -> &str {
    let named = args::fields(error).and_then(|dict| dict.get("category")).and_then(Value::as_str);
    let message = || args::fields(error).and_then(|dict| dict.get("message")).and_then(Value::as_str);
    match named {
        Some(category) => category,
        None => error.as_str().or_else(message).map_or("generic", category_of_text),
    }
}

fn category_of_text(text: &str) -> &'static str {
    let stated = text.strip_prefix("Error [").and_then(|rest| rest.split_once("]:"));
    if let Some((name, _)) = stated
        && let Some(category) = CATEGORIES.iter().find(|category| **category == name)
    {
        return category;
    }
    if text.starts_with("kind:cancelled") {
        return "cancelled";
    }
    let numbers = text.split(|c: char| !c.is_ascii_alphanumeric());
    if let Some(category) = numbers.filter_map(category_of_status).next() {
        return category;
    }
    let lower = text.to_ascii_lowercase();
    WORDS
        .iter()
        .find(|(word, _)| lower.contains(&word.to_ascii_lowercase()))
        .map_or("generic", |(_, category)| category)
}

fn category_of_status(status: &str) -> Option<&'static str> {
    Some(match status {
        "401" | "403" => "auth",
        "404" | "410" => "not_found",
        "408" | "504" | "522" | "524" => "timeout",
        "429" => "rate_limit",
        "503" | "529" => "overloaded",
        "500" | "502" => "server_error",
        _ => return None,
    })
}
