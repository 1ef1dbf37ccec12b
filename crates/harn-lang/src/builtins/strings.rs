//! Text: searching, cutting, joining and filling in.

use std::sync::Arc;

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use super::args::{self, Metered, at};
use super::{Cx, Group, case, effect, prelude, pure};
use crate::fault::Fault;
use crate::template;
use crate::value::{Text, Value};

type Answer = Result<Value, Fault>;

pub static STRINGS: Group = Group {
    title: "Strings, case, render",
    builtins: &[
        pure("basename", "path", "string", "The last part of a path.", basename),
        pure("camel_to_kebab", "s", "string", "Turns `someName` into `some-name`.", case::camel_to_kebab),
        pure("camel_to_pascal", "s", "string", "Turns `someName` into `SomeName`.", case::camel_to_pascal),
        pure("camel_to_snake", "s", "string", "Turns `someName` into `some_name`.", case::camel_to_snake),
        pure(
            "contains",
            "str, substr",
            "any",
            "Whether a text has a part, a list or set an item, or a dict a key.",
            contains,
        ),
        pure("dirname", "path", "string", "A path without its last part.", dirname),
        pure("ends_with", "str, suffix", "any", "Whether a text ends with another.", ends_with),
        pure("extname", "path", "string", "The extension of a path with its dot, or an empty text.", extname),
        pure(
            "format",
            "template, ...",
            "string",
            "Fills `{}` with the arguments in turn, or `{name}` from one dict.",
            format,
        ),
        pure(
            "join",
            "list, sep",
            "string",
            "The printed items of a list with a separator between them.",
            join,
        ),
        pure("kebab_to_camel", "s", "string", "Turns `some-name` into `someName`.", case::kebab_to_camel),
        pure("kebab_to_snake", "s", "string", "Turns `some-name` into `some_name`.", case::kebab_to_snake),
        pure("lowercase", "str", "string", "A text in small letters.", lowercase),
        pure("lowercase_first", "s", "string", "A text with a small first letter.", case::lowercase_first),
        pure("pascal_to_camel", "s", "string", "Turns `SomeName` into `someName`.", case::pascal_to_camel),
        pure("pascal_to_snake", "s", "string", "Turns `SomeName` into `some_name`.", case::pascal_to_snake),
        prelude(
            "prompt_mark_rendered",
            "prompt_id",
            "int",
            "Notes that a prompt was rendered, and answers how often it was.",
        ),
        effect("render", "path, bindings?", "string", "Renders a template file."),
        effect("render_prompt", "path, bindings?", "string", "Renders a prompt template file."),
        pure(
            "render_string",
            "template, bindings?",
            "string",
            "Renders a template that is given as text; it cannot include files.",
            render_string,
        ),
        effect(
            "render_with_provenance",
            "path, bindings?",
            "dict",
            "Renders a template file and tells which files the text was made of.",
        ),
        pure(
            "replace",
            "str, old, new",
            "string",
            "A text with every occurrence of a part replaced.",
            replace,
        ),
        pure("snake_to_camel", "s", "string", "Turns `some_name` into `someName`.", case::snake_to_camel),
        pure("snake_to_kebab", "s", "string", "Turns `some_name` into `some-name`.", case::snake_to_kebab),
        pure("snake_to_pascal", "s", "string", "Turns `some_name` into `SomeName`.", case::snake_to_pascal),
        pure(
            "split",
            "str, sep",
            "any",
            "The parts of a text between separators; the separator is a blank unless given.",
            split,
        ),
        pure("starts_with", "str, prefix", "any", "Whether a text starts with another.", starts_with),
        pure(
            "str_pad",
            "str, width, char?, side?",
            "string",
            "Fills a text up to a width, counted in characters as a reader sees them.",
            str_pad,
        ),
        pure(
            "substring",
            "str, start, len?",
            "string",
            "So many characters of a text from a position on.",
            substring,
        ),
        pure(
            "title_case",
            "s",
            "string",
            "A text with a capital first letter in every word.",
            case::title_case,
        ),
        pure("trim", "str", "string", "A text without blanks around it.", trim),
        pure(
            "unicode_graphemes",
            "str",
            "list",
            "The characters of a text as a reader sees them.",
            unicode_graphemes,
        ),
        pure(
            "unicode_normalize",
            "str, form",
            "string",
            "A text in one of the forms NFC, NFD, NFKC and NFKD.",
            unicode_normalize,
        ),
        pure("uppercase", "str", "string", "A text in capital letters.", uppercase),
        pure("uppercase_first", "s", "string", "A text with a capital first letter.", case::uppercase_first),
    ],
};

fn contains(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let found = match at(args, 0) {
        Value::List(list) => {
            cx.work(list.len());
            args::weigh(cx, at(args, 1))?;
            list.contains(at(args, 1))
        }
        Value::Set(set) => {
            args::weigh(cx, at(args, 1))?;
            set.contains(at(args, 1))
        }
        Value::Dict(dict) => dict.has(&args::text(cx, args, 1)?),
        Value::Range(range) => at(args, 1).as_int().is_some_and(|value| range.contains(value)),
        _ => {
            let part = args::text(cx, args, 1)?;
            args::text(cx, args, 0)?.contains(&*part)
        }
    };
    Ok(found.into())
}

fn starts_with(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let part = args::text(cx, args, 1)?;
    Ok(args::text(cx, args, 0)?.starts_with(&*part).into())
}

fn ends_with(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let part = args::text(cx, args, 1)?;
    Ok(args::text(cx, args, 0)?.ends_with(&*part).into())
}

fn lowercase(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(args::text(cx, args, 0)?.to_lowercase().into())
}

fn uppercase(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(args::text(cx, args, 0)?.to_uppercase().into())
}

fn trim(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(args::text(cx, args, 0)?.trim().into())
}

fn replace(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (text, old) = (args::text(cx, args, 0)?, args::text(cx, args, 1)?);
    let new = args::text(cx, args, 2)?;
    replaced(cx, &text, &old, &new)
}

/// Every occurrence replaced, paid for in advance.
pub fn replaced(cx: &mut Cx<'_>, text: &str, old: &str, new: &str) -> Answer {
    cx.work(text.len());
    let count = if new.len() > old.len() { text.matches(old).count() } else { 0 };
    let grown = count.saturating_mul(new.len().saturating_sub(old.len()));
    cx.charge(text.len().saturating_add(grown))?;
    Ok(text.replace(old, new).into())
}

fn split(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let separator = args::text_or(cx, args, 1, " ")?;
    let text = args::text(cx, args, 0)?;
    parts(cx, &text, &separator)
}

/// The parts between separators; every character by itself when there is no separator.
pub fn parts(cx: &mut Cx<'_>, text: &str, separator: &str) -> Answer {
    cx.work(text.len());
    if separator.is_empty() {
        return characters(cx, text);
    }
    let count = text.matches(separator).count() + 1;
    cx.charge(count.saturating_mul(80).saturating_add(text.len()))?;
    Ok(args::strings(text.split(separator)))
}

pub fn characters(cx: &mut Cx<'_>, text: &str) -> Answer {
    cx.charge(text.len().saturating_mul(80))?;
    cx.work(text.len());
    Ok(args::strings(text.chars().map(String::from)))
}

fn join(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let separator = args::text(cx, args, 1)?;
    let items = args::sequence(cx, args, 0)?.unwrap_or_default();
    joined(cx, items.iter(), &separator)
}

/// Printed items with a separator between them.
pub fn joined<'a>(
    cx: &mut Cx<'_>,
    items: impl ExactSizeIterator<Item = &'a Value>,
    separator: &str,
) -> Answer {
    use std::fmt::Write;
    cx.work(items.len());
    let mut out = Metered::new(cx);
    for (at, item) in items.enumerate() {
        if at > 0 {
            out.push(separator)?;
        }
        match item {
            Value::Str(text) => out.push(text.as_str())?,
            other => {
                if write!(out, "{other}").is_err() {
                    return Err(out.into_fault());
                }
            }
        }
    }
    Ok(out.finish().into())
}

fn substring(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let printed;
    let text = match at(args, 0) {
        Value::Str(text) => text,
        _ => {
            printed = Arc::new(Text::new(args::text(cx, args, 0)?.into_owned()));
            &printed
        }
    };
    let length = text.chars();
    let start = args::count_or(args, 1, 0).min(length);
    let end = start.saturating_add(args::count_or(args, 2, length)).min(length);
    Ok(text.slice(start, end).into())
}

fn unicode_graphemes(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    cx.charge(text.len().saturating_mul(80))?;
    Ok(args::strings(text.graphemes(true)))
}

fn unicode_normalize(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    let form = args::text_or(cx, args, 1, "NFC")?;
    // No character becomes more than 18 others.
    cx.charge(text.len().saturating_mul(18))?;
    let normal: String = match &*form.to_ascii_uppercase() {
        "NFC" => text.nfc().collect(),
        "NFD" => text.nfd().collect(),
        "NFKC" => text.nfkc().collect(),
        "NFKD" => text.nfkd().collect(),
        _ => {
            let message =
                format!("unicode_normalize: unknown form '{form}', expected NFC, NFD, NFKC or NFKD");
            return Err(Fault::thrown(message));
        }
    };
    Ok(normal.into())
}

fn str_pad(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let text = args::text(cx, args, 0)?;
    let fill = args::text_or(cx, args, 2, " ")?;
    let side = args::text_or(cx, args, 3, "right")?;
    let missing = args::count_or(args, 1, 0).saturating_sub(text.graphemes(true).count());
    let (left, right) = match &*side {
        "left" => (missing, 0),
        "both" | "center" => (missing / 2, missing - missing / 2),
        "right" => (0, missing),
        _ => {
            let message = format!("str_pad: unknown side '{side}', expected left, right or both");
            return Err(Fault::thrown(message));
        }
    };
    let (left, right) = (padding(cx, &fill, left)?, padding(cx, &fill, right)?);
    Ok(format!("{left}{text}{right}").into())
}

/// So many characters of a text that is repeated, paid for before they are made.
fn padding(cx: &mut Cx<'_>, fill: &str, count: usize) -> Result<String, Fault> {
    let length = fill.graphemes(true).count();
    let (Some(times), Some(rest)) = (count.checked_div(length), count.checked_rem(length)) else {
        return Ok(String::new());
    };
    let size = times.saturating_add(1).saturating_mul(fill.len());
    cx.charge(size)?;
    cx.work(size);
    let mut out = fill.repeat(times);
    fill.graphemes(true).take(rest).for_each(|part| out.push_str(part));
    Ok(out)
}

fn format(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let template = args::text(cx, args, 0)?;
    cx.work(template.len());
    let values = args.get(1..).unwrap_or_default();
    let named = if values.len() == 1 { args::fields(&values[0]) } else { None };
    let mut next = values.iter();
    let mut out = String::new();
    let mut rest = &*template;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        // A name ends before the next brace: looking further each time would take very long where none closes.
        let (name, tail) = match after.find(['{', '}']) {
            Some(end) if after[end..].starts_with('}') => (&after[..end], &after[end + 1..]),
            _ => ("", ""),
        };
        let value = match named {
            Some(dict) if !name.is_empty() => dict.get(name),
            _ if name.is_empty() && after.starts_with('}') => next.next(),
            _ => name.parse::<usize>().ok().and_then(|at| values.get(at)),
        };
        match value {
            Some(value) => {
                let printed = args::print(cx, value)?;
                cx.charge(printed.len())?;
                out.push_str(&printed);
                rest = tail;
            }
            // What names nothing stays as it is.
            None => {
                out.push('{');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    Ok(out.into())
}

fn basename(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let path = args::text(cx, args, 0)?;
    Ok(super::paths::last_part(&path).into())
}

fn dirname(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let path = args::text(cx, args, 0)?;
    Ok(super::paths::parent(&path).into())
}

fn extname(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let path = args::text(cx, args, 0)?;
    let (_, extension) = super::paths::stem_and_extension(super::paths::last_part(&path));
    Ok(extension.map_or(String::new(), |extension| format!(".{extension}")).into())
}

fn render_string(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let source = args::text(cx, args, 0)?;
    Ok(template::render(cx, &source, at(args, 1), &mut template::NoIncludes)?.into())
}
