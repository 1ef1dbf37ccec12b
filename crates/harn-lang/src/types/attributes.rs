//! Attributes: which there are, and what they tell.

use super::Checker;
use crate::problem::Code;
use crate::syntax::ast::{Attribute, AttributeValue, Decl};

/// The attributes that something in Harn reads.
const KNOWN: &[&str] =
    &["test", "deprecated", "complexity", "acp_tool", "acp_skill", "invariant", "archivist", "budget"];

impl Checker<'_> {
    pub(super) fn attributes(&mut self, decl: &Decl) {
        for attribute in &decl.attributes {
            let name = &attribute.name.name;
            if KNOWN.contains(&&**name) {
                continue;
            }
            let help = match crate::near::nearest(name, KNOWN.iter().copied()) {
                Some(near) => format!("did you mean `@{near}`?"),
                None => format!("it has no effect; there are @{}", KNOWN.join(", @")),
            };
            self.say_with(
                Code::UnknownAttribute,
                attribute.span,
                format!("unknown attribute `@{name}`"),
                help,
            );
        }
    }
}

/// What to tell whoever calls it, if it is deprecated.
pub fn deprecation(name: &str, attributes: &[Attribute]) -> Option<String> {
    let attribute = attributes.iter().find(|attribute| &*attribute.name.name == "deprecated")?;
    let text = |wanted: &str| {
        let arg =
            attribute.args.iter().find(|arg| arg.name.as_ref().is_some_and(|name| &*name.name == wanted))?;
        match &arg.value {
            AttributeValue::Str(text) => Some(text.to_string()),
            _ => None,
        }
    };
    let mut message = format!("`{name}` is deprecated");
    if let Some(since) = text("since") {
        message.push_str(&format!(" (since {since})"));
    }
    if let Some(instead) = text("use") {
        message.push_str(&format!(": use {instead}"));
    }
    Some(message)
}
