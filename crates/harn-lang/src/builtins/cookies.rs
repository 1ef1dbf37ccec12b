//! Cookies and signed sessions in them.

use data_encoding::BASE64URL_NOPAD;
use hmac::Hmac;
use sha2::Sha256;

use super::args::{self, at, key};
use super::encoding::{is_same, mac};
use super::{Cx, Group, dates, json, pure, strings};
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
    let Some(dict) = args::fields(given) else { return lines(cx, given) };
    if let Some(headers @ Value::Dict(_)) = dict.get("headers") {
        return header_of(cx, headers);
    }
    let found = dict.iter().find(|(name, _)| name.as_str().eq_ignore_ascii_case("cookie"));
    match found {
        Some((_, value)) if args::fields(value).is_none() => lines(cx, value),
        _ => Ok(String::new()),
    }
}

/// A header, or several of one name as one.
fn lines(cx: &mut Cx<'_>, header: &Value) -> Result<String, Fault> {
    match header {
        Value::Nil => Ok(String::new()),
        Value::List(list) => Ok(strings::joined(cx, list.iter(), "; ")?.display()),
        one => Ok(args::print(cx, one)?.into_owned()),
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
            let value = attribute_of(cx, builtin, option, value)?;
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

/// An option as the header has it.
fn attribute_of(cx: &mut Cx<'_>, builtin: &str, option: &str, value: &Value) -> Result<String, Fault> {
    let wrong = |expected: &str| {
        Fault::thrown(format!("{builtin}: {option} must be {expected}, got {}", value.display()))
    };
    match (option, value) {
        ("same_site", _) => {
            let word = value.as_str().unwrap_or_default();
            let known = ["Strict", "Lax", "None"].into_iter().find(|known| known.eq_ignore_ascii_case(word));
            known.map(str::to_owned).ok_or_else(|| wrong("strict, lax or none"))
        }
        ("expires", Value::Str(date)) => Ok(date.as_str().to_owned()),
        ("expires", _) => {
            let date = value.as_number().and_then(dates::http_date);
            date.ok_or_else(|| wrong("a date or a number of seconds since 1970"))
        }
        (_, Value::Duration(ms)) => Ok((ms / 1000).to_string()),
        (_, other) => Ok(args::print(cx, other)?.into_owned()),
    }
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

fn signed(cx: &mut Cx<'_>, text: &str, secret: &[u8]) -> Result<String, Fault> {
    cx.charge(text.len() + 64)?;
    Ok(format!("{text}.{}", signature(secret, text)?))
}

/// What was signed, if the signature holds.
fn verified(text: &str, secret: &[u8]) -> Result<Option<String>, Fault> {
    let Some((value, stated)) = text.rsplit_once('.') else { return Ok(None) };
    let holds = is_same(signature(secret, value)?.as_bytes(), stated.as_bytes());
    Ok(holds.then(|| value.to_owned()))
}

fn cookie_sign(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let value = args::text(cx, args, 0)?;
    Ok(signed(cx, &value, args::secret(args, 1, "cookie_sign")?)?.into())
}

fn cookie_verify(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    let value = verified(&text, args::secret(args, 1, "cookie_verify")?)?;
    Ok(Value::record([("valid", value.is_some().into()), ("value", value.map_or(Value::Nil, Value::from))]))
}

fn session(cx: &mut Cx<'_>, payload: &Value, secret: &[u8]) -> Result<String, Fault> {
    let payload = json::write::compact(cx, payload)?;
    cx.charge(payload.len().saturating_mul(2))?;
    signed(cx, &BASE64URL_NOPAD.encode(payload.as_bytes()), secret)
}

fn session_sign(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(session(cx, at(args, 0), args::secret(args, 1, "session_sign")?)?.into())
}

fn opened(cx: &mut Cx<'_>, token: &str, secret: &[u8]) -> Answer {
    let text = verified(token, secret)?
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
    opened(cx, &token, args::secret(args, 1, "session_verify")?)
}

fn session_cookie(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let name = args::text(cx, args, 0)?;
    let token = session(cx, at(args, 1), args::secret(args, 2, "session_cookie")?)?;
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
    opened(cx, token, args::secret(args, 2, "session_from_cookies")?)
}
