//! Scripts as tasks: which script a task runs, taken down when it is submitted, and what people see of its end.

use std::sync::Arc;

use harn_core::ports::{Export, Reach, ScriptChoice};
use harn_core::run::{RunEnd, ScriptImage, Trust};
use harn_core::{
    Actor, Code, Error, EventKind, Failure, MessageInput, Metadata, Part, Persona, PersonaId, Result, Role,
    Session, SessionId, Task, Visibility, Workspace, WorkspaceAccess, WorkspaceId,
};
use harn_log::{StagedBlob, View};
use harn_wire::agents::SubmitTaskRequest;
use serde_json::{Map, Value, json};

use crate::lifecycle::append_message;
use crate::manifest::is_logical;
use crate::sessions::visible_session;
use crate::tx::{Place, Tx, get, kind};
use crate::{Harness, fault};

/// Where a task says which script it runs.
pub(crate) const KEY: &str = "script";
/// What a script gives back to its callers; more belongs into a file or an artifact.
const LARGEST_VALUE: usize = 1 << 20;

/// A script that is ready to become part of a task.
pub(crate) struct Chosen {
    pub image: StagedBlob,
    /// For the task's metadata.
    pub told: Value,
}

impl Harness {
    /// The script that a task would run, taken down as it is now; none for the built-in agent.
    pub(crate) async fn script_for(
        &self,
        actor: &Actor,
        session: &SessionId,
        request: &SubmitTaskRequest,
    ) -> Result<Option<Chosen>> {
        let (seer, session, persona) = (actor.clone(), session.clone(), request.persona_id.clone());
        let found = self.look(move |view| setting(view, &seer, &session, persona)).await?;
        let (root, persona) = found;
        let (choice, trust) = match request.metadata.get(KEY) {
            Some(asked) => (asked_for(actor, asked)?, Trust::Own),
            None => match persona.and_then(|persona| entry(&persona.entry_workflow)) {
                Some(choice) => (choice, Trust::Judged),
                None => return Ok(None),
            },
        };
        let param = if trust == Trust::Own { "metadata.script" } else { "persona.entry_workflow" };
        let (runner, wanted) = (Arc::clone(&self.runner), choice.clone());
        let taken = crate::blocking(move || {
            runner.script(root.as_deref(), &wanted).map_err(|why| Error::invalid(param, why))
        });
        let image = serde_json::to_vec(&taken.await?).map_err(|error| fault(error.into()))?;
        let image = self.log.stage(image.into()).await.map_err(fault)?;
        let told = json!({ "path": choice.path, "function": choice.function, "args": choice.args,
                           "image": image.hash.to_string(), "trust": trust });
        Ok(Some(Chosen { image, told }))
    }

    /// What a script of a workspace offers to others.
    pub async fn script_exports(
        &self,
        actor: &Actor,
        workspace: &WorkspaceId,
        path: &str,
    ) -> Result<Vec<Export>> {
        actor.require("workspaces:read")?;
        let absent = || Error::not_found("workspace", workspace);
        if !actor.sees(workspace) {
            return Err(absent());
        }
        let id = workspace.clone();
        let found: Option<Workspace> = self.glance(move |view| get(view, kind::WORKSPACE, id.as_str()))?;
        let root = root_of(found.ok_or_else(absent)?);
        let choice = ScriptChoice { path: path.to_owned(), ..ScriptChoice::default() };
        let runner = Arc::clone(&self.runner);
        crate::blocking(move || {
            runner.exports(root.as_deref(), &choice).map_err(|why| Error::invalid("path", why))
        })
        .await
    }
}

type Found = (Option<String>, Option<Persona>);

fn setting(view: &dyn View, actor: &Actor, id: &SessionId, persona: Option<PersonaId>) -> Result<Found> {
    let session = visible_session(view, actor, id)?;
    let workspace: Option<Workspace> = get(view, kind::WORKSPACE, session.workspace_id.as_str())?;
    let persona = match persona.or(session.persona_id) {
        Some(id) => get(view, kind::PERSONA, id.as_str())?,
        None => None,
    };
    Ok((workspace.and_then(root_of), persona))
}

fn root_of(workspace: Workspace) -> Option<String> {
    Some(workspace.root).filter(|root| !is_logical(root))
}

/// `path/to/file.harn`, or with `#name` a pipeline or a function of it. Anything else names no script.
fn entry(workflow: &str) -> Option<ScriptChoice> {
    let (path, function) = match workflow.split_once('#') {
        Some((path, function)) => (path, Some(function.to_owned())),
        None => (workflow, None),
    };
    let is_script = path.ends_with(".harn");
    is_script.then(|| ScriptChoice { path: path.to_owned(), function, ..ScriptChoice::default() })
}

/// Who may do everything may also run what they like.
fn asked_for(actor: &Actor, asked: &Value) -> Result<ScriptChoice> {
    if !actor.has("*") || actor.workspaces != WorkspaceAccess::All {
        let message = "Only the owner of this harness can run a script by its name. Let a persona name it in \
                       `entry_workflow`.";
        return Err(Error::new(Code::PermissionDenied, message).param("metadata.script"));
    }
    let wrong = |field: &str, what: &str| Error::invalid(format!("metadata.script{field}"), what);
    let fields = asked
        .as_object()
        .ok_or_else(|| wrong("", "This must be an object such as {\"path\": \"a.harn\"}."))?;
    let path = fields.get("path").and_then(Value::as_str).filter(|path| !path.is_empty());
    let path = path.ok_or_else(|| wrong(".path", "The path of the script is missing."))?;
    let function = match fields.get("function") {
        None | Some(Value::Null) => None,
        Some(Value::String(name)) => Some(name.clone()),
        Some(_) => return Err(wrong(".function", "This must be the name of a pipeline or a function.")),
    };
    let args = match fields.get("args") {
        None | Some(Value::Null) => Some(Vec::new()),
        Some(args) => serde_json::from_value(args.clone()).ok(),
    };
    let args = args.ok_or_else(|| wrong(".args", "This must be a list of texts."))?;
    Ok(ScriptChoice { path: path.to_owned(), function, args, reach: Reach::Machine })
}

/// The image of the script that a task runs, and how it is judged. Only `script_for` writes this.
pub(crate) fn recorded(metadata: &Metadata) -> Option<(String, Trust)> {
    let told = metadata.get(KEY)?;
    let trust = serde_json::from_value(told["trust"].clone()).unwrap_or_default();
    Some((told["image"].as_str()?.to_owned(), trust))
}

pub(crate) fn load(view: &dyn View, hash: &str) -> Result<Arc<ScriptImage>> {
    let image = serde_json::from_str(&crate::plan::text(view, hash)?);
    Ok(Arc::new(image.map_err(|error| fault(error.into()))?))
}

/// What a script gave back, before its task ends: its text is the agent's message, and its updates are events.
pub(crate) fn conclude(tx: &mut Tx<'_>, session: &Session, task: &Task, end: &mut RunEnd) -> Result<()> {
    let Some(value) = &end.value else { return Ok(()) };
    let size = value.to_string().len();
    if size > LARGEST_VALUE {
        let message = format!(
            "The script gave back {size} bytes; at most {LARGEST_VALUE} are kept. Write it to a file instead."
        );
        (end.result, end.value) = (Err(Failure::new("script_result", message)), None);
        return Ok(());
    }
    let Ok(text) = &end.result else { return Ok(()) };
    let mut parts: Vec<Part> = Some(text)
        .filter(|text| !text.is_empty())
        .map(|text| Part::text(text.as_str()))
        .into_iter()
        .collect();
    match updates(value) {
        Some(updates) => {
            let mut said = String::new();
            for update in updates {
                said.push_str(&tell(tx, session, task, update)?);
            }
            if !said.is_empty() && said == *text {
                parts.clear();
            }
        }
        None if matches!(value, Value::Null | Value::String(_)) => {}
        None => {
            // What is no text is shown once, as what it is.
            let shown = value.to_string();
            parts.retain(|_| *text != shown);
            parts.push(Part::Json { value: value.clone(), visibility: Visibility::Public });
        }
    }
    if !parts.is_empty() {
        let input = MessageInput { role: Role::Assistant, parts, metadata: Map::new() };
        append_message(tx, session, Some(task), input)?;
    }
    Ok(())
}

/// The updates of a `PipelineResult`; none where a value is something else.
fn updates(value: &Value) -> Option<&[Value]> {
    let fields = value.as_object()?;
    if !fields.keys().all(|key| key == "text" || key == "events") {
        return None;
    }
    match fields.get("events") {
        None | Some(Value::Null) => fields.contains_key("text").then_some(&[]),
        Some(Value::Array(updates)) => Some(updates),
        Some(_) => None,
    }
}

/// One update, as an event. Gives what the agent said with it.
fn tell(tx: &mut Tx<'_>, session: &Session, task: &Task, update: &Value) -> Result<String> {
    let kind = update["sessionUpdate"].as_str().or(update["type"].as_str()).unwrap_or_default();
    if kind == "agent_message_chunk"
        && let Some(text) = update["content"]["text"].as_str()
    {
        let input =
            MessageInput { role: Role::Assistant, parts: vec![Part::text(text)], metadata: Map::new() };
        append_message(tx, session, Some(task), input)?;
        return Ok(text.to_owned());
    }
    let body = json!({ "kind": kind, "update": update });
    tx.emit(EventKind::ScriptUpdate, ("task", task.id.as_str()), Place::task(task), body)?;
    Ok(String::new())
}
