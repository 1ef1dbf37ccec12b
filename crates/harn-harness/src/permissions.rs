//! The permission policy and its rules as people see and change them, and what they would say about a call.

use harn_core::tool::ToolCall;
use harn_core::{Actor, AutonomyTier, EffectKind, Error, EventKind, Result, WorkspaceId};
use harn_log::{DocQuery, RowFilter};
use harn_policy::{PermissionPolicy, Policy, RememberRule, Subject};
use harn_wire::agents::{
    DecisionEntry, Page, PermissionCheck, PermissionCheckResult, PermissionPolicyBody,
    PermissionPolicyDocument, PermissionRule, PermissionRuleRequest, RedactPermissions,
};
use serde_json::{Value, json};

use crate::law::POLICY_ID;
use crate::manifest::is_logical;
use crate::page::{PageQuery, page};
use crate::remember;
use crate::tx::{Place, Tx, Wake, get, kind};
use crate::workspaces::visible_workspace;
use crate::{Call, Harness, fault};

/// Kinds of events that carry a decision.
const DECISIVE: [&str; 6] = [
    "tool.requested",
    "tool.approved",
    "tool.denied",
    "span.started",
    "session.compacted",
    "vendor.harn.inbox_delivered",
];

impl Harness {
    pub async fn permission_policy(&self, actor: &Actor) -> Result<PermissionPolicyDocument> {
        actor.require("permissions:read")?;
        self.glance(|view| {
            let policy: PermissionPolicy = get(view, kind::POLICY, POLICY_ID)?.unwrap_or_default();
            document(&policy)
        })
    }

    /// Replaces the policy document. What it says is in force when this returns.
    pub async fn put_permission_policy(
        &self,
        call: &Call,
        body: PermissionPolicyBody,
    ) -> Result<PermissionPolicyDocument> {
        call.actor.require("permissions:write")?;
        if body.redact != RedactPermissions::default() {
            let message = "Patterns of your own are not redacted yet; well-known secret formats always are.";
            return Err(Error::invalid("redact", message));
        }
        let policy: PermissionPolicy = convert(&body)?;
        Policy::compile(vec![policy.layer()]).map_err(|error| Error::invalid("body", error.to_string()))?;
        self.command(call, move |tx: &mut Tx<'_>| {
            tx.once(None, |tx| {
                let told = json!({ "policy": policy, "version": policy.version() });
                let subject = ("permission_policy", POLICY_ID);
                tx.emit(EventKind::PermissionPolicyChanged, subject, Place::default(), told)?;
                tx.wakes.push(Wake::Rules);
                document(&policy)
            })
        })
        .await
    }

    pub async fn permission_rules(&self, actor: &Actor, wanted: PageQuery) -> Result<Page<PermissionRule>> {
        actor.require("permissions:read")?;
        let actor = actor.clone();
        self.look(move |view| {
            let found: Page<RememberRule> = page(view, &actor, DocQuery::of(kind::RULE), &wanted, |_| true)?;
            found.try_map(|rule| convert(&rule))
        })
        .await
    }

    pub async fn add_permission_rule(
        &self,
        call: &Call,
        request: PermissionRuleRequest,
    ) -> Result<PermissionRule> {
        call.actor.require("permissions:write")?;
        remember::scope_of(&request.scope)?;
        let mut wanted = serde_json::to_value(&request).map_err(|error| fault(error.into()))?;
        wanted["id"] = json!(remember::rule_id());
        let rule: RememberRule =
            serde_json::from_value(wanted).map_err(|error| Error::invalid("body", error.to_string()))?;
        check_scope(&rule)?;
        Policy::compile(vec![RememberRule::layer(std::slice::from_ref(&rule))])
            .map_err(|error| Error::invalid("body", error.to_string()))?;
        self.command(call, move |tx: &mut Tx<'_>| {
            tx.once(None, |tx| convert(&remember::put(tx, Place::default(), rule)?))
        })
        .await
    }

    pub async fn remove_permission_rule(&self, call: &Call, id: String) -> Result<()> {
        call.actor.require("permissions:write")?;
        self.command(call, move |tx: &mut Tx<'_>| {
            tx.once(None, |tx| {
                let rule: Option<RememberRule> = tx.get(kind::RULE, &id)?;
                let rule = rule.ok_or_else(|| Error::not_found("permission rule", &id))?;
                let subject = ("permission_rule", id.as_str());
                tx.emit(
                    EventKind::PermissionRuleRemoved,
                    subject,
                    Place::default(),
                    json!({ "rule": rule }),
                )?;
                tx.wakes.push(Wake::Rules);
                Ok(())
            })
        })
        .await
    }

    /// Decisions in the order in which they were made, after an event.
    pub async fn permission_history(
        &self,
        actor: &Actor,
        task: Option<String>,
        session: Option<String>,
        after: u64,
        limit: usize,
    ) -> Result<Page<DecisionEntry>> {
        actor.require("permissions:read")?;
        let within = match &actor.workspaces {
            harn_core::WorkspaceAccess::All => None,
            harn_core::WorkspaceAccess::Only(ids) => Some(ids.iter().map(ToString::to_string).collect()),
        };
        let filter = RowFilter { task, session, within, ..RowFilter::events() };
        self.look(move |view| {
            let mut data = Vec::new();
            let mut cursor = after;
            loop {
                let rows = view.rows(&filter, cursor, 1000).map_err(fault)?;
                let Some(last) = rows.last().map(|row| row.id) else { break };
                for row in rows.iter().filter(|row| DECISIVE.contains(&row.name.as_str())) {
                    if data.len() == limit {
                        return Ok(Page::new(data, Some(cursor.to_string())));
                    }
                    cursor = row.id;
                    data.extend(entry(row)?);
                }
                cursor = last;
            }
            Ok(Page::new(data, None))
        })
        .await
    }

    /// What policy would say about a call, without anything happening.
    pub async fn check_permission(
        &self,
        actor: &Actor,
        check: PermissionCheck,
    ) -> Result<PermissionCheckResult> {
        actor.require("permissions:read")?;
        let workspace = check.workspace_id.clone().map(WorkspaceId::from);
        let root = match &workspace {
            Some(id) => {
                let (seer, id) = (actor.clone(), id.clone());
                let root = self.glance(move |view| Ok(visible_workspace(view, &seer, &id)?.root))?;
                (!is_logical(&root)).then_some(root)
            }
            None => Some(self.options.root.to_string_lossy().into_owned()),
        };
        let call = ToolCall { id: "check".into(), name: check.tool, args: check.args };
        let paths = self.locate(root, EffectKind::Tool, call.clone()).await?;
        let tools = self.law.tools();
        let document: PermissionPolicy =
            self.glance(|view| Ok(get(view, kind::POLICY, POLICY_ID)?.unwrap_or_default()))?;
        let decision = self.law.policy().decide(&Subject {
            effect: EffectKind::Tool,
            name: &call.name,
            spec: tools.iter().find(|spec| spec.name == call.name),
            args: &call.args,
            model: None,
            paths: &paths,
            tier: check.tier.unwrap_or(AutonomyTier::ActWithApproval),
            persona: check.persona_id.as_deref(),
            session: check.session_id.as_deref().unwrap_or_default(),
            workspace: workspace.as_ref().map_or("", |id| id.as_str()),
            submitter: &actor.id,
            trust: Default::default(),
            now: self.options.clock.now(),
        });
        Ok(PermissionCheckResult {
            outcome: decision.action.into(),
            decision,
            policy_version: document.version(),
            escalate_to: document.escalate_to,
        })
    }
}

/// A rule for one session must say which; the same for workspaces and users.
fn check_scope(rule: &RememberRule) -> Result<()> {
    use harn_policy::RememberScope::{Always, Session, User, Workspace};
    let (param, given) = match rule.scope {
        Session => ("session_id", rule.session_id.is_some()),
        Workspace => ("workspace_id", rule.workspace_id.is_some()),
        User => ("user", rule.user.is_some()),
        Always => return Ok(()),
    };
    if given {
        return Ok(());
    }
    Err(Error::invalid(param, format!("A rule with this scope needs `{param}`.")))
}

fn document(policy: &PermissionPolicy) -> Result<PermissionPolicyDocument> {
    Ok(PermissionPolicyDocument { version: policy.version(), policy: convert(policy)? })
}

/// From the policy's own types to those of the wire, and back: they have the same fields.
fn convert<A: serde::Serialize, B: serde::de::DeserializeOwned>(from: &A) -> Result<B> {
    let value = serde_json::to_value(from).map_err(|error| fault(error.into()))?;
    serde_json::from_value(value).map_err(|error| Error::invalid("body", error.to_string()))
}

fn entry(row: &harn_log::Row) -> Result<Option<DecisionEntry>> {
    let payload: Value = row.parse().map_err(fault)?;
    let decision = serde_json::from_value(payload["policy_decision"].clone()).ok();
    let answered_by = serde_json::from_value(payload["answered_by"].clone()).unwrap_or_default();
    Ok(decision.map(|decision| DecisionEntry {
        event_id: row.id.to_string(),
        event: row.name.clone(),
        created_at: row.at,
        session_id: row.session.clone(),
        task_id: row.task.clone(),
        answered_by,
        decision,
    }))
}
