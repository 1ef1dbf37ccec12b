//! Scripts as tasks: which script a task runs, taken down when it is submitted, and what people see of its end.

use std::sync::Arc;

use harn_core::narrowing::Narrowing;
use harn_core::ports::{Reach, ScriptChoice};
use harn_core::run::{RunEnd, ScriptImage, Trust};
use harn_core::{
    Actor, Code, Error, EventKind, Failure, MessageInput, Metadata, Part, Persona, PersonaId, Result, Role,
    Session, SessionId, Task, Visibility, Workspace, WorkspaceAccess,
};
use harn_log::{StagedBlob, View};
use harn_wire::agents::SubmitTaskRequest;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::lifecycle::{append_message, input_message};
use crate::manifest::is_logical;
use crate::sessions::visible_session;
use crate::skills::{self, Called};
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
    /// Whose script it is, where the task did not say so itself.
    pub persona: Option<PersonaId>,
}

/// A script that a task is to run, and which field has asked for it.
struct Wanted {
    choice: ScriptChoice,
    trust: Trust,
    narrowing: Narrowing,
    param: &'static str,
}

impl Wanted {
    fn of_persona(choice: ScriptChoice, param: &'static str) -> Self {
        Self { choice, trust: Trust::Judged, narrowing: Narrowing::default(), param }
    }
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
        let (workspace, persona) = found;
        if let Some(id) = request.metadata.get(skills::KEY) {
            let Some(called) = self.called(actor, id).await? else { return Ok(None) };
            if workspace.is_none_or(|workspace| workspace.id != called.workspace.id) {
                let message = "The skill is of another workspace than the session.";
                return Err(Error::invalid("metadata.skill_id", message));
            }
            return self.call(called, request).await.map(Some);
        }
        let root = workspace.as_ref().and_then(root_of);
        if let Some(asked) = request.metadata.get(KEY) {
            let (choice, narrowing) = (asked_for(actor, asked)?, self.narrowing(asked)?);
            let wanted = Wanted { choice, trust: Trust::Own, narrowing, param: "metadata.script" };
            return self.take_down(root, wanted, request).await.map(Some);
        }
        match persona.and_then(|persona| entry(&persona.entry_workflow)) {
            Some(choice) => {
                let wanted = Wanted::of_persona(choice, "persona.entry_workflow");
                self.take_down(root, wanted, request).await.map(Some)
            }
            None => Ok(None),
        }
    }

    /// The export that a task calls, on behalf of the persona that offers it.
    pub(crate) async fn call(&self, called: Called, request: &SubmitTaskRequest) -> Result<Chosen> {
        let Called { workspace, persona, choice } = called;
        if request.persona_id.as_ref().is_some_and(|id| *id != persona.id) {
            return Err(Error::invalid("persona_id", "The skill is of another persona. Leave this out."));
        }
        let wanted = Wanted::of_persona(choice, "metadata.skill_id");
        let chosen = self.take_down(root_of(&workspace), wanted, request).await?;
        Ok(Chosen { persona: Some(persona.id), ..chosen })
    }

    /// Takes down a script that can be given the task's input.
    async fn take_down(
        &self,
        root: Option<String>,
        wanted: Wanted,
        request: &SubmitTaskRequest,
    ) -> Result<Chosen> {
        let Wanted { choice, trust, narrowing, param } = wanted;
        let input = input_message(&Value::Object(request.input.clone()))?;
        let (runner, wanted) = (Arc::clone(&self.runner), choice.clone());
        let taken = crate::blocking(move || {
            let image = runner.script(root.as_deref(), &wanted).map_err(|why| Error::invalid(param, why))?;
            runner.fits(&image, &input.parts).map_err(|why| Error::invalid("input", why))?;
            Ok(image)
        });
        let image = serde_json::to_vec(&taken.await?).map_err(|error| fault(error.into()))?;
        let image = self.log.stage(image.into()).await.map_err(fault)?;
        let mut told = json!({ "path": choice.path, "function": choice.function, "args": choice.args,
                               "image": image.hash.to_string(), "trust": trust });
        let more = [
            ("narrowing", (!narrowing.is_empty()).then(|| json!(narrowing))),
            ("limits", (!choice.limits.is_usual()).then(|| json!(choice.limits))),
            ("llm_mock", choice.llm_mock.map(Value::from)),
        ];
        for (name, value) in more {
            value.into_iter().for_each(|value| told[name] = value);
        }
        Ok(Chosen { image, told, persona: None })
    }

    /// What a run that is asked for may not do, in words that mean something.
    fn narrowing(&self, asked: &Value) -> Result<Narrowing> {
        let words: Narrowing = field(asked, "narrowing", "an object such as {\"deny\": [\"network\"]}")?;
        match self.law.narrowed_to(&words) {
            Ok(_) => Ok(words),
            Err(why) => Err(Error::invalid("metadata.script.narrowing", format!("{why}."))),
        }
    }
}

type Found = (Option<Workspace>, Option<Persona>);

fn setting(view: &dyn View, actor: &Actor, id: &SessionId, persona: Option<PersonaId>) -> Result<Found> {
    let session = visible_session(view, actor, id)?;
    let workspace: Option<Workspace> = get(view, kind::WORKSPACE, session.workspace_id.as_str())?;
    let persona = match persona.or(session.persona_id) {
        Some(id) => get(view, kind::PERSONA, id.as_str())?,
        None => None,
    };
    Ok((workspace, persona))
}

/// The folder of a workspace, if it has files.
pub(crate) fn root_of(workspace: &Workspace) -> Option<String> {
    Some(workspace.root.clone()).filter(|root| !is_logical(root))
}

/// `path/to/file.harn`, or with `#name` a pipeline or a function of it. Anything else names no script.
pub(crate) fn entry(workflow: &str) -> Option<ScriptChoice> {
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
    if !asked.is_object() {
        return Err(wrong("", "This must be an object such as {\"path\": \"a.harn\"}."));
    }
    let path = asked["path"].as_str().filter(|path| !path.is_empty());
    let path = path.ok_or_else(|| wrong(".path", "The path of the script is missing."))?;
    Ok(ScriptChoice {
        path: path.to_owned(),
        function: field(asked, "function", "the name of a pipeline or a function")?,
        args: field(asked, "args", "a list of texts")?,
        reach: Reach::Machine,
        skills: field(asked, "skills", "a list of folders")?,
        limits: field(asked, "limits", "an object with `steps`, `memory` and `output`, each a number")?,
        llm_mock: field(asked, "llm_mock", "the path of a file")?,
    })
}

/// A field of what is asked for; as usual where it is absent.
fn field<T: DeserializeOwned + Default>(asked: &Value, name: &str, wanted: &str) -> Result<T> {
    match &asked[name] {
        Value::Null => Ok(T::default()),
        value => serde_json::from_value(value.clone()).map_err(|_| {
            Error::invalid(format!("metadata.script.{name}"), format!("This must be {wanted}."))
        }),
    }
}

/// What a task's metadata says of the script that it runs. Only `script_for` writes this.
pub(crate) struct Recorded {
    pub image: String,
    pub trust: Trust,
    pub narrowing: Narrowing,
}

pub(crate) fn recorded(metadata: &Metadata) -> Result<Option<Recorded>> {
    let Some(told) = metadata.get(KEY) else { return Ok(None) };
    let Some(image) = told["image"].as_str() else { return Ok(None) };
    let trust = serde_json::from_value(told["trust"].clone()).unwrap_or_default();
    let narrowing = field(told, "narrowing", "what narrows a run")?;
    Ok(Some(Recorded { image: image.to_owned(), trust, narrowing }))
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
