//! The registry of tools that a program works with, as it said with `tool_bind`.

use super::Vm;
use super::special::Done;
use crate::builtins::args::fields;
use crate::builtins::tools_of;
use crate::fault::Fault;
use crate::value::Value;

impl Vm {
    /// `tool_bind`, `tool_ref` and `tool_def`: the registry that a program works with.
    pub(super) fn bound_tools_special(&mut self, name: &'static str, args: &[Value]) -> Result<Done, Fault> {
        if name == "tool_bind" {
            let registry = args.first().cloned().unwrap_or_default();
            tools_of(std::slice::from_ref(&registry), name)?;
            self.console.bound_tools = registry.clone();
            return Ok(registry.into());
        }
        if !matches!(name, "tool_ref" | "tool_def") {
            return Err(Fault::thrown(format!("{name}: is not available here")));
        }
        if matches!(self.console.bound_tools, Value::Nil) {
            return Err(Fault::thrown(format!(
                "{name}: no tool registry is bound; call tool_bind(registry) first"
            )));
        }
        let wanted = self.shown_text(args.first())?;
        let tools = tools_of(std::slice::from_ref(&self.console.bound_tools), name)?;
        let found = tools
            .iter()
            .find(|tool| fields(tool).and_then(|dict| dict.get("name")?.as_str()) == Some(&*wanted));
        match (found, name) {
            (Some(_), "tool_ref") => Ok(Value::from(wanted).into()),
            (Some(tool), _) => Ok(tool.clone().into()),
            (None, _) => Err(Fault::thrown(format!("{name}: the bound registry has no tool \"{wanted}\""))),
        }
    }
}
