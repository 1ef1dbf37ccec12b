//! Listing, walking and searching folders.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use globset::GlobBuilder;
use harn_core::decision::{Access, EffectKind, Verdict};
use harn_core::ports::Located;
use harn_core::run::Trust;
use harn_core::tool::{Class, SideEffect, ToolKind};
use serde_json::{Value, json};

use super::reach::Target;
use super::{Answer, failed};
use crate::calls::args::{self, Args};
use crate::calls::simple::Simple;
use crate::tools::confined::is_closed;
use crate::tools::locate::locate;
use crate::tools::{Sight, Tool, ToolContext, ToolFailure};

/// A folder with more in it than this is searched in parts.
const MOST_ENTRIES: usize = 1_000_000;

/// Each level holds an open folder.
const DEEPEST: usize = 256;

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let looks =
        |name, description, work| Simple::new(name, description, Class::Read, SideEffect::ReadOnly, work);
    vec![
        looks("list_dir", "The names in a folder, in order.", list)
            .path("path", Access::Read)
            .kind(ToolKind::Read)
            .call(),
        looks("walk_dir", "All that is in a folder and in those within.", walk)
            .path("path", Access::Read)
            .kind(ToolKind::Search)
            .call(),
        looks("glob", "The paths that match a pattern.", glob)
            .path("pattern", Access::Read)
            .path("base_or_options", Access::Read)
            .kind(ToolKind::Search)
            .call(),
    ]
}

fn list(ctx: &ToolContext, args: &Args) -> Answer {
    let path = args::optional_path("list_dir", args, "path")?.unwrap_or(".");
    let seen = Seen::by(ctx, "list_dir", path);
    let names = Target::of(ctx, path).and_then(|target| names(&target.folder()?, "", &seen));
    Ok(names.map_err(failed("list directory", path))?.into())
}

/// What of a folder is shown.
#[derive(Default)]
pub struct Seen<'a> {
    /// What belongs to the harness is left out.
    only_open: bool,
    policy: Option<Judged<'a>>,
}

/// Who looks at a folder, and where that is.
struct Judged<'a> {
    sight: &'a dyn Sight,
    call: &'a str,
    folder: Located,
}

impl<'a> Seen<'a> {
    /// What a call is shown of the folder at a path: not what policy denies.
    pub fn by(ctx: &'a ToolContext, call: &'a str, path: &str) -> Self {
        let folder = locate(&ctx.place.root, path);
        let policy = Some(Judged { sight: &*ctx.sight, call, folder });
        Self { only_open: ctx.trust != Trust::Own, policy }
    }

    /// Without what belongs to the harness, whoever looks.
    pub fn only_open(self) -> Self {
        Self { only_open: true, ..self }
    }

    fn shows(&self, name: &str, path: &str) -> bool {
        !(self.only_open && is_closed(name)) && self.verdict(path) != Verdict::Deny
    }

    /// Whether the content of what is shown may be read, too.
    pub fn may_read(&self, path: &str) -> bool {
        self.verdict(path) == Verdict::Allow
    }

    fn verdict(&self, path: &str) -> Verdict {
        let Some(Judged { sight, call, folder }) = &self.policy else { return Verdict::Allow };
        sight.verdict(EffectKind::Call, call, &folder.below(path))
    }
}

/// The names in a folder whose path, from the one that is looked at on, is `above`.
fn names(folder: &Dir, above: &str, seen: &Seen<'_>) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in folder.entries()? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if seen.shows(&name, &joined(above, &name)) {
            names.push(name);
        }
        if names.len() > MOST_ENTRIES {
            return Err(too_many());
        }
    }
    names.sort_unstable();
    Ok(names)
}

fn joined(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { format!("{above}/{name}") }
}

fn too_many() -> io::Error {
    io::Error::other(format!("it has more than {MOST_ENTRIES} entries"))
}

/// Something below a folder.
pub struct Found {
    /// From the folder on.
    pub path: String,
    pub depth: usize,
    pub facts: cap_std::fs::Metadata,
}

/// All that is below a folder, in the order of the paths, and not what links lead to. What cannot be looked into is
/// left out, as a shell does it.
pub fn below(folder: Dir, depth: Option<usize>, seen: &Seen<'_>) -> io::Result<Vec<Found>> {
    let deepest = depth.unwrap_or(DEEPEST).min(DEEPEST);
    let mut found = Vec::new();
    let ahead = names(&folder, "", seen)?;
    let mut open = vec![(String::new(), folder, ahead.into_iter())];
    while let Some((above, folder, ahead)) = open.last_mut() {
        let Some(name) = ahead.next() else {
            open.pop();
            continue;
        };
        let Ok(facts) = folder.symlink_metadata(&name) else { continue };
        let path = joined(above, &name);
        let inner = facts.is_dir().then(|| folder.open_dir_nofollow(&name).ok()).flatten();
        let depth = open.len();
        found.push(Found { path: path.clone(), depth, facts });
        if found.len() > MOST_ENTRIES {
            return Err(too_many());
        }
        if let (Some(inner), true) = (inner, depth < deepest)
            && let Ok(ahead) = names(&inner, &path, seen)
        {
            open.push((path, inner, ahead.into_iter()));
        }
    }
    Ok(found)
}

fn walk(ctx: &ToolContext, args: &Args) -> Answer {
    let path = args::path("walk_dir", args, "path")?;
    let depth = args::number(args::option(args, &["options"], "max_depth"));
    let depth = depth.and_then(|depth| usize::try_from(depth).ok());
    let seen = Seen::by(ctx, "walk_dir", path);
    let found = Target::of(ctx, path).and_then(|target| below(target.folder()?, depth, &seen));
    let entry = |found: Found| {
        json!({
            "depth": found.depth,
            "is_dir": found.facts.is_dir(),
            "is_file": found.facts.is_file(),
            "path": Path::new(path).join(&found.path).display().to_string(),
        })
    };
    Ok(found.map_err(failed("walk directory", path))?.into_iter().map(entry).collect())
}

/// The paths that match; with a base, they are found in it and begin with it.
fn glob(ctx: &ToolContext, args: &Args) -> Answer {
    let pattern = args::path("glob", args, "pattern")?;
    let base = base(ctx, args)?;
    let failed = |error: &dyn std::fmt::Display| ToolFailure::new(format!("glob: {pattern}: {error}"));
    let (start, rest) = split(pattern);
    let shown = PathBuf::from(base).join(start);
    let matcher = GlobBuilder::new(&rest).literal_separator(true).build().map_err(|error| failed(&error))?;
    let matcher = matcher.compile_matcher();
    let folder = shown.to_str().filter(|shown| !shown.is_empty()).unwrap_or(".");
    let seen = Seen::by(ctx, "glob", folder);
    let folder = match Target::of(ctx, folder).and_then(|target| target.folder()) {
        Ok(folder) => folder,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(json!([]));
        }
        Err(error) => return Err(failed(&error)),
    };
    let depth = (!rest.contains("**")).then(|| rest.split('/').count());
    let found = below(folder, depth, &seen).map_err(|error| failed(&error))?;
    let matching = found.into_iter().filter(|found| matcher.is_match(&found.path));
    let mut paths: Vec<String> = matching.map(|found| shown.join(found.path).display().to_string()).collect();
    paths.sort_unstable();
    Ok(paths.into())
}

/// Where the search is. Policy sees a base that is an argument, and not one within options.
fn base(ctx: &ToolContext, args: &Args) -> Result<String, ToolFailure> {
    let given = args.get("base_or_options");
    if let Some(base) = given.and_then(Value::as_str) {
        return Ok(base.to_owned());
    }
    let Some(base) = args::option(args, &["base_or_options", "options"], "base") else {
        return Ok(String::new());
    };
    let base = base.as_str().ok_or_else(|| ToolFailure::new("glob: base must be a string"))?;
    let leads_out = ctx.trust != Trust::Own && !matches!(Target::of(ctx, base), Ok(Target::Inside { .. }));
    match leads_out {
        true => Err(ToolFailure::new(format!(
            "glob: {base}: give a base outside of the workspace as the second argument"
        ))),
        false => Ok(base.to_owned()),
    }
}

/// Everything before the first part with a sign in it is where the search begins.
fn split(pattern: &str) -> (String, String) {
    let parts: Vec<&str> = pattern.split('/').collect();
    let fixed = parts.iter().take_while(|part| !part.contains(['*', '?', '[', '{'])).count();
    let fixed = fixed.min(parts.len() - 1);
    let mut start = parts[..fixed].join("/");
    if start.is_empty() && fixed > 0 {
        start.push('/');
    }
    (start, parts[fixed..].join("/"))
}
