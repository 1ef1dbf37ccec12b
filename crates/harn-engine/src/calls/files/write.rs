//! Calls that give a file new content: written as a whole or not at all, and where a journal is kept, in a way that
//! shows after a crash whether it happened.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use bytes::Bytes;
use harn_core::decision::Access;
use harn_core::run::{Trust, WritePlan};
use harn_core::tool::{Annotations, Class, SideEffect, ToolKind, ToolSpec};
use serde_json::{Map, Value, json};

use super::failed;
use super::reach::{Target, io_error};
use crate::calls::args::{self, Args};
use crate::tools::atomic::{Now, PreImage, hash};
use crate::tools::confined::{Confined, MAX_CONTENT, Refusal};
use crate::tools::{
    Prepared, PreparedWrite, Reconciled, Tool, ToolContext, ToolFailure, ToolOutput, in_workspace,
};

pub fn calls() -> Vec<Arc<dyn Tool>> {
    [Kind::Whole, Kind::Bytes, Kind::Append, Kind::Copy]
        .map(|kind| Arc::new(Write(kind)) as Arc<dyn Tool>)
        .into()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Whole,
    Bytes,
    Append,
    Copy,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Whole => "write_file",
            Self::Bytes => "write_file_bytes",
            Self::Append => "append_file",
            Self::Copy => "copy_file",
        }
    }

    fn description(self) -> &'static str {
        match self {
            Self::Whole => "Writes a file.",
            Self::Bytes => "Writes bytes to a file.",
            Self::Append => "Writes at the end of a file.",
            Self::Copy => "Copies a file.",
        }
    }

    /// The argument that names the file to be written.
    fn path(self) -> &'static str {
        if self == Self::Copy { "dst" } else { "path" }
    }

    /// For `Failed to ... P: why`.
    fn verb(self) -> &'static str {
        match self {
            Self::Whole | Self::Bytes => "write file",
            Self::Append => "append to file",
            Self::Copy => "copy file",
        }
    }

    /// The files that an error is about.
    fn about(self, args: &Args, path: &str) -> String {
        match self {
            Self::Copy => format!("{} to {path}", args::word(args, "src")),
            _ => path.to_owned(),
        }
    }

    /// Nothing that is written by mistake is written at all.
    fn check(self, args: &Args) -> Result<(), ToolFailure> {
        let given = |name| args.get(name).unwrap_or(&Value::Null);
        let fail = |why: String| Err(ToolFailure::new(format!("{}: {why}", self.name())));
        match self {
            Self::Copy => args::path(self.name(), args, "src").map(|_| ()),
            Self::Bytes if args::bytes_of(given("bytes")).is_none() => {
                let kind = crate::script::decode(given("bytes")).type_name();
                fail(format!("bytes must be bytes, not {kind}"))
            }
            Self::Whole | Self::Append if given("content").is_null() => {
                fail("content is required".to_owned())
            }
            Self::Whole | Self::Append | Self::Bytes => Ok(()),
        }
    }
}

struct Write(Kind);

#[async_trait]
impl Tool for Write {
    fn spec(&self) -> ToolSpec {
        let mut paths = vec![(self.0.path().to_owned(), Access::Write)];
        if self.0 == Kind::Copy {
            paths.push(("src".to_owned(), Access::Read));
        }
        ToolSpec {
            name: self.0.name().to_owned(),
            description: self.0.description().to_owned(),
            input_schema: json!({ "type": "object" }),
            output_schema: Value::Null,
            class: Class::Checkable,
            side_effect: SideEffect::WorkspaceWrite,
            annotations: Annotations {
                kind: ToolKind::Edit,
                paths,
                capabilities: vec!["workspace.write_text".to_owned()],
                ..Annotations::default()
            },
        }
    }

    async fn prepare(&self, ctx: &ToolContext, args: &Args) -> Result<Prepared, ToolFailure> {
        let (kind, ctx, args) = (self.0, ctx.clone(), args.clone());
        blocking(move || kind.plan(&ctx, &args)).await
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        prepared: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let (kind, ctx, args) = (self.0, ctx.clone(), args.clone());
        blocking(move || kind.write(&ctx, &args, prepared)).await?;
        Ok(Value::Null.into())
    }

    async fn reconcile(&self, ctx: &ToolContext, plan: &WritePlan) -> Reconciled {
        let plan = plan.clone();
        let now = in_workspace(ctx, move |workspace| Ok(workspace.compare(&plan)?)).await;
        match now {
            Ok(Now::AsAfter { .. }) => Reconciled::Done(Value::Null),
            Ok(Now::AsBefore) => Reconciled::NotDone,
            Ok(Now::Different) | Err(_) => Reconciled::Unknown,
        }
    }
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, ToolFailure> + Send + 'static,
) -> Result<T, ToolFailure> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(ToolFailure::new("The file work was stopped before it was done. Try again.")))
}

impl Kind {
    /// What will be written where, if that is below the root and has to be known. An own script may also do what
    /// cannot be planned: then nobody knows after a crash whether it was done.
    fn plan(self, ctx: &ToolContext, args: &Args) -> Result<Prepared, ToolFailure> {
        let path = args::path(self.name(), args, self.path())?;
        self.check(args)?;
        let about = self.about(args, path);
        let failed = failed(self.verb(), &about);
        let found = match Target::planned(ctx, path) {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(Prepared::Ready),
            Err(_) if ctx.trust == Trust::Own => return Ok(Prepared::Ready),
            Err(error) => return Err(failed(error)),
        };
        match self.plan_inside(ctx, args, found) {
            Ok(write) => Ok(Prepared::Write(write)),
            Err(_) if ctx.trust == Trust::Own => Ok(Prepared::Ready),
            Err(error) => Err(failed(error)),
        }
    }

    fn plan_inside(
        self,
        ctx: &ToolContext,
        args: &Args,
        (workspace, path): (Confined, String),
    ) -> io::Result<PreparedWrite> {
        let PreImage { path, bytes: pre_image, mode, new_folders } =
            workspace.pre_image(&path).map_err(io_error)?;
        if !new_folders.is_empty() {
            return Err(io::Error::from_raw_os_error(nix::libc::ENOENT));
        }
        let mut content = self.content(ctx, args)?;
        if let (Kind::Append, Some(before)) = (self, &pre_image) {
            content.splice(0..0, before.iter().copied());
        }
        if content.len() as u64 > MAX_CONTENT {
            return Err(io_error(Refusal::TooLarge { path, limit: MAX_CONTENT, unit: "bytes" }));
        }
        let before = pre_image.as_deref().map(hash);
        let plan = WritePlan { path, before, after: hash(&content), mode, new_folders };
        Ok(PreparedWrite { plan, pre_image, content: Bytes::from(content) })
    }

    fn content(self, ctx: &ToolContext, args: &Args) -> io::Result<Vec<u8>> {
        match self {
            Kind::Whole | Kind::Append => Ok(args::content(args, "content")),
            Kind::Bytes => Ok(args::content(args, "bytes")),
            Kind::Copy => Target::of(ctx, args["src"].as_str().unwrap_or_default())?.read(),
        }
    }

    fn write(self, ctx: &ToolContext, args: &Args, prepared: Prepared) -> Result<(), ToolFailure> {
        let path = args::path(self.name(), args, self.path())?;
        let written = match prepared {
            Prepared::Write(PreparedWrite { plan, content, .. }) => match &ctx.root {
                Some(root) => Confined::open(root)
                    .and_then(|workspace| workspace.carry_out(&plan, &content))
                    .map_err(io_error),
                None => Err(io::Error::other("this workspace has no files")),
            },
            _ => self.write_plainly(ctx, args, path),
        };
        written.map_err(failed(self.verb(), &self.about(args, path)))
    }

    fn write_plainly(self, ctx: &ToolContext, args: &Args, path: &str) -> io::Result<()> {
        let Target::Anywhere(path) = Target::of(ctx, path)? else {
            return Err(io::Error::other("the write was not planned, so nothing was written"));
        };
        let source = args.get("src").and_then(Value::as_str).unwrap_or_default();
        match self {
            Kind::Append => OpenOptions::new()
                .append(true)
                .create(true)
                .open(path)
                .and_then(|mut file| file.write_all(&self.content(ctx, args)?)),
            Kind::Copy => match Target::of(ctx, source)? {
                Target::Anywhere(source) => copy_whole(&source, &path, Flush::of(ctx)),
                inside => write_whole(&path, &inside.read()?, Flush::of(ctx)),
            },
            Kind::Whole | Kind::Bytes => write_whole(&path, &self.content(ctx, args)?, Flush::of(ctx)),
        }
    }
}

/// Whether a file is on the disk when its write is over.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Flush {
    Now,
    /// Nothing depends on it that would be known after a crash.
    Later,
}

impl Flush {
    fn of(ctx: &ToolContext) -> Self {
        if ctx.is_kept { Self::Now } else { Self::Later }
    }
}

/// Gives a file this content, or leaves it as it was.
pub fn write_whole(path: &Path, content: &[u8], flush: Flush) -> io::Result<()> {
    replace(path, flush, |file, _| file.write_all(content))
}

/// Gives a file the content and the permissions of another one, or leaves it as it was.
fn copy_whole(from: &Path, to: &Path, flush: Flush) -> io::Result<()> {
    let mut source = File::open(from)?;
    let facts = source.metadata()?;
    if facts.is_dir() {
        return Err(io::Error::from_raw_os_error(nix::libc::EISDIR));
    }
    replace(to, flush, |file, is_new| {
        io::copy(&mut source, file)?;
        if is_new { file.set_permissions(facts.permissions()) } else { Ok(()) }
    })
}

/// A link stays a link, a file keeps its permissions, and what is no file, such as a device, is written to. The work
/// is told whether there was no file before.
fn replace(
    path: &Path,
    flush: Flush,
    work: impl FnOnce(&mut File, bool) -> io::Result<()>,
) -> io::Result<()> {
    let path = match fs::symlink_metadata(path) {
        Ok(found) if found.is_symlink() => &*path.canonicalize()?,
        _ => path,
    };
    let before = fs::metadata(path).ok();
    if before.as_ref().is_some_and(|before| !before.is_file()) {
        return work(&mut OpenOptions::new().write(true).open(path)?, false);
    }
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let beside = path.with_file_name(format!(".harn-write-{}-{number}", std::process::id()));
    let written = File::create_new(&beside).and_then(|mut file| {
        if let Some(before) = &before {
            // A file that may not be written to is not replaced either.
            OpenOptions::new().write(true).open(path)?;
            file.set_permissions(before.permissions())?;
        }
        work(&mut file, before.is_none())?;
        if flush == Flush::Now {
            file.sync_all()?;
        }
        fs::rename(&beside, path)
    });
    if written.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::AlreadyExists) {
        // The first error says more than one of tidying up.
        let _ = fs::remove_file(&beside);
    }
    written
}
