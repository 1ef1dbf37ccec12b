//! Watching files and folders for changes, by looking again and again: that works on every file system, and a watcher
//! costs nothing while nobody waits for it.

use std::collections::{BTreeMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use harn_core::decision::Access;
use harn_core::tool::{Class, SideEffect, ToolKind};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

use super::args::{self, Args};
use super::files::reach::Target;
use super::files::{Seen, below};
use super::simple::{Answer, Simple, reads};
use crate::tools::{Tool, ToolContext, ToolFailure};

/// How long to wait between two looks, in milliseconds.
const INTERVAL: i64 = 200;
const SHORTEST: i64 = 20;
const LONGEST: i64 = 60_000;

/// What is not watched unless it is asked for by name.
const PASSED_OVER: [&str; 2] = [".git", ".harn"];

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let about = "The next change, or nil when the time is up.";
    vec![
        Simple::new("fs_watch", "Watches files and folders.", Class::Read, SideEffect::ReadOnly, open)
            .path("paths", Access::Read)
            .kind(ToolKind::Read)
            .call(),
        Simple::waiting("fs_watch_next", about, Class::Read, SideEffect::ReadOnly, next)
            .kind(ToolKind::Read)
            .call(),
        reads("fs_watch_close", "Stops watching.", |ctx, args| {
            Ok(ctx.open.close(&args::text(args, "handle")).into())
        }),
    ]
}

/// What a look at the watched paths showed.
type Picture = BTreeMap<String, (Option<SystemTime>, u64)>;

struct Watcher {
    paths: Vec<String>,
    is_recursive: bool,
    interval: Duration,
    state: Mutex<State>,
}

struct State {
    last: Picture,
    /// What has changed and nobody was told.
    untold: VecDeque<Value>,
}

fn open(ctx: &ToolContext, args: &Args) -> Answer {
    let paths = match args.get("paths") {
        Some(Value::String(path)) => vec![path.clone()],
        Some(Value::Array(paths)) => paths.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    if paths.is_empty() {
        return Err(ToolFailure::new("fs_watch: paths must be a path or a list of paths"));
    }
    let option = |name| args::option(args, &["options"], name);
    let interval = args::number(option("interval_ms")).unwrap_or(INTERVAL).clamp(SHORTEST, LONGEST);
    let is_recursive = option("recursive") != Some(&Value::Bool(false));
    let last = look(ctx, &paths, is_recursive)?;
    let watcher = Watcher {
        paths,
        is_recursive,
        interval: Duration::from_millis(interval.unsigned_abs()),
        state: Mutex::new(State { last, untold: VecDeque::new() }),
    };
    // Never that of another watcher, also not of one from before a restart.
    let handle = format!("watch-{:016x}", rand::random::<u64>());
    ctx.open.put(handle.clone(), watcher);
    Ok(handle.into())
}

/// A path that is not there yet is watched for its coming.
fn look(ctx: &ToolContext, paths: &[String], is_recursive: bool) -> Result<Picture, ToolFailure> {
    let mut picture = Picture::new();
    for path in paths {
        let failed = |error: std::io::Error| ToolFailure::new(format!("fs_watch: {path}: {error}"));
        let target = Target::of(ctx, path).map_err(failed)?;
        let Ok(facts) = target.facts() else { continue };
        if !facts.is_dir() {
            picture.insert(path.clone(), (facts.modified().ok(), facts.len()));
            continue;
        }
        let depth = if is_recursive { None } else { Some(1) };
        let shown = Seen::by(ctx, "fs_watch", path);
        let Ok(found) = target.folder().and_then(|folder| below(folder, depth, &shown)) else { continue };
        let seen =
            found.into_iter().filter(|found| !found.path.split('/').any(|name| PASSED_OVER.contains(&name)));
        for found in seen {
            let is_file = found.facts.is_file();
            // The time of a folder changes with what is in it, and that is told already.
            let modified = found.facts.modified().ok().map(|time| time.into_std()).filter(|_| is_file);
            let whole: PathBuf = Path::new(path).join(&found.path).components().collect();
            let size = if is_file { found.facts.len() } else { 0 };
            picture.insert(whole.display().to_string(), (modified, size));
        }
    }
    Ok(picture)
}

impl Watcher {
    /// The next change, if there is one now.
    fn next(&self, ctx: &ToolContext) -> Result<Option<Value>, ToolFailure> {
        let mut state = self.state.lock();
        if state.untold.is_empty() {
            let now = look(ctx, &self.paths, self.is_recursive)?;
            let changes = differences(&state.last, &now);
            state.untold.extend(changes);
            state.last = now;
        }
        Ok(state.untold.pop_front())
    }
}

fn differences(before: &Picture, now: &Picture) -> Vec<Value> {
    let gone = before.keys().filter(|path| !now.contains_key(*path)).map(|path| ("removed", path));
    let come = now.iter().filter_map(|(path, facts)| match before.get(path) {
        None => Some(("created", path)),
        Some(earlier) if earlier != facts => Some(("modified", path)),
        Some(_) => None,
    });
    gone.chain(come).map(|(kind, path)| json!({ "kind": kind, "path": path })).collect()
}

async fn next(ctx: ToolContext, args: Args) -> Answer {
    let handle = args::text(&args, "handle");
    let timeout = args::number(args.get("timeout_ms")).map(|ms| u64::try_from(ms).unwrap_or(0));
    let until = timeout.and_then(|ms| Instant::now().checked_add(Duration::from_millis(ms)));
    loop {
        // Asked for each time, so that closing it ends the waiting.
        let watcher = ctx.open.get::<Watcher>(&handle)?;
        let (looker, looking) = (Arc::clone(&watcher), ctx.clone());
        let looked = tokio::task::spawn_blocking(move || looker.next(&looking)).await;
        let stopped = || ToolFailure::new("fs_watch_next: it was stopped before its end");
        if let Some(change) = looked.map_err(|_| stopped())?? {
            return Ok(change);
        }
        let next = Instant::now() + watcher.interval;
        match until {
            Some(until) if until <= Instant::now() => return Ok(Value::Null),
            until => sleep_until(until.map_or(next, |until| until.min(next))).await,
        }
    }
}
