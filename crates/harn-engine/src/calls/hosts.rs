//! What the host of a run does for its script: an editor, a terminal, a test. Where there is none, it is refused.

use std::sync::Arc;

use async_trait::async_trait;
use harn_core::ports::HostFailure;
use harn_core::tool::{Annotations, Class, SideEffect, ToolSpec};
use serde_json::{Map, Value, json};

use crate::tools::{Prepared, Tool, ToolContext, ToolFailure, ToolOutput};

pub fn calls() -> Vec<Arc<dyn Tool>> {
    use Asked::{Builtin, Capabilities, Operation, ToolCall, ToolList};
    [Capabilities, ToolList, Operation, ToolCall, Builtin]
        .into_iter()
        .map(|asked| Arc::new(asked) as _)
        .collect()
}

/// What is asked of a host.
#[derive(Clone, Copy)]
enum Asked {
    Capabilities,
    ToolList,
    Operation,
    ToolCall,
    Builtin,
}

#[async_trait]
impl Tool for Asked {
    fn spec(&self) -> ToolSpec {
        let (name, description, class, side_effect) = match self {
            Self::Capabilities => {
                ("host_capabilities", "What the host can do.", Class::Read, SideEffect::None)
            }
            Self::ToolList => ("host_tools", "The tools of the host.", Class::Read, SideEffect::None),
            // What a host does is not known here, so it is taken to reach as far as anything can.
            Self::Operation => ("host", "An operation of the host.", Class::Once, SideEffect::Network),
            Self::ToolCall => {
                ("host_tool", "A call of a tool of the host.", Class::Once, SideEffect::Network)
            }
            Self::Builtin => {
                ("builtin_call", "A builtin that only the host knows.", Class::Once, SideEffect::Network)
            }
        };
        ToolSpec {
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: json!({ "type": "object" }),
            output_schema: Value::Null,
            class,
            side_effect,
            annotations: Annotations::default(),
        }
    }

    async fn prepare(&self, _: &ToolContext, _: &Map<String, Value>) -> Result<Prepared, ToolFailure> {
        Ok(Prepared::Ready)
    }

    async fn perform(
        &self,
        ctx: &ToolContext,
        args: &Map<String, Value>,
        _: Prepared,
    ) -> Result<ToolOutput, ToolFailure> {
        let text = |name: &str| args.get(name).and_then(Value::as_str).unwrap_or_default();
        let value = |name: &str| args.get(name).cloned().unwrap_or_default();
        let Some(host) = &ctx.host else {
            return alone(*self, text("capability"), text("operation"), text("name"));
        };
        let done = match self {
            Self::Capabilities => host.capabilities().await,
            Self::ToolList => host.tools().await,
            Self::Operation => host.call(text("capability"), text("operation"), value("params")).await,
            Self::ToolCall => host.call_tool(text("name"), value("args")).await,
            Self::Builtin => host.builtin(text("name"), value("args")).await,
        };
        done.map(ToolOutput::from)
            .map_err(|HostFailure { message, category }| ToolFailure { message, category })
    }
}

/// What a script gets that has no host.
fn alone(asked: Asked, capability: &str, operation: &str, name: &str) -> Result<ToolOutput, ToolFailure> {
    let message = match asked {
        Asked::Capabilities => return Ok(json!({}).into()),
        Asked::ToolList => return Ok(json!([]).into()),
        Asked::Operation => {
            format!("host_call: no host is attached that has `{capability}.{operation}`")
        }
        Asked::ToolCall => format!("host_tool_call: no host is attached that has the tool `{name}`"),
        Asked::Builtin => format!("Undefined builtin: {name}"),
    };
    Err(ToolFailure::new(message))
}
