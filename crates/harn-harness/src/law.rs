//! What policy says about the effects of a run: the rules in force, and one way to ask them.

use std::collections::HashMap;
use std::sync::Arc;

use harn_core::chat::ModelRef;
use harn_core::decision::{MatchedRule, PathFact, RuleSource};
use harn_core::narrowing::Narrowing;
use harn_core::ports::{Runner, WorkspaceFiles};
use harn_core::price::Prices;
use harn_core::run::{EffectKey, Manifest, Spend};
use harn_core::tool::{OwnTool, ToolCall, ToolSpec};
use harn_core::{Decision, EffectKind, Result, Task, Timestamp, Verdict};
use harn_log::{DocQuery, View};
use harn_policy::{
    ApprovalPolicy, Layer, Nameable, PermissionPolicy, PermissionsFile, Policy, RememberRule, Subject,
    located,
};
use parking_lot::RwLock;
use serde_json::{Map, Value};

use crate::tx::{Tx, get, kind};
use crate::{Harness, fault};

/// The rules in force. What was put through REST is in the log; what a file says was given at the start.
pub(crate) struct Law {
    pub file: PermissionsFile,
    runner: Arc<dyn Runner>,
    rules: RwLock<Rules>,
}

/// What holds for every run, and with it what some runs were narrowed to when they were started.
#[derive(Default)]
struct Rules {
    layers: Vec<Layer>,
    policy: Arc<Policy>,
    narrowed: HashMap<Narrowing, Arc<Policy>>,
}

/// Narrowed policies that are kept ready.
const KEPT: usize = 64;

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
        Self { file, runner, rules: RwLock::default() }
    }

    pub fn policy(&self) -> Arc<Policy> {
        Arc::clone(&self.rules.read().policy)
    }

    /// The rules in force with those that a run was started with. The error says why these cannot hold.
    fn policy_of(&self, narrowing: &Narrowing) -> std::result::Result<Arc<Policy>, String> {
        if narrowing.is_empty() {
            return Ok(self.policy());
        }
        if let Some(known) = self.rules.read().narrowed.get(narrowing) {
            return Ok(Arc::clone(known));
        }
        let own = self.narrowed_to(narrowing)?;
        let mut rules = self.rules.write();
        let layers = rules.layers.iter().cloned().chain([own]).collect();
        let policy = Arc::new(Policy::compile(layers).map_err(|error| error.to_string())?);
        if rules.narrowed.len() >= KEPT {
            rules.narrowed.clear();
        }
        rules.narrowed.insert(narrowing.clone(), Arc::clone(&policy));
        Ok(policy)
    }

    /// What the words mean that narrow a run. The error names one that means nothing.
    pub fn narrowed_to(&self, words: &Narrowing) -> std::result::Result<Layer, String> {
        let (calls, tools) = (self.runner.calls(), self.runner.tools());
        harn_policy::narrowing(words, Nameable { calls: &calls, tools: &tools })
    }

    /// Takes what the log says now. A rule that cannot be compiled was refused when it was put, so an error here
    /// means that the log is broken; then the old rules stay, and the caller is told.
    pub fn reload(&self, view: &dyn View) -> Result<()> {
        let layers = layers(&self.file, view)?;
        let policy = Policy::compile(layers.clone());
        let policy = policy.map_err(|error| harn_core::Error::invalid("rules", error.to_string()))?;
        let policy = Arc::new(policy);
        *self.rules.write() = Rules { layers, policy, narrowed: HashMap::new() };
        Ok(())
    }

    pub fn decide(&self, now: Timestamp, task: &Task, manifest: &Manifest, case: Case<'_>) -> Decision {
        self.judge(now, task, manifest, case, |policy, subject| {
            let decision = match policy {
                Ok(policy) => policy.decide(subject),
                Err(why) => ununderstood(self.policy().decide(subject), why),
            };
            match case.own.and_then(|tool| ApprovalPolicy::of_script(&tool.policy)) {
                Some(own) => own.narrow(decision, subject),
                None => decision,
            }
        })
    }

    /// The same in one word, for those who ask about very many paths.
    pub fn verdict(&self, now: Timestamp, task: &Task, manifest: &Manifest, case: Case<'_>) -> Verdict {
        self.judge(now, task, manifest, case, |policy, subject| {
            policy.map_or(Verdict::Deny, |policy| policy.verdict(subject))
        })
    }

    fn judge<T>(
        &self,
        now: Timestamp,
        task: &Task,
        manifest: &Manifest,
        case: Case<'_>,
        judge: impl FnOnce(std::result::Result<&Policy, &str>, &Subject<'_>) -> T,
    ) -> T {
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
        let policy = self.policy_of(&manifest.narrowing);
        judge(policy.as_deref().map_err(String::as_str), &subject)
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
            Some(spec) => root.map(|root| located(files, root, spec, &call.args)).unwrap_or_default(),
            None => Vec::new(),
        }
    }

    pub fn tools(&self) -> Arc<[ToolSpec]> {
        self.runner.tools()
    }
}

/// A run whose limits nobody can tell any more may do nothing.
fn ununderstood(decision: Decision, why: &str) -> Decision {
    let rule = MatchedRule {
        source: RuleSource::CommandLine,
        action: Verdict::Deny,
        id: "not_understood".into(),
        index: 0,
    };
    let reason = format!("What narrows this run is not understood: {why}.");
    Decision { action: Verdict::Deny, reason, matched_rule: rule, ..decision }
}

/// The rules of the file, of the policy document and of remembered answers, in one list.
fn layers(file: &PermissionsFile, view: &dyn View) -> Result<Vec<Layer>> {
    let mut layers = file.layers();
    if let Some(document) = get::<PermissionPolicy>(view, kind::POLICY, POLICY_ID)? {
        layers.push(document.layer());
    }
    layers.push(remembered_layer(view)?);
    Ok(layers)
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
        crate::blocking(move || {
            Ok(root.map(|root| located(&*files, &root, &tool.spec, &tool.call.args)).unwrap_or_default())
        })
        .await
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
        if let Some(run) = tx.get::<crate::in_flight::RunState>(kind::RUN, payer.id.as_str())? {
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
