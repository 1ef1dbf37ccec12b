//! Templates: text with `{{ ... }}` in it, filled from a program's values.
//!
//! A template is read whole into a tree before anything is printed, so that a mistake shows at once. Everything is
//! bounded: how deep blocks, expressions and includes nest, and what is printed is paid for.

mod expression;
mod filters;
mod parse;
mod render;

use crate::builtins::Cx;
use crate::fault::Fault;
use crate::value::Value;

/// How deep includes, blocks and expressions may nest.
pub const MAX_DEPTH: usize = 32;

/// Where `{{ include "path" }}` finds other templates.
pub trait Includes {
    /// The text of a template, and the name by which it is recognised when it includes itself. `from` is that name
    /// of the including template, or empty.
    fn load(&mut self, path: &str, from: &str) -> Result<Included, String>;
}

pub struct Included {
    pub name: String,
    pub source: String,
}

/// For templates that are given as text.
pub struct NoIncludes;

impl Includes for NoIncludes {
    fn load(&mut self, path: &str, _: &str) -> Result<Included, String> {
        Err(format!("cannot include \"{path}\": only templates in files can include others"))
    }
}

/// Fills a template with the values of a dict.
pub fn render(
    cx: &mut Cx<'_>,
    source: &str,
    bindings: &Value,
    includes: &mut dyn Includes,
) -> Result<String, Fault> {
    render::render(cx, source, bindings, includes, Vec::new())
}

/// Fills a template that was loaded by its name, so that it cannot include itself.
pub fn render_included(
    cx: &mut Cx<'_>,
    template: Included,
    bindings: &Value,
    includes: &mut dyn Includes,
) -> Result<String, Fault> {
    render::render(cx, &template.source, bindings, includes, vec![template.name])
}

/// What is wrong with a template, and in which line.
#[derive(Debug)]
struct Mistake {
    line: usize,
    message: String,
}

impl From<Mistake> for Fault {
    fn from(mistake: Mistake) -> Self {
        Fault::thrown(format!("Template error at line {}: {}", mistake.line, mistake.message))
    }
}
