//! In which way an answer is brought into a given shape.

use harn_core::chat::{ModelRequest, OutputSchema};

use crate::{StructuredOutput, Target};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Output<'a> {
    Free,
    /// By the schema.
    Native(&'a OutputSchema),
    /// As some JSON; the instructions tell the shape.
    Json(&'a OutputSchema),
    /// As the arguments of a tool of this name. Nothing can force the call, so the instructions ask for it.
    Tool(&'a OutputSchema, String),
    /// The instructions tell the shape.
    Prompt(&'a OutputSchema),
}

impl<'a> Output<'a> {
    /// A format binds every word that the model says, so under it no tool could be called.
    pub fn of(request: &'a ModelRequest, target: &Target) -> Self {
        let Some(wanted) = &request.output_schema else { return Self::Free };
        let has_tools = target.capabilities.tools && !request.tools.is_empty();
        match target.capabilities.structured_output {
            StructuredOutput::Native | StructuredOutput::ByTool if has_tools => {
                Self::Tool(wanted, free_name(wanted, request))
            }
            StructuredOutput::Native | StructuredOutput::ByTool => Self::Native(wanted),
            StructuredOutput::JsonMode if !has_tools => Self::Json(wanted),
            StructuredOutput::JsonMode | StructuredOutput::ByPrompt => Self::Prompt(wanted),
        }
    }

    /// What the model has to be told.
    pub fn instruction(&self) -> Option<String> {
        match self {
            Self::Free | Self::Native(_) => None,
            Self::Tool(_, name) => Some(format!("Give the final answer by a call of the tool `{name}`.")),
            Self::Json(wanted) | Self::Prompt(wanted) => Some(format!(
                "Answer with one JSON value and nothing around it. It has to fit this JSON Schema:\n{}",
                wanted.schema
            )),
        }
    }
}

/// The schema's name, or one like it that no tool has.
fn free_name(wanted: &OutputSchema, request: &ModelRequest) -> String {
    let mut name = wanted.name.clone();
    while request.tools.iter().any(|tool| tool.name == name) {
        name.push('_');
    }
    name
}
