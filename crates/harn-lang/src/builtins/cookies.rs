//! Cookies and signed sessions in them.

use data_encoding::BASE64URL_NOPAD;
use hmac::Hmac;
use sha2::Sha256;

use super::args::{self, at, key};
use super::encoding::{is_same, mac};
use super::{Cx, Group, json, pure};
use crate::fault::Fault;
use crate::value::{Dict, Value};

type Answer = Result<Value, Fault>;

pub static COOKIES: Group = Group {
    title: "Cookies",
    builtins: &[
        pure(
            "cookie_delete",
            "name, options?",
            "string",
            "A Set-Cookie header that removes a cookie.",
            cookie_delete,
        ),
        pure(
            "cookie_parse",
            "headers",
            "dict",
            "The cookies of a Cookie header, or of headers that have one.",
            cookie_parse,
        ),
        pure(
            "cookie_round_trip",
            "request_cookie?, set_cookie",
            "dict",
            "The cookies that a browser has after a Set-Cookie header: `cookie` and `cookies`.",
            cookie_round_trip,
        ),
        pure(
            "cookie_serialize",
            "name, value, options?",
            "string",
            "A Set-Cookie header; options: `path`, `domain`, `max_age`, `expires`, `secure`, `http_only`, `same_site`.",
            cookie_serialize,
        ),
        pure("cookie_sign", "value, secret", "string", "A value with a signature after a dot.", cookie_sign),
        pure(
            "cookie_verify",
            "signed_value, secret",
            "dict",
            "Whether the signature of a value holds: `valid` and `value`.",
            cookie_verify,
        ),
        pure(
            "session_cookie",
            "name, payload, secret, options?",
            "string",
            "A Set-Cookie header with a signed session.",
            session_cookie,
        ),
        pure(
            "session_from_cookies",
            "headers, name, secret",
            "dict",
            "The session in the cookies of a request: `valid` and `payload`.",
            session_from_cookies,
        ),
        pure("session_sign", "payload, secret", "string", "A value as signed text.", session_sign),
        pure(
            "session_verify",
            "token, secret",
            "dict",
            "Whether the signature of a session holds: `valid` and `payload`.",
            session_verify,
        ),
    ],
};

/// Pairs of a Cookie header.
fn pairs(header: &str) -> impl Iterator<Item = (&str, &str)> {
    header.split(';').filter_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        let value = value.trim();
        let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        Some((name.trim(), bare.unwrap_or(value))).filter(|(name, _)| !name.is_empty())
    })
}

/// The Cookie header itself, or that of headers in any spelling, or of a request that has headers.
fn header_of(cx: &mut Cx<'_>, given: &Value) -> Result<String, Fault> {
    let Some(dict) = args::fields(given) else {
        return Ok(if *given == Value::Nil { String::new() } else { args::print(cx, given)?.into_owned() });
    };
    if let Some(headers @ Value::Dict(_)) = dict.get("headers") {
        return header_of(cx, headers);
    }
    let found = dict.iter().find(|(name, _)| name.as_str().eq_ignore_ascii_case("cookie"));
    match found {
        Some((_, value)) if args::fields(value).is_none() => Ok(args::print(cx, value)?.into_owned()),
        _ => Ok(String::new()),
    }
}

fn cookies(cx: &mut Cx<'_>, given: &Value) -> Result<Dict, Fault> {
    let header = header_of(cx, given)?;
    cx.charge(header.len().saturating_mul(8))?;
    let mut found = Dict::new();
    for (name, value) in pairs(&header) {
        // Of several cookies of one name, the first is the more specific one.
        if !found.has(name) {
            found.insert(key(name), value.into());
        }
    }
    Ok(found)
}

fn cookie_parse(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(Value::dict(cookies(cx, at(args, 0))?))
}

fn checked<'a>(name: &str, part: &'a str, what: &str, forbidden: &[char]) -> Result<&'a str, Fault> {
    if part.chars().any(|c| c.is_control() || forbidden.contains(&c)) {
        return Err(Fault::thrown(format!(
            "{name}: the {what} '{}' has characters that no cookie may have",
            part.escape_debug()
        )));
    }
    Ok(part)
}

fn set_cookie(
    cx: &mut Cx<'_>,
    builtin: &str,
    name: &str,
    value: &str,
    options: &Value,
) -> Result<String, Fault> {
    checked(builtin, name, "name", &['=', ';', ',', ' ', '"'])?;
    checked(builtin, value, "value", &[';', ',', ' ', '"', '\\'])?;
    if name.is_empty() {
        return Err(Fault::thrown(format!("{builtin}: a cookie needs a name")));
    }
    cx.charge(name.len() + value.len())?;
    let mut out = format!("{name}={value}");
    let none = Dict::new();
    let options = args::fields(options).unwrap_or(&none);
    for (option, attribute) in [
        ("domain", "Domain"),
        ("path", "Path"),
        ("max_age", "Max-Age"),
        ("expires", "Expires"),
        ("same_site", "SameSite"),
    ] {
        if let Some(value) = options.get(option).filter(|value| **value != Value::Nil) {
            let value = match value {
                Value::Duration(ms) => (ms / 1000).to_string(),
                other => args::print(cx, other)?.into_owned(),
            };
            out.push_str(&format!("; {attribute}={}", checked(builtin, &value, option, &[';'])?));
        }
    }
    for (option, attribute) in
        [("secure", "Secure"), ("http_only", "HttpOnly"), ("partitioned", "Partitioned")]
    {
        if options.get(option).is_some_and(Value::is_truthy) {
            out.push_str(&format!("; {attribute}"));
        }
    }
    Ok(out)
}

fn cookie_serialize(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (name, value) = (args::text(cx, args, 0)?, args::text(cx, args, 1)?);
    Ok(set_cookie(cx, "cookie_serialize", &name, &value, at(args, 2))?.into())
}

fn cookie_delete(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let name = args::text(cx, args, 0)?;
    let mut options = args::dict(args, 1).cloned().unwrap_or_default();
    options.insert(key("max_age"), Value::Int(0));
    options.insert(key("expires"), "Thu, 01 Jan 1970 00:00:00 GMT".into());
    Ok(set_cookie(cx, "cookie_delete", &name, "", &Value::dict(options))?.into())
}

fn cookie_round_trip(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (request, set) = if args.len() < 2 { (&Value::Nil, at(args, 0)) } else { (at(args, 0), at(args, 1)) };
    let mut kept = cookies(cx, request)?;
    let headers = match set {
        Value::List(list) => list.to_vec(),
        one => vec![one.clone()],
    };
    for header in &headers {
        let header = args::print(cx, header)?;
        let mut parts = header.split(';');
        let Some((name, value)) = parts.next().and_then(|pair| pair.split_once('=')) else { continue };
        let ends = parts.any(|part| {
            let part = part.trim().to_ascii_lowercase();
            part.strip_prefix("max-age=").is_some_and(|age| age.parse::<i64>().is_ok_and(|age| age <= 0))
        });
        cx.charge(header.len() + 64)?;
        if ends {
            kept.remove(name.trim());
        } else {
            kept.insert(key(name.trim()), value.trim().into());
        }
    }
    let header = kept.iter().map(|(name, value)| format!("{}={value}", name.as_str())).collect::<Vec<_>>();
    Ok(Value::record([("cookie", header.join("; ").into()), ("cookies", Value::dict(kept))]))
}

fn signature(secret: &[u8], text: &str) -> Result<String, Fault> {
    Ok(BASE64URL_NOPAD.encode(&mac::<Hmac<Sha256>>(secret, text.as_bytes())?))
}

fn signed(cx: &mut Cx<'_>, args: &[Value], text: &str, secret: usize) -> Result<String, Fault> {
    let secret = args::octets(cx, args, secret)?;
    if secret.is_empty() {
        return Err(Fault::thrown("a signature needs a secret"));
    }
    cx.charge(text.len() + 64)?;
    Ok(format!("{text}.{}", signature(&secret, text)?))
}

/// What was signed, if the signature holds.
fn verified(cx: &mut Cx<'_>, args: &[Value], text: &str, secret: usize) -> Result<Option<String>, Fault> {
    let secret = args::octets(cx, args, secret)?;
    let Some((value, stated)) = text.rsplit_once('.') else { return Ok(None) };
    let holds = !secret.is_empty() && is_same(signature(&secret, value)?.as_bytes(), stated.as_bytes());
    Ok(holds.then(|| value.to_owned()))
}

fn cookie_sign(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let value = args::text(cx, args, 0)?;
    Ok(signed(cx, args, &value, 1)?.into())
}

fn cookie_verify(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    let value = verified(cx, args, &text, 1)?;
    Ok(Value::record([("valid", value.is_some().into()), ("value", value.map_or(Value::Nil, Value::from))]))
}

fn session(cx: &mut Cx<'_>, args: &[Value], payload: usize, secret: usize) -> Result<String, Fault> {
    let payload = json::write::compact(cx, at(args, payload))?;
    cx.charge(payload.len().saturating_mul(2))?;
    signed(cx, args, &BASE64URL_NOPAD.encode(payload.as_bytes()), secret)
}

fn session_sign(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(session(cx, args, 0, 1)?.into())
}

fn opened(cx: &mut Cx<'_>, args: &[Value], token: &str, secret: usize) -> Answer {
    let text = verified(cx, args, token, secret)?
        .and_then(|text| BASE64URL_NOPAD.decode(text.as_bytes()).ok())
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let payload = match text {
        Some(text) => json::read::json(cx, &text)?.ok(),
        None => None,
    };
    Ok(Value::record([("valid", payload.is_some().into()), ("payload", payload.unwrap_or_default())]))
}

fn session_verify(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let token = args::text(cx, args, 0)?;
    opened(cx, args, &token, 1)
}

fn session_cookie(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let name = args::text(cx, args, 0)?;
    let token = session(cx, args, 1, 2)?;
    let mut options: Dict = [
        ("path", "/".into()),
        ("http_only", true.into()),
        ("secure", true.into()),
        ("same_site", "Lax".into()),
    ]
    .map(|(name, value): (&str, Value)| (key(name), value))
    .into_iter()
    .collect();
    for (name, value) in args::dict(args, 3).into_iter().flat_map(|options| options.iter()) {
        options.insert(name.clone(), value.clone());
    }
    Ok(set_cookie(cx, "session_cookie", &name, &token, &Value::dict(options))?.into())
}

fn session_from_cookies(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let name = args::text(cx, args, 1)?;
    let found = cookies(cx, at(args, 0))?;
    let token = found.get(&name).and_then(Value::as_str).unwrap_or_default();
    opened(cx, args, token, 2)
}
