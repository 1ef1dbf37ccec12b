//! Templates in files: beside the module that renders them, and what they include beside themselves.

use std::path::{Path, PathBuf};

use harn_lang::builtins::{Cx, Meter, Rng};
use harn_lang::fault::Fault;
use harn_lang::template::{self, Included, Includes};
use harn_lang::value::Value;
use harn_lang::vm::Call;

use super::files::{folder_of, read_text};

/// What a template may grow to, with all that it includes.
const LARGEST_OUTPUT: u64 = 256 << 20;

/// What the builtins that read templates from files come to.
pub fn answer(call: &Call) -> Option<Result<Value, Fault>> {
    matches!(call.builtin, "render" | "render_prompt").then(|| render(&call.args))
}

/// Given the path, the bindings and the name of the module that asks.
fn render(args: &[Value]) -> Result<Value, Fault> {
    let text = |at: usize| args.get(at).map(Value::display).unwrap_or_default();
    let folder = folder_of(&text(2)).to_owned();
    let file = folder.join(text(0));
    let source = read_text(&file).map_err(|error| Fault::thrown(unreadable(&text(0), &error)))?;
    let bindings = args.get(1).cloned().unwrap_or_default();
    let mut meter = Meter { fuel: i64::MAX, ..Meter::new(LARGEST_OUTPUT) };
    let mut cx = Cx { meter: &mut meter, rng: &mut Rng::new(0) };
    let mut beside = Beside { start: file };
    template::render(&mut cx, &source, &bindings, &mut beside).map(Value::str)
}

/// Templates beside the one that includes them.
struct Beside {
    /// The template that everything began with.
    start: PathBuf,
}

impl Includes for Beside {
    fn load(&mut self, path: &str, from: &str) -> Result<Included, String> {
        let from = if from.is_empty() { self.start.as_path() } else { Path::new(from) };
        let file = from.parent().unwrap_or_else(|| Path::new("")).join(path);
        let source = read_text(&file).map_err(|error| unreadable(path, &error))?;
        // One name for one file, so that a circle is seen.
        let name = file.canonicalize().unwrap_or(file).display().to_string();
        Ok(Included { name, source })
    }
}

fn unreadable(path: &str, error: &anyhow::Error) -> String {
    format!("Failed to read template {path}: {error}")
}
