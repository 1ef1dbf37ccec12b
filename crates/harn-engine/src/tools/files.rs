//! The tools that read, list and write files of the workspace.

use async_trait::async_trait;
use harn_core::decision::Access;
use harn_core::run::WritePlan;
use harn_core::tool::{Class, SideEffect, ToolKind, ToolSpec};
use serde_json::{Map, Value, json};

use super::args::Args;
use super::atomic::{Now, PreImage, hash};
use super::confined::{Confined, LastLink, MAX_CONTENT, Refusal, Spot, is_closed, read_whole, wrong_kind};
use super::diff::unified;
use super::options::flag;
use super::shown::show_medium;
use super::text::{Cut, MAX_SHOWN, ShowError, Shown, Window, show, with_line_numbers};
use super::{
    Prepared, PreparedWrite, Reconciled, Tool, ToolContext, ToolFailure, ToolOutput, object_schema, on_path,
};

const MAX_ENTRIES: usize = 1000;

impl From<Refusal> for ToolFailure {
    fn from(refusal: Refusal) -> Self {
        Self::new(refusal.to_string())
    }
}

/// Shows a text file, or some of its lines, or an image or a PDF.
pub struct ReadFile;

#[async_trait]
impl Tool for ReadFile {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "read_file".into(),
            description:
                "Reads a UTF-8 text file of the workspace. At most 1 MiB is shown at once; use offset and \
                          limit for the rest. Also shows you a PNG, JPEG, GIF or WebP image (at most 5 MiB) or a PDF \
                          (at most 20 MiB)."
                    .into(),
            input_schema: object_schema(
                json!({
                    "path": { "type": "string", "description": "Relative to the workspace root." },
                    "offset": { "type": "integer", "minimum": 1, "description": "First line to show, from 1." },
                    "limit": { "type": "integer", "minimum": 1, "description": "How many lines to show." },
                    "line_numbers": { "type": "boolean", "description": "Whether each line begins with its number and a tab, which are not in the file; false unless given." },
                }),
                &["path"],
            ),
            output_schema: object_schema(
                json!({
                    "path": { "type": "string" },
                    "content": { "type": "string" },
                    "truncated": { "type": "string", "description": "What was left out, if anything was." },
                }),
                &["path", "content"],
            ),
            class: Class::Read,
            side_effect: SideEffect::ReadOnly,
            annotations: on_path(ToolKind::Read, Access::Read, "workspace.read_text"),
        }
    }

    async fn prepare(&self, _ctx: &ToolContext, args: &Map<String, Value>) -> Result<Prepared, ToolFailure> {
        read_args(args).map(|_| Prepared::Ready)
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        _prepared: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let (path, window, numbers) = read_args(args)?;
        let path = path.to_owned();
        in_workspace(ctx, move |workspace| read(workspace, &path, window, numbers)).await
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Shown,
    Omitted,
}

fn read_args(given: &Map<String, Value>) -> Result<(&str, Window, Numbers), ToolFailure> {
    let args = Args::check("read_file", given, &["path", "offset", "limit", "line_numbers"])?;
    let first = args.optional_integer("offset", 1..=u64::MAX)?.unwrap_or(1);
    let lines = args.optional_integer("limit", 1..=u64::MAX)?.unwrap_or(u64::MAX);
    let numbers = if flag("read_file", given, "line_numbers")? { Numbers::Shown } else { Numbers::Omitted };
    Ok((args.text("path")?, Window { first, lines }, numbers))
}

fn read(
    workspace: &Confined,
    path: &str,
    window: Window,
    numbers: Numbers,
) -> Result<ToolOutput, ToolFailure> {
    let (path, mut file) = workspace.open_file(path)?;
    if let Some(output) = show_medium(&path, &mut file)? {
        return Ok(output);
    }
    let size = file.metadata().map_err(Refusal::io(&path))?.len();
    let shown = show(file, window, MAX_SHOWN).map_err(|error| match error {
        ShowError::NotText => Refusal::NotText { path: path.clone() }.into(),
        ShowError::Io(error) => Refusal::io(&path)(error).into(),
        ShowError::PastEnd { lines } => ToolFailure::new(format!(
            "`{path}` has only {lines} lines, so nothing starts at line {}. Use a smaller offset.",
            window.first
        )),
    })?;
    let Shown { text, cut } = match numbers {
        Numbers::Shown => with_line_numbers(shown, window.first, MAX_SHOWN),
        Numbers::Omitted => shown,
    };
    let mut output = json!({ "path": path, "content": text });
    if let Some(cut) = cut {
        output["truncated"] = cut_note(&cut, window, size).into();
    }
    Ok(output.into())
}

fn cut_note(cut: &Cut, window: Window, size: u64) -> String {
    let first = window.first;
    match cut {
        Cut::BeforeLine { next } => format!(
            "Shown are lines {first} to {} of a file of {size} bytes. Continue with offset {next}.",
            next - 1
        ),
        Cut::WithinLine { line } => format!(
            "Line {line} of a file of {size} bytes is longer than {MAX_SHOWN} bytes; only its beginning is shown. \
             The next line is at offset {}.",
            line + 1
        ),
    }
}

/// Shows what is in a folder.
pub struct ListDir;

#[async_trait]
impl Tool for ListDir {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "list_dir".into(),
            description: "Lists a folder of the workspace, sorted by name, at most 1000 entries.".into(),
            input_schema: object_schema(
                json!({
                    "path": { "type": "string", "description": "Relative to the workspace root, which is the default." },
                }),
                &[],
            ),
            output_schema: object_schema(
                json!({
                    "path": { "type": "string" },
                    "entries": { "type": "array", "items": object_schema(
                        json!({
                            "name": { "type": "string" },
                            "kind": { "enum": ["file", "directory", "symlink", "other"] },
                            "size": { "type": "integer", "description": "Bytes of a file, else 0." },
                        }),
                        &["name", "kind", "size"],
                    ) },
                    "truncated": { "type": "string", "description": "What was left out, if anything was." },
                }),
                &["path", "entries"],
            ),
            class: Class::Read,
            side_effect: SideEffect::ReadOnly,
            annotations: on_path(ToolKind::Read, Access::Read, "workspace.list"),
        }
    }

    async fn prepare(&self, _ctx: &ToolContext, args: &Map<String, Value>) -> Result<Prepared, ToolFailure> {
        list_args(args).map(|_| Prepared::Ready)
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        _prepared: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let path = list_args(args)?.to_owned();
        in_workspace(ctx, move |workspace| list(workspace, &path)).await.map(ToolOutput::from)
    }
}

fn list_args(args: &Map<String, Value>) -> Result<&str, ToolFailure> {
    Ok(Args::check("list_dir", args, &["path"])?.optional_text("path")?.unwrap_or("."))
}

fn list(workspace: &Confined, path: &str) -> Result<Value, ToolFailure> {
    let listing = workspace.list(path, MAX_ENTRIES)?;
    let entries = listing.entries.iter().map(|entry| {
        let kind = match entry.kind {
            EntryKind::File => "file",
            EntryKind::Directory => "directory",
            EntryKind::Symlink => "symlink",
            EntryKind::Other => "other",
        };
        json!({ "name": entry.name, "kind": kind, "size": entry.size })
    });
    let mut output = json!({ "path": listing.path, "entries": entries.collect::<Vec<_>>() });
    if listing.total > listing.entries.len() {
        output["truncated"] =
            format!("Shown are the first {} of {} entries.", listing.entries.len(), listing.total).into();
    }
    Ok(output)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Directory,
    Symlink,
    Other,
}

pub(super) struct Listed {
    pub(super) name: String,
    pub(super) kind: EntryKind,
    pub(super) size: u64,
}

/// The first entries of a folder by name, and how many there are in all.
pub(super) struct Listing {
    pub(super) path: String,
    pub(super) entries: Vec<Listed>,
    pub(super) total: usize,
}

impl Confined {
    /// Lists a folder, in memory bounded by `max` entries.
    pub(super) fn list(&self, path: &str, max: usize) -> Result<Listing, Refusal> {
        let place = self.resolve(path, LastLink::Follow)?;
        let (path, dir) = match place.spot {
            Spot::Directory(dir) => (place.path, dir),
            Spot::Entry { .. } => return Err(wrong_kind(&place.path, "a file", "a folder")),
            Spot::Missing { .. } => return Err(Refusal::NotFound { path: place.path }),
        };
        let mut names = std::collections::BTreeSet::new();
        let mut total = 0;
        for entry in dir.entries().map_err(Refusal::io(&path))? {
            let name = entry.map_err(Refusal::io(&path))?.file_name();
            if name.to_str().is_some_and(is_closed) {
                continue;
            }
            total += 1;
            names.insert(name);
            if names.len() > max {
                names.pop_last();
            }
        }
        // An entry that has vanished since is simply no longer there.
        let entries = names.into_iter().filter_map(|name| {
            let found = dir.symlink_metadata(&name).ok()?;
            let (kind, size) = match found.file_type() {
                kind if kind.is_file() => (EntryKind::File, found.len()),
                kind if kind.is_dir() => (EntryKind::Directory, 0),
                kind if kind.is_symlink() => (EntryKind::Symlink, 0),
                _ => (EntryKind::Other, 0),
            };
            Some(Listed { name: name.to_string_lossy().into_owned(), kind, size })
        });
        Ok(Listing { path, entries: entries.collect(), total })
    }
}

/// Creates a file or replaces all of it.
///
/// A symbolic link in the last place of the path is refused, with the name of its target: policy, approval and
/// receipt are about the path that was asked for, so that path must be the file that changes.
pub struct WriteFile;

#[async_trait]
impl Tool for WriteFile {
    fn spec(&self) -> ToolSpec {
        write_spec(
            "write_file",
            "Creates a file of the workspace, with its folders, or replaces its whole content; use edit_file for \
             smaller changes. At most 8 MiB. The result has a diff, of which at most 16 KiB are shown.",
            json!({
                "path": { "type": "string", "description": "Relative to the workspace root." },
                "content": { "type": "string", "description": "The whole new content." },
            }),
            &["path", "content"],
        )
    }

    async fn prepare(&self, ctx: &ToolContext, args: &Map<String, Value>) -> Result<Prepared, ToolFailure> {
        let args = Args::check("write_file", args, &["path", "content"])?;
        let (path, content) = (args.text("path")?.to_owned(), args.text("content")?.to_owned());
        let plan = move |workspace: &Confined| Ok(plan_whole(workspace, &path, content)?);
        in_workspace(ctx, plan).await.map(Prepared::Write)
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        _args: &Map<String, Value>,
        prepared: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        perform_write(ctx, prepared).await.map(ToolOutput::from)
    }

    async fn reconcile(&self, ctx: &ToolContext, plan: &WritePlan) -> Reconciled {
        reconcile_write(ctx, plan).await
    }
}

pub(super) fn write_spec(name: &str, description: &str, properties: Value, required: &[&str]) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        input_schema: object_schema(properties, required),
        output_schema: object_schema(
            json!({
                "path": { "type": "string" },
                "bytes": { "type": "integer" },
                "before_sha256": { "type": ["string", "null"] },
                "after_sha256": { "type": "string" },
                "diff": { "type": ["string", "null"], "description": "What changed, as a unified diff; empty when nothing did." },
                "diff_note": { "type": "string", "description": "Why there is no diff, or how much of it is left out." },
            }),
            &["path", "bytes", "before_sha256", "after_sha256", "diff"],
        ),
        class: Class::Checkable,
        side_effect: SideEffect::WorkspaceWrite,
        annotations: on_path(ToolKind::Edit, Access::Write, "workspace.write_text"),
    }
}

/// Plans to give a file this content.
pub(super) fn plan_whole(
    workspace: &Confined,
    path: &str,
    content: String,
) -> Result<PreparedWrite, Refusal> {
    let PreImage { path, bytes: pre_image, mode, new_folders } = workspace.pre_image(path)?;
    if content.len() as u64 > MAX_CONTENT {
        return Err(Refusal::TooLarge { path, limit: MAX_CONTENT, unit: "bytes" });
    }
    let before = pre_image.as_deref().map(hash);
    let plan = WritePlan { path, before, after: hash(content.as_bytes()), mode, new_folders };
    Ok(PreparedWrite { plan, pre_image, content: content.into() })
}

pub(super) async fn perform_write(ctx: &ToolContext, prepared: Prepared) -> Result<Value, ToolFailure> {
    let Prepared::Write(PreparedWrite { plan, pre_image, content }) = prepared else {
        return Err(ToolFailure::new(
            "The write was not planned, so nothing was written. Call the tool again.",
        ));
    };
    in_workspace(ctx, move |workspace| {
        workspace.carry_out(&plan, &content)?;
        let mut output = write_output(&plan, content.len() as u64);
        add_diff(&mut output, &plan.path, pre_image.as_deref(), &content);
        Ok(output)
    })
    .await
}

pub(super) async fn reconcile_write(ctx: &ToolContext, plan: &WritePlan) -> Reconciled {
    let plan = plan.clone();
    let reconciled = in_workspace(ctx, move |workspace| {
        Ok(match workspace.compare(&plan)? {
            Now::AsAfter { bytes } => Reconciled::Done(found_done(workspace, &plan, bytes)?),
            Now::AsBefore => Reconciled::NotDone,
            Now::Different => Reconciled::Unknown,
        })
    });
    reconciled.await.unwrap_or(Reconciled::Unknown)
}

/// The output of a write whose pre-image is gone. For a new file none is needed, so the diff is there as well.
fn found_done(workspace: &Confined, plan: &WritePlan, bytes: u64) -> Result<Value, ToolFailure> {
    let mut output = write_output(plan, bytes);
    if plan.before.is_some() {
        output["diff_note"] = "The write was found done after a restart, so there is no diff.".into();
        return Ok(output);
    }
    let (path, file) = workspace.open_file(&plan.path)?;
    let content = read_whole(file, &path, MAX_CONTENT)?;
    if hash(&content) != plan.after {
        return Err(Refusal::Stale { path }.into());
    }
    add_diff(&mut output, &path, None, &content);
    Ok(output)
}

fn write_output(plan: &WritePlan, bytes: u64) -> Value {
    json!({
        "path": plan.path,
        "bytes": bytes,
        "before_sha256": plan.before,
        "after_sha256": plan.after,
        "diff": null,
    })
}

fn add_diff(output: &mut Value, path: &str, before: Option<&[u8]>, after: &[u8]) {
    let (Ok(before), Ok(after)) = (before.map(str::from_utf8).transpose(), str::from_utf8(after)) else {
        output["diff_note"] = "There is no diff, because the file was or is not UTF-8 text.".into();
        return;
    };
    let diff = unified(path, before, after);
    if let Some(note) = diff.note() {
        output["diff_note"] = note.into();
    }
    output["diff"] = diff.text.into();
}

/// Does file work on a thread that may block.
pub(crate) async fn in_workspace<T: Send + 'static>(
    ctx: &ToolContext,
    work: impl FnOnce(&Confined) -> Result<T, ToolFailure> + Send + 'static,
) -> Result<T, ToolFailure> {
    let root = ctx.root.clone().ok_or_else(|| {
        ToolFailure::new(
            "This workspace has no files, so file tools cannot be used in it. Go on without them.",
        )
    })?;
    tokio::task::spawn_blocking(move || work(&Confined::open(&root)?))
        .await
        .map_err(|_| ToolFailure::new("The file work was stopped before it was done. Try again."))?
}
