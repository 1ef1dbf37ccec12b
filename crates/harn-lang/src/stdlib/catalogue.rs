//! What the standard modules offer, read from their sources: for the documentation and for editors.

use super::MODULES;
use crate::syntax::ast::{Decl, DeclKind, Function, StmtKind};
use crate::syntax::parse;
use crate::syntax::span::Span;

/// A standard module with all that it offers.
#[derive(Clone, Debug, PartialEq)]
pub struct ModuleDoc {
    pub name: &'static str,
    pub source: &'static str,
    /// The comment at the top of its source.
    pub doc: String,
    pub types: Vec<StdType>,
    pub functions: Vec<StdFunction>,
}

/// A type of a standard module.
#[derive(Clone, Debug, PartialEq)]
pub struct StdType {
    pub name: String,
    pub doc: String,
}

/// A public function of a standard module.
#[derive(Clone, Debug, PartialEq)]
pub struct StdFunction {
    pub name: String,
    /// Its name and its parameters with their defaults: `median(items)`.
    pub signature: String,
    pub doc: String,
}

/// Every standard module, in the order of their names.
pub fn modules() -> Vec<ModuleDoc> {
    MODULES.iter().map(|(name, source)| read(name, source)).collect()
}

fn read(name: &'static str, source: &'static str) -> ModuleDoc {
    let (mut types, mut functions) = (Vec::new(), Vec::new());
    for stmt in parse(source).module.body {
        let StmtKind::Decl(Decl { doc, public, kind, .. }) = stmt.kind else { continue };
        let doc = doc.unwrap_or_default();
        match kind {
            DeclKind::Function(function) if public => functions.push(StdFunction {
                name: function.name.name.to_string(),
                signature: signature(&function, stmt.span, source),
                doc,
            }),
            DeclKind::Alias(alias) => types.push(StdType { name: alias.name.name.to_string(), doc }),
            _ => {}
        }
    }
    let head = source.lines().take_while(|line| line.starts_with("// "));
    let doc = head.map(|line| line.trim_start_matches("// ")).collect::<Vec<_>>().join("\n");
    ModuleDoc { name, source, doc, types, functions }
}

/// From the name to the brace of the body, on one line.
fn signature(function: &Function, whole: Span, source: &str) -> String {
    let end = function.body.span.start.clamp(function.name.span.start, whole.end);
    let text = Span::new(function.name.span.start, end).of(source);
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
