//! What scripts have noted about the folders of a project, with a hash of each folder from which it shows whether that
//! is still true.

use std::io::Read;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use cap_std::fs::Dir;
use globset::GlobBuilder;
use harn_core::decision::Access;
use harn_core::hash::Sha256Hash;
use harn_core::tool::{Class, SideEffect, ToolKind};
use serde_json::{Map, Value, json};

use super::args::{self, Args};
use super::files::reach::Target;
use super::files::{Found, Seen, below, seconds};
use super::simple::{Answer, Simple, Work};
use super::store::{Kept, looks, writes};
use crate::tools::{Tool, ToolContext, ToolFailure};

/// A file larger than this counts by its size.
const HASHED: u64 = 64 << 20;

/// What changes without anybody having changed the project.
const PASSED_OVER: [&str; 2] = [".git", ".harn"];

pub fn calls() -> Vec<Arc<dyn Tool>> {
    vec![
        looks_at("compute_content_hash", "A hash of all files in a folder.", "dir", content_hash),
        looks_at("scan_directory", "The files in a folder with sizes and times.", "path", scan),
        looks_at("metadata_stale", "Which folders changed since something was noted.", "project", stale),
        looks("metadata_get", "What is known about a folder.", get),
        looks("metadata_resolve", "What is known about a folder and those that it is in.", resolve),
        looks("metadata_entries", "What is known about all folders.", entries),
        looks("metadata_status", "How much is known and how much of it is outdated.", status),
        writes("metadata_set", "Notes something about a folder.", set),
        writes("invalidate_facts", "Marks what is known about a folder as outdated.", invalidate),
        writes("metadata_refresh_hashes", "Computes the hashes of all folders again.", refresh),
        writes("metadata_save", "Writes what is known to disk.", |ctx, _| change(ctx, |_| ())),
    ]
}

fn looks_at(name: &str, description: &str, path: &str, work: Work) -> Arc<dyn Tool> {
    Simple::new(name, description, Class::Read, SideEffect::ReadOnly, work)
        .path(path, Access::Read)
        .kind(ToolKind::Search)
        .call()
}

fn kept(ctx: &ToolContext) -> Kept {
    Kept::at(ctx, &Path::new("metadata").join("entries.json"))
}

fn change(ctx: &ToolContext, change: impl FnOnce(&mut Map<String, Value>)) -> Answer {
    kept(ctx).change(change)?;
    Ok(Value::Null)
}

/// The name of a folder in the notes: from the project on, `.` for the project itself.
fn key(ctx: &ToolContext, dir: &str) -> String {
    let mut whole = PathBuf::new();
    for part in ctx.place.root.join(dir).components() {
        match part {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            part => whole.push(part),
        }
    }
    match whole.strip_prefix(&ctx.place.project).unwrap_or(&whole).to_string_lossy().into_owned() {
        key if key.is_empty() => ".".to_owned(),
        key => key,
    }
}

fn folder_key(call: &str, ctx: &ToolContext, args: &Args) -> Result<String, ToolFailure> {
    Ok(key(ctx, args::optional_path(call, args, "dir")?.unwrap_or(".")))
}

fn namespace(args: &Args) -> Option<String> {
    args.get("namespace").filter(|namespace| !namespace.is_null()).map(|_| args::text(args, "namespace"))
}

/// All that is noted about a folder, or what is in one namespace.
fn notes(entry: Option<&Value>, namespace: Option<&str>) -> Value {
    let all = entry.and_then(|entry| entry.get("namespaces")).cloned().unwrap_or_else(|| json!({}));
    match namespace {
        None => all,
        Some(namespace) => all.get(namespace).cloned().unwrap_or_else(|| json!({})),
    }
}

fn get(ctx: &ToolContext, args: &Args) -> Answer {
    let all = kept(ctx).read()?;
    Ok(notes(all.get(&folder_key("metadata_get", ctx, args)?), namespace(args).as_deref()))
}

/// The nearer folder has the last word.
fn resolve(ctx: &ToolContext, args: &Args) -> Answer {
    let (all, namespace) = (kept(ctx).read()?, namespace(args));
    let key = folder_key("metadata_resolve", ctx, args)?;
    let ends = key.match_indices('/').map(|(at, _)| &key[..at]).filter(|above| !above.is_empty());
    let mut folders = vec!["."];
    folders.extend(ends);
    if key != "." {
        folders.push(&key);
    }
    let mut resolved = json!({});
    for folder in folders {
        lay_over(&mut resolved, notes(all.get(folder), namespace.as_deref()));
    }
    Ok(resolved)
}

fn lay_over(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (key, value) in above {
                lay_over(below.entry(key).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above,
    }
}

fn entries(ctx: &ToolContext, args: &Args) -> Answer {
    let (all, namespace) = (kept(ctx).read()?, namespace(args));
    let known = all.iter().filter(|(_, entry)| is_noted(entry, namespace.as_deref()));
    let listed = known.map(|(dir, entry)| {
        json!({
            "data": notes(Some(entry), namespace.as_deref()),
            "dir": dir,
            "hash": entry["hash"],
            "stale": is_stale(ctx, dir, entry, "metadata_entries"),
        })
    });
    Ok(listed.collect())
}

fn is_noted(entry: &Value, namespace: Option<&str>) -> bool {
    namespace.is_none_or(|namespace| entry["namespaces"].get(namespace).is_some())
}

fn is_stale(ctx: &ToolContext, dir: &str, entry: &Value, call: &str) -> bool {
    entry["stale"] == true || entry["hash"] != hash_of(ctx, dir, call)
}

fn status(ctx: &ToolContext, args: &Args) -> Answer {
    let (all, namespace) = (kept(ctx).read()?, namespace(args));
    let known: Vec<_> = all.iter().filter(|(_, entry)| is_noted(entry, namespace.as_deref())).collect();
    let stale = known.iter().filter(|(dir, entry)| is_stale(ctx, dir, entry, "metadata_status"));
    let stale: Vec<&String> = stale.map(|(dir, _)| *dir).collect();
    let names = known.iter().filter_map(|(_, entry)| entry["namespaces"].as_object());
    let mut names: Vec<&String> = names.flat_map(Map::keys).collect();
    names.sort_unstable();
    names.dedup();
    Ok(json!({
        "directories": known.len(),
        "namespaces": names,
        "stale": stale.len(),
        "stale_directories": stale,
    }))
}

fn stale(ctx: &ToolContext, args: &Args) -> Answer {
    let project = args::optional_path("metadata_stale", args, "project")?.unwrap_or(".");
    let (project, all) = (key(ctx, project), kept(ctx).read()?);
    let within = |dir: &str| project == "." || Path::new(dir).starts_with(&project);
    let stale = all.iter().filter(|(dir, entry)| within(dir) && is_stale(ctx, dir, entry, "metadata_stale"));
    let stale: Vec<&String> = stale.map(|(dir, _)| dir).collect();
    Ok(json!({ "any_stale": !stale.is_empty(), "directories": stale }))
}

fn set(ctx: &ToolContext, args: &Args) -> Answer {
    let key = folder_key("metadata_set", ctx, args)?;
    let data = args.get("data").cloned().unwrap_or_default();
    let (name, hash) = (args::text(args, "namespace"), hash_of(ctx, &key, "metadata_set"));
    change(ctx, |all| {
        let entry = all.entry(key).or_insert_with(|| json!({ "namespaces": {} }));
        entry["namespaces"][name] = data;
        entry["hash"] = hash;
        entry["stale"] = false.into();
    })
}

fn invalidate(ctx: &ToolContext, args: &Args) -> Answer {
    let key = folder_key("invalidate_facts", ctx, args)?;
    change(ctx, |all| {
        if let Some(entry) = all.get_mut(&key) {
            entry["stale"] = true.into();
        }
    })
}

fn refresh(ctx: &ToolContext, _: &Args) -> Answer {
    let known = kept(ctx).read()?;
    let hashes: Vec<(String, Value)> =
        known.keys().map(|dir| (dir.clone(), hash_of(ctx, dir, "metadata_refresh_hashes"))).collect();
    change(ctx, |all| {
        for (dir, hash) in hashes {
            if let Some(entry) = all.get_mut(&dir) {
                entry["hash"] = hash;
                entry["stale"] = false.into();
            }
        }
    })
}

/// Null for a folder that there is not.
fn hash_of(ctx: &ToolContext, key: &str, call: &str) -> Value {
    let folder = ctx.place.project.join(key);
    hash(ctx, &folder.to_string_lossy(), call).ok().into()
}

fn content_hash(ctx: &ToolContext, args: &Args) -> Answer {
    let call = "compute_content_hash";
    let dir = args::optional_path(call, args, "dir")?.unwrap_or(".");
    let hash = hash(ctx, dir, call);
    hash.map(Value::from)
        .map_err(|error| ToolFailure::new(format!("Failed to compute the hash of {dir}: {error}")))
}

fn hash(ctx: &ToolContext, dir: &str, call: &str) -> std::io::Result<String> {
    let folder = Target::of(ctx, dir)?.folder()?;
    let seen = Seen::by(ctx, call, dir).only_open();
    let found = below(folder.try_clone()?, None, &seen)?;
    let counts =
        |found: &&Found| found.facts.is_file() && !is_passed_over(&found.path) && seen.may_read(&found.path);
    let mut lines = String::new();
    for found in found.iter().filter(counts) {
        let hash = file_hash(&folder, found);
        lines.push_str(&format!("{} {hash}\n", found.path));
    }
    Ok(Sha256Hash::of(lines.as_bytes()).to_string())
}

/// A file that cannot be read counts by its size, like one that is too large.
fn file_hash(folder: &Dir, found: &Found) -> String {
    let size = found.facts.len();
    let mut bytes = Vec::new();
    let read = folder.open(&found.path).and_then(|file| file.take(HASHED + 1).read_to_end(&mut bytes));
    match read {
        Ok(_) if bytes.len() as u64 <= HASHED => Sha256Hash::of(&bytes).to_string(),
        _ => format!("{size} bytes"),
    }
}

fn is_passed_over(path: &str) -> bool {
    path.split('/').any(|name| PASSED_OVER.contains(&name))
}

fn scan(ctx: &ToolContext, args: &Args) -> Answer {
    let path = args::optional_path("scan_directory", args, "path")?.unwrap_or(".");
    let failed =
        |error: &dyn std::fmt::Display| ToolFailure::new(format!("Failed to scan directory {path}: {error}"));
    let names = ["pattern_or_options", "options"];
    let pattern = args.get("pattern_or_options").filter(|given| given.is_string());
    let pattern = pattern.or_else(|| args::option(args, &names, "pattern")).and_then(Value::as_str);
    let glob =
        pattern.map(|pattern| GlobBuilder::new(pattern).literal_separator(pattern.contains('/')).build());
    let glob = glob.transpose().map_err(|error| failed(&error))?.map(|glob| glob.compile_matcher());
    let depth = args::number(args::option(args, &names, "max_depth"));
    let depth = depth.and_then(|depth| usize::try_from(depth).ok());
    let seen = Seen::by(ctx, "scan_directory", path);
    let found = Target::of(ctx, path).and_then(|target| below(target.folder()?, depth, &seen));
    let files = found.map_err(|error| failed(&error))?.into_iter().filter(|found| {
        found.facts.is_file()
            && !is_passed_over(&found.path)
            && glob.as_ref().is_none_or(|glob| glob.is_match(&found.path))
    });
    let listed = files.map(|found| {
        json!({
            "modified": found.facts.modified().ok().and_then(|time| seconds(time.into_std())),
            "path": Path::new(path).join(&found.path).components().collect::<PathBuf>().display().to_string(),
            "size": found.facts.len(),
        })
    });
    Ok(listed.collect())
}
