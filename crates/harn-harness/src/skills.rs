//! Skills: what the scripts that personas name offer to be called, and skills in files for models to load.

use std::collections::HashMap;
use std::sync::Arc;

use harn_core::hash::Sha256Hash;
use harn_core::ports::{Directory, Export, ScriptChoice, SkillFile};
use harn_core::{Actor, Error, Metadata, Persona, Result, Workspace};
use harn_log::{DocQuery, View};
use harn_wire::agents::{Page, Skill, SkillTag};
use serde_json::{Value, json};

use crate::page::PageQuery;
use crate::scripts::{entry, root_of};
use crate::tx::kind;
use crate::{Harness, fault};

/// Where a task says which skill it calls.
pub(crate) const KEY: &str = "skill_id";
/// The skill of the built-in agent.
const OWN: &str = "skill_run_task";
const OWN_ABOUT: &str =
    "Works on a task in a workspace with its tools, asks people where policy wants it, and reports.";

/// An export that a task calls.
pub(crate) struct Called {
    pub workspace: Workspace,
    pub persona: Persona,
    pub choice: ScriptChoice,
}

impl Harness {
    /// Every skill of the workspaces that the actor sees, the built-in one first.
    pub async fn skills(&self, actor: &Actor, wanted: PageQuery) -> Result<Page<Skill>> {
        actor.require("skills:read")?;
        let limit = wanted.limit()?;
        let (shelves, runner) = (self.shelves(actor).await?, Arc::clone(&self.runner));
        let own = self.own_skill();
        let all: Vec<Skill> = crate::blocking(move || {
            let mut scripts = Scripts::default();
            let each = shelves.iter().flat_map(|shelf| shelf.skills(&*runner, &mut scripts));
            Ok(std::iter::once(own).chain(each).collect())
        })
        .await?;
        let start = match &wanted.cursor {
            None => 0,
            Some(id) => all.iter().position(|skill| skill.id == *id).map(|at| at + 1).ok_or_else(|| {
                Error::invalid("cursor", "The cursor was not made by this list. Start again without one.")
            })?,
        };
        let more = all.len() > start + limit;
        let data: Vec<Skill> = all.into_iter().skip(start).take(limit).collect();
        let next = data.last().filter(|_| more).map(|skill| skill.id.clone());
        Ok(Page::new(data, next))
    }

    pub async fn skill(&self, actor: &Actor, id: &str) -> Result<Skill> {
        actor.require("skills:read")?;
        if id == OWN {
            return Ok(self.own_skill());
        }
        let absent = Error::not_found("skill", id);
        let shelf = self.shelf_of(actor, id).await?.ok_or_else(|| absent.clone())?;
        let (runner, id) = (Arc::clone(&self.runner), id.to_owned());
        crate::blocking(move || {
            let mut all = shelf.skills(&*runner, &mut Scripts::default()).into_iter();
            all.find(|skill| skill.id == id).ok_or(absent)
        })
        .await
    }

    /// The agent of this harness as a skill.
    pub fn own_skill(&self) -> Skill {
        Skill {
            id: OWN.into(),
            object: SkillTag::Tag,
            created_at: self.started_at,
            updated_at: self.started_at,
            metadata: Metadata::new(),
            name: "run_task".into(),
            description: OWN_ABOUT.into(),
            input_schema: None,
            output_schema: None,
            source: Some("builtin".into()),
            version: Some(env!("CARGO_PKG_VERSION").into()),
            capabilities: vec!["tasks".into()],
            requires_approval: false,
            deprecated: false,
        }
    }

    /// What a task with this id calls; none for the built-in agent.
    pub(crate) async fn called(&self, actor: &Actor, id: &Value) -> Result<Option<Called>> {
        let param = format!("metadata.{KEY}");
        let Some(id) = id.as_str() else {
            return Err(Error::invalid(param, "This must be the id of a skill."));
        };
        if id == OWN {
            return Ok(None);
        }
        let absent = Error::not_found("skill", id).param(&param);
        let shelf = self.shelf_of(actor, id).await?.ok_or_else(|| absent.clone())?;
        let Some((persona, mut choice)) = shelf.persona else {
            let message = "This skill is a file that models load; it cannot be called.";
            return Err(Error::invalid(param, message));
        };
        choice.function = Some(id[shelf.mark.len()..].to_owned());
        let (runner, root, wanted) = (Arc::clone(&self.runner), shelf.root, choice.clone());
        crate::blocking(move || {
            let offered = runner.exports(Some(&root), &wanted).map_err(|why| Error::invalid(param, why))?;
            let is_offered = offered.iter().any(|export| Some(&export.name) == wanted.function.as_ref());
            if is_offered { Ok(()) } else { Err(absent) }
        })
        .await?;
        Ok(Some(Called { workspace: shelf.workspace, persona, choice }))
    }

    async fn shelves(&self, actor: &Actor) -> Result<Vec<Shelf>> {
        let actor = actor.clone();
        self.look(move |view| shelves(view, &actor)).await
    }

    async fn shelf_of(&self, actor: &Actor, id: &str) -> Result<Option<Shelf>> {
        let shelves = self.shelves(actor).await?;
        Ok(shelves.into_iter().find(|shelf| id.strip_prefix(&shelf.mark).is_some_and(|name| shelf.has(name))))
    }
}

/// Where skills are: the script that a persona names, or the files of a workspace.
struct Shelf {
    workspace: Workspace,
    root: String,
    persona: Option<(Persona, ScriptChoice)>,
    /// What the ids of its skills begin with.
    mark: String,
}

/// What scripts offer, by root and path: many personas may name the same one.
type Scripts = HashMap<(String, String), Vec<Export>>;

fn shelves(view: &dyn View, actor: &Actor) -> Result<Vec<Shelf>> {
    let personas = view.docs(&DocQuery::of(kind::PERSONA)).map_err(fault)?;
    let personas: Vec<Persona> =
        personas.iter().map(|doc| doc.parse().map_err(fault)).collect::<Result<_>>()?;
    let mut shelves = Vec::new();
    for doc in view.docs(&DocQuery::of(kind::WORKSPACE)).map_err(fault)? {
        let workspace: Workspace = doc.parse().map_err(fault)?;
        let Some(root) = root_of(&workspace).filter(|_| actor.sees(&workspace.id)) else { continue };
        let scripts =
            personas.iter().filter_map(|persona| Some((persona.clone(), entry(&persona.entry_workflow)?)));
        for persona in scripts.map(Some).chain([None]) {
            let id = persona.as_ref().map_or("", |(persona, _)| persona.id.as_str());
            let hash = Sha256Hash::of_pieces(&[workspace.id.as_str().as_bytes(), id.as_bytes()]).to_string();
            let mark = format!("skill_{}_", &hash[..16]);
            shelves.push(Shelf { workspace: workspace.clone(), root: root.clone(), persona, mark });
        }
    }
    Ok(shelves)
}

impl Shelf {
    /// Whether a skill of this name may be on it: a persona that names one export offers no other.
    fn has(&self, name: &str) -> bool {
        let only = self.persona.as_ref().and_then(|(_, choice)| choice.function.as_deref());
        only.is_none_or(|only| only == name)
    }

    fn skills(&self, directory: &dyn Directory, scripts: &mut Scripts) -> Vec<Skill> {
        let Some((persona, choice)) = &self.persona else {
            // What cannot be read is told to whoever runs something there.
            let files = directory.skill_files(&self.root).unwrap_or_default();
            return files.into_iter().map(|file| self.of_file(file)).collect();
        };
        let offered = scripts.entry((self.root.clone(), choice.path.clone()));
        let offered =
            offered.or_insert_with(|| directory.exports(Some(&self.root), choice).unwrap_or_default());
        let own = offered.iter().filter(|export| self.has(&export.name));
        own.map(|export| self.of_export(persona, choice, export)).collect()
    }

    fn of_export(&self, persona: &Persona, choice: &ScriptChoice, export: &Export) -> Skill {
        let metadata =
            json!({ "kind": export.kind, "workspace_id": self.workspace.id, "persona_id": persona.id });
        Skill {
            created_at: persona.created_at,
            updated_at: persona.updated_at,
            input_schema: export.input_schema.as_object().cloned(),
            output_schema: export.output_schema.as_object().cloned(),
            source: Some(choice.path.clone()),
            version: Some(persona.version.clone()),
            capabilities: vec!["tasks".into()],
            deprecated: export.deprecated,
            ..self.skill(&export.name, &export.description, metadata)
        }
    }

    fn of_file(&self, file: SkillFile) -> Skill {
        let metadata = json!({ "kind": "file", "workspace_id": self.workspace.id, "layer": file.layer });
        self.skill(&file.name, &file.description, metadata)
    }

    fn skill(&self, name: &str, description: &str, metadata: Value) -> Skill {
        Skill {
            id: format!("{}{name}", self.mark),
            object: SkillTag::Tag,
            created_at: self.workspace.created_at,
            updated_at: self.workspace.updated_at,
            metadata: metadata.as_object().cloned().unwrap_or_default(),
            name: name.to_owned(),
            description: description.to_owned(),
            input_schema: None,
            output_schema: None,
            source: Some("SKILL.md".into()),
            version: None,
            capabilities: Vec::new(),
            requires_approval: false,
            deprecated: false,
        }
    }
}
