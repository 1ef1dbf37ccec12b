//! Artifacts: registered, uploaded, downloaded; content is a blob addressed by its hash.

use std::path::PathBuf;

use harn_core::hash::Sha256Hash;
use harn_core::{
    Actor, Artifact, ArtifactId, ArtifactTag, Error, EventKind, Result, SessionId, Task, TaskId, Visibility,
    WorkspaceId,
};
use harn_log::{Blob, DocQuery, StagedBlob, View};
use harn_wire::agents::{Page, RegisterArtifactRequest};

use crate::page::{PageQuery, page};
use crate::sessions::{level, visible_session};
use crate::tasks::visible_task;
use crate::tx::{Place, Tx, check_name, get, kind, payload};
use crate::workspaces::visible_workspace;
use crate::{Call, Harness, fault};

/// Filters of an artifact list.
#[derive(Clone, Debug, Default)]
pub struct ArtifactFilter {
    pub workspace: Option<WorkspaceId>,
    pub session: Option<SessionId>,
    pub task: Option<TaskId>,
}

impl Harness {
    pub async fn register_artifact(&self, call: &Call, request: RegisterArtifactRequest) -> Result<Artifact> {
        call.actor.require("artifacts:write")?;
        check_name("mime_type", &request.mime_type)?;
        let sha256 = request.sha256.as_deref().map(parse_hash).transpose()?;
        self.command(call, move |tx: &mut Tx<'_>| {
            let place = place_of(&*tx.txn, &tx.call.actor, &request)?;
            let workspace = place.workspace.as_deref().map(WorkspaceId::from);
            tx.once(workspace.clone().as_ref(), |tx| {
                let artifact = Artifact {
                    id: ArtifactId::generate(),
                    object: ArtifactTag::Tag,
                    created_at: tx.now,
                    updated_at: tx.now,
                    metadata: request.metadata,
                    kind: request.kind,
                    mime_type: request.mime_type,
                    uri: request.uri,
                    visibility: request.visibility,
                    sha256,
                    size_bytes: None,
                    workspace_id: workspace,
                    session_id: place.session.as_deref().map(SessionId::from),
                    task_id: request.task_id,
                    receipt_id: None,
                };
                let body = payload("artifact", &artifact)?;
                tx.emit(EventKind::ArtifactCreated, ("artifact", artifact.id.as_str()), place, body)?;
                Ok(artifact)
            })
        })
        .await
    }

    pub async fn artifact(&self, actor: &Actor, id: &ArtifactId) -> Result<Artifact> {
        actor.require("artifacts:read")?;
        let (actor, id) = (actor.clone(), id.clone());
        self.glance(move |view| visible_artifact(view, &actor, &id))
    }

    pub async fn artifacts(
        &self,
        actor: &Actor,
        filter: ArtifactFilter,
        wanted: PageQuery,
    ) -> Result<Page<Artifact>> {
        actor.require("artifacts:read")?;
        let actor = actor.clone();
        self.look(move |view| {
            let query = DocQuery {
                workspace: filter.workspace.as_ref().map(WorkspaceId::as_str),
                session: filter.session.as_ref().map(SessionId::as_str),
                task: filter.task.as_ref().map(TaskId::as_str),
                ..DocQuery::of(kind::ARTIFACT)
            };
            let level = level(&actor);
            let all = actor.workspaces == harn_core::WorkspaceAccess::All;
            page(view, &actor, query, &wanted, |artifact: &Artifact| {
                artifact.visibility <= level && (all || artifact.workspace_id.is_some())
            })
        })
        .await
    }

    /// Where an upload may be written while it comes in.
    pub fn upload_folder(&self) -> PathBuf {
        self.log.scratch()
    }

    /// Whether an upload is worth receiving: the actor may write, and the artifact is there.
    pub async fn check_upload(&self, actor: &Actor, id: &ArtifactId) -> Result<()> {
        actor.require("artifacts:write")?;
        let (actor, id) = (actor.clone(), id.clone());
        self.glance(move |view| visible_artifact(view, &actor, &id).map(|_| ()))
    }

    /// Gives a registered artifact its content, once. The same content again changes nothing.
    pub async fn upload_artifact(&self, call: &Call, id: ArtifactId, file: PathBuf) -> Result<Artifact> {
        self.check_upload(&call.actor, &id).await?;
        let blob = self.log.stage_file(file).await.map_err(fault)?;
        self.command(call, move |tx: &mut Tx<'_>| {
            let artifact = visible_artifact(&*tx.txn, &tx.call.actor, &id)?;
            tx.once(artifact.workspace_id.clone().as_ref(), |tx| attach(tx, artifact, &blob))
        })
        .await
    }

    pub async fn artifact_content(&self, actor: &Actor, id: &ArtifactId) -> Result<(Artifact, Blob)> {
        actor.require("artifacts:read")?;
        let (actor, id) = (actor.clone(), id.clone());
        self.glance(move |view| {
            let artifact = visible_artifact(view, &actor, &id)?;
            let missing = || {
                let hint = match &artifact.uri {
                    Some(uri) => format!("it is at `{uri}`"),
                    None => "nothing was uploaded yet".to_owned(),
                };
                Error::conflict(format!("The content of artifact `{id}` is not held here: {hint}."))
            };
            let blob = content(view, &artifact)?.ok_or_else(missing)?;
            Ok((artifact, blob))
        })
    }
}

fn attach(tx: &mut Tx<'_>, mut artifact: Artifact, blob: &StagedBlob) -> Result<Artifact> {
    let hash = blob.hash.to_string();
    if artifact.sha256.as_ref().is_some_and(|known| *known != hash) {
        return Err(Error::conflict(format!(
            "Artifact `{}` has the SHA-256 {}, and this content has {hash}. Register another artifact for it.",
            artifact.id,
            artifact.sha256.as_deref().unwrap_or_default(),
        ))
        .param("sha256"));
    }
    if artifact.size_bytes.is_some() {
        return Ok(artifact);
    }
    tx.txn.keep_blob(blob).map_err(fault)?;
    artifact.sha256 = Some(hash);
    artifact.size_bytes = Some(blob.size);
    artifact.updated_at = tx.now;
    let place = Place {
        workspace: artifact.workspace_id.as_ref().map(ToString::to_string),
        session: artifact.session_id.as_ref().map(ToString::to_string),
        task: artifact.task_id.as_ref().map(ToString::to_string),
        ..Place::default()
    };
    let body = payload("artifact", &artifact)?;
    tx.emit(EventKind::ArtifactUpdated, ("artifact", artifact.id.as_str()), place, body)?;
    Ok(artifact)
}

/// Tolerates the `sha256:` prefix that everything but artifacts uses.
fn parse_hash(text: &str) -> Result<String> {
    let hash = Sha256Hash::from_hex(text);
    hash.map(|hash| hash.to_string())
        .ok_or_else(|| Error::invalid("sha256", "`sha256` must be 64 hexadecimal digits."))
}

/// An artifact belongs to the most specific thing that it names; contradictions are refused.
fn place_of(view: &dyn View, actor: &Actor, request: &RegisterArtifactRequest) -> Result<Place> {
    let mut place = Place::default();
    if let Some(id) = &request.task_id {
        place = Place::task(&visible_task(view, actor, id).map_err(|error| error.param("task_id"))?);
    }
    if let Some(id) = &request.session_id {
        let session = visible_session(view, actor, id).map_err(|error| error.param("session_id"))?;
        agree("session_id", place.session.as_deref(), id.as_str())?;
        place.session = Some(id.to_string());
        place.workspace = Some(session.workspace_id.to_string());
    }
    if let Some(id) = &request.workspace_id {
        visible_workspace(view, actor, id).map_err(|error| error.param("workspace_id"))?;
        agree("workspace_id", place.workspace.as_deref(), id.as_str())?;
        place.workspace = Some(id.to_string());
    }
    if place.workspace.is_none() && actor.workspaces != harn_core::WorkspaceAccess::All {
        return Err(Error::invalid(
            "workspace_id",
            "Your key is limited to certain workspaces: name one of them.",
        ));
    }
    Ok(place)
}

fn agree(param: &str, known: Option<&str>, given: &str) -> Result<()> {
    match known {
        Some(known) if known != given => {
            Err(Error::invalid(param, format!("`{param}` does not fit the other links of this artifact.")))
        }
        _ => Ok(()),
    }
}

/// What is held here of an artifact. A hash alone is only what somebody said of content elsewhere.
pub(crate) fn content(view: &dyn View, artifact: &Artifact) -> Result<Option<Blob>> {
    match artifact.sha256.as_deref().filter(|_| artifact.size_bytes.is_some()) {
        Some(hash) => view.blob(hash).map_err(fault),
        None => Ok(None),
    }
}

/// An artifact as a run may see it. A run reads its own workspace. What is internal goes no further than the session
/// whose other internal parts it sees anyway: a message that names an id must not bring it to light.
pub(crate) fn artifact_of_run(view: &dyn View, task: &Task, id: &ArtifactId) -> Result<Option<Artifact>> {
    let found: Option<Artifact> = get(view, kind::ARTIFACT, id.as_str())?;
    Ok(found.filter(|artifact| {
        let inside = artifact.workspace_id.as_ref() == Some(&task.workspace_id);
        inside
            && match artifact.visibility {
                Visibility::Public => true,
                Visibility::Internal => artifact.session_id.as_ref() == Some(&task.session_id),
                Visibility::ReceiptOnly => false,
            }
    }))
}

fn visible_artifact(view: &dyn View, actor: &Actor, id: &ArtifactId) -> Result<Artifact> {
    let found: Option<Artifact> = get(view, kind::ARTIFACT, id.as_str())?;
    let visible = |artifact: &Artifact| {
        let workspace = artifact.workspace_id.as_ref();
        let inside =
            workspace.map_or(actor.workspaces == harn_core::WorkspaceAccess::All, |id| actor.sees(id));
        inside && artifact.visibility <= level(actor) && artifact.visibility != Visibility::ReceiptOnly
    };
    found.filter(visible).ok_or_else(|| Error::not_found("artifact", id))
}
