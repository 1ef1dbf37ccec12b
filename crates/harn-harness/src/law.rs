//! What policy says about the effects of a run: the rules in force, and one way to ask them.

use std::sync::Arc;

use harn_core::chat::ModelRef;
use harn_core::decision::PathFact;
use harn_core::ports::{Runner, WorkspaceFiles};
use harn_core::price::Prices;
use harn_core::run::{EffectKey, Manifest, Spend};
use harn_core::tool::{OwnTool, ToolCall, ToolSpec};
use harn_core::{Decision, EffectKind, Result, Task, Timestamp};
use harn_log::{DocQuery, View};
use harn_policy::{
    ApprovalPolicy, Layer, PermissionPolicy, PermissionsFile, Policy, RememberRule, Subject, mentions,
};
use parking_lot::RwLock;
use serde_json::{Map, Value};

use crate::tx::{Tx, get, kind};
use crate::{Harness, fault};

/// The rules in force. What was put through REST is in the log; what a file says was given at the start.
pub(crate) struct Law {
    pub file: PermissionsFile,
    runner: Arc<dyn Runner>,
    policy: RwLock<Arc<Policy>>,
}

/// One effect, as policy has to judge it.
#[derive(Clone, Copy)]
pub(crate) struct Case<'a> {
    pub effect: EffectKind,
    pub name: &'a str,
    pub args: &'a Map<String, Value>,
    pub model: Option<&'a ModelRef>,
    pub paths: &'a [PathFact],
    /// A tool that a script handles itself.
    pub own: Option<&'a OwnTool>,
}

impl<'a> Case<'a> {
    pub fn tool(call: &'a ToolCall, paths: &'a [PathFact]) -> Self {
        Self { effect: EffectKind::Tool, name: &call.name, args: &call.args, model: None, paths, own: None }
    }
}

impl Law {
    pub fn new(runner: Arc<dyn Runner>, file: PermissionsFile) -> Self {
        Self { file, runner, policy: RwLock::default() }
    }

    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.policy.read())
    }

    /// Takes what the log says now. A rule that cannot be compiled was refused when it was put, so an error here
    /// means that the log is broken; then the old rules stay, and the caller is told.
    pub fn reload(&self, view: &dyn View) -> Result<()> {
        let compiled = compile(&self.file, view)?;
        *self.policy.write() = Arc::new(compiled);
        Ok(())
    }

    pub fn decide(&self, now: Timestamp, task: &Task, manifest: &Manifest, case: Case<'_>) -> Decision {
        let specs = self.specs(case.effect);
        let own = case.own.map(|tool| &tool.spec);
        let spec = own.or_else(|| specs.iter().find(|spec| spec.name == case.name));
        let subject = Subject {
            effect: case.effect,
            name: case.name,
            spec,
            args: case.args,
            model: case.model,
            paths: case.paths,
            tier: manifest.tier,
            persona: task.persona_id.as_ref().map(|id| id.as_str()),
            session: task.session_id.as_str(),
            workspace: task.workspace_id.as_str(),
            submitter: &task.created_by,
            trust: manifest.trust,
            now,
        };
        let decision = self.policy().decide(&subject);
        match case.own.and_then(|tool| ApprovalPolicy::of_script(&tool.policy)) {
            Some(policy) => policy.narrow(decision, &subject),
            None => decision,
        }
    }

    /// What can be named in an effect of a kind.
    fn specs(&self, effect: EffectKind) -> Arc<[ToolSpec]> {
        match effect {
            EffectKind::Tool | EffectKind::Question => self.runner.tools(),
            EffectKind::Call => self.runner.calls(),
            _ => Arc::default(),
        }
    }

    /// Where the paths that a call names lead. Looks at the file system, so never within a commit.
    pub fn locate(
        &self,
        files: &dyn WorkspaceFiles,
        root: Option<&str>,
        effect: EffectKind,
        call: &ToolCall,
    ) -> Vec<PathFact> {
        let specs = self.specs(effect);
        match specs.iter().find(|spec| spec.name == call.name) {
            Some(spec) => located(files, root, spec, call),
            None => Vec::new(),
        }
    }

    pub fn tools(&self) -> Arc<[ToolSpec]> {
        self.runner.tools()
    }
}

fn located(
    files: &dyn WorkspaceFiles,
    root: Option<&str>,
    spec: &ToolSpec,
    call: &ToolCall,
) -> Vec<PathFact> {
    let Some(root) = root else { return Vec::new() };
    let fact = |(asked, access): (String, _)| {
        let found = files.locate(root, &asked);
        PathFact {
            asked,
            access,
            workspace_path: found.workspace_path,
            host_path: found.host_path,
            through_link: found.through_link,
        }
    };
    mentions(spec, &call.args).into_iter().map(fact).collect()
}

/// The rules of the file, of the policy document and of remembered answers, in one list.
pub(crate) fn compile(file: &PermissionsFile, view: &dyn View) -> Result<Policy> {
    let mut layers = file.layers();
    if let Some(document) = get::<PermissionPolicy>(view, kind::POLICY, POLICY_ID)? {
        layers.push(document.layer());
    }
    layers.push(remembered_layer(view)?);
    Policy::compile(layers).map_err(|error| harn_core::Error::invalid("rules", error.to_string()))
}

fn remembered_layer(view: &dyn View) -> Result<Layer> {
    let docs = view.docs(&DocQuery::of(kind::RULE)).map_err(fault)?;
    let rules = docs.iter().map(|doc| doc.parse().map_err(fault)).collect::<Result<Vec<_>>>()?;
    Ok(RememberRule::layer(&rules))
}

/// The one policy document of a harness.
pub(crate) const POLICY_ID: &str = "policy";

impl Harness {
    /// What a call would meet, located and decided, without a run.
    pub(crate) async fn locate(
        &self,
        root: Option<String>,
        effect: EffectKind,
        call: ToolCall,
    ) -> Result<Vec<PathFact>> {
        let (law, files) = (Arc::clone(&self.law), Arc::clone(&self.files));
        crate::blocking(move || Ok(law.locate(&*files, root.as_deref(), effect, &call))).await
    }

    /// The same for a tool that a script describes itself.
    pub(crate) async fn locate_own(&self, root: Option<String>, tool: OwnTool) -> Result<Vec<PathFact>> {
        let files = Arc::clone(&self.files);
        crate::blocking(move || Ok(located(&*files, root.as_deref(), &tool.spec, &tool.call))).await
    }
}

/// Whether a run may set so much aside, with all that it and its children have spent or set aside already.
pub(crate) fn check_budget(
    tx: &Tx<'_>,
    task: &Task,
    model: &ModelRef,
    prices: Option<Prices>,
    key: &EffectKey,
    wanted: Spend,
) -> Result<Option<Decision>> {
    let mut next = Some(task.clone());
    while let Some(payer) = next {
        if let Some(run) = tx.get::<crate::projection::RunState>(kind::RUN, payer.id.as_str())? {
            let manifest = crate::requests::manifest(&*tx.txn, &payer.id)?;
            let own = payer.id == task.id;
            let held = if own { key.to_string() } else { format!("{}/{key}", task.id) };
            // A call that is made again after a crash has its money set aside already.
            let committed = run.committed_beside(&held);
            let whose = if own { "This run" } else { "The run that started this one" };
            let budget = manifest.limits.budget;
            if let Some(over) = budget.refuses(whose, committed, wanted, (model, prices)) {
                return Ok(Some(over.decision(manifest.tier, model)));
            }
        }
        next = match &payer.parent_task_id {
            Some(parent) => tx.get(kind::TASK, parent.as_str())?,
            None => None,
        };
    }
    Ok(None)
}
