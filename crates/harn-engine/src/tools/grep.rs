//! The tool that finds lines by their text.

use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use cap_std::fs::Dir;
use globset::GlobSet;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use harn_core::decision::{Access, EffectKind, Verdict};
use harn_core::ports::Located;
use harn_core::tool::{Class, SideEffect, ToolKind, ToolSpec};
use serde_json::{Map, Value, json};

use super::args::Args;
use super::confined::{Confined, Place, Refusal, Spot, open_regular, read_whole};
use super::files::in_workspace;
use super::glob::{add_notes, parse_glob, stopped};
use super::lines::{Full, Lines, Wanted};
use super::options::flag;
use super::text::counted;
use super::walk::{Bounds, Hidden, Kind, Over, Walked, begin, walk};
use super::{Prepared, Sight, Tool, ToolContext, ToolFailure, ToolOutput, object_schema, on_path};

const DEFAULT_LIMIT: u64 = 100;
const MAX_LIMIT: u64 = 1000;
const MAX_CONTEXT: u64 = 10;
const MAX_FILE: u64 = 16 * 1024 * 1024;
const MAX_PATTERN: usize = 10_000;

/// Keeps a compiled pattern small enough that the slowest one still gets through a file.
const MAX_COMPILED: usize = 2 * 1024 * 1024;

/// Finds lines by a regular expression.
pub struct Grep;

#[async_trait]
impl Tool for Grep {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: "grep".into(),
            description: "Searches the text of workspace files, line by line, for a regular expression; use it to \
                          find where something is said or used, before reading whole files. What .gitignore and \
                          .ignore name is left out, as are binary files, files over 16 MiB, links and `.git`. At \
                          most 1000 matches or 256 KiB are shown, and lines are cut at 500 characters."
                .into(),
            input_schema: object_schema(input_properties(), &["pattern"]),
            output_schema: object_schema(output_properties(), &["path"]),
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
        let sight = Arc::clone(&ctx.sight);
        in_workspace(ctx, move |workspace| search.run(workspace, &bounds, &*sight))
            .await
            .map(ToolOutput::from)
    }
}

fn input_properties() -> Value {
    json!({
        "pattern": { "type": "string", "description": "A regular expression in Rust's syntax, matched within single lines." },
        "literal": { "type": "boolean", "description": "Whether the pattern is plain text; false unless given." },
        "path": { "type": "string", "description": "The file or folder to search, relative to the workspace root, which is the default." },
        "glob": { "type": "string", "description": "Only files with such names, such as `*.rs`, or with such paths below `path`, such as `src/**/*.rs`." },
        "ignore_case": { "type": "boolean", "description": "Whether upper and lower case are the same; false unless given." },
        "context": { "type": "integer", "minimum": 0, "maximum": MAX_CONTEXT, "description": "How many lines to show before and after each match; 0 unless given." },
        "limit": { "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "description": "How many matches, or files with files_only, to show; 100 unless given." },
        "files_only": { "type": "boolean", "description": "Whether only the paths of files with a match are shown; false unless given." },
        "hidden": { "type": "boolean", "description": "Whether names that begin with a dot are seen; false unless given." },
    })
}

fn output_properties() -> Value {
    let line = object_schema(
        json!({
            "path": { "type": "string" },
            "line": { "type": "integer", "description": "From 1." },
            "text": { "type": "string" },
            "context": { "const": true, "description": "Set for a line that is near a match and is none." },
            "cut": { "const": true, "description": "Set when only the beginning of the line is shown." },
        }),
        &["path", "line", "text"],
    );
    json!({
        "path": { "type": "string", "description": "What was searched." },
        "lines": { "type": "array", "items": line, "description": "The matches and the lines near them." },
        "files": { "type": "array", "items": { "type": "string" }, "description": "In place of `lines` with files_only." },
        "truncated": { "type": "string", "description": "What was left out, if anything was." },
        "skipped": { "type": "string", "description": "What could not be searched, if anything." },
    })
}

struct Search {
    pattern: RegexMatcher,
    path: String,
    glob: Option<NameOrPath>,
    wanted: Wanted,
    limit: usize,
    hidden: Hidden,
}

/// A glob without a slash is about names, any other about paths.
enum NameOrPath {
    Name(GlobSet),
    Path(GlobSet),
}

impl Search {
    fn from_args(given: &Map<String, Value>) -> Result<Self, ToolFailure> {
        let names =
            ["pattern", "literal", "path", "glob", "ignore_case", "context", "limit", "files_only", "hidden"];
        let args = Args::check("grep", given, &names)?;
        let flag = |name| flag("grep", given, name);
        let context = args.optional_integer("context", 0..=MAX_CONTEXT)?.unwrap_or(0) as usize;
        let glob = args.optional_text("glob")?.map(|glob| {
            let kind = if glob.contains('/') { NameOrPath::Path } else { NameOrPath::Name };
            parse_glob(glob).map(kind)
        });
        Ok(Self {
            pattern: compile(args.text("pattern")?, flag("literal")?, flag("ignore_case")?)?,
            path: args.optional_text("path")?.unwrap_or(".").to_owned(),
            glob: glob.transpose()?,
            wanted: if flag("files_only")? { Wanted::Files } else { Wanted::Lines { context } },
            limit: args.optional_integer("limit", 1..=MAX_LIMIT)?.unwrap_or(DEFAULT_LIMIT) as usize,
            hidden: flag("hidden")?.into(),
        })
    }

    fn run(&self, workspace: &Confined, bounds: &Bounds, sight: &dyn Sight) -> Result<Value, ToolFailure> {
        let Place { path, spot } = begin(workspace, &self.path)?;
        let mut hunt = Hunt {
            bounds,
            lines: Lines::new(&self.pattern, self.wanted, self.limit),
            sight,
            skipped: Skipped::default(),
        };
        let walked = match spot {
            Spot::Entry { parent, name } => {
                // What was asked for by name is an error when it cannot be searched, not a number in a note.
                drop(open_regular(&parent, &name, &path)?);
                Walked::ended(hunt.search(&parent, &name, &path).break_value().flatten())
            }
            Spot::Directory(dir) => self.search_below(workspace, (&path, dir), &mut hunt),
            Spot::Missing { .. } => return Err(Refusal::NotFound { path }.into()),
        };
        if walked.over == Some(Over::Cancelled) {
            return Err(stopped());
        }
        let mut cut = Vec::new();
        cut.extend(hunt.lines.full().map(|full| self.full_note(full)));
        cut.extend(walked.cut_short());
        let mut output = hunt.lines.into_output(&path);
        add_notes(&mut output, &cut, &[walked.skipped(), hunt.skipped.notes()].concat());
        Ok(output)
    }

    fn search_below(&self, workspace: &Confined, start: (&str, Dir), hunt: &mut Hunt<'_>) -> Walked {
        let mut over = None;
        let mut walked = walk(workspace, start, self.hidden, hunt.bounds, |found| {
            let named = match &self.glob {
                None => true,
                Some(NameOrPath::Name(glob)) => glob.is_match(found.name),
                Some(NameOrPath::Path(glob)) => glob.is_match(found.below),
            };
            if !named || found.kind != Kind::File {
                return ControlFlow::Continue(());
            }
            hunt.search(found.parent, found.name, found.path).map_break(|why| over = why)
        });
        walked.over = walked.over.or(over);
        walked
    }

    fn full_note(&self, full: Full) -> String {
        let limit = match (full, self.wanted) {
            (Full::Limit, Wanted::Lines { .. }) => format!("matches than the limit of {}", self.limit),
            (Full::Limit, Wanted::Files) => format!("files than the limit of {}", self.limit),
            (Full::Bytes, _) => "results than the 256 KiB that are shown".to_owned(),
        };
        format!("There are more {limit}. Narrow the pattern, path or glob.")
    }
}

fn compile(pattern: &str, literal: bool, ignore_case: bool) -> Result<RegexMatcher, ToolFailure> {
    if pattern.is_empty() {
        return Err(ToolFailure::new(
            "The argument `pattern` of grep is empty. Give the text to search for.",
        ));
    }
    if pattern.len() > MAX_PATTERN {
        return Err(ToolFailure::new(format!(
            "The argument `pattern` of grep has more than {MAX_PATTERN} bytes. Search for a part of it."
        )));
    }
    let built = RegexMatcherBuilder::new()
        .fixed_strings(literal)
        .case_insensitive(ignore_case)
        .multi_line(true)
        .crlf(true)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(4 * MAX_COMPILED)
        .build(pattern);
    built.map_err(|error| {
        ToolFailure::new(format!(
            "The pattern cannot be searched for: {error}\nCorrect the regular expression, or set `literal` to true \
             to search for the text as it stands. A pattern is matched within single lines."
        ))
    })
}

/// A search on its way through the files.
struct Hunt<'a> {
    bounds: &'a Bounds,
    sight: &'a dyn Sight,
    lines: Lines<'a>,
    skipped: Skipped,
}

#[derive(Default)]
struct Skipped {
    binary: usize,
    large: usize,
    unread: usize,
    long_lines: usize,
    closed: usize,
}

impl Skipped {
    fn notes(&self) -> Vec<String> {
        let files = |count| counted(count, "file");
        [
            (self.binary, format!("{} not searched.", counted(self.binary, "binary file"))),
            (self.large, format!("{} over 16 MiB not searched.", files(self.large))),
            (self.unread, format!("{} could not be read.", files(self.unread))),
            (self.closed, format!("{} not searched, because a rule closes them.", files(self.closed))),
            (self.long_lines, format!("{} searched only up to a line over 1 MiB.", files(self.long_lines))),
        ]
        .into_iter()
        .filter_map(|(count, note)| (count > 0).then_some(note))
        .collect()
    }
}

impl Hunt<'_> {
    /// Searches one file; breaks off when the answer is full, or with the bound that was reached.
    fn search(&mut self, parent: &Dir, name: &str, path: &str) -> ControlFlow<Option<Over>> {
        if self.sight.verdict(EffectKind::Tool, "read_file", &Located::inside(path)) != Verdict::Allow {
            self.skipped.closed += 1;
            return ControlFlow::Continue(());
        }
        let bytes = open_regular(parent, name, path).and_then(|(file, _)| read_whole(file, path, MAX_FILE));
        match bytes {
            Ok(bytes) if bytes.contains(&0) => self.skipped.binary += 1,
            Ok(bytes) => match self.lines.search(path, &bytes, self.bounds) {
                Ok(()) => {}
                Err(None) => self.skipped.long_lines += 1,
                Err(Some(over)) => return ControlFlow::Break(Some(over)),
            },
            Err(Refusal::TooLarge { .. }) => self.skipped.large += 1,
            Err(_) => self.skipped.unread += 1,
        }
        if self.lines.full().is_some() { ControlFlow::Break(None) } else { ControlFlow::Continue(()) }
    }
}
