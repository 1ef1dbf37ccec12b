//! Outcomes: the results of tasks.

use crate::check::{Verdict, checks, ensure, skipped};
use crate::probe::Probe;
use crate::shape::{self, id_of, shown};

checks! { Outcomes;
    outcomes_are_listed: "spec 001, Core: Outcome reads"
        => "Answer GET /v1/outcomes with 200 and a list.";
    outcome_has_the_fields: "spec 001, Outcome: required fields id, task_id, status, summary"
        => "Put task_id, a status of SUCCEEDED, FAILED or CANCELED, and a summary on every outcome.";
    outcome_can_be_read: "OpenAPI, getOutcome: the Outcome by its id"
        => "Serve every listed outcome at GET /v1/outcomes/{id}.";
}

async fn outcomes_are_listed(probe: &Probe) -> Verdict {
    let seen = probe.get("/v1/outcomes").expect(&[200]).await?;
    shape::list(&seen.what, &seen.value()?)
}

async fn some(probe: &Probe) -> Verdict<Vec<serde_json::Value>> {
    // So that there is one, where the server makes any.
    probe.settled().await?;
    let found = probe.get("/v1/outcomes").expect(&[200]).await?.items()?;
    match found.is_empty() {
        true => skipped("the server has no outcome"),
        false => Ok(found),
    }
}

async fn outcome_has_the_fields(probe: &Probe) -> Verdict {
    for outcome in some(probe).await? {
        let status = outcome["status"].as_str();
        let known = status.is_some_and(|status| ["SUCCEEDED", "FAILED", "CANCELED"].contains(&status));
        let fields = outcome["task_id"].is_string() && outcome["summary"].is_string();
        ensure!(known && fields, "expected task_id, status and summary, got {}", shown(&outcome));
    }
    Ok(())
}

async fn outcome_can_be_read(probe: &Probe) -> Verdict {
    let listed = some(probe).await?.remove(0);
    let seen = probe.get(format!("/v1/outcomes/{}", id_of(&listed)?)).expect(&[200]).await?;
    ensure!(
        seen.value()?["id"] == listed["id"],
        "{}: expected {}, got {}",
        seen.what,
        listed["id"],
        seen.got()
    );
    Ok(())
}
