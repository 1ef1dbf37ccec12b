//! An answer of a given shape: how it is asked for, and how its text is read.

use harn_core::chat::{ModelRequest, OutputSchema};
use serde_json::Value;

use super::schema::{self, Strict};
use crate::{Capabilities, Chunk, StructuredOutput};

/// How the shape is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::providers) enum Asked<'a> {
    Nothing,
    /// The schema goes along. `strict` is none where the server has no such setting.
    Native {
        wanted: &'a OutputSchema,
        schema: Value,
        strict: Option<bool>,
        has_nulls: bool,
    },
    JsonMode(&'a OutputSchema),
    /// The model has to call a tool of this name, whose arguments are the answer.
    Tool {
        wanted: &'a OutputSchema,
        name: String,
    },
    Prompt(&'a OutputSchema),
}

/// Whether a schema is brought into its strict form.
#[derive(Clone, Copy)]
pub(in crate::providers) enum Strictness {
    AsIs,
    Strict { also_dropped: &'static [&'static str] },
}

pub(in crate::providers) fn asked<'a>(
    request: &'a ModelRequest,
    capabilities: &Capabilities,
    strictness: Strictness,
) -> Asked<'a> {
    let Some(wanted) = &request.output_schema else { return Asked::Nothing };
    match capabilities.structured_output {
        StructuredOutput::Native => native(wanted, strictness),
        StructuredOutput::JsonMode => Asked::JsonMode(wanted),
        StructuredOutput::ByTool if capabilities.tools => {
            let mut name = wanted.name.clone();
            while request.tools.iter().any(|tool| tool.name == name) {
                name.push_str("_answer");
            }
            Asked::Tool { wanted, name }
        }
        StructuredOutput::ByTool | StructuredOutput::ByPrompt => Asked::Prompt(wanted),
    }
}

fn native(wanted: &OutputSchema, strictness: Strictness) -> Asked<'_> {
    let as_is = |strict| Asked::Native { wanted, schema: wanted.schema.clone(), strict, has_nulls: false };
    match strictness {
        Strictness::AsIs => as_is(None),
        Strictness::Strict { also_dropped } => match schema::strict(&wanted.schema, also_dropped) {
            Some(Strict { schema, has_nulls }) => {
                Asked::Native { wanted, schema, strict: Some(true), has_nulls }
            }
            None => as_is(Some(false)),
        },
    }
}

impl Asked<'_> {
    /// The instructions, with the schema where it can only be asked for in words.
    pub fn instructions(&self, system: &str) -> String {
        let (Self::JsonMode(wanted) | Self::Prompt(wanted)) = self else { return system.to_owned() };
        let gap = if system.is_empty() { "" } else { "\n\n" };
        format!(
            "{system}{gap}Answer with one JSON object and nothing else. It has to match this JSON Schema:\n{}",
            wanted.schema
        )
    }
}

/// Reads the text of an answer. Where it is known only at the end, it is held back until then.
#[derive(Debug)]
pub(in crate::providers) enum AnswerText {
    Plain,
    ByTool { name: String, text: String, answered: bool },
    Pruned { schema: Value, text: String },
}

impl AnswerText {
    pub fn of(asked: &Asked<'_>) -> Self {
        match asked {
            Asked::Tool { name, .. } => {
                Self::ByTool { name: name.clone(), text: String::new(), answered: false }
            }
            Asked::Native { wanted, has_nulls: true, .. } => {
                Self::Pruned { schema: wanted.schema.clone(), text: String::new() }
            }
            Asked::Nothing | Asked::Native { .. } | Asked::JsonMode(_) | Asked::Prompt(_) => Self::Plain,
        }
    }

    pub fn piece(&mut self, piece: &str, chunks: &mut Vec<Chunk>) {
        match self {
            _ if piece.is_empty() => {}
            Self::ByTool { answered: true, .. } => {}
            Self::Plain => chunks.push(Chunk::Text(piece.to_owned())),
            Self::ByTool { text, .. } | Self::Pruned { text, .. } => text.push_str(piece),
        }
    }

    /// Whether calls of this name are the answer.
    pub fn is_answer(&self, called: &str) -> bool {
        matches!(self, Self::ByTool { name, .. } if name == called)
    }

    /// The arguments of a call that is the answer. Words around it are not part of it, and of two the first counts.
    pub fn answer(&mut self, args: &Value) {
        if let Self::ByTool { text, answered, .. } = self
            && !std::mem::replace(answered, true)
        {
            *text = args.to_string();
        }
    }

    /// Hands out what was held back.
    pub fn finish(&mut self, chunks: &mut Vec<Chunk>) {
        let text = match self {
            Self::Plain => return,
            Self::ByTool { text, .. } => std::mem::take(text),
            Self::Pruned { schema, text } => match serde_json::from_str::<Value>(text) {
                Ok(mut answer) => {
                    schema::prune(&mut answer, schema);
                    text.clear();
                    answer.to_string()
                }
                // Broken off or refused: its words are all there is.
                Err(_) => std::mem::take(text),
            },
        };
        if !text.is_empty() {
            chunks.push(Chunk::Text(text));
        }
    }
}
