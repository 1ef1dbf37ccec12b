//! The standard modules, written in Harn.

use crate::bytecode::Source;

/// Modules by name, with their text.
const MODULES: &[(&str, &str)] = &[];

/// The module of an import path that begins with `std/`; none for any other path.
pub fn source(path: &str) -> Option<Result<Source, String>> {
    let path = path.strip_suffix(".harn").unwrap_or(path);
    if !path.starts_with("std/") {
        return None;
    }
    let found = MODULES.iter().find(|(name, _)| *name == path);
    Some(match found {
        Some((name, text)) => Ok(Source { name: (*name).into(), text: (*text).into() }),
        None => Err(format!("Unknown stdlib module: {path}")),
    })
}
