//! What scripts keep from run to run: a store for the project, and checkpoints for each script.
//!
//! Both are files of JSON in the project's `.harn`. Each change reads the file, changes it and puts it back as a whole,
//! under a lock that other processes see too; so every change may be made again.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use harn_core::tool::{Class, SideEffect};
use serde_json::{Map, Value, json};

use super::args::{self, Args};
use super::files::reach::{LARGEST, Target};
use super::files::{Flush, write_whole};
use super::simple::{Answer, Simple, Work};
use crate::tools::{Tool, ToolContext, ToolFailure};

pub fn calls() -> Vec<Arc<dyn Tool>> {
    vec![
        looks("store_get", "The value of a key in the store, or nil.", |ctx, args| get(&store(ctx), args)),
        looks("store_list", "The keys in the store.", |ctx, _| list(&store(ctx))),
        writes("store_set", "Puts a value into the store.", |ctx, args| set(&store(ctx), args)),
        writes("store_delete", "Removes a key from the store.", |ctx, args| remove(&store(ctx), args)),
        writes("store_clear", "Removes everything from the store.", |ctx, _| clear(&store(ctx))),
        writes("store_save", "Writes the store to disk.", |ctx, _| keep(&store(ctx))),
        looks("checkpoint_get", "What was kept under a key, or nil.", |ctx, args| {
            get(&checkpoints(ctx), args)
        }),
        looks("checkpoint_exists", "Whether something was kept under a key.", |ctx, args| {
            Ok(checkpoints(ctx).read()?.contains_key(&args::text(args, "key")).into())
        }),
        looks("checkpoint_list", "The keys under which something was kept.", |ctx, _| {
            list(&checkpoints(ctx))
        }),
        writes("checkpoint", "Keeps a value for the next run.", |ctx, args| set(&checkpoints(ctx), args)),
        writes("checkpoint_delete", "Forgets what was kept under a key.", |ctx, args| {
            remove(&checkpoints(ctx), args)
        }),
        writes("checkpoint_clear", "Forgets all that was kept.", |ctx, _| clear(&checkpoints(ctx))),
    ]
}

pub fn looks(name: &str, description: &str, work: Work) -> Arc<dyn Tool> {
    Simple::new(name, description, Class::Read, SideEffect::ReadOnly, work).call()
}

/// A change that may be made again.
pub fn writes(name: &str, description: &str, work: Work) -> Arc<dyn Tool> {
    Simple::new(name, description, Class::Read, SideEffect::WorkspaceWrite, work).call()
}

/// One file of JSON with an object in it.
pub struct Kept {
    file: PathBuf,
}

fn store(ctx: &ToolContext) -> Kept {
    Kept::at(ctx, Path::new("store.json"))
}

fn checkpoints(ctx: &ToolContext) -> Kept {
    let script = if ctx.place.script.is_empty() { "script" } else { &ctx.place.script };
    Kept::at(ctx, &Path::new("checkpoints").join(format!("{script}.json")))
}

impl Kept {
    pub fn at(ctx: &ToolContext, file: &Path) -> Self {
        Self { file: ctx.place.state().join(file) }
    }

    pub fn read(&self) -> Result<Map<String, Value>, ToolFailure> {
        let text = match Target::Anywhere(self.file.clone()).read_text() {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Map::new()),
            Err(error) => return Err(self.failed("read", &error)),
        };
        serde_json::from_str(&text).map_err(|error| self.failed("read", &error))
    }

    /// Changes it, alone among all who do.
    pub fn change(&self, change: impl FnOnce(&mut Map<String, Value>)) -> Result<(), ToolFailure> {
        let _alone = self.lock().map_err(|error| self.failed("lock", &error))?;
        let mut kept = self.read()?;
        change(&mut kept);
        self.put(&kept)
    }

    /// Empties it, also when nobody can read what is there.
    fn clear(&self) -> Result<(), ToolFailure> {
        if !self.file.exists() {
            return Ok(());
        }
        let _alone = self.lock().map_err(|error| self.failed("lock", &error))?;
        self.put(&Map::new())
    }

    fn put(&self, kept: &Map<String, Value>) -> Result<(), ToolFailure> {
        let mut text = serde_json::to_string_pretty(kept).map_err(|error| self.failed("write", &error))?;
        text.push('\n');
        if text.len() as u64 > LARGEST {
            return Err(self.failed("write", &"it would be too large"));
        }
        write_whole(&self.file, text.as_bytes(), Flush::Now).map_err(|error| self.failed("write", &error))
    }

    /// The lock is a file beside it: the file itself is replaced.
    fn lock(&self) -> io::Result<File> {
        if let Some(folder) = self.file.parent() {
            fs::create_dir_all(folder)?;
        }
        let lock = File::options().create(true).append(true).open(self.file.with_extension("lock"))?;
        lock.lock()?;
        Ok(lock)
    }

    fn failed(&self, what: &str, error: &dyn std::fmt::Display) -> ToolFailure {
        ToolFailure::new(format!("Failed to {what} {}: {error}", self.file.display()))
    }
}

fn get(kept: &Kept, args: &Args) -> Answer {
    Ok(kept.read()?.remove(&args::text(args, "key")).unwrap_or_default())
}

fn list(kept: &Kept) -> Answer {
    let mut keys: Vec<String> = kept.read()?.keys().cloned().collect();
    keys.sort_unstable();
    Ok(json!(keys))
}

fn set(kept: &Kept, args: &Args) -> Answer {
    let value = args.get("value").cloned().unwrap_or_default();
    kept.change(|all| {
        all.insert(args::text(args, "key"), value);
    })?;
    Ok(Value::Null)
}

fn remove(kept: &Kept, args: &Args) -> Answer {
    let key = args::text(args, "key");
    if kept.read()?.contains_key(&key) {
        kept.change(|all| {
            all.remove(&key);
        })?;
    }
    Ok(Value::Null)
}

fn clear(kept: &Kept) -> Answer {
    kept.clear()?;
    Ok(Value::Null)
}

/// Every change is on disk already; this makes sure that there is a file.
fn keep(kept: &Kept) -> Answer {
    kept.change(|_| ())?;
    Ok(Value::Null)
}
