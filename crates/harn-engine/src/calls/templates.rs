//! Templates in files: beside the module that renders them, and what they include beside themselves.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use harn_core::decision::{Access, EffectKind, Verdict};
use harn_core::hash::Sha256Hash;
use harn_core::tool::{Class, SideEffect, ToolKind};
use harn_lang::builtins::{Cx, Meter, Rng};
use harn_lang::template::{self, Included, Includes};
use serde_json::{Value, json};

use super::args::{self, Args};
use super::files::reach::Target;
use super::simple::{Answer, Simple};
use crate::script;
use crate::tools::locate::locate;
use crate::tools::{Tool, ToolContext, ToolFailure};

/// What a template may grow to, with all that it includes.
const LARGEST_OUTPUT: u64 = 256 << 20;

/// The argument that policy is asked about: where the template is, from the root on.
const FILE: &str = "file";

/// Says in the arguments of a call that renders where its template is: beside the calling module. The names of modules
/// start at `base`.
pub fn find(args: &mut Args, base: &Path, root: &Path) {
    let Some(path) = args.get("path").and_then(Value::as_str) else { return };
    let module = args::text(args, "from");
    let file = base.join(Path::new(&module).parent().unwrap_or(Path::new(""))).join(path);
    let file = file.strip_prefix(root).unwrap_or(&file).display().to_string();
    args.insert(FILE.to_owned(), file.into());
}

pub fn calls() -> Vec<Arc<dyn Tool>> {
    let reads = |name, description, work| {
        Simple::new(name, description, Class::Read, SideEffect::ReadOnly, work)
            .path(FILE, Access::Read)
            .kind(ToolKind::Read)
            .call()
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

fn told(ctx: &ToolContext, args: &Args) -> Answer {
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
    let start = ctx.place.root.join(args::path(call, args, FILE)?);
    let mut beside = Beside { ctx, call, start, files: Vec::new() };
    let first = beside.load(path, "").map_err(ToolFailure::new)?;
    let bindings = args.get("bindings").map(script::decode).unwrap_or_default();
    let mut meter = Meter { fuel: i64::MAX, ..Meter::new(LARGEST_OUTPUT) };
    let mut cx = Cx { meter: &mut meter, rng: &mut Rng::new(0) };
    let text = template::render_included(&mut cx, first, &bindings, &mut beside);
    let text = text.map_err(|fault| ToolFailure::new(fault.caught().display()))?;
    Ok(Rendered { text, files: beside.files })
}

/// Templates beside the one that includes them.
struct Beside<'a> {
    ctx: &'a ToolContext,
    call: &'a str,
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
    /// Policy was asked about the first template, and not about those that it leads to.
    fn read(&self, file: &Path) -> Result<String, String> {
        let path = file.to_str().ok_or("its path is not text")?;
        let verdict =
            || self.ctx.sight.verdict(EffectKind::Call, self.call, &locate(&self.ctx.place.root, path));
        if !self.files.is_empty() && verdict() != Verdict::Allow {
            return Err("policy does not let this run read it".to_owned());
        }
        Target::of(self.ctx, path).and_then(|target| target.read_text()).map_err(|error| error.to_string())
    }
}
