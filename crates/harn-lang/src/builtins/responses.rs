//! Headers and responses of HTTP as dicts.

use super::args::{self, at, key};
use super::{Cx, json};
use crate::fault::Fault;
use crate::value::{Dict, Value};

type Answer = Result<Value, Fault>;

/// Names of headers do not depend on capitals.
pub fn http_header(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let name = args::text(cx, args, 1)?;
    let Some(dict) = args::dict(args, 0) else { return Ok(Value::Nil) };
    let headers = dict.get("headers").and_then(args::fields).unwrap_or(dict);
    let found = headers.iter().find(|(known, _)| known.as_str().eq_ignore_ascii_case(&name));
    Ok(found.map(|(_, value)| value.clone()).unwrap_or_default())
}

fn response(status: i64, body: Value, headers: Dict) -> Value {
    Value::record([("status", Value::Int(status)), ("body", body), ("headers", Value::dict(headers))])
}

pub fn http_response(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let headers = args::dict(args, 2).cloned().unwrap_or_default();
    let body = if args.len() > 1 { at(args, 1).clone() } else { "".into() };
    Ok(response(args::int_or(args, 0, 200), body, headers))
}

fn typed(args: &[Value], body: Value, content_type: &str) -> Value {
    let none = Dict::new();
    let options = args::dict(args, 1).unwrap_or(&none);
    let mut headers = Dict::new();
    headers.insert(key("content-type"), content_type.into());
    for (name, value) in options.get("headers").and_then(args::fields).unwrap_or(&none).iter() {
        headers.insert(key(&name.as_str().to_ascii_lowercase()), value.clone());
    }
    response(options.get("status").and_then(Value::as_int).unwrap_or(200), body, headers)
}

pub fn http_response_text(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let body = args::text(cx, args, 0)?.into_owned();
    Ok(typed(args, body.into(), "text/plain; charset=utf-8"))
}

pub fn http_response_json(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let body = json::write::compact(cx, at(args, 0))?;
    Ok(typed(args, body.into(), "application/json"))
}

pub fn http_response_bytes(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let body = args::octets(cx, args, 0)?.into_owned();
    cx.charge(body.len())?;
    Ok(typed(args, args::bytes(body), "application/octet-stream"))
}
