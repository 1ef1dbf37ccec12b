//! Paths as text: nothing here looks at a file system.

use super::args::{self, at};
use super::{Cx, Group, pure};
use crate::fault::Fault;
use crate::value::Value;

type Answer = Result<Value, Fault>;

pub static PATHS: Group = Group {
    title: "Paths",
    builtins: &[
        pure("path_basename", "p", "string", "The last part of a path.", path_basename),
        pure(
            "path_extension",
            "p",
            "string",
            "What follows the last dot of the last part of a path, or an empty text.",
            path_extension,
        ),
        pure("path_is_absolute", "p", "bool", "Whether a path starts at a root.", path_is_absolute),
        pure(
            "path_is_relative",
            "p",
            "bool",
            "Whether a path starts at the current directory.",
            path_is_relative,
        ),
        pure(
            "path_normalize",
            "p",
            "string",
            "A path without `.`, without doubled separators, and with `..` resolved where it can be.",
            path_normalize,
        ),
        pure("path_parent", "p", "string", "A path without its last part.", path_parent),
        pure(
            "path_parts",
            "p",
            "dict",
            "All that can be told about a path: `absolute`, `basename`, `extension`, `parent`, `segments`, `stem`.",
            path_parts,
        ),
        pure(
            "path_relative_to",
            "p, base",
            "any",
            "A path as seen from a directory that it is in, or nil.",
            path_relative_to,
        ),
        pure("path_segments", "p", "list", "The parts of a path.", path_segments),
        pure("path_stem", "p", "string", "The last part of a path without its extension.", path_stem),
        pure(
            "path_to_native",
            "p",
            "string",
            "A path as this system writes it, which is with slashes.",
            path_to_native,
        ),
        pure("path_to_posix", "p", "string", "A path with slashes.", path_to_posix),
        pure(
            "path_with_extension",
            "p, ext",
            "string",
            "A path with another extension, or with none.",
            path_with_extension,
        ),
        pure(
            "path_with_stem",
            "p, stem",
            "string",
            "A path whose last part has another name and the same extension.",
            path_with_stem,
        ),
        pure(
            "path_workspace_info",
            "path, workspace_root?",
            "dict",
            "Where a path lies in a workspace: `input`, `kind`, `workspace_path`, `host_path`.",
            path_workspace_info,
        ),
        pure(
            "path_workspace_normalize",
            "path, workspace_root?",
            "string|nil",
            "A path as seen from the root of the workspace, or nil if it is not in it.",
            path_workspace_normalize,
        ),
    ],
};

/// The parts between separators.
fn segments(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

/// Empty for a root.
pub fn last_part(path: &str) -> &str {
    let part = segments(path).next_back().unwrap_or_default();
    if part == ".." || part == "." { "" } else { part }
}

/// Without its last part; empty when there is only one.
pub fn parent(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    match trimmed.rsplit_once('/') {
        Some((before, _)) => {
            let kept = before.trim_end_matches('/');
            if kept.is_empty() { "/" } else { kept }
        }
        None => "",
    }
}

/// A dot at the start is part of the name.
pub fn stem_and_extension(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => (stem, Some(extension)),
        _ => (name, None),
    }
}

fn is_absolute(path: &str) -> bool {
    let drive = path.as_bytes();
    path.starts_with('/')
        || (drive.first().is_some_and(u8::is_ascii_alphabetic)
            && drive.get(1) == Some(&b':')
            && matches!(drive.get(2), Some(b'/' | b'\\')))
}

pub fn normalize(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for part in segments(path).filter(|part| *part != ".") {
        match (part, kept.last()) {
            ("..", Some(last)) if *last != ".." => {
                kept.pop();
            }
            ("..", None) if rooted => {}
            _ => kept.push(part),
        }
    }
    match (rooted, kept.is_empty()) {
        (true, _) => format!("/{}", kept.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => kept.join("/"),
    }
}

/// One path after another: an absolute one starts anew.
pub fn path_join(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let mut joined = String::new();
    for index in 0..args.len() {
        let part = args::text(cx, args, index)?;
        cx.charge(part.len() + 1)?;
        if part.starts_with('/') {
            joined.clear();
        } else if !joined.is_empty() && !joined.ends_with('/') && !part.is_empty() {
            joined.push('/');
        }
        joined.push_str(&part);
    }
    Ok(joined.into())
}

fn path_basename(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(last_part(&args::text(cx, args, 0)?).into())
}

fn path_extension(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(stem_and_extension(last_part(&args::text(cx, args, 0)?)).1.unwrap_or_default().into())
}

fn path_stem(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(stem_and_extension(last_part(&args::text(cx, args, 0)?)).0.into())
}

fn path_parent(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(parent(&args::text(cx, args, 0)?).into())
}

fn path_is_absolute(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(is_absolute(&args::text(cx, args, 0)?).into())
}

fn path_is_relative(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok((!is_absolute(&args::text(cx, args, 0)?)).into())
}

fn path_normalize(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(normalize(&args::text(cx, args, 0)?).into())
}

fn path_segments(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let path = args::text(cx, args, 0)?;
    cx.charge(path.len().saturating_mul(40))?;
    Ok(args::strings(segments(&path)))
}

fn path_parts(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let path = args::text(cx, args, 0)?;
    cx.charge(path.len().saturating_mul(40))?;
    let name = last_part(&path);
    let (stem, extension) = stem_and_extension(name);
    Ok(Value::record([
        ("absolute", is_absolute(&path).into()),
        ("basename", name.into()),
        ("extension", extension.unwrap_or_default().into()),
        ("parent", parent(&path).into()),
        ("segments", args::strings(segments(&path))),
        ("stem", stem.into()),
    ]))
}

/// The rest of a normal path below a normal base.
fn below(path: &str, base: &str) -> Option<String> {
    if base == "." && !is_absolute(path) && path != ".." && !path.starts_with("../") {
        return Some(path.to_owned());
    }
    let rest = path.strip_prefix(base)?;
    match rest.strip_prefix('/') {
        _ if rest.is_empty() => Some(".".to_owned()),
        Some(rest) => Some(rest.to_owned()),
        None if base == "/" => Some(rest.to_owned()),
        None => None,
    }
}

fn path_relative_to(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (path, base) = (args::text(cx, args, 0)?, args::text(cx, args, 1)?);
    Ok(below(&normalize(&path), &normalize(&base)).map_or(Value::Nil, Value::from))
}

fn path_to_posix(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(args::text(cx, args, 0)?.replace('\\', "/").into())
}

fn path_to_native(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    Ok(args::text(cx, args, 0)?.into_owned().into())
}

fn with_name(path: &str, name: &str) -> String {
    match parent(path) {
        "" => name.to_owned(),
        "/" => format!("/{name}"),
        directory => format!("{directory}/{name}"),
    }
}

fn path_with_extension(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (path, extension) = (args::text(cx, args, 0)?, args::text(cx, args, 1)?);
    let (stem, _) = stem_and_extension(last_part(&path));
    let extension = extension.trim_start_matches('.');
    let name = if extension.is_empty() { stem.to_owned() } else { format!("{stem}.{extension}") };
    Ok(with_name(&path, &name).into())
}

fn path_with_stem(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (path, stem) = (args::text(cx, args, 0)?, args::text(cx, args, 1)?);
    let name = match stem_and_extension(last_part(&path)).1 {
        Some(extension) => format!("{stem}.{extension}"),
        None => stem.into_owned(),
    };
    Ok(with_name(&path, &name).into())
}

/// The normal path from the root of the workspace, and from the root of the system if that is known.
fn in_workspace(path: &str, root: &str) -> Option<(String, Option<String>)> {
    let (path, root) = (normalize(&path.replace('\\', "/")), normalize(root));
    let inner = if is_absolute(&path) { below(&path, &root)? } else { below(&path, ".")? };
    let outer = is_absolute(&root).then(|| normalize(&format!("{root}/{inner}")));
    Some((inner, outer))
}

fn path_workspace_normalize(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (path, root) = (args::text(cx, args, 0)?, args::text_or(cx, args, 1, ".")?);
    Ok(in_workspace(&path, &root).map_or(Value::Nil, |(inner, _)| inner.into()))
}

fn path_workspace_info(cx: &mut Cx<'_>, args: &mut [Value]) -> Answer {
    let (path, root) = (args::text(cx, args, 0)?, args::text_or(cx, args, 1, ".")?);
    let found = in_workspace(&path, &root);
    let kind = match &found {
        None => "outside",
        Some(_) if is_absolute(&path) => "host_absolute",
        Some(_) => "workspace_relative",
    };
    let (inner, outer) = found.map_or((None, None), |(inner, outer)| (Some(inner), outer));
    Ok(Value::record([
        ("input", at(args, 0).clone()),
        ("kind", kind.into()),
        ("workspace_path", inner.map_or(Value::Nil, Value::from)),
        ("host_path", outer.map_or(Value::Nil, Value::from)),
    ]))
}
