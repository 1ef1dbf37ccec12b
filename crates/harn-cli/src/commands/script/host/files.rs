//! Reading files and folders for a script. Relative paths start at its root, whatever the folder of the process is.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use globset::GlobBuilder;
use harn_lang::fault::Fault;
use harn_lang::value::Value;
use harn_lang::vm::Call;
use ignore::WalkBuilder;

use super::{Answer, text};

/// As much as a script may have in memory.
const LARGEST: u64 = 1 << 30;

/// A folder with more in it than this is searched in parts.
const MOST_ENTRIES: usize = 1_000_000;

pub fn answer(root: &Path, call: &Call) -> Option<Answer> {
    let path = text(call, 0);
    let place = root.join(&path);
    let failed = |what: &str, error: io::Error| Fault::thrown(format!("Failed to {what} {path}: {error}"));
    Some(match call.builtin {
        "read_file" => read_text(&place).map(Value::str).map_err(|error| failed("read file", error)),
        "read_file_result" => Ok(match read_text(&place) {
            Ok(content) => Value::ok(Value::str(content)),
            Err(error) => Value::err(Value::str(format!("Failed to read file {path}: {error}"))),
        }),
        "read_file_bytes" => {
            let bytes = read(&place).map(|bytes| Value::Bytes(Arc::new(bytes)));
            bytes.map_err(|error| failed("read file", error))
        }
        "read_lines" => {
            let lines = read_text(&place).map(|text| Value::list(text.lines().map(Value::str).collect()));
            lines.map_err(|error| failed("read file", error))
        }
        "file_exists" => Ok(Value::Bool(place.exists())),
        "list_dir" => names(&place).map_err(|error| failed("list directory", error)),
        "stat" => stat(&place).map_err(|error| failed("stat", error)),
        "walk_dir" => walk(&path, &place, call.args.get(1)).map_err(|error| failed("walk directory", error)),
        "glob" => matching(root, &path, call.args.get(1)),
        _ => return None,
    })
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it has more than {LARGEST} bytes")));
    }
    Ok(bytes)
}

fn read_text(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?).map_err(|_| io::Error::other("stream did not contain valid UTF-8"))
}

fn names(folder: &Path) -> io::Result<Value> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)?.take(MOST_ENTRIES) {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort_unstable();
    Ok(Value::list(names.into_iter().map(Value::str).collect()))
}

fn stat(path: &Path) -> io::Result<Value> {
    let facts = fs::metadata(path)?;
    let modified = facts.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    Ok(Value::record([
        ("is_dir", Value::Bool(facts.is_dir())),
        ("is_file", Value::Bool(facts.is_file())),
        ("modified", modified.map_or(Value::Nil, |time| Value::Float(time.as_secs_f64()))),
        ("readonly", Value::Bool(facts.permissions().readonly())),
        ("size", Value::Int(i64::try_from(facts.len()).unwrap_or(i64::MAX))),
    ]))
}

/// All that is below a folder, in the order of the paths, and not what links lead to.
fn below(folder: &Path, depth: Option<usize>) -> io::Result<Vec<ignore::DirEntry>> {
    fs::read_dir(folder)?;
    let mut walk = WalkBuilder::new(folder);
    walk.standard_filters(false).follow_links(false).max_depth(depth).sort_by_file_name(Ord::cmp);
    let mut found = Vec::new();
    // What cannot be looked into is left out, as a shell does it.
    for entry in walk.build().flatten().filter(|entry| entry.depth() > 0) {
        if found.len() == MOST_ENTRIES {
            return Err(io::Error::other(format!("it has more than {MOST_ENTRIES} entries")));
        }
        found.push(entry);
    }
    Ok(found)
}

fn walk(path: &str, place: &Path, options: Option<&Value>) -> io::Result<Value> {
    let depth = options.and_then(Value::as_dict).and_then(|options| options.get("max_depth"));
    let depth = depth.and_then(Value::as_int).and_then(|depth| usize::try_from(depth).ok());
    let mut found = Vec::new();
    for entry in below(place, depth)? {
        let inner = entry.path().strip_prefix(place).unwrap_or(entry.path());
        let kind = entry.file_type();
        found.push(Value::record([
            ("depth", Value::Int(i64::try_from(entry.depth()).unwrap_or(i64::MAX))),
            ("is_dir", Value::Bool(kind.is_some_and(|kind| kind.is_dir()))),
            ("is_file", Value::Bool(kind.is_some_and(|kind| kind.is_file()))),
            ("path", Value::str(Path::new(path).join(inner).display().to_string())),
        ]));
    }
    Ok(Value::list(found))
}

/// The paths that match; with a base, they are found in it and begin with it.
fn matching(root: &Path, pattern: &str, base: Option<&Value>) -> Answer {
    let named = match base {
        Some(Value::Dict(options)) => options.get("base").map(Value::display),
        other => other.and_then(Value::as_str).map(str::to_owned),
    };
    let failed = |error: &dyn std::fmt::Display| Fault::thrown(format!("glob: {pattern}: {error}"));
    // Everything before the first part with a sign in it is where the search begins.
    let parts: Vec<&str> = pattern.split('/').collect();
    let fixed = parts.iter().take_while(|part| !part.contains(['*', '?', '[', '{'])).count();
    let fixed = fixed.min(parts.len() - 1);
    let mut start = parts[..fixed].join("/");
    if start.is_empty() && fixed > 0 {
        start.push('/');
    }
    let shown = PathBuf::from(named.unwrap_or_default()).join(start);
    let rest = parts[fixed..].join("/");
    let glob = GlobBuilder::new(&rest).literal_separator(true).build().map_err(|error| failed(&error))?;
    let glob = glob.compile_matcher();
    let folder = root.join(&shown);
    if !folder.is_dir() {
        return Ok(Value::list(Vec::new()));
    }
    let depth = (!rest.contains("**")).then(|| rest.split('/').count());
    let mut found = Vec::new();
    for entry in below(&folder, depth).map_err(|error| failed(&error))? {
        let inner = entry.path().strip_prefix(&folder).unwrap_or(entry.path());
        if glob.is_match(inner) {
            found.push(shown.join(inner).display().to_string());
        }
    }
    found.sort_unstable();
    Ok(Value::list(found.into_iter().map(Value::str).collect()))
}
