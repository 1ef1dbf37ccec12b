//! In which way an answer is brought into a given shape.

use harn_core::chat::{ModelRequest, OutputSchema};

use super::family::generation;
use crate::{StructuredOutput, Target};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Output<'a> {
    Free,
    /// By the schema.
    Native(&'a OutputSchema),
    /// As some JSON; the instructions tell the shape.
    Json(&'a OutputSchema),
    /// As the arguments of a tool of this name.
    Tool(&'a OutputSchema, String),
    /// The instructions tell the shape.
    Prompt(&'a OutputSchema),
}

impl<'a> Output<'a> {
    pub fn of(request: &'a ModelRequest, target: &Target) -> Self {
        let Some(wanted) = &request.output_schema else { return Self::Free };
        // Before the third generation, a request has one of these: functions, tools of Google, a JSON answer.
        let exclusive = generation(&target.model).is_some_and(|number| number < 3);
        let in_the_way = exclusive && target.capabilities.tools && !request.tools.is_empty();
        if exclusive && has_google_tools(target) {
            return Self::Prompt(wanted);
        }
        match target.capabilities.structured_output {
            StructuredOutput::Native if !in_the_way => Self::Native(wanted),
            StructuredOutput::JsonMode if !in_the_way => Self::Json(wanted),
            StructuredOutput::Native | StructuredOutput::ByTool => {
                Self::Tool(wanted, free_name(wanted, request))
            }
            StructuredOutput::JsonMode | StructuredOutput::ByPrompt => Self::Prompt(wanted),
        }
    }
}

fn has_google_tools(target: &Target) -> bool {
    target.options.get("tools").and_then(|tools| tools.as_array()).is_some_and(|tools| !tools.is_empty())
}

/// The schema's name, or one like it that no tool has.
fn free_name(wanted: &OutputSchema, request: &ModelRequest) -> String {
    let mut name = wanted.name.clone();
    while request.tools.iter().any(|tool| tool.name == name) {
        name.push('_');
    }
    name
}
