//! The methods of texts. Places and counts are of characters (Unicode scalars).

use super::Method::{self, Prelude, Pure};
use crate::builtins::args::{self, at};
use crate::builtins::{Cx, strings};
use crate::fault::Fault;
use crate::value::{Text, Value};

type Answer = Result<Value, Fault>;

pub fn find(method: &str) -> Option<Method> {
    Some(match method {
        "count" | "len" => Pure(count),
        "empty" => Pure(empty),
        "contains" => Pure(contains),
        "replace" => Pure(replace),
        "split" => Pure(split),
        "trim" => Pure(trim),
        "trim_start" => Pure(trim_start),
        "trim_end" => Pure(trim_end),
        "starts_with" => Pure(starts_with),
        "ends_with" => Pure(ends_with),
        "lowercase" | "lower" | "to_lower" => Pure(lowercase),
        "uppercase" | "upper" | "to_upper" => Pure(uppercase),
        "substring" => Pure(substring),
        "index_of" => Pure(index_of),
        "last_index_of" => Pure(last_index_of),
        "chars" => Pure(chars),
        "repeat" => Pure(repeat),
        "reverse" => Pure(reverse),
        "pad_left" => Pure(pad_left),
        "pad_right" => Pure(pad_right),
        "lines" => Pure(lines),
        "char_at" => Pure(char_at),
        "iter" => Prelude("string_iter"),
        _ => return None,
    })
}

fn receiver(args: &[Value]) -> &str {
    at(args, 0).as_str().unwrap_or_default()
}

fn length(args: &[Value]) -> usize {
    match at(args, 0) {
        Value::Str(text) => text.chars(),
        _ => 0,
    }
}

fn cut(args: &[Value], start: usize, end: usize) -> Value {
    match at(args, 0) {
        Value::Str(text) => Text::slice(text, start, end).into(),
        _ => "".into(),
    }
}

fn count(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(args::number(length(args)))
}

fn empty(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(receiver(args).is_empty().into())
}

fn contains(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    cx.work(receiver(args).len());
    Ok(receiver(args).contains(&*args::text(cx, args, 1)?).into())
}

fn starts_with(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(receiver(args).starts_with(&*args::text(cx, args, 1)?).into())
}

fn ends_with(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(receiver(args).ends_with(&*args::text(cx, args, 1)?).into())
}

fn replace(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (old, new) = (args::text(cx, args, 1)?, args::text(cx, args, 2)?);
    strings::replaced(cx, receiver(args), &old, &new)
}

fn split(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let separator = args::text_or(cx, args, 1, ",")?;
    strings::parts(cx, receiver(args), &separator)
}

fn trim(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(receiver(args).trim().into())
}

fn trim_start(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(receiver(args).trim_start().into())
}

fn trim_end(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(receiver(args).trim_end().into())
}

fn lowercase(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    cx.charge(receiver(args).len())?;
    Ok(receiver(args).to_lowercase().into())
}

fn uppercase(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    cx.charge(receiver(args).len())?;
    Ok(receiver(args).to_uppercase().into())
}

fn substring(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let length = length(args);
    let start = args::count_or(args, 1, 0).min(length);
    let end = args::count_or(args, 2, length).min(length);
    Ok(cut(args, start, end))
}

/// The place of a byte, in characters.
fn place(text: &str, byte: Option<usize>) -> Value {
    byte.and_then(|byte| text.get(..byte))
        .map_or(Value::Int(-1), |before| args::number(before.chars().count()))
}

fn index_of(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = receiver(args);
    cx.work(text.len());
    Ok(place(text, text.find(&*args::text(cx, args, 1)?)))
}

fn last_index_of(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = receiver(args);
    cx.work(text.len());
    Ok(place(text, text.rfind(&*args::text(cx, args, 1)?)))
}

fn chars(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    strings::characters(cx, receiver(args))
}

fn repeat(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = receiver(args);
    let count = if text.is_empty() { 0 } else { args::count_or(args, 1, 0) };
    cx.charge(text.len().saturating_mul(count))?;
    Ok(text.repeat(count).into())
}

fn reverse(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    cx.charge(receiver(args).len())?;
    Ok(receiver(args).chars().rev().collect::<String>().into())
}

/// What is missing to a width, out of one text over and over.
fn padding(cx: &mut Cx<'_>, args: &[Value]) -> Result<String, Fault> {
    let fill = args::text_or(cx, args, 2, " ")?;
    let missing = args::count_or(args, 1, 0).saturating_sub(length(args));
    if fill.is_empty() {
        return Ok(String::new());
    }
    cx.charge(missing.saturating_mul(4).saturating_add(receiver(args).len()))?;
    cx.work(missing);
    Ok(fill.chars().cycle().take(missing).collect())
}

fn pad_left(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok((padding(cx, args)? + receiver(args)).into())
}

fn pad_right(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let padding = padding(cx, args)?;
    Ok((receiver(args).to_owned() + &padding).into())
}

fn lines(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = receiver(args);
    cx.work(text.len());
    cx.charge(text.matches('\n').count().saturating_mul(80).saturating_add(text.len()))?;
    Ok(args::strings(text.lines()))
}

fn char_at(_: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let place = args::int(args, 1).and_then(|place| usize::try_from(place).ok());
    Ok(match place.filter(|place| *place < length(args)) {
        Some(place) => cut(args, place, place + 1),
        None => Value::Nil,
    })
}
