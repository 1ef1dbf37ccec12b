//! Where a task is: its id, the run that it is part of, the values that it keeps, and the scopes of shared state.

use std::sync::Arc;

use super::Vm;
use super::fibre::Fibre;
use super::operate::key_of;
use super::shared::record;
use super::special::Done;
use crate::fault::Fault;
use crate::value::{Dict, Value};

pub const DEFAULT_SCOPE: &str = "task_group";

const ROOT: &str = "task_root";

/// What only the host knows about a run; nil unless it says so.
const ABOUT: &[&str] = &[
    "run_id",
    "workflow_id",
    "workflow_run_id",
    "agent_session_id",
    "agent_name",
    "tenant_id",
    "trace_id",
    "trigger_id",
];

impl Vm {
    /// What the host knows about the run, for `runtime_context` and the scopes of shared state: `run_id`,
    /// `workflow_run_id`, `agent_session_id`, `tenant_id` and the like; and its `task` and `pipeline_input`.
    pub fn set_about(&mut self, about: Dict) {
        self.about = about;
    }

    pub(super) fn context(
        &mut self,
        fibre: &mut Fibre,
        name: &'static str,
        args: &[Value],
    ) -> Result<Done, Fault> {
        let arg = |at: usize| args.get(at).cloned().unwrap_or_default();
        Ok(match name {
            "runtime_context" => self.runtime_context(fibre),
            "task_current" => record(task(fibre)),
            "runtime_context_get" => {
                fibre.context.get(key_of(&arg(0))?.as_str()).cloned().unwrap_or_else(|| arg(1))
            }
            "runtime_context_values" => own_values(&fibre.context),
            "runtime_context_clear" => {
                let key = key_of(&arg(0))?;
                Arc::make_mut(&mut fibre.context).remove(key.as_str()).unwrap_or_default()
            }
            _ => {
                let key = key_of(&arg(0))?;
                // Tasks have it in common until one of them changes it.
                let is_shared = Arc::strong_count(&fibre.context) > 1;
                let size = 40 + key.as_str().len() + if is_shared { 40 * fibre.context.len() } else { 0 };
                self.keep(fibre, &arg(1), size)?;
                let context = Arc::make_mut(&mut fibre.context);
                let before = context.get(key.as_str()).cloned().unwrap_or_default();
                context.insert(key, arg(1));
                before
            }
        }
        .into())
    }

    fn runtime_context(&self, fibre: &Fibre) -> Value {
        let mut fields = task(fibre);
        fields.push(("task_group_id", Value::str(ROOT)));
        fields.push(("values", own_values(&fibre.context)));
        for name in ABOUT {
            fields.push((name, self.about_of(fibre, name).cloned().unwrap_or_default()));
        }
        record(fields)
    }

    /// What is known about the run. The session of an agent that the program itself runs is kept by its tasks.
    fn about_of<'a>(&'a self, fibre: &'a Fibre, name: &str) -> Option<&'a Value> {
        let own = fibre.context.get(name).filter(|_| name == "agent_session_id");
        own.or_else(|| self.about.get(name))
    }

    /// `scope:id`, the name under which shared state of a scope is kept.
    pub(super) fn scope_id(
        &self,
        fibre: &Fibre,
        scope: &Value,
        options: &Value,
        what: &str,
    ) -> Result<String, Fault> {
        let scope = match scope {
            Value::Nil => DEFAULT_SCOPE.to_owned(),
            other => other.display(),
        };
        let given = match options.as_dict().and_then(|options| options.get("scope_id")) {
            Some(id) => Some(key_of(id)?.as_str().to_owned()),
            None => None,
        };
        let about = |name: &str| {
            let known = self.about_of(fibre, name).filter(|value| !matches!(value, Value::Nil));
            known.map(Value::display)
        };
        let own = match scope.as_str() {
            "task" => Some(task_id(&fibre.path)),
            "task_group" => Some(ROOT.to_owned()),
            "workflow_run" => about("workflow_run_id").or_else(|| about("run_id")),
            "agent_session" => about("agent_session_id"),
            "tenant" => about("tenant_id"),
            "process" => None,
            other => {
                return Err(Fault::thrown(format!(
                    "{what}: unknown scope '{other}' (known: task, task_group, workflow_run, agent_session, tenant, \
                     process)"
                )));
            }
        };
        Ok(format!("{scope}:{}", given.or(own).unwrap_or_else(|| "default".to_owned())))
    }
}

/// What programs keep; the prelude has its own under names with `__`.
fn own_values(context: &Arc<Dict>) -> Value {
    let is_own = |name: &str| !name.starts_with("__");
    if context.iter().all(|(name, _)| is_own(name.as_str())) {
        return Value::Dict(Arc::clone(context));
    }
    let own = context.iter().filter(|(name, _)| is_own(name.as_str()));
    Value::dict(own.map(|(name, value)| (name.clone(), value.clone())).collect())
}

/// Who a task is.
fn task(fibre: &Fibre) -> Vec<(&'static str, Value)> {
    let parent = fibre.path.rsplit_once('/').map(|(parent, _)| Value::str(task_id(parent)));
    let last = fibre.path.rsplit_once('/').map_or("root", |(_, last)| last);
    vec![
        ("task_id", Value::str(task_id(&fibre.path))),
        ("parent_task_id", parent.unwrap_or_default()),
        ("root_task_id", Value::str(ROOT)),
        ("kind", Value::str(last.split(':').next().unwrap_or(last))),
        ("is_cancelled", Value::Bool(fibre.is_cancelled)),
    ]
}

/// The path of a fibre as programs see it: `task_root:parallel:1:0`.
fn task_id(path: &str) -> String {
    let rest = path.strip_prefix("main").unwrap_or(path);
    format!("{ROOT}{}", rest.replace('/', ":"))
}
