//! What a run is started with, recorded before anything else: everything that it depends on besides its journal.

use harn_core::hash::Sha256Hash;
use harn_core::ports::{Runs, Setting};
use harn_core::route::ChosenBy;
use harn_core::run::{Budget, Compacted, Limits, Manifest, MutationScope, MutationSession, Trust};
use harn_core::{AutonomyTier, Error, Failure, Metadata, Persona, Result, Session, Task, Workspace};
use harn_policy::PermissionPolicy;
use serde_json::Value;

use crate::law::POLICY_ID;
use crate::pins::Wish;
use crate::plan::RunPlan;
use crate::scripts;
use crate::tx::{Tx, kind};

/// Makes the manifest of a task that starts now, and keeps the blobs that it names. The inner error is that of a task
/// which cannot run, because there is no such model as it is to have.
pub fn manifest(
    tx: &mut Tx<'_>,
    plan: &RunPlan,
    session: &Session,
    task: &Task,
) -> Result<std::result::Result<Manifest, Failure>> {
    let persona_id = task.persona_id.as_ref().or(session.persona_id.as_ref());
    let persona: Option<Persona> = match persona_id {
        Some(id) => tx.get(kind::PERSONA, id.as_str())?,
        None => None,
    };
    let workspace: Option<Workspace> = tx.get(kind::WORKSPACE, session.workspace_id.as_str())?;
    let root = workspace.filter(|workspace| !is_logical(&workspace.root)).map(|workspace| workspace.root);
    let tier = persona.as_ref().map_or(AutonomyTier::ActWithApproval, |persona| persona.autonomy_tier);
    let wish = Wish::of(session, persona.as_ref());
    let budget = plan
        .budget
        .and(persona.as_ref().map_or(Ok(Budget::default()), |persona| budget_in(&persona.metadata))?)
        .and(budget_in(&task.metadata)?)
        .and(wish.budget)
        .and(ceiling(tx)?);
    let script = scripts::recorded(&task.metadata)?;
    let setting = Setting {
        persona: persona.as_ref(),
        tier,
        root: root.as_deref(),
        budget,
        model: wish.model,
        thinking: wish.thinking,
        fallbacks: wish.fallbacks.as_deref(),
        runs: if script.is_some() { Runs::Script } else { Runs::Agent },
    };
    let image = match plan.image(&setting) {
        Ok(image) => image,
        Err(why) => return Ok(Err(unavailable(&wish, &why))),
    };
    for blob in [&image.system_prompt, &image.tools] {
        tx.txn.keep_blob(blob).map_err(crate::fault)?;
    }
    let seed = Sha256Hash::of(task.id.as_str().as_bytes()).0;
    let mutation = mutation(plan, session, task, tier, root.is_some());
    Ok(Ok(Manifest {
        program: image.image.program.to_owned(),
        semantics: image.image.semantics,
        model: image.image.model.clone(),
        tier,
        limits: Limits { budget, ..image.image.limits },
        seed: u64::from_be_bytes([seed[0], seed[1], seed[2], seed[3], seed[4], seed[5], seed[6], seed[7]]),
        root,
        system_prompt: image.system_prompt.hash.to_string(),
        tools: image.tools.hash.to_string(),
        history_up_to: tx.txn.head().map_err(crate::fault)?,
        compacted: tx.get::<Compacted>(kind::COMPACTION, session.id.as_str())?,
        prices: image.image.prices,
        thinking: image.image.thinking,
        chosen_by: wish.chosen_by,
        fallbacks: image.image.fallbacks.clone(),
        fallback_on: image.image.fallback_on.clone(),
        mutation,
        trust: script.as_ref().map_or(Trust::Judged, |script| script.trust),
        narrowing: script.as_ref().map(|script| script.narrowing.clone()).unwrap_or_default(),
        script: script.map(|script| script.image),
    }))
}

/// Never another model in silence: somebody has chosen this one.
fn unavailable(wish: &Wish<'_>, why: &str) -> Failure {
    let whose = match wish.chosen_by {
        ChosenBy::Session => "The model that the session pins cannot be used",
        ChosenBy::Persona | ChosenBy::Configuration => "A model that the persona asks for cannot be used",
    };
    Failure::new("model_unavailable", format!("{whose}: {why}."))
}

/// What the permission policy lets a task cost.
fn ceiling(tx: &Tx<'_>) -> Result<Budget> {
    let policy: Option<PermissionPolicy> = tx.get(kind::POLICY, POLICY_ID)?;
    let cents = policy.and_then(|policy| policy.llm.cost_ceiling_usd_cents);
    Ok(Budget { micro_usd: cents.map(|cents| cents.saturating_mul(10_000)), ..Budget::default() })
}

/// The record of spec 000 for a run that may change something.
fn mutation(
    plan: &RunPlan,
    session: &Session,
    task: &Task,
    tier: AutonomyTier,
    has_files: bool,
) -> Option<MutationSession> {
    let writes = matches!(tier, AutonomyTier::ActWithApproval | AutonomyTier::ActAuto) && has_files;
    writes.then(|| MutationSession {
        session_id: session.id.clone(),
        parent_session_id: session.parent_session_id.clone(),
        run_id: task.id.clone(),
        worker_id: None,
        execution_kind: "task".to_owned(),
        mutation_scope: MutationScope::ApplyWorkspace,
        approval_policy: plan.approval_policy.clone(),
    })
}

/// The budget that a task or a persona asks for in `metadata.budget`: `usd`, `tokens`, `seconds`, or the words of
/// persona manifests for the same.
pub fn budget_in(metadata: &Metadata) -> Result<Budget> {
    let Some(wanted) = metadata.get("budget") else { return Ok(Budget::default()) };
    let wrong = |what: &str| Error::invalid("metadata.budget", format!("The budget {what}."));
    let fields = wanted.as_object().ok_or_else(|| wrong("must be an object such as {\"usd\": 0.5}"))?;
    let mut budget = Budget::default();
    for (name, value) in fields {
        let limit = match name.as_str() {
            "usd" | "run_usd" => &mut budget.micro_usd,
            "tokens" | "max_tokens" => &mut budget.tokens,
            "seconds" | "max_runtime_seconds" => &mut budget.seconds,
            other => {
                return Err(wrong(&format!("has `{other}`, which is none of `usd`, `tokens` and `seconds`")));
            }
        };
        *limit =
            Some(amount(name, value).ok_or_else(|| {
                wrong(&format!("`{name}` must be a number that is not negative, not {value}"))
            })?);
    }
    Ok(budget)
}

pub(crate) fn amount(name: &str, value: &Value) -> Option<u64> {
    if name.ends_with("usd") {
        let dollars = value.as_f64().filter(|dollars| (0.0..=1e9).contains(dollars))?;
        // Within the range above it is exact enough, and rounding down never overspends.
        return Some((dollars * 1e6) as u64);
    }
    value.as_u64()
}

/// A root with a scheme is a name, not a folder.
pub fn is_logical(root: &str) -> bool {
    root.split_once("://").is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme != "file"
            && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+.-".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_budget_is_read_in_all_its_spellings_and_refused_when_it_is_none() {
        let read = |budget: Value| budget_in(json!({ "budget": budget }).as_object().unwrap());
        let full = Budget { tokens: Some(5), micro_usd: Some(500_000), seconds: Some(9) };
        assert_eq!(read(json!({ "usd": 0.5, "tokens": 5, "seconds": 9 })), Ok(full));
        assert_eq!(read(json!({ "run_usd": 0.5, "max_tokens": 5, "max_runtime_seconds": 9 })), Ok(full));
        assert_eq!(budget_in(&Metadata::new()), Ok(Budget::default()));
        for bad in [json!(5), json!({ "usd": -1 }), json!({ "tokens": 1.5 }), json!({ "euros": 1 })] {
            assert!(read(bad.clone()).is_err(), "{bad}");
        }
    }
}
