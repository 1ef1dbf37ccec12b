//! Regular expressions that take time in proportion to the text.

use std::cell::RefCell;

use regex::{Captures, Regex, RegexBuilder};

use super::args::{self, Metered};
use super::{Cx, Group, pure};
use crate::fault::Fault;
use crate::value::{Dict, Value};

type Answer = Result<Value, Fault>;

pub static REGEX: Group = Group {
    title: "Regex",
    builtins: &[
        pure(
            "regex_captures",
            "pattern, text",
            "list",
            "For every match a dict of `match`, the list `groups`, and the named groups under their names.",
            regex_captures,
        ),
        pure(
            "regex_match",
            "pattern, text, flags?",
            "string|nil",
            "All parts of a text that match, or nil if there are none.",
            regex_match,
        ),
        pure(
            "regex_replace",
            "pattern, replacement, text",
            "string",
            "A text with every match replaced; `$1` or `$name` stands for a group.",
            regex_replace,
        ),
        pure(
            "regex_replace_all",
            "pattern, replacement, text",
            "string",
            "The same as `regex_replace`.",
            regex_replace,
        ),
        pure(
            "regex_split",
            "text, pattern, flags?",
            "list",
            "The parts of a text between matches.",
            regex_split,
        ),
    ],
};

/// How many compiled patterns are kept.
const KEPT: usize = 64;
/// How large a compiled pattern may get, in bytes.
const MAX_SIZE: usize = 1 << 20;

thread_local! {
    /// The most recently used last.
    static COMPILED: RefCell<Vec<(String, Regex)>> = const { RefCell::new(Vec::new()) };
}

/// A pattern with flags `i`, `m`, `s`, `x` and `U`, compiled now or before.
pub fn compiled(cx: &mut Cx<'_>, pattern: &str, flags: &str) -> Result<Regex, Fault> {
    // The same whether it was compiled before or not: what a program uses must not depend on other programs.
    cx.charge(pattern.len().saturating_mul(4))?;
    cx.work(pattern.len().saturating_mul(64));
    let name = format!("{flags}/{pattern}");
    let known = COMPILED.with_borrow_mut(|kept| {
        let at = kept.iter().position(|(known, _)| *known == name)?;
        let found = kept.remove(at);
        let regex = found.1.clone();
        kept.push(found);
        Some(regex)
    });
    if let Some(regex) = known {
        return Ok(regex);
    }
    let mut builder = RegexBuilder::new(pattern);
    builder.size_limit(MAX_SIZE).dfa_size_limit(MAX_SIZE).nest_limit(64);
    for flag in flags.chars() {
        match flag {
            'i' => builder.case_insensitive(true),
            'm' => builder.multi_line(true),
            's' => builder.dot_matches_new_line(true),
            'x' => builder.ignore_whitespace(true),
            'U' => builder.swap_greed(true),
            'g' | 'u' => &mut builder,
            other => {
                let message = format!("Invalid regex: unknown flag '{other}', expected i, m, s, x or U");
                return Err(Fault::thrown(message));
            }
        };
    }
    let regex = builder.build().map_err(|error| Fault::thrown(format!("Invalid regex: {error}")))?;
    COMPILED.with_borrow_mut(|kept| {
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((name, regex.clone()));
    });
    Ok(regex)
}

fn pattern(cx: &mut Cx<'_>, args: &[Value], index: usize, flags: usize) -> Result<Regex, Fault> {
    let pattern = args::text(cx, args, index)?;
    let flags = args::text_or(cx, args, flags, "")?;
    compiled(cx, &pattern, &flags)
}

fn regex_match(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let regex = pattern(cx, args, 0, 2)?;
    let text = args::text(cx, args, 1)?;
    cx.work(text.len());
    let mut found = Vec::new();
    for one in regex.find_iter(&text) {
        cx.charge(64 + one.len())?;
        found.push(one.as_str().into());
    }
    Ok(if found.is_empty() { Value::Nil } else { Value::list(found) })
}

fn regex_captures(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let regex = pattern(cx, args, 0, 2)?;
    let text = args::text(cx, args, 1)?;
    cx.work(text.len());
    let mut found = Vec::new();
    for one in regex.captures_iter(&text) {
        let held = one.iter().flatten().map(|group| group.len() + 64).sum::<usize>();
        cx.charge(held.saturating_mul(2).saturating_add(256))?;
        found.push(captured(&regex, &one));
    }
    Ok(Value::list(found))
}

fn captured(regex: &Regex, captures: &Captures<'_>) -> Value {
    let group = |at: usize| captures.get(at).map_or(Value::Nil, |group| group.as_str().into());
    let mut dict = Dict::new();
    for (at, name) in regex.capture_names().enumerate() {
        if let Some(name) = name {
            dict.insert(args::key(name), group(at));
        }
    }
    dict.insert(args::key("match"), group(0));
    dict.insert(args::key("groups"), Value::list((1..captures.len()).map(group).collect()));
    Value::dict(dict)
}

fn regex_replace(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let regex = pattern(cx, args, 0, 3)?;
    let (replacement, text) = (args::text(cx, args, 1)?, args::text(cx, args, 2)?);
    cx.work(text.len());
    let groups = replacement.matches('$').count();
    let matches: Vec<Captures<'_>> = regex.captures_iter(&text).collect();
    // No group is longer than the whole match.
    let most = matches.iter().filter_map(|one| one.get(0)).map(|one| one.len().saturating_mul(groups)).max();
    cx.charge(most.unwrap_or(0))?;
    let mut out = Metered::new(cx);
    let mut from = 0;
    for one in &matches {
        let Some(whole) = one.get(0) else { continue };
        out.push(&text[from..whole.start()])?;
        if groups == 0 {
            out.push(&replacement)?;
        } else {
            let mut expanded = String::new();
            one.expand(&replacement, &mut expanded);
            out.push(&expanded)?;
        }
        from = whole.end();
    }
    out.push(&text[from..])?;
    Ok(out.finish().into())
}

fn regex_split(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let regex = pattern(cx, args, 1, 2)?;
    let text = args::text(cx, args, 0)?;
    cx.work(text.len());
    let mut parts = Vec::new();
    for part in regex.split(&text) {
        cx.charge(64 + part.len())?;
        parts.push(part.into());
    }
    Ok(Value::list(parts))
}
