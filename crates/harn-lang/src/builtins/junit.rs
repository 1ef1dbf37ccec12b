//! Reads the reports that test runners write as JUnit XML.

use super::args;
use super::{Cx, Group, pure};
use crate::fault::Fault;
use crate::value::Value;

pub static JUNIT: Group = Group {
    title: "JUnit reports",
    builtins: &[pure(
        "parse_junit_xml",
        "input",
        "list",
        "The test cases of a JUnit report: `suite`, `classname`, `name`, `status`, `time`, `message` and `details`.",
        parse_junit_xml,
    )],
};

/// A piece of XML: nothing more is needed of it.
enum Piece<'x> {
    Open { name: &'x str, attributes: &'x str, closed: bool },
    Close(&'x str),
    Text(&'x str),
    Data(&'x str),
}

struct Pieces<'x>(&'x str);

impl<'x> Iterator for Pieces<'x> {
    type Item = Result<Piece<'x>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let source = self.0;
            if source.is_empty() {
                return None;
            }
            let Some(tag) = source.strip_prefix('<') else {
                let end = source.find('<').unwrap_or(source.len());
                self.0 = &source[end..];
                return Some(Ok(Piece::Text(&source[..end])));
            };
            for (open, close, is_data) in
                [("!--", "-->", false), ("![CDATA[", "]]>", true), ("?", "?>", false), ("!", ">", false)]
            {
                let Some(body) = tag.strip_prefix(open) else { continue };
                let Some(end) = body.find(close) else {
                    self.0 = "";
                    return Some(Err(format!("'<{open}' has no '{close}'")));
                };
                self.0 = &body[end + close.len()..];
                if is_data {
                    return Some(Ok(Piece::Data(&body[..end])));
                }
                break;
            }
            if self.0.len() < source.len() {
                continue;
            }
            let Some(end) = tag_end(tag) else {
                self.0 = "";
                return Some(Err("a tag does not end".to_owned()));
            };
            self.0 = &tag[end + 1..];
            let inner = &tag[..end];
            if let Some(name) = inner.strip_prefix('/') {
                return Some(Ok(Piece::Close(name.trim())));
            }
            let closed = inner.ends_with('/');
            let inner = inner.trim_end_matches('/');
            let (name, attributes) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
            return Some(Ok(Piece::Open { name, attributes, closed }));
        }
    }
}

/// The `>` that is not within quotes.
fn tag_end(tag: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in tag.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

fn attribute(attributes: &str, wanted: &str) -> Option<String> {
    let mut rest = attributes.trim_start();
    while let Some((name, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| *c == '"' || *c == '\'')?;
        let (value, next) = after[1..].split_once(quote)?;
        if name.trim() == wanted {
            return Some(unescaped(value));
        }
        rest = next.trim_start();
    }
    None
}

fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        out.push_str(before);
        // Only so far, or many `&` without an end would be looked through to the end of the text each.
        let end = after.bytes().take(11).position(|byte| byte == b';');
        let entity = end.map(|end| (&after[..end], &after[end + 1..]));
        let decoded = entity.and_then(|(name, _)| match name {
            "lt" => Some('<'),
            "gt" => Some('>'),
            "amp" => Some('&'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            other => {
                let number = other.strip_prefix('#')?;
                let code = match number.strip_prefix('x') {
                    Some(hex) => u32::from_str_radix(hex, 16),
                    None => number.parse(),
                };
                char::from_u32(code.ok()?)
            }
        });
        match (decoded, entity) {
            (Some(c), Some((_, next))) => {
                out.push(c);
                rest = next;
            }
            _ => {
                out.push('&');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

#[derive(Default)]
struct Case {
    suite: String,
    classname: String,
    name: String,
    time: Option<f64>,
    status: &'static str,
    message: Option<String>,
    details: String,
}

fn parse_junit_xml(cx: &mut Cx<'_>, args: &mut [Value]) -> Result<Value, Fault> {
    let bytes = args::octets(cx, args, 0)?;
    let text =
        std::str::from_utf8(&bytes).map_err(|_| Fault::thrown("parse_junit_xml: the text is not UTF-8"))?;
    cx.work(text.len());
    cx.charge(text.len())?;
    let mut suites: Vec<String> = Vec::new();
    let mut current: Option<Case> = None;
    let mut in_outcome = false;
    let mut cases = Vec::new();
    for piece in Pieces(text) {
        match piece.map_err(|error| Fault::thrown(format!("parse_junit_xml: {error}")))? {
            Piece::Open { name: "testsuite", attributes, closed: false } => {
                suites.push(attribute(attributes, "name").unwrap_or_default());
            }
            Piece::Close("testsuite") => {
                suites.pop();
            }
            Piece::Open { name: "testcase", attributes, closed } => {
                let case = opened(suites.last(), attributes);
                if closed { cases.push(told(cx, case)?) } else { current = Some(case) }
            }
            Piece::Open { name: name @ ("failure" | "error" | "skipped"), attributes, closed } => {
                if let Some(case) = &mut current {
                    case.status = match name {
                        "failure" => "failed",
                        "error" => "error",
                        _ => "skipped",
                    };
                    case.message = attribute(attributes, "message");
                    in_outcome = !closed;
                }
            }
            Piece::Close("failure" | "error" | "skipped") => in_outcome = false,
            Piece::Close("testcase") => {
                if let Some(case) = current.take() {
                    cases.push(told(cx, case)?);
                }
            }
            Piece::Text(text) => {
                if let Some(case) = current.as_mut().filter(|_| in_outcome) {
                    case.details.push_str(&unescaped(text));
                }
            }
            Piece::Data(text) => {
                if let Some(case) = current.as_mut().filter(|_| in_outcome) {
                    case.details.push_str(text);
                }
            }
            _ => {}
        }
    }
    Ok(Value::list(cases))
}

fn opened(suite: Option<&String>, attributes: &str) -> Case {
    Case {
        suite: suite.cloned().unwrap_or_default(),
        classname: attribute(attributes, "classname").unwrap_or_default(),
        name: attribute(attributes, "name").unwrap_or_default(),
        time: attribute(attributes, "time").and_then(|time| time.parse().ok()),
        status: "passed",
        ..Case::default()
    }
}

fn told(cx: &mut Cx<'_>, case: Case) -> Result<Value, Fault> {
    cx.charge(1024 + case.suite.len() + case.details.len())?;
    Ok(Value::record([
        ("suite", case.suite.into()),
        ("classname", case.classname.into()),
        ("name", case.name.into()),
        ("time", case.time.map_or(Value::Nil, Value::Float)),
        ("status", case.status.into()),
        ("message", case.message.map_or(Value::Nil, Value::from)),
        ("details", case.details.trim().into()),
    ]))
}
