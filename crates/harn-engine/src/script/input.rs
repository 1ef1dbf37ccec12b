//! What a script of a task is given: its arguments, the task's text, and data under the names of its parameters.

use std::sync::Arc;

use harn_core::message::joined_text;
use harn_core::run::{RunRecord, ScriptImage};
use harn_core::{Part, Role};
use harn_lang::exports::ExportParam;
use harn_lang::value::Value;
use serde_json::{Map, Value as Json};

use super::wire;

/// What a task says.
#[derive(Clone, Debug, Default)]
pub struct Given {
    text: String,
    data: Map<String, Json>,
}

impl Given {
    /// The message that opened the task: its text, and the objects among its parts.
    pub fn of(record: &RunRecord) -> Self {
        let is_input = |message: &&harn_core::Message| {
            message.role == Role::User && message.task_id.as_ref() == Some(&record.task_id)
        };
        let opened = record.history.iter().rfind(is_input).or(record.history.last());
        let parts = opened.map(|message| message.parts.as_slice()).unwrap_or_default();
        let objects = parts.iter().filter_map(|part| match part {
            Part::Json { value: Json::Object(fields), .. } => Some(fields.clone()),
            _ => None,
        });
        let data: Map<String, Json> = objects.flatten().collect();
        let mut text = joined_text(parts);
        if text.is_empty() {
            text = data.get("task").and_then(Json::as_str).unwrap_or_default().to_owned();
        }
        Self { text, data }
    }
}

/// The names that a script finds defined, with their values.
pub struct Bound {
    all: Vec<(Arc<str>, Value)>,
    given: usize,
}

impl Bound {
    /// The arguments of an exported function, for the source that calls it.
    pub const GIVEN: &str = "__given";

    /// For looking at a script that is not run.
    pub fn nothing() -> Self {
        Self::with(&ScriptImage::default(), &Given::default(), Vec::new(), None)
    }

    pub fn to_pipeline(image: &ScriptImage, given: &Given, params: &[String]) -> Self {
        let known = ["argv", "task", "project", "context"];
        let named = params.iter().filter(|name| !known.contains(&name.as_str())).map(|name| {
            let value = given.data.get(name).map(wire::decode).unwrap_or(Value::Nil);
            (Arc::from(name.as_str()), value)
        });
        Self::with(image, given, named.collect(), None)
    }

    /// By name where there is data, else the text and then `argv` in their order.
    pub fn to_function(image: &ScriptImage, given: &Given, params: &[ExportParam]) -> Result<Self, String> {
        let name = image.function.as_deref().unwrap_or_default();
        let has_param = |key: &&String| params.iter().any(|param| param.name == **key);
        if let Some(unknown) = given.data.keys().find(|key| !has_param(key)) {
            let names: Vec<String> = params.iter().map(|param| format!("`{}`", param.name)).collect();
            return Err(format!("`{name}` has no parameter `{unknown}`; it has {}.", names.join(", ")));
        }
        let text = Some(&given.text).filter(|text| given.data.is_empty() && !text.is_empty());
        let mut plain = text.into_iter().chain(&image.args).map(|text| Value::str(text.as_str()));
        let mut values = Vec::new();
        let mut left_out: Option<&str> = None;
        for param in params {
            let value = given.data.get(&param.name).map(wire::decode).or_else(|| plain.next());
            match (value, left_out) {
                (Some(_), Some(before)) => {
                    return Err(format!("`{name}` needs `{before}` where `{}` is given, too.", param.name));
                }
                (Some(value), None) => values.push(value),
                (None, _) if param.has_default => left_out = Some(&param.name),
                (None, _) => return Err(format!("`{name}` needs the argument `{}`.", param.name)),
            }
        }
        Ok(Self::with(image, given, Vec::new(), Some(values)))
    }

    fn with(
        image: &ScriptImage,
        given: &Given,
        mut more: Vec<(Arc<str>, Value)>,
        args: Option<Vec<Value>>,
    ) -> Self {
        let argv = image.args.iter().map(|arg| Value::str(arg.as_str())).collect();
        let (task, project) = (Value::str(given.text.as_str()), Value::str(image.project.as_str()));
        let context = [("task", task.clone()), ("project_root", project.clone()), ("task_type", Value::Nil)];
        let mut all: Vec<(Arc<str>, Value)> = vec![
            ("argv".into(), Value::list(argv)),
            ("task".into(), task),
            ("project".into(), project),
            ("context".into(), Value::record(context)),
        ];
        let count = args.as_ref().map_or(0, Vec::len);
        all.extend(args.map(|args| (Self::GIVEN.into(), Value::list(args))));
        all.append(&mut more);
        Self { all, given: count }
    }

    pub fn names(&self) -> Vec<Arc<str>> {
        self.all.iter().map(|(name, _)| Arc::clone(name)).collect()
    }

    pub fn values(self) -> Vec<Value> {
        self.all.into_iter().map(|(_, value)| value).collect()
    }

    /// How many arguments an exported function gets.
    pub fn given(&self) -> usize {
        self.given
    }
}
