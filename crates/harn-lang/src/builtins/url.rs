//! Addresses and their queries.

use url::{Url, form_urlencoded};

use super::args::{self, at};
use super::{Cx, Group, pure};
use crate::fault::Fault;
use crate::value::{Dict, Value};

type Answer = Result<Value, Fault>;

pub static URL: Group = Group {
    title: "URL",
    builtins: &[
        pure(
            "query_parse",
            "query",
            "list",
            "The keys and values of a query as dicts of `key` and `value`, in order.",
            query_parse,
        ),
        pure(
            "query_stringify",
            "pairs",
            "string",
            "A query out of dicts of `key` and `value`, or out of one dict.",
            query_stringify,
        ),
        pure(
            "url_build",
            "parts",
            "string",
            "An address out of `scheme`, `host`, `port`, `path`, `query` and `fragment`.",
            url_build,
        ),
        pure("url_parse", "url", "dict", "The parts of an address.", url_parse),
    ],
};

fn url_parse(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    cx.charge(text.len().saturating_mul(4))?;
    let url = Url::parse(&text)
        .map_err(|error| Fault::thrown(format!("url_parse: '{text}' is no address: {error}")))?;
    let optional = |part: Option<&str>| part.map_or(Value::Nil, Value::from);
    Ok(Value::record([
        ("scheme", url.scheme().into()),
        ("username", url.username().into()),
        ("password", optional(url.password())),
        ("host", optional(url.host_str())),
        ("port", url.port_or_known_default().map_or(Value::Nil, |port| Value::Int(port.into()))),
        ("path", url.path().into()),
        ("query", optional(url.query())),
        ("fragment", optional(url.fragment())),
    ]))
}

fn query_parse(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let query = args::text(cx, args, 0)?;
    let query = query.strip_prefix('?').unwrap_or(&query);
    cx.charge(query.len().saturating_add(query.matches('&').count().saturating_add(1).saturating_mul(256)))?;
    let pair = |(key, value): (std::borrow::Cow<'_, str>, std::borrow::Cow<'_, str>)| {
        Value::record([("key", key.into_owned().into()), ("value", value.into_owned().into())])
    };
    Ok(Value::list(form_urlencoded::parse(query.as_bytes()).map(pair).collect()))
}

fn query_stringify(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(query_of(cx, at(args, 0))?.into())
}

fn query_of(cx: &mut Cx<'_>, value: &Value) -> Result<String, Fault> {
    if let Value::Str(text) = value {
        return Ok(text.as_str().trim_start_matches('?').to_owned());
    }
    let mut query = form_urlencoded::Serializer::new(String::new());
    let mut append = |cx: &mut Cx<'_>, key: &Value, value: &Value| {
        let (key, value) = (args::print(cx, key)?, args::print(cx, value)?);
        cx.charge((key.len() + value.len()).saturating_mul(3) + 2)?;
        query.append_pair(&key, &value);
        Ok::<(), Fault>(())
    };
    match (value, args::fields(value)) {
        (_, Some(dict)) => {
            for (key, value) in dict.iter() {
                append(cx, &Value::Str(key.clone()), value)?;
            }
        }
        (Value::List(list), _) => {
            for item in list.iter() {
                match (args::fields(item), item) {
                    (Some(pair), _) => {
                        let part = |name: &str| pair.get(name).cloned().unwrap_or_else(|| "".into());
                        append(cx, &part("key"), &part("value"))?;
                    }
                    (None, Value::Pair(pair)) => append(cx, &pair.first, &pair.second)?,
                    (None, other) => {
                        let message = format!(
                            "query_stringify: expected dicts of key and value, got {}",
                            other.type_name()
                        );
                        return Err(Fault::thrown(message));
                    }
                }
            }
        }
        _ => {}
    }
    Ok(query.finish())
}

fn url_build(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let parts = args::dict_of(args, 0, "url_build", "parts")?;
    let wanted = |cx: &mut Cx<'_>, parts: &Dict, name: &str| match parts.get(name) {
        None | Some(Value::Nil) => Ok(None),
        Some(value) => args::print(cx, value).map(|text| Some(text.into_owned())),
    };
    let missing = |name: &str| Fault::thrown(format!("url_build: '{name}' is missing"));
    let scheme = wanted(cx, parts, "scheme")?.ok_or_else(|| missing("scheme"))?;
    let host = wanted(cx, parts, "host")?.ok_or_else(|| missing("host"))?;
    let broken = |error: &dyn std::fmt::Display| Fault::thrown(format!("url_build: {error}"));
    let mut url = Url::parse(&format!("{scheme}://{host}")).map_err(|error| broken(&error))?;
    if let Some(port) = parts.get("port").and_then(Value::as_int) {
        let port = u16::try_from(port).map_err(|_| broken(&format!("{port} is no port")))?;
        url.set_port(Some(port)).map_err(|()| broken(&"this address cannot have a port"))?;
    }
    if let Some(path) = wanted(cx, parts, "path")? {
        url.set_path(&path);
    }
    if let Some(query) = parts.get("query").filter(|query| query.is_truthy()) {
        url.set_query(Some(&query_of(cx, query)?));
    }
    if let Some(fragment) = wanted(cx, parts, "fragment")? {
        url.set_fragment(Some(&fragment));
    }
    Ok(url.to_string().into())
}
