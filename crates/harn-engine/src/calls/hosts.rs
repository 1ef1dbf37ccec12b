//! What the host of a run does for its script: an editor, a terminal, a test. Where there is none, it is refused.

use std::sync::Arc;

use harn_core::ports::{HostFailure, HostPort};
use harn_core::tool::{Class, SideEffect};
use serde_json::{Value, json};

use super::args::{Args, word};
use super::simple::{Answer, Simple};
use crate::secrets::refuse;
use crate::tools::{Tool, ToolContext, ToolFailure};

pub fn calls() -> Vec<Arc<dyn Tool>> {
    // What a host does is not known here, so it is taken to reach as far as anything can.
    let (class, reach) = (Class::Once, SideEffect::Network);
    let calls = [
        Simple::waiting("host_capabilities", "What the host can do.", Class::Read, SideEffect::None, able),
        Simple::waiting("host_tools", "The tools of the host.", Class::Read, SideEffect::None, tools),
        Simple::waiting("host", "An operation of the host.", class, reach, operation).checked(no_secrets),
        Simple::waiting("host_tool", "A call of a tool of the host.", class, reach, tool).checked(no_secrets),
        Simple::waiting("builtin_call", "A builtin that only the host knows.", class, reach, builtin)
            .checked(no_secrets),
    ];
    calls.into_iter().map(Simple::call).collect()
}

/// No rule says what a host does with a secret.
fn no_secrets(_: &ToolContext, args: &Args) -> Result<(), ToolFailure> {
    args.values().try_for_each(|value| refuse(value, "the host")).map_err(ToolFailure::from)
}

async fn able(ctx: ToolContext, _: Args) -> Answer {
    match &ctx.host {
        Some(host) => told(host.capabilities().await),
        None => Ok(json!({})),
    }
}

async fn tools(ctx: ToolContext, _: Args) -> Answer {
    match &ctx.host {
        Some(host) => told(host.tools().await),
        None => Ok(json!([])),
    }
}

async fn operation(ctx: ToolContext, args: Args) -> Answer {
    let (capability, operation) = (word(&args, "capability"), word(&args, "operation"));
    let missing = || {
        format!(
            "host_call: no host is attached that has `{capability}.{operation}`; host_has() tells what there is, and a \
             test can pretend it with host_mock()"
        )
    };
    told(host(&ctx, missing)?.call(capability, operation, value(&args, "params")).await)
}

async fn tool(ctx: ToolContext, args: Args) -> Answer {
    let name = word(&args, "name");
    let missing = || format!("host_tool_call: no host is attached that has the tool `{name}`");
    told(host(&ctx, missing)?.call_tool(name, value(&args, "args")).await)
}

async fn builtin(ctx: ToolContext, args: Args) -> Answer {
    let name = word(&args, "name");
    let missing = || format!("Undefined builtin: {name}");
    told(host(&ctx, missing)?.builtin(name, value(&args, "args")).await)
}

fn host(ctx: &ToolContext, missing: impl Fn() -> String) -> Result<&dyn HostPort, ToolFailure> {
    ctx.host.as_deref().ok_or_else(|| ToolFailure::new(missing()))
}

fn value(args: &Args, name: &str) -> Value {
    args.get(name).cloned().unwrap_or_default()
}

fn told(answer: Result<Value, HostFailure>) -> Answer {
    answer.map_err(|HostFailure { message, category }| ToolFailure { message, category })
}
