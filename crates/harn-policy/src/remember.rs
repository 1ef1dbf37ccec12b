//! Answers that a person asked to be remembered, and the narrowest rule for one.

use harn_core::decision::{Access, RiskLabel, RuleSource};
use harn_core::tool::{SideEffect, ToolKind};
use harn_core::{Decision, EffectKind, Timestamp, Verdict};
use serde::{Deserialize, Serialize};

use crate::rule::{Layer, Match, Patterns, Rule};

/// How far an answer is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RememberScope {
    Session,
    Workspace,
    User,
    Always,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RememberAction {
    Allow,
    Deny,
}

/// What kind of act an answer is about. It says what `target_pattern` is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RememberClass {
    Read,
    Write,
    Exec,
    Net,
    Llm,
    Custom,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RememberRule {
    pub id: String,
    pub action: RememberAction,
    pub scope: RememberScope,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<RememberClass>,
    /// A glob over the tool's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_pattern: Option<String>,
    /// A glob over path, command or host, by class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_pattern: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl RememberRule {
    pub fn rule(&self) -> Rule {
        let mut when = Match { tool: self.action_pattern.as_deref().map(Patterns::from), ..Match::default() };
        // An allowance whose scope names nobody holds for nobody; a denial then holds for everybody.
        let scoped = |id: &Option<String>| match (id, self.action) {
            (Some(id), _) => Some(Patterns(vec![globset::escape(id)])),
            (None, RememberAction::Allow) => Some(Patterns::default()),
            (None, RememberAction::Deny) => None,
        };
        match self.scope {
            RememberScope::Session => when.session = scoped(&self.session_id),
            RememberScope::Workspace => when.workspace = scoped(&self.workspace_id),
            RememberScope::User => when.user = scoped(&self.user),
            RememberScope::Always => {}
        }
        match &self.target_pattern {
            Some(target) => self.target(target.as_str().into(), &mut when),
            None => self.whole_class(&mut when),
        }
        let action = match self.action {
            RememberAction::Allow => Verdict::Allow,
            RememberAction::Deny => Verdict::Deny,
        };
        Rule { expires_at: self.expires_at, reason: self.reason.clone(), ..Rule::new(&self.id, action, when) }
    }

    /// The rules of several answers.
    pub fn layer(rules: &[Self]) -> Layer {
        Layer { source: RuleSource::Remembered, rules: rules.iter().map(Self::rule).collect() }
    }

    fn target(&self, target: Patterns, when: &mut Match) {
        match self.class {
            Some(RememberClass::Read) => {
                when.path = Some(target);
                when.access = Some("read".into());
            }
            Some(RememberClass::Write) => {
                when.path = Some(target);
                when.access = Some("write".into());
            }
            Some(RememberClass::Exec) => when.command = Some(target),
            Some(RememberClass::Net) => when.host = Some(target),
            Some(RememberClass::Llm) => {
                when.effect = Some("model".into());
                when.model = Some(target);
            }
            Some(RememberClass::Custom) | None => when.path = Some(target),
        }
    }

    fn whole_class(&self, when: &mut Match) {
        match self.class {
            Some(RememberClass::Read) => when.side_effect = Some("read_only".into()),
            Some(RememberClass::Write) => when.side_effect = Some("workspace_write".into()),
            Some(RememberClass::Exec) => when.side_effect = Some("process_exec".into()),
            Some(RememberClass::Net) => when.side_effect = Some("network".into()),
            Some(RememberClass::Llm) => when.effect = Some("model".into()),
            Some(RememberClass::Custom) | None => {}
        }
    }
}

/// Whom an answer is remembered for.
#[derive(Clone, Copy, Debug)]
pub struct Remembered<'a> {
    pub id: &'a str,
    pub action: RememberAction,
    pub scope: RememberScope,
    pub session_id: &'a str,
    pub workspace_id: &'a str,
    pub user: &'a str,
    pub expires_at: Option<Timestamp>,
    pub reason: Option<&'a str>,
}

/// The narrowest rule that covers the decided call: this tool, exactly these paths, commands or hosts.
pub fn remember_for(decision: &Decision, answer: &Remembered<'_>) -> RememberRule {
    let context = &decision.context;
    let only = |scope, id: &str| (answer.scope == scope).then(|| id.to_owned());
    let (class, target) = narrowest(decision);
    RememberRule {
        id: answer.id.to_owned(),
        action: answer.action,
        scope: answer.scope,
        session_id: only(RememberScope::Session, answer.session_id),
        workspace_id: only(RememberScope::Workspace, answer.workspace_id),
        user: only(RememberScope::User, answer.user),
        class,
        action_pattern: Some(literal(&context.tool_name)),
        target_pattern: target,
        expires_at: answer.expires_at,
        reason: answer.reason.map(str::to_owned),
    }
}

fn narrowest(decision: &Decision) -> (Option<RememberClass>, Option<String>) {
    let context = &decision.context;
    let runs_script =
        context.tool_kind == ToolKind::Execute || decision.risk_labels.contains(&RiskLabel::UnparsedCommand);
    if runs_script || !context.commands.is_empty() {
        // What was not understood is remembered as it stands, and is the last of the commands.
        let unparsed = decision.risk_labels.contains(&RiskLabel::UnparsedCommand);
        let skipped = if unparsed { context.commands.len().saturating_sub(1) } else { 0 };
        let texts = context.commands.iter().skip(skipped).map(|command| command.text.as_str());
        // A script in which no command was found must not become an answer about all commands.
        return (Some(RememberClass::Exec), Some(exactly(texts).unwrap_or_default()));
    }
    if !context.paths.is_empty() {
        let all = |access| context.paths.iter().all(|path| path.access == access);
        let class = match () {
            () if all(Access::Read) => RememberClass::Read,
            () if all(Access::Write) => RememberClass::Write,
            () => RememberClass::Custom,
        };
        let leads = context
            .paths
            .iter()
            .map(|path| path.workspace_path.as_deref().or(path.host_path.as_deref()).unwrap_or(&path.asked));
        return (Some(class), exactly_paths(leads));
    }
    if !context.hosts.is_empty() {
        return (Some(RememberClass::Net), exactly(context.hosts.iter().map(String::as_str)));
    }
    if context.effect == EffectKind::Model {
        return (Some(RememberClass::Llm), None);
    }
    let class = match context.side_effect {
        SideEffect::Network => Some(RememberClass::Net),
        SideEffect::ProcessExec => Some(RememberClass::Exec),
        SideEffect::WorkspaceWrite => Some(RememberClass::Write),
        SideEffect::None | SideEffect::ReadOnly => None,
    };
    (class, None)
}

/// A glob that means this text and no other, also among alternatives.
fn literal(text: &str) -> String {
    let mut glob = String::with_capacity(text.len());
    for c in text.chars() {
        if "*?[]{},\\!".contains(c) {
            glob.push('\\');
        }
        glob.push(c);
    }
    glob
}

fn exactly<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    alternatives(texts.map(literal).collect())
}

/// A path without slash would match at any depth, so `./` says that it does not.
fn exactly_paths<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    alternatives(texts.map(literal).collect()).map(|glob| match glob.starts_with('/') {
        true => glob,
        false => format!("./{glob}"),
    })
}

fn alternatives(mut globs: Vec<String>) -> Option<String> {
    globs.sort();
    globs.dedup();
    match globs.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("{{{}}}", several.join(","))),
    }
}
