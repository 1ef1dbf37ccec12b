//! The tool that finds files by name.

use std::ops::ControlFlow;

use async_trait::async_trait;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use harn_core::decision::Access;
use harn_core::tool::{Class, SideEffect, ToolKind, ToolSpec};
use serde_json::{Map, Value, json};

use super::args::Args;
use super::confined::{Confined, Spot, wrong_kind};
use super::files::in_workspace;
use super::options::flag;
use super::walk::{Bounds, Found, Hidden, Over, begin, walk};
use super::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput, object_schema, on_path};

const DEFAULT_LIMIT: u64 = 200;
const MAX_LIMIT: u64 = 1000;

/// Globs nest, and the nesting of a longer one could exhaust the stack.
const MAX_GLOB: usize = 1000;

/// The most bytes of results in one answer of a search tool.
pub(super) const MAX_RESULTS: usize = 256 * 1024;

/// Finds files by a pattern for their paths.
pub struct Glob;

#[async_trait]
impl Tool for Glob {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "glob".into(),
            description: "Finds files of the workspace by name, such as `**/*.rs` or `src/**/{a,b}*.ts`; use it \
                          when you know what a file is called but not where it is. Results are sorted by path; \
                          what .gitignore and .ignore name is left out, links are not followed, and `.git` is \
                          never searched. At most 1000 paths are shown and 200,000 entries visited."
                .into(),
            input_schema: object_schema(
                json!({
                    "pattern": { "type": "string", "description": "A glob for paths below `path`. `*` stays within a folder, `**` does not." },
                    "path": { "type": "string", "description": "The folder to search, relative to the workspace root, which is the default." },
                    "limit": { "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "description": "How many paths to show; 200 unless given." },
                    "hidden": { "type": "boolean", "description": "Whether names that begin with a dot are seen; false unless given." },
                }),
                &["pattern"],
            ),
            output_schema: object_schema(
                json!({
                    "path": { "type": "string", "description": "The folder that was searched." },
                    "files": { "type": "array", "items": { "type": "string" }, "description": "Relative to the workspace root." },
                    "truncated": { "type": "string", "description": "What was left out, if anything was." },
                    "skipped": { "type": "string", "description": "What could not be searched, if anything." },
                }),
                &["path", "files"],
            ),
            class: Class::Read,
            side_effect: SideEffect::ReadOnly,
            annotations: on_path(ToolKind::Search, Access::Read, "workspace.search"),
        }
    }

    async fn prepare(&self, _ctx: &ToolContext, args: &Map<String, Value>) -> Result<Prepared, ToolFailure> {
        Search::from_args(args).map(|_| Prepared::Ready)
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        _prepared: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let search = Search::from_args(args)?;
        let stop = ctx.cancel.child_token();
        // A call that nobody waits for any more does not go on searching.
        let _stops = stop.clone().drop_guard();
        let bounds = Bounds::new(stop);
        in_workspace(ctx, move |workspace| search.run(workspace, &bounds)).await.map(ToolOutput::from)
    }
}

struct Search {
    pattern: GlobSet,
    path: String,
    limit: usize,
    hidden: Hidden,
}

impl Search {
    fn from_args(given: &Map<String, Value>) -> Result<Self, ToolFailure> {
        let args = Args::check("glob", given, &["pattern", "path", "limit", "hidden"])?;
        Ok(Self {
            pattern: parse_glob(args.text("pattern")?)?,
            path: args.optional_text("path")?.unwrap_or(".").to_owned(),
            limit: args.optional_integer("limit", 1..=MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT) as usize,
            hidden: flag("glob", given, "hidden")?.into(),
        })
    }

    fn run(&self, workspace: &Confined, bounds: &Bounds) -> Result<Value, ToolFailure> {
        let place = begin(workspace, &self.path)?;
        let Spot::Directory(dir) = place.spot else {
            return Err(wrong_kind(&place.path, "a file", "a folder").into());
        };
        let (mut files, mut bytes, mut total) = (Vec::new(), 0, 0);
        let visit = |found: &Found<'_>| {
            if self.pattern.is_match(found.below) {
                total += 1;
                bytes += found.path.len();
                if files.len() < self.limit && bytes <= MAX_RESULTS {
                    files.push(found.path.to_owned());
                }
            }
            ControlFlow::Continue(())
        };
        let walked = walk(workspace, (&place.path, dir), self.hidden, bounds, visit);
        if walked.over == Some(Over::Cancelled) {
            return Err(stopped());
        }
        let mut cut = Vec::new();
        if total > files.len() {
            let least = if walked.over.is_some() { "at least " } else { "" };
            cut.push(format!("Shown are the first {} of {least}{total} files.", files.len()));
        }
        cut.extend(walked.cut_short());
        let mut output = json!({ "path": place.path, "files": files });
        add_notes(&mut output, &cut, &walked.skipped());
        Ok(output)
    }
}

/// A glob in which `*` stays within a folder.
pub(super) fn parse_glob(glob: &str) -> Result<GlobSet, ToolFailure> {
    let wrong = |why: String| {
        let shown: String = glob.chars().take(200).collect();
        ToolFailure::new(format!(
            "`{shown}` is not a usable glob: {why}. Use `*`, `**`, `?`, `[a-z]` and `{{a,b}}`, and `\\` before a \
             character that is meant as it stands."
        ))
    };
    match glob.len() {
        0 => return Err(wrong("it is empty".into())),
        1..=MAX_GLOB => {}
        _ => return Err(wrong(format!("it is longer than {MAX_GLOB} bytes"))),
    }
    let parsed = GlobBuilder::new(glob.strip_prefix("./").unwrap_or(glob))
        .literal_separator(true)
        .backslash_escape(true)
        .empty_alternates(true)
        .build()
        .map_err(|error| wrong(error.kind().to_string()))?;
    // A set, because a single glob panics when it cannot be compiled.
    GlobSetBuilder::new().add(parsed).build().map_err(|error| wrong(error.kind().to_string()))
}

pub(super) fn add_notes(output: &mut Value, truncated: &[String], skipped: &[String]) {
    for (name, notes) in [("truncated", truncated), ("skipped", skipped)] {
        if !notes.is_empty() {
            output[name] = notes.join(" ").into();
        }
    }
}

pub(super) fn stopped() -> ToolFailure {
    ToolFailure::new("The search was cancelled before it was done. Search again if it is still wanted.")
}
