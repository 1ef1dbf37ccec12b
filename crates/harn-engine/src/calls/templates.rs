//! Templates in files: beside the module that renders them, and what they include beside themselves.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harn_core::hash::Sha256Hash;
use harn_core::tool::{Class, SideEffect, ToolKind};
use harn_lang::builtins::{Cx, Meter, Rng};
use harn_lang::template::{self, Included, Includes};
use serde_json::{Value, json};

use super::args::{self, Args};
use super::environment::module_folder;
use super::files::reach::Target;
use super::simple::Simple;
use crate::script;
use crate::tools::{Tool, ToolContext, ToolFailure};

/// What a template may grow to, with all that it includes.
const LARGEST_OUTPUT: u64 = 256 << 20;

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let reads = |name, description, work| {
        Simple::new(name, description, Class::Read, SideEffect::ReadOnly, work).kind(ToolKind::Read).call()
    };
    vec![
        reads("render", "Renders a template file.", |ctx, args| Ok(render(ctx, args, "render")?.text.into())),
        reads("render_prompt", "Renders a prompt template file.", |ctx, args| {
            Ok(render(ctx, args, "render_prompt")?.text.into())
        }),
        reads("render_with_provenance", "Renders a template file and tells what it was made of.", told),
    ]
}

struct Rendered {
    text: String,
    /// The templates that were read, the first one first.
    files: Vec<(PathBuf, String)>,
}

fn told(ctx: &ToolContext, args: &Args) -> Result<Value, ToolFailure> {
    let Rendered { text, files } = render(ctx, args, "render_with_provenance")?;
    let file = |(path, hash): &(PathBuf, String)| {
        let shown = path.strip_prefix(&ctx.place.root).unwrap_or(path).display().to_string();
        json!({ "hash": hash, "path": shown })
    };
    let files: Vec<Value> = files.iter().map(file).collect();
    let mark = format!("{}\n{text}", json!(files));
    Ok(json!({
        "files": files,
        "path": args::text(args, "path"),
        "prompt_id": Sha256Hash::of(mark.as_bytes()).to_string(),
        "text": text,
    }))
}

fn render(ctx: &ToolContext, args: &Args, call: &str) -> Result<Rendered, ToolFailure> {
    let path = args::path(call, args, "path")?;
    let start = module_folder(ctx, args).join(path);
    let mut beside = Beside { ctx, start, files: Vec::new() };
    let Included { source, .. } = beside.load(path, "").map_err(ToolFailure::new)?;
    let bindings = args.get("bindings").map(script::decode).unwrap_or_default();
    let mut meter = Meter { fuel: i64::MAX, ..Meter::new(LARGEST_OUTPUT) };
    let mut cx = Cx { meter: &mut meter, rng: &mut Rng::new(0) };
    let text = template::render(&mut cx, &source, &bindings, &mut beside);
    let text = text.map_err(|fault| ToolFailure::new(fault.caught().display()))?;
    Ok(Rendered { text, files: beside.files })
}

/// Templates beside the one that includes them.
struct Beside<'a> {
    ctx: &'a ToolContext,
    /// The template that everything began with.
    start: PathBuf,
    files: Vec<(PathBuf, String)>,
}

impl Includes for Beside<'_> {
    fn load(&mut self, path: &str, from: &str) -> Result<Included, String> {
        let file = match (self.files.is_empty(), from) {
            (true, _) => self.start.clone(),
            (_, "") => self.start.parent().unwrap_or(Path::new("")).join(path),
            (_, from) => Path::new(from).parent().unwrap_or(Path::new("")).join(path),
        };
        let source = self.read(&file).map_err(|why| format!("Failed to read template {path}: {why}"))?;
        // One name for one file, so that a circle is seen.
        let file = file.canonicalize().unwrap_or(file);
        self.files.push((file.clone(), Sha256Hash::of(source.as_bytes()).to_string()));
        Ok(Included { name: file.display().to_string(), source })
    }
}

impl Beside<'_> {
    /// Policy was asked about the call, and not about the files that it leads to.
    fn read(&self, file: &Path) -> Result<String, String> {
        let path = file.to_str().ok_or("its path is not text")?;
        if !self.ctx.sight.may_read(path) {
            return Err("policy does not let this run read it".to_owned());
        }
        Target::of(self.ctx, path).and_then(|target| target.read_text()).map_err(|error| error.to_string())
    }
}
