//! What a script of a task is given: its arguments, the task's text, and data under the names of its parameters.

use std::sync::Arc;

use harn_core::message::joined_text;
use harn_core::run::{RunRecord, ScriptImage};
use harn_core::{Part, Role};
use harn_lang::exports::{Export, ExportKind};
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
        Self::said(opened.map(|message| message.parts.as_slice()).unwrap_or_default())
    }

    /// What these parts of a message say.
    pub fn said(parts: &[Part]) -> Self {
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

    /// What the run says about itself: the task's text, and what its pipeline was given.
    pub fn about(&self) -> [(&'static str, Value); 2] {
        let text = Value::str(self.text.as_str());
        let input = match (self.data.is_empty(), self.text.is_empty()) {
            (false, _) => wire::decode(&self.data.clone().into()),
            (true, false) => text.clone(),
            (true, true) => Value::Nil,
        };
        [("task", text), ("pipeline_input", input)]
    }

    /// What each parameter of an export is given, by its name.
    pub fn named(&self, image: &ScriptImage, export: &Export) -> Json {
        let mut named = self.data.clone();
        match export.kind {
            // Every script knows its task, whether that is a parameter or not.
            ExportKind::Pipeline if export.params.iter().all(|param| param.name != "task") => {
                named.remove("task");
            }
            ExportKind::Pipeline if !self.text.is_empty() => {
                named.insert("task".into(), self.text.as_str().into());
            }
            ExportKind::Pipeline => {}
            ExportKind::Function => {
                let mut plain = self.plain(image);
                let absent = export.params.iter().filter(|param| !self.data.contains_key(&param.name));
                for param in absent {
                    let Some(first) = plain.next() else { break };
                    let value = match param.is_rest {
                        true => std::iter::once(first).chain(plain.by_ref()).collect(),
                        false => first.into(),
                    };
                    named.insert(param.name.clone(), value);
                }
            }
        }
        named.into()
    }

    /// What has no name: the text, unless there is data, and then `argv`.
    fn plain<'a>(&'a self, image: &'a ScriptImage) -> impl Iterator<Item = &'a str> {
        let text = Some(&self.text).filter(|text| self.data.is_empty() && !text.is_empty());
        text.into_iter().chain(&image.args).map(String::as_str)
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
    pub fn to_function(image: &ScriptImage, given: &Given, export: &Export) -> Result<Self, String> {
        let Export { name, params, input_schema, .. } = export;
        let has_param = |key: &&String| params.iter().any(|param| param.name == **key);
        if let Some(unknown) = given.data.keys().find(|key| !has_param(key)) {
            let names: Vec<String> = params.iter().map(|param| format!("`{}`", param.name)).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            return Err(format!("`{name}` has no parameter `{unknown}`; it has {names}."));
        }
        let named = given.named(image, export);
        let mut values = Vec::new();
        let mut left_out: Option<&str> = None;
        for param in params {
            let value = named.get(&param.name);
            match (value.map(|value| wire::typed(value, &input_schema["properties"][&param.name])), left_out)
            {
                (Some(_), Some(before)) => {
                    return Err(format!("`{name}` needs `{before}` where `{}` is given, too.", param.name));
                }
                (Some(Value::List(rest)), None) if param.is_rest => values.extend(rest.iter().cloned()),
                (Some(value), None) => values.push(value),
                (None, _) if param.has_default => left_out = left_out.or(Some(&param.name)),
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
