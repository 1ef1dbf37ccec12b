//! Webhooks: connectors that take deliveries.

use crate::check::{Verdict, checks, ensure, skipped};
use crate::probe::Probe;
use crate::shape::shown;

checks! { Webhooks;
    webhook_connector_has_the_fields: "spec 001, Connector: required fields id, provider, workspace_id, status, event_kinds"
        => "Put all required fields on every connector.";
}

async fn webhook_connector_has_the_fields(probe: &Probe) -> Verdict {
    let seen = probe.get("/v1/connectors").send().await?;
    if seen.absent() {
        return skipped(format!("{} is not served: {}", seen.what, seen.got()));
    }
    seen.status(&[200])?;
    let mut found = seen.items()?;
    found.retain(|connector| {
        let kinds = connector["event_kinds"].as_array();
        let named = kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind.to_string().contains("webhook")));
        connector["webhook"].is_object() || named
    });
    if found.is_empty() {
        return skipped("the server has no connector with a webhook");
    }
    for connector in found {
        ensure!(connector["object"] == "connector", "expected object connector, got {}", shown(&connector));
        let fields = connector["id"].is_string() && connector["provider"].is_string();
        ensure!(
            fields && connector["event_kinds"].is_array(),
            "expected id, provider and event_kinds, got {}",
            shown(&connector)
        );
        let known =
            ["ACTIVE", "PAUSED", "FAILED", "DISABLED"].iter().any(|status| connector["status"] == *status);
        ensure!(known, "expected a status of a connector, got {}", connector["status"]);
    }
    Ok(())
}
