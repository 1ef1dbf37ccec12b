//! Answers that people want to be remembered: they become rules of their own, with a scope and perhaps an end.

use harn_core::{Decision, Error, EventKind, Result, RuleId, Task};
use harn_policy::{
    Policy, RememberAction, RememberClass, RememberRule, RememberScope, Remembered, remember_for,
};
use harn_wire::agents::PermissionResponseRequest;

use crate::requests::Electorate;
use crate::tx::{Place, Tx, Wake, payload};

/// For whom an answer holds from now on, if it is to be remembered at all.
pub fn wanted(response: &PermissionResponseRequest, voters: &Electorate) -> Result<Option<RememberScope>> {
    let remembered = response.remember.unwrap_or(response.scope.is_some());
    if !remembered {
        return Ok(None);
    }
    if voters.quorum > 1 {
        let message =
            "An answer that several people have to give is not remembered: they are asked every time.";
        return Err(Error::invalid("remember", message));
    }
    let scope = response.scope.as_deref().unwrap_or("session");
    scope_of(scope).map(Some)
}

pub fn scope_of(text: &str) -> Result<RememberScope> {
    Ok(match text {
        "session" => RememberScope::Session,
        "workspace" => RememberScope::Workspace,
        "user" => RememberScope::User,
        "always" => RememberScope::Always,
        other => {
            let message = format!("`{other}` is no scope; use `session`, `workspace`, `user` or `always`.");
            return Err(Error::invalid("scope", message));
        }
    })
}

/// Adds the rule that an answer makes: as narrow as the call, unless the person gave patterns.
pub fn add(
    tx: &mut Tx<'_>,
    task: &Task,
    response: &PermissionResponseRequest,
    scope: RememberScope,
    approved: bool,
    decision: Option<&Decision>,
) -> Result<RememberRule> {
    let decision = decision.ok_or_else(|| {
        Error::invalid("remember", "Only answers to approvals can be remembered, not replies to questions.")
    })?;
    let reason = format!("{} answered so and asked to remember it", tx.call.actor.id);
    let mut rule = remember_for(
        decision,
        &Remembered {
            id: &rule_id(),
            action: if approved { RememberAction::Allow } else { RememberAction::Deny },
            scope,
            session_id: task.session_id.as_str(),
            workspace_id: task.workspace_id.as_str(),
            user: &task.created_by,
            expires_at: response.expires_at,
            reason: Some(&reason),
        },
    );
    rule.action_pattern = response.action_pattern.clone().or(rule.action_pattern);
    rule.target_pattern = response.target_pattern.clone().or(rule.target_pattern);
    rule.class = response.class.as_deref().map(class_of).transpose()?.or(rule.class);
    let trial = RememberRule::layer(std::slice::from_ref(&rule));
    Policy::compile(vec![trial]).map_err(|error| Error::invalid("target_pattern", error.to_string()))?;
    put(tx, Place::task(task), rule)
}

pub fn class_of(text: &str) -> Result<RememberClass> {
    serde_json::from_value(text.into())
        .map_err(|_| Error::invalid("class", format!("`{text}` is no class of actions.")))
}

/// A rule is in force once its commit is durable.
pub fn put(tx: &mut Tx<'_>, place: Place, rule: RememberRule) -> Result<RememberRule> {
    let body = payload("rule", &rule)?;
    tx.emit(EventKind::PermissionRuleAdded, ("permission_rule", &rule.id), place, body)?;
    tx.wakes.push(Wake::Rules);
    Ok(rule)
}

pub fn rule_id() -> String {
    RuleId::generate().to_string()
}
