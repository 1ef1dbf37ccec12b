//! Workspaces and personas: the isolation boundary and the policy that tasks run under.

use harn_core::ports::FileContent;
use harn_core::{
    Actor, Code, Error, EventKind, Persona, PersonaId, PersonaTag, Result, Workspace, WorkspaceId,
    WorkspaceTag,
};
use harn_log::{DocQuery, View};
use harn_wire::agents::{
    CreatePersonaRequest, CreateWorkspaceRequest, FileOrListing, FileTag, ListingTag, Page,
    UpdatePersonaRequest, UpdateWorkspaceRequest, Utf8Tag, WorkspaceFile, WorkspaceFileListing,
    WriteWorkspaceFileRequest,
};
use serde_json::json;

use crate::manifest::is_logical;
use crate::page::{PageQuery, page};
use crate::tx::{Place, Tx, check_name, get, kind, merge, payload};
use crate::{Call, Harness, fault};

impl Harness {
    pub async fn create_workspace(&self, call: &Call, request: CreateWorkspaceRequest) -> Result<Workspace> {
        call.actor.require("workspaces:write")?;
        if call.actor.workspaces != harn_core::WorkspaceAccess::All {
            return Err(Error::new(
                Code::PermissionDenied,
                "Your key is limited to certain workspaces and cannot create others.",
            ));
        }
        check_name("name", &request.name)?;
        let root = self.check_root(&request.root).await?;
        self.command(call, move |tx: &mut Tx<'_>| {
            tx.once(None, |tx| {
                let mut metadata = request.metadata;
                for (name, value) in [
                    ("image", json!(request.image)),
                    ("packages", json!(request.packages)),
                    ("network_policy", json!(request.network_policy)),
                    ("sandbox_backend", json!(request.sandbox_backend)),
                ] {
                    // Kept for the sandboxes that will read them; the harness itself does not yet.
                    if !value.is_null() && value != json!([]) && value != json!({}) {
                        metadata.entry(name).or_insert(value);
                    }
                }
                let workspace = new_workspace(tx, request.name, root, metadata);
                emit_workspace(tx, EventKind::WorkspaceCreated, &workspace)?;
                Ok(workspace)
            })
        })
        .await
    }

    /// A folder must exist below an allowed root; anything with a scheme is a workspace without files.
    async fn check_root(&self, root: &str) -> Result<String> {
        check_name("root", root)?;
        if is_logical(root) {
            return Ok(root.to_owned());
        }
        let files = std::sync::Arc::clone(&self.files);
        let given = root.strip_prefix("file://").unwrap_or(root).to_owned();
        let base = self.options.root.clone();
        let canonical = crate::blocking(move || {
            let path = base.join(given);
            files.canonical_root(&path.to_string_lossy())
        })
        .await?;
        let canonical_path = std::path::Path::new(&canonical);
        if canonical_path.components().any(|part| part.as_os_str() == ".harn") {
            return Err(Error::new(
                Code::PolicyViolation,
                "A root inside `.harn` would open the harness's own files.",
            )
            .param("root"));
        }
        let allowed = std::iter::once(&self.options.root).chain(&self.options.allowed_roots);
        if allowed.into_iter().any(|allowed| canonical_path.starts_with(allowed)) {
            return Ok(canonical);
        }
        Err(Error::new(
            Code::PolicyViolation,
            "This root is outside the folders that this harness may use. Start it with `--allow-root` to add one.",
        )
        .param("root"))
    }

    pub async fn workspace(&self, actor: &Actor, id: &WorkspaceId) -> Result<Workspace> {
        actor.require("workspaces:read")?;
        let (actor, id) = (actor.clone(), id.clone());
        self.glance(move |view| visible_workspace(view, &actor, &id))
    }

    pub async fn workspaces(&self, actor: &Actor, wanted: PageQuery) -> Result<Page<Workspace>> {
        actor.require("workspaces:read")?;
        let actor = actor.clone();
        self.look(move |view| page(view, &actor, DocQuery::of(kind::WORKSPACE), &wanted, |_| true)).await
    }

    pub async fn update_workspace(
        &self,
        call: &Call,
        id: WorkspaceId,
        request: UpdateWorkspaceRequest,
    ) -> Result<Workspace> {
        call.actor.require("workspaces:write")?;
        if let Some(name) = &request.name {
            check_name("name", name)?;
        }
        self.command(call, move |tx: &mut Tx<'_>| {
            let mut workspace = visible_workspace(&*tx.txn, &tx.call.actor, &id)?;
            tx.once(Some(&id), |tx| {
                workspace.name = request.name.unwrap_or(workspace.name);
                workspace.capabilities = request.capabilities.unwrap_or(workspace.capabilities);
                workspace.quota_id = request.quota_id.unwrap_or(workspace.quota_id);
                merge(&mut workspace.metadata, request.metadata.unwrap_or_default());
                workspace.updated_at = tx.now;
                emit_workspace(tx, EventKind::WorkspaceUpdated, &workspace)?;
                Ok(workspace)
            })
        })
        .await
    }

    pub async fn read_file(&self, actor: &Actor, id: &WorkspaceId, path: &str) -> Result<FileOrListing> {
        actor.require("workspaces:read")?;
        let workspace = self.workspace_with_files(actor, id).await?;
        let (files, path) = (std::sync::Arc::clone(&self.files), path.to_owned());
        crate::blocking(move || {
            let workspace_id = workspace.id;
            Ok(match files.read(&workspace.root, &path)? {
                FileContent::File { text } => FileOrListing::File(WorkspaceFile {
                    object: FileTag::Tag,
                    workspace_id,
                    path,
                    encoding: Utf8Tag::Tag,
                    bytes: text.len() as u64,
                    content: Some(text),
                }),
                FileContent::Directory { entries } => FileOrListing::Listing(WorkspaceFileListing {
                    object: ListingTag::Tag,
                    workspace_id,
                    path,
                    entries,
                }),
            })
        })
        .await
    }

    pub async fn write_file(
        &self,
        call: &Call,
        id: &WorkspaceId,
        path: String,
        request: WriteWorkspaceFileRequest,
    ) -> Result<WorkspaceFile> {
        call.actor.require("workspaces:write")?;
        let workspace = self.workspace_with_files(&call.actor, id).await?;
        let (files, root) = (std::sync::Arc::clone(&self.files), workspace.root.clone());
        let written = crate::blocking(move || files.write(&root, &path, &request.content)).await?;
        let pre_image = match written.before {
            Some(bytes) => Some(self.log.stage(bytes).await.map_err(fault)?),
            None => None,
        };
        self.command(call, move |tx: &mut Tx<'_>| {
            let mut body = json!({ "path": written.path, "bytes": written.bytes, "before_sha256": null });
            if let Some(blob) = &pre_image {
                tx.txn.keep_blob(blob).map_err(fault)?;
                body["before_sha256"] = json!(blob.hash.prefixed());
            }
            let subject = ("workspace", workspace.id.as_str());
            tx.emit(EventKind::FileWritten, subject, Place::workspace(&workspace.id), body)?;
            Ok(WorkspaceFile {
                object: FileTag::Tag,
                workspace_id: workspace.id,
                path: written.path,
                encoding: Utf8Tag::Tag,
                content: None,
                bytes: written.bytes,
            })
        })
        .await
    }

    async fn workspace_with_files(&self, actor: &Actor, id: &WorkspaceId) -> Result<Workspace> {
        let (actor, id) = (actor.clone(), id.clone());
        let workspace = self.glance(move |view| visible_workspace(view, &actor, &id))?;
        if is_logical(&workspace.root) {
            return Err(Error::conflict(format!(
                "Workspace `{}` has the logical root `{}` and therefore no files.",
                workspace.id, workspace.root
            )));
        }
        Ok(workspace)
    }

    pub async fn create_persona(&self, call: &Call, request: CreatePersonaRequest) -> Result<Persona> {
        call.actor.require("personas:write")?;
        for (param, text) in [
            ("name", &request.name),
            ("version", &request.version),
            ("entry_workflow", &request.entry_workflow),
            ("description", &request.description),
        ] {
            check_name(param, text)?;
        }
        let known: Vec<String> = self.runner.tools().iter().map(|tool| tool.name.clone()).collect();
        if let Some(unknown) = request.tools.iter().find(|tool| !known.contains(tool)) {
            let known = known.join(", ");
            return Err(Error::invalid(
                "tools",
                format!("There is no tool `{unknown}`. There are: {known}."),
            ));
        }
        crate::pins::check_policy(&request.model_policy, &*self.runner)?;
        self.command(call, move |tx: &mut Tx<'_>| {
            tx.once(None, |tx| {
                let mut metadata = request.metadata;
                if let Some(module) = request.module_ref {
                    metadata.insert("module_ref".into(), json!(module));
                }
                let persona = Persona {
                    id: PersonaId::generate(),
                    object: PersonaTag::Tag,
                    created_at: tx.now,
                    updated_at: tx.now,
                    metadata,
                    name: request.name,
                    version: request.version,
                    entry_workflow: request.entry_workflow,
                    description: request.description,
                    autonomy_tier: request.autonomy_tier,
                    receipt_policy: request.receipt_policy,
                    tools: request.tools,
                    capabilities: Vec::new(),
                    triggers: Vec::new(),
                    schedules: Vec::new(),
                    handoffs: Vec::new(),
                    context_packs: Vec::new(),
                    evals: Vec::new(),
                    model_policy: request.model_policy,
                    rollout_policy: Default::default(),
                    owner: Some(tx.call.actor.id.clone()),
                    quota_id: None,
                };
                emit_persona(tx, EventKind::PersonaCreated, &persona)?;
                Ok(persona)
            })
        })
        .await
    }

    pub async fn persona(&self, actor: &Actor, id: &PersonaId) -> Result<Persona> {
        actor.require("personas:read")?;
        let id = id.clone();
        self.glance(move |view| existing_persona(view, &id))
    }

    pub async fn personas(&self, actor: &Actor, wanted: PageQuery) -> Result<Page<Persona>> {
        actor.require("personas:read")?;
        let actor = actor.clone();
        self.look(move |view| page(view, &actor, DocQuery::of(kind::PERSONA), &wanted, |_| true)).await
    }

    pub async fn update_persona(
        &self,
        call: &Call,
        id: PersonaId,
        request: UpdatePersonaRequest,
    ) -> Result<Persona> {
        call.actor.require("personas:write")?;
        if let Some(policy) = &request.model_policy {
            crate::pins::check_policy(policy, &*self.runner)?;
        }
        self.command(call, move |tx: &mut Tx<'_>| {
            let mut persona = existing_persona(&*tx.txn, &id)?;
            tx.once(None, |tx| {
                persona.description = request.description.unwrap_or(persona.description);
                persona.receipt_policy = request.receipt_policy.unwrap_or(persona.receipt_policy);
                persona.quota_id = request.quota_id.unwrap_or(persona.quota_id);
                merge(&mut persona.model_policy, request.model_policy.unwrap_or_default());
                merge(&mut persona.metadata, request.metadata.unwrap_or_default());
                persona.updated_at = tx.now;
                emit_persona(tx, EventKind::PersonaUpdated, &persona)?;
                Ok(persona)
            })
        })
        .await
    }
}

pub fn visible_workspace(view: &dyn View, actor: &Actor, id: &WorkspaceId) -> Result<Workspace> {
    let found: Option<Workspace> = get(view, kind::WORKSPACE, id.as_str())?;
    found.filter(|workspace| actor.sees(&workspace.id)).ok_or_else(|| Error::not_found("workspace", id))
}

pub fn existing_persona(view: &dyn View, id: &PersonaId) -> Result<Persona> {
    get(view, kind::PERSONA, id.as_str())?.ok_or_else(|| Error::not_found("persona", id))
}

pub fn new_workspace(tx: &Tx<'_>, name: String, root: String, metadata: harn_core::Metadata) -> Workspace {
    Workspace {
        id: WorkspaceId::generate(),
        object: WorkspaceTag::Tag,
        created_at: tx.now,
        updated_at: tx.now,
        metadata,
        name,
        root,
        default_branch_id: None,
        host: None,
        repository: None,
        tenant_id: None,
        capabilities: Vec::new(),
        connectors: Vec::new(),
        quota_id: None,
    }
}

pub fn emit_workspace(tx: &mut Tx<'_>, kind: EventKind, workspace: &Workspace) -> Result<()> {
    let place = Place::workspace(&workspace.id);
    tx.emit(kind, ("workspace", workspace.id.as_str()), place, payload("workspace", workspace)?)?;
    Ok(())
}

fn emit_persona(tx: &mut Tx<'_>, kind: EventKind, persona: &Persona) -> Result<()> {
    tx.emit(kind, ("persona", persona.id.as_str()), Place::default(), payload("persona", persona)?)?;
    Ok(())
}
