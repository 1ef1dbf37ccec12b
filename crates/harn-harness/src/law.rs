//! What policy says about the effects of a run: the rules in force, and one way to ask them.

use std::sync::Arc;

use harn_core::budget::dollars;
use harn_core::chat::ModelRef;
use harn_core::decision::{DecisionContext, DecisionTag, MatchedRule, PathFact, RiskLabel, RuleSource};
use harn_core::ports::{Runner, WorkspaceFiles};
use harn_core::price::Prices;
use harn_core::run::{EffectKey, Manifest, Spend};
use harn_core::tool::{SideEffect, ToolCall, ToolKind, ToolSpec};
use harn_core::{Decision, EffectKind, Result, Task, Timestamp, Verdict};
use harn_log::{DocQuery, View};
use harn_policy::{Layer, PermissionPolicy, PermissionsFile, Policy, RememberRule, Subject, mentions};
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
}

impl<'a> Case<'a> {
    pub fn tool(call: &'a ToolCall, paths: &'a [PathFact]) -> Self {
        Self { effect: EffectKind::Tool, name: &call.name, args: &call.args, model: None, paths }
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
        let tools = self.runner.tools();
        let spec = tools.iter().find(|spec| spec.name == case.name);
        self.policy().decide(&Subject {
            effect: case.effect,
            name: case.name,
            spec: spec.filter(|_| matches!(case.effect, EffectKind::Tool | EffectKind::Question)),
            args: case.args,
            model: case.model,
            paths: case.paths,
            tier: manifest.tier,
            persona: task.persona_id.as_ref().map(|id| id.as_str()),
            session: task.session_id.as_str(),
            workspace: task.workspace_id.as_str(),
            submitter: &task.created_by,
            now,
        })
    }

    /// Where the paths that a call names lead. Looks at the file system, so never within a commit.
    pub fn locate(&self, files: &dyn WorkspaceFiles, root: Option<&str>, call: &ToolCall) -> Vec<PathFact> {
        let tools = self.runner.tools();
        let Some(spec) = tools.iter().find(|spec| spec.name == call.name) else { return Vec::new() };
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

    pub fn tools(&self) -> Arc<[ToolSpec]> {
        self.runner.tools()
    }
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
    pub(crate) async fn locate(&self, root: Option<String>, call: ToolCall) -> Result<Vec<PathFact>> {
        let (law, files) = (Arc::clone(&self.law), Arc::clone(&self.files));
        crate::blocking(move || Ok(law.locate(&*files, root.as_deref(), &call))).await
    }
}

/// A refusal because of what a run may spend, in the same form as every other decision.
pub(crate) fn over_budget(manifest: &Manifest, model: &ModelRef, id: &str, reason: String) -> Decision {
    Decision {
        record: DecisionTag::Tag,
        action: Verdict::Deny,
        reason,
        matched_rule: MatchedRule {
            source: RuleSource::Budget,
            action: Verdict::Deny,
            id: id.to_owned(),
            index: 0,
        },
        risk_labels: vec![RiskLabel::Spending],
        context: DecisionContext {
            effect: EffectKind::Model,
            tool_name: format!("{}/{}", model.provider, model.model),
            tool_kind: ToolKind::Other,
            side_effect: SideEffect::None,
            tier: manifest.tier,
            paths: Vec::new(),
            commands: Vec::new(),
            hosts: Vec::new(),
            capabilities: Vec::new(),
        },
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
            let mut total = committed;
            total += wanted;
            let budget = manifest.limits.budget;
            let whose = if own { "This run" } else { "The run that started this one" };
            if let Some(limit) = budget.tokens.filter(|limit| total.tokens() > *limit) {
                let reason = format!(
                    "{whose} may use {limit} tokens; {} are used or set aside, and this call could need {} more.",
                    committed.tokens(),
                    wanted.tokens()
                );
                return Ok(Some(over_budget(&manifest, model, "budget.tokens", reason)));
            }
            if let Some(reason) =
                budget.micro_usd.and_then(|limit| too_dear(whose, limit, committed, wanted, (model, prices)))
            {
                return Ok(Some(over_budget(&manifest, model, "budget.usd", reason)));
            }
        }
        next = match &payer.parent_task_id {
            Some(parent) => tx.get(kind::TASK, parent.as_str())?,
            None => None,
        };
    }
    Ok(None)
}

/// Why a budget in money does not allow a call. What cannot be counted is not allowed.
fn too_dear(
    whose: &str,
    limit: u64,
    committed: Spend,
    wanted: Spend,
    (model, prices): (&ModelRef, Option<Prices>),
) -> Option<String> {
    let Some(more) = wanted.micro_usd else {
        let length = match prices {
            Some(_) => format!(" for a prompt of up to {} tokens", wanted.input_tokens),
            None => String::new(),
        };
        return Some(format!(
            "The price of {}:{} is not known{length}, so a budget in money cannot be kept; add `prices` for it in \
             llm.toml, or give the run a budget in tokens.",
            model.provider, model.model
        ));
    };
    let Some(before) = committed.micro_usd else {
        return Some(format!(
            "{whose} has made calls whose cost is not known, so a budget in money cannot be kept; give it a budget in \
             tokens."
        ));
    };
    (before.saturating_add(more) > limit).then(|| {
        format!(
            "{whose} may cost {}; {} is spent or set aside, and this call could cost {} more.",
            dollars(limit),
            dollars(before),
            dollars(more)
        )
    })
}
