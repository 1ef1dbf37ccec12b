//! Calls that change what is where: made, removed and moved.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use harn_core::decision::Access;
use harn_core::run::Trust;
use harn_core::tool::{Class, SideEffect, ToolKind, ToolSpec};
use serde_json::Value;

use super::find::{Seen, below};
use super::reach::{Entry, Target, io_error};
use super::{Answer, failed};
use crate::calls::args::{self, Args};
use crate::calls::simple::Simple;
use crate::tools::confined::{Confined, LastLink, Spot, is_closed};
use crate::tools::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput, stash};

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let writes = |name, description, class, work| {
        Simple::new(name, description, class, SideEffect::WorkspaceWrite, work)
    };
    vec![
        // It may be repeated: a folder that is there already is no error.
        writes("mkdir", "Makes a folder and those that it is in.", Class::Read, mkdir)
            .path("path", Access::Write)
            .kind(ToolKind::Edit)
            .call(),
        Watched::call(
            writes("delete_file", "Removes a file, or a folder with all that is in it.", Class::Once, delete)
                .path("path", Access::Write)
                .kind(ToolKind::Delete),
        ),
        Watched::call(
            writes("move_file", "Moves a file to another path.", Class::Once, rename)
                .path("src", Access::Write)
                .path("dst", Access::Write)
                .kind(ToolKind::Move),
        ),
    ]
}

/// A call before which the workspace is stashed, where others than its owner have it changed: so it can be undone.
struct Watched(Simple);

impl Watched {
    fn call(simple: Simple) -> Arc<dyn Tool> {
        Arc::new(Self(simple))
    }
}

#[async_trait]
impl Tool for Watched {
    fn spec(&self) -> ToolSpec {
        self.0.spec()
    }

    async fn prepare(&self, ctx: &ToolContext, args: &Args) -> Result<Prepared, ToolFailure> {
        match ctx.is_kept && ctx.trust == Trust::Judged && ctx.root.is_some() {
            true => stash::take(ctx).await.map(Prepared::Stashed),
            false => self.0.prepare(ctx, args).await,
        }
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Args,
        prepared: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let mut output = self.0.perform(ctx, args, Prepared::Ready).await?;
        if let Prepared::Stashed(before) = &prepared {
            output.changes = stash::changes(ctx, before).await;
        }
        Ok(output)
    }
}

fn mkdir(ctx: &ToolContext, args: &Args) -> Answer {
    let path = args::path("mkdir", args, "path")?;
    let made = Target::of(ctx, path).and_then(|target| match target {
        Target::Anywhere(path) => fs::create_dir_all(path),
        Target::Inside { workspace, path } => make_inside(&workspace, &path),
    });
    made.map(|()| Value::Null).map_err(failed("create directory", path))
}

fn make_inside(workspace: &Confined, path: &str) -> io::Result<()> {
    match workspace.resolve(path, LastLink::Follow).map_err(io_error)?.spot {
        Spot::Directory(_) => Ok(()),
        Spot::Entry { .. } => Err(io::Error::from_raw_os_error(nix::libc::EEXIST)),
        Spot::Missing { parent, names } => {
            let made = names.iter().try_fold(parent, |parent, name| {
                match parent.create_dir(name) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    _ => {}
                }
                parent.open_dir_nofollow(name)
            });
            made.map(|_| ())
        }
    }
}

fn delete(ctx: &ToolContext, args: &Args) -> Answer {
    let path = args::path("delete_file", args, "path")?;
    let deleted = Entry::of(ctx, path).and_then(|Entry { folder, name }| {
        match folder.symlink_metadata(&name)?.is_dir() {
            true => {
                must_be_open(ctx, &folder, name.as_ref())?;
                folder.remove_dir_all(&name)
            }
            false => folder.remove_file(&name),
        }
    });
    deleted.map(|()| Value::Null).map_err(failed("delete file", path))
}

/// A folder with something in it that belongs to the harness stays where it is, unless its owner wants it otherwise.
fn must_be_open(ctx: &ToolContext, folder: &Dir, name: &Path) -> io::Result<()> {
    if ctx.trust == Trust::Own {
        return Ok(());
    }
    let inner = below(folder.open_dir_nofollow(name)?, None, &Seen::default())?;
    match inner.iter().any(|found| found.path.split('/').any(is_closed)) {
        true => Err(io::Error::other("`.harn` is in it, which belongs to the harness and is closed")),
        false => Ok(()),
    }
}

fn rename(ctx: &ToolContext, args: &Args) -> Answer {
    let (from, to) = (args::path("move_file", args, "src")?, args::path("move_file", args, "dst")?);
    let moved = Entry::of(ctx, from).and_then(|source| {
        if source.folder.symlink_metadata(&source.name)?.is_dir() {
            must_be_open(ctx, &source.folder, source.name.as_ref())?;
        }
        let goal = Entry::of(ctx, to)?;
        match source.folder.rename(&source.name, &goal.folder, &goal.name) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => move_over(&source, &goal),
            moved => moved,
        }
    });
    moved.map(|()| Value::Null).map_err(failed(&format!("move file {from} to"), to))
}

/// To another file system a file is copied; it disappears from the old one only when it is whole on the new one.
fn move_over(source: &Entry, goal: &Entry) -> io::Result<()> {
    source.folder.copy(&source.name, &goal.folder, &goal.name)?;
    source.folder.remove_file(&source.name)
}
