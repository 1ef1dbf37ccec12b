//! Forms with files in them.

use sha2::{Digest, Sha256};

use super::args::{self, at, key};
use super::encoding::text_or_bytes;
use super::{Cx, Group, pure};
use crate::fault::Fault;
use crate::value::{Dict, Value};

type Answer = Result<Value, Fault>;

pub static MULTIPART: Group = Group {
    title: "Multipart",
    builtins: &[
        pure(
            "multipart_field_bytes",
            "field",
            "bytes",
            "The content of a field as bytes.",
            multipart_field_bytes,
        ),
        pure(
            "multipart_field_text",
            "field",
            "string",
            "The content of a field as text.",
            multipart_field_text,
        ),
        pure(
            "multipart_form_data",
            "fields, options?",
            "dict",
            "A form out of fields: `body`, `content_type` and `boundary`.",
            multipart_form_data,
        ),
        pure(
            "multipart_parse",
            "body, content_type, options?",
            "dict",
            "The `fields` of a form, each with `name`, `filename`, `content_type`, `headers`, `bytes` and `text`.",
            multipart_parse,
        ),
    ],
};

/// How many fields a form may have unless told otherwise.
const MAX_FIELDS: usize = 1000;

struct Field {
    name: String,
    filename: Option<String>,
    content_type: Option<String>,
    content: Vec<u8>,
}

fn fields(cx: &mut Cx<'_>, given: &Value) -> Result<Vec<Field>, Fault> {
    if let Some(dict) = args::fields(given) {
        return dict.iter().map(|(name, value)| field(cx, Some(name.as_str()), value)).collect();
    }
    match given {
        Value::List(list) => list.iter().map(|item| field(cx, None, item)).collect(),
        other => Err(Fault::type_error(format!(
            "multipart_form_data: fields must be a dict or a list, got {}",
            other.type_name()
        ))),
    }
}

fn field(cx: &mut Cx<'_>, name: Option<&str>, value: &Value) -> Result<Field, Fault> {
    let text = |dict: &Dict, name: &str| dict.get(name).and_then(Value::as_str).map(str::to_owned);
    let Some(dict) = args::fields(value) else {
        let content = args::octets(cx, std::slice::from_ref(value), 0)?.into_owned();
        return Ok(Field {
            name: name.unwrap_or_default().to_owned(),
            filename: None,
            content_type: None,
            content,
        });
    };
    let content = ["content", "value", "bytes", "text"].iter().find_map(|name| dict.get(name));
    Ok(Field {
        name: name.map(str::to_owned).or_else(|| text(dict, "name")).unwrap_or_default(),
        filename: text(dict, "filename"),
        content_type: text(dict, "content_type"),
        content: args::octets(cx, content.map_or(&[], std::slice::from_ref), 0)?.into_owned(),
    })
}

fn multipart_form_data(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let fields = fields(cx, at(args, 0))?;
    if fields.iter().any(|field| field.name.is_empty()) {
        return Err(Fault::thrown("multipart_form_data: a field needs a name"));
    }
    let size: usize = fields.iter().map(|field| field.content.len() + field.name.len() + 512).sum();
    cx.charge(size.saturating_mul(2))?;
    let given = args::dict(args, 1).and_then(|options| options.get("boundary")).and_then(Value::as_str);
    let boundary = given.map_or_else(|| boundary_for(&fields), str::to_owned);
    if boundary.is_empty() || boundary.len() > 70 || !boundary.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Fault::thrown("multipart_form_data: a boundary has 1 to 70 visible ASCII characters"));
    }
    let mut body = Vec::with_capacity(size);
    for field in &fields {
        body.extend(
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"{}\"", quoted(&field.name))
                .bytes(),
        );
        if let Some(filename) = &field.filename {
            body.extend(format!("; filename=\"{}\"", quoted(filename)).bytes());
        }
        let kind =
            field.content_type.as_deref().or(field.filename.as_ref().map(|_| "application/octet-stream"));
        if let Some(kind) = kind {
            body.extend(format!("\r\nContent-Type: {}", quoted(kind)).bytes());
        }
        body.extend(b"\r\n\r\n");
        body.extend(&field.content);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{boundary}--\r\n").bytes());
    Ok(Value::record([
        ("body", args::bytes(body)),
        ("content_type", format!("multipart/form-data; boundary={boundary}").into()),
        ("boundary", boundary.into()),
    ]))
}

/// The same fields have the same boundary, which none of them can contain but by a collision of hashes.
fn boundary_for(fields: &[Field]) -> String {
    let mut hash = Sha256::new();
    for field in fields {
        hash.update((field.content.len() as u64).to_be_bytes());
        hash.update(&field.content);
    }
    format!("harn-{}", data_encoding::HEXLOWER.encode(&hash.finalize()[..16]))
}

/// Line ends and quotes as browsers write them.
fn quoted(text: &str) -> String {
    text.replace('"', "%22").replace('\r', "%0D").replace('\n', "%0A")
}

fn multipart_parse(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let broken = |message: &str| Fault::thrown(format!("multipart_parse: {message}"));
    let body = args::octets(cx, args, 0)?;
    let content_type = args::text(cx, args, 1)?;
    let most = args::dict(args, 2).and_then(|options| options.get("max_fields")).and_then(Value::as_int);
    let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(MAX_FIELDS);
    let boundary = parameter(&content_type, "boundary").filter(|boundary| !boundary.is_empty());
    let boundary = boundary.ok_or_else(|| broken("the content type names no boundary"))?;
    let marker = format!("--{boundary}");
    cx.work(body.len());
    let mut found = Vec::new();
    let start = place(&body, marker.as_bytes()).ok_or_else(|| broken("the boundary does not occur"))?;
    let mut rest = &body[start + marker.len()..];
    let end = format!("\r\n{marker}");
    while !rest.starts_with(b"--") {
        let part = rest.strip_prefix(b"\r\n").ok_or_else(|| broken("a boundary does not end its line"))?;
        let length = place(part, end.as_bytes()).ok_or_else(|| broken("the last boundary is missing"))?;
        if found.len() >= most {
            return Err(broken(&format!("a form may have {most} fields")));
        }
        cx.charge(length.saturating_mul(3).saturating_add(512))?;
        found.push(parsed(&part[..length]).ok_or_else(|| broken("a field has no end of its headers"))?);
        rest = &part[length + end.len()..];
    }
    Ok(Value::record([("fields", Value::list(found))]))
}

fn place(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    // Boundaries start with a line end or two dashes, so that few places need a closer look.
    let first = *wanted.first()?;
    let mut from = 0;
    while let Some(at) = bytes.get(from..)?.iter().position(|byte| *byte == first) {
        if bytes[from + at..].starts_with(wanted) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

fn parsed(part: &[u8]) -> Option<Value> {
    let (head, content) = match part.strip_prefix(b"\r\n") {
        Some(content) => (&part[..0], content),
        None => {
            let at = place(part, b"\r\n\r\n")?;
            (&part[..at], &part[at + 4..])
        }
    };
    let head = String::from_utf8_lossy(head);
    let mut headers = Dict::new();
    for line in head.split("\r\n") {
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(key(&name.trim().to_ascii_lowercase()), value.trim().into());
        }
    }
    let header = |name: &str| headers.get(name).and_then(Value::as_str);
    let disposition = header("content-disposition").unwrap_or_default();
    let optional = |text: Option<String>| text.map_or(Value::Nil, Value::from);
    Some(Value::record([
        ("name", optional(parameter(disposition, "name"))),
        ("filename", optional(parameter(disposition, "filename"))),
        ("content_type", optional(header("content-type").map(str::to_owned))),
        ("bytes", args::bytes(content.to_vec())),
        (
            "text",
            match text_or_bytes(content.to_vec()) {
                text @ Value::Str(_) => text,
                _ => Value::Nil,
            },
        ),
        ("headers", Value::dict(headers.clone())),
    ]))
}

/// A parameter of a header, with or without quotes.
fn parameter(header: &str, name: &str) -> Option<String> {
    header.split(';').skip(1).find_map(|part| {
        let (known, value) = part.split_once('=')?;
        let value = value.trim();
        let bare = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        known.trim().eq_ignore_ascii_case(name).then(|| bare.replace("%22", "\""))
    })
}

fn multipart_field_bytes(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let field = field(cx, None, at(args, 0))?;
    Ok(args::bytes(field.content))
}

fn multipart_field_text(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let field = field(cx, None, at(args, 0))?;
    String::from_utf8(field.content)
        .map(Value::from)
        .map_err(|_| Fault::thrown("multipart_field_text: the field is not UTF-8 text"))
}
